"""`minigrad lessons`: the list with progress, a lesson as a notebook, its check, a fresh start, and grades for a class."""

from __future__ import annotations

import io
import json as js
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from viz.commands.common import STDOUT, Json, place_of, working
from viz.commands.render_command import deliver
from viz.run_program import Usage
from viz.text import clean

from . import as_notebook, progress
from .catalogue import Lesson, lesson, lessons
from .confinement import confinement
from .exercise import COLOURS, SIGNS
from .grading import Graded, Limits, grade, grade_folder, write_csv

EXAMPLES = """Examples:

  minigrad lessons                  all lessons, and which exercises are solved
  minigrad lessons open 1           the first one, as a notebook in JupyterLab
  minigrad lessons check 1          run the notebook, and say what is right
  minigrad lessons reset 1          begin again; the old notebook is kept
  minigrad lessons grade handed_in  a table of what a class has solved"""

app = App(
    name="lessons",
    help="Learn: notebooks about each idea of automatic differentiation, with exercises that check themselves.",
    help_format="plaintext",
    help_epilogue=EXAMPLES,
)

UNCONFINED = (
    "the notebooks run with your rights, for bubblewrap (bwrap) is not there, may not work here, or Python and its packages do "
    "not start in it: run this in a container without a network for a class that you do not trust."
)
if not sys.platform.startswith("linux"):
    UNCONFINED += " Processes that a notebook leaves in sessions of their own are not ended on this system."
Folder = Annotated[Path, Parameter(name=["--folder", "-d"])]
HERE = Path("minigrad-lessons")


@app.default
def listed(*, json: Json = False) -> None:
    """List the lessons with what is solved of each.

    Parameters
    ----------
    json
        Write the list as JSON: {number, name, title, minutes, needs, exercises: {name: day on which it was solved or null}}.
    """
    days = progress.load()
    if json:
        rows = [{"number": one.number, "name": one.name, "title": one.title, "minutes": one.minutes, "needs": one.needs,
                 "exercises": {name: days.get(name) for name in one.exercises}} for one in lessons()]  # fmt: skip
        print(js.dumps(rows, indent=1))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, show_header=False, pad_edge=False)
    for one in lessons():
        solved = [name in days for name in one.exercises]
        marks = "".join("●" if done else "○" for done in solved)
        style = "green" if all(solved) else ""
        table.add_row(f"{one.number:2}", f" {one.title}", f" {one.minutes} min", f" {marks}", style=style)
    console = Console(highlight=False)
    console.print(table)
    open_ones = [one for one in lessons() if not all(name in days for name in one.exercises)]
    if open_ones:
        console.print(f"\nNext: minigrad lessons open {open_ones[0].number}")


@app.command(help_epilogue="")
def open(
    which: str,
    /,
    *,
    folder: Folder = HERE,
    lab: Annotated[bool, Parameter(name=["--lab"], negative="--no-lab", show_default=False)] = True,
) -> None:
    """Write the notebook of a lesson, and start JupyterLab with it.

    A notebook that is there already is opened as it is.

    Parameters
    ----------
    which
        The number of the lesson, or its name.
    folder
        Where the notebooks lie.
    lab
        Start JupyterLab; --no-lab only writes the notebook.
    """
    one = known(which)
    needed("jupytext", *(["jupyterlab"] if lab else []))
    new = write(one, folder)
    print(f"{'wrote' if new else 'there is already'} {as_notebook.place(one, folder)}", flush=True)
    if lab:
        command = [sys.executable, "-m", "jupyterlab", str(as_notebook.place(one, folder).name)]
        # a container's user is root, whom Jupyter refuses unless told
        command += ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        try:
            sys.exit(subprocess.call(command, cwd=folder))
        except KeyboardInterrupt:  # the usual way to end JupyterLab
            sys.exit(0)


@app.command(help_epilogue="")
def check(which: str, /, *, folder: Folder = HERE, json: Json = False) -> None:
    """Run the notebook of a lesson, and say which answers are right; ends with 1 if not all are.

    Parameters
    ----------
    which
        The number of the lesson, its name, or the path of a notebook.
    folder
        Where the notebooks lie.
    json
        Write the verdicts as JSON.
    """
    path = Path(which) if which.endswith(".ipynb") else as_notebook.place(known(which), folder)
    if not path.exists():
        raise Usage(f"there is no {path}. minigrad lessons open {which} writes it.")
    needed("IPython")
    with working(f"running {path}"):
        graded = grade(path, Limits(memory=0), own_folder=False)
    if json:
        print(js.dumps(graded.to_dict(), indent=1))
    else:
        show(graded)
    if not graded.statuses or graded.points < len(graded.statuses):
        sys.exit(1)


