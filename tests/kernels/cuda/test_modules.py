"""What the driver is told at a launch: the types of the arguments, where they lie, and so many blocks of so many threads."""

from types import SimpleNamespace

import numpy as np
import pytest

from minigrad.kernels.cuda import kernel_modules, machine
from minigrad.kernels.cuda.device_array import to_device

KERNEL = kernel_modules.Kernel("minigrad_cuda_k_0", "", "k", None)


@pytest.fixture
def told(monkeypatch):
    """What a driver hears that only listens; in place of the simulator."""
    if not kernel_modules.simulator.SIMULATED:
        pytest.skip("a driver is there, which does more than listen")
    heard, place = [], machine.current()
    code = SimpleNamespace(get_kernel=lambda entry: entry)
    driver = SimpleNamespace(
        LaunchConfig=lambda grid, block: heard.append("a shape") or (grid, block),
        ObjectCode=SimpleNamespace(from_cubin=lambda cubin: code),
        launch=lambda *args: heard.append(args),
    )
    monkeypatch.setattr(kernel_modules.simulator, "SIMULATED", False)
    monkeypatch.setattr(kernel_modules, "core", lambda: driver)
    monkeypatch.setattr(place, "queue", "queue", raising=False)
    monkeypatch.setattr(kernel_modules.Kernel, "machine_code", lambda self, signature, arch: (signature, b""))
    kernel_modules.shape_of_launch.cache_clear()
    yield heard
    kernel_modules.shape_of_launch.cache_clear()


def test_arguments_come_as_their_types_and_fields(told):
    x = to_device(np.zeros((4, 6), np.float32))
    half, mask = x[1:, ::2], to_device(np.zeros(3, bool))
    KERNEL[7, (32, 2)](x, half, mask, 2, 0.5, np.float32(3), True)
    shape, (queue, config, signature, *fields) = told
    assert (shape, queue, config) == ("a shape", "queue", (7, (32, 2)))
    assert signature == ("float32[:, ::1]", "float32[:, :]", "boolean[::1]", "int64", "float64", "float32", "boolean")
    assert fields[:9] == [0, 0, 24, 4, x.address, 4, 6, 24, 4]
    assert fields[9:18] == [0, 0, 9, 4, x.address + 24, 3, 3, 24, 8]
    assert fields[18:] == [0, 0, 3, 1, mask.address, 3, 1, 2, 0.5, 3, True]
    assert len(kernel_modules.widths(signature)) == len(fields)


def test_an_array_without_dimensions_is_one_of_one_element(told):
    x = to_device(np.zeros((), np.float64))
    KERNEL[1, 32](x)
    assert told[1][2:] == (("float64[::1]",), 0, 0, 1, 8, x.address, 1, 8)


def test_the_shape_of_a_launch_is_made_once(told):
    for size in (3, 3, 4):
        KERNEL[size, 32](1)
    assert told.count("a shape") == 2


def test_views_know_where_they_lie():
    x = to_device(np.zeros((4, 6), np.float32))
    views = [x, x.reshape(24), x[2:], x[2:].reshape(-1), x.T, x[::-1, 1], x[:, 1:].reshape(20), x.view(np.int32)]
    for a in views:
        assert a.address == a.shadow.__array_interface__["data"][0]
