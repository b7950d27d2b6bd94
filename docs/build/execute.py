"""Run lessons as notebooks, several at once, and cache their outputs until one of their dependencies changes."""

from __future__ import annotations

import asyncio
import hashlib
import os
import platform
import re
import tempfile
import threading
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from lessons import Lesson, steps
from lessons.build import ENGINE, state
from lessons.instructor import solutions, solved

from . import ROOT, large

CACHE = ROOT / "build" / "lessons"
PACKAGES = ("minigrad", "viz", "lessons")
VERSIONS = ("numpy", "numba", "scipy", "matplotlib", "scikit-learn", "ipykernel", "jupytext")
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")  # colours for a terminal
TIMEOUT = 300  # seconds for one cell
PARSING = threading.Lock()  # ast.parse of Python 3.11 fails at times if two threads call it


class LessonError(Exception):
    """A lesson that cannot become a page."""


def notebooks(paths: Sequence[Path], only: Collection[str] | None = None, cache: Path = CACHE) -> list[NotebookNode]:
    """Return the lessons as notebooks with outputs (with `only`, run only those); raise LessonError with all failures."""
    cache.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # the kernels do the work, and they are processes
        tasks = [
            pool.submit(executed, path, cache)
            if only is None or path.stem in only
            else pool.submit(jupytext.read, path)
            for path in paths
        ]
    failed = [error for task in tasks if isinstance(error := task.exception(), LessonError)]
    if failed:
        raise LessonError("\n\n".join(map(str, failed)))
    return [task.result() for task in tasks]


def executed(path: Path, cache: Path) -> NotebookNode:
    """Return one lesson with its outputs, from the cache if nothing has changed."""
    kept = cache / f"{path.stem}-{key(path)}.ipynb"
    if kept.exists():
        return nbformat.read(kept, as_version=4)
    made = run(path)
    for old in cache.glob(f"{path.stem}-*.ipynb"):
        old.unlink(missing_ok=True)
    half = kept.with_suffix(f".{os.getpid()}")
    nbformat.write(made, half)
    half.replace(kept)  # atomic: an interrupted build leaves no partial notebook
    return made


def key(path: Path) -> str:
    """Return a digest of the lesson and its dependencies: the sources of our packages and the versions of others."""
    digest = hashlib.sha256(f"python {platform.python_version()}".encode())
    for name in VERSIONS:
        digest.update(f"{name} {version(name)}".encode())
    for file in [path, Path(large.__file__), *dependencies(path)]:
        digest.update(f"\0{file.name}\0".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def dependencies(path: Path) -> list[Path]:
    """Return the files of our packages, without those that belong to other lessons."""
    files = [
        file
        for package in PACKAGES
        for file in sorted((ROOT / package).rglob("*"))
        if file.is_file() and "__pycache__" not in file.parts and file.suffix != ".ipynb"
    ]
    step = path.parent.name == "build"  # it runs on the solutions of earlier steps
    return [
        file
        for file in files
        if file.name == path.name or not re.match(r"\d+_", file.name) or (step and "build" in file.parts)
    ]


def solve(made: NotebookNode, one: Lesson) -> list[tuple[NotebookNode, str]]:
    """Fill the gaps of a step, whose later cells use the answers; return the cells with their text as it was."""
    known, gaps = solutions(one), []
    for cell in made.cells:
        text, check = solved(cell.source, known)
        if cell.cell_type == "code" and check:
            gaps.append((cell, cell.source))
            cell.source = f"{text}\n{check}"
    return gaps


def run(path: Path) -> NotebookNode:
    """Run a lesson from the first cell to the last in a new kernel, in an empty folder."""
    begun = [0]  # cells that began to run: a kernel that dies does not report its last one
    step = next((one for one in steps() if one.path == path), None)
    with PARSING:
        made = jupytext.read(path)
        gaps, engine = ([], "") if step is None else (solve(made, step), state(step.number))
    with tempfile.TemporaryDirectory() as folder:
        if step is not None:
            (Path(folder) / ENGINE).write_text(engine, encoding="utf-8")
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "MINIGRAD_LESSONS_PROGRESS": str(Path(folder) / "progress.json"),  # leaves the reader's own file alone
            "MINIGRAD_LESSONS_STATIC": "1",  # a page has no kernel that could draw again
        }
        client = NotebookClient(
            made,
            timeout=TIMEOUT,
            kernel_name="python3",
            coalesce_streams=True,
            extra_arguments=["--log-level=40", f"--IPKernelApp.exec_lines={large.LOADED}"],
            on_cell_execute=lambda cell, cell_index: begun.append(cell_index),
            resources={"metadata": {"path": folder}},
        )
        try:
            asyncio.run(client.async_execute(env=environment))
        except CellExecutionError as error:
            raise LessonError(f"{place(path, made, begun[-1])} fails: {reason(error)}") from error
        except CellTimeoutError as error:
            raise LessonError(f"{place(path, made, begun[-1])} takes more than {TIMEOUT} s") from error
        except DeadKernelError as error:
            raise LessonError(f"{place(path, made, begun[-1])} ends the kernel") from error
    for cell, text in gaps:
        cell.source, cell.outputs = text, []
    return made


def place(path: Path, made: NotebookNode, i: int) -> str:
    """Return the name of a lesson and one of its cells, for a message."""
    return f"lesson {path.stem}: cell {i + 1} (`{made.cells[i].source.strip().splitlines()[0]}`)"


def reason(error: CellExecutionError) -> str:
    """Return the error of a cell; errors raised while a picture is shown are only in the traceback."""
    if error.ename != "NoneType":
        return f"{error.ename}: {error.evalue}"
    return ESCAPES.sub("", error.traceback).strip().splitlines()[-1]
