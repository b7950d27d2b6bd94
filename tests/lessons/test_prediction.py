"""Predictions: the program decides which choice is right, in every lesson.

The lessons themselves run in test_lessons.py, and `predict` raises an error there if no choice agrees with its program.
"""

import ast
import re

import pytest

import minigrad
from lessons import Lesson, lessons, predict

CHOICES = {4: "Two and two.", 22: "That joins texts."}


def test_the_choice_that_agrees_with_the_program_is_right():
    made = predict("What is 2 + 2?", CHOICES, lambda: 2 + 2)
    assert [one.text for one in made.choices if one.right] == ["4"]
    assert re.findall(r"<code>(.*?)</code></summary><div.*?>([✓✗])", made._repr_html_()) == [("4", "✓"), ("22", "✗")]


@pytest.mark.parametrize("answer", [5, lambda: 5, lambda: minigrad.tensor(5)])
def test_an_answer_that_no_choice_has_is_an_error_with_the_answer(answer):
    with pytest.raises(ValueError, match="is 5, which is not among the choices: 4, 22"):
        predict("What is 2 + 2?", CHOICES, answer)


def test_two_choices_with_the_same_text_are_an_error():
    with pytest.raises(ValueError, match="is 4, which 2 of the choices are: 4, 4"):
        predict("What is 2 + 2?", {4: "Two and two.", "4": "As a text."}, 4)


def predictions(one: Lesson) -> list[ast.Call]:
    """Return the calls of lessons.predict that a lesson makes."""
    tree = ast.parse(one.path.read_text(encoding="utf-8"))
    calls = [node.value for node in tree.body if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]
    return [call for call in calls if ast.unparse(call.func) == "lessons.predict"]


def imported(tree: ast.Module) -> set[str]:
    """Return the names that a program imports."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    return {alias.asname or alias.name for node in found for alias in node.names}


@pytest.mark.parametrize("one", lessons(), ids=lambda one: one.name)
def test_the_answer_to_each_prediction_comes_from_the_lessons_own_program(one):
    """A literal answer, or one computed beside the lesson, would stay when the program changes."""
    text = one.path.read_text(encoding="utf-8")
    tree, asked = ast.parse(text), predictions(one)
    assert asked and len(asked) == text.count("lessons.predict("), "each runs, since it is a statement of the lesson"
    defined = {getattr(node, "name", None) or getattr(node, "id", None) for node in ast.walk(tree) if defines(node)}
    constants = {
        ast.unparse(target)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
    }
    for call in asked:
        _, choices, answer = call.args
        used = {node.id for node in ast.walk(answer) if isinstance(node, ast.Name)}
        assert used & (defined - imported(tree) - constants), ast.unparse(answer)
        assert isinstance(choices, ast.Dict) and len(choices.keys) >= 2
        assert all(ast.literal_eval(choice) != "" for choice in choices.keys if choice), "each choice can be seen"


def defines(node: ast.AST) -> bool:
    """Return True if a node of a program defines a name."""
    return (
        isinstance(node, ast.FunctionDef | ast.ClassDef)
        or isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Store)
    )
