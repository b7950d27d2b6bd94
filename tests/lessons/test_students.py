"""Students' names from files, patterns and lists; marks; the pages of feedback; and what hostile text does to them."""

import re

import pytest

from lessons import lesson
from lessons.class_report import page
from lessons.feedback import page as feedback
from lessons.feedback import write
from lessons.grading import Graded
from lessons.students import ABSENT, assign, in_class, read_class
from lessons.table import read_marks
from tests.viz import command

from .test_grading import handed_in

ONE = lesson(1)


def right(file, **fields):
    return Graded(file, ONE.name, {"three_uses": "right", "count_paths": "wrong"}, **fields)


def test_a_pattern_names_the_student():
    found = assign([right("g1/ann_7.ipynb"), right("ben.ipynb")], re.compile(r"(?P<student>[^_]+)_.*"))
    assert [one.student for one in found] == ["ann", "ben"]
    assert found[1].remarks == ["its name does not match --student"] and not found[0].remarks
    (found,) = assign([right("g1/ann_7.ipynb")], re.compile(r"(?P<student>\w+)/"))
    assert found.student == "g1", "with a slash it is matched with the path"


def test_a_class_names_students_and_those_who_handed_in_nothing():
    files = ["Lovelace Ada_1234_file/01.ipynb", "ben_k.ipynb", "eve.ipynb"]
    *there, absent = assign([right(file) for file in files], listed=["Ada Lovelace", "Ben K.", "Cleo"])
    assert [one.student for one in there] == ["Ada Lovelace", "Ben K.", "eve"]
    assert there[2].remarks == ["no name of the class belongs to it"]
    assert (absent.student, absent.lesson, absent.notes, absent.points) == ("Cleo", ONE.name, [ABSENT], 0)
    text = page("Class", [*there, absent])
    assert "lesson 1: 2<small>Cleo, eve</small>" not in text and "lesson 1: 1<small>Cleo</small>" in text
    assert "3 notebooks from 4 students" in text


def test_a_notebook_that_cannot_be_read_is_of_the_only_lesson_that_was_handed_in():
    broken, stray = Graded("ben.ipynb", notes=["it is not a notebook"]), Graded("notes.ipynb")
    found = assign([right("ann.ipynb"), broken, stray], listed=["Ann", "Ben"])
    assert len(found) == 3 and (broken.lesson, stray.lesson) == (ONE.name, "")
    assert broken.most == 2 and broken.points == 0
    assert "The notebook could not be run." in feedback("Ben", [broken])
    other = Graded("ann/other.ipynb", "02_combined_form", {"combined_saved": "right"})
    broken = Graded("ben.ipynb", notes=["it is not a notebook"])
    assign([right("ann.ipynb"), other, broken], listed=["Ann", "Ben"])
    assert broken.lesson == ""


def test_more_words_win_and_a_tie_names_no_student():
    assert in_class("ann_lee.ipynb", ["Ann", "Ann Lee", "Lee"]) == "Ann Lee"
    assert in_class("ann_lee.ipynb", ["Ann", "Lee"]) == "" == in_class("x", [])
    assert in_class("Zoe\u0308.ipynb", ["Zo\u00eb"]) == "Zo\u00eb", "letters with accents in two ways of writing"


CLASSES = {
    "names.txt": ("Ann\n\n Ben \nAnn\n", ["Ann", "Ben"]),
    "a.csv": ("id,Name\n1,Ann\n2,Ben\n", ["Ann", "Ben"]),
    "b.csv": ("First name;Last name\nAnn;Lee\n", ["Ann Lee"]),
    "c.csv": ("Ann,1\nBen,2\n", ["Ann", "Ben"]),
    "empty.csv": ("", []),
}


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_is_a_list_of_lines_or_a_column(tmp_path, name):
    (tmp_path / name).write_text(CLASSES[name][0], encoding="utf-8-sig")
    assert read_class(tmp_path / name) == CLASSES[name][1]


# ---------------------------------------------------------------------- marks
MARKS = {
    "a.toml": "three_uses = 2\n[lesson_2]\nCombinedSine = 0.5\n",
    "b.csv": "exercise,marks\nthree_uses,2\nCombinedSine,0.5\n",
    "c.csv": "three_uses;2\nCombinedSine;0,5\n\n",
}


@pytest.mark.parametrize("name", MARKS)
def test_marks_are_read_from_tables(tmp_path, name):
    (tmp_path / name).write_text(MARKS[name])
    assert read_marks(tmp_path / name) == {"three_uses": 2.0, "CombinedSine": 0.5}


