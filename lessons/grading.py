"""Notebooks of learners, each run in a process of its own with limits, and the table of what they solved."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TextIO

from .as_notebook import sources
from .catalogue import lessons


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

    With `own_folder` it runs in an empty folder that is removed afterwards, and no progress is remembered.  A notebook
    that cannot be run, or that belongs to no lesson, gets a note and no points.
    """
    graded, begun = Graded(name or str(path)), time.monotonic()
    try:
        one, _ = sources(path)
    except ValueError as e:
        graded.notes.append(str(e))
        return graded
    if one is None:
        graded.notes.append("it is of no lesson: neither its metadata nor its name says of which")
        return graded
    graded.lesson, graded.statuses = one.name, dict.fromkeys(one.exercises, "missing")
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results"
        work = Path(folder) / "work" if own_folder else path.parent
        work.mkdir(exist_ok=True)
        progress = {"MINIGRAD_LESSONS_PROGRESS": str(Path(folder) / "progress")} if own_folder else {}
        ended = _run(path, results, work, limits, progress)
        graded.notes += ended
        _read(results, graded)
    graded.seconds = round(time.monotonic() - begun, 1)
    return graded


def _run(path: Path, results: Path, work: Path, limits: Limits, variables: dict[str, str]) -> list[str]:
    """Run lessons.run on a notebook, and end it with all that it started when its time is over; why it ended, if oddly."""
    command = [sys.executable, "-m", "lessons.run", str(path.resolve()), str(results)]
    command += [str(limits.cell), str(limits.memory)]
    root = str(Path(__file__).parent.parent)  # the notebook's own folder may hold other packages of these names
    paths = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONSAFEPATH": "1", "MPLBACKEND": "agg", **variables}
    process = subprocess.Popen(
        command, cwd=work, env=environment, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        _, said = process.communicate(timeout=limits.total)
    except subprocess.TimeoutExpired:
        _kill(process)
        return [f"ended after {limits.total:g} s"]
    except BaseException:
        _kill(process)
        raise
    if process.returncode:
        last = (said.strip().splitlines() or [""])[-1]
        return [f"its process ended with {process.returncode}: {last}".removesuffix(": ")]
    return []


def _kill(process: subprocess.Popen) -> None:
    """End a process and those that it started."""
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.communicate()


def _read(results: Path, graded: Graded) -> None:
    """Take over the lines that lessons.run wrote; the last one may be cut off."""
    for line in results.read_text(encoding="utf-8").splitlines() if results.exists() else ():
        try:
            said = json.loads(line)
        except ValueError:
            continue
        if "exercise" in said:
            graded.statuses[said["exercise"]], graded.messages[said["exercise"]] = said["status"], said["message"]
        else:
            graded.notes.append(f"cell {said['cell']}: {said['failed'].splitlines()[0]}")


def grade_folder(
    folder: Path, limits: Limits, jobs: int, done: Callable[[Graded], None] = lambda graded: None
) -> list[Graded]:
    """Grade all notebooks in a folder and its folders, several at a time, in the order of their names."""
    paths = [p for p in sorted(folder.rglob("*.ipynb")) if ".ipynb_checkpoints" not in p.parts]

    def one(path: Path) -> Graded:
        graded = grade(path, limits, path.relative_to(folder).as_posix())
        done(graded)
        return graded

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(one, paths))


def write_csv(all_of_them: Iterable[Graded], file: TextIO) -> None:
    """A row for each notebook, with a column for each exercise of the lessons that are there.

    >>> import sys
    >>> write_csv([Graded("ann.ipynb", "01_numbers", {"three_uses": "right"})], sys.stdout)
    file,lesson,points,of,seconds,notes,three_uses
    ann.ipynb,01_numbers,1,1,0.0,,right
    """
    rows = list(all_of_them)
    order = [name for one in lessons() for name in one.exercises]
    columns = sorted({name for row in rows for name in row.statuses}, key=order.index)
    table = csv.writer(file, lineterminator="\n")
    table.writerow(["file", "lesson", "points", "of", "seconds", "notes", *columns])
    for row in rows:
        counts = [row.points, len(row.statuses), row.seconds, "; ".join(row.notes)]
        table.writerow([row.file, row.lesson, *counts, *(row.statuses.get(name, "") for name in columns)])
