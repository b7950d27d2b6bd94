"""The commands of `minigrad lessons` for teachers: grade a class and report on it, exercises of the bank, a wheel for a class.

command.py adds them to the command line.
"""

from __future__ import annotations

import io
import json as js
import re
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from minigrad.config import install
from viz.commands.common import STDOUT, Json, place_of
from viz.commands.render_command import deliver
from viz.errors import Usage
from viz.text import clean

from . import feedback, own
from .class_report import page
from .confinement import confinement
from .grading import Graded, Limits, grade_folder
from .table import read_marks, write_csv

UNCONFINED = (
    "the notebooks run with your permissions: bubblewrap (bwrap) is missing or not permitted, or Python and its packages do "
    "not start in it. For a class that you do not trust, run this in a container without a network."
)
if not sys.platform.startswith("linux"):
    UNCONFINED += " On this system, processes that a notebook starts in new sessions continue after it."
Folder = Annotated[Path, Parameter(name=["--folder", "-d"])]
Levels = Annotated[tuple[Literal[1, 2, 3], ...], Parameter(name=["--level", "-l"], negative="")]
Output = Annotated[str, Parameter(name=["--output", "-o"], allow_leading_hyphen=True)]
HERE = Path("minigrad-lessons")


@Parameter(name="*")
@dataclass(frozen=True)
class Running:
    """Options of the commands that run a class's notebooks."""

    seconds: Annotated[float, Parameter(name=["--seconds"])] = 120.0
    """Time limit of a cell or a check."""
    total: Annotated[float, Parameter(name=["--total"])] = 600.0
    """Time limit of a notebook; the checks up to then count."""
    memory: Annotated[float, Parameter(name=["--memory"])] = 4.0
    """Memory limit of a notebook in GiB, beyond minigrad's own needs (on Linux); 0 for none."""
    jobs: Annotated[int, Parameter(name=["--jobs", "-j"])] = 2
    """Number of notebooks that run at a time."""
    exercises: Annotated[Path | None, Parameter(name=["--exercises"])] = None
    """Your exercises; without it, the file exercises.py in the folder, if there is one.  Copies of students do not count."""
    student: Annotated[str, Parameter(name=["--student", "-s"], allow_leading_hyphen=True)] = ""
    """Pattern with a group for the student in the file names, such as '(?P<student>[^_]+)_.*'."""
    names: Annotated[Path | None, Parameter(name=["--class"])] = None
    """A file with the class: a name in each line, or a .csv file.  Missing notebooks are noted."""


USUAL = Running()


def grade(
    folder: Path,
    /,
    *,
    output: Output = "grades.csv",
    marks: Path | None = None,
    feedback_in: Annotated[Path | None, Parameter(name=["--feedback"])] = None,
    running: Running = USUAL,
    json: Json = False,
) -> None:
    """Grade a folder of notebooks and write a table of the results.

    Each notebook runs in separate processes, with limits, in an empty folder that is removed afterwards.
    With bubblewrap (on Linux) it sees none of your files and has no network; without it, it has all your permissions.
    A notebook's code can make its checks pass, so a grade is only as reliable as the student is honest.

    Parameters
    ----------
    folder
        Folder of the notebooks, with subfolders of any depth.
    output
        File of the table, with a row for each notebook; - for standard output.
    marks
        A file with the marks of the exercises: lines such as `three_uses = 2` in a .toml file, `three_uses,2` in a .csv file.
    feedback_in
        Folder in which to write a page of feedback for each student.
    json
        Write the results as JSON instead, with all messages of the checks.
    """
    place = None if json or output in STDOUT else place_of(output)
    worth = None
    if marks is not None:
        mine = exercises_of(folder, running)
        try:
            worth = read_marks(marks, mine.exercises if mine else ())
        except ValueError as wrong:
            raise Usage(f"{wrong}.".replace("..", ".")) from None
    all_of_them = results(folder, running, pictures=feedback_in is not None)
    for one in all_of_them:
        one.marks = worth
    if worth is not None and (without := {name for one in all_of_them for name in one.statuses} - set(worth)):
        print(f"minigrad: without marks: {', '.join(sorted(without))}", file=sys.stderr)
    if feedback_in is not None:
        try:
            pages = feedback.write(all_of_them, feedback_in)
        except OSError as wrong:
            raise Usage(f"{feedback_in} cannot be written: {wrong.strerror}.") from None
        print(f"wrote {feedback_in}: {len(pages)} pages", file=sys.stderr)
    if json:
        print(js.dumps([one.to_dict() for one in all_of_them], indent=1))
    elif place is None:
        write_csv(all_of_them, sys.stdout)
    else:
        table = io.StringIO(newline="")
        write_csv(all_of_them, table)
        deliver(table.getvalue().encode(), place)
        print(f"wrote {place}: {sum(bool(one.file) for one in all_of_them)} notebooks")


