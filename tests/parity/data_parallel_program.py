"""A program of data-parallel training, run by several processes with either library; each writes what it found as JSON.

python data_parallel_program.py torch FOLDER RANK SIZE    with PyTorch and gloo
mpiexec -n SIZE python data_parallel_program.py minigrad FOLDER

"""

# ruff: noqa: E402  the library that `torch` names is chosen first

import json
import os
import sys
import warnings
from pathlib import Path

# pytest, which looks for doctests in every file, imports this one with arguments that are not its own
LIBRARY, FOLDER, *PLACE = sys.argv[1:] if __name__ == "__main__" else ("torch", "")
if LIBRARY == "minigrad":
    import minigrad

    minigrad.as_torch()

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

rank = size = 0


class Net(nn.Module):
    """Layers of which `self.parts` names those that forward uses: n normalizes, bb uses b twice, kb recomputes it."""

    def __init__(self, parts="ab"):
        super().__init__()
        self.a, self.b, self.c, self.n = nn.Linear(3, 4), nn.Linear(4, 4), nn.Linear(4, 1), nn.BatchNorm1d(4)
        self.parts, begin = parts, 0
        with torch.no_grad():
            for p in self.parameters():
                p.copy_(((torch.arange(begin, begin + p.numel()).float() * 0.37).sin() / 2).reshape(p.shape))
                begin += p.numel()

    def forward(self, x):
        again = False
        for part in self.parts:
            if part == "k":
                again = True
            else:
                layer = getattr(self, part)
                x = checkpoint(layer, x, use_reentrant=False).tanh() if again else layer(x).tanh()
        return self.c(x)


def batch(i):
    return ((torch.arange(12).float() + 7 * rank + 3 * i) * 0.11).sin().reshape(4, 3).requires_grad_()


def backward(net, i):
    net(batch(i)).pow(2).mean().backward()


def gradients(net):
    return [None if p.grad is None else p.grad.flatten().tolist() for p in net.parameters()]


# ---------------------------------------------------------------------- what is compared
def each_backward(parts="ab", changed=None, **settings):
    net, found = DistributedDataParallel(Net(parts), **settings), []
    for i in range(3):
        net.zero_grad()
        backward(net, i)
        found.append(gradients(net))
        net.module.parts = changed if changed and rank else parts
    return found


def trained():
    net = DistributedDataParallel(Net("anb"))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for i in range(3):
        optimizer.zero_grad()
        backward(net, i)
        optimizer.step()
    return [p.detach().flatten().tolist() for p in net.parameters()]


def accumulated(**settings):
    net, found = DistributedDataParallel(Net(), find_unused_parameters=True, **settings), []
    with net.no_sync():
        backward(net, 0)
    found.append(gradients(net))
    net.module.parts = "a"
    for i in range(2):
        backward(net, i)
        found.append(gradients(net))
    return found


def two_forwards():
    net = DistributedDataParallel(Net(), find_unused_parameters=True)
    (net(batch(0)) + net(batch(1))).pow(2).mean().backward()
    found = [gradients(net)]
    first, second = net(batch(0)).sum(), net(batch(1)).sum()
    for loss in (first, second):
        loss.backward()
        found.append(gradients(net))
    return found


def evaluated():
    net = DistributedDataParallel(Net("an"), find_unused_parameters=True)
    backward(net, rank)
    net.eval()
    y, z = net(batch(1)), net(batch(2))
    (y + z).sum().backward()
    return gradients(net), [b.flatten().tolist() for b in net.buffers()]


def refused(f, *args, **settings):
    try:
        f(*args, **settings)
    except RuntimeError as e:
        return [words for words in ("finished reduction in the prior iteration", "ready only once") if words in str(e)]


CASES = {
    "each backward": lambda: each_backward("abn"),
    "small buckets": lambda: each_backward("abn", bucket_cap_mb=0.00001),
    "views": lambda: each_backward("abn", gradient_as_bucket_view=True),
    "unused": lambda: refused(each_backward),
    "unused, said so": lambda: each_backward(find_unused_parameters=True),
    "unused, and views": lambda: each_backward(find_unused_parameters=True, gradient_as_bucket_view=True),
    "unused, in each step": lambda: each_backward(static_graph=True),
    "unused on some ranks": lambda: each_backward("ab", "an", find_unused_parameters=True),
    "checkpoint": lambda: each_backward("akb", find_unused_parameters=True),
    "accumulated": accumulated,
    "accumulated in views": lambda: accumulated(gradient_as_bucket_view=True),
    "two forwards": two_forwards,
    "evaluated": evaluated,
    "trained": trained,
}


if __name__ == "__main__":
    if LIBRARY == "torch":
        rank, size = map(int, PLACE)
        dist.init_process_group("gloo", init_method=f"file://{FOLDER}/beginning", rank=rank, world_size=size)
    else:
        dist.init_process_group("mpi")
        rank, size = dist.get_rank(), dist.get_world_size()
    warnings.simplefilter("ignore")
    found = {}
    for name, case in CASES.items():
        found[name] = case()
        dist.barrier()
    Path(FOLDER, f"{LIBRARY}_{rank}.json").write_text(json.dumps(found))
    if LIBRARY == "torch":
        os._exit(0)  # its threads abort some processes at the end: "terminate called without an active exception"
    dist.destroy_process_group()
