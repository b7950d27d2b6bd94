"""Linear equations, decompositions, norms, distances: by their defining equations, where matrices are singular, and large."""

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as torch
from minigrad import linalg
from minigrad.autograd import grad, gradcheck, gradgradcheck
from tests.ops.linear import leaf, random, symmetric, tensor

SHAPES = [(3, 3), (4, 2), (2, 4), (2, 3, 2), (2, 2, 3), (1, 1)]
WEIGHTS = random(5, 5, seed=42)


def check(f, *arrays, second=True):
    """First derivatives in both modes, and second ones, against finite differences."""
    leaves = tuple(leaf(a) for a in arrays)
    assert gradcheck(f, leaves, check_forward_ad=True)
    assert not second or gradgradcheck(f, leaves)


# ---------------------------------------------------------------------- inverse, solutions, determinants
@given(
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from([(), (2,), (7,), (2, 1)]),
    st.integers(0, 3),
    st.integers(1, 4),
)
def test_solve_triangular_reads_one_triangle(upper, left, unit, lead, k, n):
    A = random(*lead, n, n) + 3 * np.eye(n)
    B = random(n, k) if left else random(k, n)
    X = linalg.solve_triangular(tensor(A), tensor(B), upper=upper, left=left, unitriangular=unit).numpy()
    M = np.triu(A) if upper else np.tril(A)
    M = M * (1 - np.eye(n)) + np.eye(n) if unit else M
    assert np.allclose(M @ X if left else X @ M, np.broadcast_to(B, X.shape))


def test_solve_triangular_of_a_singular_matrix_is_not_finite():
    out = linalg.solve_triangular(torch.zeros(2, 2), torch.ones(2, 1), upper=True)
    assert not np.isfinite(out.numpy()).any()


@pytest.mark.parametrize("rank", [2, 1, 0])
def test_determinant_of_singular_matrices_has_derivatives_of_both_orders(rank):
    a = random(3, rank) @ random(rank, 3, seed=1)
    check(torch.det, a)
    if rank == 2:
        exact = np.arange(1.0, 10).reshape(3, 3)
        (g,) = grad(torch.det(x := leaf(exact)), x)
        assert np.allclose(g.numpy(), [[-3, 6, -3], [6, -12, 6], [-3, 6, -3]])


def test_logdet_of_negative_and_zero_determinants():
    assert math.isnan(torch.logdet(torch.tensor([[0.0, 1.0], [1.0, 0.0]])).item())
    assert torch.logdet(torch.zeros(2, 2)).item() == -math.inf


def test_slogdet_of_a_singular_matrix_has_no_finite_gradient_but_does_not_raise():
    x = leaf(np.stack([np.eye(2), np.zeros((2, 2))]))
    (g,) = grad(linalg.slogdet(x).logabsdet.sum(), x)
    assert np.allclose(g[0].numpy(), np.eye(2)) and np.isnan(g[1].numpy()).all()


@pytest.mark.parametrize("f", [linalg.inv, linalg.det, linalg.slogdet, torch.inverse, torch.det, torch.Tensor.inverse])
def test_matrices_by_keyword_and_results_into_out(f):
    x = torch.tensor([[2.0, 0.0], [1.0, 4.0]])
    wanted = f(x)
    outs = [torch.empty(0) for _ in wanted] if isinstance(wanted, tuple) else torch.empty(0)
    for found in (f(A=x), f(input=x), f(x, out=outs), outs):
        pairs = zip(found, wanted) if isinstance(wanted, tuple) else [(found, wanted)]
        assert all(torch.equal(a, b) for a, b in pairs)


# ---------------------------------------------------------------------- refusals
@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: linalg.inv(torch.zeros(2, 2)), "inv: the input matrix of size 2x2 is singular"),
        (lambda: linalg.inv(torch.stack([torch.eye(2), torch.zeros(2, 2)])), r"\(Batch element 1\): .* singular"),
        (lambda: linalg.solve(torch.zeros(3, 3), torch.ones(3)), "solve: .* singular"),
        (
            lambda: linalg.cholesky(torch.stack([torch.eye(2), torch.eye(2), -torch.eye(2)])),
            r"\(Batch element 2\): .* not positive-definite",
        ),
        (lambda: torch.cholesky(-torch.eye(2)), "not positive-definite"),
        (lambda: torch.matrix_power(torch.zeros(2, 2), -1), "singular"),
    ],
)
def test_matrices_without_the_requested_factor_raise_linalgerror_with_their_index(call, words):
    with pytest.raises(linalg.LinAlgError, match=words) as caught:
        call()
    assert isinstance(caught.value, RuntimeError)


