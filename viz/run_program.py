"""Running a user's program for the command line: as a script, with its errors cut to the user's own lines."""

from __future__ import annotations

import ast
import linecache
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import decode_source
from pathlib import Path
from types import ModuleType
from typing import Any

from .drawn_graph import ADDED, SHOW, View, view_of
from .files import nearest
from .libraries import Libraries, is_drawn, is_module, library_of_tensor
from .trimmed_record import leading_to_outputs


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
    said: list[str] = field(default_factory=list)  # how something was called, where the user has not told

    @classmethod
    def read(cls, file: str, words: Sequence[str] = ()) -> Program:
        """The program in a file, or, for -, in the standard input."""
        if file != "-":
            return cls(file, text_of(file), words)
        text = sys.stdin.buffer.read()
        lines = python_text("the standard input", text).splitlines(keepends=True)
        linecache.cache["<stdin>"] = (len(text), None, lines, "<stdin>")  # where lines of code are looked up
        return cls("<stdin>", text, words)

    def execute(self) -> None:
        """Run it as `python file` would, and keep the names that it leaves behind."""
        module = ModuleType("__main__")
        here = self.file == "<stdin>"
        path = self.file if here else str(Path(self.file).resolve())
        if not here:
            module.__file__ = self.file
        sys.modules["__main__"], sys.argv = module, ["-" if here else self.file, *self.words]
        sys.path.insert(0, "" if here else str(Path(path).parent))
        self.names = module.__dict__
        try:
            exec(compile(self.text, path, "exec"), self.names)
        except Exception as error:
            raise Failure.of(error) from error

    def run(self) -> None:
        """Run it; a program that ends itself early has failed, unless it says that all went well."""
        try:
            self.execute()
        except SystemExit as ended:
            if ended.code not in (None, 0):
                raise Failure(f"{self.file} ended itself with {ended.code!r} before it could be drawn.") from ended

    @cached_property
    def libraries(self) -> Libraries:
        """The libraries that it computes with."""
        return Libraries(self.text, Path() if self.file == "<stdin>" else Path(self.file).parent)

    def record(self, name: str, passes: Sequence[str], args: str | None = None) -> tuple[dict, list[str]]:
        """Run it and record how its tensor `name` comes about, or its function `name` on `args`; with the recording's notes."""
        rec = self.recording(name, passes, args)
        if rec is None:
            return self.record_function(name, passes, args)
        made = leading_to_outputs(document_of(rec, leading_to_outputs))
        if not any(op["phase"] == "forward" for op in made["ops"]):
            raise Usage(f"{name} in {self.file} has no graph: no operation made it. Name the result of operations.")
        return {**made, "program": {**made["program"], "file": self.file}}, rec.notes

    def recording(self, name: str, passes: Sequence[str], args: str | None = None) -> Any:
        """Run it under a recording, and run the passes from its tensor `name`; None where that is a function.

        A program that only defines the function is not recorded while it runs.
        """

        def program():
            self.run()
            return self.find(name)

        if defines(self.text, name):
            with self.libraries.uncompiled():
                program()
            return None
        rec = self.libraries.record(program, passes, name)
        library = library_of_tensor(self.names[name])
        if not library:
            return None
        if args is not None:
            raise Usage(f"--args is for functions, and {name} is a tensor.")
        if not getattr(self.libraries, library):
            what = f"{name} in {self.file} is a tensor of {library}, which {self.file} does not import"
            raise Usage(f"{what}. Write import {library} in it.")
        rec.name_values(names_of_tensors(self.names))
        return rec

    def record_function(self, name: str, passes: Sequence[str], args: str | None) -> tuple[dict, list[str]]:
        """Record what a function of the program does, or a module."""
        what = self.names[name]
        given = self.inputs(name, args)
        try:
            rec = self.libraries.record_function(what, given, passes, name)
        except Exception as error:
            raise Failure.of(error) from error
        made = document_of(rec, lambda record: record)
        if not made["ops"]:
            raise Usage(f"{name} in {self.file} has no graph: it runs no operation on these arguments.")
        return {**made, "program": {**made["program"], "file": self.file}}, rec.notes

    def find(self, name: str) -> Any:
        """The tensor, module or function that the program calls `name`."""
        own = [key for key, value in self.names.items() if not key.startswith("_") and is_drawn(value)]
        if name not in self.names:
            have = nearest(name, own) or f"It has: {', '.join(own) or 'nothing that can be drawn'}."
            raise Usage(f"{self.file} has no {name}. {have}")
        what = self.names[name]
        if isinstance(what, type) and hasattr(what, "named_parameters"):
            raise Usage(f"{name} in {self.file} is a class of modules. Name a module of it: net = {name}(...).")
        if not library_of_tensor(what) and (not callable(what) or isinstance(what, type)):
            have, kind = ", ".join(own) or "none", type(what).__name__
            said = f"{name} in {self.file} is a{'n' * (kind[0] in 'AEIOaeio')} {kind}"
            raise Usage(f"{said}, neither a tensor nor a function. Such are: {have}.")
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

    def inputs(self, name: str, text: str | None) -> tuple:
        """What a function or module is called with; a module may get an example that is made up for it, which `said` says."""
        what = self.names[name]
        examples = self.names.get("example_inputs") if text is None else ()
        library = self.libraries.of(what, examples)
        missing = examples is None or isinstance(examples, dict) and name not in examples
        if missing and is_module(what):
            from .examples import example

            if (made := example(what, library)) is not None:
                given, words = made
                self.said.append(f"{name} is called with an example: {words}. Give another with --args.")
                return (given,)
        return self.arguments(name, text, library)

    def arguments(self, name: str, text: str | None, library: ModuleType | None = None) -> tuple:
        """A function's arguments: from the command line, else the program's `example_inputs`.

        These are a tuple, or a dictionary of such by the function's name.  The text may use what the library, minigrad
        unless it is given, defines.
        """
        if text is None:
            if "example_inputs" not in self.names:
                what = "module" if is_module(self.names[name]) else "function"
                raise Usage(
                    f"{name} is a {what}: give its arguments with --args, or let {self.file} define example_inputs."
                )
            given = self.names["example_inputs"]
            given = given.get(name, ()) if isinstance(given, dict) else given
            return tuple(given) if isinstance(given, (tuple, list)) else (given,)
        import minigrad

        defined = vars(library or minigrad)
        try:
            return eval(f"{text},", {**defined, defined["__name__"]: library, **self.names}) if text.strip() else ()
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


