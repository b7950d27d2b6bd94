"""Grades for notebooks: each runs in separate processes with limits, and every failure becomes a note in its row.

A notebook's code runs in `lessons.run`, under supervise.py, and on Linux inside bubblewrap if it works (confinement.py).
There it sees none of the teacher's files, writes only to a temporary folder, and has no network.
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
from .bank import entries
from .build import ENGINE, state
from .catalogue import Lesson, lessons, steps
from .confinement import confined, confinement, environment, own_modules
from .run import LINE
from .sheet import Sheet

STATUSES = ("right", "wrong", "open")
MOST = 10_000_000  # bytes of results to read
NOTES = 100  # per notebook
CELL = 32_767  # characters that a spreadsheet's cell may have
FORMULA = re.compile(r'(^|[;|])(?=[\s"]*[=+\-@＝＋－＠])')  # the start of one, also in full-width signs
PATIENCE = 30.0  # seconds


@dataclass(frozen=True)
class Limits:
    """Limits of a notebook: seconds for a cell and in total, and bytes of memory beyond minigrad's own needs (0: no limit)."""

    cell: float = 120.0
    total: float = 600.0
    memory: int = 4 << 30


USUAL = Limits()


@dataclass
class Graded:
    """Grade of a notebook: the status and message of each exercise, and notes for the teacher."""

    file: str
    lesson: str = ""  # or the title of a sheet
    statuses: dict[str, str] = field(default_factory=dict)  # right | wrong | open | missing
    messages: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)
    student: str = ""  # whose numbers a sheet has

    @property
    def points(self) -> int:
        """The number of solved exercises."""
        return list(self.statuses.values()).count("right")

    @property
    def numbers(self) -> tuple[str, str]:
        """The sheet and the student whose numbers it has."""
        return self.lesson, self.student

    def to_dict(self) -> dict:
        """Return all fields and the points, ready for JSON."""
        return {**asdict(self), "points": self.points, "of": len(self.statuses)}


def grade(path: Path, limits: Limits = USUAL, name: str = "", own_folder: bool = True) -> Graded:
    """Run a notebook in a separate process and grade its answers.

    With `own_folder` it runs in an empty folder that is removed afterwards, confined if possible, and no progress is recorded.
    A notebook that cannot run, or that belongs to no lesson, gets a note and no points; nothing is raised.
    """
    graded, begun = Graded(name or str(path)), time.monotonic()
    try:
        one, texts = sources(path)
        if one is None:
            graded.notes.append("it belongs to no lesson or sheet: neither its metadata nor its file name names one")
            return graded
        graded.lesson, graded.statuses = one.name, dict.fromkeys(one.exercises, "missing")
        graded.student = one.student if isinstance(one, Sheet) else ""
        with folder_for(graded) as folder:
            (folder / "cells").write_text(json.dumps(texts))
            (folder / "work").mkdir()
            if isinstance(one, Lesson) and one.folder:  # earlier steps solved, so that a mistake counts once
                (folder / "work" / ENGINE).write_text(state(one.number), encoding="utf-8")
            run(folder, None if own_folder else path.parent, limits, graded)
    except ValueError as e:
        graded.notes.append(str(e))
    except Exception as e:  # grade the others all the same
        graded.notes.append(f"it cannot be graded: {type(e).__name__}: {e}")
    graded.seconds = round(time.monotonic() - begun, 1)
    return graded


@contextmanager
def folder_for(graded: Graded) -> Iterator[Path]:
    """Yield a temporary folder, and remove it afterwards, however deep it is."""
    folder = tempfile.mkdtemp()
    try:
        yield Path(folder)
    finally:
        try:
            shutil.rmtree(folder)
        except (OSError, RecursionError):
            for command in (["chmod", "-R", "u+rwx"], ["rm", "-rf"]):  # these go deeper than Python
                if shutil.which(command[0]):
                    subprocess.run([*command, folder], stderr=subprocess.DEVNULL, check=False)
        if os.path.exists(folder):
            graded.notes.append(f"the folder {folder} cannot be removed")


def run(folder: Path, where: Path | None, limits: Limits, graded: Graded) -> None:
    """Run a notebook's cells under supervision and read the results.  Without `where`, confine them to `folder`."""
    results = folder / "results"
    exercises = json.dumps([list(graded.statuses), graded.student])
    command = [sys.executable, "-m", "lessons.run", exercises, str(folder / "cells"), str(results)]
    command += [str(limits.cell), str(limits.memory)]
    variables = dict(os.environ)
    if where is None:
        held = confinement()
        where, variables = folder / "work", environment(folder, held)
        command = [*(confined(folder) if held else ()), *command]
    supervisor = [sys.executable, "-I", str(Path(__file__).with_name("supervise.py"))]
    supervisor += [str(limits.total), str(limits.memory), *command]
    options = {"cwd": where, "env": own_modules(variables), "stdin": subprocess.PIPE}
    # files, since a process that the notebook started may hold a pipe open
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as errors:
        with started(supervisor, stdout=printed, stderr=errors, **options) as process:
            wait(process, limits.total)  # an exception closes its input, which ends it
        why = how_it_ended(last(printed), process.returncode, last(errors).decode(errors="replace"))
    folder.chmod(0o700)  # the notebook may have removed permissions
    graded.notes += why
    if not read(results, graded) and not why:
        graded.notes.append("its process ended with exit code 0 before its last cell: does a cell call os._exit?")


