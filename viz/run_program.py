"""Running a user's program for the command line: as a script, with its errors cut to the user's own lines."""

from __future__ import annotations

import ast
import linecache
import sys
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import decode_source
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from .files import nearest


class Usage(Exception):
    """The command asks for something that is not there."""


class Failure(Exception):
    """The user's program failed; the message is its traceback."""

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """A failure with the traceback of an error, without the lines of minigrad and viz."""
        return cls("".join(_trimmed(traceback.TracebackException.from_exception(error)).format()).rstrip())


@dataclass
class Program:
    """A user's program: its text, what it is called, and the words on its command line."""

    file: str  # as the user wrote it; <stdin> for what came from there
    text: bytes
    words: Sequence[str] = ()
    names: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, file: str, words: Sequence[str] = ()) -> Program:
        """The program in a file, or, for -, in the standard input."""
        if file != "-":
            return cls(file, text_of(file), words)
        text = sys.stdin.buffer.read()
        lines = python_text("the standard input", text).splitlines(keepends=True)
        linecache.cache["<stdin>"] = (len(text), None, lines, "<stdin>")  # where lines of code are looked up
        return cls("<stdin>", text, words)

    def run(self) -> None:
        """Run it as `python file` would, and keep the names that it leaves behind."""
        module = ModuleType("__main__")
        here = self.file == "<stdin>"
        path = self.file if here else str(Path(self.file).resolve())
        if not here:
            module.__file__ = self.file
        sys.modules["__main__"], sys.argv = module, ["-" if here else self.file, *self.words]
        sys.path.insert(0, "" if here else str(Path(path).parent))
        try:
            exec(compile(self.text, path, "exec"), module.__dict__)
        except SystemExit as ended:
            if ended.code not in (None, 0):
                raise Failure(f"{self.file} ended itself with {ended.code!r} before it could be drawn.") from ended
        except Exception as error:
            raise Failure.of(error) from error
        self.names = module.__dict__

    def record(self, name: str, passes: Sequence[str], args: str | None = None) -> tuple[dict, list[str]]:
        """Run it and record how its tensor `name` comes about, or its function `name` on `args`; with the recording's notes."""
        rec = self.recording(name, passes, args)
        if rec is None:
            return self.record_function(name, passes, args)
        made = leading_to_outputs(rec.to_dict())
        if not any(op["phase"] == "forward" for op in made["ops"]):
            raise Usage(f"{name} in {self.file} has no graph: no operation made it. Name the result of operations.")
        return {**made, "program": {**made["program"], "file": self.file}}, rec.notes

    def recording(self, name: str, passes: Sequence[str], args: str | None = None) -> Any:
        """Run it under a recording, and run the passes from its tensor `name`; None where that is a function.

        A program that only defines the function is not recorded while it runs.
        """
        import minigrad

        def program():
            self.run()
            return self.find(name)

        if defines(self.text, name):
            program()
            return None
        rec = minigrad.record(program, passes=passes, name=name, inside=True)
        if not isinstance(self.names[name], minigrad.Tensor):
            return None
        if args is not None:
            raise Usage(f"--args is for functions, and {name} is a tensor.")
        called = names_of_tensors(self.names)
        rec.name_values(called)
        return rec

    def record_function(self, name: str, passes: Sequence[str], args: str | None) -> tuple[dict, list[str]]:
        """Record what a function of the program does."""
        import minigrad

        given = self.arguments(name, args)
        try:
            rec = minigrad.record(self.names[name], *given, passes=passes, name=name, inside=True)
        except Exception as error:
            raise Failure.of(error) from error
        made = rec.to_dict()
        if not made["ops"]:
            raise Usage(f"{name} in {self.file} has no graph: it runs no operation on these arguments.")
        return {**made, "program": {**made["program"], "file": self.file}}, rec.notes

    def find(self, name: str) -> Any:
        """The tensor or function that the program calls `name`."""
        from minigrad import Tensor

        own = [
            key
            for key, value in self.names.items()
            if not key.startswith("_")
            and (isinstance(value, Tensor) or isinstance(value, FunctionType) and value.__module__ == "__main__")
        ]
        if name not in self.names:
            have = nearest(name, own) or f"It has: {', '.join(own) or 'nothing that can be drawn'}."
            raise Usage(f"{self.file} has no {name}. {have}")
        what = self.names[name]
        if not isinstance(what, Tensor) and (not callable(what) or isinstance(what, type)):
            have = ", ".join(own) or "none"
            raise Usage(
                f"{name} in {self.file} is a {type(what).__name__}, neither a tensor nor a function. Such are: {have}."
            )
        return what

    def making(self, name: str) -> Any:
        """A compiled function of no arguments that makes the tensor `name` anew, by the program's lines behind its leaves."""
        import minigrad

        lines, needed = [], {name}
        for line in reversed(ast.parse(self.text).body):
            used = [part for part in ast.walk(line) if isinstance(part, ast.Name)]
            stored = {part.id for part in used if isinstance(part.ctx, ast.Store)} & needed
            if any(getattr(self.names.get(one), "grad_fn", None) is not None for one in stored):
                lines.insert(0, line)
                needed |= {part.id for part in used}
        again: Any = ast.parse(f"def {name}():\n    return {name}")
        again.body[0].body[:0] = lines
        own = dict(self.names)
        exec(compile(again, str(Path(self.file).resolve()), "exec"), own)
        made, why = minigrad.compile(own[name], fullgraph=True), "they make another value when they run again"
        try:
            same = minigrad.allclose(made(), self.names[name], equal_nan=True)
        except Exception as error:
            same, why = False, getattr(error, "problem", "") or str(error).partition("\n")[0]
        if same:
            return made
        raise Usage(
            f"the lines of {self.file} that make {name} cannot be taken by themselves: {why}. Make a function of them."
        )

    def arguments(self, name: str, text: str | None, library: ModuleType | None = None) -> tuple:
        """A function's arguments: from the command line, else the program's `example_inputs`.

        These are a tuple, or a dictionary of such by the function's name.  The text may use what the library, minigrad
        unless it is given, defines.
        """
        if text is None:
            if "example_inputs" not in self.names:
                raise Usage(
                    f"{name} is a function: give its arguments with --args, or let {self.file} define example_inputs."
                )
            given = self.names["example_inputs"]
            given = given.get(name, ()) if isinstance(given, dict) else given
            return tuple(given) if isinstance(given, (tuple, list)) else (given,)
        import minigrad

        try:
            return eval(f"{text},", {**vars(library or minigrad), **self.names}) if text.strip() else ()
        except Exception as error:
            raise Usage(f"--args {text!r} is not a list of Python values: {type(error).__name__}: {error}.") from error


