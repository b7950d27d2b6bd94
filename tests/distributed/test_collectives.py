"""Collectives and messages between 1 to 4 processes, beside what they come to in closed form."""

import pytest

import minigrad
from tests.distributed.ranks import ROOT, TWO_OR_MORE, needs_mpi, passes
from tests.forked import python

REDUCED = """
total = size * (size + 1) // 2
for name in "float16 bfloat16 float32 float64 uint8 int8 int16 int32 int64".split():
    x = torch.full((2, 3), rank + 1, dtype=getattr(torch, name)).T  # which does not lie row by row
    dist.all_reduce(x)
    assert x.dtype is getattr(torch, name) and x.tolist() == [[total] * 2] * 3, name
for op, expected in [("MAX", size), ("MIN", 1), ("PRODUCT", [1, 1, 2, 6, 24][size]), ("AVG", total / size)]:
    x = torch.tensor(float(rank + 1))
    dist.all_reduce(x, getattr(dist.ReduceOp, op))
    assert abs(x.item() - expected) < 1e-6, op
flags = torch.tensor([rank == 0, True])
dist.all_reduce(flags, dist.ReduceOp.MIN)
assert flags.dtype is torch.bool and flags.tolist() == [size == 1, True]
nothing = torch.zeros(0, 3)
dist.all_reduce(nothing)
x = torch.tensor([float(rank)])
dist.reduce(x, size - 1)
assert x.item() == (size * (size - 1) / 2 if rank == size - 1 else rank)
part = torch.zeros(2)
dist.reduce_scatter(part, [torch.full((2,), float(i + rank)) for i in range(size)])
assert part.tolist() == [sum(rank + i for i in range(size))] * 2
part = torch.zeros(1, 2)
dist.reduce_scatter_tensor(part, torch.arange(2.0 * size).reshape(size, 2))
assert part.tolist() == [[2 * rank * size, (2 * rank + 1) * size]]
"""
MOVED = """
for dtype in (torch.bfloat16, torch.bool, torch.int64):
    x = torch.full((2, 2), rank, dtype=torch.int64).to(dtype).T
    dist.broadcast(x, size - 1)
    assert x.tolist() == torch.full((2, 2), size - 1).to(dtype).tolist()
rooms = [torch.zeros(2, i + 1) for i in range(size)]  # of other shapes
work = dist.all_gather(rooms, torch.full((2, rank + 1), float(rank)), async_op=True)
assert work.wait() and work.is_completed()
assert [r.tolist() for r in rooms] == [[[i] * (i + 1)] * 2 for i in range(size)]
out = torch.zeros(2 * size)
dist.all_gather_into_tensor(out, torch.full((2,), float(rank)))
assert out.tolist() == [i for i in range(size) for _ in range(2)]
rooms = [torch.zeros(1) for _ in range(size)]
dist.all_to_all(rooms, [torch.tensor([10.0 * rank + j]) for j in range(size)])
assert [r.item() for r in rooms] == [10 * j + rank for j in range(size)]
out = torch.zeros(size)
dist.all_to_all_single(out, torch.arange(float(size)) + 10 * rank)
assert out.tolist() == [10 * j + rank for j in range(size)]
counts = [i + 1 for i in range(size)]
out = torch.zeros(size * (rank + 1), 2)
dist.all_to_all_single(out, torch.full((sum(counts), 2), float(rank)), [rank + 1] * size, counts)
assert out[:, 0].tolist() == [i for i in range(size) for _ in range(rank + 1)]
x = torch.zeros(1)
dist.scatter(x, [torch.tensor([float(i)]) for i in range(size)] if rank == 0 else None)
assert x.item() == rank
rooms = [torch.zeros(1) for _ in range(size)] if rank == 0 else None
dist.gather(torch.tensor([float(rank)]), rooms)
assert rooms is None or [r.item() for r in rooms] == list(range(size))
"""
SENT = """
x = torch.zeros(3)
if rank == 0:
    dist.send(torch.arange(3.0), 1)
if rank == 1:
    assert dist.recv(x) == 0 and x.tolist() == [0, 1, 2]
sent, got = dist.isend(torch.full((3,), float(rank)), (rank + 1) % size), dist.irecv(x, (rank - 1) % size)
sent.wait(), got.wait()
assert x.tolist() == [(rank - 1) % size] * 3
given = [{"rank": rank}, "same"]
dist.broadcast_object_list(given, 1)
assert given == [{"rank": 1}, "same"]
found = [None] * size
dist.all_gather_object(found, {"rank": rank})
assert found == [{"rank": i} for i in range(size)]
found = [None] * size if rank == 0 else None
dist.gather_object(rank, found)
assert found is None or found == list(range(size))
out = [None]
dist.scatter_object_list(out, [f"to {i}" for i in range(size)] if rank == 0 else None)
assert out == [f"to {rank}"]
"""
GROUPS = """
pair = dist.new_group([0, size - 1])
assert dist.get_world_size(pair) == (2 if rank in (0, size - 1) else -1)
if rank in (0, size - 1):
    x = torch.tensor([1.0])
    dist.all_reduce(x, group=pair)
    assert x.item() == 2 and dist.get_process_group_ranks(pair) == [0, size - 1]
    assert dist.get_group_rank(pair, size - 1) == 1 and dist.get_global_rank(pair, 1) == size - 1
else:
    assert dist.get_rank(pair) == -1
dist.barrier()
x = torch.ones(1, requires_grad=True)
y = dist.nn.functional.all_reduce(x * 2)
dist.destroy_process_group()
assert not dist.is_initialized()
for reach in (y.sum().backward, lambda: dist.all_reduce(torch.ones(1), group=pair)):
    try:
        reach()
    except (RuntimeError, ValueError) as e:
        assert "was destroyed" in str(e) or rank not in (0, size - 1), e
    else:
        raise AssertionError("a destroyed group communicates")
"""


