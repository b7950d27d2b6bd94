"""Calls with arguments that fit nowhere: of every public function, each of its arguments in turn is garbage.

The call that it starts from is the first sample of the operation, or one of MORE.  Garbage is written as text, so that a
call can be repeated by hand.
"""

from __future__ import annotations

import ast
import inspect
import random
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import minigrad
from minigrad.ops.base.registry import TABLE
from minigrad.testing.samples import Maker


class Theirs(Exception):
    """The exception that the user's own objects raise."""


def raising(*names: str) -> type:
    """Return a class whose special methods raise."""

    def refuse(*_: object) -> Any:
        raise Theirs

    return type("Raising", (), {f"__{name}__": refuse for name in names})


GARBAGE = (
    "None", "True", "'a'", "b'x'", "1j", "nan", "inf", "-inf", "0", "-1", "2.5", "2**31", "10**15", "2**62", "2**63", "-2**40",
    "-2**70", "1e300", "()", "[]", "(1, 'a')", "[None]", "[[1, 2], [3]]", "[-1, 2**40]", "[2**63]", "{}", "{'a': 1}",
    "{1, 2}", "object()", "int", "(i for i in range(3))", "iter([1])", "lambda x: x", "slice(None)", "...", "range(3)",
    "np.ones(3)", "np.array('a')", "np.float64(2)", "np.array([None])", "torch.float32", "torch.float64", "torch.device('cpu')",
    "torch.Generator()", "torch.ones(0)", "torch.ones(2, 3)", "torch.ones(*[1] * 30)", "torch.arange(3)", "torch.ones(3) > 0",
    "torch.tensor(2)", "torch.tensor(float('nan'))", "torch.ones(3).to(torch.bfloat16)", "[torch.ones(2), 3]",
    "[torch.ones(2), torch.ones(3, 4)]", "raising('len', 'iter', 'getitem')()", "raising('index', 'int', 'float', 'bool')()",
    "raising('array')()", "raising('eq', 'hash')()", "raising('repr')()",
)  # fmt: skip


def operations() -> dict[str, tuple]:
    """Name -> (function, arguments, names that they use, the names of all its parameters), for the table of operations."""
    found = {}
    for name, entry in sorted(TABLE.items()):
        if entry.samples:
            maker = Maker(minigrad, entry, entry.samples[0], dtype="float32")
            found[name] = entry.function, entry.samples[0], {n: getattr(maker, n) for n in "TPISB"}
            if entry.inplace and hasattr(minigrad.Tensor, f"{name}_"):
                found[f"{name}_"] = getattr(minigrad.Tensor, f"{name}_"), *found[name][1:]
    return found


def modules() -> dict[str, tuple]:
    """Return name -> (class, arguments, no names) for the modules of nn, which are called as they are made."""
    found = {}
    for name, cls in sorted(vars(minigrad.nn).items()):
        if isinstance(cls, type) and issubclass(cls, minigrad.nn.Module) and cls is not minigrad.nn.Module:
            wanted = inspect.signature(cls).parameters.values()
            needed = [p for p in wanted if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
            found[f"nn.{name}"] = cls, ", ".join("2" for _ in needed), {}
    return found


def calls(name: str, function: Any, sample: str) -> Iterator[str]:
    """Yield the texts of the arguments: each one, each keyword that is not given, and one too many is garbage."""
    call = ast.parse(f"f({sample})", mode="eval").body
    assert isinstance(call, ast.Call)
    given = [ast.unparse(a) for a in call.args]
    named = {k.arg: ast.unparse(k.value) for k in call.keywords}
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        parameters = ()
    free = [p.name for p in list(parameters)[len(given) :] if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    for wrong in GARBAGE:
        for i in range(len(given)):
            yield written([*given[:i], wrong, *given[i + 1 :]], named)
        for k in [*named, *[p for p in free if p not in named]]:
            yield written(given, {**named, k: wrong})
        yield written([*given, wrong], named)
        yield written([wrong], {})


def written(given: list, named: dict) -> str:
    """Return arguments as text."""
    return ", ".join([*given, *[f"{k}={v}" for k, v in named.items()]])


class TooLong(BaseException):
    """A call takes longer than it may."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise TooLong where it takes longer, counted by the processor: the time on the clock also tells what else runs."""

    def over(*_: object) -> None:
        raise TooLong

    before = signal.signal(signal.SIGPROF, over)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


NAMES = {"torch": minigrad, "np": np, "raising": raising, "nan": float("nan"), "inf": float("inf")}


def outcome(function: Any, text: str, names: dict, seconds: float) -> BaseException | None:
    """Return the exception that a call raises, or None."""
    try:
        with warnings.catch_warnings(), limited(seconds):
            warnings.simplefilter("ignore")
            eval(f"function({text})", {**NAMES, **names, "function": function})
    except BaseException as e:
        return e
    return None


def everything() -> dict[str, tuple]:
    """Return all callables: operations, and modules as they are made."""
    return operations() | modules()


def told_wrongly(seed: int, share: float, seconds: float) -> list[str]:
    """Return the calls of a random share that take too long or raise minigrad's InternalError."""
    choose, found = random.Random(seed), []
    for name, (function, sample, names) in everything().items():
        for text in calls(name, function, sample):
            if choose.random() < share and (fault := wrong(outcome(function, text, names, seconds), text)):
                found.append(f"{name}({text}): {fault}")
    return found


def wrong(e: BaseException | None, text: str) -> str:
    """Return the fault of an exception; an empty text if there is none."""
    if isinstance(e, TooLong):
        return "it does not end"
    if isinstance(e, minigrad.InternalError):
        return f"told as internal: {e.__cause__!r}"
    return ""
