"""Programs that several processes run, and their records, as the command makes them."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.distributed import forked
from tests.distributed.ranks import MPIEXEC

ROOT = Path(__file__).parent.parent.parent
BEGIN = """import minigrad as torch
import minigrad.distributed as dist
import minigrad.distributed.nn.functional as differentiable

dist.init_process_group("mpi")
rank, size = dist.get_rank(), dist.get_world_size()
"""


def on_each_rank(lines):
    """Return a program of some lines that knows its rank."""
    return BEGIN + lines


# a step of training on a part of the data for each rank, whose gradients are averaged by hand
STEP = on_each_rank("""
w = torch.tensor([1.0, -2.0], requires_grad=True)
x = torch.tensor([1.0, 3.0]) * (rank + 1)
loss = differentiable.all_reduce((w * x).tanh().sum()) / size
loss.backward()
dist.all_reduce(w.grad, op=dist.ReduceOp.AVG)
with torch.no_grad():
    w -= 0.1 * w.grad
""")
# the sum of gradients, divided by hand
AVERAGE = on_each_rank("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (w * (rank + 1)).sum()
loss.backward()
dist.all_reduce(w.grad)
w.grad /= size
""")
# the same by DistributedDataParallel, which divides before it sums
PARALLEL = on_each_rank("""
from minigrad.nn.parallel import DistributedDataParallel
net = DistributedDataParallel(torch.nn.Linear(2, 1))
loss = net(torch.ones(1, 2) * (rank + 1)).sum()
loss.backward()
""")
# a skip connection past the collective, in tensors of which each rank has a part
SPLIT = on_each_rank("""
torch.manual_seed(rank)
x = torch.tensor([[1.0, -1.0]], requires_grad=True)
w = torch.randn(2, 2, requires_grad=True)
y = x + differentiable.all_reduce(x @ w)
loss = y.pow(2).sum()
""")
PIPE = on_each_rank("""
w = torch.full((2, 2), rank + 1.0, requires_grad=True)
if rank == 0:
    h = torch.ones(1, 2) @ w
    loss = differentiable.send(h, 1).sum()
else:
    h = differentiable.recv(torch.empty(1, 2, requires_grad=True), 0)
    loss = (h @ w).sum()
""")
# rank 0 does not do what the others do
APART = on_each_rank("""
w = torch.tensor([0.5, -1.0], requires_grad=True)
h = w * (rank + 1.0)
if rank == 0:
    h = h.exp()
total = differentiable.all_reduce(h)
loss = total.sum()
""")
BY_HAND = on_each_rank("""
w = torch.full((2, 2), rank + 1.0, requires_grad=True)
if rank == 0:
    h = torch.ones(1, 2) @ w
    dist.send(h.detach(), 1)
    g = torch.empty(1, 2)
    dist.recv(g, 1)
    h.backward(g)
else:
    h = torch.empty(1, 2)
    dist.recv(h, 0)
    h.requires_grad_()
    loss = (h @ w).sum()
    loss.backward()
    dist.send(h.grad, 0)
""")
# two messages whose sends end in the other order
OVERTAKEN = on_each_rank("""
first, second = torch.tensor([1.0]), torch.tensor([2.0])
if rank == 0:
    begun = [dist.isend(first, 1), dist.isend(second, 1)]
    begun[1].wait()
    begun[0].wait()
else:
    dist.recv(first, 0)
    dist.recv(second, 0)
    loss = first.requires_grad_() * second
""")
# ranks 1 and 2 send, and rank 0 takes what comes
FROM_ANY = on_each_rank("""
h = torch.full((2,), rank + 1.0, requires_grad=True) * 2
if rank:
    dist.send(h.detach(), 0, tag=7)
else:
    x, y = torch.empty(2), torch.empty(2)
    dist.recv(x, tag=7)
    dist.irecv(y, tag=7).wait()
    loss = (x.requires_grad_() * y).sum()
""")
FAILS = on_each_rank("""
if rank == 1:
    raise ValueError("only here")
loss = differentiable.all_reduce(torch.ones(2, requires_grad=True)).sum()
""")

# rank 0 is done, and rank 1 waits for it
ENDS_EARLY = on_each_rank("""
loss = torch.ones(2, requires_grad=True).sum()
if rank == 1:
    dist.all_reduce(torch.ones(2))
""")


COMMAND = """
import os, sys
from viz.cli import main

os.chdir({folder!r})
sys.argv[1:] = {words!r}
main()
"""


def command(folder, *words):
    """Run the command minigrad in a folder; return the process with its output."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    call = [sys.executable, "-m", "viz.cli", *map(str, words)]
    return subprocess.run(call, cwd=folder, env=env, capture_output=True, text=True, timeout=120)


def started(folder, n, *words):
    """Run the command on n processes, which need not import what it imports."""
    program = COMMAND.format(folder=str(folder), words=words)
    ranks = forked.command(program, "viz.commands.app", "viz.formats.export")
    return subprocess.run([MPIEXEC, "-n", str(n), *ranks], capture_output=True, text=True, timeout=120)


@cache
def record(program, n, *options):
    """Return the record of a program's loss on n processes."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "prog.py").write_text(program)
        done = started(folder, n, "render", "prog.py:loss", "--ranks", "-o", "loss.json", *options)
        assert done.returncode == 0, done.stderr
        return json.loads((Path(folder) / "loss.json").read_text())
