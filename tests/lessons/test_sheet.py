"""Sheets: the choice of exercises, the notebook of each student, and grades that know the student's numbers."""

import functools
import json

import pytest

from lessons import as_notebook, sheet
from lessons.bank import TOPICS, entries
from lessons.class_report import page
from lessons.grading import Graded, Limits, grade_folder
from lessons.sheet import Sheet
from tests.viz import command

pytest.importorskip("nbformat")
minigrad = functools.partial(command.minigrad, needs="nbformat")
NAMES = "slope_of_a_power", "gradient_of_two_terms"


def test_a_title_chooses_the_same_exercises_and_another_title_others():
    assert sheet.chosen("Week 1") == sheet.chosen("Week 1")
    assert len({sheet.chosen(f"Week {i}") for i in range(6)}) > 3


def test_topics_share_the_places_and_named_exercises_have_one():
    bank = entries()
    found = sheet.chosen("Week 1", ["memory", "chain", NAMES[0]], count=7)
    topics = [bank[name].topic for name in found]
    assert NAMES[0] in found and len(set(found)) == 7 and topics.count("memory") == 3
    assert sheet.chosen("Week 1", NAMES) == NAMES
    levels = [bank[name].level for name in sheet.chosen("Week 1", count=12)]
    assert levels == sorted(levels)
    assert {bank[name].level for name in sheet.chosen("Week 1", levels=[3], count=20)} == {3}
    assert {bank[name].topic for name in sheet.chosen("Week 1", count=len(TOPICS))} == set(TOPICS)


def test_an_unknown_word_and_too_many_exercises_are_refused():
    with pytest.raises(ValueError, match="there is no topic or exercise chaos: topics are chain_rule, "):
        sheet.chosen("Week 1", ["chaos"])
    with pytest.raises(ValueError, match=r"the bank has \d+ such exercises, fewer than 99"):
        sheet.chosen("Week 1", ["memory"], count=99)


def test_a_notebook_asks_with_the_students_numbers_and_the_instructors_answers():
    one = Sheet("Week 1", "Ada", NAMES)
    document = json.loads(sheet.notebook(one))
    texts = ["".join(cell["source"]) for cell in document["cells"]]
    assert entries()[NAMES[0]].task("Ada").text in texts[2]
    assert texts[3] == f'{NAMES[0]} = ...\n\nlessons.check("{NAMES[0]}", {NAMES[0]}, student="Ada")'
    solved = sheet.notebook(one, solved=True)
    assert "**Common mistakes**" in solved and "= ..." not in solved
    assert sheet.notebook(one) == sheet.notebook(one)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (3, "its metadata do not describe a sheet"),
        ({"title": "A", "student": "B", "exercises": "chain"}, "its metadata do not describe a sheet"),
        ({"title": "A", "student": "B", "exercises": [["x"]]}, "its metadata do not describe a sheet"),
        ({"title": "A", "student": "B", "exercises": ["x" * 9]}, "the exercise bank has no 'xxxxxxxxx'"),
        ({"title": "A", "student": "B" * 99, "exercises": []}, "at most 80 characters in one line"),
        ({"title": "A\x1b", "student": "B", "exercises": []}, "at most 80 characters in one line"),
    ],
)
def test_metadata_of_no_sheet_are_refused(tmp_path, metadata, message):
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps({"cells": [], "metadata": {"minigrad": {"sheet": metadata}}}))
    with pytest.raises(ValueError, match=message):
        as_notebook.sources(path)


@pytest.mark.slow  # three notebooks in processes of their own
def test_a_class_is_graded_with_its_own_numbers_and_a_copy_is_noted(tmp_path):
    for student, solved in (("Ada", True), ("Grace", False)):
        sheet.write(Sheet("Week 1", student, NAMES), tmp_path, solved)
    ada, grace = tmp_path / "week_1-ada.instructor.ipynb", tmp_path / "week_1-grace.ipynb"
    (tmp_path / "copy.ipynb").write_text(ada.read_text())
    document = json.loads(grace.read_text())
    document["cells"][3]["source"] = f"{NAMES[0]} = {entries()[NAMES[0]].task('Grace').wrong[0][0]}"
    grace.write_text(json.dumps(document))
    grades = {one.file: one for one in grade_folder(tmp_path, jobs=1, limits=Limits(memory=0))}
    assert grades[ada.name].points == 2 and grades[ada.name].lesson == "week_1"
    assert grades[ada.name].remarks[-1] == "it has the numbers of Ada, like copy.ipynb"
    assert grades[grace.name].statuses == {NAMES[0]: "wrong", NAMES[1]: "open"} and not grades[grace.name].notes
    report = page("Class", list(grades.values()))
    assert "Exercise bank: The chain rule" in report and "</b>, the bank, " in report and ">week_1<" in report


def test_the_report_keeps_the_order_of_the_bank():
    graded = Graded("a.ipynb", "week_1", dict.fromkeys(NAMES[::-1], "right"), student="Ada")
    report = page("Class", [graded])
    assert report.index(f"id='{NAMES[0]}'") < report.index(f"id='{NAMES[1]}'")


def test_the_command_writes_a_notebook_for_each_name(tmp_path):
    (tmp_path / "names.txt").write_text("Ada Lovelace\n\nGrace\n")
    words = "lessons", "sheet", "chain", "--class", "names.txt", "-n", "2", "--title", "Week 1", "-d", "."
    done = minigrad(tmp_path, *words)
    assert done.stdout.decode() == "wrote week_1-ada_lovelace.ipynb\nwrote week_1-grace.ipynb\n", done.stderr.decode()
    before = (tmp_path / "week_1-grace.ipynb").read_bytes()
    assert minigrad(tmp_path, *words).stdout.decode().count("already exists: ") == 2
    assert (tmp_path / "week_1-grace.ipynb").read_bytes() == before
    minigrad(tmp_path, *words, "--instructor")
    done = minigrad(tmp_path, "lessons", "check", "week_1-grace.instructor.ipynb")
    assert done.returncode == 0 and b"2 of 2 solved" in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("sheet",), "a sheet needs a student: --student NAME, or --class FILE"),
        (("sheet", "-s", "Ada", "-s", "ada!"), "two students would get the file exercises-ada.ipynb"),
        (("sheet", "-s", "Ada", "-n", "0"), "--count must be at least 1"),
        (("sheet", "-s", "Ada", "--class", "none.txt"), "none.txt cannot be read"),
        (("sheet", "chaos", "-s", "Ada"), "there is no topic or exercise chaos"),
        (("sheet", "-s", "A" * 99), "at most 80 characters"),
        (("bank", "chaos"), "there is no topic or exercise chaos"),
    ],
)
def test_a_wrong_command_is_explained(tmp_path, words, message):
    done = minigrad(tmp_path, "lessons", *words)
    assert done.returncode == 2 and message in done.stderr.decode() and not list(tmp_path.glob("**/*.ipynb"))


def test_the_bank_is_listed_by_topic_and_difficulty(tmp_path):
    listed = minigrad(tmp_path, "lessons", "bank").stdout.decode()
    assert all(f"{title} ({name})" in listed for name, title in TOPICS.items())
    assert f"{len(entries())} exercises." in listed
    rows = json.loads(minigrad(tmp_path, "lessons", "bank", "chain", "--level", "3", "--json").stdout)
    assert {(row["topic"], row["level"]) for row in rows} == {("chain_rule", 3)}