def started(command: list[str], **options: Any) -> subprocess.Popen:
    """Start a process.  If notebooks use up the user's limit of processes, wait until they are killed."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return subprocess.Popen(command, **options)
        except BlockingIOError:
            if time.monotonic() > end:
                raise
        time.sleep(0.5)


def wait(process: subprocess.Popen, seconds: float) -> None:
    """Wait for a supervisor to end.  If a notebook stopped it, continue it when the time is over, and then kill it."""
    for number in (getattr(signal, "SIGCONT", signal.SIGTERM), getattr(signal, "SIGKILL", signal.SIGTERM)):
        try:
            process.wait(seconds + PATIENCE)
        except subprocess.TimeoutExpired:
            process.send_signal(number)
            seconds = 0.0


def last(file: BinaryIO) -> bytes:
    """Return the last 10,000 bytes of a file, wherever other processes moved its position."""
    file.seek(max(file.seek(0, os.SEEK_END) - 10_000, 0))
    return file.read(10_000)


def how_it_ended(printed: bytes, code: int, errors: str) -> list[str]:
    """Return a note if a notebook's process failed or was killed."""
    try:
        found = json.loads(printed)
    except ValueError:
        return [f"its supervisor ended with exit code {code}"]
    if found["ended"]:
        return [f"ended {found['ended']}"]
    last = (errors.strip().splitlines() or [""])[-1]
    return [f"its process ended with exit code {found['code']}: {last}".removesuffix(": ")] if found["code"] else []


def read(results: Path, graded: Graded) -> bool:
    """Read the lines that lessons.run wrote, up to the first that it cannot have written; the last may be cut off.

    Return False if they can be read, and the line after the last cell is missing.
    """
    failed: list[str] = []
    ended = False
    try:
        for line in io.BytesIO(content(results, MOST, link=False)):
            if line.endswith(b"\n"):
                ended = take(json.loads(line), graded, failed)
    except OSError as e:
        ended = True
        failed.append(f"its results cannot be read: {e.strerror}")
    except Exception:  # a notebook may write anything there
        ended = True
        failed.append("its results contain lines that the checks did not write")
    graded.notes += failed[-NOTES:]
    return ended


def take(event: Any, graded: Graded, failed: list[str]) -> bool:
    """Add a verdict to the grade, or the failure of a cell to the notes; return True for the line after the last cell."""
    if "ended" in event:
        return True
    if "exercise" not in event:
        failed.append(f"cell {int(event['cell'])}: {str(event['failed']).partition(chr(10))[0]}"[:LINE])
        return False
    name, status = event["exercise"], event["status"]
    if name not in graded.statuses or status not in STATUSES:
        raise ValueError(name)
    graded.statuses[name], graded.messages[name] = status, str(event["message"])
    return False


def grade_folder(
    folder: Path, limits: Limits, jobs: int, done: Callable[[Graded], None] = lambda graded: None
) -> list[Graded]:
    """Grade all notebooks in a folder and its subfolders, `jobs` at a time; return the grades in order of the names.

    Sheets with the same title have the numbers of different students: a note names others that share a student's numbers.
    """

    def one(found: tuple[Path, str]) -> Graded:
        path, trouble = found
        name = path.relative_to(folder).as_posix()
        graded = Graded(name, notes=[trouble]) if trouble else grade(path, limits, name)
        done(graded)
        return graded

    with ThreadPoolExecutor(jobs) as pool:
        found = list(pool.map(one, notebooks(folder)))
    for graded in found:
        twins = [o.file for o in found if o is not graded and graded.student and o.numbers == graded.numbers]
        if twins:
            graded.notes.append(f"it has the numbers of {graded.student}, like {', '.join(twins)}")
    return found


def notebooks(folder: Path) -> list[tuple[Path, str]]:
    """Return the notebooks in a folder and its subfolders, and the reason if a folder is unreadable; skip linked folders."""
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
    """Write a row for each notebook, with a column for each exercise that one of them has.

    >>> import sys
    >>> write_csv([Graded("ann.ipynb", "01_numbers", {"three_uses": "right"})], sys.stdout)
    file,lesson,points,of,seconds,notes,three_uses
    ann.ipynb,01_numbers,1,1,0.0,,right
    """
    rows = list(all_of_them)
    names = [*(name for one in (*lessons(), *steps()) for name in one.exercises), *entries()]
    columns = [name for name in names if any(name in row.statuses for row in rows)]
    table = csv.writer(file, lineterminator="\n")
    table.writerow(["file", "lesson", "points", "of", "seconds", "notes", *columns])
    for row in rows:
        counts = [row.points, len(row.statuses), row.seconds, cell("; ".join(row.notes))]
        table.writerow([cell(row.file), row.lesson, *counts, *(row.statuses.get(name, "") for name in columns)])


def cell(text: str) -> str:
    """Return text that a spreadsheet shows unchanged: an apostrophe goes before text that begins like a formula.

    A semicolon starts a new cell where numbers have decimal commas.

    >>> cell("=1+1"), cell("ann.ipynb"), cell("\x1b[2J"), cell("a; =1+1")
    ("'=1+1", 'ann.ipynb', '\ufffd[2J', "a;' =1+1")
    """
    text = FORMULA.sub(r"\1'", clean(text))
    return text if len(text) <= CELL else text[: CELL - 1] + "…"
