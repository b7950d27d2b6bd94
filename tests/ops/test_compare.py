"""Comparisons, logic and choosing: results, promotion, gradients at ties, errors, in-place forms."""

import numpy as np
import pytest

import minigrad as torch
from minigrad.autograd import grad
from tests.floats import FLOATS, some
from tests.ops.kernels import check_fused
from tests.ops.test_pointwise import EDGES, INF, NAN, T, leaf, same, slope


# ---------------------------------------------------------------------- comparisons
def test_comparisons_promote_and_give_bools():
    x = T([1, 2, 3])
    assert (x > 2.5).tolist() == [False, False, True] and (x > 2.5).dtype == torch.bool
    assert (x.__gt__(2)).tolist() == [False, False, True] and (x == T([1.0, 0.0, 3.0])).tolist() == [True, False, True]
    assert (T([NAN]) != T([NAN])).item() and not (T([NAN]) == T([NAN])).item()
    assert (x.less_equal(2)).tolist() == torch.le(x, 2).tolist() == [True, True, False]


def test_comparing_with_a_non_number_is_left_to_python():
    x = T([1.0])
    assert (x == "a") is False and (x == None) is False  # noqa: E711
    with pytest.raises(TypeError, match="not supported between"):
        assert x < None


def test_comparisons_are_never_tracked_and_end_the_history_in_place():
    x = leaf(1.0, 3.0)
    assert not (x > 2).requires_grad
    y = x * 2
    assert y.gt_(3).tolist() == [0, 1] and y.dtype == torch.float64
    assert grad(y.sum(), x, materialize_grads=True)[0].tolist() == [0, 0]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x.eq_(1)
    assert T([True, False]).eq_(1).tolist() == [True, False]


def test_isclose_at_infinities_and_nan():
    x, y = T([INF, -INF, NAN, INF, 1.0]), T([INF, INF, NAN, 1.0, 1.0 + 1e-6])
    assert torch.isclose(x, y).tolist() == [True, False, False, False, True]
    assert torch.isclose(x, y, equal_nan=True).tolist() == [True, False, True, False, True]
    assert torch.isclose(T([3]), T([4]), atol=1).tolist() == [True]
    assert torch.allclose(T([1.0]), T([1.1]), rtol=0.2) and not torch.allclose(T([1.0]), T([1.1]))


def test_equal_compares_shapes_and_values():
    assert torch.equal(T([1, 2]), T([1.0, 2.0])) is True
    assert torch.equal(T([1.0]), T(1.0)) is False and torch.equal(T([NAN]), T([NAN])) is False


def test_properties_of_integers():
    for x in (T([1, 2]), T([True, False])):
        assert torch.isnan(x).tolist() == torch.isinf(x).tolist() == [False, False]
        assert torch.isfinite(x).tolist() == [True, True]


# ---------------------------------------------------------------------- logic and bits
def test_logic_takes_every_dtype():
    assert torch.logical_and(T([1.5, 0.0]), T([2, 3])).tolist() == [True, False]
    assert torch.logical_or(T([0, 0]), T([True, False])).tolist() == [True, False]
    assert torch.logical_xor(T([1.0, NAN]), T([2.0, 0.0])).tolist() == [False, True]
    assert torch.logical_not(T([0.0, 2.0])).tolist() == [True, False]
    assert T([1.0, 0.0]).logical_not_().tolist() == [0, 1]


def test_bits_of_integers_and_bools():
    i, b = T([5, -2]), T([True, False])
    assert (
        (i & 3).tolist() == [1, 2]
        and (i | 1).tolist() == [5, -1]
        and (i ^ 1).tolist() == [4, -1]
        and (~i).tolist() == [-6, 1]
    )
    assert (b & T([True, True])).dtype == torch.bool and (~b).tolist() == [False, True]
    assert (b & 1).dtype == torch.int64 and (i & True).tolist() == [1, 0]


def test_shifts_beyond_the_last_bit():
    i = T([1, -2, 3])
    assert (i << 64).tolist() == (i << -1).tolist() == [0, 0, 0]
    assert (i >> 64).tolist() == (i >> -1).tolist() == [0, -1, 0]
    assert (1 << i[::2]).tolist() == [2, 8]


# ---------------------------------------------------------------------- where
def test_the_condition_of_where_takes_no_part_in_promotion():
    c, f, d = T([True, False]), T([1.0, 2.0]), T([3.0, 4.0], dtype=torch.float64)
    assert torch.where(c, f, 2).dtype == torch.float32 and torch.where(c, f, d).dtype == torch.float64
    assert torch.where(c, 1, 2).dtype == torch.int64 and torch.where(c, 1.0, 2).dtype == torch.float32
    assert torch.where(c, T([1, 2]), 2.5).dtype == torch.float32
    assert torch.where(c, T([1, 2], dtype=torch.int8), 7).dtype == torch.int8
    assert torch.where(T([1, 0], dtype=torch.uint8), f, f).tolist() == [1, 2]
    assert f.where(c, 0).tolist() == [1, 0]


def test_where_with_one_argument_is_nonzero():
    found = torch.where(T([[1.0, 0.0], [0.0, 2.0]]))
    assert [t.tolist() for t in found] == [[0, 1], [0, 1]]


