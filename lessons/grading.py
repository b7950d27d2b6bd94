"""Grades for notebooks: each runs in processes of its own with limits, and whatever happens there becomes a note in its row.

A notebook's code runs in `lessons.run`, under supervise.py, and on Linux within bubblewrap where that can be had
(confinement.py): it sees nothing of the teacher's then, can write to nothing but a folder of its own, and has no network.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from viz.text import clean

from .as_notebook import content, sources
from .catalogue import lessons
from .confinement import confined, confinement, environment, own_modules
from .run import LINE

STATUSES = ("right", "wrong", "open")
MOST = 10_000_000  # bytes of results that are read
NOTES = 100  # of one notebook
CELL = 32_767  # characters of a cell that spreadsheets take
FORMULA = re.compile(r'(^|[;|])(?=[\s"]*[=+\-@＝＋－＠])')  # how one begins, also in the signs of East Asian keyboards
PATIENCE = 30.0  # seconds


@dataclass(frozen=True)
class Limits:
    """What a notebook may take: seconds for one cell and for all, and bytes beyond what minigrad itself needs (0: any)."""

    cell: float = 120.0
    total: float = 600.0
    memory: int = 4 << 30


USUAL = Limits()


@dataclass
class Graded:
    """What became of one notebook: by exercise its status and message, and what else has to be said."""

    file: str
    lesson: str = ""
    statuses: dict[str, str] = field(default_factory=dict)  # right | wrong | open | missing
    messages: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)

    @property
    def points(self) -> int:
        """How many exercises are solved."""
        return list(self.statuses.values()).count("right")

    def to_dict(self) -> dict:
        """All of it, as JSON has it."""
        return {**asdict(self), "points": self.points, "of": len(self.statuses)}


def grade(path: Path, limits: Limits = USUAL, name: str = "", own_folder: bool = True) -> Graded:
    """Run a notebook in a process of its own, and say what its answers are worth.

    With `own_folder` it runs in an empty folder that is removed afterwards, confined where that is possible, and no progress
    is remembered.  A notebook that cannot be run, or that belongs to no lesson, gets a note and no points; nothing is raised.
    """
    graded, begun = Graded(name or str(path)), time.monotonic()
    try:
        one, texts = sources(path)
        if one is None:
            graded.notes.append("it is of no lesson: neither its metadata nor its name says of which")
            return graded
        graded.lesson, graded.statuses = one.name, dict.fromkeys(one.exercises, "missing")
        with folder_for(graded) as folder:
            (folder / "cells").write_text(json.dumps(texts))
            (folder / "work").mkdir()
            run(folder, None if own_folder else path.parent, limits, graded)
    except ValueError as e:
        graded.notes.append(str(e))
    except Exception as e:  # the others are graded all the same
        graded.notes.append(f"it could not be graded: {type(e).__name__}: {e}")
    graded.seconds = round(time.monotonic() - begun, 1)
    return graded


@contextmanager
def folder_for(graded: Graded) -> Iterator[Path]:
    """Give a folder that is removed afterwards, however deep it has become."""
    folder = tempfile.mkdtemp()
    try:
        yield Path(folder)
    finally:
        try:
            shutil.rmtree(folder)
        except (OSError, RecursionError):
            for command in (["chmod", "-R", "u+rwx"], ["rm", "-rf"]):  # which can go deeper
                if shutil.which(command[0]):
                    subprocess.run([*command, folder], stderr=subprocess.DEVNULL, check=False)
        if os.path.exists(folder):
            graded.notes.append(f"the folder {folder} could not be removed")


def run(folder: Path, where: Path | None, limits: Limits, graded: Graded) -> None:
    """Run the cells of a notebook under supervision, `where` or else confined to a folder, and read what was written there."""
    results = folder / "results"
    command = [sys.executable, "-m", "lessons.run", graded.lesson, str(folder / "cells"), str(results)]
    command += [str(limits.cell), str(limits.memory)]
    variables = dict(os.environ)
    if where is None:
        held = confinement()
        where, variables = folder / "work", environment(folder, held)
        command = [*(confined(folder) if held else ()), *command]
    supervisor = [sys.executable, "-I", str(Path(__file__).with_name("supervise.py"))]
    supervisor += [str(limits.total), str(limits.memory), *command]
    options = {"cwd": where, "env": own_modules(variables), "stdin": subprocess.PIPE}
    # files, since a pipe may be held open by what a notebook has started
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as errors:
        with started(supervisor, stdout=said, stderr=errors, **options) as process:
            wait(process, limits.total)  # if this is left early, its input ends, and so does it
        graded.notes += how_it_ended(last(said), process.returncode, last(errors).decode(errors="replace"))
    folder.chmod(0o700)  # which the notebook may have taken away
    read(results, graded)


def started(command: list[str], **options: Any) -> subprocess.Popen:
    """Start a process.  Where notebooks have all the processes that the user may have, wait: they will be ended."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return subprocess.Popen(command, **options)
        except BlockingIOError:
            if time.monotonic() > end:
                raise
        time.sleep(0.5)


