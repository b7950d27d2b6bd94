"""LU, its solutions, least squares and the exponential of matrices: by their defining equations, and beside SciPy."""

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

import minigrad
from minigrad import linalg
from tests.ops.gradients import normal

SIZES = st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4))


def close(a, b):
    return np.allclose(a.numpy(), b.numpy() if hasattr(b, "numpy") else b, atol=1e-9)


@given(SIZES)
def test_the_factors_of_lu_make_the_matrix(size):
    A = normal(*size)
    P, L, U = linalg.lu(A)
    assert close(P @ L @ U, A) and close(L, L.tril()) and close(U, U.triu())
    again = minigrad.lu_unpack(*linalg.lu_factor(A))
    assert all(close(a, b) for a, b in zip(again, (P, L, U), strict=True))


def test_what_is_not_unpacked_is_empty():
    P, L, U = minigrad.lu_unpack(*linalg.lu_factor(normal(3, 3)), unpack_data=False)
    assert P.shape == (3, 3) and L.shape == U.shape == (0,)
    assert minigrad.lu_unpack(*linalg.lu_factor(normal(3, 3)), unpack_pivots=False).P.shape == (0,)


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("adjoint", [True, False])
def test_lu_solves_with_the_matrix_on_either_side_and_transposed(left, adjoint):
    A, B = normal(2, 3, 3), normal(3, 3, seed=1)
    X = linalg.lu_solve(*linalg.lu_factor(A), B, left=left, adjoint=adjoint)
    M = A.mT if adjoint else A
    assert close(M @ X if left else X @ M, B.expand(2, 3, 3))


def test_info_marks_the_failed_matrices_of_a_batch():
    A = minigrad.stack([minigrad.eye(2), minigrad.zeros(2, 2)])
    assert linalg.lu_factor_ex(A).info.tolist() == linalg.inv_ex(A).info.tolist() == [0, 1]
    assert linalg.inv_ex(A).inverse.isnan().tolist() == [[[False] * 2] * 2, [[True] * 2] * 2]
    assert linalg.solve_ex(A, minigrad.ones(2, 2)).info.tolist() == linalg.cholesky_ex(A).info.tolist() == [0, 1]
    for f in (linalg.lu_factor_ex, linalg.inv_ex, linalg.cholesky_ex):
        f(A[0], check_errors=True)


def test_matrices_without_elements():
    assert linalg.lu_factor(minigrad.zeros(2, 0, 3)).pivots.shape == (2, 0)
    assert linalg.cholesky_ex(minigrad.zeros(0, 2, 2)).info.shape == (0,)
    assert minigrad.matrix_exp(minigrad.zeros(0, 2, 2)).shape == (0, 2, 2)


@given(SIZES)
def test_the_residual_of_least_squares_is_orthogonal_to_the_columns(size):
    A, B = normal(*size), normal(*size[:2], 2, seed=1)
    X = linalg.lstsq(A, B).solution
    assert close(A.mT @ (A @ X - B), np.zeros(tuple(X.shape)))


def test_least_squares_of_a_singular_matrix_are_the_smallest():
    A = minigrad.ones(3, 2, dtype=minigrad.float64)
    found = linalg.lstsq(A, minigrad.tensor([[2.0], [2.0], [2.0]], dtype=minigrad.float64), driver="gelsd")
    assert close(found.solution, np.ones((2, 1))) and found.rank.item() == 1 and found.residuals.shape == (0,)


@pytest.mark.parametrize(
    ("driver", "given"), [("gelsy", "rank"), ("gels", "residuals"), ("gelsd", "all"), ("gelss", "all")]
)
def test_the_driver_of_lstsq_decides_the_further_results(driver, given):
    found = linalg.lstsq(normal(4, 2), normal(4, 3, seed=1), driver=driver)
    assert (found.residuals.numel() > 0) is (given in ("residuals", "all"))
    assert (found.singular_values.numel() > 0) is (given == "all") and (found.rank.numel() > 0) is (
        given != "residuals"
    )


def test_equations_of_tensors():
    A, B = normal(2, 3, 6), normal(2, 3, seed=1)
    assert close(minigrad.tensordot(A, linalg.tensorsolve(A, B), 1), B)
    assert close(minigrad.tensordot(linalg.tensorinv(A), A, 2), np.eye(6))


@pytest.mark.parametrize("size", [1e-8, 0.1, 1.0, 20.0])
def test_the_exponential_of_matrices_is_scipys(size):
    A = normal(5, 3, 3) * size * minigrad.tensor([0.0, 1.0, 0.5, 1e-6, 1.0], dtype=minigrad.float64).reshape(-1, 1, 1)
    found, wanted = minigrad.matrix_exp(A).numpy(), scipy.linalg.expm(A.numpy())
    assert np.allclose(found, wanted, rtol=1e-10, atol=1e-12 * np.abs(wanted).max())


def test_the_exponential_of_a_non_finite_matrix_is_nan():
    assert minigrad.matrix_exp(minigrad.tensor([[np.inf, 0.0], [0.0, 1.0]])).isnan().any()


def test_powers_of_a_vandermonde_matrix():
    x = minigrad.tensor([2.0, 3.0], requires_grad=True)
    assert minigrad.vander(x, 3).tolist() == [[4, 2, 1], [9, 3, 1]]
    assert minigrad.vander(x, increasing=True).tolist() == [[1, 2], [1, 3]]
    linalg.vander(x, N=3).sum().backward()
    assert x.grad.tolist() == [5, 7]  # 1 + 2 x
