"""Derivatives of collectives: beside central differences over all ranks, in forward mode, twice, under vmap, and compiled."""

import pytest

from tests.distributed.ranks import TWO_OR_MORE, needs_mpi, passes

FUNCTIONS = """
import minigrad.distributed.nn.functional as F
from tests.distributed.derivatives import agree

torch.manual_seed(rank)
x = torch.randn(size, 2, dtype=torch.float64, requires_grad=True)
last, Op = size - 1, dist.ReduceOp
w = torch.arange(2.0 * size, dtype=torch.float64).reshape(size, 2) + rank + 0.5
rows = [[i + 2 * j + 1 for j in range(size)] for i in range(size)]  # how many rank i sends to rank j
mine, theirs = rows[rank], [rows[i][rank] for i in range(size)]
room = torch.zeros(1, 2, dtype=torch.float64)
rooms = [torch.zeros(n, 2) for n in theirs]
FUNCTIONS = {
    "all_reduce": lambda x: F.all_reduce(x * w),
    "all_reduce mean": lambda x: F.all_reduce(x * w, Op.AVG) * w,
    "all_reduce largest": lambda x: F.all_reduce(x * w, Op.MAX) * w,
    "all_reduce product": lambda x: F.all_reduce(x * w, Op.PRODUCT) * w,
    "reduce": lambda x: F.reduce(x * w, last) * w,
    "reduce least": lambda x: F.reduce(x * w, last, Op.MIN) * w,
    "broadcast": lambda x: F.broadcast(x * w, last) * w,
    "all_gather": lambda x: torch.stack(F.all_gather(x * w)) * w,
    "gather": lambda x: torch.stack(F.gather(x * w, last)) * w,
    "scatter": lambda x: F.scatter(list((x * w).chunk(size)), last) * w[:1],
    "reduce_scatter": lambda x: F.reduce_scatter(room, list((x * w).chunk(size))) * w[:1],
    "reduce_scatter mean": lambda x: F.reduce_scatter(room, list((x * w).chunk(size)), Op.AVG) * w[:1],
    "reduce_scatter largest": lambda x: F.reduce_scatter(room, list((x * w).chunk(size)), Op.MAX) * w[:1],
    "all_to_all": lambda x: torch.cat(F.all_to_all(rooms, [x[:1].expand(n, 2) * w[0] for n in mine])),
    "all_to_all_single": lambda x: F.all_to_all_single(torch.cat(rooms), x[:1].expand(sum(mine), 2) * w[0], theirs, mine),
    "twice": lambda x: F.all_reduce(F.all_gather(x)[last] * F.broadcast(x, 0)),
}
"""
CHECKED = """
for name, f in FUNCTIONS.items():
    assert agree(f, x), name
"""
TWICE = """
for name, f in FUNCTIONS.items():
    def gradient(x):
        return torch.func.grad(lambda x: (f(torch.tanh(x)) ** 2).sum())(x)

    assert agree(gradient, x), name
"""
BATCHED = """
xs = torch.randn(4, size, 2, dtype=torch.float64)
for name, f in FUNCTIONS.items():
    for dim in (0, 1, 2):
        found = torch.func.vmap(f, in_dims=dim)(xs.movedim(0, dim))
        assert torch.equal(found, torch.stack([f(one) for one in xs])), name
    found = torch.func.vmap(torch.func.grad(lambda x: (f(x) ** 2).sum()))(xs)
    one_by_one = [torch.func.grad(lambda x: (f(x) ** 2).sum())(one) for one in xs]
    assert torch.allclose(found, torch.stack(one_by_one)), name
"""
MESSAGES = """
def exchange(x):  # each rank sends to the next, and uses what the one before has sent
    before, after = (rank - 1) % size, (rank + 1) % size
    sent = F.send(x.exp(), after, tag=3) if rank % 2 == 0 else None
    got = F.recv(x * 0, before, tag=3)
    if sent is None:
        sent = F.send(x.exp(), after, tag=3)
    return got * x, sent.sum()

assert agree(exchange, x[:1])
"""
TIES = """
x = torch.tensor([1.0, float(rank)], requires_grad=True)
F.all_reduce(x, Op.MAX).sum().backward()
assert x.grad.tolist() == [1.0, size if rank == last else 0]  # each rank has the same share of what all ask for
mean, one = (size + 1) / 2, torch.tensor([rank + 1.0])
assert F.all_reduce(one, Op.AVG).item() == mean and F.reduce(one, 0, Op.AVG).item() == mean * (rank == 0)
assert F.reduce_scatter(one, [one] * size, Op.AVG).item() == mean and F.all_reduce(one).item() == mean * size
x = torch.tensor([0.0, 2.0], requires_grad=True)
F.all_reduce(x, Op.PRODUCT).sum().backward()
assert x.grad.tolist() == [size * 0.0 ** (size - 1), size * 2.0 ** (size - 1)]
"""
COMPILED = """
import warnings

def stepwise(x):
    y = x * 2
    dist.all_reduce(y)
    dist.barrier()
    return y.sin()

warnings.simplefilter("ignore", torch.MinigradWarning)  # a compiled program has no step that communicates
for f in (torch.compile(lambda x: F.all_reduce(x * 2).sin()), torch.compile(stepwise)):
    for scale in (1.0, 2.0, 3.0):
        z = torch.full((3,), scale * (rank + 1), requires_grad=f.__name__ != "stepwise")
        expected = torch.full((3,), scale * size * (size + 1))
        out = f(z)
        assert torch.allclose(out, expected.sin()), out
        if z.requires_grad:
            out.sum().backward()
            assert torch.allclose(z.grad, 2 * size * expected.cos())
try:
    torch.compile(stepwise, fullgraph=True)(torch.ones(3))
    raise SystemExit("not refused")
except RuntimeError as e:
    assert "all_reduce exchanges tensors with other processes" in str(e), e
try:
    torch.func.vmap(stepwise)(torch.ones(2, 3))
    raise SystemExit("not refused")
except RuntimeError as e:
    assert "tensor belongs to vmap (a batch of 2)" in str(e) and "nn.functional.all_reduce" in str(e), e
"""
WRONG = """
class Forgetful(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return F.all_reduce(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        return g  # and not the sum of all ranks'

    @staticmethod
    def jvp(ctx, t):
        return F.all_reduce(t)

y = torch.ones(2, dtype=torch.float64, requires_grad=True)
assert agree(Forgetful.apply, y) is (size == 1)
Forgetful.backward = staticmethod(lambda ctx, g: F.all_reduce(g))
assert agree(Forgetful.apply, y)
Forgetful.jvp = staticmethod(lambda ctx, t: t)
assert agree(Forgetful.apply, y) is (size == 1)
REFUSED = [
    (lambda: F.all_reduce(1.0), TypeError, "expected a tensor, got float"),
    (lambda: F.all_reduce(torch.ones(2, dtype=torch.int64), Op.AVG), RuntimeError, "int64 cannot hold a mean"),
    (lambda: F.reduce_scatter(y.long(), [y.long()] * size, Op.AVG), RuntimeError, "int64 cannot hold a mean"),
    (lambda: F.broadcast(y, size), ValueError, f"src={size} is not in the group"),
    (lambda: F.send(y, size), ValueError, f"dst={size} is not in the group"),
    (lambda: F.scatter([y]), ValueError, f"a tensor for each of {size} processes, got 1"),
    (lambda: F.all_to_all_single(y, y, [5], [5]), RuntimeError, "do not split 2 rows"),
    (lambda: F.reduce_scatter(y[:1], [y] * size), ValueError, "output has shape (1,), and the result (2,)"),
    (lambda: F.all_to_all_single(torch.ones(size, 2), torch.ones(size)), ValueError, f"output has shape ({size}, 2), and the"),
    (lambda: F.reduce_scatter(y, [y] * size, "sum"), TypeError, "expected op to be a ReduceOp"),
    (lambda: F.all_reduce(y, "sum"), TypeError, "expected op to be a ReduceOp"),
    (lambda: F.reduce(y, 0, "sum"), TypeError, "expected op to be a ReduceOp"),
]
if size > 1:
    for call, kind, words in REFUSED:
        try:
            call()
            raise SystemExit(words)
        except kind as e:
            assert words in str(e) and "To fix: " in str(e), e
"""


@needs_mpi
@pytest.mark.parametrize("n", [1, *TWO_OR_MORE])
def test_derivatives_are_those_of_central_differences_over_all_ranks(n):
    passes(n, FUNCTIONS + CHECKED)


@needs_mpi
@pytest.mark.parametrize("n", TWO_OR_MORE[:2])
def test_second_derivatives_are_those_of_central_differences(n):
    passes(n, FUNCTIONS + TWICE)


@needs_mpi
@pytest.mark.parametrize("n", TWO_OR_MORE[:2])
def test_a_batch_of_examples_gives_what_the_examples_give_one_by_one(n):
    passes(n, FUNCTIONS + BATCHED)


@needs_mpi
@pytest.mark.parametrize("n", TWO_OR_MORE[::2])
def test_a_message_carries_its_gradient_back(n):
    passes(n, FUNCTIONS + MESSAGES)


@needs_mpi
@pytest.mark.parametrize("n", [1, *TWO_OR_MORE[:2]])
@pytest.mark.parametrize("program", [TIES, COMPILED, WRONG], ids=["ties", "compiled", "wrong"])
def test_what_is_not_linear_is_compiled_or_is_wrong(program, n):
    passes(n, FUNCTIONS + program)
