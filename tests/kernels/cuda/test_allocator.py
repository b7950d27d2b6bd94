"""Device memory: freed blocks are used again, counts are right, and what is held goes back to the device."""

import gc
import re

import numpy as np
import pytest

import minigrad
from minigrad.kernels.cuda import machine
from minigrad.kernels.cuda.allocator import LARGE, Allocator, rounded
from minigrad.kernels.cuda.device_array import to_device


@pytest.mark.parametrize(
    ("nbytes", "size"), [(0, 512), (1, 512), (512, 512), (513, 1024), (1 << 20, LARGE), (LARGE + 1, 2 * LARGE)]
)
def test_sizes_are_rounded_up(nbytes, size):
    assert rounded(nbytes) == size


def test_memory_is_counted_and_used_again():
    gc.collect()
    minigrad.cuda.empty_cache()
    before, held = minigrad.cuda.memory_allocated(), minigrad.cuda.memory_reserved()
    minigrad.cuda.reset_peak_memory_stats()
    x = minigrad.empty(300, device="cuda")
    view, address = x[1:], x.data_ptr()
    assert minigrad.cuda.memory_allocated() - before == minigrad.cuda.memory_reserved() - held == 1536
    del x
    assert minigrad.cuda.memory_allocated() - before == 1536, "a view keeps the memory of its base"
    del view
    assert minigrad.cuda.memory_allocated() == before and minigrad.cuda.memory_reserved() - held == 1536
    assert minigrad.cuda.max_memory_allocated() - before == minigrad.cuda.max_memory_reserved() - held == 1536
    y = minigrad.empty(290, device="cuda")
    assert y.data_ptr() == address
    del y
    minigrad.cuda.empty_cache()
    assert minigrad.cuda.memory_reserved() == held
    minigrad.cuda.reset_peak_memory_stats()
    assert minigrad.cuda.max_memory_allocated() == before
    stats = minigrad.cuda.memory_stats()
    assert stats["allocated_bytes.all.current"] == before and stats["num_device_alloc"] > 0
    assert re.search(rf"of tensors\s+{before}\s+{before}", minigrad.cuda.memory_summary())


def test_no_memory_is_lost_by_a_training_step():
    w = minigrad.ones(4, 4, device="cuda", requires_grad=True)
    counts = []
    for _ in range(3):
        (w * w).exp().mul(2).backward(minigrad.ones(4, 4, device="cuda"))
        w.grad = None
        counts.append(minigrad.cuda.memory_allocated())
    assert counts[0] == counts[1] == counts[2]


def test_free_blocks_go_back_before_memory_runs_out(monkeypatch):
    allocator, place, room = Allocator(), machine.current(), [2]
    real = place.allocate

    def allocate(size):
        if not room[0]:
            raise MemoryError
        room[0] -= 1
        return real(size)

    def free(address):
        room[0] += 1
        type(place).free(place, address)

    monkeypatch.setattr(place, "allocate", allocate)
    monkeypatch.setattr(place, "free", free)
    first, second = allocator.take(512), allocator.take(512)
    for block in (first, second):
        block.owner = allocator  # this allocator gives them back itself
    allocator.give_back(first)
    third = allocator.take(4096)  # of another size: the free block has to go first
    third.owner = allocator
    with pytest.raises(minigrad.cuda.OutOfMemoryError, match=r"out of memory: 4096 bytes(.|\n)*memory_summary"):
        allocator.take(4096)
    for block in (second, third):
        allocator.give_back(block)
    allocator.empty()
    assert allocator.allocated == allocator.reserved == 0 and room == [2]


def test_what_is_allocated_in_one_thread_may_be_freed_in_another():
    import threading

    before = minigrad.cuda.memory_allocated()
    arrays = [to_device(np.ones(5)) for _ in range(20)]
    thread = threading.Thread(target=arrays.clear)
    thread.start()
    thread.join()
    assert minigrad.cuda.memory_allocated() == before


def test_properties_of_the_device():
    assert minigrad.cuda.is_available() and minigrad.cuda.device_count() >= 1 and minigrad.cuda.current_device() == 0
    found = minigrad.cuda.get_device_properties("cuda:0")
    assert found.name == minigrad.cuda.get_device_name() and found.multi_processor_count > 0
    assert minigrad.cuda.get_device_capability() == (found.major, found.minor)
    free, total = minigrad.cuda.mem_get_info()
    assert 0 < free <= total == found.total_memory
    minigrad.cuda.set_device(0), minigrad.cuda.synchronize()
    with pytest.raises(RuntimeError, match="tensors are on the first GPU, cuda:0, not on cuda:1"):
        minigrad.cuda.set_device(1)


def test_random_numbers_of_the_device():
    minigrad.cuda.manual_seed(5)
    assert minigrad.cuda.initial_seed() == 5
    state = minigrad.cuda.get_rng_state()
    first = minigrad.rand(3, device="cuda").tolist()
    minigrad.cuda.set_rng_state(state)
    assert minigrad.rand(3, device="cuda").tolist() == first
    minigrad.cuda.manual_seed_all(5)
    assert minigrad.rand(3, device="cuda").tolist() == first
    minigrad.cuda.seed()
    assert minigrad.rand(3, device="cuda").tolist() != first
