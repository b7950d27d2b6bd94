"""Each check refuses a solution with a small change: another operator, number, order or a missing statement.

The changes are those of tools/mutants.py.  survivors.txt lists those that a check accepts, below the reason why it may.
"""

import ast
import itertools
import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from lessons import Lesson, build
from lessons.bank import TOPICS, entries
from lessons.catalogue import all_lessons
from tools.mutants import Source, changes, nodes

from .solved import solutions
from .test_lessons import filled, marks

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parent.parent.parent
LIST = Path(__file__).parent / "survivors.txt"
LIMIT = 20  # seconds of one check
STUCK = 300  # seconds without an outcome: machine code does not end, and Python cannot interrupt it
IMPORTS = "import numpy as np, lessons\nimport minigrad as torch\n"
CHECKS = """
import json, linecache, sys, warnings
from lessons.limit import TooLong, within

warnings.simplefilter("ignore")
saved = dict(globals())

def accepted(name, text, file):
    names = dict(saved)
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    try:
        exec(compile(text, file, "exec"), names)
        return bool(lessons.check(name, names[name], {student!r}))
    except (Exception, TooLong):
        return False

for number, (name, change, text) in list(enumerate(json.loads(open({changed!r}).read())))[int(sys.argv[1]):]:
    try:
        right = within({limit}, lambda: accepted(name, text, f"changed {{number}}"))
    except BaseException as e:
        right = False
    print("\\n" + json.dumps([number, right]), flush=True)
"""


def changed(name: str, text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the changes of a solution: the exercise, the change in words, and the text.

    >>> [words for _, words, _ in changed("f", "def f(x):\\n    return 2 * x\\n")]
    ['return None', 'return 2 / x', 'return (2)', 'return (x)', 'return 3 * x']
    """
    source, seen = Source(text), set()
    for start, end, new, words in itertools.chain.from_iterable(changes(source, node) for node in nodes(source.tree)):
        other = source.replaced(start, end, new)
        number = source.data[:start].count(b"\n")
        before, line = text.splitlines()[number].strip(), other.splitlines()[number].strip()
        words = f"without: {before}" if words.startswith("drop the") else line
        if words not in seen and compiles(other):
            seen.add(words)
            yield name, words, other


def programs(solved: dict[str, str]) -> dict[str, str]:
    """Return the solutions that are functions and classes; a value is right whatever computes it."""

    def defines(name: str, text: str) -> bool:
        kinds = ast.FunctionDef, ast.ClassDef
        return any(isinstance(node, kinds) and node.name == name for node in ast.parse(text).body)

    return {name: text for name, text in solved.items() if defines(name, text)}


def compiles(text: str) -> bool:
    """Return True if a text is a program."""
    try:
        return bool(compile(text, "changed", "exec"))
    except SyntaxError:
        return False


def survivors(program: str, solved: dict[str, str], folder: Path, student: str = "") -> set[tuple[str, str]]:
    """Judge all changes of some solutions; return the exercise and change of each that is accepted.

    An unchanged solution comes after the changes of each exercise: it shows that they have spoilt nothing for the next.
    """
    judged = []
    for name, text in solved.items():
        judged += [*changed(name, text), (name, "", text)]
    (folder / "changed.json").write_text(json.dumps(judged), encoding="utf-8")
    rest = CHECKS.format(student=student, changed=str(folder / "changed.json"), limit=LIMIT)
    (folder / "program.py").write_text(f"{program}\n{rest}", encoding="utf-8")
    outcomes: dict[int, bool] = {}
    while len(outcomes) < len(judged):
        begun = max(outcomes, default=-1) + 1
        outcomes.update(ran(folder, begun))
        if len(outcomes) < len(judged):
            outcomes[max(outcomes, default=-1) + 1] = False  # it ended the process, or did not end
    spoilt = [name for (name, words, _), right in zip(judged, outcomes.values()) if not words and not right]
    assert not spoilt, f"after its changes, the solution itself is refused: {', '.join(spoilt)}"
    pairs = zip(judged, outcomes.values())
    return {(name, words) for (name, words, _), right in pairs if words and right}


def ran(folder: Path, begun: int) -> dict[int, bool]:
    """Run the checks from number `begun` on, and return their outcomes until the end or one that is stuck."""
    outcomes = {}
    with tempfile.TemporaryFile("w+") as complained:
        process = subprocess.Popen(
            [sys.executable, "program.py", str(begun)], cwd=folder, text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=complained, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert process.stdout is not None
        while select.select([process.stdout], [], [], STUCK)[0] and (line := process.stdout.readline()):
            if re.fullmatch(r"\[\d+, (true|false)\]\n", line):
                outcomes.update([json.loads(line)])
        alive = process.poll() is None
        os.killpg(process.pid, signal.SIGKILL) if alive else None
        process.wait()
        process.stdout.close()
        complained.seek(0)
        assert outcomes or alive or begun, complained.read()
    return outcomes


def listed() -> dict[tuple[str, str], str]:
    """Return the reason for each change that is known to be accepted; reasons are lines that begin with #."""
    known, reason = {}, ""
    for line in LIST.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            reason = line[2:]
        elif line:
            name, _, words = line.partition(": ")
            known[name, words] = reason
    return known


def agree(found: set[tuple[str, str]], names: dict[str, str]) -> None:
    """Check that the changes that were accepted are those of the list."""
    known = {key for key in listed() if key[0] in names}
    new, gone = sorted(found - known), sorted(known - found)
    lines = [f"accepted, but not in {LIST.name}: {name}: {words}" for name, words in new]
    lines += [f"in {LIST.name}, but refused: {name}: {words}" for name, words in gone]
    assert not lines, "\n".join(lines)


@pytest.mark.parametrize("one", [pytest.param(one, marks=marks(one), id=one.name) for one in all_lessons()])
def test_a_changed_solution_of_a_lesson_is_refused(one: Lesson, tmp_path):
    solved = programs(solutions(one))
    if one.folder:
        (tmp_path / build.ENGINE).write_text(build.state(one.number), encoding="utf-8")
    agree(survivors(filled(one), solved, tmp_path), solved)


@pytest.mark.parametrize("topic", TOPICS)
def test_a_changed_solution_of_the_bank_is_refused(topic, tmp_path):
    solved = programs({name: one.task("ada").solution for name, one in entries().items() if one.topic == topic})
    agree(survivors(IMPORTS, solved, tmp_path, "ada"), solved)


def test_each_survivor_has_a_reason_and_an_exercise():
    known = {name for one in all_lessons() for name in one.exercises} | set(entries())
    for (name, words), reason in listed().items():
        assert name in known and len(reason.split()) >= 4, (name, words)
