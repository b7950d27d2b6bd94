"""Each lesson runs as a notebook, and as a script with its gaps filled.

Its checks accept right answers, and reject wrong ones with a word that helps.
"""

import pathlib
import re
import subprocess
from graphlib import TopologicalSorter

import pytest

from lessons import Lesson, catalogue, lessons
from lessons.as_notebook import notebook
from lessons.catalogue import cells, steps
from lessons.tracks import tracks
from tests.distributed.ranks import needs_mpi
from tests.forked import python

from .made import forms
from .solved import answers, solutions, solved

LONG = 25, 26, 29, 30, 31, 32, 33  # they compile, train, or start processes, and take ten seconds
ENOUGH = {"right": 1, "wrong": 2}  # answers to each exercise, beside the solution and its other forms


def filled(one: Lesson) -> str:
    """Return the lesson with the solutions instead of its gaps, each asserted to be right."""
    known, parts = solutions(one), []
    for title, text in cells(one.path):
        text, check = solved(text, known)
        parts.append("" if title.startswith("[markdown]") else f"{text}\nassert {check}, {check}\n" if check else text)
    return "\n".join(parts)


def run(text: str, folder: pathlib.Path) -> subprocess.CompletedProcess:
    """Run a program in a separate process."""
    program = folder / "program.py"
    program.write_text(text, encoding="utf-8")
    return python(program, cwd=folder, new="os.environ" in text)  # which it sets before it imports Numba


def marks(one: Lesson) -> list[pytest.MarkDecorator]:
    """Return the marks of a lesson that needs MPI to run."""
    return [needs_mpi] if "minigrad.distributed" in one.path.read_text(encoding="utf-8") else []


ALL = pytest.mark.parametrize("one", lessons(), ids=lambda one: one.name)


@pytest.mark.parametrize("one", [pytest.param(one, marks=marks(one), id=one.name) for one in lessons()])
@pytest.mark.slow
def test_lesson_runs_as_a_notebook(one):
    nbformat, execute = pytest.importorskip("nbformat"), pytest.importorskip("docs.build.execute")
    execute.CACHE.mkdir(parents=True, exist_ok=True)
    ran = execute.executed(one.path, execute.CACHE)  # the site's build has run it, unless something has changed since
    made = nbformat.reads(notebook(one), as_version=4)
    code, of_learners = ([cell for cell in cells if cell.cell_type == "code"] for cells in (ran.cells, made.cells))
    whole, parts = ("\n".join(cell.source for cell in cells).split() for cells in (code, of_learners))
    assert whole == parts, "a learner's notebook has more cells, but the same code"
    assert "Traceback" not in "".join(output.get("text", "") for cell in code for output in cell.outputs)


JUDGED = """
import linecache
for number, (kind, name, word, text) in enumerate({answers!r}):
    names, file = dict(globals()), f"answer {{number}}"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)  # as a notebook does
    try:
        exec(compile(text, file, "exec"), names)
    except Exception as e:
        raise AssertionError(f"{{kind}} {{name}} does not run: {{text}}") from e
    verdict = lessons.check(name, names[name])
    if kind == "right":
        assert verdict, f"refused: {{text}}{{verdict}}"
    else:
        assert verdict.status == "wrong", f"accepted: {{text}}{{verdict}}"
        assert word and word in verdict.message, f"{{text}}said {{verdict.message!r}}, without {{word!r}}"
"""


@pytest.mark.parametrize(
    "one",
    [
        pytest.param(one, marks=[*marks(one), *[pytest.mark.slow] * (one.number in LONG)], id=one.name)
        for one in lessons()
    ],
)
def test_checks_accept_right_answers_and_explain_wrong_ones(one, tmp_path):
    right = [("right", name, "", text) for name, solution in solutions(one).items() for text in forms(name, solution)]
    done = run(filled(one) + JUDGED.format(answers=answers(one) + right), tmp_path)
    assert done.returncode == 0, done.stderr.decode()