WRONG = {
    "three_use = 2": "there is no exercise 'three_use'.*three_uses",
    "three_uses = -1": "the marks of three_uses are a number from 0 on, got -1",
    "three_uses = true": "got True",
    "three_uses = inf": "got inf",
    "three_uses": "cannot be read",
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_marks_are_refused(tmp_path, text):
    (tmp_path / "marks.toml").write_text(text)
    with pytest.raises(ValueError, match=WRONG[text]):
        read_marks(tmp_path / "marks.toml")
    (tmp_path / "marks.csv").write_text("exercise,marks\nthree_uses,many\n")
    with pytest.raises(ValueError, match="got 'many'"):
        read_marks(tmp_path / "marks.csv")


def test_marks_weigh_the_exercises():
    one = right("ann.ipynb", marks={"three_uses": 2.5, "count_paths": 1.0})
    assert (one.earned, one.most, one.points) == (2.5, 3.5, 1) and one.to_dict()["marks"] == 2.5
    assert right("ann.ipynb", marks={"count_paths": 1.0}).most == 1.0, "an exercise without marks is worth none"
    assert (right("ann.ipynb").earned, right("ann.ipynb").to_dict()["marks"]) == (1, None)


# ---------------------------------------------------------------------- pages of feedback
HOSTILE = "<script>alert(1)</script>\x1b"


def test_a_page_of_feedback_has_verdicts_answers_pictures_and_marks():
    one = right("ann.ipynb", student="Ann", marks={"three_uses": 2.0}, notes=["cell 3: ValueError: x"])
    one.messages |= {"three_uses": "Each of the three.", "count_paths": "4 is not right\nin the line: x"}
    one.given["count_paths"], one.pictures["count_paths"] = "4", "<svg xmlns='http://www.w3.org/2000/svg'/>"
    text = feedback("Ann", [one])
    for part in (
        "Feedback for Ann",
        "2 of 2 marks",
        f"Lesson 1: {ONE.title}",
        "✓ three_uses <span>2 of 2</span>",
        "✗ count_paths",
    ):
        assert part in text
    assert "4 is not right<br>in the line: x" in text and "<pre>4</pre>" in text and "cell 3: ValueError: x" in text
    assert 'src="data:image/svg+xml;base64,' in text and "<svg" not in text


def test_hostile_text_is_text_and_a_page_names_no_other_student():
    one = right(
        f"{HOSTILE}.ipynb", student=HOSTILE, notes=[HOSTILE], remarks=["it has the numbers of Ben, like ben.ipynb"]
    )
    one.messages["count_paths"] = one.given["count_paths"] = one.pictures["count_paths"] = HOSTILE
    text = feedback(HOSTILE, [one])
    assert "<script" not in text and "\x1b" not in text and "Ben" not in text and "default-src 'none'" in text


def test_each_student_has_a_file_whatever_the_name(tmp_path):
    names = ["Ann", "ann", "../../x", "", "a" * 300]
    paths = write([right("x.ipynb", student=name) for name in names], tmp_path / "pages")
    assert len(set(paths)) == len(names) and all(path.parent == tmp_path / "pages" for path in paths)
    assert {path.name for path in paths} >= {"ann.html", "ann_2.html", "x.html"}
    assert ABSENT in feedback("Cleo", [Graded("", ONE.name, {"three_uses": "missing"}, student="Cleo")])


def test_the_command_writes_names_marks_and_pages(tmp_path):
    (tmp_path / "class").mkdir()
    wrong = "import minigrad as torch\nwalking_order = ['mul']"
    handed_in(tmp_path / "class" / "ann_1.ipynb", "three_uses = 12", wrong)
    (tmp_path / "names.txt").write_text("Ann\nBen\n")
    (tmp_path / "marks.toml").write_text("three_uses = 3\nwalking_order = 2\n")
    done = command.minigrad(
        tmp_path, "lessons", "grade", "class", "--class", "names.txt", "--marks", "marks.toml", "--feedback", "pages",
        "-o", "-",
    )  # fmt: skip
    head, ann, ben = done.stdout.decode().splitlines()
    assert head.startswith("student,file,lesson,points,of,marks,most,seconds,notes,")
    assert ann.startswith(f"Ann,ann_1.ipynb,{ONE.name},1,5,3,5,") and ben.startswith(
        f"Ben,,{ONE.name},0,5,0,5,0.0,{ABSENT}"
    )
    assert b"without marks: count_paths, gradient_by_hand, leaf_dragged" in done.stderr
    assert "3 of 3" in (tmp_path / "pages" / "ann.html").read_text(encoding="utf-8")
    assert ABSENT in (tmp_path / "pages" / "ben.html").read_text(encoding="utf-8")


BAD = {
    ("--student", "(?P<student>"): "is not a regular expression",
    ("--student", "(.*)_"): "has no group for the name: write (?P<student>...)",
    ("--class", "none.txt"): "none.txt cannot be read: No such file",
    ("--class", "empty.txt"): "has no names: write one in each line",
    ("--marks", "marks.toml"): "there is no exercise 'three_use'. Did you mean three_uses",
}


@pytest.mark.parametrize("options", BAD)
def test_wrong_options_are_refused_before_anything_runs(tmp_path, options):
    (tmp_path / "class").mkdir()
    handed_in(tmp_path / "class" / "ann.ipynb", "open('/tmp/never', 'w')")
    (tmp_path / "empty.txt").write_text("\n")
    (tmp_path / "marks.toml").write_text("three_use = 1\n")
    done = command.minigrad(tmp_path, "lessons", "grade", "class", *options)
    assert done.returncode == 2 and BAD[options] in " ".join(done.stderr.decode().split()), done.stderr.decode()
    assert not (tmp_path / "grades.csv").exists()
