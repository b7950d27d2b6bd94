"""Run a user's program for the command line, as a script, and record what it computes."""

from __future__ import annotations

import ast
import inspect
import io
import linecache
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext, redirect_stdout
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..errors import Failure, Usage
from ..formats.files import nearest
from ..graph.backward_passes import of_passes, passes_from
from ..graph.trimmed_record import leading_to_outputs
from . import function_arguments
from .failures import noted, record_of_failure, recording_in
from .interrupts import ends_program
from .kept_process import kept_process
from .libraries import Libraries, document_of, installed, library_of_tensor, needs, runs_later, sources, tree_of
from .listing import Listing
from .notebook_cells import cells_of, run_cells
from .source_text import python_text, text_of
from .tensor_names import names_of_tensors

if TYPE_CHECKING:
    from .long_programs import Limit, Part

CELL = "<ipython-input-{}-{}>"  # as IPython calls the code of cells, so that messages say In[2]


@dataclass
class Program:
    """A user's program: its file, its text, and the words of its command line."""

    file: str  # as the user wrote it; <stdin> for the standard input
    text: bytes  # Python; of a notebook, the code of its cells
    words: Sequence[str] = ()
    names: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)  # such as the example input that a module was called with
    seeds: dict[str, Any] = field(default_factory=dict)  # tangent and grad, as for minigrad.record
    directions: dict[str, str] = field(default_factory=dict)  # by pass, a sentence if it does not begin with ones
    times: bool = False  # True to record the time of each operation
    backward: int | None = None  # the number of the backward to show among those from the tensor; None: the last one
    iteration: int | None = None  # the round of the program's loop to show; None: the last one
    rounds: Counter[str] = field(default_factory=Counter)  # the number of rounds for each name, once it has run
    draws_failures: bool = False  # True if a program that raises has a picture, which `raised` then follows
    raised: Failure | None = None
    ended: str = ""  # of a program that the user has ended: the part that is shown
    part: Part | None = None  # the part that is recorded, if it is known
    cells: Sequence[tuple[str, str]] = ()  # of a notebook: what its cells are called as files, and their code

    @classmethod
    def read(cls, file: str, words: Sequence[str] = ()) -> Program:
        """Read a program from a file or a notebook, or from the standard input for -."""
        if file == "-":
            made = cls("<stdin>", sys.stdin.buffer.read(), words)
            show_lines(made.file, python_text("the standard input", made.text))
        elif file.endswith(".ipynb"):
            stem = re.sub(r"\W", "_", Path(file).stem)
            cells = [(CELL.format(n, stem), cell) for n, cell in enumerate(cells_of(file, text_of(file)), 1)]
            made = cls(file, "\n".join([cell for _, cell in cells]).encode(), words, cells=cells)
            for name, cell in cells:
                show_lines(name, cell)
        else:
            made = cls(file, text_of(file), words)
            python_text(file, made.text)
        return made

    def execute(self) -> None:
        """Run it as `python file` does, and keep the names that it defines."""
        module = ModuleType("__main__")
        here = self.file == "<stdin>"
        path = self.file if here else str(Path(self.file).resolve())
        if not here and not self.cells:
            module.__file__ = self.file
        sys.modules["__main__"], sys.argv = module, ["-" if here else self.file, *self.words]
        sys.path.insert(0, "" if here else str(Path(path).parent))
        self.names = module.__dict__
        try:
            if self.cells:
                run_cells(self.cells, self.names)
            else:
                exec(compile(self.text, path, "exec"), self.names)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise Failure.of(error) from error

    def run(self) -> None:
        """Run it; a program that calls sys.exit fails, unless the exit code is None or 0."""
        try:
            with kept_process():
                self.execute()
        except SystemExit as ended:
            if ended.code not in (None, 0):
                raise Failure(f"{self.file} exited with {ended.code!r}; nothing is drawn.") from ended

    @cached_property
    def libraries(self) -> Libraries:
        """The libraries that it uses."""
        return Libraries(self.text, self.folder)

    @property
    def folder(self) -> Path:
        """The folder from which it imports its own modules."""
        return Path() if self.file == "<stdin>" else Path(self.file).parent

    @property
    def lacks_torch(self) -> bool:
        """True if it needs PyTorch, which is not installed."""
        return not installed("torch") and needs(sources(self.text, self.folder), "torch")

    def record(self, name: str, passes: Sequence[str], args: str | None = None) -> tuple[dict, list[str]]:
        """Run it and record the computation of its tensor `name`, or its function `name` on `args`; return record and notes.

        Without a name, the tensor is the one from which the program's last backward began.
        """
        from minigrad import Record

        try:
            rec = self.recording(name, passes, args) if name else self.recording_of_backward(passes)
        except ValueError as wrong:
            if is_of_seeds(wrong):
                raise Usage.of(wrong) from wrong
            raise
        if self.raised is not None:
            return self.record_of_failure(rec, name), []
        if rec is None:
            return self.record_function(name, passes, args)
        made = self.chosen(document_of(rec, leading_to_outputs), name)
        if not name:
            names = [v["name"] for v in made["values"] if v["id"] in made["outputs"] and v["name"]]
            made["program"] = {**made["program"], "name": ", ".join(names) or Path(self.file).stem}
        if not any(op["phase"] == "forward" for op in made["ops"]):
            raise Usage(f"{name} in {self.file} has no graph: {self.without_graph(name)}")
        if (again := self.in_another_direction(rec, made, lambda: self.record(name, passes, args))) is not None:
            return again
        if isinstance(rec, Record) and (limit := rec.words_of_limit()):
            self.notes.append(limit)
            part = ", ".join(filter(None, [made["program"].get("iteration"), limit]))
            made["program"] = {**made["program"], "iteration": part}
        return {**made, "program": {**made["program"], "file": self.file}}, rec.notes

    def without_graph(self, name: str) -> str:
        """Return the reason why a tensor has no graph, and what to name instead."""
        value, why = self.names.get(name), "no operation of the main thread made it, or detach cut it off"
        if getattr(value, "grad_fn", None) is not None:
            why = "another thread made it"
        elif getattr(value, "requires_grad", False):
            why = "it is a leaf, at which graphs begin"
        results = [one for one in self.drawn() if one != name]
        what = f" Choose from: {', '.join(results)}." if results else ""
        return f"{why}. Name the result of an operation of the main thread.{what}"

    def drawn(self) -> list[str]:
        """Return the names that can be drawn: the choices of messages."""
        return [one.name for one in Listing.of(self).every]

    def chosen(self, made: dict, name: str) -> dict:
        """Return the part of a record that leads to its outputs, in the backward pass and the iteration to show."""
        part = leading_to_outputs(of_passes(made, self.runs(made, name)))
        if self.ended:
            return {**part, "program": {**part["program"], "iteration": self.ended}}
        names = [name, *(v["name"] for v in part["values"] if v["id"] in part["outputs"])]
        rounds = max(self.rounds[one.partition(",")[0]] for one in names)
        if rounds < 2:
            return part
        shown = f"iteration {self.iteration or rounds} of {rounds}"
        return {**part, "program": {**part["program"], "iteration": shown}}

    def runs(self, made: dict, name: str) -> list[int] | None:
        """Return the backward pass of a record to show; None for the last one from each of its outputs."""
        if self.backward is None:
            return None
        runs = passes_from(made)
        if not 1 <= self.backward <= len(runs):
            there = f"{len(runs) or 'no'} backward pass{'es' * (len(runs) != 1)} from it"
            raise Usage(f"{name or self.file} has {there}, so there is no --backward {self.backward}.")
        return [runs[self.backward - 1]]

    def in_another_direction(self, rec: Any, made: dict, again: Callable) -> tuple[dict, list[str]] | None:
        """If the tangents or gradients of a record are 0, record `again`, silently, with other seeds.

        Return None if they are not, if that fails, and if it gives 0, too.
        """
        from ..layout.directions import instead_of_ones, vanishing

        seeds, said = instead_of_ones(rec, made, self.seeds)
        if not seeds:
            return None
        given, self.seeds = self.seeds, {**self.seeds, **seeds}
        try:
            with redirect_stdout(io.StringIO()):
                found = again()
        except (Failure, Usage):
            found = None
        if found is None or said.keys() <= vanishing(found[0]):
            self.seeds = given
            return None
        self.directions = said
        self.notes += said.values()
        return found

    def recording(self, name: str, passes: Sequence[str], args: str | None = None) -> Any:
        """Run it under a recording, and run the passes from its tensor `name`; return None if that is a function.

        If the program defines a function of this name, nothing is recorded while the program runs.
        """
        names = name.split(",")
        if defines(self.text, name):
            if (rec := self.run_apart()) is not None:
                return rec
            self.find(name)
            if self.iteration is not None:
                raise Usage(f"--iteration is for tensors of a loop, and {name} is a function. Leave it out.")
            return None
        rec = self.record_part(lambda: [self.find(one) for one in names], passes, name)
        if self.raised is not None:
            return rec
        library = library_of_tensor(self.names[names[0]])
        if not library and len(names) > 1:
            raise Usage(f"--from takes tensors, and {names[0]} is none.")
        if not library:
            return None
        if len(names) > 1 and self.seeds.get("grad") is not None:
            raise Usage("--grad is for the backward of one tensor. Leave out --from or --grad.")
        if args is not None:
            raise Usage(f"--args is for functions, and {name} is a tensor. Leave it out.")
        if not getattr(self.libraries, library):
            what = f"{name} in {self.file} is a {library} tensor, but {self.file} does not import {library}"
            raise Usage(f"{what}. Add: import {library}")
        rec.name_values(names_of_tensors(self.names))
        return rec

    def recording_of_backward(self, passes: Sequence[str]) -> Any:
        """Run it under a recording that ends at the tensors from which its last backward began."""
        from .last_backward import Roots

        with Roots(self.libraries.torch) as roots:

            def found() -> list:
                if tensors := roots.tensors():
                    return tensors
                raise Usage(f"{self.file} runs no backward. {Listing.of(self).advice(self.file)}")

            rec = self.record_part(found, passes)
        rec.name_values(names_of_tensors(self.names))
        return rec

    def record_part(self, found: Callable[[], Any], passes: Sequence[str], name: str = "") -> Any:
        """Record the program, up to what is `found` then.

        One that runs many backwards runs once more, recorded around its value `name`, or else around its last backward.
        """
        from .long_programs import Limit, Start, TooMany, sentence, silent

        start, first = Start(self.folder), name.partition(",")[0]
        named = lambda: {first: self.names.get(first)}
        tensors = lambda: {key: value for key, value in self.names.items() if library_of_tensor(value)}
        while True:
            limit = Limit(named if name else tensors, first, self.part, self.libraries.torch, self.iteration)
            limit.results = found

            def run() -> Any:
                try:
                    limit.run(self.run_until_interrupted)
                    results = found()
                except KeyboardInterrupt as stopped:
                    results = self.interrupted(limit, found, stopped)
                except Failure as failure:
                    return self.failed(limit, failure)
                self.rounds |= limit.rounds  # the larger number of each
                return results if self.iteration is None else self.of_iteration(name, limit.had)

            try:
                with nullcontext() if self.part is None else silent(), limit:
                    apart = {"unseen": True} if "," in name else {}
                    rec = self.libraries.record(run, passes, name, times=self.times, **apart, **self.seeds)
                    return rec if self.raised is None else limit.failed
            except TooMany as many:
                self.part = many.part
            start.restore()
            said = sentence(self.file, limit, self.part)
            self.notes += [said] if said not in self.notes else []

    def run_apart(self) -> Any:
        """Run it without a recording, for a function that it defines; if it raises, once more with one, which is returned."""
        from .long_programs import Start, silent

        start = Start(self.folder)
        try:
            with self.libraries.uncompiled():
                return self.run()
        except Failure:
            if not self.draws_failures:
                raise
            start.restore()
            with silent():
                rec = self.record_part(list, ())
            if self.raised is None:
                raise
            return rec

    def failed(self, limit: Limit, failure: Failure) -> list:
        """Note in the recordings of a program that it has raised; raise TooMany if another run must record what led there."""
        from .long_programs import TooMany

        error = failure.__cause__
        if not self.draws_failures or not isinstance(error, Exception):
            raise failure
        if limit.paused and self.part is None:
            raise TooMany(limit.end())
        if (rec := noted(limit.recordings, error)) is None:
            raise failure
        limit.failed, self.raised = rec, failure
        return []

    def ends(self) -> None:
        """Raise the failure of a program whose picture shows how far it came."""
        if self.raised is not None:
            raise self.raised

    def record_of_failure(self, rec: Any, name: str) -> dict:
        """Return the record of a program that raised; raise the failure if there is nothing to draw."""
        assert self.raised is not None
        rec.name_values(names_of_tensors(self.names))
        if (made := record_of_failure(rec, name, self.file)) is None:
            raise self.raised
        before = f" before {name} exists" if name and name not in self.names else ""
        self.notes.append(f"{self.file} raises {made['error']['kind']}{before}: the picture shows how far it came")
        return made

    def run_until_interrupted(self) -> None:
        """Run it; Ctrl-C and SIGTERM end it between two operations."""
        with ends_program():
            self.run()

    def interrupted(self, limit: Limit, found: Callable[[], Any], stopped: KeyboardInterrupt) -> Any:
        """Return the values to show of a program that the user has ended: the last that were recorded.

        Raise Usage if there are none yet, and KeyboardInterrupt if the program already runs again.
        """
        if self.part is not None:
            raise stopped
        steps, name = extract_tb(stopped.__traceback__), Path(self.file).name
        place = [one.lineno for one in steps if Path(one.filename).name == name]
        where = f"{self.file} was interrupted" + f" at line {place[-1]}" * bool(place)
        results = limit.had_then if limit.paused else found()
        if results is None:
            raise Usage(f"{where}, before what to draw was recorded. Name a value that it computes earlier.")
        shown, self.ended = "what had run until then", "interrupted"
        if limit.paused:
            few = limit.ops_then < limit.size.most
            part = (
                f"backward {limit.count_then:,} of {limit.count:,}"
                if few
                else f"the first {limit.ops_then:,} operations"
            )
            shown, self.ended = f"{part}; what ran later is not kept", f"{part}, interrupted"
        limit.go_on()
        self.notes.append(f"{where}: the picture shows {shown}")
        return results

    def of_iteration(self, name: str, value: Any) -> Any:
        """Return the value of the wanted iteration; raise Usage if the program has fewer."""
        rounds = self.rounds[name]
        if self.iteration is not None and self.iteration <= rounds and library_of_tensor(value):
            return value
        many = f"{rounds or 'no'} iteration{'s' * (rounds != 1)} with a backward"
        raise Usage(f"{name} has {many}, so there is no --iteration {self.iteration}.")

    def record_function(self, name: str, passes: Sequence[str], args: str | None) -> tuple[dict, list[str]]:
        """Record a call of the program's function or module `name`."""
        what = self.names[name]
        inputs = function_arguments.inputs(self, name, args)
        try:
            rec = self.libraries.record_function(what, inputs, passes, name, times=self.times, **self.seeds)
        except Exception as error:
            if is_of_seeds(error):
                raise Usage.of(error) from error
            self.raised = Failure.of(error)
            if not self.draws_failures or (rec := recording_in(error)) is None:
                raise self.raised from error
            return self.record_of_failure(rec, name), []
        made = document_of(rec)
        made = of_passes(made, self.runs(made, name))
        if not made["ops"]:
            rest = " on these arguments. Pass others." if inputs else ". Name one that computes with tensors."
            raise Usage(f"{name} in {self.file} has no graph: it runs no operation{rest}")
        record_again = lambda: self.record_function(name, passes, args)
        if (again := self.in_another_direction(rec, made, record_again)) is not None:
            return again
        return {**made, "program": {**made["program"], "file": self.file}}, rec.notes

    def find(self, name: str) -> Any:
        """Return the program's tensor, module or function `name`."""
        if name not in self.names:
            own = self.drawn()
            have = nearest(name, own) or f"It defines: {', '.join(own) or 'nothing that can be drawn'}."
            raise Usage(f"{self.file} has no {name}. {have}")
        what = self.names[name]
        if isinstance(what, type) and hasattr(what, "named_parameters"):
            raise Usage(f"{name} in {self.file} is a module class. Name an instance of it: net = {name}(...).")
        if not library_of_tensor(what) and (not callable(what) or isinstance(what, type)):
            have = f"Choose from: {', '.join(own)}." if (own := self.drawn()) else "It has nothing that can be drawn."
            kind = f"{name} in {self.file} is of type {type(what).__name__}"
            raise Usage(f"{kind}, neither a tensor nor a function. {have}")
        if runs_later(what):
            kind, result = ("coroutine", "awaits it") if inspect.iscoroutinefunction(what) else ("generator", "runs it")
            raise Usage(
                f"{name} in {self.file} is a {kind} function: a call computes nothing yet. Name a function that {result}."
            )
        return what


def is_of_seeds(error: Exception) -> bool:
    """Return True if --tangent or --grad does not fit the program."""
    return isinstance(error, ValueError) and getattr(error, "operation", "") == "record"


def show_lines(file: str, text: str) -> None:
    """Keep the lines of code that is in no file, for messages and for minigrad.compile."""
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file


def defines(text: bytes, name: str) -> bool:
    """Return True if a program's text defines a function of this name at its top level."""
    try:
        tree = tree_of(text)
    except (SyntaxError, ValueError):  # running it raises the error
        return False
    return any(isinstance(line, ast.FunctionDef) and line.name == name for line in tree.body)
