"""The table of the documents is complete, and a gap in it is reported."""

import subprocess
import sys
from dataclasses import replace

import pytest

from docs.build import ROOT, documents, pages
from lessons.bank import entries

MISSING = "a lesson says nothing of the kind"


def with_row(heading, **changes):
    """Return the documents with changes to the row of this heading."""
    tables = documents.documents()
    assert sum(row.says == heading for one in tables for row in one.rows) == 1
    return [
        replace(one, rows=tuple(replace(row, **changes) if row.says == heading else row for row in one.rows))
        for one in tables
    ]


def without(heading):
    """Return the documents without the row of this heading."""
    return [replace(one, rows=tuple(row for row in one.rows if row.says != heading)) for one in documents.documents()]


def test_every_example_and_statement_has_a_lesson_and_an_exercise():
    assert list(documents.gaps()) == []


def test_every_block_of_code_is_an_example():
    text = documents.EXAMPLES.read_text(encoding="utf-8")
    assert len(documents.examples()) == text.count("```") / 2 == text.count("\n### ") == 16


@pytest.mark.parametrize("heading", documents.examples())
def test_an_example_without_a_row_is_a_gap(heading):
    found = "\n".join(documents.gaps(without(heading)))
    assert f"no row has the example '{heading}'" in found


def test_a_test_without_a_row_and_a_test_that_does_not_exist_are_gaps():
    found = list(documents.gaps(with_row("`mark_dirty`", tests=("mark_dirt",))))
    assert found == [
        "NestedIOFunction: test_mark_dirty is in 0 rows, expected 1",
        "NestedIOFunction: there is no test_mark_dirt",
    ]


@pytest.mark.parametrize(
    "heading, changes, said",
    [
        ("`mark_dirty`", {"lesson": "no_such_lesson"}, "there is no lesson no_such_lesson"),
        ("`mark_dirty`", {"exercise": "NestedClam"}, "there is no exercise 'NestedClam'. Did you mean NestedClamp?"),
        ("`mark_dirty`", {"words": MISSING}, f"47_nested_in_full.py has no words '{MISSING}'"),
        ("`mark_dirty`", {"exercise": ""}, "`mark_dirty`: there is no exercise ''"),
        ("`mark_dirty`", {"words": ""}, "is no example of documents.md"),
        ("Example 2: MyCube", {"lesson": "numpy_sort"}, "has no code 'class MyCube(torch.autograd.Function):'"),
        ("save_for_forward", {"lesson": "numpy_sort"}, "has no code 'with fwAD.dual_level():'"),
        ("MyFunction", {"lesson": "numpy_sort"}, "has no code 'class MyFunction : public Function<MyFunction> {'"),
    ],
)
def test_a_row_that_its_lesson_does_not_bear_out_is_a_gap(heading, changes, said):
    assert any(said in one for one in documents.gaps(with_row(heading, **changes)))


def test_an_example_that_differs_in_one_number_is_another(monkeypatch):
    known = documents.examples()
    language, code = known["Example 2: MyCube"]
    monkeypatch.setattr(
        documents, "examples", lambda: {**known, "Example 2: MyCube": (language, code.replace("6 *", "7 *"))}
    )
    assert [one for one in documents.gaps() if "MyCube" in one] == [
        "Example 2: MyCube: 20_my_cube.py has no code 'class MyCube(torch.autograd.Function):'"
    ]


def test_the_page_links_every_row_to_its_lesson_and_its_exercise():
    made = pages.filled("lessons/documents.md", (ROOT / "docs/lessons/documents.md").read_text(encoding="utf-8"))
    rows = [line for line in made.splitlines() if line.startswith("| ") and "](" in line]
    assert len(rows) == sum(len(one.rows) for one in documents.documents())
    assert "| Example 2: MyCube | [20. Your own gradient, twice](20_my_cube.md) | [`MyFourth`](20_my_cube.md) |" in rows
    assert "## Function in TypeScript\n" in made


def test_a_row_may_name_an_exercise_of_the_bank():
    rows = [row for one in documents.documents() for row in one.rows]
    assert any(row.exercise in entries() for row in rows) and len(rows) >= 100
    assert documents.practised("damped_tree") == "[`damped_tree`](../exercises.md)"


def test_the_command_prints_the_page():
    done = subprocess.run([sys.executable, "-m", "docs.build.documents"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == documents.listed() + "\n", done.stderr
