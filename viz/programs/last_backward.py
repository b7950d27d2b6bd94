"""The values that the last backward of a program began from; with `MINIGRAD_VIZ=1 python train.py`, its picture at exit.

`Roots` notes them while a recording of the whole program runs.  `Watch` needs no such recording: it begins a new one after
each backward and drops the one before, so that a long training loop holds the tensors of two steps only.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from minigrad.core.engine import BackwardRun
from minigrad.core.frames import current, enter, recorder_of
from minigrad.core.graph import history, producer
from minigrad.core.tensor import Tensor
from minigrad.events import Observer, events
from minigrad.record.from_graph import add_unseen
from minigrad.record.live_recordings import remember
from minigrad.record.recorder import Record
from minigrad.record.snapshots import copied
from minigrad.record.values import bottom

from ..formats.files import SUFFIXES, write
from ..graph.backward_passes import of_passes
from ..graph.trimmed_record import leading_to_outputs
from ..text import clean
from ..view import passes_of
from .failures import record_of_failure
from .libraries import document_of
from .tensor_names import names_of_tensors

if TYPE_CHECKING:
    from ..drawing import Drawing

RANKS = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK")  # MPI's own variables: one process draws


def is_programs(run: BackwardRun) -> bool:
    """Return True for a backward of the program itself: not inside another one, of no transform, and of no recording."""
    added = getattr(recorder_of(current()), "added_backward", False)
    layers = [getattr(producer(edge), "_layer", None) for edge in run.roots]
    return run.around is None and not added and all(one is None for one in layers)


@contextmanager
def after_backwards_of_torch(note: Callable[[list], None]) -> Iterator[None]:
    """Call `note` with the roots after each backward of PyTorch in the block."""
    import torch  # type: ignore[import-not-found]

    backward = torch.autograd.backward

    def noted(tensors: Any, *args: Any, **kwargs: Any) -> None:
        backward(tensors, *args, **kwargs)
        note([tensors] if isinstance(tensors, torch.Tensor) else list(tensors))

    torch.autograd.backward = noted  # Tensor.backward calls it as well
    try:
        yield
    finally:
        torch.autograd.backward = backward


class Backwards(Observer):
    """Sees the end of each backward of the program in the block: of minigrad and, if the program uses it, of PyTorch."""

    def __init__(self, torch: bool = False):
        self.torch = torch

    def __enter__(self) -> Self:
        self._stack = ExitStack()
        events.add(self)
        self._stack.callback(events.remove, self)
        if self.torch:
            self._stack.enter_context(after_backwards_of_torch(lambda roots: self.ended([], roots)))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def backward_ends(self, run: BackwardRun, found: dict) -> None:
        """Pass on a backward of minigrad."""
        if is_programs(run):
            self.ended(list(run.roots), [])

    def ended(self, edges: list, theirs: list) -> None:
        """Handle the end of a backward from the edges of minigrad's tensors, or from PyTorch's tensors."""
        raise NotImplementedError


class Roots(Backwards):
    """Notes where the last backward begins."""

    edges: Sequence = ()  # of minigrad's tensors
    theirs: Sequence = ()  # PyTorch's tensors

    def ended(self, edges: list, theirs: list) -> None:
        """Note the roots of a backward."""
        self.edges, self.theirs = edges, theirs

    def tensors(self) -> list:
        """Return the tensors at the roots; the recording that runs has minigrad's."""
        if (rec := recorder_of(current())) is None:
            return list(self.theirs)
        rec.settle()
        numbers = [rec.value_of(edge) for edge in self.edges]
        return [*self.theirs, *(t for n in numbers if n is not None and (t := rec.values[n].tensor) is not None)]

    def began_from(self, value: Any) -> bool:
        """Return True if the last backward began from this tensor."""
        ours = isinstance(value, Tensor) and any(edge is history(value) for edge in self.edges)
        return ours or any(one is value for one in self.theirs)