def text_of(file: str) -> bytes:
    """The bytes of a program's file, which are a text of Python's."""
    place = Path(file)
    if not place.exists():
        raise Usage(f"there is no file {file}.{_beside(file)}")
    if not place.is_file():  # a pipe could be read once, and its lines are looked up later
        raise Usage(
            f"{file} is {'a folder' if place.is_dir() else 'no file'}. Name a file, or - for the standard input."
        )
    try:
        text = place.read_bytes()
    except OSError as refused:
        raise Usage(f"{file} cannot be read: {refused.strerror}.") from refused
    python_text(file, text)
    return text


def python_text(file: str, text: bytes) -> str:
    """The text that bytes are to Python, in UTF-8 or in the encoding that they name."""
    if b"\0" in text:
        raise Usage(f"{file} is not a Python program: it has bytes of 0 in it.")
    try:
        return decode_source(text)
    except (SyntaxError, UnicodeDecodeError) as wrong:
        raise Usage(f"{file} is not a Python program: {wrong}.") from wrong


def names_of_tensors(names: dict[str, Any]) -> dict[int, str]:
    """What a program calls its tensors, by id: by a variable, or by a module and a parameter's name in it."""
    from minigrad import Tensor

    inside = {
        id(parameter): f"{key}.{path}"
        for key, value in names.items()
        if hasattr(value, "named_parameters") and not isinstance(value, type)
        for path, parameter in value.named_parameters()
    }
    return inside | {id(value): key for key, value in names.items() if isinstance(value, Tensor)}


