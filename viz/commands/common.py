"""What the commands share: their targets and options, output that is theirs alone, and news of what takes long."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from ..drawn_graph import passes_of, wanted
from ..run_program import Program, Usage

Target = Annotated[str, Parameter(allow_leading_hyphen=True)]
Words = Annotated[str, Parameter(name="PROGRAM_ARGS")]
Pass = Annotated[Literal["forward", "backward", "jvp", "all"], Parameter(name=["--pass", "-p"])]
Args = Annotated[str | None, Parameter(name=["--args"], allow_leading_hyphen=True)]
Json = Annotated[bool, Parameter(name=["--json"], negative="", show_default=False)]
AsTorch = Annotated[bool, Parameter(name=["--as-torch"], negative="", show_default=False)]
Rankdir = Literal["TB", "BT", "LR", "RL"]
given: list[str] = []  # the words of the command that runs
STDOUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")  # as the output: nothing else is written there then


def target_of(target: str) -> tuple[str, str]:
    """The file (- for the standard input) and the name of PROG.py:NAME."""
    file, colon, name = target.rpartition(":")
    if not colon or not name.isidentifier():
        raise Usage(f"{target!r} names nothing to draw. Write PROG.py:NAME, such as net.py:loss.")
    return file, name


def recorded(target: str, passes: str, args: str | None, words: tuple[str, ...] = ()) -> tuple[dict, list[str], tuple]:
    """The record of a target, what has to be said about it, and its passes: those asked for that it has.

    All passes are all that the program has; one by name has to be there.
    """
    file, name = target_of(target)
    program = Program.read(file, words)
    with working(f"running {program.file}"):
        record, notes = program.record(name, wanted(passes), args)
    return shown(record, notes, program, name, wanted(passes))


def recorded_by_ranks(
    target: str, passes: tuple[str, ...], lanes: str, words: tuple[str, ...] = ()
) -> tuple[dict, list[str], tuple[str, ...]] | None:
    """Return the same of all processes, with a lane for ranks that do the same, or for each; None on those that do not draw."""
    from ..ranks.collect import gathered, together, told

    if find_spec("mpi4py") is None:
        raise Usage("--ranks draws programs on MPI, and mpi4py is not installed: pip install 'minigrad-viz[mpi]'.")
    file, name = target_of(target)
    program = Program.read(file, words)
    with working(f"running {program.file}"):
        everyone = gathered(told(program, name, passes))
    if everyone is None:
        return None
    record = together(everyone, apart=lanes == "each")
    program.said += [f"rank {rank}: {one.why_not}" for rank, one in enumerate(everyone) if one.why_not]
    return shown(record, everyone[0].notes, program, name, passes)


def shown(
    record: dict, notes: list[str], program: Program, name: str, passes: tuple[str, ...]
) -> tuple[dict, list[str], tuple[str, ...]]:
    """A record, what has to be said about it, and its passes."""
    have, missing = passes_of(record, notes)
    if len(passes) == 1 and passes[0] in missing:
        raise Usage(f"{name} in {program.file} has no {passes[0]} pass: {missing[passes[0]]}.")
    if len(passes) == 1:
        return record, program.said, passes
    left_out = [f"the {one} pass is left out: {why}" for one, why in missing.items() if one in passes]
    return record, [*program.said, *left_out], have


def say(notes: list[str]) -> None:
    """Notes for the person at the terminal."""
    for note in notes:
        print(f"minigrad: {note}", file=sys.stderr)


def place_of(output: str) -> Path:
    """Where to write, checked before anything runs."""
    place = Path(output)
    if place.is_dir():
        raise Usage(f"{place} cannot be written: it is a folder. Name a file in it.")
    if not place.parent.is_dir():
        raise Usage(f"{place}: there is no folder {place.parent}. Make it first.")
    return place


@contextmanager
def apart(wanted: bool = True) -> Iterator[None]:
    """What the program and its libraries print goes to the standard error, so that the output is ours alone."""
    if not wanted:
        yield
        return
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


def computing(as_torch: bool) -> AbstractContextManager:
    """Give programs that import torch minigrad, with --as-torch."""
    import minigrad

    return minigrad.as_torch() if as_torch else nullcontext()


@contextmanager
def working(what: str, after: float = 1.0) -> Iterator[None]:
    """Say what is being done, at a terminal, if it takes longer than a second."""
    if not sys.stderr.isatty():
        yield
        return
    timer = threading.Timer(after, lambda: print(f"minigrad: {what} …", file=sys.stderr, flush=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