class Watch(Observer):
    """Keeps a recording of the last backward of this thread."""

    now: Record  # the recording that runs
    last: Record | None = None
    file = ""  # of the program; Python forgets it before the exit

    def enter(self) -> None:
        """Begin a recording."""
        self.now = Record(inside=True, contents=True)
        self.now.adds_unseen = add_unseen  # it begins between two backwards
        remember(self.now)
        self.now.__enter__()

    def stop(self) -> None:
        """End the recording that runs."""
        events.remove(self)
        if self.now._scope is not None:
            self.now.__exit__()

    def backward_ends(self, run: BackwardRun, found: dict) -> None:
        """Keep the recording of this backward, and begin another one.

        Inside of a `with` block that returns to an earlier frame, the recording goes on: the next one would end with the block.
        """
        rec, here = self.now, current()
        if not is_programs(run) or rec not in here.layers():
            return
        rec.settle()
        rec.outputs = [n for edge in run.roots if (n := rec.value_of(edge)) is not None]
        self.last, self.file = rec, getattr(sys.modules.get("__main__"), "__file__", None) or ""
        first = rec._scope.value
        if here.layer is rec and (here.observers, here.dual) == (first.observers, first.dual) and not here.inference:
            keep_leaves(rec)
            rec.__exit__()
            self.enter()
            if not here.grad:
                enter(current().but(grad=False))


def keep_leaves(rec: Record) -> None:
    """Copy the leaves and their gradients, which the program writes after the recording: the optimizer does."""
    for leaf in list(rec.leaves):
        t = leaf.variable
        for one in () if t is None else (t, t._grad):
            if one is not None:
                rec.freeze(one, copied(bottom(one)))


# ---------------------------------------------------------------------- MINIGRAD_VIZ
def begin(wish: str) -> None:
    """Watch the program that imports minigrad, and draw at its exit; `wish` is 1, or the name of a file."""
    if any(os.environ.get(name, "0") != "0" for name in RANKS):
        return
    place = Path("page.html" if wish == "1" else wish).absolute()  # the program may change the working directory
    if place.suffix.lower() not in SUFFIXES:
        return say(f"MINIGRAD_VIZ={wish} is neither 1 nor a file with a known suffix: {' '.join(SUFFIXES)}")
    watch = Watch()
    watch.enter()
    events.add(watch)
    atexit.register(finish, watch, place, wish == "1", os.getpid())


def finish(watch: Watch, place: Path, unnamed: bool, process: int) -> None:
    """Draw the last backward of the program, which is over; an error only prints a line."""
    if os.getpid() != process:  # a fork
        return
    try:
        drawing = picture_of_failure(watch)
        watch.stop()
        if unnamed:
            place = place.with_name(f"{Path(watch.file).stem}.html" if watch.file else "minigrad.html")
        what = "the last backward" if drawing is None else "the error"
        if drawing is None and watch.last is not None:
            drawing = drawing_of(watch.last, watch.file)
        if drawing is None:
            return say("MINIGRAD_VIZ=1 draws the last backward, and this program ran none")
        write(place, drawing.rendered(place.suffix))
        say(f"wrote {place}, the picture of {what}")
    except Exception as error:  # the program has ended well, so a picture must not make it fail
        say(f"MINIGRAD_VIZ cannot draw the last backward: {type(error).__name__}: {error}")


def picture_of_failure(watch: Watch) -> Drawing | None:
    """Draw the exception that has ended the program; None if none has, or if there is nothing to draw."""
    from ..drawing import Drawing  # as in drawing_of

    error, rec = getattr(sys, "last_value", None), watch.now
    watch.file = watch.file or getattr(sys.modules.get("__main__"), "__file__", None) or ""
    if not isinstance(error, Exception):
        return None
    rec.note_failure(error.with_traceback(sys.last_traceback))  # of which minigrad prints only the user's lines
    rec.name_values(names_of_tensors(dict(vars(sys.modules["__main__"]))))
    made = None if rec.failure is None else record_of_failure(rec, "", watch.file or "<stdin>")
    return None if made is None else Drawing(made, tuple(made["program"]["passes"]), rec.notes)


def drawing_of(rec: Record, file: str) -> Drawing:
    """Draw the finished recording of a backward, with the names of the program's variables."""
    from ..drawing import Drawing  # not at the top: `import viz` may import minigrad, which imports this module

    rec.name_values(names_of_tensors(dict(vars(sys.modules["__main__"]))))
    made = leading_to_outputs(of_passes(document_of(rec)))
    made["program"] = {**made["program"], "file": file or "<stdin>", "name": title(made) or Path(file).stem}
    return Drawing(made, passes_of(made, rec.notes)[0], rec.notes)


def title(record: dict) -> str:
    """Return the names of a record's outputs, as far as they have some."""
    return ", ".join(v["name"] for v in record["values"] if v["id"] in record["outputs"] and v["name"])


def say(what: str) -> None:
    """Print a line to the standard error, which may be closed."""
    with suppress(OSError, ValueError, AttributeError):
        print(clean(f"minigrad: {what}"), file=sys.stderr)
