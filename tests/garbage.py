"""Calls with arguments that fit nowhere: of every public function, each of its arguments in turn is garbage.

The call that it starts from is the first sample of the operation.  Garbage is written as text, so that a call can be
repeated by hand.  `right_calls` collects further calls, of all other public functions and methods, from their docstrings'
examples: `misnamed` makes one argument of each wrong, and returns the errors that speak of minigrad's own parts.
"""

from __future__ import annotations

import ast
import copy
import dis
import doctest
import inspect
import io
import linecache
import os
import random
import re
import signal
import sys
import tempfile
import types
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
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


# ---------------------------------------------------------------------- wrong arguments of all public functions and methods
class AClass:
    """A class that fits nowhere."""


def a_function(x: Any) -> Any:
    """Return the argument."""
    return x


WRONG = (None, 7, -1, 2.5, "a", [1, 2], {"a": 1}, a_function, AClass)
LIBRARY = str(Path(minigrad.__file__).parent) + os.sep
# words of Python about its own objects, and names of attributes that are none of the user's
WORDS_OF_PYTHON = re.compile(
    r"object has no attribute|to unpack|object is not (?:iterable|callable|subscriptable)|"
    r"object does not|unhashable|unsupported operand|not supported between|"
    r"has no len\(\)|cannot be interpreted|invalid literal|ufunc|numba|referenced before|(?<![\w'<.])_(?!use_new|scale)[a-z]\w+"
)
SKIPPED = re.compile(
    "minigrad.errors|minigrad.distributed|minigrad.kernels|minigrad.warmup|set_num_threads|silence|fork_rng|cuda"
)


class Examples(ast.NodeTransformer):
    """Lets the calls of an example be heard."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Return the call of `heard` with the function and its arguments."""
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in ("super", "locals", "globals", "vars", "dir"):
            return node
        return ast.copy_location(ast.Call(ast.Name("heard", ast.Load()), [node.func, *node.args], node.keywords), node)


def right_calls(public: dict[str, Any]) -> dict[str, tuple]:
    """Return name -> (function or method, its arguments, its keywords), from examples of public objects and methods."""
    found: dict[str, tuple] = {}

    def heard(f: Any, *args: Any, **kwargs: Any) -> Any:
        if (name := name_of(f)) and name not in found and not SKIPPED.search(name):
            found[name] = (
                (f.__func__, (f.__self__, *args), kwargs) if isinstance(f, types.MethodType) else (f, args, kwargs)
            )
            found[name] = copied(found[name])
        return f(*args, **kwargs)

    documented = {id(o): o for value in public.values() for o in (value, *methods_of(value))}
    with redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for value in documented.values():
            run_examples(value, heard)
    return found


def methods_of(value: Any) -> list:
    """Return the public methods of a class that minigrad's classes define."""
    bases = [base for base in getattr(value, "__mro__", ()) if base.__module__.startswith("minigrad.")]
    return [f for base in bases for n, f in vars(base).items() if n[0] != "_" and isinstance(f, types.FunctionType)]


def name_of(f: Any) -> str:
    """Return the dotted name of a function, a class, a method, or a called module; "" for those of others."""
    if isinstance(f, minigrad.nn.Module):
        return f"{type(f).__module__}.{type(f).__qualname__}.__call__"
    module, name = str(getattr(f, "__module__", "")), getattr(f, "__qualname__", "<>")
    owner = type(f.__self__).__name__ + "." if isinstance(f, types.MethodType) else ""
    return f"{module}.{owner}{name.rpartition('.')[2]}" if module.startswith("minigrad.") and "<" not in name else ""


def run_examples(value: Any, heard: Any) -> None:
    """Run the examples of a docstring, whose calls are heard."""
    space = {
        **vars(sys.modules.get(getattr(value, "__module__", None) or "", types)),
        "__name__": "__main__",
        "heard": heard,
    }
    with suppress(Exception):  # a program that an example ends with an error, or that needs more than this
        for i, example in enumerate(doctest.DocTestParser().get_examples(inspect.getdoc(value) or "")):
            file = f"<example {id(value)}.{i}>"
            linecache.cache[file] = len(example.source), None, example.source.splitlines(True), file
            tree = ast.fix_missing_locations(Examples().visit(ast.parse(example.source, file)))
            exec(compile(tree, file, "exec"), space)