# ---------------------------------------------------------------------- decompositions
@pytest.mark.parametrize("shape", [(2, 3, 2), (2, 2, 3)])
@pytest.mark.parametrize("f", [linalg.qr, lambda x: linalg.svd(x, full_matrices=False), linalg.pinv, linalg.svdvals])
def test_batches_of_tall_and_wide_matrices_have_derivatives_of_both_orders(f, shape):
    def squares(x):  # which do not know signs
        found = f(x)
        return torch.cat([(t * t).flatten() for t in (found if isinstance(found, tuple) else (found,))])

    check(squares, random(*shape))


def test_qr_modes():
    a = tensor(random(4, 2))
    assert [tuple(t.shape) for t in linalg.qr(a, "complete")] == [(4, 4), (4, 2)]
    assert [tuple(t.shape) for t in linalg.qr(a, "r")] == [(0,), (2, 2)]
    assert [tuple(t.shape) for t in torch.qr(a, some=False)] == [(4, 4), (4, 2)]


@pytest.mark.parametrize("mode", ["r", "complete"])
def test_qr_modes_without_a_gradient_say_so_in_backward(mode):
    R = linalg.qr(leaf(random(4, 2)), mode).R
    with pytest.raises(RuntimeError, match="use mode='reduced'"):
        R.sum().backward()


@pytest.mark.parametrize("UPLO", ["L", "U"])
def test_eigh_is_a_decomposition(UPLO):
    a = symmetric(2, 3, 3)
    w, v = linalg.eigh(tensor(a), UPLO)
    assert np.allclose((v @ torch.diag_embed(w) @ v.mT).numpy(), a)
    assert np.allclose(w.numpy(), np.linalg.eigvalsh(a))


def test_eigenvalues_have_gradients_where_they_coincide():
    (g,) = grad(linalg.eigh(x := leaf(np.eye(3))).eigenvalues.sum(), x)
    assert np.allclose(g.numpy(), np.eye(3))


def test_gradient_of_eigenvectors_is_symmetric():
    (g,) = grad((linalg.eigh(x := leaf(symmetric(3, 3))).eigenvectors ** 2 * tensor(WEIGHTS[:3, :3])).sum(), x)
    assert np.allclose(g.numpy(), g.numpy().T)


@pytest.mark.parametrize("shape", SHAPES)
def test_svd_is_a_decomposition(shape):
    a = random(*shape)
    U, S, Vh = linalg.svd(tensor(a), full_matrices=False)
    assert np.allclose((U @ torch.diag_embed(S) @ Vh).numpy(), a)
    assert np.allclose(S.numpy(), np.linalg.svd(a, compute_uv=False))


def test_full_svd_has_the_gradient_of_the_reduced_one():
    a = random(4, 2)
    for full in (True, False):
        assert tuple(linalg.svd(tensor(a), full).U.shape) == ((4, 4) if full else (4, 2))
    check(lambda x: linalg.svd(x).U[..., :2] ** 2, a, second=False)


def test_older_svd_gives_v_itself():
    U, S, V = torch.svd(tensor(a := random(4, 2)))
    assert np.allclose((U @ torch.diag(S) @ V.mT).numpy(), a)
    assert torch.svd(tensor(a), compute_uv=False).U.abs().sum().item() == 0


def test_rank_and_its_tolerances():
    a = np.diag([10.0, 1.0, 1e-3, 1e-20])
    found = [
        linalg.matrix_rank(tensor(a), **o).item()
        for o in ({}, {"rtol": 0.05}, {"atol": 0.1}, {"atol": 0.0, "rtol": 0.0})
    ]
    assert found == [3, 2, 2, 4] and linalg.matrix_rank(tensor(a)).dtype == torch.int64


