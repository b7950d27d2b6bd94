"""Launches as the driver gets them: the packed arguments, their types, and the numbers of blocks and threads."""

import ctypes
import struct
from types import SimpleNamespace

import numpy as np
import pytest

from minigrad.kernels.cuda import device_array, kernel_modules, launcher, machine, repeats
from minigrad.kernels.cuda.device_array import to_device

KERNEL = kernel_modules.CudaKernel("minigrad_cuda_k_0", "", "k", None)


@pytest.fixture
def told(monkeypatch):
    """Return the launches that reach a driver that only listens, with the bytes of their arguments, and three arrays."""
    if not kernel_modules.simulator.SIMULATED:
        pytest.skip("a driver is there, which does more than listen")
    arrays = [
        to_device(np.zeros((4, 6), np.float32)),
        to_device(np.zeros(3, bool)),
        to_device(np.zeros((), np.float64)),
    ]
    heard, place = [], machine.GPU.__new__(machine.GPU)
    place.status, place.allocate = 0, machine.current().allocate

    def launched(kernel, *given):
        *sizes, shared, stream, params, extra = given
        pointer, buffer, size, count, end = (ctypes.c_size_t * 5).from_address(extra)
        assert (shared, params, pointer, size, end) == (0, None, 1, 2, 0)
        heard.append((kernel, sizes, stream, ctypes.string_at(buffer, ctypes.c_size_t.from_address(count).value)))
        return place.status

    pointer, number = ctypes.c_void_p, ctypes.c_uint
    driver = ctypes.CFUNCTYPE(ctypes.c_int, pointer, *[number] * 7, pointer, pointer, pointer)(launched)
    monkeypatch.setattr(launcher, "driver_function", lambda: ctypes.cast(driver, pointer).value)
    place.driver = SimpleNamespace(CUresult=SimpleNamespace(CUDA_ERROR_OUT_OF_MEMORY=2))
    place.capturing, place.parameters, place.arch = (
        machine.Capturing(SimpleNamespace(handle=7)),
        machine.Parameters(),
        "sm_90",
    )
    code = SimpleNamespace(get_kernel=lambda entry: SimpleNamespace(handle=5))
    core = SimpleNamespace(ObjectCode=SimpleNamespace(from_cubin=lambda cubin: code))
    monkeypatch.setattr(kernel_modules.simulator, "SIMULATED", False)
    monkeypatch.setattr(kernel_modules, "core", lambda: core)
    monkeypatch.setattr(kernel_modules.CudaKernel, "machine_code", lambda self, signature, arch: (signature, b""))
    monkeypatch.setattr(machine, "current", lambda: place)
    yield heard, *arrays


def test_arguments_come_as_their_types_and_fields(told):
    heard, x, mask, _ = told
    kernel, half = kernel_modules.CudaKernel("minigrad_cuda_k_0", "", "k", None), x[1:, ::2]
    kernel[7, (32, 2)](x, half, mask, 2, 0.5, np.float32(3), True)
    ((handle, sizes, stream, found),) = heard
    assert (handle, sizes, stream) == (5, [7, 1, 1, 32, 2, 1], 7)
    (signature,) = kernel.compiled
    assert signature == ("float32[:, ::1]", "float32[:, :]", "boolean[::1]", "int64", "float64", "float32", "boolean")
    fields = struct.unpack("9q9q7qqdf?", found)
    assert fields[:9] == (0, 0, 24, 4, x.address, 4, 6, 24, 4)
    assert fields[9:18] == (0, 0, 9, 4, x.address + 24, 3, 3, 24, 8)
    assert fields[18:] == (0, 0, 3, 1, mask.address, 3, 1, 2, 0.5, 3, True)


def test_numbers_are_aligned_to_their_size(told):
    heard, *_ = told
    kernel = kernel_modules.CudaKernel("minigrad_cuda_k_0", "", "k", None)
    kernel[1, 32](True, 1.5, np.int16(-2), np.float32(0.25), np.uint8(200), 9)
    (*_, found) = heard[0]
    at = [(0, "?", True), (8, "d", 1.5), (16, "h", -2), (20, "f", 0.25), (24, "B", 200), (32, "q", 9)]
    assert len(found) == 40 and [struct.unpack_from(kind, found, k)[0] for k, kind, _ in at] == [v for *_, v in at]


def test_an_array_without_dimensions_is_one_of_one_element(told):
    heard, _, _, x = told
    kernel = kernel_modules.CudaKernel("minigrad_cuda_k_0", "", "k", None)
    kernel[1, 32](x)
    assert list(kernel.compiled) == [("float64[::1]",)]
    assert struct.unpack("7q", heard[0][3]) == (0, 0, 1, 8, x.address, 1, 8)


def test_a_repeated_launch_has_the_addresses_of_its_call(told):
    heard, x, mask, _ = told
    kernel = kernel_modules.CudaKernel("minigrad_cuda_k_0", "", "k", None)

    def doubled(x, mask, factor):
        out = device_array.empty((2, 2), np.float32)
        kernel[3, 32](x[1:], factor, mask, out)
        return out[1]

    others = device_array.empty(x.shape, x.dtype), device_array.empty(mask.shape, mask.dtype)
    outs = [repeats.call(doubled, x, mask, np.float32(2)) for _ in range(3)]
    outs.append(repeats.call(doubled, *others, np.float32(2)))
    assert len(heard) == 4 and [sizes for _, sizes, *_ in heard] == [[3, 1, 1, 32, 1, 1]] * 4
    fields = [struct.unpack("9qf4x7q9q", found) for *_, found in heard]
    assert len({(*f[:4], *f[5:14], *f[15:21], *f[22:]) for f in fields}) == 1
    for (a, m), out, found in zip([(x, mask)] * 3 + [others], outs, fields):
        assert (found[4], found[14], found[21]) == (a.address + 24, m.address, out.address - 8)
        assert out.shape == (2,) and out.dtype == np.float32 and out.strides == (4,)


def test_a_failed_launch_names_the_drivers_status(told):
    place = machine.current()
    place.status = 1
    place.driver.CUresult = lambda status: SimpleNamespace(name={1: "CUDA_ERROR_INVALID_VALUE"}[status])
    place.driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY = 2
    with pytest.raises(RuntimeError, match="cuLaunchKernel returned CUDA_ERROR_INVALID_VALUE"):
        KERNEL[1, 32](1)


def test_views_know_where_they_lie():
    x = to_device(np.zeros((4, 6), np.float32))
    views = [x, x.reshape(24), x[2:], x[2:].reshape(-1), x.T, x[::-1, 1], x[:, 1:].reshape(20), x.view(np.int32)]
    for a in views:
        assert a.address == a.shadow.__array_interface__["data"][0]