@ALL
def test_each_exercise_has_answers_hints_and_a_solution(one):
    import lessons

    assert 3 <= len(one.exercises) - tried(one) <= 5
    assert list(one.exercises) == list(solutions(one)) == list(dict.fromkeys(name for _, name, _, _ in answers(one)))
    for name in one.exercises:
        kinds = [kind for kind, which, _, _ in answers(one) if which == name]
        assert all(kinds.count(kind) >= enough for kind, enough in ENOUGH.items()), name
        assert lessons.hints(name) and all(hint.strip() for hint in lessons.hints(name)), name


TRIED = re.compile(r"^# \*\*Try it\.\*\*", re.MULTILINE)
LONGEST, LONGEST_STEP, FIRST_CELL = 30, 45, 12  # minutes of a lesson and of a step of the track "Build it", lines


def tried(one):
    """Return the number of a lesson's exercises that ask for a number of a picture."""
    return len(TRIED.findall(one.path.read_text(encoding="utf-8")))


EVERY = pytest.mark.parametrize("one", [*lessons(), *steps()], ids=lambda one: one.name)


@EVERY
def test_lesson_is_short(one):
    """If it is not, cut what it says twice, mark its last exercise with "(at home)", or divide it."""
    assert one.minutes <= (LONGEST_STEP if one in steps() else LONGEST)


@EVERY
def test_first_cell_of_code_is_short(one):
    first = next(text for title, text in cells(one.path) if not title.startswith("[markdown]"))
    assert len([line for line in first.splitlines() if line.strip()]) <= FIRST_CELL


def test_a_lesson_does_not_need_itself():
    TopologicalSorter({one.number: one.needs for one in lessons()}).prepare()  # raises CycleError
    assert {number for one in lessons() for number in one.needs} <= {one.number for one in lessons()}


def test_numbers_and_names_of_exercises_are_unique():
    numbers = [one.number for one in lessons()]
    assert len(numbers) == len(set(numbers))
    names = [name for one in [*lessons(), *steps()] for name in one.exercises]
    assert len(names) == len(set(names))


def test_every_lesson_is_in_a_track():
    assert {one.name for track in tracks() for one in track.lessons} == {one.name for one in [*lessons(), *steps()]}


@pytest.mark.parametrize("track", tracks(), ids=lambda track: track.name)
def test_lessons_of_a_track_come_after_those_of_it_that_they_need(track):
    numbers = [one.number for one in track.lessons]
    assert len(numbers) == len(set(numbers))
    for one in track.lessons:
        assert not set(track.before(one)) & set(numbers), f"lesson {one.number} is too early"


@pytest.mark.parametrize("track", tracks()[:-1], ids=lambda track: track.name)
def test_only_the_track_of_the_documents_is_about_other_languages(track):
    assert not [one.name for one in track.lessons if "```cpp" in one.path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("about", ["*20 minutes. Needs lesson 1.*", "*Needs 1.*", "Needs lesson 1."])
def test_a_lesson_with_another_first_cell_is_refused(about, tmp_path):
    path = tmp_path / "01_other.py"
    path.write_text(f"# %% [markdown]\n# # Other\n#\n# {about}\n#\n# Words.\n")
    with pytest.raises(
        ValueError, match=re.escape("01_other.py: begin with '# Title' and '*Needs lessons 1 and 2.*', got")
    ):
        catalogue._read(path)


def test_gap_is_found_in_a_function_that_was_applied():
    import minigrad as torch
    from lessons.exercise import has_gap

    class Gap(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad_output): ...

    class Full(Gap):
        @staticmethod
        def backward(ctx, grad_output):
            return grad_output

    class NoForward(Full):
        @staticmethod
        def forward(ctx, x): ...

    class KeepsNothing(Full):
        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

    x = torch.ones(2, requires_grad=True)
    Gap.apply(x), Full.apply(x)
    assert not has_gap(KeepsNothing), "pass is an answer, dots are none"
    assert has_gap(Gap) and has_gap(NoForward) and not has_gap(Full)


def test_verdict_tells_of_a_warning(recwarn):
    import lessons
    import minigrad as torch

    class Silent(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 1 / x

        @staticmethod
        def backward(ctx, grad_output):
            grad_output.neg()

    verdict = lessons.check("CombinedReciprocal", Silent)
    assert verdict.status == "wrong" and verdict.message.count("has no `return`") == 1 and not recwarn
