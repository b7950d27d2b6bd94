"""The lessons from a wheel: in an empty folder, on each Python of this machine, each notebook runs from top to bottom.

The newest Python runs every eighth; the nightly workflow runs the rest.
"""

import os
import subprocess

import pytest

from lessons import lessons
from tools import wheels
from tools.interpreters import interpreters

from .test_lessons import marks

RUN = """
import sys, warnings
import nbformat, minigrad, viz, lessons
from lessons.as_notebook import notebook
from nbclient import NotebookClient
warnings.simplefilter("ignore")
for package in (minigrad, viz, lessons):
    assert package.__file__.startswith(sys.prefix), package.__file__
one = lessons.lesson(int(sys.argv[1]))
made = nbformat.reads(notebook(one, installs=True), as_version=4)
NotebookClient(made, timeout=300, kernel_name="python3", resources={"metadata": {"path": "."}}).execute()
said = "".join(output.get("text", "") for cell in made.cells for output in cell.get("outputs", ()))
assert "Traceback" not in said, said
"""


def rows():
    """Yield each version of Python with each lesson."""
    found = interpreters()
    for version, path in found.items():
        for one in lessons():
            often = version == list(found)[-1] and one.number % 8 == 1
            skips = [*marks(one), *([] if often else [pytest.mark.nightly])]
            yield pytest.param(version, path, one, marks=skips, id=f"{version}-{one.name}")


@pytest.mark.slow
@pytest.mark.parametrize("version, path, one", list(rows()))
def test_lesson_runs_from_a_wheel_in_an_empty_folder(version, path, one, tmp_path):
    python = wheels.environment(version, path)  # at night made before the tests
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NUMBA_"))}
    ran = subprocess.run(
        [python, "-c", RUN, str(one.number)], cwd=tmp_path, env=outside, capture_output=True, text=True, timeout=900
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
