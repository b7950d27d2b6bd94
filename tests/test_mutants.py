"""The tool that counts the faults that tests find: its changes, and a run over a small package."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools.mutants import drawn, main

CODE = '''"""A module."""

def area(width: int, height, scale=1.5):
    if width < 0 or height is None:
        return None
    note(width, height)
    return -(width * height) * scale  # not tested exactly


def note(*sides):
    return [side for side in sides if not side in (1, 2)]
'''
TESTS = """from code_here import area

def test_area():
    assert area(2, 3) == -9.0 and area(-1, 3) is None
"""


@pytest.fixture
def root(tmp_path, monkeypatch):
    (tmp_path / "code_here.py").write_text(CODE)
    (tmp_path / "test_code.py").write_text(TESTS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # each mutant starts pytest, which then starts sooner
    return tmp_path


def test_each_change_is_one_of_the_table_and_leaves_annotations_alone(root):
    found = [(m.line, m.change) for m in drawn(root, root / "code_here.py", 99, 0)]
    assert sorted(found) == sorted([
        (3, "1.5 -> 2.5"), (4, "negate the condition"), (4, "or -> and"), (4, "< -> <="), (4, "0 -> 1"),
        (4, "is -> is not"), (6, "drop the call"), (6, "swap the first two arguments"),
        (7, "return None"), (7, "* -> /"), (7, "* -> /"), (7, "drop -"), *[(7, "drop an operand")] * 4,
        (11, "return None"), (11, "drop not"),
        (11, "in -> not in"), (11, "1 -> 2"), (11, "2 -> 3"),
    ])  # fmt: skip


def test_results_are_exchanged_and_assignments_that_others_read_are_dropped(tmp_path):
    (tmp_path / "code.py").write_text(
        "def f(ctx, a, x):\n    ctx.a = a\n    x[0] += a\n    b = a\n    return a, b, (x)\n"
    )
    found = [(m.line, m.change) for m in drawn(tmp_path, tmp_path / "code.py", 99, 0)]
    found = [one for one in found if one[1].startswith(("drop the", "return", "swap"))]
    assert found == [(2, "drop the assignment"), (3, "drop the assignment"), (5, "return None"),
                     (5, "swap the first two results")]  # fmt: skip


def test_a_mutant_differs_in_its_line_alone(root):
    for mutant in drawn(root, root / "code_here.py", 99, 0):
        before, after = CODE.splitlines(), mutant.text.splitlines()
        changed = [i for i, (a, b) in enumerate(zip(before, after, strict=True), 1) if a != b]
        assert changed == [mutant.line]


def test_a_seed_draws_the_same_mutants(root):
    first, again, other = (drawn(root, root, 6, seed) for seed in (3, 3, 4))
    assert first == again != other and len(first) == 6


def test_outcomes_are_printed_and_written(root, capsys):
    main(["code_here.py", "-n", "99", "--json", "found.json", "--", "test_code.py"])
    found = {(m["line"], m["change"]): m for m in json.loads(Path("found.json").read_text())}
    assert {key for key, m in found.items() if m["outcome"] == "survived"} == {
        (4, "< -> <="), (4, "0 -> 1"), (6, "drop the call"), (6, "swap the first two arguments"),
        (11, "return None"), (11, "drop not"), (11, "in -> not in"), (11, "1 -> 2"), (11, "2 -> 3"),
    }  # fmt: skip
    assert found[3, "1.5 -> 2.5"]["found_by"] == "test_code.py::test_area"
    assert "code_here.py: 21 mutants, 12 killed, 0 too slow, 9 survived" in capsys.readouterr().out
    assert Path("code_here.py").read_text() == CODE


def test_a_mutant_that_does_not_end_is_too_slow(root):
    (root / "code_here.py").write_text("def count(n):\n    while n > 0:\n        n -= 1\n    return n\n")
    (root / "test_code.py").write_text("from code_here import count\n\ndef test_count():\n    assert count(3) == 0\n")
    main(["code_here.py", "-n", "99", "--limit", "15", "--json", "found.json", "--", "test_code.py"])
    slow = [m["change"] for m in json.loads(Path("found.json").read_text()) if m["outcome"] == "too slow"]
    assert slow == ["drop the assignment"]


def test_tests_that_fail_without_a_change_are_refused(root):
    (root / "test_code.py").write_text("def test_wrong():\n    assert False\n")
    with pytest.raises(SystemExit, match="fail before any change: test_code.py::test_wrong"):
        main(["code_here.py", "--", "test_code.py"])


def test_tests_have_to_be_named():
    command = [sys.executable, "-m", "tools.mutants", "minigrad/func"]
    done = subprocess.run(command, cwd=Path(__file__).parent.parent, capture_output=True, text=True)
    assert done.returncode == 2 and "name the tests after --" in done.stderr