def report(folder: Path, /, *, output: Output = "report.html", running: Running = USUAL) -> None:
    """Grade a folder of notebooks and write a page about the class.

    The page begins with the exercises that few have solved, the students who need help and the most frequent mistakes.
    The results of each exercise and of each student follow.
    It is one file without scripts, for screens, phones and paper.  The notebooks run as for `grade`.

    Parameters
    ----------
    folder
        Folder of the notebooks, with subfolders of any depth.
    output
        File of the page; - for standard output.
    """
    place = None if output in STDOUT else place_of(output)
    all_of_them = results(folder, running)
    deliver(page(f"Lessons: {folder.resolve().name}", all_of_them).encode(), place)
    if place is not None:
        print(f"wrote {place}: {sum(bool(one.file) for one in all_of_them)} notebooks")


def bank(*topics: str, level: Levels = (), json: Json = False) -> None:
    """List the exercises of the bank.

    Parameters
    ----------
    topics
        Topics to list, such as memory; without them, all.
    level
        Only exercises of this difficulty, from 1 to 3; repeat it for more.
    json
        Write the list as JSON: {name, topic, level, title}.
    """
    from .bank import LEVELS, TOPICS, entries

    chosen = [the_topic(word) for word in topics] or [*TOPICS]
    found = [one for one in entries().values() if one.topic in chosen and one.level in (level or LEVELS)]
    if json:
        rows = [{"name": one.name, "topic": one.topic, "level": one.level, "title": one.title} for one in found]
        print(js.dumps(rows, indent=1))
        return
    for topic in chosen:
        print(f"{TOPICS[topic]} ({topic})")
        for one in sorted((one for one in found if one.topic == topic), key=lambda one: one.level):
            print(f"  {one.level}  {one.name:30} {one.title}")
    levels = ", ".join(f"{number} is {words}" for number, words in LEVELS.items())
    print(f"\n{len(found)} exercises. Difficulty: {levels}.")


def sheet(
    *exercises: str,
    student: Annotated[tuple[str, ...], Parameter(name=["--student", "-s"], negative="")] = (),
    names: Annotated[Path | None, Parameter(name=["--class"])] = None,
    title: Annotated[str, Parameter(name=["--title", "-t"])] = "Exercises",
    level: Levels = (),
    count: Annotated[int, Parameter(name=["--count", "-n"])] = 6,
    folder: Folder = HERE,
    instructor: Annotated[bool, Parameter(name=["--instructor"], negative="", show_default=False)] = False,
) -> None:
    """Write a notebook of exercises from the bank for each student, in which every student gets different numbers.

    The title chooses the exercises among those of the topics, so the same title gives the whole class the same ones.
    `minigrad lessons grade` and `report` know the notebooks.

    Parameters
    ----------
    exercises
        Topics, such as memory, and names of exercises; without them, all topics.
    student
        A student's name; repeat it for more.
    names
        A file with a student's name in each line, or a .csv file.
    title
        The title of the sheet.
    level
        Only exercises of this difficulty, from 1 to 3; repeat it for more.
    count
        The number of exercises.
    folder
        Folder of the notebooks.
    instructor
        Write the instructor's notebooks, with solutions, hints and common mistakes.
    """
    from . import sheet as sheets

    needed("nbformat")
    students = [*dict.fromkeys(name.strip() for name in (*student, *class_of(names)) if name.strip())]
    if not students:
        raise Usage("a sheet needs a student: --student NAME, or --class FILE with a name in each line.")
    if count < 1:
        raise Usage("--count must be at least 1.")
    try:
        chosen = sheets.chosen(title, exercises, level, count)
        made = [sheets.checked(sheets.Sheet(title, name, chosen)) for name in students]
    except ValueError as wrong:
        raise Usage(f"{wrong}.") from None
    files = [one.file for one in made]
    if twice := [one for one in made if files.count(one.file) > 1]:
        raise Usage(f"two students would get the file {twice[0].file}: make their names differ in letters or digits.")
    for one in made:
        try:
            path, new = sheets.write(one, folder, instructor)
        except LookupError as wrong:
            raise Usage(f"{wrong}.") from None
        print(f"{'wrote' if new else 'already exists:'} {path}")


