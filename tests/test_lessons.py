"""Each lesson runs as a script, from the first cell to the last."""

import pathlib
import subprocess
import sys

import pytest

LESSONS = sorted((pathlib.Path(__file__).parent.parent / "lessons").glob("[0-9]*.py"))


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_lesson_runs(lesson, tmp_path):
    done = subprocess.run([sys.executable, lesson], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_there_are_lessons():
    assert LESSONS
