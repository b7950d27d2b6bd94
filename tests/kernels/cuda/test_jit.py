"""Kernels that a program writes itself take tensors on the device, and say what they cannot take."""

import math

import numpy as np
import pytest
from numba import cuda

import minigrad
from minigrad.kernels.cuda import simulator

simulated = pytest.mark.skipif(not simulator.SIMULATED, reason="the simulator is off: set NUMBA_ENABLE_CUDASIM=1")


@cuda.jit(device=True)
def doubled(x):
    return 2 * x


@cuda.jit(device=True)
def joined(tile, t):
    """Waits: every thread reads what its neighbour has written."""
    cuda.syncthreads()
    return tile[t ^ 1]


@minigrad.cuda.jit
def scale(x_, out_, by):
    i = cuda.grid(1)
    if i < out_.size:
        out_[i] = by * doubled(x_[i])


@minigrad.cuda.jit
def swap(x_, out_):
    tile = cuda.shared.array(8, np.float32)
    t = cuda.threadIdx.x
    tile[t] = math.sqrt(x_[t])
    out_[t] = joined(tile, t)


@minigrad.cuda.jit
def careless(x_, out_):
    i = cuda.grid(1)
    out_[i] = x_[i]


def on_device(n, dtype=np.float32):
    return minigrad.as_tensor(np.arange(n, dtype=dtype), device="cuda")


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_it_computes_with_tensors_and_numbers(dtype):
    x = on_device(10, dtype)
    out = minigrad.zeros_like(x)
    scale[3, 4](x, out, dtype(3))
    assert out.tolist() == [6 * i for i in range(10)] and x.tolist() == list(range(10))


def test_views_are_written_where_they_lie():
    memory = minigrad.zeros(6, 4, device="cuda")
    scale[2, 4](on_device(6), memory[:, 1], np.float32(1))
    assert memory.cpu().numpy().T.tolist() == [[0] * 6, [0, 2, 4, 6, 8, 10], [0] * 6, [0] * 6]


def test_tensors_without_dimensions_have_one_element():
    out = minigrad.zeros((), device="cuda")
    scale[1, 4](minigrad.tensor(2.0, device="cuda"), out, np.float32(1))
    assert out.item() == 4


def test_device_functions_may_wait():
    out = minigrad.empty(8, device="cuda")
    swap[1, 8](on_device(8), out)
    assert out.tolist() == pytest.approx([math.sqrt(i ^ 1) for i in range(8)])


def test_what_a_kernel_reads_from_outside_is_found_in_functions_too():
    offset = 3.0

    @minigrad.cuda.jit
    def shift(x_, out_):
        i = cuda.grid(1)
        if i < out_.size:
            out_[i] = x_[i] + offset

    out = minigrad.empty(5, device="cuda")
    shift[1, 8](on_device(5), out)
    assert out.tolist() == [3, 4, 5, 6, 7]


def test_it_is_an_operation_in_a_function():
    class Twice(minigrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            out = minigrad.empty_like(x)
            scale[1, 32](x, out, np.float64(1))
            return out

        @staticmethod
        @minigrad.autograd.function.once_differentiable
        def backward(ctx, g):
            return Twice.forward(ctx, g)

    x = on_device(5, np.float64).requires_grad_()
    assert minigrad.autograd.gradcheck(Twice.apply, (x,))


# ---------------------------------------------------------------------- what it refuses
def test_tensors_elsewhere_are_refused():
    with pytest.raises(
        RuntimeError, match=r"kernel careless: out_, of shape \(3,\), is on cpu.*\n.*\n.*out_\.cuda\(\)"
    ):
        careless[1, 3](on_device(3), minigrad.zeros(3))


def test_gradients_that_would_be_lost_are_refused():
    x, out = on_device(3).requires_grad_(), minigrad.zeros(3, device="cuda")
    with pytest.raises(RuntimeError, match=r"kernel careless: x_, of shape \(3,\), requires grad"):
        careless[1, 3](x, out)
    with minigrad.no_grad():
        careless[1, 3](x, out)
    assert out.tolist() == [0, 1, 2]


def test_arrays_and_missing_arguments_are_refused():
    with pytest.raises(TypeError, match="kernel careless: x_ is of type ndarray"):
        careless[1, 3](np.zeros(3), np.zeros(3))
    with pytest.raises(TypeError, match=r"kernel careless: takes 2 arguments, got 1.*\n.*\n.*pass x_, out_"):
        careless[1, 3](on_device(3))


@simulated
def test_a_thread_outside_is_named():
    with pytest.raises(
        IndexError, match=r"thread \(3, 0, 0\) of block \(2, 0, 0\) reads x_\[11\], which has 11 elements"
    ):
        careless[3, 4](on_device(11), on_device(11))


@simulated
def test_its_threads_can_be_watched():
    with minigrad.cuda.watch() as trace:
        scale[3, 4](on_device(10), on_device(10), np.float32(1))
    launch = trace.launches[-1]
    assert launch.kernel == "scale" and launch.counts() == {"reads": 10, "writes": 10} and not launch.races
    assert launch.accesses[0].place.code == "out_[i] = by * doubled(x_[i])"
