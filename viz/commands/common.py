"""Parts that the commands share: targets and options, a standard output kept clean, and progress messages."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from ..errors import Usage
from ..programs.run_program import Program
from ..text import clean
from ..view import passes_of, requested_passes

ARGS = (
    'Arguments for the function, in Python: --args "tensor([1., 2.]), 3". They may use the program\'s names. '
    "Default: the program's example_inputs."
)
AS_TORCH = "Replace the program's torch with minigrad."
Target = Annotated[str, Parameter(allow_leading_hyphen=True)]
Words = Annotated[str, Parameter(show=False)]
Pass = Annotated[Literal["forward", "backward", "jvp", "all"], Parameter(name=["--pass", "-p"])]
Args = Annotated[str | None, Parameter(name=["--args"], allow_leading_hyphen=True, help=ARGS)]
Json = Annotated[bool, Parameter(name=["--json"], negative="", show_default=False)]
AsTorch = Annotated[bool, Parameter(name=["--as-torch"], negative="", show_default=False, help=AS_TORCH)]
Output = Annotated[str | None, Parameter(name=["--output", "-o"], allow_leading_hyphen=True)]
Rankdir = Literal["TB", "BT", "LR", "RL"]
Losses = Annotated[str | None, Parameter(name=["--from"])]
given: list[str] = []  # the words of the running command
closed: set[int] = set()  # the standard files that are closed
STDOUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")  # as the output: nothing else is printed there


def target_of(target: str, nameless: bool = False) -> tuple[str, str]:
    """Split PROG.py:NAME into the file (- for the standard input) and the name; if it may be `nameless`, :NAME may lack."""
    file, colon, name = target.rpartition(":")
    if nameless and target and (not colon or os.path.isfile(target)):
        return target, ""
    if not file and colon:
        raise Usage(f"{target!r} has no file. Write PROG.py:NAME, such as net.py:loss.")
    if not colon or not all(one.isidentifier() for one in name.split(",")):
        raise Usage(f"{target!r} has no name to draw. Write PROG.py:NAME, such as net.py:loss.")
    return file, name


def with_losses(target: str, losses: str | None) -> str:
    """Return the target with the names of --from, such as gan.py:loss_d,loss_g."""
    if losses is None:
        return target
    names = [name.strip() for name in losses.split(",")]
    if target_of(target, nameless=True)[1] or not all(name.isidentifier() for name in names):
        raise Usage(
            f"--from {losses} names the tensors. Write the program alone: {target.rpartition(':')[0] or target}."
        )
    return f"{target}:{','.join(names)}"


def program_of(target: str, words: tuple[str, ...] = (), nameless: bool = False) -> tuple[Program, str]:
    """Read the program of a target; return it and the name to draw."""
    file, name = target_of(target, nameless)
    return Program.read(file, own_words(words)), name


def own_words(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of a program's own command line; raise Usage for a word before --, which belongs to nothing."""
    own = given[given.index("--") + 1 :] if "--" in given else []
    if len(words) > len(own):
        raise Usage(f"{words[0]!r} is one word too many. The program's own words come after --: -- {' '.join(words)}")
    return words


def recorded(program: Program, name: str, passes: str, args: str | None) -> tuple[dict, list[str], tuple]:
    """Return the record of a program's tensor or function, notes for the user, and the requested passes that it has.

    With "all", missing passes are left out with a note; a single missing pass raises Usage.
    """
    with working(f"running {program.file}"):
        record, notes = program.record(name, requested_passes(passes), args)
    if program.times and not record.get("times"):
        program.notes.append("--color time colours nothing: PyTorch's operations are not timed; add --as-torch")
    return with_passes(record, notes, program, name or record["program"]["name"], requested_passes(passes))


def recorded_by_ranks(
    program: Program, name: str, passes: tuple[str, ...], lanes: str
) -> tuple[dict, list[str], tuple[str, ...]] | None:
    """Return the same for all ranks, with a lane per group of equal ranks or per rank; None on ranks that do not draw."""
    from ..ranks.collect import gathered, merged_record, report

    if find_spec("mpi4py") is None:
        from minigrad.config import install

        raise Usage(f"--ranks needs mpi4py, which is not installed: {install('mpi')}.")
    with working(f"running {program.file}"):
        reports = gathered(report(program, name, passes))
    if reports is None:
        return None
    record = merged_record(reports, apart=lanes == "each")
    program.notes += [f"rank {rank}: {one.missing_because}" for rank, one in enumerate(reports) if one.missing_because]
    return with_passes(record, reports[0].notes, program, name, passes)


def with_passes(
    record: dict, notes: list[str], program: Program, name: str, passes: tuple[str, ...]
) -> tuple[dict, list[str], tuple[str, ...]]:
    """Return a record, notes for the user, and its passes."""
    if program.raised is not None:
        return record, program.notes, tuple(record["program"]["passes"])
    have, missing = passes_of(record, notes)
    if len(passes) == 1 and passes[0] in missing:
        raise Usage(f"{name} in {program.file} has no {passes[0]} pass: {missing[passes[0]]}.")
    if len(passes) == 1:
        return record, program.notes, passes
    left_out = [f"the {one} pass is left out: {why}" for one, why in missing.items() if one in passes]
    return record, [*program.notes, *left_out], have


def print_notes(notes: list[str]) -> None:
    """Print notes to stderr."""
    for note in notes:
        print(f"minigrad: {clean(note)}", file=sys.stderr)


def place_of(output: str) -> Path:
    """Return the path to write; raise Usage, before anything runs, if it is not a file in an existing folder."""
    if not output:
        raise Usage("cannot write a file without a name: the output is ''. Name a file, or leave -o out.")
    place = Path(output)
    try:
        place.exists()
    except OSError as refused:  # such as a name that is too long
        raise Usage(f"cannot write {output}: {refused.strerror}. Choose another name.") from None
    if place.is_dir():
        raise Usage(f"cannot write {place}: it is a folder. Name a file in it.")
    if not place.parent.is_dir():
        raise Usage(f"cannot write {place}: the folder {place.parent} does not exist. Create it first.")
    return place


@contextmanager
def stdout_to_stderr() -> Iterator[None]:
    """Send everything that the program and its libraries print to stderr, so that stdout holds only the picture."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


def computing(as_torch: bool, program: Program) -> AbstractContextManager:
    """Replace torch with minigrad under --as-torch, or, with a note, if the program needs PyTorch and it is not installed."""
    import minigrad

    if not gc.get_freeze_count():
        gc.freeze()  # at the end, Python would search all that is loaded for garbage, which takes a tenth of a second
    if not as_torch and program.lacks_torch:
        print_notes([f"PyTorch is not installed, so {program.file} computes with minigrad, as with --as-torch"])
        as_torch = True
    return minigrad.as_torch() if as_torch else nullcontext()


@contextmanager
def working(what: str, after: float = 1.0) -> Iterator[None]:
    """Print a progress message at a terminal if the block takes longer than `after` seconds."""
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
