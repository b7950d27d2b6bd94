"""A folder of notebooks as a class hands them in: right, wrong, broken, endless and greedy ones."""

import csv
import io
import json
import time

import pytest

from lessons import lesson
from lessons.as_notebook import notebook, sources
from lessons.grading import Limits, grade, grade_folder, write_csv
from lessons.run import TooLong, within

pytest.importorskip("IPython")
pytest.importorskip("jupytext")
ONE = lesson(1)


def handed_in(path, *cells, metadata=True):
    """A notebook of the first lesson with these code cells."""
    empty = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    whole = [{**empty, "id": f"c{i}", "source": text} for i, text in enumerate(cells)]
    about = {"minigrad": {"lesson": ONE.name}} if metadata else {}
    path.write_text(json.dumps({"cells": whole, "metadata": about, "nbformat": 4, "nbformat_minor": 5}))
    return path


def test_answers_count_whatever_else_the_notebook_does(tmp_path):
    path = handed_in(
        tmp_path / "ann.ipynb",
        "import minigrad as torch\nthree_uses = 12",
        "1 / 0",
        "%matplotlib inline\nwalking_order = ['no']",
        "class lessons:\n    check = staticmethod(lambda *a: True)",
        "gradient_by_hand = ...",
    )
    graded = grade(path)
    assert graded.statuses == {
        "three_uses": "right", "count_paths": "missing", "walking_order": "wrong", "gradient_by_hand": "open"
    }  # fmt: skip
    assert graded.points == 1 and graded.notes == ["cell 2: ZeroDivisionError: division by zero"]
    assert "each of them once" in graded.messages["walking_order"]


def test_the_last_answer_counts(tmp_path):
    path = handed_in(tmp_path / "ann.ipynb", "three_uses = 4", "three_uses = 12")
    assert grade(path).statuses["three_uses"] == "right"


def test_a_cell_without_end_is_stopped_and_the_others_count(tmp_path):
    path = handed_in(tmp_path / "ben.ipynb", "while True:\n    pass", "three_uses = 12")
    graded = grade(path, Limits(cell=1.0))
    assert graded.points == 1 and graded.notes == ["cell 1: TooLong: stopped after 1 s"]


@pytest.mark.slow
def test_an_answer_without_end_is_stopped(tmp_path):
    endless = "def gradient_by_hand(a):\n    while True:\n        pass"
    graded = grade(handed_in(tmp_path / "ben.ipynb", endless, "three_uses = 12"), Limits(cell=1.0))
    assert graded.statuses["gradient_by_hand"] == "wrong" and graded.points == 1
    assert "stopped after 1 s" in graded.messages["gradient_by_hand"]


@pytest.mark.slow
def test_a_notebook_that_cannot_be_stopped_is_ended_and_what_was_checked_counts(tmp_path):
    stubborn = "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass"
    graded = grade(handed_in(tmp_path / "cat.ipynb", "three_uses = 12", stubborn), Limits(cell=1.0, total=6.0))
    assert graded.points == 1 and graded.notes == ["ended after 6 s"]


def test_memory_has_a_limit(tmp_path):
    path = handed_in(tmp_path / "dan.ipynb", "x = bytearray(3 << 30)", "three_uses = 12")
    graded = grade(path, Limits(memory=1 << 30))
    assert graded.points == 1 and graded.notes == ["cell 1: MemoryError: "]


def test_a_process_that_ends_itself_is_told(tmp_path):
    path = handed_in(tmp_path / "eve.ipynb", "three_uses = 12", "import os; os._exit(3)")
    graded = grade(path)
    assert graded.points == 1 and graded.notes == ["its process ended with 3"]


def test_a_notebook_writes_into_an_empty_folder_of_its_own(tmp_path):
    folder = tmp_path / "class"
    folder.mkdir()
    path = handed_in(folder / "ann.ipynb", "import os\nthree_uses = 12 if not os.listdir() else 0\nopen('mine', 'w')")
    assert grade(path).points == 1
    assert [p.name for p in folder.iterdir()] == ["ann.ipynb"]


def test_what_is_no_notebook_and_what_is_of_no_lesson_gets_a_note(tmp_path):
    (tmp_path / "broken.ipynb").write_text("{")
    assert "is not a notebook" in grade(tmp_path / "broken.ipynb").notes[0]
    handed_in(tmp_path / "other.ipynb", "x = 1", metadata=False)
    assert "of no lesson" in grade(tmp_path / "other.ipynb").notes[0]
    path = handed_in(tmp_path / f"{ONE.name}_ann.ipynb", "three_uses = 12", metadata=False)
    assert sources(path)[0] is ONE


def test_a_folder_becomes_a_table(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / ".ipynb_checkpoints").mkdir()
    handed_in(tmp_path / "a" / "ann.ipynb", "three_uses = 12")
    handed_in(tmp_path / "ben.ipynb", "three_uses = 4")
    handed_in(tmp_path / ".ipynb_checkpoints" / "ben-checkpoint.ipynb", "three_uses = 12")
    file = io.StringIO()
    write_csv(grade_folder(tmp_path, Limits(), jobs=2), file)
    rows = list(csv.DictReader(io.StringIO(file.getvalue())))
    assert [(r["file"], r["points"], r["of"], r["three_uses"]) for r in rows] == [
        ("a/ann.ipynb", "1", "4", "right"), ("ben.ipynb", "0", "4", "wrong")
    ]  # fmt: skip


def test_the_notebook_of_a_lesson_names_it_and_has_gaps(tmp_path):
    path = tmp_path / "renamed.ipynb"
    path.write_text(notebook(ONE))
    one, texts = sources(path)
    assert one is ONE and any("three_uses = ..." in text for text in texts)
    assert set(grade(path).statuses.values()) == {"open"}


def test_within_gives_the_result_and_stops_what_takes_too_long():
    assert within(5.0, lambda: 3) == 3
    with pytest.raises(TooLong, match=r"stopped after 0\.1 s"):
        within(0.1, lambda: time.sleep(5))
