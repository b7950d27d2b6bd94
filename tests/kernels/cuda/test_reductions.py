"""Reductions on the device: what NumPy computes, of any shape, layout and dtype."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minigrad.kernels.cuda import reductions_cuda
from minigrad.kernels.cuda.device_array import DeviceArray, to_device

random = np.random.default_rng(0)
LAYOUTS = {
    "as it is": lambda a: a,
    "transposed": lambda a: a.T,
    "middle first": lambda a: a.transpose(1, 0, 2),
    "every other": lambda a: a[:, ::2],
    "backwards": lambda a: a[::-1, :, ::-1],
    "repeated": lambda a: np.broadcast_to(a[:, :1], a.shape),
    "empty": lambda a: a[:, :0],
    "one": lambda a: a[:1, :1, :1],
}
AXES = (None, 0, 1, 2, -1, (0, 1), (0, 2), (1, 2), (0, 1, 2), ())


def same(here, there, tolerance=1e-6):
    """Check that the device gives the same as NumPy, in the same dtype and shape."""
    assert type(there) is DeviceArray
    here = np.asarray(here)
    assert (here.dtype, here.shape) == (there.dtype, there.shape)
    np.testing.assert_allclose(there.to_host(), here, tolerance, tolerance)


def numbers(dtype, shape=(3, 5, 4)):
    """Return numbers of a dtype, with signs where it has some."""
    return (
        (random.standard_normal(shape) * 3).astype(dtype) if dtype != "uint8" else random.integers(0, 9, shape, dtype)
    )


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.logical_or], ids=lambda u: u.__name__)
def test_all_layouts_and_axes(ufunc, layout):
    a = numbers("float32")
    for axis in AXES:
        x, y = LAYOUTS[layout](a), LAYOUTS[layout](to_device(a))
        options = {"initial": -2} if ufunc is np.maximum else {}
        same(ufunc.reduce(x, axis=axis, **options), ufunc.reduce(y, axis=axis, **options))
        same(ufunc.reduce(x, axis, keepdims=True, **options), ufunc.reduce(y, axis, keepdims=True, **options))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32", "int8", "uint8", "bool"])
@pytest.mark.parametrize("ufunc", reductions_cuda.UFUNCS, ids=lambda u: u.__name__)
def test_all_dtypes(ufunc, dtype):
    a = numbers(dtype)
    if ufunc.__name__.startswith("bitwise") and a.dtype.kind == "f":
        with pytest.raises(TypeError):
            ufunc.reduce(to_device(a))
        return
    for axis in (None, 1, (0, 2)):
        same(ufunc.reduce(a, axis), ufunc.reduce(to_device(a), axis))


@pytest.mark.parametrize("function", [np.sum, np.prod, np.max, np.min, np.any, np.all,
                                      np.count_nonzero, np.argmax, np.argmin], ids=lambda f: f.__name__)  # fmt: skip
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_functions(function, dtype):
    a = numbers(dtype)
    for axis in (None, 0, 1, -1):
        same(function(a, axis), function(to_device(a), axis))
        same(function(a, axis, keepdims=True), function(to_device(a), axis, keepdims=True))


def test_methods_are_the_functions():
    a = numbers("float32")
    b = to_device(a)
    same(a.sum(0), b.sum(0))
    same((a > 0).any(), (b > 0).any())
    same(a.argmax(1), b.argmax(1))


def test_sums_are_as_accurate_as_double_precision_makes_them():
    a = np.full(3000, 0.1, np.float32)
    assert abs(np.add.reduce(to_device(a)).item() - a.astype(np.float64).sum()) < 1e-5
    a = np.asarray([1e8, *[1.0] * 64, -1e8], np.float32)
    assert np.add.reduce(to_device(a)).item() == 64
    assert np.add.reduce(to_device(np.stack([a, a], 1))).to_host().tolist() == [64, 64]


@pytest.mark.parametrize(
    "shape, axis", [((2100,), 0), ((3, 1100), 1), ((1100, 3), 0), ((2, 300, 2), 1), ((40, 2, 40), (0, 2))]
)
def test_long_dimensions_are_reduced_in_parts(shape, axis, monkeypatch):
    monkeypatch.setattr(reductions_cuda, "THREADS", 1 << 10)
    a = numbers("float64", shape)
    a.flat[[1, 7]] = np.nan, 100
    for ufunc in (np.add, np.maximum, np.minimum, np.logical_and):
        same(ufunc.reduce(a, axis), ufunc.reduce(to_device(a), axis))
    if isinstance(axis, int):
        same(np.argmax(a, axis), np.argmax(to_device(a), axis))
        same(np.argmin(np.nan_to_num(a), axis), np.argmin(to_device(np.nan_to_num(a)), axis))
    small = np.where(np.isnan(a), 1, np.sign(a) * (1 + abs(a) / 1000))
    same(np.multiply.reduce(small, axis), np.multiply.reduce(to_device(small), axis))


def test_halves_are_kept_in_floats():
    a = numbers("float16", (3, 40))
    same(a.astype("float32").sum(1).astype("float16"), np.sum(to_device(a), 1), 1e-3)
    same(a.max(1), np.max(to_device(a), 1))
    same(a.argmin(0), np.argmin(to_device(a), 0))


def test_nan_stays_in_extremes_and_stands_first():
    a = np.asarray([[1, np.nan, 3], [np.nan, np.nan, np.inf], [-np.inf, 2, 2]])
    for function in (np.max, np.min, np.argmax, np.argmin):
        for axis in (None, 0, 1):
            same(function(a, axis), function(to_device(a), axis))


def test_initial_and_dtype():
    a, mask = numbers("float32"), random.random((3, 5, 4)) < 0.5
    b, c = to_device(a), to_device(mask)
    same(np.add.reduce(a, 1, initial=2), np.add.reduce(b, 1, initial=2))
    same(np.multiply.reduce(a, (0, 1), initial=2), np.multiply.reduce(b, (0, 1), initial=2))
    same(np.minimum.reduce(a, 1, initial=0.5), np.minimum.reduce(b, 1, initial=0.5))
    same(np.add.reduce(a, 0, np.float64), np.add.reduce(b, 0, np.float64))
    same(np.add.reduce(mask, 0, np.float32), np.add.reduce(c, 0, np.float32))
    same(np.sum(a, 0, dtype="float64"), np.sum(b, 0, dtype="float64"))


def test_of_nothing_there_is_a_sum_but_no_extreme():
    a, b = np.zeros((0, 3), "float32"), to_device(np.zeros((0, 3), "float32"))
    same(np.add.reduce(a, 0), np.add.reduce(b, 0))
    same(np.multiply.reduce(a), np.multiply.reduce(b))
    same(np.maximum.reduce(a, 1), np.maximum.reduce(b, 1))
    with pytest.raises(ValueError, match="no identity"):
        np.maximum.reduce(b, 0)
    with pytest.raises(ValueError, match="empty sequence"):
        np.argmax(b, 0)


def test_variance_does_not_lose_digits_to_an_offset():
    a = (1e4 + random.standard_normal((4, 50))).astype("float32")
    same(a.astype("float64").var(1).astype("float32"), reductions_cuda.spread(to_device(a), (1,), False, 0), 1e-6)
    same(
        a.astype("float64").std(0, ddof=1).astype("float32"),
        reductions_cuda.spread(to_device(a), (0,), False, 1, root=True),
        1e-6,
    )


def test_what_is_read_beside_the_elements_is_broadcast():
    x, m = numbers("float32"), numbers("float32", (5, 1))
    spread = ((x.astype("float64") - m) ** 2).sum((0, 2)).astype("float32")
    same(spread, reductions_cuda.reduce("spread", [*map(to_device, (x, m))], (0, 2), False), 1e-5)


@settings(max_examples=30)
@given(st.lists(st.integers(0, 5), max_size=4), st.data())
def test_any_shape_order_and_axes(shape, data):
    order = data.draw(st.permutations(range(len(shape))))
    axes = data.draw(st.sets(st.integers(0, len(shape) - 1))) if shape else ()
    a = random.integers(-4, 5, shape)
    x, y = a.transpose(order), to_device(a).transpose(order)
    same(np.add.reduce(x, tuple(axes)), np.add.reduce(y, tuple(axes)))
    same(np.maximum.reduce(x, tuple(axes), initial=-5), np.maximum.reduce(y, tuple(axes), initial=-5))
