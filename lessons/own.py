"""A teacher's exercises: the file exercises.py beside a notebook, written like the exercises of a lesson.

`check` and `hint` find it in the folder that the notebook runs in.  When a class is graded, the file of the teacher counts,
and never a copy beside a submission: `pin` loads it before the first cell runs.  The grader itself only reads names.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .bank import entries
from .catalogue import all_lessons, cells

if TYPE_CHECKING:
    from .exercise import Exercise

FILE, SOLUTIONS = "exercises.py", "solutions.py"
pinned: Path | None = None


@dataclass(frozen=True)
class Own:
    """A file of exercises: its path, its title (the first line of its docstring) and the names of its exercises."""

    path: Path
    name: str
    exercises: tuple[str, ...]


def read(path: Path) -> Own:
    """Return the title and the names in a file of exercises, which is not run.

    Raise ValueError if the file is not readable Python, has no exercise, or has one with the name of an exercise of minigrad.
    """
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError) as e:
        raise ValueError(f"{path} cannot be read: {type(e).__name__}: {e}") from None
    checks = [one for one in tree.body if isinstance(one, ast.FunctionDef) and any(map(marks, one.decorator_list))]
    names = tuple(dict.fromkeys(one.name for one in checks))
    if not names:
        raise ValueError(f"{path} has no exercise: write @exercise(hint) above a function with the name of the answer")
    taken = {name for one in all_lessons() for name in one.exercises} | set(entries())
    if twice := [name for name in names if name in taken]:
        raise ValueError(f"{path}: minigrad has an exercise {twice[0]}, too: choose another name")
    title = (ast.get_docstring(tree) or path.parent.resolve().name).partition("\n")[0].rstrip(".")
    return Own(path, title, names)


def marks(decorator: ast.expr) -> bool:
    """Return True if a decorator is a call of `exercise`, under any module's name."""
    called = decorator.func if isinstance(decorator, ast.Call) else None
    return getattr(called, "attr", getattr(called, "id", "")) == "exercise"


def beside(folder: Path) -> Own | None:
    """Return the exercises in a folder, or None if it has no exercises.py; raise ValueError as `read`."""
    return read(folder / FILE) if (folder / FILE).is_file() else None


def pin(path: Path) -> None:
    """Load a file of exercises now, and use it from now on instead of one in the folder of the notebook."""
    global pinned
    pinned = path
    found()


def found() -> dict[str, Exercise]:
    """Return the pinned exercises, or those beside the notebook, by name; raise ValueError if the file fails."""
    path = pinned or Path.cwd() / FILE
    if pinned is None and not path.is_file():
        return {}
    return loaded(path, 0 if pinned else path.stat().st_mtime_ns)


@functools.cache
def loaded(path: Path, version: int) -> dict[str, Exercise]:
    """Run a file of exercises and return them by name; a file that has changed since is run again."""
    from .exercise import Exercise

    known = read(path).exercises
    spec = importlib.util.spec_from_file_location("exercises", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as e:
        raise ValueError(f"{path} fails: {type(e).__name__}: {e}") from e
    return {name: one for name in known if isinstance(one := getattr(module, name), Exercise)}


def solution(name: str) -> str:
    """Return the source of a right answer from the cell `# %% name` of solutions.py beside the exercises, or ""."""
    path = (pinned or Path.cwd() / FILE).with_name(SOLUTIONS)
    return dict(cells(path)).get(name, "").strip() if path.is_file() else ""
