"""Products: every pair of ranks and broadcasting against NumPy, gradients by the product rule, refusals."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as torch
from minigrad import linalg
from minigrad.autograd import grad, gradcheck
from minigrad.layers.batch import batched
from tests.ops.linear import arrays, leaf, tensor

SIZES = st.integers(0, 3)


@st.composite
def factors(draw):
    """Return two arrays that can be multiplied: vectors, matrices, batches that broadcast, in several layouts of memory."""
    n, k, m = draw(SIZES), draw(SIZES), draw(SIZES)
    lead = draw(st.lists(SIZES, max_size=2))

    def part(shape, rank):
        own = [1 if draw(st.booleans()) else s for s in lead]
        return shape if rank < 2 else (*own[draw(st.integers(0, len(own))) :], *shape)

    rank_x, rank_y = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    x = draw(arrays(part((n, k)[2 - rank_x :], rank_x)))
    y = draw(arrays(part((k, m)[:rank_y], rank_y)))
    return x, y


@given(factors())
def test_matmul_is_numpys_for_all_ranks_and_layouts(pair):
    x, y = pair
    assert np.allclose((tensor(x) @ tensor(y)).numpy(), x @ y)


@given(factors())
def test_gradients_of_matmul_equal_those_of_a_sum_of_products(pair):
    x, y = (leaf(a) for a in pair)
    out = x @ y
    w = np.random.default_rng(0).standard_normal(tuple(out.shape))
    gx, gy = grad((out * tensor(w)).sum(), (x, y))
    # the product rule along a random direction, with NumPy's own product
    dx, dy = (np.random.default_rng(1 + i).standard_normal(a.shape) for i, a in enumerate(pair))
    expected = ((dx @ pair[1] + pair[0] @ dy) * w).sum()
    assert np.allclose((gx.numpy() * dx).sum() + (gy.numpy() * dy).sum(), expected)


@given(factors(), st.sampled_from([(0, None), (None, 0), (0, 0), (-1, None), (-1, -1)]))
def test_vmap_of_matmul_is_a_loop(pair, dims):
    dims = tuple(d if d is None else d % (a.ndim + 1) for d, a in zip(dims, pair))
    stacks = [a if d is None else np.stack([a, a + 1], axis=d) for a, d in zip(pair, dims)]
    found = batched(torch.matmul, tuple(tensor(s) for s in stacks), dims, 2)
    for i in range(2):
        x, y = (s if d is None else np.take(s, i, axis=d) for s, d in zip(stacks, dims))
        assert np.allclose(found.numpy()[i], x @ y)


@pytest.mark.parametrize("name", ["float32", "float64", "int64", "int32", "uint8"])
def test_dtype_is_kept(name):
    x = np.arange(6).reshape(2, 3).astype(name)
    assert (tensor(x) @ tensor(x.T)).numpy().dtype == name
    assert (tensor(x) @ tensor(x.T)).tolist() == (x @ x.T).tolist()


def test_one_matrix_times_a_batch_is_one_product_of_all_rows():
    x, w = (np.random.default_rng(i).standard_normal(s) for i, s in enumerate([(5, 4, 3), (3, 2)]))
    assert np.allclose((tensor(x).transpose(0, 1) @ tensor(w)).numpy(), x.transpose(1, 0, 2) @ w)


def test_a_number_is_no_factor():
    with pytest.raises(TypeError):
        torch.ones(2) @ 3


def test_the_error_under_vmap_has_the_shapes_of_one_example():
    with pytest.raises(RuntimeError, match=r"shapes \(2, 3\) and \(4,\)"):
        batched(torch.matmul, (torch.ones(5, 2, 3), torch.ones(5, 4)), (0, 0), 5)


def test_mm_and_its_relatives_are_one_node():
    x, y = leaf(np.ones((2, 2))), leaf(np.ones((2, 2)))
    for f, args, name in (
        (torch.mm, (x, y), "Mm"),
        (torch.bmm, (x[None], y[None]), "Bmm"),
        (torch.mv, (x, y[0]), "Mv"),
        (torch.dot, (x[0], y[0]), "Dot"),
    ):
        assert f(*args).grad_fn.name() == f"{name}Backward0"


def test_addmm_with_beta_0_does_not_read_its_input():
    nan = torch.tensor([[float("nan")]])
    assert torch.addmm(nan, torch.ones(1, 1), torch.ones(1, 1), beta=0, alpha=2).tolist() == [[2.0]]


def test_addmm_in_place_and_with_factors():
    x = torch.ones(2, 2)
    assert x.addmm_(torch.ones(2, 3), torch.ones(3, 2), beta=0.5, alpha=2.0) is x
    assert x.tolist() == [[6.5, 6.5], [6.5, 6.5]]


def test_multi_dot_takes_the_cheapest_order():
    from minigrad.ops.chains import best_splits

    splits = best_splits([30, 35, 15, 5, 10, 20, 25])  # the example of Cormen et al.: ((A1 (A2 A3)) ((A4 A5) A6))
    assert (splits[0, 5], splits[0, 2], splits[3, 5]) == (2, 0, 4)


def test_first_matrix_power_is_a_copy():
    x = torch.ones(2, 2)
    torch.matrix_power(x, 1)[0, 0] = 5.0
    assert x[0, 0].item() == 1.0


@pytest.mark.parametrize(
    "shapes", [((3, 4, 1), (3, 1, 5)), ((3, 4, 1), (1, 5)), ((2, 3, 4, 1), (3, 1, 5)), ((3, 4, 1), (1,))]
)
def test_products_over_an_inner_size_of_one(shapes):
    x, y = [torch.tensor(np.random.default_rng(0).standard_normal(s), requires_grad=True) for s in shapes]
    np.testing.assert_allclose((x @ y).detach().numpy(), x.detach().numpy() @ y.detach().numpy())
    assert gradcheck(torch.matmul, (x, y))


@pytest.mark.parametrize("n", (3, 300))  # by NumPy, and by a kernel
def test_outer_keeps_the_sign_of_zero_and_its_gradients_are_products_with_the_vectors(n):
    x, y = np.linspace(-1, 1, n), np.linspace(-2, 2, n + 1)
    x[0] = -0.0
    a, b = (torch.tensor(v, requires_grad=True) for v in (x, y))
    out = torch.outer(a, b)
    assert np.array_equal(out.detach().numpy(), x[:, None] * y)
    assert np.array_equal(np.signbit(out.detach().numpy()), np.signbit(x[:, None] * y))
    g = np.cos(np.arange(n * (n + 1))).reshape(n, n + 1)
    for created in (False, True):  # on arrays, and on tensors
        ga, gb = grad(out, (a, b), torch.tensor(g), retain_graph=True, create_graph=created)
        assert np.allclose(ga.detach().numpy(), g @ y) and np.allclose(gb.detach().numpy(), x @ g)


def test_outer_of_two_dtypes_promotes():
    out = torch.outer(torch.arange(3), torch.tensor([0.5, 1.0]))
    assert out.dtype is torch.float32 and out.tolist() == [[0.0, 0.0], [0.5, 1.0], [1.0, 2.0]]


LINEAR = torch.nn.functional.linear
ZEROS_AND_NANS = {  # products of matrices (n, k) and (k, m)
    "@": lambda x, y: x @ y,
    "mm": torch.mm,
    "addmm": lambda x, y: torch.addmm(torch.zeros((), dtype=x.dtype), x, y),
    "linear": lambda x, y: LINEAR(x, y.mT),
    "linear with bias": lambda x, y: LINEAR(x, y.mT, torch.zeros(y.shape[1], dtype=x.dtype)),
    "batches": lambda x, y: torch.stack([x, x]) @ y,
    "bmm": lambda x, y: torch.bmm(x[None], y[None]),
    "baddbmm": lambda x, y: torch.baddbmm(torch.zeros((), dtype=x.dtype), x[None], y[None]),
    "einsum": lambda x, y: torch.einsum("ij,jk->ik", x, y),
    "tensordot": lambda x, y: torch.tensordot(x, y, 1),
    "mv": lambda x, y: torch.mv(x, y[:, 0]),
    "outer": lambda x, y: torch.outer(x[:, 0], y[0]),
    "multi_dot": lambda x, y: linalg.multi_dot([x, y]),
    "conv1d": lambda x, y: torch.nn.functional.conv1d(x.mT[None], y.mT[:, :, None]),
    "conv2d": lambda x, y: torch.nn.functional.conv2d(x.mT[None, :, :, None], y.mT[:, :, None, None]),
}
FACTORS = [(0.0, float("nan")), (float("nan"), 0.0), (0.0, float("inf")), (float("-inf"), 0.0)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n, k, m", [(1, 1, 1), (1, 1, 3), (3, 1, 1), (3, 1, 2), (1, 3, 1), (2, 3, 2)])
@pytest.mark.parametrize("name", ZEROS_AND_NANS)
def test_zero_times_nan_or_infinity_is_nan(name, n, k, m, dtype):
    f = ZEROS_AND_NANS[name]
    for a, b in FACTORS:
        x, y = torch.full((n, k), a, dtype=dtype), torch.full((k, m), b, dtype=dtype)
        assert f(x, y).isnan().all(), (a, b)


@pytest.mark.parametrize("name", ZEROS_AND_NANS)
def test_gradients_of_products_do_not_hide_nan_or_infinity(name):
    f = ZEROS_AND_NANS[name]
    for (a, b), (n, m) in itertools.product(FACTORS, [(1, 1), (1, 3), (3, 1)]):
        x, y = torch.full((n, 1), a, requires_grad=True), torch.full((1, m), b, requires_grad=True)
        out = f(x, y)
        for g in (0.0, float("nan"), float("inf")):
            gx, gy = grad(out, (x, y), torch.full(out.shape, g), retain_graph=True)
            assert not np.isnan(g * b) or gx.isnan().any(), (a, b, g)
            assert not np.isnan(g * a) or gy.isnan().any(), (a, b, g)