# ---------------------------------------------------------------------- norms and distances
@pytest.mark.parametrize("ord", ["fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf])
def test_matrix_norms_are_numpys(ord):
    a = random(2, 3, 4)
    for keepdim in (False, True):
        expected = np.linalg.norm(a, ord, (-2, -1), keepdim)
        assert np.allclose(linalg.matrix_norm(tensor(a), ord, keepdim=keepdim).numpy(), expected)
    assert np.allclose(linalg.norm(tensor(a), ord, (2, 0)).numpy(), np.linalg.norm(a, ord, (2, 0)))
    check(lambda x: linalg.matrix_norm(x, ord), a)


@pytest.mark.parametrize("p", [1, -1, math.inf, "fro", 2, -2, None])
def test_condition_numbers_are_numpys(p):
    a = random(2, 3, 3)
    assert np.allclose(linalg.cond(tensor(a), p).numpy(), np.linalg.cond(a, p))
    check(lambda x: linalg.cond(x, p), a)


def test_condition_number_of_a_singular_matrix_is_infinite():
    assert linalg.cond(torch.stack([torch.zeros(2, 2), torch.ones(2, 2)]), 1).tolist() == [math.inf, math.inf]


@pytest.mark.parametrize("p", [0, 0.5, 1, 1.5, 2, 3, math.inf])
def test_distances_are_norms_of_differences(p):
    x, y = random(2, 3, 4), random(5, 4, seed=1)
    difference = x[:, :, None] - y
    expected = (
        (difference != 0).sum(-1)
        if p == 0
        else (np.abs(difference) ** p).sum(-1) ** (1 / p)
        if p < math.inf
        else np.abs(difference).max(-1)
    )
    assert np.allclose(torch.cdist(tensor(x), tensor(y), p).numpy(), expected)
    check(lambda a, b: torch.cdist(a, b, p), x, y, second=p > 0)


@pytest.mark.parametrize("p", [1, 1.5, 2, 3, math.inf])
def test_gradient_between_coincident_points_is_0(p):
    x = leaf(random(3, 2))
    (g,) = grad(torch.cdist(x, x.detach(), p).diagonal().sum(), x)
    assert np.all(g.numpy() == 0)


def test_second_derivative_of_distances_of_a_set_to_itself_is_finite():
    x = leaf(random(3, 2))
    (g,) = grad((torch.cdist(x, x) ** 3).sum(), x, create_graph=True)
    (h,) = grad(g.sum() + (g * g).sum(), x)
    assert np.isfinite(h.numpy()).all()


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_many_distances_computed_by_a_product_are_accurate(offset):
    x = random(60, 3) + offset
    y = np.concatenate([x[:30], x[:30] + 1e-6 * random(30, 3, seed=2)])
    expected = np.sqrt(((x[:, None] - y) ** 2).sum(-1))
    for mode in ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"):
        assert np.allclose(torch.cdist(tensor(x), tensor(y), compute_mode=mode).numpy(), expected, rtol=1e-9, atol=0)


def test_large_point_sets_have_the_gradient_of_small_ones(monkeypatch):
    from minigrad.ops import norms

    x, y = leaf(random(7, 3)), leaf(random(5, 3, seed=1))
    small = grad((torch.cdist(x, y) ** 3).sum(), (x, y))
    monkeypatch.setattr(norms, "CHUNK", 4)  # as if these were large: blocks of one row, gradients by products
    large = grad((torch.cdist(x, y) ** 3).sum(), (x, y))
    assert all(np.allclose(a.numpy(), b.numpy()) for a, b in zip(small, large))


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.0, float("inf")])
def test_points_without_coordinates_are_all_one(p):
    assert torch.cdist(torch.ones(2, 0), torch.ones(3, 0), p).tolist() == [[0.0] * 3] * 2


@pytest.mark.parametrize("p, size", [(1.5, 0), (2, 0), (3, 0), (2, 2), (3, 2)])
def test_a_norm_that_is_constant_has_derivatives_of_0(p, size):
    nothing, s = torch.zeros(3, size), torch.tensor(2.0, requires_grad=True)
    norm = lambda s: (torch.linalg.vector_norm(nothing * s, p, dim=-1) * s).sum()
    (first,) = torch.autograd.grad(norm(s), s, create_graph=True)
    (second,) = torch.autograd.grad(first, s)
    assert first.item() == second.item() == 0
    assert torch.func.jacfwd(torch.func.jacfwd(norm))(s.detach()).item() == 0


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
@pytest.mark.parametrize("name", ["svd", "svdvals", "pinv", "matrix_rank", "cond"])
def test_singular_values_of_non_finite_matrices_are_refused(name, value):
    """LAPACK does not come to an end for some such matrices, as this one."""
    matrix = np.random.default_rng(0).standard_normal((4, 3))
    matrix[2, 0] = value
    with pytest.raises(linalg.LinAlgError, match="input matrix of size 4x3 may hold inf or NaN"):
        getattr(linalg, name)(torch.tensor(matrix))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("lead", [(), (2, 1)])
