"""Running a user's program for the command line: as a script, with its errors cut to the user's own lines."""

from __future__ import annotations

import ast
import difflib
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any


class Usage(Exception):
    """The command asks for something that is not there."""


class Failure(Exception):
    """The user's program failed; the message is its traceback."""

    @classmethod
    def of(cls, error: BaseException) -> Failure:
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


def record_program(file: Path, name: str, passes: Sequence[str]) -> tuple[Any, dict[str, Any]]:
    """Run a file under a recording: the record of the tensor `name` and what led to it, and the names of the program.

    Where `name` is a function the record is empty.  A program that only defines it is not recorded while it runs.
    """
    import minigrad

    names: dict[str, Any] = {}

    def program():
        names.update(run(file))
        return find(names, name, file)

    if defines(file, name):
        program()
        return {}, names
    rec = minigrad.record(program, passes=passes, name=name, inside=True)
    called = {id(value): key for key, value in names.items() if isinstance(value, minigrad.Tensor)}
    for value in rec.values:
        value.name = value.name or called.get(id(value.tensor), "")
    if not isinstance(names[name], minigrad.Tensor):
        return {}, names
    made = leading_to_outputs(rec.to_dict())
    if not any(op["phase"] == "forward" for op in made["ops"]):
        raise Usage(f"{name} in {file} has no graph: no operation made it.")
    return {**made, "program": {**made["program"], "file": str(file)}}, names


def defines(file: Path, name: str) -> bool:
    """Whether a file defines a function of this name, as far as its text tells."""
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):  # running it will say so
        return False
    return any(isinstance(line, ast.FunctionDef) and line.name == name for line in tree.body)


def leading_to_outputs(record: dict) -> dict:
    """The part of a record that its outputs depend on, with the same ids.

    >>> ops = [{"id": i, "phase": "forward", "inputs": [i], "outputs": [i + 1], "of": None} for i in range(3)]
    >>> values = [{"id": i} for i in range(4)]
    >>> part = leading_to_outputs({"ops": ops, "values": values, "outputs": [2], "gradients": {"3": 1}})
    >>> [op["id"] for op in part["ops"]], part["gradients"]
    ([0, 1], {})
    """
    wanted, kept = set(record["outputs"]), set()
    for op in reversed(record["ops"]):
        if op["phase"] in ("forward", "update") and wanted & set(op["outputs"]):
            kept.add(op["id"])
            read = op["inputs"] if op["phase"] == "forward" else op["inputs"][:1]  # an update: what the parameter was
            wanted.update(value for value in read if not isinstance(value, dict))
    ops = [op for op in record["ops"] if op["id"] in kept or op["of"] in kept]
    wanted.update(value for op in ops for value in op["outputs"])
    gradients = {value: gradient for value, gradient in record["gradients"].items() if int(value) in wanted}
    return {**record, "ops": ops, "gradients": gradients}


def find(names: dict[str, Any], name: str, file: Path) -> Any:
    """The tensor or function that the program calls `name`."""
    from minigrad import Tensor

    own = [
        key
        for key, value in names.items()
        if not key.startswith("_")
        and (isinstance(value, Tensor) or isinstance(value, FunctionType) and value.__module__ == "__main__")
    ]
    if name not in names:
        near = difflib.get_close_matches(name, own, 1)
        meant = f"Did you mean {near[0]}?" if near else f"It has: {', '.join(own) or 'nothing that can be drawn'}."
        raise Usage(f"{file} has no {name}. {meant}")
    what = names[name]
    if not isinstance(what, Tensor) and (not callable(what) or isinstance(what, type)):
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
        return eval(f"{text},", {**vars(minigrad), **names}) if text.strip() else ()
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
