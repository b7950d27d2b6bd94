"""`minigrad lessons` runs as a separate process in an empty folder."""

import csv
import functools
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest
from rich.console import Console

from lessons import lesson, lessons, progress, steps
from tests.viz import command

from .solved import solutions, solved

pytest.importorskip("jupytext")
ONE = lesson(1)
minigrad = functools.partial(command.minigrad, needs="jupytext")
WRITTEN = f"minigrad-lessons/{ONE.name}.ipynb"


def solve(path):
    """Fill the gaps of the first lesson's notebook with its solutions."""
    document = json.loads(path.read_text())
    for cell in document["cells"]:
        cell["source"] = "\n".join(solved("".join(cell["source"]), solutions(ONE)))
    path.write_text(json.dumps(document))


def test_the_list_shows_what_is_solve(tmp_path):
    done = minigrad(tmp_path, "lessons")
    assert done.returncode == 0 and re.search(r"^ 1  .* 0 of 5$", done.stdout.decode(), re.MULTILINE)
    assert "Next: minigrad lessons open 1" in done.stdout.decode()
    (tmp_path / "progress.json").write_text(json.dumps({"three_uses": "2026-01-01"}))
    assert re.search(r"^ 1  .* 1 of 5$", minigrad(tmp_path, "lessons").stdout.decode(), re.MULTILINE)
    listed = json.loads(minigrad(tmp_path, "lessons", "--json").stdout)
    assert len(listed) == len(lessons()) + len(steps()) and listed[0]["exercises"]["three_uses"] == "2026-01-01"


def shown(days, **options):
    """Return the list of the first two lessons, as a console with these options prints it."""
    console = Console(file=io.StringIO(), width=100, **options)
    progress.show(lessons()[:2], dict.fromkeys(days, "2026-01-01"), console)
    return console.file.getvalue()


def test_a_terminal_gets_a_bar_as_long_as_what_is_solved():
    at_terminal = {"force_terminal": True, "color_system": "standard", "no_color": False, "legacy_windows": False}
    two = [ONE.exercises[0], ONE.exercises[2]]
    first, second = (line for line in shown(two, **at_terminal).splitlines() if " min " in line)
    solved = re.findall(r"\x1b\[\S*?m(━+)", first)
    assert len(solved[0]) == progress.WIDTH * 2 // 5 and "2 of 5" in first and "0 of" in second
    assert "━" not in shown(two) and "\x1b" not in shown(two) and "2 of 5" in shown(two)


def test_when_all_is_solved_no_lesson_is_next():
    all_names = [name for one in lessons()[:2] for name in one.exercises]
    assert "Next" in shown(all_names[1:]) and "Next" not in shown(all_names)
    assert f"{len(all_names)} of {len(all_names)} exercises solved." in shown(all_names)


def test_a_learner_opens_solves_checks_and_resets(tmp_path):
    done = minigrad(tmp_path, "lessons", "open", "1", "--no-lab")
    assert done.stdout.decode() == f"wrote {WRITTEN}\n", done.stderr.decode()
    done = minigrad(tmp_path, "lessons", "check", "1")
    assert done.returncode == 1 and "○ three_uses: not answered yet" in done.stdout.decode()
    solve(tmp_path / WRITTEN)
    before = (tmp_path / WRITTEN).read_text()
    assert b"already exists" in minigrad(tmp_path, "lessons", "open", ONE.name, "--no-lab").stdout
    assert (tmp_path / WRITTEN).read_text() == before
    done = minigrad(tmp_path, "lessons", "check", "1")
    assert done.returncode == 0, done.stdout.decode()
    assert "5 of 5 solved" in done.stdout.decode()
    assert " 5 of 5" in minigrad(tmp_path, "lessons").stdout.decode()
    done = minigrad(tmp_path, "lessons", "reset", "1")
    assert done.returncode == 0 and "the old notebook is now" in done.stdout.decode()
    assert (tmp_path / "minigrad-lessons" / f"{ONE.name}.1.ipynb").read_text() == before
    assert " 5 of 5" not in minigrad(tmp_path, "lessons").stdout.decode()


def test_check_takes_a_path_and_writes_json(tmp_path):
    minigrad(tmp_path, "lessons", "open", "1", "--no-lab", "--folder", "mine")
    done = minigrad(tmp_path, "lessons", "check", f"mine/{ONE.name}.ipynb", "--json")
    graded = json.loads(done.stdout)
    assert done.returncode == 1 and graded["points"] == 0 and graded["of"] == len(ONE.exercises)


