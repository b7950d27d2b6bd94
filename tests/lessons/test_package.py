"""A wheel for a class: without solutions it installs and runs, and says that there are none."""

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from lessons import as_notebook, catalogue, instructor, lesson, package
from lessons.bank import entries
from lessons.exercise import solution
from tests.viz import command

USE = """
import sys, lessons
from pathlib import Path
assert Path(lessons.__file__).is_relative_to(sys.argv[1]), lessons.__file__
assert lessons.check("three_uses", 12.0) and not lessons.check("three_uses", 4.0)
for name in ("three_uses", "slope_of_a_power"):
    try:
        print(lessons.solution(name))
    except LookupError as e:
        print(e)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Return a wheel without solutions."""
    return package.write(tmp_path_factory.mktemp("wheel"), solutions=False)


def test_a_wheel_without_solutions_has_checks_and_no_solution(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert "+class-py3-none-any.whl" in wheel.name and "lessons/exercises/01_numbers_that_remember.py" in names
    assert not [name for name in names if "solutions" in name.split("/") or "__pycache__" in name]
    whole = zipfile.ZipFile(package.write(wheel.parent)).namelist()
    assert "lessons/solutions/01_numbers_that_remember.py" in whole and len(whole) > len(names)


def test_a_student_with_the_wheel_is_told_that_there_is_no_solution(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as file:
        file.extractall(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", USE, str(tmp_path)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    three, slope = done.stdout.splitlines()
    assert three == "the solutions of lesson 1 are not on this machine: your teacher may have them"
    assert slope == "the solution of slope_of_a_power is not on this machine: your teacher may have it"


@pytest.mark.slow
def test_pip_installs_the_wheel(wheel, tmp_path):
    venv.create(tmp_path / "v", with_pip=True)
    python = tmp_path / "v" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel], check=True)
    done = subprocess.run([python, "-m", "pip", "show", "minigrad-viz"], capture_output=True, text=True, check=True)
    assert "+class" in done.stdout


def test_no_task_of_the_bank_keeps_a_solution():
    found = {}
    for topic in {one.topic for one in entries().values()}:
        source = package.unsolved((catalogue.FOLDER / "bank" / f"{topic}.py").read_bytes())
        names = {"__name__": f"lessons.bank.{topic}", "__package__": "lessons.bank"}
        exec(compile(source, topic, "exec"), names)
        found |= {name: one for name, one in names.items() if type(one) is type(next(iter(entries().values())))}
    assert set(found) == set(entries())
    assert not [name for name, one in found.items() if one.task("ann").solution or one.task("ann").why == ""]


def test_the_commands_say_that_there_is_no_solution(tmp_path, monkeypatch):
    one = lesson(1)
    exists = Path.exists
    monkeypatch.setattr(instructor.Path, "exists", lambda path: "solutions" not in path.parts and exists(path))
    with pytest.raises(LookupError, match="solutions of lesson 1 are not on this machine"):
        instructor.solutions(one)
    with pytest.raises(LookupError, match="solutions of lesson 1"):
        solution("three_uses")
    with pytest.raises(LookupError, match="solutions of lesson 1"):
        as_notebook.write(one, tmp_path, solved=True)
    assert as_notebook.write(one, tmp_path) and [path.name for path in tmp_path.iterdir()] == [f"{one.name}.ipynb"]
    monkeypatch.undo()
    done = command.minigrad(tmp_path, "lessons", "package", "--without-solutions", "--folder", "out")
    (made,) = (tmp_path / "out").glob("*+class-*.whl")
    assert done.stdout.decode().strip() == f"wrote {Path('out') / made.name}"
    (tmp_path / "file").write_text("")
    assert b"cannot be written" in command.minigrad(tmp_path, "lessons", "package", "-d", "file").stderr
    monkeypatch.setattr(package, "NAME", "minigrad-none")
    with pytest.raises(LookupError, match="minigrad-none is not installed"):
        package.write(tmp_path)
