"""Grades for notebooks: each runs in separate processes with limits, and every failure becomes a note in its row.

A notebook's code runs in `lessons.run`, under supervise.py, and on Linux inside bubblewrap if it works (confinement.py).
There it sees none of the teacher's files, writes only to a temporary folder, and has no network.  table.py writes the grades,
class_report.py and feedback.py the pages.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from . import own, supervise
from .as_notebook import content, sources
from .build import ENGINE, state
from .catalogue import Lesson
from .confinement import confined, confinement, environment, own_modules
from .own import Own
from .run import LINE, PICTURE, Task
from .sheet import Sheet

STATUSES = ("right", "wrong", "open")
MOST = 10_000_000  # bytes of results to read
NOTES = 100  # per notebook
PATIENCE = 30.0  # seconds
SIGNALS = 64  # the largest number of one on Linux


@dataclass(frozen=True)
class Limits:
    """Limits of a notebook: seconds for a cell and in total, and bytes of memory beyond minigrad's own needs (0: no limit)."""

    cell: float = 120.0
    total: float = 600.0
    memory: int = 4 << 30


USUAL = Limits()


@dataclass
class Graded:
    """Grade of a notebook: what the checks say of each exercise, and notes."""

    file: str  # "" for a notebook that was not handed in
    lesson: str = ""  # or the title of a sheet, or of a teacher's exercises
    statuses: dict[str, str] = field(default_factory=dict)  # right | wrong | open | missing
    messages: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)
    numbers_of: str = ""  # the student whose numbers a sheet has
    student: str = ""  # students.py finds it
    mistakes: dict[str, str] = field(default_factory=dict)  # keys that equal mistakes have in common
    given: dict[str, str] = field(default_factory=dict)  # the wrong answers
    pictures: dict[str, str] = field(default_factory=dict)  # SVG, if pictures were asked for
    remarks: list[str] = field(default_factory=list)  # notes that name other students, for the teacher alone
    marks: dict[str, float] | None = None  # what each exercise is worth, if the teacher weighs them
    cell: int = 0  # the last one that began

    @property
    def points(self) -> int:
        """The number of solved exercises."""
        return list(self.statuses.values()).count("right")

    @property
    def numbers(self) -> tuple[str, str]:
        """The sheet and the student whose numbers it has."""
        return self.lesson, self.numbers_of

    @property
    def earned(self) -> float:
        """The sum of the marks of the solved exercises; of exercises without marks, each counts 1."""
        return sum(self.worth(name) for name, status in self.statuses.items() if status == "right")

    @property
    def most(self) -> float:
        """The sum of the marks of all exercises."""
        return sum(map(self.worth, self.statuses))

    def worth(self, name: str) -> float:
        """Return the marks of an exercise: 1 if the teacher does not weigh them, and 0 if only this one has none."""
        return 1 if self.marks is None else self.marks.get(name, 0)

    def to_dict(self) -> dict:
        """Return all fields, the points and the marks, ready for JSON."""
        found = {**asdict(self), "points": self.points, "of": len(self.statuses)}
        return found | {"marks": None if self.marks is None else self.earned}


def grade(
    path: Path,
    limits: Limits = USUAL,
    name: str = "",
    own_folder: bool = True,
    exercises: Own | None = None,
    pictures: bool = False,
) -> Graded:
    """Run a notebook in a separate process and grade its answers, with pictures of the mistakes if asked.

    With `own_folder` it runs in an empty folder that is removed afterwards, confined if possible, and no progress is recorded.
    All `exercises` of a teacher belong to a notebook without a lesson, and those that it checks to one with a lesson.  A
    notebook that cannot run, or that belongs to no lesson, gets a note and no points; nothing is raised.
    """
    graded, begun = Graded(name or str(path)), time.monotonic()
    try:
        one, texts = sources(path)
        names = list(one.exercises) if one else []
        for each in exercises.exercises if exercises else ():
            if one is None or any(f'check("{each}"' in text or f"check('{each}'" in text for text in texts):
                names.append(each)
        if not names:
            words = "it belongs to no lesson or sheet: neither its metadata nor its file name names one"
            graded.notes.append(f"{words}, and there is no {own.FILE}")
            return graded
        graded.lesson, graded.statuses = (one or exercises).name, dict.fromkeys(names, "missing")  # type: ignore[union-attr]
        graded.numbers_of = one.student if isinstance(one, Sheet) else ""
        with folder_for(graded) as folder:
            copy = str(shutil.copy(exercises.path, folder / own.FILE)) if exercises else ""
            task = Task(texts, names, graded.numbers_of, copy, pictures, limits.cell, limits.memory)
            (folder / "task").write_text(json.dumps(asdict(task)))
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
    command = [sys.executable, "-m", "lessons.run", str(folder / "task"), str(results)]
    variables, held = dict(os.environ), False
    if where is None:
        held = confinement()
        where, variables = folder / "work", environment(folder, held)
        command = [*(confined(folder) if held else ()), *command]
    supervisor = [sys.executable, "-I", str(Path(__file__).with_name("supervise.py"))]
    cage = supervise.new_cage(users=not held)  # bubblewrap changes users itself
    supervisor += [str(limits.total), str(limits.memory), cage, *command]
    options = {"cwd": where, "env": own_modules(variables), "stdin": subprocess.PIPE}
    # files, since a process that the notebook started may hold a pipe open
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as errors:
        try:
            with started(supervisor, stdout=printed, stderr=errors, **options) as process:
                wait(process, limits.total)  # an exception closes its input, which ends it
        finally:
            supervise.remove_cage(cage)
        said, code, errors_at_end = last(printed), process.returncode, last(errors).decode(errors="replace")
    folder.chmod(0o700)  # the notebook may have removed permissions
    complete = read(results, graded)
    if why := how_it_ended(said, code, errors_at_end, complete, held):
        graded.notes.append(f"cell {graded.cell}: {why}" if graded.cell and not complete else why)
    if not complete:
        unseen = [name for name, status in graded.statuses.items() if status == "missing"]
        graded.messages |= dict.fromkeys(unseen, "The notebook ended before this exercise.")


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