def copied(value: Any) -> Any:
    """Return a copy, part by part; a part that has none is kept."""
    if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
        return type(value)(map(copied, value))
    if isinstance(value, dict) and type(value) is dict:
        return {k: copied(v) for k, v in value.items()}
    with suppress(Exception):
        return copy.deepcopy(value)
    return value


def with_one_wrong(f: Any, args: tuple, kwargs: dict) -> Iterator[tuple[str, tuple, dict]]:
    """Yield (the argument and its wrong value, as text; arguments; keywords)."""
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    free = [p.name for p in parameters[len(args) :] if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    own = isinstance(f, types.FunctionType) and bool(parameters) and parameters[0].name in ("self", "cls")
    for i in range(own, len(args)):
        for wrong in (*WRONG, *wrong_tensors(args[i])):
            yield f"{i}: {wrong!r}", (*args[:i], wrong, *args[i + 1 :]), kwargs
    for name in dict.fromkeys([*kwargs, *free]):
        for wrong in (*WRONG, *wrong_tensors(kwargs.get(name))):
            yield f"{name}={wrong!r}", args, {**kwargs, name: wrong}


def wrong_tensors(right: Any) -> list:
    """Return tensors of another dtype, shape and device than the right one's."""
    shape = tuple(right.shape) if isinstance(right, minigrad.Tensor) else (2, 3)
    other = minigrad.full((*shape, 7), 0.6)
    return [
        minigrad.zeros(shape, dtype=minigrad.int64),
        minigrad.tensor(True),
        other,
        minigrad.empty(shape, device="meta"),
    ]


def speaks_of_internals(e: BaseException | None) -> str:
    """Return the fault of an error, if it speaks of minigrad's own parts instead of the user's call; else ""."""
    if e is None or isinstance(e, (Warning, OSError)) or type(e).__name__ == "SafetensorError":  # tells of a file
        return ""
    if isinstance(e, (TooLong, RecursionError, SystemExit)):
        return type(e).__name__
    if isinstance(e, minigrad.MinigradError):
        said = f"{e.problem} {e.remedy}" if e.problem else str(e)
        return "internal" if isinstance(e, minigrad.InternalError) else "".join(WORDS_OF_PYTHON.findall(said)[:1])
    tb, frames = e.__traceback__, []
    while tb is not None:
        frames, tb = [*frames, tb], tb.tb_next
    if not any(t.tb_frame.f_code.co_filename.startswith(LIBRARY) for t in frames[1:]):
        return ""  # Python could not bind the arguments, or the value's own method raised it
    code = frames[-1].tb_frame.f_code
    if code.co_filename == __file__ or code.co_filename.startswith("<example"):
        return ""  # a function of the example raised it
    if str(e).startswith(("argument '", "AClass()", "a_function()")):
        return ""  # of another library, which names the argument, or of the user's class
    on_purpose = code.co_code[frames[-1].tb_lasti] == dis.opmap["RAISE_VARARGS"]
    words = WORDS_OF_PYTHON.findall(str(e))
    return "" if on_purpose and not words else f"raw {type(e).__name__}"


def misnamed(public: dict[str, Any], seed: int, share: float, seconds: float) -> tuple[int, list[str]]:
    """Return how many wrong calls of a random share were made, and those whose errors speak of internals."""
    choose, found, made, here = random.Random(seed), [], 0, os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for name, (f, args, kwargs) in sorted(right_calls(public).items()):
                for text, wrong_args, wrong_kwargs in with_one_wrong(f, args, kwargs):
                    if choose.random() >= share:
                        continue
                    made += 1
                    e = outcome_of(f, copied(wrong_args), copied(wrong_kwargs), seconds)
                    if fault := speaks_of_internals(e):
                        found.append(f"{name}({text[:60]}): {fault}: {str(e)[:120]!r}")
        finally:
            os.chdir(here)
    return made, found


def outcome_of(f: Any, args: tuple, kwargs: dict, seconds: float) -> BaseException | None:
    """Return the exception that a call raises, or None; the settings of the library are as before afterwards."""
    kept = minigrad.get_default_dtype(), minigrad.is_grad_enabled()
    try:
        with (
            warnings.catch_warnings(),
            limited(seconds),
            redirect_stdout(io.StringIO()),
            redirect_stderr(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            f(*args, **kwargs)
    except BaseException as e:
        return e
    finally:
        minigrad.set_default_dtype(kept[0])
        minigrad.set_grad_enabled(kept[1])
        minigrad.set_default_device("cpu")
    return None
