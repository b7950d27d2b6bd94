"""Kernels of formulas over memory with steps: how the elements are counted, whatever their number."""

import numpy as np
import pytest

import minigrad as torch
from minigrad.kernels.cuda import modules, pointwise
from minigrad.kernels.cuda.array import to_device


def test_only_what_32_bits_cannot_count_is_counted_in_64():
    sizes = (0, 1, 1 << 20, (1 << 31) - 1, 1 << 31, 1 << 33)
    assert [pointwise.counter_of(n) for n in sizes] == ["uint32"] * 4 + ["uint64"] * 2


@pytest.mark.parametrize("counter", ["uint32", "uint64"])
def test_both_counters_find_every_element(counter):
    inputs = [("x", "{}"), ("y", "{}")]
    head = "from numba import cuda"
    text = pointwise.text("sums", "", head, inputs, [("out", "x + y")], 3, counter)
    x, y = np.arange(24.0).reshape(2, 3, 4), np.arange(3.0)[None, :, None]
    there = to_device(x), np.broadcast_to(to_device(y), x.shape), to_device(np.zeros_like(x))
    modules.load("sums", text).sums[1, 32](*there)
    np.testing.assert_array_equal(there[-1].to_host(), x + y)
    assert f"rest = {counter}(i)" in text


def test_an_operation_takes_the_counter_of_its_size(monkeypatch):
    x, w = torch.ones(3, 4, device="cuda"), torch.ones(3, 1, device="cuda")
    asked, kernel = [], pointwise.kernel
    monkeypatch.setattr(pointwise, "_kernels", {})
    monkeypatch.setattr(pointwise, "kernel", lambda *how: asked.append(how[-1]) or kernel(*how))
    assert ((x + w).cpu() == 2).all()
    monkeypatch.setattr(pointwise, "counter_of", lambda size: "uint64" if size == 12 else "uint32")
    assert ((x + w).cpu() == 2).all()
    assert asked == ["uint32", "uint64"]
