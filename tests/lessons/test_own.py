"""A teacher's exercises in a file beside the notebook: checked there, graded with the teacher's file, and reported."""

import json

import pytest

import lessons
from lessons import own
from lessons.class_report import page
from lessons.exercise import check, hint, solution
from lessons.grading import Limits, grade, grade_folder
from lessons.students import assign
from tests.viz import command

from .test_grading import handed_in

FILE = '''"""Week 3: slopes.

For the second hour."""

from lessons import expect
from lessons.exercise import exercise


@exercise("Differentiate first.", "It is 2x.")
def slope_at_three(answer):
    """The derivative of x squared is 2x, so it is 6."""
    expect.number(answer, 6.0, {9.0: "that is the value"})
'''
FORGED = FILE.replace("6.0, {9.0", "9.0, {6.0")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder with the exercises, which is the current one."""
    (tmp_path / own.FILE).write_text(FILE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_notebook_finds_the_exercises_beside_it(folder):
    assert check("slope_at_three", 6.0).message == "The derivative of x squared is 2x, so it is 6."
    assert "9 is not right: that is the value" in check("slope_at_three", 9.0).message
    assert check("slope_at_three", ...).status == "open" and hint("slope_at_three").startswith("Hint 1 of 2")
    with pytest.raises(LookupError, match="solution of slope_at_three is not on this machine"):
        solution("slope_at_three")
    (folder / own.SOLUTIONS).write_text("# %% slope_at_three\nslope_at_three = 6.0\n")
    assert solution("slope_at_three") == "slope_at_three = 6.0"
    with pytest.raises(ValueError, match="there is no exercise 'slope_at_tree'.*slope_at_three"):
        check("slope_at_tree", 6.0)


def test_the_example_for_teachers_works(folder):
    page = (own.all_lessons()[0].path.parent.parent / "docs" / "teachers.md").read_text(encoding="utf-8")
    text = page.partition('```python title="exercises.py"\n')[2].partition("```")[0]
    (folder / own.FILE).write_text(text)
    assert own.read(folder / own.FILE).exercises == ("slope_at_three", "slope_of_cube")
    assert check("slope_at_three", 6.0) and check("slope_of_cube", lambda x: 3 * x**2)
    assert check("slope_of_cube", lambda x: x**2).message == "at 2 the slope is 12, got 4"


def test_a_changed_file_is_read_again(folder):
    assert check("slope_at_three", 6.0)
    (folder / own.FILE).write_text(FORGED + "# another size\n")
    assert not check("slope_at_three", 6.0)


def test_the_exercises_of_minigrad_do_not_read_a_file_that_is_called_alike(folder):
    (folder / own.FILE).write_text("raise ValueError")
    assert check("three_uses", 12.0)


BROKEN = {
    "x = (": "cannot be read: SyntaxError",
    "x = 1": "has no exercise: write @exercise",
    FILE.replace("slope_at_three", "three_uses"): "minigrad has an exercise three_uses, too: choose another name",
    FILE.replace("import expect", "import nothing_such"): "fails: ImportError",
}


@pytest.mark.parametrize("text", BROKEN)
def test_a_file_that_cannot_be_used_says_why(folder, text):
    (folder / own.FILE).write_text(text)
    with pytest.raises(ValueError, match=BROKEN[text]):
        check("slope_at_three", 6.0)


def notebook(path, *cells):
    """Return a notebook of no lesson."""
    return handed_in(path, *cells, metadata=False)


def test_the_file_of_the_teacher_counts_and_no_copy_beside_a_submission(folder):
    (folder / "ann").mkdir()
    (folder / "ann" / own.FILE).write_text(FORGED)
    path = notebook(folder / "ann" / "ann.ipynb", "slope_at_three = 9.0")
    write = f"open('exercises.py', 'w').write({FORGED!r})\nimport lessons\nslope_at_three = 9.0"
    notebook(folder / "ben.ipynb", write, "assert not lessons.check('slope_at_three', 9.0)")
    ann, ben = grade_folder(folder, Limits(), 1, exercises=own.read(folder / own.FILE))
    assert ann.lesson == ben.lesson == "Week 3: slopes" and (ann.points, ben.points) == (0, 0)
    assert ann.messages["slope_at_three"] == "9 is not right: that is the value" and ben.notes == []
    assert ann.given["slope_at_three"] == "9.0" and ann.mistakes["slope_at_three"]
    assert grade(path).notes[0].endswith("there is no exercises.py"), "without a file of the teacher"
    text = page("Class", assign([ann, ben]))
    assert text.count("id='slope_at_three'") == 1 and "<pre>9.0</pre>" in text and "2<small>ann, ben</small>" in text


def test_exercises_of_a_teacher_in_the_notebook_of_a_lesson_count_if_it_checks_them(folder):
    mine = own.read(folder / own.FILE)
    plain = handed_in(folder / "ann.ipynb", "three_uses = 12")
    assert "slope_at_three" not in grade(plain, exercises=mine).statuses
    more = handed_in(
        folder / "ben.ipynb", 'import lessons\nslope_at_three = 6\nlessons.check("slope_at_three", slope_at_three)'
    )
    assert grade(more, exercises=mine).statuses["slope_at_three"] == "right"


def test_solutions_that_a_notebook_shows_are_noted(tmp_path):
    graded = grade(
        handed_in(tmp_path / "ann.ipynb", "import lessons", "lessons.solution('three_uses')\nthree_uses = 12")
    )
    assert graded.points == 1 and graded.notes == ["cell 2 shows the solution of three_uses"]


def test_the_commands_take_the_file_in_the_folder_or_another(folder):
    (folder / "class").mkdir()
    notebook(folder / "class" / "ann.ipynb", "slope_at_three = 6")
    notebook(folder / "ann.ipynb", "slope_at_three = 6")
    done = command.minigrad(folder, "lessons", "check", "ann.ipynb")
    assert done.returncode == 0 and b"1 of 1 solved" in done.stdout, done.stderr
    done = command.minigrad(folder, "lessons", "grade", "class", "--exercises", own.FILE, "-o", "-")
    assert b"Week 3: slopes,1,1," in done.stdout and b"exercises from exercises.py: slope_at_three" in done.stderr
    (folder / own.FILE).write_text("x = 1")
    done = command.minigrad(folder, "lessons", "grade", "class", "--exercises", own.FILE)
    assert done.returncode == 2 and b"has no exercise: write @exercise" in done.stderr
    assert json.loads(command.minigrad(folder, "lessons", "grade", "class", "--json").stdout)[0]["points"] == 0
    assert lessons.own.pinned is None
