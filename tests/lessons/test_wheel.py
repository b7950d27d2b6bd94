"""The lessons from a wheel: in an empty folder, on each Python of this machine, each notebook runs from top to bottom."""

import fcntl
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from lessons import lessons
from tools.interpreters import interpreters

from .test_lessons import marks

ROOT = Path(__file__).parent.parent.parent
CACHE = ROOT / ".cache" / "wheel"
PARTS = ("minigrad", "viz", "lessons", "pyproject.toml", "README.md", "LICENSE")  # whatever ends up in a wheel

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


def fingerprint():
    """Return the times and sizes of the files in the wheel."""
    files = [
        path for part in PARTS for path in ([ROOT / part] if (ROOT / part).is_file() else (ROOT / part).rglob("*"))
    ]
    kept = [path for path in files if path.is_file() and "__pycache__" not in path.parts]
    return json.dumps(sorted((str(path.relative_to(ROOT)), path.stat().st_mtime, path.stat().st_size) for path in kept))


@pytest.fixture(scope="session")
def environment():
    """Return a function that sets up an environment with the wheel for an interpreter; several workers share it."""

    def python_of(version, path):
        folder = CACHE / version
        folder.mkdir(parents=True, exist_ok=True)
        python, stamp, now = folder / "bin" / "python", folder / "built-from", fingerprint()
        with open(folder / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not stamp.exists() or stamp.read_text() != now:
                wheels = folder / "wheels"
                shutil.rmtree(wheels, ignore_errors=True)
                if not python.exists():
                    subprocess.run([path, "-m", "venv", folder], check=True)
                pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
                subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", wheels, ROOT], check=True)
                (wheel,) = wheels.glob("*.whl")
                subprocess.run([*pip, "install", f"{wheel}[lessons]"], check=True)
                subprocess.run([*pip, "install", "--no-deps", "--force-reinstall", wheel], check=True)
                stamp.write_text(now)
        return python

    return python_of


@pytest.mark.slow
@pytest.mark.parametrize("one", [pytest.param(one, marks=marks(one), id=one.name) for one in lessons()])
@pytest.mark.parametrize("version, path", interpreters().items())
def test_lesson_runs_from_a_wheel_in_an_empty_folder(version, path, one, environment, tmp_path):
    python = environment(version, path)
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NUMBA_"))}
    ran = subprocess.run(
        [python, "-c", RUN, str(one.number)], cwd=tmp_path, env=outside, capture_output=True, text=True, timeout=900
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