def wait(process: subprocess.Popen, seconds: float) -> None:
    """Wait for a supervisor to end.  If a notebook has stopped it, let it go on when the time is over, or end it."""
    for number in (getattr(signal, "SIGCONT", signal.SIGTERM), getattr(signal, "SIGKILL", signal.SIGTERM)):
        try:
            process.wait(seconds + PATIENCE)
        except subprocess.TimeoutExpired:
            process.send_signal(number)
            seconds = 0.0


def last(file: BinaryIO) -> bytes:
    """Return the last part of a file, wherever others that write to it have left off."""
    file.seek(max(file.seek(0, os.SEEK_END) - 10_000, 0))
    return file.read(10_000)


def how_it_ended(said: bytes, code: int, errors: str) -> list[str]:
    """Return what has to be noted about the end of a notebook's process."""
    try:
        found = json.loads(said)
    except ValueError:
        return [f"its supervisor ended with {code}"]
    if found["ended"]:
        return [f"ended {found['ended']}"]
    last = (errors.strip().splitlines() or [""])[-1]
    return [f"its process ended with {found['code']}: {last}".removesuffix(": ")] if found["code"] else []


def read(results: Path, graded: Graded) -> None:
    """Take over the lines that lessons.run wrote, up to the first that it cannot have written; the last may be cut off."""
    failed: list[str] = []
    try:
        for line in io.BytesIO(content(results, MOST, link=False)):
            if line.endswith(b"\n"):
                take(json.loads(line), graded, failed)
    except OSError as e:
        failed.append(f"its results cannot be read: {e.strerror}")
    except Exception:  # a notebook may write there whatever it likes
        failed.append("there are results that the checks did not write")
    graded.notes += failed[-NOTES:]


def take(said: Any, graded: Graded, failed: list[str]) -> None:
    """Take over a verdict, or what failed in a cell."""
    if "exercise" not in said:
        failed.append(f"cell {int(said['cell'])}: {str(said['failed']).partition(chr(10))[0]}"[:LINE])
        return
    name, status = said["exercise"], said["status"]
    if name not in graded.statuses or status not in STATUSES:
        raise ValueError(name)
    graded.statuses[name], graded.messages[name] = status, str(said["message"])


def grade_folder(
    folder: Path, limits: Limits, jobs: int, done: Callable[[Graded], None] = lambda graded: None
) -> list[Graded]:
    """Grade all notebooks in a folder and its folders, several at a time, in the order of their names."""

    def one(found: tuple[Path, str]) -> Graded:
        path, trouble = found
        name = path.relative_to(folder).as_posix()
        graded = Graded(name, notes=[trouble]) if trouble else grade(path, limits, name)
        done(graded)
        return graded

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(one, notebooks(folder)))


def notebooks(folder: Path) -> list[tuple[Path, str]]:
    """Return the notebooks in a folder and its folders, and why one of them cannot be read; links to folders are left out."""
    found, waiting = [], [folder]
    while waiting:
        place = waiting.pop()
        try:
            with os.scandir(place) as entries:
                inside = list(entries)
        except OSError as e:
            found.append((place, f"this folder cannot be read: {e.strerror}"))
            continue
        for entry in inside:
            if entry.is_dir(follow_symlinks=False) and entry.name != ".ipynb_checkpoints":
                waiting.append(Path(entry.path))
            if entry.name.lower().endswith(".ipynb"):
                found.append((Path(entry.path), ""))
    return sorted(found)


def write_csv(all_of_them: Iterable[Graded], file: TextIO) -> None:
    """Write a row for each notebook, with a column for each exercise of the lessons that are there.

    >>> import sys
    >>> write_csv([Graded("ann.ipynb", "01_numbers", {"three_uses": "right"})], sys.stdout)
    file,lesson,points,of,seconds,notes,three_uses
    ann.ipynb,01_numbers,1,1,0.0,,right
    """
    rows = list(all_of_them)
    columns = [name for one in lessons() for name in one.exercises if any(name in row.statuses for row in rows)]
    table = csv.writer(file, lineterminator="\n")
    table.writerow(["file", "lesson", "points", "of", "seconds", "notes", *columns])
    for row in rows:
        counts = [row.points, len(row.statuses), row.seconds, cell("; ".join(row.notes))]
        table.writerow([cell(row.file), row.lesson, *counts, *(row.statuses.get(name, "") for name in columns)])


def cell(text: str) -> str:
    """Return text that a spreadsheet shows as it is: what begins like a formula gets an apostrophe in front.

    A semicolon begins a cell, too, where numbers have decimal commas.

    >>> cell("=1+1"), cell("ann.ipynb"), cell("\x1b[2J"), cell("a; =1+1")
    ("'=1+1", 'ann.ipynb', '\ufffd[2J', "a;' =1+1")
    """
    text = FORMULA.sub(r"\1'", clean(text))
    return text if len(text) <= CELL else text[: CELL - 1] + "…"
