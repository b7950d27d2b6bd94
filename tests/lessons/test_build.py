"""Each step of the track "Build it" runs with its solutions and judges answers; its engine is what the solutions write."""

import ast
import inspect
import json
import sys
import traceback
from pathlib import Path

import numpy as np
import pytest

import lessons
from lessons import build, steps
from lessons.build.beside import ROOT, Beside, Part, beside, part
from lessons.catalogue import cells

from .made import made
from .solved import answers, solutions
from .test_lessons import JUDGED, filled, run

EVERY = pytest.mark.parametrize("one", steps(), ids=lambda one: one.name)
BESIDE = "import sys\nsys.path.insert(0, '')\n"  # as in a notebook, whose folder has engine.py
WRONG = 10  # wrong answers to each task


@EVERY
def test_a_step_runs_and_judges_answers(one, tmp_path):
    (tmp_path / build.ENGINE).write_text(build.state(one.number), encoding="utf-8")
    done = run(BESIDE + filled(one) + quick(JUDGED.format(answers=answers(one))), tmp_path)
    assert done.returncode == 0, done.stderr.decode()[-3000:]


def quick(program):
    """Return a program in which an endless loop in an answer is stopped soon, unless Numba compiles in it."""
    if "compiled(" in program:
        return program
    return f"from unittest import mock\nmock.patch('lessons.exercise.SECONDS', 1).start()\n{program}"


MADE = """
import json, linecache
from lessons import exercise
from lessons import build
build.keep = lambda answer: None
found = []
for number, (name, kind, text) in enumerate({made!r}):
    names, file = dict(globals()), f"made {{number}}"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), names)
    exercise.SECONDS = 0.3 if "endless" in kind else 20
    verdict = lessons.check(name, names[name])
    found.append([name, kind, verdict.status, verdict.message])
print("\\n" + json.dumps(found))
"""
NO_ARGUMENTS = {("Saved", "open"), ("guards", "guards")}  # a method with self alone, and an argument that is no number


@pytest.mark.slow
@EVERY
def test_made_wrong_answers_get_a_verdict_with_their_arguments(one, tmp_path):
    known = solutions(one)
    answers = [(name, kind, text) for name, solution in known.items() for kind, text in made(name, solution)]
    (tmp_path / build.ENGINE).write_text(build.state(one.number), encoding="utf-8")
    done = run(BESIDE + filled(one) + MADE.format(made=answers), tmp_path)
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    found = json.loads(done.stdout.decode().splitlines()[-1])
    assert len(found) == len(answers) >= 50
    assert not [(name, kind, said) for name, kind, status, said in found if status != "wrong"]
    for name, kind, _, said in found:
        if said.startswith(("your code raises", "your code was stopped")):
            assert "\nHint: " in said, (name, kind, said)
            assert "\nwhere " in said or (name, kind.partition(":")[0]) in NO_ARGUMENTS, (name, kind, said)
        if "endless" in kind:
            assert "is there a loop without end?" in said, (name, kind, said)


@EVERY
def test_the_solutions_write_the_next_steps_engine(one, tmp_path):
    place = tmp_path / build.ENGINE
    place.write_text(build.state(one.number), encoding="utf-8")
    done = run(BESIDE + filled(one), tmp_path)
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    assert place.read_text(encoding="utf-8") == build.state(one.number + 1)


@EVERY
def test_each_task_has_answers_and_two_hints(one):
    assert 4 <= len(one.exercises) <= 6 and 25 <= one.minutes <= 45
    assert list(one.exercises) == list(solutions(one)) == list(dict.fromkeys(name for _, name, _, _ in answers(one)))
    for name in one.exercises:
        kinds = [kind for kind, which, _, _ in answers(one) if which == name]
        assert kinds.count("wrong") >= WRONG, (name, kinds.count("wrong"))
        assert len(lessons.hints(name)) == 2, name


def test_an_open_task_ends_run_all_with_its_number(tmp_path):
    one = steps()[4]
    (tmp_path / build.ENGINE).write_text(build.state(one.number), encoding="utf-8")
    first, _, rest = filled(one).partition("def guards(ctx):")
    done = run(BESIDE + first + "def guards(ctx): ...\n\n" + rest[rest.index("lessons.check") :], tmp_path)
    said = done.stderr.decode()
    assert "Unanswered: answer task 2, guards, first: the cells below need it" in said and done.returncode == 1
    with pytest.raises(lessons.exercise.Unanswered) as raised:
        lessons.check("guards", ...)
    assert raised.value._render_traceback_() == [f"Unanswered: {raised.value}"]


