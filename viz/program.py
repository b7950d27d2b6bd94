"""Running a user's program for the command line: as a script, with its errors cut to the user's own lines."""

from __future__ import annotations

import difflib
import sys
import traceback
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any


class Usage(Exception):
    """The command asks for something that is not there."""


class Failure(Exception):
    """The user's program failed; the message is its traceback."""

    @classmethod
    def of(cls, error: BaseException) -> "Failure":
        """A failure with the traceback of an error, without the lines of minigrad and viz."""
        return cls("".join(_trimmed(traceback.TracebackException.from_exception(error)).format()).rstrip())


def run(file: Path) -> dict[str, Any]:
    """Run a file as `python file` would, and give the names it leaves behind."""
    module = ModuleType("__main__")
    module.__file__ = str(file)
    path = str(file.resolve())
    sys.modules["__main__"], sys.argv = module, [str(file)]
    sys.path.insert(0, str(Path(path).parent))
    try:
        exec(compile(file.read_bytes(), path, "exec"), module.__dict__)
    except SystemExit as ended:
        if ended.code not in (None, 0):
            raise Failure(f"{file} ended itself with {ended.code!r} before it could be drawn.") from ended
    except Exception as error:
        raise Failure.of(error) from error
    return module.__dict__


def find(names: dict[str, Any], name: str, file: Path) -> Any:
    """The tensor or function that the program calls `name`."""
    from minigrad import Tensor

    drawable = [
        key for key, value in names.items() if not key.startswith("_") and isinstance(value, (Tensor, FunctionType))
    ]
    if name not in names:
        near = difflib.get_close_matches(name, drawable, 1)
        meant = f"Did you mean {near[0]}?" if near else f"It has: {', '.join(drawable) or 'nothing that can be drawn'}."
        raise Usage(f"{file} has no {name}. {meant}")
    what = names[name]
    if isinstance(what, Tensor):
        if what.grad_fn is None:
            raise Usage(
                f"{name} in {file} has no graph: no tensor that requires grad took part in it. Make one with "
                f"requires_grad=True, or draw the function that computes {name}."
            )
    elif not callable(what) or isinstance(what, type):
        raise Usage(f"{name} in {file} is a {type(what).__name__}, neither a tensor nor a function.")
    return what


def arguments(names: dict[str, Any], text: str | None, name: str, file: Path) -> tuple:
    """A function's arguments: from the command line, else the program's `example_inputs`."""
    if text is None:
        if "example_inputs" not in names:
            raise Usage(f"{name} is a function: give its arguments with --args, or let {file} define example_inputs.")
        given = names["example_inputs"]
        return tuple(given) if isinstance(given, (tuple, list)) else (given,)
    import minigrad

    try:
        return tuple(eval(f"[{text}]", {**vars(minigrad), **names}))
    except Exception as error:
        raise Usage(f"--args {text!r} is not a list of Python values: {type(error).__name__}: {error}.") from error


def _trimmed(error: traceback.TracebackException) -> traceback.TracebackException:
    """The same error, and what caused it, without frames of minigrad and viz."""
    import minigrad

    ours = tuple(str(Path(package).parent) for package in (minigrad.__file__, __file__))
    for one in (error, error.__cause__, error.__context__):
        if one is not None:
            one.stack = traceback.StackSummary.from_list(
                [frame for frame in one.stack if not frame.filename.startswith(ours)]
            )
    return error
