"""Kernels over flat memory: four neighbours at once where memory begins for that, and one by one where it does not."""

import numpy as np
import pytest

import minigrad as torch
from minigrad.kernels.cuda import device_functions, flat, kernel_modules, simulator
from minigrad.kernels.cuda.device_array import to_device

DTYPES = ["float16", "float32", "float64", "int8", "int64", "bool"]


@pytest.fixture
def reads(monkeypatch):
    """Where kernels read four elements at once."""
    if not simulator.SIMULATED:
        pytest.skip("only the simulator calls what a test puts in a function's place")
    found, load = [], device_functions.load4
    monkeypatch.setattr(device_functions, "load4", lambda a, i: found.append(i) or load(a, i))
    monkeypatch.setattr(kernel_modules, "_modules", {})
    return found


def kernel():
    """Return the kernel out = x * 2 - y, above = x > y in a separate module, in which `reads` replaces a function."""
    names = ", ".join(flat.IMPORTS)
    head = f"from minigrad.kernels.cuda.device_functions import {names}\nfrom numba import cuda\n\n\n"
    parameters = {"x": ("{}", "x_"), "y": ("{}", "y_"), "s": ("s", "")}
    results = {"out_": "double - y", "above_": "x > y"}
    text = flat.text("k", ["x_", "y_", "s", "out_", "above_"], parameters, ["double = x * s"], results)
    return kernel_modules.load("k", head + text).k


def check(size):
    """Check the kernel on arrays of a size."""
    x, y = np.arange(size, dtype=np.float32), np.full(size, 2, np.float32)
    args = [to_device(x), to_device(y), np.float32(2), to_device(np.zeros_like(x)), to_device(np.zeros(size, bool))]
    kernel()[2, 32](*args)
    np.testing.assert_array_equal(args[3].to_host(), x * 2 - y)
    np.testing.assert_array_equal(args[4].to_host(), x > y)


@pytest.mark.parametrize("size", [1, 3, 4, 7, 8, 301])
def test_sizes(size):
    check(size)


@pytest.mark.parametrize("size", [3, 4, 7, 8])
def test_as_many_as_can_be_are_read_by_four(size, reads):
    check(size)
    assert sorted(reads) == sorted([*range(0, size // 4 * 4, 4)] * 2)


def check_parts(which, begin):
    """Check the kernel on parts of memory, of which one begins elsewhere."""
    memory = [to_device(np.arange(20, dtype=np.float32)) for _ in range(3)]
    x, y, out = [m[begin:][:13] if k == which else m[:13] for k, m in enumerate(memory)]
    above = to_device(np.zeros(13, bool))
    kernel()[1, 32](x, y, np.float32(2), out, above)
    np.testing.assert_array_equal(out.to_host(), x.to_host() * 2 - y.to_host())


@pytest.mark.parametrize("begin", range(5))
@pytest.mark.parametrize("which", range(3))
def test_memory_that_begins_elsewhere(which, begin):
    check_parts(which, begin)


@pytest.mark.parametrize("begin", [0, 1, 4])
@pytest.mark.parametrize("which", range(3))
def test_memory_that_begins_elsewhere_is_read_one_by_one(which, begin, reads):
    check_parts(which, begin)
    assert len(reads) == (0 if begin % 4 else 6)


APART = {"one element": lambda a: np.broadcast_to(a[:1], 12), "every second": lambda a: a[::2][:12]}


@pytest.mark.parametrize("apart", APART)
@pytest.mark.parametrize("which", range(2))
def test_elements_that_are_not_adjacent(which, apart):
    memory = [to_device(np.arange(24, dtype=np.float32) - 5 * k) for k in range(2)]
    x, y = [APART[apart](m) if k == which else m[:12] for k, m in enumerate(memory)]
    out, above = to_device(np.zeros(12, np.float32)), to_device(np.zeros(12, bool))
    kernel()[1, 32](x, y, np.float32(2), out, above)
    np.testing.assert_array_equal(out.to_host(), x.to_host() * 2 - y.to_host())


def test_results_that_are_not_adjacent():
    x, out, above = (
        to_device(np.arange(12, dtype=np.float32)),
        to_device(np.zeros(24, np.float32)),
        to_device([False] * 12),
    )
    kernel()[1, 32](x, x, np.float32(3), out[::2], above)
    np.testing.assert_array_equal(out.to_host(), np.where(np.arange(24) % 2, 0, np.arange(24)))


@pytest.mark.parametrize("apart", APART)
@pytest.mark.skipif(not simulator.SIMULATED, reason="a GPU reads the memory in between")
def test_the_simulator_refuses_to_read_elements_that_are_not_adjacent_at_once(apart):
    a = APART[apart](np.arange(24.0))
    with pytest.raises(ValueError, match="adjacent"):
        device_functions.load4(a, 0)
    with pytest.raises(ValueError, match="adjacent"):
        device_functions.store4(a, 0, (1.0,) * 4)
    assert not device_functions.aligned4(a)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("begin", [0, 1])
def test_operations_of_all_dtypes(dtype, begin):
    x = torch.tensor(np.arange(-6, 8).astype(dtype))
    there = x.to("cuda")
    for f in (lambda x: x == 3, lambda x: x * x, lambda x: x.to(torch.float32) / 2, lambda x: torch.where(x > 1, x, 0)):
        np.testing.assert_array_equal(f(there[begin:]).cpu().numpy(), f(x[begin:]).numpy())


def test_a_variable_of_four_is_no_array_of_the_program():
    text = flat.text("k", ["x", "x4"], {"x": ("{}", "x")}, [], {"x4": "x"})
    assert "x_4 = load4(x, i)" in text and "store4(x4, i" in text


def test_a_compiled_program_has_the_numbers_of_eager_code():
    f = torch.compile(lambda x, y: (x * y).tanh() + x)
    x, y = [torch.rand(13, device="cuda") for _ in range(2)]
    expected = ((x * y).tanh() + x).cpu().numpy()
    for _ in range(2):
        np.testing.assert_array_equal(f(x, y).cpu().numpy(), expected)
    np.testing.assert_array_equal(f(x[1:], y[1:]).cpu().numpy(), expected[1:])


def test_a_compiled_program_reads_by_four(reads):
    f = torch.compile(lambda x: x.tanh() * 2)
    x = torch.rand(13, device="cuda")
    for memory, by_four in ((x, [0, 4, 8]), (x[1:], [])):
        f(memory)
        del reads[:]
        f(memory)
        assert sorted(reads) == by_four


@pytest.mark.parametrize("apart", APART)
def test_a_compiled_program_reads_elements_that_are_not_adjacent(apart):
    f, memory = torch.compile(lambda x, y: x.tanh() * y), torch.rand(24, device="cuda")
    x, y = memory[:1].expand(12) if apart == "one element" else memory[::2], torch.rand(12, device="cuda")
    for _ in range(2):
        np.testing.assert_array_equal(f(x, y).cpu().numpy(), (x.tanh() * y).cpu().numpy())