@app.command(help_epilogue="")
def reset(which: str, /, *, folder: Folder = HERE) -> None:
    """Begin a lesson again: a fresh notebook, nothing solved.

    The old notebook is kept under another name.

    Parameters
    ----------
    which
        The number of the lesson, or its name.
    folder
        Where the notebooks lie.
    """
    one = known(which)
    needed("jupytext")
    kept = as_notebook.set_aside(one, folder)
    write(one, folder)
    progress.forget(one.exercises)
    print(f"wrote {as_notebook.place(one, folder)}" + (f"; what was there is now {kept}" if kept else ""))


@app.command(name="grade", help_epilogue="")
def graded(
    folder: Path,
    /,
    *,
    output: Annotated[str, Parameter(name=["--output", "-o"], allow_leading_hyphen=True)] = "grades.csv",
    seconds: Annotated[float, Parameter(name=["--seconds"])] = 120.0,
    total: Annotated[float, Parameter(name=["--total"])] = 600.0,
    memory: Annotated[float, Parameter(name=["--memory"])] = 4.0,
    jobs: Annotated[int, Parameter(name=["--jobs", "-j"])] = 2,
    json: Json = False,
) -> None:
    """Run the checks on a folder of notebooks, and write a table of the results.

    Each notebook runs in processes of its own, with limits, in an empty folder that is removed.
    With bubblewrap (on Linux) it sees none of your files and has no network; without it, it has all your rights.
    A notebook's code can make its checks pass: a mark is worth as much as the learner is honest.

    Parameters
    ----------
    folder
        Where the notebooks lie, in folders of any depth.
    output
        The table to write, with a row for each notebook; - for the standard output.
    seconds
        How long one cell, or one check, may take.
    total
        How long a notebook may take; what was checked until then counts.
    memory
        GiB that a notebook may use beyond what minigrad needs (on Linux); 0 for any.
    jobs
        How many notebooks run at a time.
    json
        Write the results as JSON instead, with all that the checks said.
    """
    if not folder.is_dir():
        raise Usage(f"there is no folder {folder}.")
    if min(seconds, total) <= 0 or memory < 0 or jobs < 1:
        raise Usage("--seconds, --total and --jobs have to be greater than 0, and --memory must not be less than 0.")
    place = None if json or output in STDOUT else place_of(output)
    needed("IPython")
    limits = Limits(seconds, total, int(memory * 2**30))
    if not confinement():
        print(f"minigrad: {UNCONFINED}", file=sys.stderr)
    all_of_them = grade_folder(folder, limits, jobs, lambda one: print(line(one), file=sys.stderr))
    if not all_of_them:
        raise Usage(f"there are no notebooks (*.ipynb) in {folder}.")
    if json:
        print(js.dumps([one.to_dict() for one in all_of_them], indent=1))
    elif place is None:
        write_csv(all_of_them, sys.stdout)
    else:
        table = io.StringIO(newline="")
        write_csv(all_of_them, table)
        deliver(table.getvalue().encode(), place)
        print(f"wrote {place}: {len(all_of_them)} notebooks")


def known(which: str) -> Lesson:
    """The lesson that is meant."""
    try:
        return lesson(which)
    except ValueError as wrong:
        raise Usage(f"{wrong}. `minigrad lessons` lists them.") from None


def needed(*modules: str) -> None:
    """Say what to install where a module is missing; the list of lessons needs none of them."""
    if missing := [name for name in modules if find_spec(name) is None]:
        raise Usage(f"{' and '.join(missing)} is not installed. For the notebooks: pip install 'minigrad-viz[lessons]'")


def write(one: Lesson, folder: Path) -> bool:
    """Write a notebook, or say why that cannot be done."""
    try:
        return as_notebook.write(one, folder)
    except OSError as wrong:
        raise Usage(f"{as_notebook.place(one, folder)} cannot be written: {wrong.strerror}.") from None


def line(graded: Graded) -> str:
    """Return a notebook in one line, in which nothing commands a terminal."""
    notes = f"  ({'; '.join(graded.notes)})" if graded.notes else ""
    return clean(f"{graded.points}/{len(graded.statuses)}  {graded.file}{notes}")


def show(graded: Graded) -> None:
    """The verdicts for a learner at the terminal."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for name, status in graded.statuses.items():
        said = graded.messages.get(name, "there is no such name after the last cell")
        console.print(Text(f"{SIGNS.get(status, '○')} {name}: {said}", style=COLOURS.get(status, "")), soft_wrap=True)
    for note in graded.notes:
        console.print(Text(note, style="yellow"), soft_wrap=True)
    console.print(f"{graded.points} of {len(graded.statuses)} solved")
