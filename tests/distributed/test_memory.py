"""MPI writes directly into a tensor's plain memory: nothing is copied, and views and saved tensors notice the write."""

import pytest

from tests.distributed.ranks import TWO_OR_MORE, needs_mpi, passes, run

IN_PLACE = """
x = torch.full((4, 3), float(rank + 1))
memory, version = x._a, x._version
dist.all_reduce(x)
assert x._a is memory and x._version == version + 1
dist.broadcast(x, 0)
assert x._version == version + 1 + (rank != 0)
part = torch.zeros(3)
dist.scatter(part, [torch.full((3,), float(i)) for i in range(size)] if rank == 0 else None)
assert part.tolist() == [rank] * 3 and part._version == 1

w = torch.ones(3, requires_grad=True)
saved = torch.full((3,), float(rank))
loss = (w * saved).sum()  # backward needs the numbers that MPI overwrites
work = dist.all_reduce(saved, async_op=True)
try:
    loss.backward()
except RuntimeError as e:
    assert "all_reduce" in str(e), e
else:
    raise AssertionError("backward went on with numbers that are being overwritten")
work.wait()

with torch.no_grad():
    dist.all_reduce(w, dist.ReduceOp.AVG)  # a leaf that requires grad: its numbers, without a history
assert w.is_leaf and w.tolist() == [1, 1, 1]
"""
COPIED = """
for x in (torch.full((3, 2), float(rank)).T, torch.zeros(4, 4)[1:3, ::2] + rank, torch.ones(2, 3)[:, 1:] * rank):
    dist.all_reduce(x)  # which does not lie row by row, or does
    assert x.flatten().tolist() == [size * (size - 1) / 2] * x.numel()
whole = torch.full((size, 2), -1.0)
whole[rank] = rank
dist.all_gather_into_tensor(whole, whole[rank])  # what is sent lies where the result comes
assert whole.tolist() == [[i, i] for i in range(size)]
sums = torch.arange(2.0 * size)
kept = sums.clone()
dist.reduce_scatter_tensor(sums[2 * rank : 2 * rank + 2], sums)
assert sums[2 * rank : 2 * rank + 2].tolist() == [2 * rank * size, (2 * rank + 1) * size]
kept[2 * rank : 2 * rank + 2] = sums[2 * rank : 2 * rank + 2]
assert sums.equal(kept)  # the rest of what was sent is as before
mixed = torch.arange(float(size))
dist.all_to_all_single(mixed, mixed)
assert mixed.tolist() == [rank] * size

with torch.inference_mode():
    y = torch.full((2,), float(rank))
    dist.all_reduce(y)
assert y.tolist() == [size * (size - 1) / 2] * 2
try:
    dist.all_reduce(y)
except RuntimeError as e:
    assert "inference" in str(e), e
else:
    raise AssertionError("an inference tensor was written outside of inference_mode")
"""
REFUSED = """
x = torch.ones(100_000)
for _ in range(2):
    dist.barrier()
try:  # the third call, before which the ranks do not compare their calls
    dist.all_reduce(x) if rank else dist.broadcast(x, 0)
except RuntimeError as e:
    assert "part of the result" in " ".join(e.__notes__)
    raise
"""


@needs_mpi
@pytest.mark.parametrize("n", TWO_OR_MORE[:2])
@pytest.mark.parametrize("program", [IN_PLACE, COPIED], ids=["in place", "copied"])
def test_results_come_into_the_tensors_own_memory_or_are_copied_there(program, n):
    passes(n, program)


@needs_mpi
def test_an_error_says_that_tensors_may_be_half_written():
    done = run(2, REFUSED)
    assert done.returncode != 0 and "may hold a part of the result" in done.stderr