@needs_mpi
@pytest.mark.parametrize("n", [1, *TWO_OR_MORE[::2]])
@pytest.mark.parametrize("program", [REDUCED, MOVED], ids=["reduced", "moved"])
def test_all_processes_get_what_a_collective_comes_to(program, n):
    passes(n, program)


@needs_mpi
@pytest.mark.parametrize("n", TWO_OR_MORE[:2])
@pytest.mark.parametrize("program", [SENT, GROUPS], ids=["messages", "groups"])
def test_messages_arrive_and_groups_keep_to_themselves(program, n):
    passes(n, program)


@needs_mpi
def test_gradients_are_averaged_over_processes_as_those_of_the_whole_batch():
    passes(
        2,
        """
torch.manual_seed(0)
net, x = torch.nn.Linear(3, 1), torch.arange(12.0).reshape(4, 3)
whole = torch.autograd.grad((net(x) ** 2).mean(), list(net.parameters()))
(net(x[2 * rank : 2 * rank + 2]) ** 2).mean().backward()
for p, g in zip(net.parameters(), whole):
    dist.all_reduce(p.grad, dist.ReduceOp.AVG)
    assert torch.allclose(p.grad, g)
""",
    )


@needs_mpi
def test_a_write_by_a_collective_is_noticed_by_what_has_saved_the_tensor():
    passes(
        1,
        """
w, x = torch.ones(2, requires_grad=True), torch.ones(2)
y = (w * x).sum()
dist.all_reduce(x)
try:
    y.backward()
    raise SystemExit("not noticed")
except RuntimeError as e:
    assert "modified" in str(e)
""",
    )


@needs_mpi
def test_objects_keep_to_their_senders_and_a_barrier_has_a_timeout():
    program = """
import time
sent = [{"a": 1}]
(mine,) = received = list(sent)
dist.broadcast_object_list(received, src=0)
assert received == sent and (received[0] is mine) == (rank == 0)  # the sender keeps its own objects

dist.barrier()
if rank == 0:
    try:
        dist.barrier(async_op=True).wait(timeout=0.3)
        raise SystemExit("not refused")
    except RuntimeError as e:
        assert "rank 0 has waited 0.3 s for barrier()" in str(e), e
    dist.recv(torch.ones(1), 1)
else:
    time.sleep(1.6)
    dist.barrier(async_op=True).wait(timeout=20)
    dist.send(torch.ones(1), 0)
"""
    passes(2, program)


REFUSED = [
    ("dist.all_gather([], torch.ones(1))", "ValueError", "tensor for each of 1 processes, got 0"),
    ("dist.all_reduce(torch.ones(1), 'sum')", "TypeError", "expected op to be a ReduceOp"),
    ("dist.all_reduce(1.0)", "TypeError", "expected tensor to be a tensor, got float"),
    ("dist.all_reduce(torch.ones(1).long(), dist.ReduceOp.AVG)", "RuntimeError", "int64 cannot hold a mean"),
    ("dist.broadcast(torch.ones(1), 3)", "ValueError", "src=3 is not in the group"),
    ("dist.reduce_scatter_tensor(torch.ones(2), torch.ones(3))", "ValueError", "input has 3 elements"),
    ("dist.all_to_all_single(torch.ones(2), torch.ones(2), [1])", "RuntimeError", "do not split 2 rows"),
    ("dist.send(torch.ones(1), 0)", "ValueError", "cannot send to itself"),
    ("dist.send(torch.ones(1))", "ValueError", "the destination is missing"),
    ("dist.new_group([0, 0])", "ValueError", "distinct ranks from 0 to 0"),
    ("dist.get_global_rank(dist.group.WORLD, 2)", "ValueError", "from 0 to 0, got group_rank=2"),
    ("dist.all_reduce(torch.ones(1), group=dist.GroupMember.NON_GROUP_MEMBER)", "ValueError", "is not in the group"),
    ("dist.gather_object(1)", "ValueError", "process 0 passes no list"),
    ("dist.init_process_group('mpi')", "ValueError", "twice"),
]


@needs_mpi
def test_refusals_have_pytorchs_types_and_say_what_to_do():
    lines = [
        f"try:\n    {call}\n    raise SystemExit({call!r})\nexcept {kind} as e:\n"
        f"    assert {words!r} in str(e) and 'To fix: ' in str(e), e"
        for call, kind, words in REFUSED
    ]
    passes(1, "\n".join(lines))


def test_it_can_be_imported_and_asked_by_programs_of_one_process():
    program = "import torch.distributed as dist; print(dist.is_initialized(), dist.is_nccl_available())"
    done = python("-c", f"import minigrad; minigrad.as_torch(); {program}", cwd=ROOT)
    assert done.stdout == b"False False\n", done.stderr


def test_before_the_beginning_it_says_how_to_begin():
    with pytest.raises(ValueError, match="init_process_group"):
        minigrad.distributed.get_rank()
    with pytest.raises(ValueError, match="there is no backend 'smoke'"):
        minigrad.distributed.init_process_group("smoke")
