"""Kernels that move elements, beside NumPy's functions."""

import numpy as np
import pytest

import minigrad
from minigrad.kernels import threads
from minigrad.kernels.cpu import flip_pad

SHAPES = [(6, 7), (7, 6), (2, 5, 4), (3, 1), (1, 9), (8,)]
DTYPES = ["float32", "float64", "int64", "int32", "uint8", "bool"]


@pytest.fixture(autouse=True)
def kernels_from_one_element_on(monkeypatch):
    monkeypatch.setattr(flip_pad, "MOVES_FROM", 1)


def numbers(shape, dtype="float32"):
    x = np.random.default_rng(0).integers(-9, 9, shape).astype(dtype)
    return -x if dtype.startswith("float") else x  # zeros of both signs


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_flip_is_numpys(shape, dtype):
    x = numbers(shape, dtype)
    for dims in [(x.ndim - 1,), tuple(range(x.ndim)), (0, x.ndim - 1) if x.ndim > 1 else (0,)]:
        found = flip_pad.flip(x, dims)
        assert found.dtype == x.dtype and found.flags.c_contiguous and not np.shares_memory(found, x)
        np.testing.assert_array_equal(found, np.flip(x, dims))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [s for s in SHAPES if len(s) > 1])
def test_triangles_are_numpys(shape, dtype):
    x = numbers(shape, dtype)
    for diagonal in (*range(-9, 10), 10**12, -(10**12)):
        for upper, numpys in ((True, np.triu), (False, np.tril)):
            found = flip_pad.triangle(x, diagonal, upper)
            assert found.dtype == x.dtype
            np.testing.assert_array_equal(found, numpys(x, min(max(diagonal, -99), 99)))


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize("widths", [(1, 2), (2, 0), (0, 1, 2, 1), (3, 3, 3, 3)])
def test_surroundings_are_numpys(widths, mode, monkeypatch):
    x = minigrad.tensor(numbers((2, 5, 4), "float64")).requires_grad_()
    names = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    pairs = [(0, 0), *[(0, 0)] * (2 - len(widths) // 2), *zip(widths[::2], widths[1::2])]
    pairs = [*pairs[: 3 - len(widths) // 2], *reversed(pairs[3 - len(widths) // 2 :])]
    out = minigrad.nn.functional.pad(x, widths, mode)
    np.testing.assert_array_equal(out.detach().numpy(), np.pad(x.detach().numpy(), pairs, names[mode]))
    g = minigrad.tensor(np.random.default_rng(1).standard_normal(tuple(out.shape)))
    (found,) = minigrad.autograd.grad(out, x, g)
    places = np.pad(np.arange(40).reshape(2, 5, 4), pairs, names[mode])
    expected = np.bincount(places.reshape(-1), g.numpy().reshape(-1), 40).reshape(2, 5, 4)
    np.testing.assert_allclose(found.numpy(), expected)


def test_other_layouts_are_left_to_numpy():
    x = numbers((6, 7))
    assert flip_pad.flip(x.T, (1,)) is None and flip_pad.triangle(x[:, ::2], 0, True) is None
    assert flip_pad.flip(x, (0,)) is None  # whole rows: NumPy copies them as fast


def test_threads_share_the_rows(monkeypatch):
    monkeypatch.setattr(threads, "parts", lambda size: 3)
    x = numbers((4, 7, 6))
    np.testing.assert_array_equal(flip_pad.triangle(x, -1, False), np.tril(x, -1))
    np.testing.assert_array_equal(flip_pad.flip(x, (2,)), np.flip(x, 2))
