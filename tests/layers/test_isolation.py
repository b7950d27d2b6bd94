"""Transforms in different threads, tasks and generators do not see each other."""

import asyncio
import threading

import pytest

import minigrad as torch
from minigrad.core.frames import current
from minigrad.func import grad, jvp, vmap


def test_threads():
    """All are inside their transform at the same time."""
    n, found = 4, {}
    gate = threading.Barrier(n)

    def work(i):
        def f(x):
            gate.wait(10)
            y = x * x * (i + 1)
            gate.wait(10)
            seen = current().layers()
            gate.wait(10)
            return y.sum() if len(seen) == 1 else None

        x = torch.ones(3)
        run = [lambda: grad(f)(x), lambda: vmap(f)(x), lambda: jvp(f, (x,), (x,))[1], lambda: grad(f)(x)]
        found[i] = run[i]().tolist()
        assert current().layers() == []

    threads = [threading.Thread(target=work, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == {0: [2.0] * 3, 1: [2.0] * 3, 2: 18.0, 3: [8.0] * 3}


def test_a_thread_started_inside_a_transform_is_outside_of_it():
    def f(x):
        seen = []
        thread = threading.Thread(target=lambda: seen.extend([current().layers(), (torch.ones(2) * 2).tolist()]))
        thread.start()
        thread.join()
        assert seen == [[], [2.0, 2.0]]
        return x * x

    assert grad(f)(torch.tensor(3.0)).item() == 6.0


def test_tasks():
    async def inside(transform, x, log):
        def f(x):
            return x**3

        for _ in range(5):
            log.append(transform(f)(x).tolist())
            await asyncio.sleep(0)

    async def main():
        log = [], []
        x = torch.tensor([2.0])
        await asyncio.gather(inside(lambda f: grad(lambda x: f(x).sum()), x, log[0]), inside(vmap, x, log[1]))
        return log

    assert asyncio.run(main()) == ([[12.0]] * 5, [[8.0]] * 5)


def test_a_task_started_inside_a_transform_keeps_to_it():
    """A task starts with a copy of the context, as ContextVars have it: what it computes belongs to the transform."""

    def f(x):
        async def work():
            await asyncio.sleep(0)
            return x * x

        return asyncio.run(work())

    assert grad(f)(torch.tensor(3.0)).item() == 6.0


def test_generators_in_turns():
    def derivatives(transform):
        x = torch.tensor(1.0)
        while True:
            x = transform(lambda y: y * y + x)(x)
            yield x.item()

    a, b = derivatives(grad), derivatives(lambda f: lambda x: jvp(f, (x,), (x,))[1])
    assert [(next(a), next(b)) for _ in range(3)] == [(2.0, 2.0), (4.0, 8.0), (8.0, 128.0)]
    assert current().layers() == []


def test_a_generator_runs_in_the_transform_that_advances_it():
    def steps(x):
        yield x * x
        yield x * x * x

    def f(x):
        own, kept = steps(x), []
        grad(lambda z: [kept.append(next(own)), z * z][1])(x)  # advanced inside another transform
        with pytest.raises(RuntimeError, match="escaped"):
            kept[0] + 1
        return next(own)  # and here outside of it

    assert grad(f)(torch.tensor(2.0)).item() == 12.0


def test_an_exception_leaves_nothing_behind():
    def f(x):
        raise KeyError("f")

    for run in (
        lambda: grad(f)(torch.ones(())),
        lambda: vmap(f)(torch.ones(2)),
        lambda: jvp(f, (torch.ones(2),), (torch.ones(2),)),
    ):
        with pytest.raises(KeyError):
            run()
        assert current().layers() == []