def test_the_engine_grows_to_a_few_hundred_lines_without_a_name_twice():
    text = build.state(len(steps()) + 1)
    names = [node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    assert len(names) == len(set(names))
    assert 250 < len([line for line in text.splitlines() if line.strip()]) < 600


def test_from_step_5_on_a_write_to_what_a_function_saved_raises_and_nodes_keep_their_numbers():
    engine = {}
    exec(build.state(6), engine)
    Value, exp, mul, tensor, view, write = (engine[k] for k in ("Value", "exp", "mul", "tensor", "view", "write"))
    for index in (..., slice(0, 1)):
        node = exp(Value([1.0, 2.0]))
        x = tensor(node)
        target = x if index is ... else view(x, index)
        write(target, mul(engine["history"](target), 10.0))
        assert node.value.tolist() == np.exp([1.0, 2.0]).tolist() and x.memory.array[0] == 10 * np.exp(1)
        with pytest.raises(RuntimeError, match="version 0, but the memory is at version 1"):
            engine["backward"](engine["total"](engine["history"](x)))


def test_keep_replaces_one_definition_and_leaves_the_rest(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place = tmp_path / build.ENGINE
    build.keep(quick)
    assert not place.exists(), "without engine.py, nothing is written"
    place.write_text("x = 1\n\n\n@property\ndef quick(): ...\n\n\ny = 2  # mine\n", encoding="utf-8")
    build.keep(quick)
    text = place.read_text(encoding="utf-8")
    assert text.startswith("x = 1\n\n\ndef quick(program):\n") and text.endswith("y = 2  # mine\n")
    assert "@property" not in text
    build.keep(quick)
    assert place.read_text(encoding="utf-8") == text


def test_tracebacks_show_the_lines_of_the_loaded_engine_while_the_file_changes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "engine", raising=False)
    Path("engine.py").write_text(
        "def quick(): ...\n\n\ndef fails(x):\n    return 1 / x  # this line\n", encoding="utf-8"
    )
    import engine

    for _ in range(2):
        build.keep(quick)  # three lines instead of one
        with pytest.raises(ZeroDivisionError) as raised:
            engine.fails(0)
        assert traceback.extract_tb(raised.tb)[-1].line == "return 1 / x  # this line"
        assert inspect.getsource(engine.fails).startswith("def fails(x):")
    monkeypatch.delitem(sys.modules, "engine")


def test_what_has_no_source_is_not_kept():
    with pytest.raises(ValueError, match=r"is not kept in engine\.py: write it as a function with def"):
        build.keep(lambda x: x)


def shown(one):
    """Return the files of minigrad in the last comparison of a step: `beside((mine, theirs, ...), ...)`."""
    cell = next(text for _, text in reversed(cells(one.path)) if "beside(" in text)
    tree, names = ast.parse(cell), {}
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom) and "minigrad" in node.module]
    exec(ast.unparse(ast.Module([*imports, *[n for n in tree.body if isinstance(n, ast.Assign)]], [])), names)
    (call,) = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and getattr(n.func, "id", "") == "beside"]
    theirs = [eval(ast.unparse(thing), names) for row in call.args for thing in row.elts[1:]]
    assert all(len(row.elts) > 1 for row in call.args)
    return {part(thing).place.partition(",")[0] for thing in theirs}


def test_the_steps_show_each_file_of_the_core_beside_the_learners_lines():
    found = set().union(*map(shown, steps()))
    files = [path for path in (ROOT / "minigrad" / "core").glob("*.py") if path.read_text(encoding="utf-8").strip()]
    assert {path.relative_to(ROOT).as_posix() for path in files} <= found


def test_definitions_stand_beside_each_other_with_their_places():
    both = beside((shown, Beside.__repr__, Part), (quick, Beside._repr_html_))
    lines, first = inspect.getsourcelines(Part)
    assert f"# lessons/build/beside.py, lines {first} to {first + len(lines) - 1}\n@dataclass" in repr(both)
    assert "# engine.py\ndef quick(program):" in repr(both) and "\ndef _repr_html_(self)" in repr(both)
    page = both._repr_html_()
    assert page.count("<pre") == 5 and page.count("<div") == 6 and "&lt;div style=" in page
