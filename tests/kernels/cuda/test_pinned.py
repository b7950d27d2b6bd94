"""Pinned memory, copies that the program does not wait for, and copies in chunks."""

import copy
import io
from collections import namedtuple

import ml_dtypes
import numpy as np
import pytest

import minigrad as torch
from minigrad.kernels.cuda import in_flight, machine, pinned, simulator, staging
from minigrad.kernels.cuda.device_array import to_device
from minigrad.utils.data import DataLoader, TensorDataset

DTYPES = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int64, np.uint8, np.bool_]
SIZE = 1000  # elements of the arrays here: an unusual size, so that free memory of it comes from the same test


@pytest.fixture
def small_chunks(monkeypatch):
    """Send everything in chunks of 1000 bytes, a size that no dtype here divides."""
    monkeypatch.setattr(staging, "CHUNK", 1000)
    monkeypatch.setattr(staging, "CHUNKED_FROM", 0)


def numbers(shape, dtype):
    return np.random.default_rng(0).integers(0, 2 if dtype is np.bool_ else 100, shape).astype(dtype)


# ---------------------------------------------------------------------- pin_memory, is_pinned
def test_pin_memory_copies_and_is_pinned_tells():
    x = torch.arange(6.0).view(2, 3)
    p = x.pin_memory()
    assert not x.is_pinned() and p.is_pinned() and p.tolist() == x.tolist() and p.pin_memory() is p
    p[0, 0] = 9.0
    assert x[0, 0] == 0.0
    assert not p.cuda().is_pinned() and not p.clone().is_pinned() and not (p * 2).is_pinned()
    with pytest.raises(RuntimeError, match=r"cannot pin a tensor of shape \(2, 3\) on cuda:0"):
        x.cuda().pin_memory()
    with pytest.raises(RuntimeError, match="on meta"):
        x.to("meta").pin_memory()


def test_views_of_pinned_memory_are_pinned():
    p = torch.arange(6.0).view(2, 3).pin_memory()
    views = [p[1], p.t(), p[:, ::2], p.view(-1), p[0, 0], p.detach(), p.data, p.expand(4, 2, 3), p[:, :0]]
    views += [torch.from_numpy(p.numpy()), torch.as_strided(p, (2, 2), (1, 2)), p.view(torch.int32)]
    assert [v.is_pinned() for v in views] == [True] * len(views)


@pytest.mark.parametrize("dtype", DTYPES)
def test_all_dtypes_and_orders_can_be_pinned(dtype):
    a = numbers((4, 5, 6), dtype)
    for view in (a, a.transpose(2, 0, 1), a[:, ::2], a[:0], a[0, 0, 0], np.broadcast_to(a[0], (3, 5, 6))):
        found = pinned.copy_of(view)
        assert found.dtype == view.dtype and found.strides == np.empty_like(view).strides
        np.testing.assert_array_equal(found.astype(float), view.astype(float))


def test_pin_memory_has_a_derivative():
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    y = x.pin_memory()
    assert y.grad_fn.name() == "PinMemoryBackward0" and y.is_pinned()
    assert torch.autograd.gradcheck(
        lambda x: x.pin_memory().cuda(non_blocking=True).exp().to("cpu", non_blocking=True), x
    )
    assert torch.func.vmap(lambda row: row.pin_memory() * 2)(torch.ones(3, 2)).tolist() == [[2.0, 2.0]] * 3


def test_functions_that_create_tensors_pin_them():
    x = torch.ones(2, 3)
    for t in (torch.ones(2, pin_memory=True), torch.empty(2, pin_memory=True), torch.tensor([1, 2], pin_memory=True),
              torch.full((2,), 1, pin_memory=True), torch.arange(3, pin_memory=True), torch.rand(2, pin_memory=True),
              torch.zeros_like(x.t(), pin_memory=True), x.new_zeros(2, pin_memory=True),
              x.new_full((2,), 1.0, pin_memory=True)):  # fmt: skip
        assert t.is_pinned() and t.is_cpu
    leaf = torch.ones(2, pin_memory=True, requires_grad=True)
    assert leaf.is_leaf and leaf.is_pinned() and torch.ones(2, device="meta", pin_memory=True).is_meta
    with pytest.raises(RuntimeError, match="only CPU tensors can be pinned"):
        torch.ones(2, device="cuda", pin_memory=True)


# ---------------------------------------------------------------------- non_blocking
def test_memory_is_not_used_again_before_a_copy_has_read_it():
    x = torch.full((SIZE,), 1.0, pin_memory=True)
    address, y = x.data_ptr(), x.to("cuda", non_blocking=True)
    del x
    other = torch.full((SIZE,), 2.0, pin_memory=True)
    if simulator.SIMULATED:
        assert other.data_ptr() != address, "the copy has not been made yet"
    assert y.sum().item() == SIZE
    torch.cuda.synchronize()
    assert address in [m.ctypes.data for m in pinned.free[pinned.rounded(4 * SIZE)]] or other.data_ptr() == address


