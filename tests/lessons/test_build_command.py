"""The commands for the steps of "Build it", in an empty folder: the notebook, and engine.py beside it."""

import functools
import json
import re

import pytest

from lessons import build, catalogue, lesson, steps
from lessons.as_notebook import sources
from lessons.grading import Limits, grade
from lessons.instructor import solutions
from tests.viz import command

pytest.importorskip("jupytext")
minigrad = functools.partial(command.minigrad, needs="jupytext")


def test_a_step_is_found_by_its_words_and_its_names():
    first = steps()[0]
    assert first.called == "build 1" and first.name == "build_1_scalars" and lesson(1).called == "1"
    for words in ("build 1", "build  1", "build_1_scalars", "scalars"):
        assert lesson(words) is first
    for name in first.exercises:
        assert catalogue.of_exercise(name) is first
    assert lesson("1").number == 1 and not lesson("1").folder
    for unknown in ("build", "build 9", "build one"):
        with pytest.raises(ValueError, match=f"there is no lesson {unknown}: give .* build and a number from 1 to"):
            lesson(unknown)


def test_the_list_has_the_steps_and_what_is_solved(tmp_path):
    name = steps()[0].exercises[0]
    (tmp_path / "progress.json").write_text(json.dumps({name: "2026-01-01"}))
    listed = minigrad(tmp_path, "lessons").stdout.decode()
    count = len(steps()[0].exercises)
    assert re.search(rf"^ build 1  .* 1 of {count} *$", listed, re.MULTILINE) and "Build it" in listed
    assert "Next: minigrad lessons open build 1" in listed
    rows = json.loads(minigrad(tmp_path, "lessons", "--json").stdout)
    assert [row["name"] for row in rows[-len(steps()) :]] == [one.name for one in steps()]


def test_open_writes_the_notebook_and_the_engine_of_the_steps_before(tmp_path):
    done = minigrad(tmp_path, "lessons", "open", "build", "3", "--no-lab")
    notebook, engine = (tmp_path / "minigrad-lessons" / name for name in ("build_3_arrays.ipynb", build.ENGINE))
    assert done.returncode == 0 and "with the steps before this one solved" in done.stdout.decode()
    assert engine.read_text() == build.state(3)
    found, _ = sources(notebook)
    assert found is lesson("build 3")


def test_an_engine_is_kept_until_a_clean_one_is_asked_for(tmp_path):
    minigrad(tmp_path, "lessons", "open", "build", "1", "--no-lab")
    folder = tmp_path / "minigrad-lessons"
    (folder / build.ENGINE).write_text("mine = 1\n")
    again = minigrad(tmp_path, "lessons", "open", "build", "2", "--no-lab")
    assert f"already exists: {build.ENGINE}" in again.stdout.decode().replace("minigrad-lessons/", "")
    assert (folder / build.ENGINE).read_text() == "mine = 1\n"
    clean = minigrad(tmp_path, "lessons", "open", "build", "2", "--clean", "--no-lab")
    assert "the old file is now minigrad-lessons/engine.1.py" in clean.stdout.decode()
    assert (folder / build.ENGINE).read_text() == build.state(2)
    assert (folder / "engine.1.py").read_text() == "mine = 1\n"


def test_clean_is_for_steps(tmp_path):
    done = minigrad(tmp_path, "lessons", "open", "1", "--clean", "--no-lab")
    assert done.returncode == 2 and "--clean is for the steps of the track" in done.stderr.decode()


def test_an_engine_that_cannot_be_written(tmp_path):
    (tmp_path / "minigrad-lessons" / build.ENGINE).mkdir(parents=True)
    done = minigrad(tmp_path, "lessons", "open", "build", "1", "--no-lab")
    assert done.returncode == 0 and "already exists" in done.stdout.decode()


def test_reset_and_check_know_steps(tmp_path):
    done = minigrad(tmp_path, "lessons", "check", "build", "1")
    assert done.returncode == 2 and "minigrad lessons open build 1 writes it" in done.stderr.decode()
    minigrad(tmp_path, "lessons", "open", "build", "1", "--no-lab")
    done = minigrad(tmp_path, "lessons", "reset", "build", "1")
    assert "the old notebook is now minigrad-lessons/build_1_scalars.1.ipynb" in done.stdout.decode()
    done = minigrad(tmp_path, "lessons", "check", "build", "9")
    assert done.returncode == 2 and "there is no lesson build 9" in done.stderr.decode()


@pytest.mark.slow
def test_check_runs_a_step_beside_its_engine(tmp_path):
    minigrad(tmp_path, "lessons", "open", "build", "1", "--no-lab")
    done = minigrad(tmp_path, "lessons", "check", "build", "1", "--json")
    graded = json.loads(done.stdout)
    assert done.returncode == 1 and set(graded["statuses"]) == set(steps()[0].exercises)
    assert set(graded["statuses"].values()) <= {"open", "missing"}


def test_a_handed_in_step_runs_on_a_clean_engine(tmp_path):
    one = steps()[1]
    known = solutions(one)
    cells = [{"cell_type": "code", "source": "from engine import *\nassert Value(1.0).grad is None"}]
    cells += [{"cell_type": "code", "source": "kept = open('engine.py').read()"}]
    document = {"cells": cells, "metadata": {"minigrad": {"lesson": one.name}}, "nbformat": 4, "nbformat_minor": 5}
    path = tmp_path / "ann.ipynb"
    path.write_text(json.dumps(document))
    graded = grade(path, Limits(memory=0))
    assert graded.lesson == one.name and not graded.notes and set(graded.statuses) == set(known)