def package(
    *,
    solutions: Annotated[
        bool, Parameter(name=["--solutions"], negative="--without-solutions", show_default=False)
    ] = True,
    folder: Annotated[Path, Parameter(name=["--folder", "-d"])] = Path("."),
) -> None:
    """Write a wheel of minigrad that a class installs with pip, if you like without the solutions of the exercises.

    Without them, `lessons.solution` and the instructor's notebooks say that there are none.  The checks need the right numbers,
    so they stay in the wheel, where a student who reads the source finds them.

    Parameters
    ----------
    solutions
        --without-solutions leaves out the solutions of the lessons and of the exercise bank.
    folder
        Folder of the wheel.
    """
    from . import package as wheel

    try:
        print(f"wrote {wheel.write(folder, solutions)}")
    except LookupError as wrong:
        raise Usage(f"{wrong}. To install: {install('lessons')}") from None
    except OSError as wrong:
        raise Usage(f"{folder} cannot be written: {wrong.strerror}.") from None


def results(folder: Path, running: Running, pictures: bool = False) -> list[Graded]:
    """Run a class's notebooks; raise Usage, before anything runs, for a wrong folder, option or file."""
    from .students import assign

    if not folder.is_dir():
        raise Usage(f"there is no folder {folder}.")
    if min(running.seconds, running.total) <= 0 or running.memory < 0 or running.jobs < 1:
        raise Usage("--seconds, --total and --jobs must be greater than 0, and --memory at least 0.")
    needed("IPython")
    limits = Limits(running.seconds, running.total, int(running.memory * 2**30))
    pattern, listed, mine = pattern_of(running.student), class_of(running.names), exercises_of(folder, running)
    if running.names is not None and not listed:
        raise Usage(f"{running.names} has no names: write one in each line.")
    if mine is not None:
        print(f"exercises from {mine.path}: {', '.join(mine.exercises)}", file=sys.stderr)
    if not confinement():
        print(f"minigrad: {UNCONFINED}", file=sys.stderr)
    found = grade_folder(folder, limits, running.jobs, lambda one: print(line(one), file=sys.stderr), mine, pictures)
    if not found:
        raise Usage(f"there are no notebooks (*.ipynb) in {folder}.")
    return assign(found, pattern, listed)


def pattern_of(text: str) -> re.Pattern | None:
    """Return the pattern for students' names; raise Usage if it is none, or has no group `student`."""
    try:
        pattern = re.compile(text)
    except re.error as wrong:
        raise Usage(f"--student {text!r} is not a regular expression: {wrong}.") from None
    if text and "student" not in pattern.groupindex:
        raise Usage(f"--student {text!r} has no group for the name: write (?P<student>...) around it.")
    return pattern if text else None


def class_of(path: Path | None) -> list[str]:
    """Return the names in a file; raise Usage if it cannot be read."""
    from .students import read_class

    try:
        return read_class(path) if path else []
    except (OSError, UnicodeDecodeError) as wrong:
        raise Usage(f"{path} cannot be read: {getattr(wrong, 'strerror', None) or wrong}.") from None


def exercises_of(folder: Path, running: Running) -> own.Own | None:
    """Return the teacher's exercises: those of the option, or in the folder; raise Usage for a file that has none."""
    if running.exercises is None:
        return own_beside(folder)
    try:
        return own.read(running.exercises)
    except ValueError as wrong:
        raise Usage(f"{wrong}.") from None


def own_beside(folder: Path) -> own.Own | None:
    """Return a teacher's exercises in a folder, or None; raise Usage if the file has none."""
    try:
        return own.beside(folder)
    except ValueError as wrong:
        raise Usage(f"{wrong}.") from None


def the_topic(word: str) -> str:
    """Return the topic of the bank that a word names; raise Usage if there is none."""
    from .sheet import topic

    try:
        return topic(word)
    except ValueError as wrong:
        raise Usage(f"{wrong}.") from None


def needed(*modules: str) -> None:
    """Raise Usage with the command that installs missing modules; the list of lessons needs none of them."""
    if missing := [name for name in modules if find_spec(name) is None]:
        raise Usage(f"not installed: {' and '.join(missing)}. To install: {install('lessons')}")


def line(graded: Graded) -> str:
    """Describe a grade in one line, without control characters for a terminal."""
    notes = f"  ({'; '.join([*graded.notes, *graded.remarks])})" if graded.notes or graded.remarks else ""
    return clean(f"{graded.points}/{len(graded.statuses)}  {graded.file}{notes}")
