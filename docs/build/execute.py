"""Runs lessons as notebooks, several at once, and keeps what they gave until something they depend on changes."""

from __future__ import annotations

import asyncio
import hashlib
import os
import platform
import re
import tempfile
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from . import ROOT

CACHE = ROOT / "build" / "lessons"
PACKAGES = ("minigrad", "viz", "lessons")
VERSIONS = ("numpy", "numba", "scipy", "matplotlib", "scikit-learn", "ipykernel", "jupytext")
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")  # colours for a terminal
TIMEOUT = 300  # seconds for one cell


class LessonError(Exception):
    """A lesson that cannot become a page."""


def notebooks(paths: Sequence[Path], only: Collection[str] | None = None, cache: Path = CACHE) -> list[NotebookNode]:
    """The lessons as notebooks with their outputs, or with `only` those of these names; LessonError with all that failed."""
    cache.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # the work is done by kernels, which are processes
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
    """One lesson with its outputs, from the cache if nothing has changed."""
    kept = cache / f"{path.stem}-{key(path)}.ipynb"
    if kept.exists():
        return nbformat.read(kept, as_version=4)
    made = run(path)
    for old in cache.glob(f"{path.stem}-*.ipynb"):
        old.unlink(missing_ok=True)
    half = kept.with_suffix(f".{os.getpid()}")
    nbformat.write(made, half)
    half.replace(kept)  # at once, so that a build that is stopped leaves no half of a notebook
    return made


def key(path: Path) -> str:
    """A digest of the lesson and of all it depends on: sources of our packages, and versions of others."""
    digest = hashlib.sha256(f"python {platform.python_version()}".encode())
    for name in VERSIONS:
        digest.update(f"{name} {version(name)}".encode())
    for file in [path, *dependencies(path)]:
        digest.update(f"\0{file.name}\0".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def dependencies(path: Path) -> list[Path]:
    """The files of our packages, but of those that belong to one lesson only this lesson's own."""
    files = [
        file
        for package in PACKAGES
        for file in sorted((ROOT / package).rglob("*"))
        if file.is_file() and "__pycache__" not in file.parts and file.suffix != ".ipynb"
    ]
    return [file for file in files if file.name == path.name or not re.match(r"\d\d_", file.name)]


def run(path: Path) -> NotebookNode:
    """Run a lesson from the first cell to the last in a kernel of its own, in an empty folder."""
    made, begun = jupytext.read(path), [0]  # the cells that began to run: a kernel that ends says nothing of its last
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "MINIGRAD_LESSONS_PROGRESS": str(Path(folder) / "progress.json"),  # the reader's own stays as it is
        }
        client = NotebookClient(
            made,
            timeout=TIMEOUT,
            kernel_name="python3",
            coalesce_streams=True,
            extra_arguments=["--log-level=40"],
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
    return made


def place(path: Path, made: NotebookNode, i: int) -> str:
    """The lesson and one of its cells, in words."""
    return f"lesson {path.stem}: cell {i + 1} (`{made.cells[i].source.strip().splitlines()[0]}`)"


def reason(error: CellExecutionError) -> str:
    """What a cell raised; of what is raised while a picture is shown, only the traceback tells."""
    if error.ename != "NoneType":
        return f"{error.ename}: {error.evalue}"
    return ESCAPES.sub("", error.traceback).strip().splitlines()[-1]