def test_an_instructor_opens_a_notebook_whose_answers_are_right(tmp_path):
    done = minigrad(tmp_path, "lessons", "open", "1", "--instructor", "--no-lab")
    path = f"minigrad-lessons/{ONE.name}.instructor.ipynb"
    assert done.stdout.decode() == f"wrote {path}\n", done.stderr.decode()
    done = minigrad(tmp_path, "lessons", "check", path)
    assert done.returncode == 0 and "5 of 5 solved" in done.stdout.decode()
    assert b"already exists" in minigrad(tmp_path, "lessons", "open", "1", "--instructor", "--no-lab").stdout
    assert b"wrote" in minigrad(tmp_path, "lessons", "open", "1", "--no-lab").stdout, "the learner's is another one"


def test_grade_writes_a_table(tmp_path):
    minigrad(tmp_path, "lessons", "open", "1", "--no-lab", "-d", "class/ann")
    solve(tmp_path / "class" / "ann" / f"{ONE.name}.ipynb")
    done = minigrad(tmp_path, "lessons", "grade", "class")
    assert done.returncode == 0 and done.stdout.decode() == "wrote grades.csv: 1 notebooks\n", done.stderr.decode()
    (row,) = csv.DictReader((tmp_path / "grades.csv").read_text().splitlines())
    assert (row["points"], row["count_paths"]) == (str(len(ONE.exercises)), "right")
    assert minigrad(tmp_path, "lessons", "grade", "class", "-o", "-").stdout.startswith(b"file,lesson,points")
    (graded,) = json.loads(minigrad(tmp_path, "lessons", "grade", "class", "--json").stdout)
    assert "Three edges" in graded["messages"]["three_uses"]
    assert not (tmp_path / "progress.json").exists()


@pytest.mark.parametrize(
    "words, said",
    [
        (("open", "99"), "there is no lesson 99: give a number from 1 to"),
        (("check", "1"), "minigrad lessons open 1 writes it"),
        (("check", "none.ipynb"), "there is no none.ipynb"),
        (("reset", "numbers"), "there is no lesson numbers"),
        (("grade", "nowhere"), "there is no folder nowhere"),
        (("grade", "."), "there are no notebooks"),
        (("grade", ".", "--jobs", "0"), "must be greater than 0"),
        (("grade", ".", "-o", "no/grades.csv"), "the folder no does not exist"),
        (("open", "1", "--no-lab", "-d", "/proc/nowhere"), "cannot be written"),
    ],
)
def test_what_cannot_be_done_is_said(tmp_path, words, said):
    done = minigrad(tmp_path, "lessons", *words)
    assert done.returncode == 2 and said in done.stderr.decode(), done.stderr.decode()
    assert not [p for p in tmp_path.iterdir() if p.name != "progress.json"]


def test_without_the_notebook_packages_the_list_still_comes(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as u\nold = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'jupytext' else old(name, *a)\n"
    )
    variables = {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    assert minigrad(tmp_path, "lessons", **variables).returncode == 0
    done = minigrad(tmp_path, "lessons", "open", "1", "--no-lab", **variables)
    assert done.returncode == 2 and b"pip install '.[lessons]' in a checkout of minigrad" in done.stderr


def answered(address):
    """Return the server's answer; the server names its address a little before it listens."""
    for _ in range(100):
        try:
            return urllib.request.urlopen(address)
        except urllib.error.URLError:
            time.sleep(0.2)
    raise AssertionError("JupyterLab did not answer")


@pytest.mark.slow
def test_open_starts_jupyterlab_with_the_notebook(tmp_path):
    pytest.importorskip("jupyterlab")
    own = {
        name: str(tmp_path / "jupyter") for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
    }
    server = subprocess.Popen(
        [sys.executable, "-m", "viz.cli", "lessons", "open", "1"],
        cwd=tmp_path, env={**os.environ, **own, "BROWSER": "true"}, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        found = next(
            filter(None, (re.search(r"http://127\.0\.0\.1:(\d+)/lab\S*token=(\w+)", l) for l in server.stderr))
        )
        address = f"http://127.0.0.1:{found[1]}/api/contents/{ONE.name}.ipynb?token={found[2]}"
        document = json.load(answered(address))
        assert document["content"]["metadata"]["minigrad"]["lesson"] == ONE.name
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.communicate()
