"""Exercises of the bank: for several students, right answers are accepted, wrong ones explained, and numbers differ."""

import ast

import pytest

import lessons
from lessons.bank import LEVELS, TOPICS, entries, entry
from lessons.catalogue import lessons as all_lessons

STUDENTS = "", "ada", "grace"
ALL = pytest.mark.parametrize("one", entries().values(), ids=lambda one: one.name)


def answer(source: str, name: str):
    """Return what a cell assigns to the name of its exercise, as in a notebook."""
    import linecache

    file = f"<answer {name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    names: dict = {}
    exec(compile("import numpy as np, lessons\nimport minigrad as torch", "<imports>", "exec"), names)
    exec(compile(source, file, "exec"), names)
    return names[name]


@ALL
@pytest.mark.parametrize("student", STUDENTS)
def test_a_right_answer_is_accepted_and_explained(one, student):
    task = one.task(student)
    verdict = lessons.check(one.name, answer(task.solution, one.name), student)
    assert verdict, f"{task.text}\n{task.solution}\n{verdict}"
    assert len(task.why.split()) >= 4


@ALL
@pytest.mark.parametrize("student", STUDENTS)
def test_wrong_answers_are_explained(one, student):
    task = one.task(student)
    assert len(task.wrong) >= 2
    for source, words in task.wrong:
        source = source if one.name in source else f"{one.name} = {source}"
        verdict = lessons.check(one.name, answer(source, one.name), student)
        assert verdict.status == "wrong", f"accepted: {source}"
        assert words in verdict.message, f"{source}: {verdict}"


@ALL
def test_the_cell_of_a_notebook_is_open_and_the_solution_fills_its_gap(one):
    task = one.task("ada")
    assert lessons.check(one.name, answer(task.start, one.name), "ada").status == "open"
    assert lessons.solution(one.name, "ada") == task.solution
    ast.parse(task.solution)


@ALL
def test_students_get_different_numbers_and_each_student_the_same(one):
    texts = {one.task(f"student {i}").text + one.task(f"student {i}").solution for i in range(12)}
    assert len(texts) >= 4, "most students have the same numbers"
    assert one.task("ada").text == one.task("ada").text


@ALL
def test_an_exercise_has_title_level_and_hints(one):
    assert one.title and len(one.title) <= 60
    assert one.level in LEVELS and one.topic in TOPICS
    assert one.hints and all(hint.strip() for hint in one.hints)
    assert lessons.hints(one.name) == list(one.hints)


def test_the_bank_has_150_exercises_of_each_difficulty_in_each_topic():
    assert len(entries()) >= 150
    for topic in TOPICS:
        levels = [one.level for one in entries().values() if one.topic == topic]
        assert len(levels) >= 11 and set(levels) == set(LEVELS), topic


def test_names_are_those_of_no_lesson():
    assert not entries().keys() & {name for one in all_lessons() for name in one.exercises}
    assert entry("slope_of_a_power").topic == "chain_rule"


def test_an_unknown_name_gets_the_nearest_one():
    with pytest.raises(ValueError, match="slope_of_a_power"):
        lessons.check("slope_of_power", 1)