def defines(text: bytes, name: str) -> bool:
    """Whether a program defines a function of this name, as far as its text tells."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):  # running it will say so
        return False
    return any(isinstance(line, ast.FunctionDef) and line.name == name for line in tree.body)


def leading_to_outputs(record: dict) -> dict:
    """The part of a record that its outputs depend on, with the same ids.

    Where an output is itself a gradient, as the result of a transform may be, the operations that it is the gradient of
    belong to it; a tangent comes from the operation that gave it to its result.

    >>> op = {"phase": "forward", "of": None, "edges": [], "tangents": {}}
    >>> ops = [{**op, "id": i, "inputs": [i], "outputs": [i + 1]} for i in range(3)]
    >>> values = [{"id": i} for i in range(4)]
    >>> record = {"program": {"passes": ["forward"]}, "ops": ops, "values": values, "outputs": [2]}
    >>> part = leading_to_outputs({**record, "gradients": {"3": 1}})
    >>> [op["id"] for op in part["ops"]], part["gradients"]
    ([0, 1], {})
    """
    wanted, kept = set(record["outputs"]), set()
    of = {gradient: int(value) for value, gradient in record["gradients"].items()}
    flows = [(flow, op) for op in record["ops"] for flow in op["edges"]]
    for gradient in wanted & set(of):  # a sum that the engine made: what it is the sum of
        wanted = wanted | {flow["gives"] for flow, _ in flows if flow["input"] == of[gradient]}
    kept |= {op["id"] for flow, op in flows if flow["gives"] in wanted}
    for op in reversed(record["ops"]):
        results = {*op["outputs"], *(op["tangents"][str(v)] for v in op["outputs"] if str(v) in op["tangents"])}
        if op["phase"] != "jvp" and (op["id"] in kept or wanted & results):
            kept |= {op["id"]} | ({op["of"]} if op["of"] is not None else set())
            read = op["inputs"][:1] if op["phase"] == "update" else op["inputs"]  # an update: what the parameter was
            wanted.update(value for value in read if not isinstance(value, dict))
            wanted.update(op["outputs"] if op["phase"] == "forward" else ())
    ops = [op for op in record["ops"] if op["id"] in kept or op["of"] in kept]
    wanted.update(value for op in ops for value in op["outputs"])
    gradients = {value: gradient for value, gradient in record["gradients"].items() if int(value) in wanted}
    has = {"forward": True, "backward": any(op["edges"] for op in ops), "jvp": any(op["tangents"] for op in ops)}
    program = {**record["program"], "passes": [name for name in record["program"]["passes"] if has[name]]}
    part = {**record, "program": program, "values": list(record["values"]), "ops": ops, "gradients": gradients}
    return added_up(part, Counter(flow["input"] for flow, _ in flows))


def added_up(part: dict, before: Counter[int]) -> dict:
    """A part of a record whose gradients are the sums of what flows in this part; `before` counts what flowed in the whole."""
    arrives: dict[int, list[int]] = {int(value): [] for value in part["gradients"] if before[int(value)]}
    for op in part["ops"]:
        for flow in op["edges"]:
            arrives.setdefault(flow["input"], []).append(flow["gives"])
    values = {value["id"]: value for value in part["values"]}
    for value, gives in arrives.items():
        if len(gives) == before[value]:
            continue
        if not gives:
            del part["gradients"][str(value)]
        elif len(gives) == 1:
            part["gradients"][str(value)] = gives[0]
        elif all("values" in values[one]["summary"] for one in gives):
            total = {"values": _sum([values[one]["summary"]["values"] for one in gives])}
            part["gradients"][str(value)] = len(part["values"])
            part["values"].append({**values[gives[0]], "id": len(part["values"]), "summary": total})
    return part


def _sum(terms: list) -> Any:
    """The sum of nested lists of numbers, element by element; NaN and infinities may be words."""
    if isinstance(terms[0], list):
        return [_sum(list(each)) for each in zip(*terms)]
    return sum(map(float, terms))


def _beside(file: str) -> str:
    """A file of nearly this name in the same folder, as a question."""
    folder = Path(file).parent
    found = [path.name for path in folder.glob("*.py")] if folder.is_dir() else []
    return " " + meant if (meant := nearest(Path(file).name, found)) else ""


def _trimmed(error: traceback.TracebackException) -> traceback.TracebackException:
    """The same error, and what caused it, without frames of minigrad and viz."""
    import minigrad

    ours = tuple(str(Path(package).parent) for package in (minigrad.__file__, __file__))
    todo: list[traceback.TracebackException | None] = [error]
    while todo:
        if (one := todo.pop()) is not None:
            kept = [frame for frame in one.stack if not frame.filename.startswith(ours)]
            one.stack = traceback.StackSummary.from_list(kept)
            todo += [one.__cause__, one.__context__]
    return error
