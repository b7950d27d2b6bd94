"""Memory shared on a GPU with CuPy, PyTorch and Numba's own kernels, without copies and in the order of the program.

A library writes 2**26 numbers in its stream, and the other one reads them at once: one that does not wait reads old ones.
"""

import numpy as np
import pytest

import minigrad
from minigrad.kernels.cuda import machine, simulator

pytestmark = pytest.mark.skipif(simulator.SIMULATED or not machine.count(), reason="other libraries need a GPU")
MANY = 1 << 26


def busy(x, times=30):
    """Keep the GPU busy, then write 7 into x."""
    for _ in range(times):
        x += 1
    x[...] = 7
    return x


@pytest.mark.parametrize("name", ["cupy", "torch"])
def test_memory_goes_both_ways_by_dlpack(name):
    library = pytest.importorskip(name)
    ours = minigrad.arange(12.0, device="cuda").reshape(3, 4).T
    theirs = library.from_dlpack(ours)
    assert tuple(theirs.shape) == (4, 3) and np.array_equal(host(theirs), ours.cpu().numpy())
    theirs += 1
    synchronize(library)
    assert ours.cpu().tolist() == (np.arange(12.0).reshape(3, 4).T + 1).tolist()
    back = minigrad.from_dlpack(theirs)
    back *= 2
    minigrad.cuda.synchronize()
    assert np.array_equal(host(theirs), 2 * (np.arange(12.0).reshape(3, 4).T + 1))


@pytest.mark.parametrize("name", ["cupy", "torch"])
def test_memory_goes_both_ways_by_the_cuda_array_interface(name):
    library = pytest.importorskip(name)
    ours = minigrad.arange(6.0, device="cuda")
    theirs = library.asarray(ours) if name == "cupy" else library.as_tensor(ours, device="cuda")
    theirs += 1
    synchronize(library)
    assert ours.cpu().tolist() == [1, 2, 3, 4, 5, 6]
    back = minigrad.as_tensor(theirs, device="cuda")
    back.mul_(2)
    minigrad.cuda.synchronize()
    assert host(theirs).tolist() == [2, 4, 6, 8, 10, 12]


@pytest.mark.parametrize("name", ["cupy", "torch"])
def test_streams_wait_for_each_other(name):
    library = pytest.importorskip(name)
    ours = minigrad.zeros(MANY, device="cuda")
    theirs = library.from_dlpack(busy(ours))
    assert float((theirs + 0).sum()) == 7 * MANY
    theirs = library.from_dlpack(ours)
    busy(theirs)
    assert minigrad.from_dlpack(theirs).sum().item() == 7 * MANY


@pytest.mark.parametrize("name", ["cupy", "torch"])
def test_a_stream_of_the_other_librarys_waits_too(name):
    library = pytest.importorskip(name)
    ours = minigrad.zeros(MANY, device="cuda")
    stream = library.cuda.Stream(non_blocking=True) if name == "cupy" else library.cuda.Stream()
    with stream if name == "cupy" else library.cuda.stream(stream):
        theirs = library.from_dlpack(busy(ours))
        assert float((theirs + 0).sum()) == 7 * MANY
        busy(theirs)
        assert minigrad.from_dlpack(theirs).sum().item() == 7 * MANY


def test_numbas_own_kernels_take_tensors_inside_a_function():
    from numba import cuda

    @cuda.jit
    def cube(x, out):
        for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
            out[i] = x[i] * x[i] * x[i]

    @cuda.jit
    def cube_backward(g, x, out):
        for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
            out[i] = g[i] * 3 * x[i] * x[i]

    class Cube(minigrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            out = minigrad.empty_like(x)
            cube[64, 128](x.detach(), out)
            return out

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            out = minigrad.empty_like(x)
            cube_backward[64, 128](g.contiguous(), x.detach(), out)
            return out

    x = minigrad.linspace(-2, 2, 100_000, device="cuda", requires_grad=True)
    y = Cube.apply(x)
    (y * y).sum().backward()
    assert np.allclose(y.detach().cpu(), x.detach().cpu() ** 3, atol=1e-6)
    assert np.allclose(x.grad.cpu(), 6 * x.detach().cpu() ** 5, rtol=1e-4, atol=1e-5)


def test_the_other_library_keeps_memory_alive():
    cupy = pytest.importorskip("cupy")
    theirs = cupy.from_dlpack(minigrad.full((1000,), 3.0, device="cuda"))
    others = [minigrad.full((1000,), 5.0, device="cuda") for _ in range(20)]
    assert cupy.asnumpy(theirs).tolist() == [3.0] * 1000 and len(others) == 20


def host(a):
    """Return numbers of an array of another library, in main memory."""
    return a.cpu().numpy() if hasattr(a, "cpu") else a.get()


def synchronize(library):
    (library.cuda if library.__name__ == "torch" else library.cuda.Device()).synchronize()
