"""Verdicts on answers: right, wrong, failing, not there yet; hints, solutions and what is remembered."""

import pytest

import lessons
import minigrad as torch
import viz
from lessons import catalogue, progress
from lessons.exercise import Verdict, given_by_drag, has_gap


def test_a_right_answer_is_explained_and_remembered():
    verdict = lessons.check("three_uses", 12.0)
    assert verdict and repr(verdict).startswith("✓ three_uses: Three edges lead to a")
    assert list(progress.load()) == ["three_uses"]


def test_a_wrong_answer_is_explained_and_not_remembered():
    verdict = lessons.check("three_uses", 4.0)
    assert verdict.status == "wrong" and not verdict and "one of the three edges" in verdict.message
    assert progress.load() == {}


def test_an_error_of_an_answer_is_shown_with_its_line():
    def count_paths(node):
        return len(node.no_such_thing)

    verdict = lessons.check("count_paths", count_paths)
    assert verdict.status == "wrong"
    assert "your code raises AttributeError" in verdict.message
    assert "return len(node.no_such_thing)" in verdict.message


def test_wrong_answers_with_the_same_mistake_have_the_same_name_for_it():
    found = [lessons.check("three_uses", answer) for answer in (4.0, 7.0, -1e6)]
    assert found[0].mistake == "that is the contribution of one of the three edges" and found[0].given == "4.0"
    assert found[1].mistake == found[2].mistake == "… is not right"
    errors = [lessons.check("count_paths", answer) for answer in (lambda node: 1 / 0, lambda node: 2 // 0)]
    assert {verdict.mistake for verdict in errors} == {"raises ZeroDivisionError"}


def test_the_given_answer_is_short_and_of_a_function_the_line_that_fails():
    class Broken:
        def __repr__(self):
            raise ValueError

    def count_paths(node):
        return node.no_such_thing

    given = [lessons.check("three_uses", answer).given for answer in (torch.tensor([1.0, 2.0]), "x" * 500, Broken())]
    assert given == ["[1.0, 2.0]", f"'{'x' * 79}…", "Broken"]
    assert lessons.check("count_paths", count_paths).given == "return node.no_such_thing"
    right = lessons.check("three_uses", 12.0)
    assert (right.mistake, right.given) == ("", "")


def gap(x): ...
def documented_gap(x):
    """Return the double of x."""
    ...


def gap_in_the_middle(x):
    y = x * 2
    return ... * y


def gap_inside(x):
    def inner():
        return ...

    return inner()


def gap_beside_an_index(x, n):
    y = x[..., :n]
    return y[...], ...


def gap_to_be_written(x, n):
    x[..., n] = ...


def nothing(x):
    pass


def indexes(x, n):
    x[n, ..., :n] = x[..., n] + x[...]
    return x[0, ..., n if n else 1 : 2 * n]


class Gap(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g): ...


GAPS = [..., gap, documented_gap, gap_in_the_middle, gap_inside, gap_beside_an_index, gap_to_be_written, Gap, [1, ...]]


@pytest.mark.parametrize("answer", GAPS)
def test_dots_mean_that_there_is_no_answer_yet(answer):
    assert has_gap(answer)
    assert lessons.check("gradient_by_hand", answer).status in ("open", "wrong")
    assert lessons.check("gradient_by_hand", gap).status == "open"


def all_elements(x):
    x[...] = 1
    x[...] += 2
    return x[...]


@pytest.mark.parametrize(
    "answer",
    [nothing, indexes, all_elements, lambda x: x[..., 0], lambda x: None or x, 3, "text", lambda: 1, torch.tensor(1.0)],
)
def test_an_answer_without_dots_has_no_gap(answer):
    assert not has_gap(answer)


def test_dots_that_do_not_disturb_do_not_make_an_answer_wrong():
    def gradient_by_hand(a):
        return 8 * a[...] if a.dim() else 8 * a

    assert lessons.check("gradient_by_hand", gradient_by_hand)


def test_hints_come_one_after_the_other_and_begin_again():
    said = [lessons.hint("walking_order") for _ in range(3)]
    assert said[0].startswith("Hint 1 of 2: ") and said[1].startswith("Hint 2 of 2: ") and said[2] == said[0]
    assert [words.split(": ", 1)[1] for words in said[:2]] == lessons.hints("walking_order")


@pytest.mark.parametrize("ask", [lessons.hint, lessons.hints, lessons.solution, lambda name: lessons.check(name, 1)])
def test_an_unknown_exercise_is_refused_with_the_nearest_name(ask):
    with pytest.raises(ValueError, match=r"there is no exercise 'tree_uses'. Did you mean three_uses\?"):
        ask("tree_uses")


def test_a_verdict_shows_itself_in_a_notebook_with_its_picture():
    verdict = lessons.check("gradient_by_hand", lambda a: a * 2)
    assert verdict.drawing is not None
    assert "<svg" in verdict._repr_html_() and "✗" in verdict._repr_html_()
    assert "<b>" not in Verdict("x", "wrong", "a <b> c")._repr_html_().split("</b>: ")[1]


@pytest.mark.parametrize(
    "damaged", ["{", "null", "5", "[" * 100_000, '["three_uses"]', '{"count_paths": null}', "\xff"]
)
def test_progress_that_cannot_be_read_or_written_does_not_stop_a_check(tmp_path, monkeypatch, damaged):
    broken = tmp_path / "progress.json"
    broken.write_text(damaged, encoding="latin-1")
    monkeypatch.setenv("MINIGRAD_LESSONS_PROGRESS", str(broken))
    assert progress.load() == {}
    assert lessons.check("three_uses", 12.0) and list(progress.load()) == ["three_uses"]
    monkeypatch.setenv("MINIGRAD_LESSONS_PROGRESS", str(broken / "below a file"))
    assert lessons.check("three_uses", 12.0) and progress.load() == {}


def test_progress_is_stored_in_the_folder_for_data(tmp_path, monkeypatch):
    monkeypatch.delenv("MINIGRAD_LESSONS_PROGRESS")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    progress.solved("three_uses")
    progress.solved("count_paths")
    progress.forget(("three_uses",))
    assert list(progress.load()) == ["count_paths"] and (tmp_path / "minigrad" / "lessons.json").exists()


def test_an_error_leaves_out_lines_of_the_checks():
    def count_paths(node):
        raise RuntimeError(
            f"Scale: no\n  its forward is at {catalogue.FOLDER}/exercises/05_forward_mode.py:9: def f(x):\n"
        )

    said = lessons.check("count_paths", count_paths).message
    assert "Scale: no" in said and "exercises" not in said


def test_a_line_that_an_error_names_is_not_repeated():
    said = lessons.check("count_paths", lambda node: torch.ones(2) @ torch.ones(3)).message
    assert said.count("torch.ones(2) @ torch.ones(3)") == 1


def test_a_live_picture_says_when_it_is_dragged_to_the_answer(monkeypatch):
    pytest.importorskip("anywidget")
    monkeypatch.delitem(given_by_drag, "leaf_dragged", raising=False)
    a = torch.tensor(3.0, requires_grad=True)
    page = viz.live(a * a, passes=("forward", "backward"))
    assert lessons.drag("leaf_dragged", page, lambda: page.values["a"] if page.grads["a"] else None) is page
    page.values["a"] = -1.0  # the page has not computed the gradient yet
    assert page.note == "" and lessons.check("leaf_dragged", ...).status == "open"
    page.set_state({"values": {"a": -1.0}, "grads": {"a": -2.0}})
    assert page.note == "○ leaf_dragged: -1 now" and progress.load() == {}
    page.set_state({"values": {"a": -2.5}, "grads": {"a": -5.0}})
    assert page.note.startswith("✓ leaf_dragged: Two edges") and list(progress.load()) == ["leaf_dragged"]
    page.set_state({"values": {"a": 4.0}, "grads": {"a": 8.0}})
    assert page.note.startswith("✓")
    verdict = lessons.check("leaf_dragged", ...)
    assert verdict and verdict.message.endswith("To hand it in, write leaf_dragged = -2.5.")
    assert not lessons.check("leaf_dragged", 3.0)
