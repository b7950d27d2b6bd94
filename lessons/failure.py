"""Why a check could not finish: what the answer's code raised and where, or which of its results the check cannot use.

An error in the answer's own code is shown with its line and the arguments there.  Any other error in a check means that it met
a result that it cannot use.  The check runs once more under a profiler, which finds the last result of the answer.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, TracebackType
from typing import Any

from .catalogue import Lesson, cells
from .limit import TooLong, within

__all__ = ["arguments_at", "codes_of", "last_call", "parameters", "short"]

NUMBERS = 6  # elements of the largest array that is shown
LETTERS, MOST = 60, 150  # characters of any other value, and of several in a list


def codes_of(answer: Any) -> list[CodeType]:
    """Return the code of a function, or of the methods of a class; of a wrapped function, the code inside."""
    members = vars(answer).values() if isinstance(answer, type) else [answer]
    plain = [inspect.unwrap(one) for one in (getattr(one, "__func__", one) for one in members) if callable(one)]
    return [
        code for one in plain if isinstance(code := getattr(getattr(one, "py_func", one), "__code__", None), CodeType)
    ]


def nested(codes: list[CodeType]) -> Iterator[CodeType]:
    """Yield code with all functions that are defined inside it."""
    for code in codes:
        yield code
        yield from nested([one for one in code.co_consts if isinstance(one, CodeType)])


def arguments_at(answer: Any, trace: TracebackType | None) -> str | None:
    """Return the arguments in the last call of an answer's code on a traceback, "" if it has none, None if it has no call."""
    codes, found = {*nested(codes_of(answer))}, None
    while trace is not None:
        code = trace.tb_frame.f_code
        inner = code.co_name in ("<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>")  # their argument is an iterator
        found = trace.tb_frame if code in codes and not inner else found
        trace = trace.tb_next
    return None if found is None else arguments(found)


def arguments(frame: FrameType) -> str:
    """Return the arguments of a running function as words: `x = 2 and y = Value(3)`."""
    code = frame.f_code
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & inspect.CO_VARARGS)
    names = [name for name in code.co_varnames[:count] if name in frame.f_locals and name not in ("self", "cls", "ctx")]
    parts = [f"{name} = {short(frame.f_locals[name])}" for name in names]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def last_call(answer: Any, judge: Callable, seconds: float) -> tuple[str, str, Any] | None:
    """Judge an answer again; return its last call that returned: the name, the arguments, and the result."""
    codes, begun, ended = {*codes_of(answer)}, {}, []
    before = sys.getprofile()

    def watch(frame: FrameType, event: str, value: Any) -> None:
        if frame.f_code in codes:
            if event == "call":
                begun[frame] = arguments(frame)
            elif event == "return":
                ended[:] = [(frame.f_code.co_name, begun.pop(frame, ""), value)]

    sys.setprofile(watch)
    with contextlib.suppress(Exception, SystemExit, TooLong):
        try:
            within(seconds, lambda: judge(answer), computing=True)
        finally:
            sys.setprofile(before)
    return ended[0] if ended else None


def parameters(one: Lesson | None, name: str, method: str) -> list[str] | None:
    """Return the parameters of a function, or of a method of a class, as the lesson's gap has them; None without such a gap.

    >>> from lessons import lesson
    >>> parameters(lesson("build 1"), "mul", "mul"), parameters(lesson("build 4"), "Tanh", "backward")
    (['x', 'y'], ['ctx', 'g'])
    """
    for _, cell in cells(one.path) if one is not None else ():
        if f'lessons.check("{name}"' not in cell:
            continue
        for node in ast.walk(ast.parse(cell)):
            if isinstance(node, ast.FunctionDef) and node.name == method:
                named = [one.arg for one in node.args.args if one.arg not in ("self", "cls")]
                return named + ([f"*{node.args.vararg.arg}"] if node.args.vararg else [])
    return None


def short(value: Any) -> str:
    """Return a value in short; a node of a learner's engine with the number in it.

    >>> import numpy as np
    >>> short(2.34567), short(np.ones((2, 2))), short([1, None]), short(np.ones(99)), short(short)
    ('2.346', '[[1.0, 1.0], [1.0, 1.0]]', '[1, None]', 'an array of the shape [99]', 'the function short')
    """
    try:
        words = _short(value)
    except Exception:  # a learner's class may raise in its repr
        words = ""
    return words if 0 < len(words) <= MOST else f"a {type(value).__name__}"


def _short(value: Any, depth: int = 4) -> str:
    import numpy as np  # not earlier: the list of lessons does without

    kind = type(value).__name__
    if depth == 0:
        return "…"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, str):
        return repr(value) if len(value) <= LETTERS else f"{value[:LETTERS]!r}…"
    if isinstance(value, (float, complex, np.floating)):
        return f"{value:.4g}"
    if isinstance(value, np.ndarray) and value.dtype != object:
        many = value.size > NUMBERS
        return f"an array of the shape {list(value.shape)}" if many else str(np.round(value, 4).tolist())
    if not callable(value) and (inside := getattr(value, "value", value)) is not value:
        return f"{kind}({_short(inside, depth - 1)})"
    if isinstance(value, (list, tuple)) and len(value) <= NUMBERS:
        parts = ", ".join(_short(one, depth - 1) for one in value)
        return f"[{parts}]" if isinstance(value, list) else f"({parts}{',' * (len(value) == 1)})"
    if inspect.isroutine(value):
        return "a function" if value.__name__ == "<lambda>" else f"the function {value.__name__}"
    words = re.sub(r" object at 0x\w+", "", " ".join(repr(value).split()))
    shape = getattr(value, "shape", None)
    of_shape = "" if shape is None else f" of the shape {list(shape)}"
    return words if len(words) <= LETTERS else f"a {kind}{of_shape}"
