"""Lessons as notebooks: the one to open, the one to download, and the instructor's."""

import importlib.util
import json
import subprocess
import sys

import pytest

import lessons
from lessons import lesson
from lessons.as_notebook import installation, notebook, sources
from lessons.grading import grade
from lessons.instructor import help_below, messages, mistakes, plain, solutions
from minigrad import config

pytest.importorskip("jupytext")
ONE = lesson(1)
ALL = pytest.mark.parametrize("one", lessons.lessons(), ids=lambda one: one.name)


def cells(text):
    return [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(text)["cells"]]


@ALL
def test_the_notebook_to_download_has_one_cell_more(one):
    first, *others = cells(notebook(one, installs=True))
    assert first == ("code", installation()) and others == cells(notebook(one))


ADDRESS = "https://github.com/ada/engine"
FOUND = {
    (True, ""): "minigrad-viz[lessons]",
    (True, ADDRESS): "minigrad-viz[lessons]",
    (False, ADDRESS): f"minigrad-viz[lessons] @ git+{ADDRESS}",
    (False, ""): "",
}


@pytest.fixture(params=FOUND, ids=["index", "both", "repository", "checkout"])
def requirement(request, monkeypatch):
    """The requirement that installs minigrad from where it can be had."""
    for name, value in zip(("PUBLISHED", "REPOSITORY"), request.param):
        monkeypatch.setattr(config, name, value)
    return FOUND[request.param]


def test_the_first_cell_does_nothing_where_minigrad_is(requirement, monkeypatch):
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("it has started a process"))
    before = set(sys.modules)
    exec(installation(), {})
    assert set(sys.modules) <= before, "lessons 27, 28 and 41 set variables before they import minigrad"


@pytest.mark.parametrize("missing", ["minigrad", "viz", "lessons"])
def test_the_first_cell_installs_what_is_missing_or_tells_how(requirement, monkeypatch, missing):
    ran, find = [], importlib.util.find_spec
    monkeypatch.setattr(subprocess, "run", lambda command, check: ran.append((command, check)))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == missing else find(name))
    if requirement:
        exec(installation(), {})
        assert ran == [([sys.executable, "-m", "pip", "install", "--quiet", requirement], True)]
        assert config.install("lessons") == f"pip install '{requirement}'"
    else:
        with pytest.raises(ModuleNotFoundError, match=r"pip install '\.\[lessons\]' in a checkout of minigrad"):
            exec(installation(), {})
        assert not ran


def test_a_downloaded_notebook_can_be_handed_in(tmp_path):
    path = tmp_path / "ann.ipynb"
    path.write_text(notebook(ONE, installs=True))
    assert sources(path)[0] is ONE
    graded = grade(path)
    assert set(graded.statuses.values()) == {"open"} and not graded.notes


@ALL
def test_the_instructors_notebook_has_solutions_and_help_below(one):
    found = cells(notebook(one, solved=True))
    below = {}
    for (_, text), (kind, words) in zip(found, found[1:]):
        for name in one.exercises:
            if f'lessons.check("{name}"' in text:
                assert solutions(one)[name].strip() in text
                below[name] = kind, words
    assert below == {name: ("markdown", help_below(name)) for name in one.exercises}
    assert all(hint in below[name][1] for name in one.exercises for hint in lessons.hints(name))


def test_mistakes_are_those_that_the_check_names():
    assert mistakes("three_uses")[0] == "`4.0`: that is the contribution of one of the three edges"
    assert mistakes("count_paths")[0].startswith("after … there are … paths to the leaf")
    assert any("return it" in words for words in mistakes("InplaceScale")), "those of functions that the check calls"
    assert not [words for words in mistakes("walking_order") if words.startswith("expected")]


def test_most_exercises_have_mistakes():
    names = [name for one in lessons.lessons() for name in one.exercises]
    assert sum(bool(mistakes(name)) for name in names) > 0.7 * len(names)


def test_a_message_is_text_in_markdown():
    import ast

    def of(source):
        return messages(ast.parse(source).body[0].value)

    assert of("'a long message' + (x or '')") == ["a long message"] and of("x") == of("'short'") == []
    assert plain("2*x*y <b> [0] __init__") == r"2\*x\*y \<b> \[0] \_\_init\_\_"


@ALL
def test_the_code_of_a_prediction_is_folded_and_its_program_is_not(one):
    made = [cell for cell in json.loads(notebook(one))["cells"] if cell["cell_type"] == "code"]
    folded = {"".join(cell["source"]): cell["metadata"] for cell in made if cell["metadata"].get("jupyter")}
    asked = one.path.read_text().count("\nlessons.predict(")
    assert asked == len(folded) == sum("lessons.predict" in "".join(cell["source"]) for cell in made)
    assert all(text.startswith("lessons.predict(") for text in folded)
    assert all(metadata == {"jupyter": {"source_hidden": True}, "cellView": "form"} for metadata in folded.values())
