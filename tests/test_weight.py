"""No folder gains lines: what a change adds, it takes out of the same folder, or lowers another ceiling by as much.

A change that removes lines lowers the ceilings in the same commit: `python tests/test_weight.py` does.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# The lines of the Python files of a folder at most, with docstrings and blank lines, and of viz's scripts.
CEILINGS = {
    "minigrad": 100756,
    "minigrad/*.py": 2393,
    "minigrad/arrays": 1131,
    "minigrad/autograd": 3367,
    "minigrad/compat": 3634,
    "minigrad/compile": 8529,
    "minigrad/core": 2007,
    "minigrad/diagnose": 8219,
    "minigrad/distributed": 3254,
    "minigrad/distributions": 1724,
    "minigrad/explain": 2199,
    "minigrad/fast": 1393,
    "minigrad/formulas": 1654,
    "minigrad/func": 1082,
    "minigrad/kernels": 12728,
    "minigrad/layers": 894,
    "minigrad/nn": 7064,
    "minigrad/ops": 20811,
    "minigrad/ops/base": 1417,
    "minigrad/optim": 2638,
    "minigrad/record": 7969,
    "minigrad/serialization": 1304,
    "minigrad/tensors": 1025,
    "minigrad/testing": 3093,
    "minigrad/utils": 2644,
    "viz": 22712,
    "viz/**/*.js": 7859,
    "lessons": 40272,
    "tests": 119354,
    "tools": 1786,
    "benchmarks": 6235,
    "docs": 2764,
}


def lines(path):
    """Return the number of lines of a file."""
    return path.read_bytes().count(b"\n")


def files_of(folder):
    """Return the files that count for an entry of CEILINGS, which is a folder or a pattern."""
    pattern = folder if "*" in folder else f"{folder}/**/*.py"
    return [path for path in ROOT.glob(pattern) if "__pycache__" not in path.parts]


def grown(folder):
    """Return the files of a folder that have grown most since the ceilings were written, as text."""
    since = git("log", "-1", "--format=%H", "--", "tests/test_weight.py").strip()
    if not since:
        return "compare it with the main branch"
    names = {path.relative_to(ROOT).as_posix() for path in files_of(folder)}
    rows = [row.split("\t") for row in git("diff", "--numstat", "--no-renames", since).splitlines()]
    rows += [(str(lines(ROOT / name)), "0", name) for name in git("ls-files", "-o", "--exclude-standard").splitlines()]
    more = sorted([(int(added) - int(gone), name) for added, gone, name in rows if name in names], reverse=True)
    return "since they were written: " + ", ".join([f"{name} +{n}" for n, name in more[:5] if n > 0])


def git(*words):
    """Return what a git command prints, or nothing outside of a checkout."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        return ""
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("folder", CEILINGS)
def test_a_folder_has_no_more_lines_than_its_ceiling(folder):
    found, most = sum(map(lines, files_of(folder))), CEILINGS[folder]
    assert found <= most, f"{folder}: {found} lines, {found - most} above its ceiling of {most}; {grown(folder)}"


def test_every_folder_of_the_library_has_a_ceiling():
    folders = {path.relative_to(ROOT).as_posix() for path in (ROOT / "minigrad").iterdir() if any(path.glob("*.py"))}
    assert folders <= {*CEILINGS}


def test_the_readme_states_the_size_of_the_core():
    assert f"{CEILINGS['minigrad/core']:,} lines" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_a_folder_above_its_ceiling_is_named_with_what_grew(monkeypatch):
    monkeypatch.setitem(CEILINGS, "tools", 10)
    with pytest.raises(AssertionError, match=r"^tools: (\d+) lines, \d+ above its ceiling of 10; .*"):
        test_a_folder_has_no_more_lines_than_its_ceiling("tools")


def lower():
    """Lower the ceilings in this file to the present counts."""
    text = Path(__file__).read_text(encoding="utf-8")
    now = {folder: min(most, sum(map(lines, files_of(folder)))) for folder, most in CEILINGS.items()}
    table = "".join([f'    "{folder}": {most},\n' for folder, most in now.items()])
    Path(__file__).write_text(re.sub(r"(?<=CEILINGS = {\n)[^}]*", table, text), encoding="utf-8")


if __name__ == "__main__":
    lower()
