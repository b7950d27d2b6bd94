"""`minigrad lessons`: list lessons with progress; open, check and reset a notebook.  class_command.py is for teachers."""

from __future__ import annotations

import json as js
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from viz.commands.common import Json, working
from viz.errors import Usage

from . import as_notebook, class_command, progress
from .catalogue import Lesson, all_lessons, lesson
from .class_command import HERE, Folder, needed, own_beside
from .exercise import COLOURS, SIGNS
from .grading import Graded, Limits, grade
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


def write(one: Lesson, folder: Path, solved: bool = False) -> bool:
    """Write a notebook; raise Usage if the file cannot be written, or if there are no solutions for it."""
    try:
        return as_notebook.write(one, folder, solved)
    except LookupError as wrong:
        raise Usage(f"{wrong}.") from None
    except OSError as wrong:
        raise Usage(f"{as_notebook.place(one, folder)} cannot be written: {wrong.strerror}.") from None


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


for command in (
    class_command.grade,
    class_command.report,
    class_command.bank,
    class_command.sheet,
    class_command.package,
):
    app.command(command, help_epilogue="")