def document_of(rec: Any, part: Callable[[dict], dict]) -> dict:
    """The record of a recording of either library; one of PyTorch's says all there is to say of a part of it alone."""
    return rec.to_dict() if hasattr(rec, "to_dict") else rec.document(part).to_dict()


def names_of_tensors(names: dict[str, Any]) -> dict[int, str]:
    """What a program calls its tensors, by id: by a variable, or by a module and a parameter's name in it.

    Of several variables for a tensor the last counts; of several modules around it the first, which was there before others
    were made of it.
    """
    inside: dict[int, str] = {}
    for key, value in names.items():
        for path, parameter in value.named_parameters() if is_module(value) else ():
            inside.setdefault(id(parameter), f"{key}.{path}")
    return inside | {id(value): key for key, value in names.items() if library_of_tensor(value)}


def defines(text: bytes, name: str) -> bool:
    """Whether a program defines a function of this name, as far as its text tells."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):  # running it will say so
        return False
    return any(isinstance(line, ast.FunctionDef) and line.name == name for line in tree.body)


def view_from(show: str | None, rankdir: str | None = None, size: str | None = None) -> View:
    """What of a picture is shown and how, from the words of --show and other options."""
    words = None if show is None else [word.strip() for word in show.split(",") if word.strip()]
    try:
        return view_of(words, rankdir, size)
    except ValueError as unknown:
        word, known = str(unknown), (*SHOW, "all", *ADDED)
        meant = nearest(word, known)
        raise Usage(
            f"--show {word!r} is unknown. {meant + ' ' * bool(meant)}Use some of {','.join(known)}."
        ) from unknown


def _beside(file: str) -> str:
    """A file of nearly this name in the same folder, as a question."""
    folder = Path(file).parent
    found = [path.name for path in folder.glob("*.py")] if folder.is_dir() else []
    return " " + meant if (meant := nearest(Path(file).name, found)) else ""


def _trimmed(error: traceback.TracebackException) -> traceback.TracebackException:
    """The same error, and what caused it, without frames of minigrad, viz and PyTorch."""
    import minigrad

    packages = [
        minigrad.__file__,
        __file__,
        *[getattr(sys.modules["torch"], "__file__", None) or __file__ for _ in range("torch" in sys.modules)],
    ]
    ours = tuple(str(Path(package).parent) for package in packages)
    todo: list[traceback.TracebackException | None] = [error]
    while todo:
        if (one := todo.pop()) is not None:
            kept = [frame for frame in one.stack if not frame.filename.startswith(ours)]
            one.stack = traceback.StackSummary.from_list(kept)
            todo += [one.__cause__, one.__context__]
    return error
