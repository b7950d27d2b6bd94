"""Check every error message: run a table of wrong calls and look at each text.

tests/parity/test_refusals.py runs the same calls in PyTorch and compares the types.

A case is the text of a call, who has to be named, and words that have to stand in the message.  In the text `torch` is
minigrad or PyTorch, `T(2, 3)` a float tensor of that shape, `I(2, 3, 1)` one of integers, `B(2, 3)` one of bools,
`S(2, 2)` an identity matrix; a test may lend further names.
"""

from __future__ import annotations

import ast
import importlib
import linecache
import os
import re
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import minigrad

# words of the machinery below, which no user has asked for
INTERNALS = re.compile(
    r"ufunc|numba|operands could not|(NoneType|int|float|str|list|tuple|Tensor). object has no attribute|not iterable|"
    r"not subscriptable|must be real number|cannot be interpreted|invalid literal|setting an array|unhashable"
)


def names(module: Any) -> dict[str, Any]:
    """Return the names that the text of a call may use."""

    def T(*shape: int, **options: Any) -> Any:
        return module.full(shape, 0.6, **options)

    return {
        **{"torch": module, "np": np, "nn": module.nn, "F": module.nn.functional, "optim": module.optim},
        **{"lr_scheduler": module.optim.lr_scheduler, "vmap": module.func.vmap, "T": T},
        "I": lambda *shape: module.zeros(shape[:-1], dtype=module.int64),
        "B": lambda *shape: module.ones(shape) > 0,
        "S": lambda n, _: module.eye(n),
    }


def raised(module: Any, text: str, lend: Any = None) -> Exception | None:
    """Return the exception of a call that stands in a file named after itself, or None."""
    given = names(module)
    if lend is not None:
        given |= lend(module, given)
    file = f"<{text}>"
    linecache.cache[file] = (len(text), None, [text], file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            eval(compile(text, file, "eval"), given)
        except Exception as e:
            return e
    return None


def check(text: str, who: str, *words: str, lend: Any = None) -> None:
    """Check that minigrad refuses the call with an error that names the function, the words, the line and a fix."""
    e = raised(minigrad, text, lend)
    assert isinstance(e, minigrad.MinigradError), repr(e)
    said = str(e)
    assert e.operation == who, said
    assert not [w for w in words if w not in said], said
    assert e.remedy, said
    assert e.place is not None and (e.place.file == f"<{text}>" or lend is not None), said
    assert not INTERNALS.search(said.replace(e.place.code, "")), said
    assert e.__cause__ is None and (e.__context__ is None or e.__suppress_context__), (
        "the text of another error is shown"
    )
    with minigrad.autograd.detect_anomaly(check_nan=False):  # where nothing is written out
        again = raised(minigrad, text, lend)
    assert isinstance(again, type(e)) and (again.operation, again.remedy) == (who, e.remedy), again


def each(cases: list, lend: Any = None, about_cpu: Any = ()) -> Any:
    """Return the test that checks each case; those whose text is in `about_cpu` are about it alone, for the reason there."""
    marks = lambda text: [pytest.mark.cpu(about_cpu[text])] if text in about_cpu else []
    parameters = [pytest.param(case, id=case[0], marks=marks(case[0])) for case in cases]

    @pytest.mark.parametrize("case", parameters)
    def test(case: tuple) -> None:
        check(*case, lend=lend)

    return test


def check_type(oracle: Any, text: str, lend: Any = None) -> None:
    """Check that minigrad's error is of the type that PyTorch raises, if it has the function and raises one."""
    e, theirs = raised(minigrad, text, lend), raised(oracle, text, lend)
    said = f"{type(e)} is no {type(theirs)}, as PyTorch's: {theirs}"
    assert theirs is None or "module 'torch' has no" in str(theirs) or isinstance(e, kind(theirs)), said


# types that PyTorch's errors have by accident, when they come from Python or from how it was built -> what is meant
MEANT = {
    AttributeError: (AttributeError, TypeError),
    OverflowError: RuntimeError,
    AssertionError: (AssertionError, RuntimeError),
    ZeroDivisionError: RuntimeError,
}


def kind(theirs: Exception) -> Any:
    """Return the type that a program which runs under PyTorch would catch."""
    builtin = next(c for c in type(theirs).__mro__ if c.__module__ == "builtins")
    return MEANT.get(builtin, builtin)


def sites(module: str) -> dict[tuple[str, int], str]:
    """Return (file, line) -> text, of every call in a module that builds an error."""
    file = importlib.import_module(module).__file__ or ""
    with open(file) as f:
        source = f.read()
    calls = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
    return {(file, n.lineno): ast.unparse(n) for n in calls if n.func.id in ("error", "refused")}  # type: ignore[attr-defined]


def unreached(modules: list[str], cases: list, lend: Any = None) -> dict[tuple[str, int], str]:
    """Return the errors of these modules that no case raises."""
    left = {place: text for m in modules for place, text in sites(m).items()}
    files = {file for file, _ in left}

    def line(frame: Any, event: str, _: Any) -> Any:
        left.pop((frame.f_code.co_filename, frame.f_lineno), None)
        return line

    before = sys.gettrace()
    sys.settrace(lambda frame, *_: line if frame.f_code.co_filename in files else None)
    try:
        for text, *_ in cases:
            raised(minigrad, text, lend)
    finally:
        sys.settrace(before)
    return {(os.path.basename(file), n): text for (file, n), text in left.items()}