@pytest.mark.skipif(not simulator.SIMULATED, reason="a GPU may have copied already")
def test_the_simulator_copies_as_late_as_a_gpu_might():
    x = torch.ones(3).pin_memory()
    late, waited = x.cuda(non_blocking=True), x.cuda()
    pageable, kept = torch.ones(3), torch.ones(3).pin_memory()
    from_pageable, synchronized = pageable.cuda(non_blocking=True), kept.cuda(non_blocking=True)
    torch.cuda.synchronize()
    later = x.cuda(non_blocking=True)
    x.zero_(), pageable.zero_(), kept.zero_()
    assert late.tolist() == waited.tolist() == from_pageable.tolist() == synchronized.tolist() == [1.0] * 3
    assert later.tolist() == [0.0] * 3


def test_a_kernel_waits_for_the_copy_of_its_argument():
    x = torch.arange(5.0).pin_memory()
    y = x.cuda(0, True) + 1
    z = torch.ones(5, device="cuda").copy_(x, non_blocking=True)
    assert y.tolist() == [1, 2, 3, 4, 5] and z.tolist() == x.to(torch.device("cuda"), None, True).tolist() == x.tolist()
    assert x.to("cuda", torch.float64, True).dtype is torch.float64


def test_a_replayed_program_waits_for_the_copy_of_its_argument():
    step = torch.compile(lambda x, w: (x * w).sum())
    x, w = torch.ones(4, device="cuda"), torch.arange(4.0, device="cuda")
    for k in range(4):
        x = torch.full((4,), float(k)).pin_memory().cuda(non_blocking=True)
        assert step(x, w).item() == 6.0 * k


def test_tensors_come_back_in_pinned_memory_and_complete():
    x = torch.arange(24.0, device="cuda").view(2, 3, 4)
    for view in (x, x.permute(2, 0, 1), x[:, 1:], x[0, 0].expand(3, 4), x[:0], x[0, 0, 0]):
        here = view.to("cpu", non_blocking=True)
        assert here.is_pinned() and here.tolist() == view.tolist() and here.stride() == view.cpu().stride()
    assert not x.cpu().is_pinned()
    target = torch.zeros(2, 3, 4)
    assert target.copy_(x, non_blocking=True).tolist() == x.tolist()


def test_meta_tensors_have_nothing_to_copy():
    for place in ("cuda", "cpu"):
        with pytest.raises(NotImplementedError, match="no data"):
            torch.ones(2, device="meta").to(place, non_blocking=True)
    assert torch.ones(2).pin_memory().to("meta", non_blocking=True).is_meta


def test_pinned_tensors_are_copied_and_saved_as_others():
    x = torch.arange(6.0).view(2, 3).pin_memory()
    file = io.BytesIO()
    torch.save({"x": x, "row": x[1]}, file)
    file.seek(0)
    for found in (torch.load(file), copy.deepcopy({"x": x, "row": x[1]})):
        found["row"][0] = 9.0
        assert found["x"].tolist() == [[0, 1, 2], [9, 4, 5]] and not found["x"].is_pinned()
    assert x.storage().tolist() == [0, 1, 2, 3, 4, 5] and x[1].storage_offset() == 3
    assert x.resize_(3).tolist() == [0, 1, 2] and x.resize_(2, 4)[0, :3].tolist() == [0, 1, 2]


def test_a_model_moves_without_waiting():
    net = torch.nn.Linear(3, 2)
    before = net.weight.tolist()
    assert net.to("cuda", non_blocking=True).to("cpu", torch.float32, True).weight.is_pinned()
    assert net.weight.tolist() == before


def test_a_copy_between_devices_cannot_be_captured():
    a = pinned.pinned((3,), np.float32)
    place, there = machine.current(), to_device(a)
    with place.capture(), pytest.raises(machine.Uncapturable):
        place.send(there.address, a)
    with place.capture(), pytest.raises(machine.Uncapturable):
        place.receive(there.address, a)


def test_arrays_are_kept_until_their_event():
    class Event:
        is_done = False

    events, first, second = in_flight.Events(), Event(), Event()
    assert events.add(first, np.ones(1)) is first and events.add(second, np.ones(2)) is second
    second.is_done = True
    events.drop_done()
    assert list(events.arrays) == [first]
    first.is_done = True
    events.add(Event(), np.ones(3))
    assert first not in events.arrays


# ---------------------------------------------------------------------- memory that is kept
def test_the_cache_is_emptied_of_pinned_memory():
    assert torch.ones(SIZE).pin_memory().is_pinned()
    assert pinned.free[pinned.rounded(4 * SIZE)]
    torch.cuda.empty_cache()
    assert not any(pinned.free.values())


def test_free_memory_is_released_before_pinning_fails(monkeypatch):
    assert torch.ones(SIZE).pin_memory().is_pinned()
    shared = machine.current().shared

    def full(size):
        if any(pinned.free.values()):
            raise MemoryError
        return shared(size)

    monkeypatch.setattr(machine.current(), "shared", full)
    assert torch.ones(5 * SIZE).pin_memory().sum() == 5 * SIZE


