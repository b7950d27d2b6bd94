"""The arguments for cuBLAS describe operands in memory by the definition of GEMM; cuBLAS itself needs a GPU."""

import numpy as np
import pytest

from minigrad.kernels.cuda import blas, matmul_cuda
from minigrad.kernels.cuda.device_array import to_device
from minigrad.ops.nn.conv import Conv, ConvInput, ConvWeight, Geometry

random = np.random.default_rng(0)


def gemm(memory, turns, sizes, a_steps, b_steps, c_steps, count):
    """BLAS's definition of C = op(A) @ op(B) for matrices in columns, at these steps in flat memory."""
    (m, n, k), (a, b, c) = sizes, memory
    for i in range(count):
        matrices = []
        for data, turn, (rows, columns), (step, following) in zip((a, b), turns, ((m, k), (k, n)), (a_steps, b_steps)):
            rows, columns = (columns, rows) if turn == blas.TRANSPOSED else (rows, columns)
            found = np.array([[data[i * following + r + s * step] for s in range(columns)] for r in range(rows)])
            matrices.append(found.T if turn == blas.TRANSPOSED else found)
        product = matrices[0] @ matrices[1]
        for r, s in np.ndindex(m, n):
            c[i * c_steps[1] + r + s * c_steps[0]] = product[r, s]


def told(x, y):
    """Return the arguments for the product of two arrays on the device, and the memory that they point to."""
    out = to_device(np.zeros((len(x), x.shape[1], y.shape[2])))
    operands = [matmul_cuda.matrices(a, 0, a.strides[0]) for a in (x, y, out)]
    given = blas.arguments(*operands, (1, len(x)), x.shape[1], y.shape[2], x.shape[2])
    return given, [operands[k].memory.to_host() for k in (1, 0, 2)], out.shape


@pytest.mark.parametrize("x_turned", [False, True])
@pytest.mark.parametrize("y_turned", [False, True])
@pytest.mark.parametrize("count", [1, 3])
def test_operands_in_rows_and_in_columns(x_turned, y_turned, count):
    x = random.standard_normal((count, 4, 2) if x_turned else (count, 2, 4))
    y = random.standard_normal((count, 3, 4) if y_turned else (count, 4, 3))
    x_there, y_there = [
        to_device(a).swapaxes(1, 2) if turn else to_device(a) for a, turn in ((x, x_turned), (y, y_turned))
    ]
    given, memory, shape = told(x_there, y_there)
    gemm(memory, *given)
    expected = (x.swapaxes(1, 2) if x_turned else x) @ (y.swapaxes(1, 2) if y_turned else y)
    assert np.allclose(memory[2].reshape(shape), expected)


def test_parts_of_larger_matrices():
    x, y = to_device(random.standard_normal((1, 6, 9))), to_device(random.standard_normal((1, 7, 8)))
    given, memory, shape = told(x[:, 1:4, 2:7], y[:, 1:6, 3:6])
    gemm(memory, *given)
    assert np.allclose(memory[2].reshape(shape), x.to_host()[:, 1:4, 2:7] @ y.to_host()[:, 1:6, 3:6])


def test_it_is_not_asked_for_what_it_cannot_be_told():
    x, y = to_device(np.zeros((1, 6, 8))), to_device(np.zeros((1, 8, 6)))
    assert told(x[:, ::2, ::2], y[:, ::2])[0] is None  # neither rows nor columns in one piece
    assert told(np.broadcast_to(x[:, :1], (1, 6, 8)), y)[0] is None  # rows that are repeated


class Library:
    """A cuBLAS that notes the products it is asked for."""

    def __init__(self):
        self.asked = []
        self.cublasDgemmStridedBatched = lambda *given: self.asked.append(given)  # None, as 0, is success


@pytest.fixture
def library(monkeypatch):
    """Return a library that stands for cuBLAS, which receives products of any size."""
    found = Library()
    monkeypatch.setattr(blas, "library", lambda: found)
    monkeypatch.setattr(blas, "handle", lambda: None)
    monkeypatch.setattr(blas, "LIBRARY_FROM", 0)
    return found


@pytest.mark.parametrize("turned", [False, True])
def test_results_in_rows_and_in_columns_are_left_to_the_library(library, turned):
    x, y, out = [matmul_cuda.matrices(to_device(np.ones((2, 2))), 0, 0) for _ in range(3)]
    assert blas.product(x, y, out.T if turned else out, (1, 1), 2, 2, 2)
    ((_, _, _, rows, columns, depth, _, first, *_),) = library.asked
    assert (rows, columns, depth) == (2, 2, 2) and first == (x if turned else y).memory.address


def test_convolutions_are_not_left_to_the_library(library):
    """Their operands have tables of addresses instead of steps."""
    x, w = random.standard_normal((2, 3, 6)), random.standard_normal((4, 3, 2))
    geometry = Geometry((1,), (0,), (1,))
    out = Conv.impl(x, w, geometry)
    there, weight, g = map(to_device, (x, w, out))
    assert np.allclose(Conv.impl(there, weight, geometry).to_host(), out)
    assert np.allclose(ConvWeight.impl(g, there, (2,), geometry).to_host(), ConvWeight.impl(out, x, (2,), geometry))
    assert np.allclose(ConvInput.impl(g, weight, (6,), geometry).to_host(), ConvInput.impl(out, w, (6,), geometry))
    assert not library.asked


def test_without_the_library_nothing_is_asked_of_it():
    x = matmul_cuda.matrices(to_device(np.zeros((2, 2))), 0, 0)
    assert not blas.product(x, x, x, (1, 1), 1 << 10, 1 << 10, 1 << 10)
