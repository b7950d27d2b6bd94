"""Verdicts on answers that fail: where their code stopped, with which arguments, and results that a check cannot use."""

import contextlib
import sys
import threading
import time

import numpy as np
import pytest

import lessons
import minigrad as torch
from lessons import exercise, failure
from lessons.exercise import Exercise, stopped
from lessons.limit import TooLong, within


def verdict(answer, judge, name="mul"):
    """Return the words for an answer whose check raised an error."""
    try:
        judge(answer)
    except BaseException as e:
        return str(stopped(e, name, answer, Exercise(judge, ("Add all.", "Again."), "")))
    raise AssertionError("the check found nothing wrong")


def test_an_error_is_said_with_the_arguments_there_and_a_hint():
    def total(numbers, start=0):
        return start + numbers[9]

    said = verdict(total, lambda answer: answer([1.5, None], start=2.25))
    line = "in the line: return start + numbers[9]"
    where = "where numbers = [1.5, None] and start = 2.25"
    assert said == f"your code raises IndexError: list index out of range\n{line}\n{where}\nHint: Add all."


def test_the_arguments_are_those_of_the_function_and_not_of_a_comprehension_in_it():
    def total(numbers):
        return sum(one.number for one in numbers)

    assert "\nwhere numbers = [1.5]\n" in verdict(total, lambda answer: answer([1.5]))


def test_an_error_in_a_function_that_the_answer_returned_is_its_own():
    def total(scale):
        def inner(x):
            return x.missing * scale

        return inner

    assert "\nwhere x = 3\n" in verdict(total, lambda answer: answer(2.0)(3.0))


def test_an_error_inside_numpy_is_shown_with_the_learners_line():
    def total(x):
        return np.full(x.shape, np.ones(3))

    assert "in the line: return np.full(x.shape, np.ones(3))" in verdict(total, lambda answer: answer(np.ones(2)))


def test_a_result_that_a_check_cannot_use_is_shown_with_the_call():
    said = verdict(lambda x: [x, "two"], lambda answer: answer(2.5)[0] + len(answer(3.5)[1]) + answer(4.5)[2])
    assert said.startswith("for x = 4.5, <lambda> returns [4.5, 'two']\nthe check cannot use this result (IndexError: ")
    assert said.endswith("\nHint: Add all.")


def test_an_error_of_minigrad_about_a_result_keeps_its_words():
    said = verdict(lambda x: torch.ones(3), lambda answer: answer(torch.ones(2)) @ torch.ones(4))
    assert said.startswith("your code raises RuntimeError: ") and "(3,)" in said and "\nHint: " in said


def test_what_is_no_function_and_arguments_that_do_not_fit():
    call = lambda answer: answer(1.0, 2.0)
    assert verdict(None, call) == "expected a function, got None: begin with def mul(...)\nHint: Add all."
    assert verdict([1, 2], call).startswith("expected a function, got [1, 2]: ")

    def mul(x): ...

    assert verdict(mul, call).startswith("the arguments do not fit, ")
    assert "takes 1 positional argument but 2 were given: expected x, y\n" in verdict(mul, call)
    assert "were given\nHint" in verdict(mul, call, "three_uses"), "an exercise that asks for a number has no arguments"


def test_recursion_and_numbas_colours():
    def total(x):
        return total(x)

    assert "RecursionError: maximum recursion depth exceeded, so it calls itself without end" in verdict(
        total, lambda f: f(1)
    )

    def fails(x):
        raise ValueError("\x1b[1m\x1b[31mno\x1b[0m")

    assert "ValueError: no\n" in verdict(fails, lambda f: f(1))


class Loud:
    def __repr__(self):
        raise ValueError


def test_values_are_short_and_showing_them_never_raises():
    node = type("Value", (), {"__init__": lambda self, value: setattr(self, "value", value)})
    assert failure.short(node(np.array(2.5))) == "Value(2.5)" and failure.short(node(node(1.0))) == "Value(Value(1))"
    assert failure.short(Loud()) == "a Loud" and failure.short([1, Loud()]) == "a list"
    assert failure.short("x" * 500) == f"'{'x' * 60}'…" and failure.short([[9] * 6] * 6) == str([[9] * 6] * 6)
    assert failure.short([["x" * 40] * 6] * 6) == "a list" and failure.short(np.ones(7)) == "an array of the shape [7]"
    assert failure.short(object()) == "<object>" and failure.short(int) == "the class int"
    assert (
        failure.short(torch.ones(2)) == "tensor([1., 1.])"
        and failure.short(torch.ones(9, 9)) == "a Tensor of the shape [9, 9]"
    )


def test_a_profiler_is_put_back():
    before = sys.getprofile()
    verdict(lambda x: None, lambda answer: answer(1) + 1)
    assert sys.getprofile() is before


def test_an_endless_answer_is_stopped_with_its_line(monkeypatch):
    monkeypatch.setattr(exercise, "SECONDS", 0.1)

    def count_paths(node):
        while True:
            with contextlib.suppress(Exception):
                node = [node, node][0]

    said = lessons.check("count_paths", count_paths)
    assert said.status == "wrong" and said.mistake == "loop without end"
    assert "your code was stopped after 0.1 s: is there a loop without end?\nin the line: " in said.message
    assert "\nwhere node = " in said.message and "\nHint: " in said.message


def test_an_answer_that_sleeps_for_ever_is_stopped_by_the_clock(monkeypatch):
    monkeypatch.setattr(exercise, "CLOCK", 0.2)
    said = lessons.check("count_paths", lambda node: time.sleep(1000))
    assert said.status == "wrong" and "your code was stopped after 0.2 s: is there a loop without end?" in said.message


def test_an_answer_that_ends_the_process_does_not():
    said = lessons.check("count_paths", lambda node: sys.exit(3))
    assert said.status == "wrong" and "your code raises SystemExit: 3" in said.message


def test_a_limit_rings_again_after_a_bare_except():
    def stubborn():
        for _ in range(2):
            try:
                while True:
                    pass
            except:  # noqa: E722
                pass

    within(0.05, stubborn)  # ends: each loop is stopped

    def endless():
        try:
            while True:
                pass
        except:  # noqa: E722
            while True:
                pass

    with pytest.raises(TooLong, match=r"stopped after 0\.05 s"):
        within(0.05, endless, computing=True)


def test_a_limit_inside_another_leaves_it_and_cannot_be_longer():
    def both():
        within(0.5, lambda: None)
        time.sleep(10)

    with pytest.raises(TooLong, match=r"stopped after 0\.6 s"):
        within(0.6, both)
    with pytest.raises(TooLong, match=r"stopped after 0\.1 s"):
        within(0.1, lambda: within(5.0, lambda: time.sleep(10)))


def test_a_limit_of_computing_does_not_count_sleep_and_other_threads_have_none():
    assert within(0.05, lambda: time.sleep(0.2) or "slept", computing=True) == "slept"
    done = []
    thread = threading.Thread(target=lambda: done.append(within(0.01, lambda: time.sleep(0.05) or 3)))
    thread.start()
    thread.join()
    assert done == [3]
