"""`minigrad lessons`: list lessons with progress; open, check and reset a lesson's notebook; grade a class and report on it."""

from __future__ import annotations

import io
import json as js
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from minigrad.config import install
from viz.commands.common import STDOUT, Json, place_of, working
from viz.commands.render_command import deliver
from viz.errors import Usage
from viz.text import clean

from . import as_notebook, feedback, own, progress
from .catalogue import Lesson, all_lessons, lesson
from .class_report import page
from .confinement import confinement
from .exercise import COLOURS, SIGNS
from .grading import Graded, Limits, grade, grade_folder
from .table import read_marks, write_csv
from .tracks import tracks

EXAMPLES = """Examples:

  minigrad lessons                  all lessons by track, and the solved exercises
  minigrad lessons open 1           lesson 1, as a notebook in JupyterLab
  minigrad lessons open build 1     the first step to an engine that you write
  minigrad lessons check 1          run the notebook and judge its answers
  minigrad lessons reset 1          start again; the old notebook is kept
  minigrad lessons grade handed_in  a table of what each student solved
  minigrad lessons grade handed_in --class names.txt --marks marks.toml --feedback pages
                                    with marks, missing notebooks, and a page for each student
  minigrad lessons report handed_in a page of the class's mistakes
  minigrad lessons package --without-solutions
                                    a wheel that the class installs
  minigrad lessons bank             all exercises of the bank, by topic
  minigrad lessons sheet memory --class names.txt --title "Week 5"
                                    a notebook for each student"""

app = App(
    name="lessons",
    help_format="plaintext",
    help_epilogue=EXAMPLES,
)

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


@app.default
def listed(*, json: Json = False) -> None:
    """List the lessons and the solved exercises, track by track.

    Parameters
    ----------
    json
        Write the list as JSON: {number, name, title, minutes, home, needs, tracks, exercises}, the last as
        {name: day of its solution or null}.
        The numbers of steps of the track "Build it" are those of the track, and their names begin with build.
    """
    days = progress.load()
    if json:
        rows = [{"number": one.number, "name": one.name, "title": one.title, "minutes": one.minutes, "home": one.home,
                 "needs": one.needs, "tracks": [track.name for track in tracks() if one in track.lessons],
                 "exercises": {name: days.get(name) for name in one.exercises}}
                 for one in all_lessons()]  # fmt: skip
        print(js.dumps(rows, indent=1))
        return
    from rich.console import Console

    progress.show(tracks(), days, Console(highlight=False))


@app.command(help_epilogue="")
def open(
    which: str,
    step: str = "",
    /,
    *,
    folder: Folder = HERE,
    clean: Annotated[bool, Parameter(name=["--clean"], negative="", show_default=False)] = False,
    instructor: Annotated[bool, Parameter(name=["--instructor"], negative="", show_default=False)] = False,
    lab: Annotated[bool, Parameter(name=["--lab"], negative="--no-lab", show_default=False)] = True,
) -> None:
    """Write a lesson's notebook and open it in JupyterLab.

    An existing notebook is opened unchanged.  Beside the notebook of a step of the track "Build it" is engine.py, the engine
    as far as the learner has written it.

    Parameters
    ----------
    which
        The number of the lesson, or its name; `build` for a step of the track.
    step
        After `build`, the number of the step.
    folder
        Folder of the notebooks.
    clean
        Begin the step with an engine.py in which all earlier steps are solved; the old file is kept under another name.
    instructor
        Open the instructor's notebook, with solutions, and with hints and common mistakes below each exercise.
    lab
        Start JupyterLab; --no-lab only writes the notebook.
    """
    one = known(which, step)
    if clean and not one.folder:
        raise Usage("--clean is for the steps of the track, such as `minigrad lessons open build 5 --clean`.")
    needed("jupytext", *(["jupyterlab"] if lab else []))
    new, path = write(one, folder, instructor), as_notebook.place(one, folder, instructor)
    print(f"{'wrote' if new else 'already exists:'} {path}", flush=True)
    if one.folder:
        print(engine(one, folder, clean), flush=True)
    if lab:
        command = [sys.executable, "-m", "jupyterlab", path.name]
        # users of containers are root, which Jupyter refuses by default
        command += ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        try:
            sys.exit(subprocess.call(command, cwd=folder))
        except KeyboardInterrupt:  # the usual way to end JupyterLab
            sys.exit(0)


