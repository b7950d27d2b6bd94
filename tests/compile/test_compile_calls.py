"""Calls that are not on the list run the whole function eagerly, with one warning that names the line."""

import contextlib
import functools
import itertools
import linecache
import logging
import math
import operator
import os
import random
import re
import time
import warnings
from os import getenv

import numpy as np
import pytest

import minigrad as torch
from minigrad import compile
from minigrad.errors import MinigradWarning
from minigrad.nn.module_hooks import EVERY

from .both import X, defined, runs_eagerly, same
from .interpreted import interpreted

__all__ = ["interpreted"]

F = torch.nn.functional


@functools.cache
def positions(n):
    return torch.arange(float(n))


class Scale:
    def __init__(self, k=2.0):
        self.k = k

    def __call__(self, x):
        return x * self.k

    def __mul__(self, x):
        return x * self.k

    def __len__(self):
        return int(self.k)

    def __iter__(self):
        return iter([self.k])


log, held, drawn, scale = logging.getLogger("minigrad.tests.allowed"), [1.0], random.Random(0), Scale()
add_to = held.append
CALLS = {
    "print": (lambda x: (print(end=""), x * 2)[1], r"it calls print\(\), which is not known to be free of side effects"),
    "a warning": (lambda x: (warnings.warn("w", stacklevel=1), x * 2)[1], r"it calls _?warnings.warn\(\)|it calls warn\(\)"),
    "a logger": (lambda x: (log.info("from inside"), x * 2)[1], r"acquire\(\), which is not known"),
    "random": (lambda x: x * random.random(), r"random\(\), which is not known"),
    "a generator of Python's": (lambda x: x * drawn.random(), r"random\(\), which is not known"),
    "the time": (lambda x: x + time.time() * 0, r"it calls time.time\(\)"),
    "the environment by name": (lambda x: x * len(getenv("HOME", "")), "its source is not at hand"),
    "the environment": (lambda x: x * len(os.environ), "it reads os.environ, a _Environ, which cannot be watched"),
    "a file": (lambda x: x * len(open(__file__).read()), r"it calls (io\.|_io\.)?open\(\)"),  # noqa: SIM115
    "NumPy": (lambda x: x * float(np.exp(1.0)), "ufunc|exp"),
    "a function that keeps its results": (lambda x: x * positions(2), "positions|lru_cache"),
    "loading": (lambda x: x * torch.load("nowhere"), "it (calls|reads|imports|creates|enters|sets|uses) "),
    "an operator of an object": (lambda x: scale * x, "it reads scale, a Scale, which cannot be watched"),
    "the truth of an object": (lambda x: x if scale else -x, "it reads scale, a Scale, which cannot be watched"),
    "the elements of an object": (lambda x: x * sum([k for k in scale]), "it reads scale, a Scale, which cannot be watched"),
    "an object made inside": (lambda x: Scale(3.0)(x), "it creates a Scale"),
    "variables": (lambda x: x * len(locals()), r"it calls locals\(\)"),
    "a method that changes a list": (lambda x: (held.append(1.0), x * 2)[1], r"it calls append\(\) of held, which outlives"),
    "such a method under another name": (lambda x: (add_to(1.0), x * 2)[1], r"it calls append\(\) of .*, which outlives"),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_is_not_listed_runs_the_function_eagerly(name, interpreted):
    f, match = CALLS[name]
    c = compile(f)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(2):
            try:
                c(X)
            except (FileNotFoundError, RuntimeError) as e:
                assert "nowhere" in str(e)
    said = [str(w.message) for w in said if issubclass(w.category, MinigradWarning)]
    assert len(said) == 1 and re.search(match, said[0]), said
    assert "\n  at " in said[0] and "To fix: " in said[0]
    held[:] = [1.0]


def made(x, n):
    """Use builtins, containers, closures and generators that this call has made."""
    rows = [x * i for i in range(n)]
    rows.append(rows[0] + 1)
    named = {"a": rows[1], **dict(b=rows[2])}
    named.setdefault("c", x)
    named["d"] = named.pop("a") * 2
    first, *others = sorted(named)
    total = functools.reduce(operator.add, (named[name] for name in (first, *others)))
    for i, (row, k) in enumerate(zip(rows, itertools.count(1))):
        total += row * (k if i % 2 else -k)
    calls = 0

    def count(t):
        nonlocal calls
        calls += 1
        return t * calls

    del rows[0]
    text = f"{len(rows)}{first.upper()}"
    total = count(total) + count(x) + max(map(len, (text, "ab"))) + math.floor(2.5)
    return total if isinstance(total, torch.Tensor) and not hasattr(total, "nothing") else None, text


def test_what_a_call_makes_itself_it_may_change(interpreted):
    c = compile(lambda x: made(x, 3), fullgraph=True)
    for k in range(2):
        (a, text), (b, wanted) = c(X + k), made(X + k, 3)
        assert torch.allclose(a, b) and text == wanted
    assert len(c.versions) == 1


def test_what_is_not_reached_is_no_reason(interpreted):
    def f(x, loud):
        if loud:
            print("loud")
        return x * 2

    c = compile(f, fullgraph=True)
    assert torch.equal(c(X, False), X * 2)
    with pytest.raises(
        torch.errors.RuntimeError, match=r"(?s)it calls print\(\).*To fix: call it outside of the compiled"
    ):
        c(X, True)


def test_a_function_whose_source_is_not_at_hand_runs_eagerly():
    scope = {}
    exec("def f(x):\n    return x * 2", scope)
    found, said = runs_eagerly(compile(scope["f"]), X, match="its source is not at hand")
    assert torch.equal(found, X * 2) and "To fix: define it in a file or a notebook cell" in said


def test_a_source_that_has_changed_since_is_not_what_runs():
    f = defined("def f(x):\n    return x * 2\n", {})["f"]
    name = f.__code__.co_filename
    linecache.cache[name] = (0, None, ["def f(x):\n", "    return x * 3\n"], name)
    found, _ = runs_eagerly(compile(f), X, match="its source is not the code that runs")
    assert torch.equal(found, X * 2)


def test_lambdas_on_one_line_are_told_apart(interpreted):
    fs = [lambda x: x * 2, lambda x: x * 3, lambda x: (lambda y: y * 4)(x)]
    for f in fs:
        assert torch.equal(compile(f, fullgraph=True)(X), f(X))


@pytest.mark.parametrize("text, match", [
    ("class Inner:\n        pass", "it defines the class Inner"),
    ("import json", "it imports json while it runs"),
    ("with open('nowhere'):\n        pass", r"it calls (_?io\.)?open\(\)"),
    ("for box.k in (1, 2):\n        pass", "it sets box.k, which outlives the call"),
])  # fmt: skip
def test_statements_that_are_not_allowed(text, match):
    f = defined(f"def f(x, box=None):\n    if x is not None:\n        return x\n    {text}\n", {})["f"]
    g = defined(f"def f(x, box):\n    y = x * 2\n    {text}\n    return y\n", {"open": open})["f"]
    assert torch.equal(compile(f)(X), X) if "import" in text or "with" in text else True
    with pytest.warns(MinigradWarning, match=match), contextlib.suppress(FileNotFoundError):
        compile(g)(X, Private())


class Private:
    def __init__(self):
        self.__k = 2.0

    def f(self, x):
        return x * self.__k


class Derived(Private):
    def f(self, x):
        return super().f(x) + 1


def test_private_names_and_super(interpreted):
    for own in (Private(), Derived()):
        assert torch.equal(compile(own.f, fullgraph=True)(X), own.f(X))


def test_a_module_that_is_called_by_another_one_runs_with_checks(interpreted):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            return x * 2

    net = torch.nn.Sequential(torch.nn.Identity(), Net())
    _, said = runs_eagerly(compile(net), X, match="it sets self.1.calls|calls, which outlives the call")
    assert net[1].calls == 1 and "self.calls += 1" in said and "forward" not in vars(net[1])


def test_hooks_of_modules_run_with_checks():
    net, seen = torch.nn.Sequential(torch.nn.Tanh()), []
    net[0].register_forward_hook(lambda module, given, out: seen.append(1))
    runs_eagerly(compile(net), X, match=r"it calls append\(\) of seen, which outlives the call")
    assert seen == [1]


@pytest.mark.parametrize("first", [True, False], ids=["before", "after"])
def test_hooks_of_all_modules_are_called(first):
    net, seen = torch.nn.Sequential(torch.nn.Tanh()), []
    f = compile(lambda x: net(x).sum())
    note = lambda module, given, out: seen.append(type(module).__name__)
    if not first:
        f(X)
    handle = EVERY.register_forward_hook(note)
    try:
        runs_eagerly(f, X, match=r"it calls append\(\) of seen, which outlives the call")
        f(X)
        assert seen == ["Tanh", "Sequential"] * 2
    finally:
        handle.remove()
    f(X)
    assert len(seen) == 4


def test_a_hook_of_all_modules_that_only_computes_is_compiled():
    net = torch.nn.Sequential(torch.nn.Tanh())
    f = compile(lambda x: net(x))
    expected = f(X)
    handle = EVERY.register_forward_hook(lambda module, given, out: out * 2)
    try:
        same(f(X), expected * 4)
        assert len(f.versions) == 2
    finally:
        handle.remove()
    same(f(X), expected)


def test_minigrad_is_as_before_a_capture(interpreted):
    from minigrad.optim.lr_scheduler import cycles

    w = torch.ones(2, requires_grad=True)
    opt = torch.optim.SGD([w], lr=0.1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 10)

    def f(x):
        schedule.step()
        return x * x.sum().item()

    with pytest.warns(MinigradWarning, match="needs the value of a tensor"):
        compile(f)(X)
    assert cycles.math is math and schedule.last_epoch == 1


def test_a_mistake_is_the_users_line(interpreted):
    def f(x):
        y = x * 2
        return y + torch.ones(3)

    with pytest.raises(RuntimeError, match="y \\+ torch.ones"):
        compile(f)(X)