def test_large_matrices_by_lapack_are_numpys(dtype, lead):
    rng, tol = np.random.default_rng(0), 1e-2 if dtype is torch.float32 else 1e-9
    a = rng.standard_normal((*lead, 130, 130)) + 8 * np.eye(130)
    b, s, tall = rng.standard_normal((*lead[:1], 130, 70)), a @ np.swapaxes(a, -1, -2), a[..., :70]
    x, y, z, t = [torch.tensor(v, dtype=dtype) for v in (a, b, s, tall)]
    found = lambda tensor: tensor.detach().numpy().astype(np.float64)
    close = lambda one, other: np.testing.assert_allclose(one, other, rtol=tol, atol=tol)
    close(found(linalg.inv(x)), np.linalg.inv(a))
    close(found(linalg.inv(x.mT)), np.linalg.inv(np.swapaxes(a, -1, -2)))
    close(found(linalg.solve(x, y)), np.linalg.solve(a, b))
    close(found(linalg.solve_triangular(z, y, upper=True)), np.linalg.solve(np.triu(s), b))
    close(found(linalg.solve_triangular(z, y, upper=False)), np.linalg.solve(np.tril(s), b))
    for mine, numpys in zip(linalg.slogdet(x), np.linalg.slogdet(a)):
        close(found(mine), numpys)
    close(found(torch.det(x / 8)), np.linalg.det(a / 8))
    close(found(linalg.cholesky(z)) / 10, np.linalg.cholesky(s) / 10)
    q, r = linalg.qr(t)
    close(found(q @ r), tall)
    assert q.dtype is r.dtype is dtype and q.shape == (*lead, 130, 70)
    w, v = linalg.eigh(z)
    close(found(v * w.unsqueeze(-2) @ v.mT) / 100, s / 100)
    close(found(linalg.eigvalsh(z)) / 100, np.linalg.eigvalsh(s) / 100)
    close(found(linalg.svdvals(t)), np.linalg.svd(tall)[1])
    u, d, vh = linalg.svd(t, full_matrices=False)
    close(found(u * d.unsqueeze(-2) @ vh), tall)


def test_a_large_singular_matrix_of_a_batch_is_named():
    with pytest.raises(linalg.LinAlgError, match=r"\(Batch element 1\): .* 100x100 is singular"):
        linalg.inv(torch.stack([torch.eye(100), torch.zeros(100, 100)]))
    with pytest.raises(linalg.LinAlgError, match="100x100 is not positive-definite"):
        linalg.cholesky(-torch.eye(100))
    assert torch.slogdet(torch.zeros(100, 100)) == (0, -float("inf"))


@pytest.mark.parametrize("tracked", [(True, True), (True, False), (False, True)])
def test_gradients_of_solutions_equal_the_formulas_on_arrays(tracked):
    rng = np.random.default_rng(0)
    for f, *settings in (
        (linalg.solve,),
        (linalg.solve_triangular, True, True),
        (linalg.solve_triangular, False, False),
    ):
        options = dict(zip(("upper", "unitriangular"), settings))
        a = torch.tensor(rng.standard_normal((2, 1, 4, 4)) + 4 * np.eye(4)).requires_grad_(tracked[0])
        b = torch.tensor(rng.standard_normal((3, 4, 2))).requires_grad_(tracked[1])
        leaves, out = [t for t in (a, b) if t.requires_grad], f(a, b, **options).pow(2).sum()
        first = torch.autograd.grad(out, leaves, retain_graph=True)
        for one, other in zip(first, torch.autograd.grad(out, leaves, create_graph=True)):
            np.testing.assert_allclose(one.numpy(), other.detach().numpy(), rtol=1e-10, atol=1e-12)


def test_a_library_that_is_loaded_later_takes_no_more_threads_than_were_asked_for():
    program = """
import minigrad, threadpoolctl
minigrad.set_num_threads(1)
minigrad.linalg.inv(minigrad.eye(100))
print({found["num_threads"] for found in threadpoolctl.threadpool_info() if found["user_api"] == "blas"})
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "{1}"


def test_many_reflections_give_the_orthogonal_factor():
    a = np.random.default_rng(0).standard_normal((3, 70, 40))
    packed, tau = zip(*[np.linalg.qr(matrix, "raw") for matrix in a])
    found = torch.linalg.householder_product(torch.tensor(np.stack(packed)).mT, torch.tensor(np.stack(tau)))
    np.testing.assert_allclose(found.numpy(), np.linalg.qr(a).Q, atol=1e-13)
    none = torch.linalg.householder_product(torch.tensor(a), torch.zeros(3, 0, dtype=torch.float64))
    assert none.equal(torch.eye(70, 40, dtype=torch.float64).expand(3, 70, 40))


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.0])
def test_distances_of_near_points_are_exact(p):
    x = np.random.default_rng(0).standard_normal((40, 6))
    x[20:] = x[:20] + 1e-9
    first, second = np.triu_indices(40, 1)
    found = torch.pdist(torch.tensor(x), p)
    expected = np.linalg.norm(x[first] - x[second], p, -1)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("edge_order", [1, 2])
def test_equal_distances_are_coordinates(edge_order):
    x = torch.randn(5, 6, dtype=torch.float64)
    by_distance = torch.gradient(x, spacing=0.5, edge_order=edge_order)
    places = [0.5 * torch.arange(n, dtype=x.dtype) for n in (5, 6)]
    by_places = torch.gradient(x, spacing=places, edge_order=edge_order)
    assert all(torch.allclose(a, b) for a, b in zip(by_distance, by_places))
    assert not torch.gradient(x, spacing=0, edge_order=edge_order)[0].isfinite().any()