ON_A_GPU = """
from minigrad.distributed import mpi_memory
aware = %r
if aware:  # the simulated GPU's memory is the computer's, which every MPI reaches
    mpi_memory.cuda_aware = lambda: True
seen = []
taken = mpi_memory.mpi_buffer
def lent(a):
    given = taken(a)
    seen.append(given)
    return given
mpi_memory.mpi_buffer = dist.collectives.mpi_buffer = lent
put = lambda *values, **kinds: torch.tensor(values, device="cuda", **kinds)

def on_gpu(x, expected):
    assert x.device.type == "cuda" and x.tolist() == expected, (x, expected)

for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.bool):
    x = put(1, 0, rank, dtype=dtype)
    dist.all_reduce(x)
    on_gpu(x, [True, False, True] if dtype == torch.bool else [2, 0, 1])
x = put(1.0, 5.0 + rank)
before = x._a.address
dist.all_reduce(x, dist.ReduceOp.AVG)
on_gpu(x, [1.0, 5.5])
assert any(a.ctypes.data + (1 << 47) == before for a in seen) == aware and x._a.address == before
dist.reduce(x, 1)
on_gpu(x, [2.0, 11.0] if rank else [1.0, 5.5])
x = torch.arange(6.0, device="cuda").reshape(2, 3).t()  # its rows do not lie in order
dist.broadcast(x, 0)
on_gpu(x, [[0, 3], [1, 4], [2, 5]])
rooms = [torch.zeros(2, device="cuda") for _ in range(2)]
dist.all_gather(rooms, torch.full((2,), float(rank), device="cuda"))
assert [r.tolist() for r in rooms] == [[0, 0], [1, 1]]
dist.gather(put(rank), rooms := [put(9), put(9)] if rank == 0 else None)
assert rank or [r.tolist() for r in rooms] == [[0], [1]]
dist.scatter(x := put(9.0), [put(3.0), put(4.0)] if rank == 0 else None)
on_gpu(x, [3.0 + rank])
dist.all_gather_into_tensor(x := torch.zeros(4, device="cuda"), put(rank + 1.0, rank + 2.0))
on_gpu(x, [1, 2, 2, 3])
dist.reduce_scatter(x := put(0.0), [put(1.0 + rank), put(10.0)])
on_gpu(x, [20.0 if rank else 3.0])
dist.reduce_scatter_tensor(x, put(1.0 + rank, 10.0))
on_gpu(x, [20.0 if rank else 3.0])
dist.all_to_all(rooms := [put(0), put(0)], [put(10 * rank), put(10 * rank + 1)])
assert [r.tolist() for r in rooms] == [[rank], [10 + rank]]
dist.all_to_all_single(x := put(0, 0), put(10 * rank, 10 * rank + 1))
on_gpu(x, [rank, 10 + rank])
dist.send(put(1.5), 1) if rank == 0 else dist.recv(x := put(0.0), 0)
assert rank == 0 or x.tolist() == [1.5]
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1).cuda())
net(torch.full((1, 2), 1.0 + rank, device="cuda")).sum().backward()
on_gpu(net.module.weight.grad, [[1.5, 1.5]])
with pytest.raises(NotImplementedError, match="no numbers|no data"):
    dist.all_reduce(torch.ones(2, device="meta"))
"""


@needs_mpi
@pytest.mark.slow  # two simulated devices
@pytest.mark.parametrize("aware", [False, True], ids=["copied", "cuda-aware"])
def test_tensors_on_a_gpu_travel_by_themselves_where_mpi_reaches_them_and_else_as_copies(aware, monkeypatch):
    monkeypatch.setenv("NUMBA_ENABLE_CUDASIM", "1")
    passes(2, f"import warnings, pytest\nwarnings.simplefilter('ignore')\n{ON_A_GPU % aware}", resident=False)


@needs_mpi
def test_that_mpi_does_not_reach_a_gpu_is_said_once(monkeypatch):
    monkeypatch.setenv("NUMBA_ENABLE_CUDASIM", "1")
    program = """
import warnings
with warnings.catch_warnings(record=True) as given:
    warnings.simplefilter("always")
    for i in range(2):
        dist.all_reduce(torch.ones(3, device="cuda"))
assert [w.message.name for w in given if hasattr(w.message, "name")] == ["gpu-through-host"], given
"""
    passes(2, program, resident=False)