def how_it_ended(printed: bytes, code: int, errors: str, complete: bool, held: bool) -> str:
    """Return a note if a notebook's process failed or was killed, or ended before its last cell (`complete` is False)."""
    try:
        found = json.loads(printed)
    except ValueError:
        return (
            f"its supervisor was {killed(-code)}: a cell kills other processes"
            if code < 0
            else (f"its supervisor ended with exit code {code}")
        )
    if found["ended"]:
        return f"ended {found['ended']}"
    refused = f"; the system refused it more than {supervise.TASKS} processes and threads" if found["refused"] else ""
    number = -found["code"]
    if held and 128 < found["code"] <= 128 + SIGNALS:  # bubblewrap passes it on like this
        number = found["code"] - 128
    if number > 0:
        memory = ", since the memory of the machine ran out" if number == signal.SIGKILL and found["starved"] else ""
        return f"its process was {killed(number)}{memory or ', by its code or by the system'}{refused}"
    last = (errors.strip().splitlines() or [""])[-1]
    if found["code"] and last:
        return f"its process ended with exit code {found['code']}: {last}{refused}"
    if not complete:
        return f"its process ended with exit code {found['code']} without an error: did it call os._exit?{refused}"
    return refused.removeprefix("; ")


def killed(number: int) -> str:
    """Return a signal in words.

    >>> killed(9)
    'killed (SIGKILL)'
    """
    verb = {signal.SIGABRT: "aborted", signal.SIGSEGV: "ended by a memory fault"}.get(number, "killed")  # type: ignore[call-overload]
    try:
        return f"{verb} ({signal.Signals(number).name})"
    except ValueError:
        return f"{verb} (signal {number})"


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
    if "begins" in event:
        graded.cell = int(event["begins"])
        return False
    if "shows" in event:
        failed.append(f"cell {int(event['cell'])} shows the solution of {event['shows']}"[:LINE])
        return False
    if "exercise" not in event:
        failed.append(f"cell {int(event['cell'])}: {str(event['failed']).partition(chr(10))[0]}"[:LINE])
        return False
    name, status = event["exercise"], event["status"]
    if name not in graded.statuses or status not in STATUSES:
        raise ValueError(name)
    graded.statuses[name], graded.messages[name] = status, str(event["message"])
    graded.mistakes[name], graded.given[name] = str(event.get("mistake", ""))[:LINE], str(event.get("given", ""))[:LINE]
    graded.pictures[name] = str(event.get("picture", ""))[:PICTURE]
    return False


def grade_folder(
    folder: Path,
    limits: Limits,
    jobs: int,
    done: Callable[[Graded], None] = lambda graded: None,
    exercises: Own | None = None,
    pictures: bool = False,
) -> list[Graded]:
    """Grade all notebooks in a folder and its subfolders, `jobs` at a time; return the grades in order of the names.

    Sheets with the same title have the numbers of different students: a remark names others that share a student's numbers.
    """

    def one(found: tuple[Path, str]) -> Graded:
        path, trouble = found
        name = path.relative_to(folder).as_posix()
        graded = (
            Graded(name, notes=[trouble])
            if trouble
            else grade(path, limits, name, exercises=exercises, pictures=pictures)
        )
        done(graded)
        return graded

    with ThreadPoolExecutor(jobs) as pool:
        found = list(pool.map(one, notebooks(folder)))
    for graded in found:
        twins = [o.file for o in found if o is not graded and graded.numbers_of and o.numbers == graded.numbers]
        if twins:
            graded.remarks.append(f"it has the numbers of {graded.numbers_of}, like {', '.join(twins)}")
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