@app.command(help_epilogue="")
def check(which: str, step: str = "", /, *, folder: Folder = HERE, json: Json = False) -> None:
    """Run a lesson's notebook and judge its answers; exit with 1 if not all are right.

    Parameters
    ----------
    which
        The number of the lesson, its name, or the path of a notebook; `build` for a step of the track.
    step
        After `build`, the number of the step.
    folder
        Folder of the notebooks.
    json
        Write the verdicts as JSON.
    """
    path = Path(which) if which.endswith(".ipynb") else as_notebook.place(known(which, step), folder)
    if not path.exists():
        raise Usage(
            f"there is no {path}. "
            + (
                f"minigrad lessons open {which} {step}".rstrip() + " writes it."
                if path.name != which
                else "Name a notebook."
            )
        )
    needed("IPython")
    with working(f"running {path}"):
        graded = grade(path, Limits(memory=0), own_folder=False, exercises=own_beside(path.parent))
    if json:
        print(js.dumps(graded.to_dict(), indent=1))
    else:
        show(graded)
    if not graded.statuses or graded.points < len(graded.statuses):
        sys.exit(1)


@app.command(help_epilogue="")
def reset(which: str, step: str = "", /, *, folder: Folder = HERE) -> None:
    """Start a lesson again, with a fresh notebook and no solved exercises.

    The old notebook is kept under another name.  A step leaves engine.py as it is; `open build 5 --clean` replaces it.

    Parameters
    ----------
    which
        The number of the lesson, or its name; `build` for a step of the track.
    step
        After `build`, the number of the step.
    folder
        Folder of the notebooks.
    """
    one = known(which, step)
    needed("jupytext")
    kept = as_notebook.set_aside(one, folder)
    write(one, folder)
    progress.forget(one.exercises)
    print(f"wrote {as_notebook.place(one, folder)}" + (f"; the old notebook is now {kept}" if kept else ""))


@app.command(name="grade", help_epilogue="")
def graded(
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


@app.command(help_epilogue="")
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


@app.command(help_epilogue="")
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


@app.command(name="sheet", help_epilogue="")
def sheets(
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
    from . import sheet

    needed("nbformat")
    students = [*dict.fromkeys(name.strip() for name in (*student, *class_of(names)) if name.strip())]
    if not students:
        raise Usage("a sheet needs a student: --student NAME, or --class FILE with a name in each line.")
    if count < 1:
        raise Usage("--count must be at least 1.")
    try:
        chosen = sheet.chosen(title, exercises, level, count)
        made = [sheet.checked(sheet.Sheet(title, name, chosen)) for name in students]
    except ValueError as wrong:
        raise Usage(f"{wrong}.") from None
    files = [one.file for one in made]
    if twice := [one for one in made if files.count(one.file) > 1]:
        raise Usage(f"two students would get the file {twice[0].file}: make their names differ in letters or digits.")
    for one in made:
        try:
            path, new = sheet.write(one, folder, instructor)
        except LookupError as wrong:
            raise Usage(f"{wrong}.") from None
        print(f"{'wrote' if new else 'already exists:'} {path}")


@app.command(help_epilogue="")
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


def engine(one: Lesson, folder: Path, clean: bool) -> str:
    """Put engine.py beside the notebook of a step, and return what happened to it; raise Usage if it cannot be written."""
    from . import build

    place = folder / build.ENGINE
    if place.exists() and not clean:
        return f"already exists: {place}"
    try:
        kept = as_notebook.aside(place) if place.exists() else None
        place.write_text(build.state(one.number), encoding="utf-8")
    except OSError as wrong:
        raise Usage(f"{place} cannot be written: {wrong.strerror}.") from None
    return f"wrote {place}, with the steps before this one solved" + (f"; the old file is now {kept}" if kept else "")


def known(which: str, step: str = "") -> Lesson:
    """Return the lesson with a number or name, or a step of the track; raise Usage if there is none."""
    try:
        return lesson(f"{which} {step}".rstrip())
    except ValueError as wrong:
        raise Usage(f"{wrong}. `minigrad lessons` lists them.") from None


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


def write(one: Lesson, folder: Path, solved: bool = False) -> bool:
    """Write a notebook; raise Usage if the file cannot be written, or if there are no solutions for it."""
    try:
        return as_notebook.write(one, folder, solved)
    except LookupError as wrong:
        raise Usage(f"{wrong}.") from None
    except OSError as wrong:
        raise Usage(f"{as_notebook.place(one, folder)} cannot be written: {wrong.strerror}.") from None


def line(graded: Graded) -> str:
    """Describe a grade in one line, without control characters for a terminal."""
    notes = f"  ({'; '.join([*graded.notes, *graded.remarks])})" if graded.notes or graded.remarks else ""
    return clean(f"{graded.points}/{len(graded.statuses)}  {graded.file}{notes}")


def show(graded: Graded) -> None:
    """Print the verdicts for a learner at the terminal."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for name, status in graded.statuses.items():
        message = graded.messages.get(name, f"the notebook does not define {name}")
        console.print(
            Text(f"{SIGNS.get(status, '○')} {name}: {message}", style=COLOURS.get(status, "")), soft_wrap=True
        )
    for note in graded.notes:
        console.print(Text(note, style="yellow"), soft_wrap=True)
    console.print(f"{graded.points} of {len(graded.statuses)} solved")
