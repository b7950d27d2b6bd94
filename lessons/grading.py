"""Grades for notebooks: each runs in processes of its own with limits, and whatever happens there becomes a note in its row.

A notebook's code runs in `lessons.run`, under supervise.py, and on Linux within bubblewrap where that can be had: it can
write to nothing but a folder of its own then, and there is no network.
"""

from __future__ import annotations

import csv
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TextIO

from viz.text import clean

from .as_notebook import sources
from .catalogue import lessons

STATUSES = ("right", "wrong", "open")
MOST = 10_000_000  # bytes of results that are read


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
            if shutil.which("rm"):  # which can go deeper
                subprocess.run(["rm", "-rf", folder], stderr=subprocess.DEVNULL, check=False)
        if os.path.exists(folder):
            graded.notes.append(f"the folder {folder} could not be removed")


def run(folder: Path, where: Path | None, limits: Limits, graded: Graded) -> None:
    """Run the cells of a notebook under supervision, `where` or else confined to a folder, and read what was written there."""
    results, errors = folder / "results", folder / "errors"
    command = [sys.executable, "-m", "lessons.run", graded.lesson, str(folder / "cells"), str(results)]
    command += [str(limits.cell), str(limits.memory)]
    root = str(Path(__file__).parent.parent)  # the notebook's own folder may hold other packages of these names
    paths = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONSAFEPATH": "1", "MPLBACKEND": "agg"}
    if where is None:
        where = folder / "work"
        for variable, place in (("MINIGRAD_LESSONS_PROGRESS", "progress"), ("IPYTHONDIR", "."), ("TMPDIR", ".")):
            environment[variable] = str(folder / place)
        command = [*(confined(folder) if confinement() else ()), *command]
    supervisor = [sys.executable, "-I", str(Path(__file__).with_name("supervise.py"))]
    supervisor += [str(limits.total), str(limits.memory), *command]
    with errors.open("w+b") as file:
        with subprocess.Popen(
            supervisor, cwd=where, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file
        ) as process:
            assert process.stdout
            said = process.stdout.read()  # until it has ended; if this is left early, its input ends, and so does it
        file.seek(-min(10_000, file.tell()), os.SEEK_END)
        graded.notes += how_it_ended(said, process.returncode, file.read().decode(errors="replace"))
    read(results, graded)


def confined(folder: Path) -> list[str]:
    """Return what to put before a command so that it can write to this folder alone."""
    shown = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", str(folder), str(folder)]
    return ["bwrap", *shown, "--unshare-all", "--die-with-parent"]


@functools.cache
def confinement() -> bool:
    """Say whether bubblewrap is there and allowed to work."""
    if shutil.which("bwrap") is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        return not subprocess.run([*confined(Path(folder)), "true"], capture_output=True, check=False).returncode


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
    """Take over the lines that lessons.run wrote; the last one may be cut off, and the notebook may have written others."""
    if not results.is_file():
        return
    with results.open("rb") as file:
        lines = file.read(MOST).splitlines()
    for line in lines:
        try:
            said = json.loads(line)
            if "exercise" in said:
                name, status, message = said["exercise"], said["status"], str(said["message"])
                if name not in graded.statuses or status not in STATUSES:
                    raise ValueError(name)
                graded.statuses[name], graded.messages[name] = status, message
            else:
                graded.notes.append(f"cell {int(said['cell'])}: {str(said['failed']).partition(chr(10))[0]}")
        except (ValueError, TypeError, KeyError, RecursionError):
            odd = "there are results that the checks did not write"
            graded.notes += [odd] * (odd not in graded.notes)


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
            if entry.is_dir(follow_symlinks=False) and not entry.name.endswith(".ipynb"):
                waiting += [Path(entry.path)] if entry.name != ".ipynb_checkpoints" else []
            elif entry.name.endswith(".ipynb"):
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

    >>> cell("=1+1"), cell("ann.ipynb"), cell("\x1b[2J")
    ("'=1+1", 'ann.ipynb', '\ufffd[2J')
    """
    text = clean(text)
    return f"'{text}" if text.lstrip().startswith(("=", "+", "-", "@")) else text