# ---------------------------------------------------------------------- chunks
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("nbytes", [8, 992, 1000, 1008, 2000, 2992, 5048])
def test_chunks_arrive_in_their_places(dtype, nbytes, small_chunks):
    a = numbers((nbytes // np.dtype(dtype).itemsize,), dtype)
    there = to_device(a)
    np.testing.assert_array_equal(there.to_host().view(np.uint8), a.view(np.uint8))
    again = np.empty_like(a)
    machine.current().download(there.address, again)  # at once
    np.testing.assert_array_equal(again.view(np.uint8), a.view(np.uint8))


def test_chunks_keep_the_order_of_memory(small_chunks):
    x = torch.arange(3 * 7 * 401).view(3, 7, 401)
    for view in (x, x.permute(2, 0, 1), x[:, 1:], x[..., ::2], x[0, 0].expand(5, 401), x[:0]):
        moved = view.cuda()
        assert moved.tolist() == view.tolist() and moved.cpu().stride() == moved.stride()


def test_an_array_may_change_after_it_was_sent_in_chunks(small_chunks):
    a = numbers((SIZE,), np.float64)
    b = a.copy()
    there = to_device(a, wait=False)
    a[:] = 0
    pinned.pinned((staging.CHUNK,), np.uint8).fill(1)  # the buffers, if they were free too early
    np.testing.assert_array_equal(there.to_host(), b)


def test_the_buffers_are_used_again(small_chunks):
    a = numbers((SIZE,), np.float64)
    np.testing.assert_array_equal(to_device(a).to_host(), a)
    size = pinned.rounded(staging.CHUNK)
    before = sorted([m.ctypes.data for m in pinned.free[size]])
    np.testing.assert_array_equal(to_device(a).to_host(), a)
    assert sorted([m.ctypes.data for m in pinned.free[size]]) == before


def test_pinned_arrays_and_small_ones_go_at_once(monkeypatch):
    chunked = []
    monkeypatch.setattr(staging, "turns", lambda a: chunked.append(a.nbytes) or [])
    monkeypatch.setattr(staging, "CHUNKED_FROM", 100)
    small, large = np.zeros(99, np.uint8), np.zeros(100, np.uint8)
    for a in (small, pinned.copy_of(large)):
        assert to_device(a).to_host(pin=True).sum() == 0
    to_device(large).to_host()
    assert chunked == [100, 100]


@pytest.mark.slow
def test_many_megabytes_are_copied_by_threads():
    a = numbers((staging.CHUNKED_FROM + staging.CHUNK // 2 + 3,), np.uint8)
    there = to_device(a)
    assert np.array_equal(there.to_host(), a) and np.array_equal(pinned.copy_of(a), a)


# ---------------------------------------------------------------------- DataLoader, save_on_cpu
Pair = namedtuple("Pair", ["x", "name"])


def pinned_in(batch):
    """Return the answers of is_pinned in nested containers."""
    if isinstance(batch, torch.Tensor):
        return batch.is_pinned()
    if isinstance(batch, dict):
        return {k: pinned_in(v) for k, v in batch.items()}
    return batch if isinstance(batch, str) else type(batch)(*map(pinned_in, batch)) if hasattr(batch, "_fields") else \
        type(batch)(map(pinned_in, batch))  # fmt: skip


@pytest.mark.parametrize("workers", [0, 1])
def test_batches_come_in_pinned_memory(workers):
    data = TensorDataset(torch.arange(8.0).view(4, 2), torch.arange(4))
    for x, y in DataLoader(data, 2, pin_memory=True, num_workers=workers):
        assert x.is_pinned() and y.is_pinned() and x.to("cuda", non_blocking=True).tolist() == x.tolist()
    for x, y in DataLoader(data, 2, num_workers=workers):
        assert not x.is_pinned() and not y.is_pinned()


def test_tensors_are_pinned_in_the_containers_of_a_batch():
    x = torch.ones(2)
    packed = torch.nn.utils.rnn.pack_sequence([torch.ones(2), torch.ones(3)], enforce_sorted=False)
    samples = [{"a": x, "b": [x, "text"]}, Pair(x, "name"), (x, (x,)), packed]
    a, b, c, d = DataLoader(samples, batch_size=None, collate_fn=lambda sample: sample, pin_memory=True)
    assert pinned_in(a) == {"a": True, "b": [True, "text"]} and pinned_in(b) == Pair(True, "name")
    assert pinned_in(c) == (True, (True,)) and d.is_pinned() and not packed.is_pinned()


@pytest.mark.parametrize("place", ["cpu", "cuda"])
@pytest.mark.parametrize("pin", [False, True])
def test_saved_tensors_are_pinned(place, pin):
    x = torch.tensor([1.0, 2.0], device=place, requires_grad=True)
    hooks = torch.autograd.graph.save_on_cpu(pin_memory=pin)
    there, kept = hooks.pack_hook(x.detach())
    assert there == x.device and kept.is_cpu and kept.is_pinned() is pin and kept.data_ptr() != x.data_ptr()
    with hooks:
        y = (x * x * x).sum()
    y.backward()
    assert x.grad.tolist() == [3.0, 12.0] and x.grad.device == x.device