def test_where_passes_its_gradient_to_the_chosen_branch():
    x, y = leaf(-INF, 4.0), leaf(1.0, NAN)
    dx, dy = grad(torch.where(x > 0, x * 3, y * y).sum(), (x, y))
    assert dx.tolist() == [0, 3] and same(dy, [2, NAN])  # 0 * nan, as in PyTorch
    c = T([True, False])
    assert grad(torch.where(c, leaf_ := leaf(1.0, 2.0), INF).sum(), leaf_)[0].tolist() == [1, 0]


# ---------------------------------------------------------------------- maximum, clamp
def test_equal_elements_share_the_gradient_of_maximum():
    for f, larger in ((torch.maximum, 1.0), (torch.minimum, 0.0)):
        x, y = leaf(1.0, 1.0, 2.0), leaf(1.0, 2.0, 1.0)
        dx, dy = grad(f(x, y).sum(), (x, y))
        assert dx.tolist() == [0.5, 1 - larger, larger] and dy.tolist() == [0.5, larger, 1 - larger]


def test_nan_in_extremes():
    x, y = T([NAN, 0.0, NAN]), T([1.0, NAN, NAN])
    assert same(torch.maximum(x, y), [NAN, NAN, NAN]) and same(torch.minimum(x, y), [NAN, NAN, NAN])
    assert same(torch.fmax(x, y), [1, 0, NAN]) and same(torch.fmin(x, y), [1, 0, NAN])
    for f in (torch.fmax, torch.fmin):
        x, y = leaf(1.0, NAN, 0.0, NAN), leaf(1.0, 1.0, NAN, NAN)
        dx, dy = grad(f(x, y).sum(), (x, y))
        assert dx.tolist() == [1, 0, 1, 1] and dy.tolist() == [0, 1, 0, 0]


def test_clamp_passes_the_gradient_inside_and_on_the_border():
    assert slope(lambda x: torch.clamp(x, 0, 1), 0.0, 1.0, NAN, -1.0, 2.0).tolist() == [1, 1, 0, 0, 0]
    x, lo, hi = leaf(0.0, -1.0, 2.0, 0.5, 1.0), leaf(0.0, 0.0, 0.0, 2.0, 1.0), leaf(1.0, 1.0, 1.0, 1.0, 1.0)
    found = grad(torch.clamp(x, lo, hi).sum(), (x, lo, hi))
    assert [g.tolist() for g in found] == [[1, 0, 0, 0, 1], [0, 1, 0, 0, 0], [0, 0, 1, 1, 0]]


@pytest.mark.parametrize("lo, hi", [(-0.5, 0.5), (0, 1), (0.5, -0.5), (NAN, 0.0), (0.0, NAN)])
def test_clamp_between_numbers_equals_clamp_between_tensors(lo, hi):
    x = T([-1.0, -0.5, 0.0, 0.25, 0.5, 1.0, NAN]).requires_grad_()
    by_numbers, by_tensors = torch.clamp(x, lo, hi), torch.clamp(x, T(lo), T(hi))
    assert same(by_numbers, by_tensors.tolist())
    assert same(grad(by_numbers.sum(), x)[0], grad(by_tensors.sum(), x)[0].tolist())
    assert same(x.detach().clone().clamp_(lo, hi), by_numbers.tolist())


def test_clamp_of_integers_numbers_tensors_and_none():
    i = T([1, -2, 3])
    assert torch.clamp(i, 0, 2).tolist() == [1, 0, 2] and torch.clamp(i, 0.5).dtype == torch.float32
    assert torch.clip(i, max=T([0, 0, 5])).tolist() == [0, -2, 3]
    assert torch.clamp(i, 2, 0).tolist() == [0, 0, 0]
    assert same(torch.clamp(T([1.0]), NAN, 0), [NAN]) and same(torch.clamp(T([NAN]), 0, 1), [NAN])


@FLOATS
@pytest.mark.parametrize("f", some([
    torch.maximum, torch.minimum, torch.fmax, torch.fmin,
    lambda x, y: torch.clamp(x, min=y), lambda x, y: torch.clamp(x, y, 1.0), lambda x, y: torch.clamp(y, -0.5, 0.5) * x,
    lambda x, y: torch.where(x > y, x, y * 2), lambda x, y: torch.where(x > 0, 1.5, y),
    lambda x, y: torch.isclose(x, y, 0.1, 0.1, True), torch.logical_xor,
]))  # fmt: skip
def test_fused_kernels_equal_numpy(f, dtype):
    x, y = np.meshgrid(np.array(EDGES), np.array(EDGES))
    check_fused(f, [x, y], dtype)
    random = np.random.default_rng(1)
    check_fused(f, [random.standard_normal((50, 1)), random.standard_normal(100)], dtype)


@pytest.mark.parametrize(("call", "n"), [
    *[(f, n) for n in (300, -5)
      for f in (lambda x, n: x.clamp(0, n), lambda x, n: x.clamp(min=n), lambda x, n: x.clamp_(max=n))],
    *[(f, n) for n in (300, -256) for f in (lambda x, n: torch.where(x > 60, x, n), lambda x, n: torch.where(x > 60, n, x))],
])  # fmt: skip
def test_numbers_outside_the_dtypes_range_raise_an_overflow_error(call, n):
    with pytest.raises(RuntimeError, match="overflow"):
        call(T([50, 200], dtype=torch.uint8), n)
