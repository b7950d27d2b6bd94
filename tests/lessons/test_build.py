"""Each step of the track "Build it" runs with its solutions and judges answers; its engine is what the solutions write."""

import ast

import pytest

import lessons
from lessons import build, steps
from lessons.exercise import Wrong

from .solved import answers, solutions
from .test_lessons import JUDGED, filled, run

EVERY = pytest.mark.parametrize("one", steps(), ids=lambda one: one.name)
BESIDE = "import sys\nsys.path.insert(0, '')\n"  # as in a notebook, whose folder has engine.py
WRONG = 10  # wrong answers to each task


@EVERY
def test_a_step_runs_and_judges_answers(one, tmp_path):
    (tmp_path / build.ENGINE).write_text(build.state(one.number), encoding="utf-8")
    done = run(BESIDE + filled(one) + quick(JUDGED.format(answers=answers(one))), tmp_path)
    assert done.returncode == 0, done.stderr.decode()[-3000:]


def quick(program):
    """Return a program in which an endless loop in an answer is stopped after a second."""
    return "from unittest import mock\nmock.patch('lessons.exercise.SECONDS', 1).start()\n" + program


@EVERY
def test_the_solutions_write_the_next_steps_engine(one, tmp_path):
    place = tmp_path / build.ENGINE
    place.write_text(build.state(one.number), encoding="utf-8")
    done = run(BESIDE + filled(one), tmp_path)
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    assert place.read_text(encoding="utf-8") == build.state(one.number + 1)


@EVERY
def test_each_task_has_answers_and_two_hints(one):
    assert 4 <= len(one.exercises) <= 6 and 25 <= one.minutes <= 45
    assert list(one.exercises) == list(solutions(one)) == list(dict.fromkeys(name for _, name, _, _ in answers(one)))
    for name in one.exercises:
        kinds = [kind for kind, which, _, _ in answers(one) if which == name]
        assert kinds.count("wrong") >= WRONG, (name, kinds.count("wrong"))
        assert len(lessons.hints(name)) == 2, name


def test_the_engine_grows_to_a_few_hundred_lines_without_a_name_twice():
    text = build.state(len(steps()) + 1)
    names = [node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    assert len(names) == len(set(names))
    assert 250 < len([line for line in text.splitlines() if line.strip()]) < 600


def test_keep_replaces_one_definition_and_leaves_the_rest(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place = tmp_path / build.ENGINE
    build.keep(quick)
    assert not place.exists(), "without engine.py, nothing is written"
    place.write_text("x = 1\n\n\n@property\ndef quick(): ...\n\n\ny = 2  # mine\n", encoding="utf-8")
    build.keep(quick)
    text = place.read_text(encoding="utf-8")
    assert text.startswith("x = 1\n\n\ndef quick(program):\n") and text.endswith("y = 2  # mine\n")
    assert "@property" not in text
    build.keep(quick)
    assert place.read_text(encoding="utf-8") == text


def test_what_has_no_source_is_not_kept():
    with pytest.raises(ValueError, match=r"is not kept in engine\.py: write it as a function with def"):
        build.keep(lambda x: x)


def test_an_endless_loop_is_stopped():
    with (
        pytest.raises(Wrong, match=r"stopped after 0\.1 seconds: is there a loop without end"),
        build.stopped_after(0.1),
    ):
        while True:
            pass
