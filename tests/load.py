"""Work for hours, in many threads and processes: `python -m tests.load threads --seconds 600`, and likewise the others.

- threads: eight threads do mixed work, each result compared with what one thread alone gives;
- processes: a hundred processes start at once and fill an empty cache of kernels;
- soak: one process trains a network; what it has in memory stays;
- notebook: one process records, draws and explains hundreds of different programs, as a notebook server does in a day.
"""

from __future__ import annotations

import argparse
import gc
import io
import os
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

import minigrad as torch
from minigrad import nn

F = nn.functional


# ---------------------------------------------------------------------- threads
def network(seed: int) -> list:
    """Train a small network for three steps."""
    generator = torch.Generator().manual_seed(seed)
    x, y = torch.randn(8, 5, generator=generator), torch.randn(8, 2, generator=generator)
    weights = [
        (torch.randn(*shape, generator=generator) * 0.3).requires_grad_() for shape in ((5, 7), (7,), (7, 2), (2,))
    ]
    optimizer = torch.optim.Adam(weights, lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        a, b, c, d = weights
        F.mse_loss(torch.tanh(x @ a + b) @ c + d, y).backward()
        optimizer.step()
    return [w.detach() for w in weights]


def transformed(seed: int) -> list:
    """Take gradients per sample, a jvp and a Hessian."""
    x = torch.linspace(-1, 1, 6).reshape(2, 3) + seed % 7
    f = lambda v: (v.sin() * v).sum()
    tangents = torch.func.jvp(f, (x,), (torch.ones(2, 3),))
    return [torch.func.vmap(torch.func.grad(f))(x), *tangents, torch.func.hessian(f)(x[0])]


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x * x * g


def custom(seed: int) -> list:
    """Run a custom Function, without gradients in between, and write in place."""
    x = (torch.arange(4.0) + seed % 5).requires_grad_()
    with torch.no_grad():
        assert not Cube.apply(x).requires_grad
    y = Cube.apply(x * 1)
    y[1:].mul_(2)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    return [y.detach(), g.detach(), *torch.autograd.grad(g.sum(), x)]


def large(seed: int) -> list:
    """Compute on arrays that compiled kernels work on."""
    x = torch.linspace(-2, 2, 20_000).reshape(100, 200).requires_grad_()
    out = F.layer_norm(torch.softmax(x.sin() * (seed % 3 + 1), -1), (200,)).cumsum(0)
    return [out.detach(), *torch.autograd.grad((out * out).sum(), x)]


compiled = torch.compile(lambda x, y: (x.sin() * y).sum(0) + x.exp().mean())


def by_compiled(seed: int) -> list:
    """Call a compiled function."""
    x = torch.linspace(0, 1, 12).reshape(4, 3).requires_grad_()
    out = compiled(x, torch.full((4, 3), float(seed % 4)))
    return [out.detach(), *torch.autograd.grad(out.sum(), x)]


def stored(seed: int) -> list:
    """Save and load."""
    file = io.BytesIO()
    torch.save({"a": torch.arange(6.0).reshape(2, 3).t() * (seed % 9)}, file)
    file.seek(0)
    return [torch.load(file)["a"]]


WORK: list[Callable[[int], list]] = [network, transformed, custom, large, by_compiled, stored]


def threads(count: int = 8, seconds: float = 5.0) -> Counter:
    """Do mixed work in threads; return how often each kind was done.  Raises what a thread raised."""
    wanted = {(f, seed): f(seed) for f in WORK for seed in range(4)}
    done: Counter = Counter()
    failures: list[BaseException] = []
    end = time.monotonic() + seconds

    def work(number: int) -> None:
        choice = random.Random(number)
        try:
            while time.monotonic() < end and not failures:
                f, seed = choice.choice(list(wanted))
                for a, b in zip(wanted[f, seed], f(seed), strict=True):
                    np.testing.assert_allclose(b.numpy(), a.numpy(), 1e-5, 1e-6, err_msg=f"{f.__name__}({seed})")
                assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
                done[f.__name__] += 1
        except BaseException as e:
            failures.append(e)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if failures:
        raise failures[0]
    return done


# ---------------------------------------------------------------------- processes
START = """
import minigrad as torch

x = torch.linspace(-2, 2, 20_000).reshape(100, 200).requires_grad_()
out = torch.softmax(x.sin(), -1).cumsum(0)
out.sum().backward()
print(round(out.sum().item(), 2), round(x.grad.abs().sum().item(), 2))
"""


def processes(count: int = 100) -> int:
    """Start processes at once on an empty cache of kernels; return how many files it has then, all of them whole."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "MINIGRAD_CACHE": folder}
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment}
        started = [subprocess.Popen([sys.executable, "-c", START], **options) for _ in range(count)]
        said = [process.communicate() for process in started]
        assert not any(process.returncode for process in started), next(e for _, e in said if e)
        assert len(set(said)) == 1, set(said)
        os.environ["MINIGRAD_CACHE"] = folder
        from minigrad.kernels import cache

        files = [file for file in Path(folder).iterdir() if file.suffix == ".bin"]
        assert files and all(cache.stored(file.name) is not None for file in files)
        assert not list(Path(folder).glob("*.part"))
        return len(files)


# ---------------------------------------------------------------------- one process for long
def resident() -> int:
    """Return the bytes that this process has in memory."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def soak(seconds: float = 5.0) -> tuple[int, int]:
    """Train a network; return the steps, and the bytes by which the process has grown since the first part of them."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(20, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 5))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 100)

    def step() -> None:
        x, y = torch.randn(32, 20), torch.randint(0, 5, (32,))
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        assert loss.item() < 100

    for _ in range(500):
        step()
    before, steps, end = resident(), 0, time.monotonic() + seconds
    while time.monotonic() < end:
        step()
        steps += 1
    return steps, resident() - before


def program(number: int) -> Callable:
    """Write one of many programs: layers of other widths, activations and losses."""
    choice = random.Random(number)
    widths = [choice.randint(1, 6) for _ in range(choice.randint(2, 5))]
    acts = [choice.choice([torch.tanh, torch.relu, torch.sigmoid, torch.sin, F.gelu]) for _ in widths]
    weights = [torch.randn(a, b).requires_grad_() for a, b in zip([3, *widths], widths)]

    def f(x):
        for w, act in zip(weights, acts):
            x = act(x @ w)
        return x.square().mean() if number % 2 else torch.logsumexp(x, -1).sum()

    return f


def notebook(records: int = 300) -> int:
    """Record, show and explain different programs; return the bytes by which the process has grown since the first third."""
    before = 0
    for number in range(records):
        f, x = program(number), torch.randn(2, 3, requires_grad=True)
        rec = torch.record(f, x)
        shown = rec._repr_mimebundle_()
        assert "<svg" in str(shown) and len(rec.to_dict()["ops"]) > 3
        f(x).backward()
        assert "x.grad" in str(torch.explain(x.grad))
        if number == records // 3:
            before = resident()
    return resident() - before


def main() -> None:
    """Run one of them as long as asked, and say what it did."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("load", choices=["threads", "processes", "soak", "notebook"])
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--count", type=int, default=0)
    options = parser.parse_args()
    if options.load == "threads":
        print(f"threads: {dict(threads(options.count or 8, options.seconds))}")
    elif options.load == "processes":
        print(f"processes: {processes(options.count or 100)} kernels, all whole")
    elif options.load == "soak":
        steps, grown = soak(options.seconds)
        print(f"soak: {steps:,} steps, {grown:,} bytes more in memory")
    else:
        print(f"notebook: {notebook(options.count or 300):,} bytes more in memory after the first third")


if __name__ == "__main__":
    main()
