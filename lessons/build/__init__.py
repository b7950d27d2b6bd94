"""Build it: eight steps in which a learner writes an engine, `engine.py`, beside the notebooks.

A step is a lesson with the number of the track, in `1_scalars.py` and so on.  Its notebook begins with `from engine import *`.
Each task is answered in the notebook.  When `lessons.check` finds the answer right, `keep` writes its source into engine.py:
it replaces the function or class with that name, or is added at the end.  Cells that give code away call `lessons.keep(name)`
for the same purpose.  The loaded module gets the new definition, too, so that older functions call it at once.

Without engine.py beside the notebook nothing is written.  `minigrad lessons open build 3` writes it if there is none, from
`state(3)`: the given code and the solutions of all earlier steps.

The engine after step 4, on which steps 5 to 8 build:

- `Value(value, parents, op, ctx)` with `grad` (None at first) and `number`, the order of creation; its operators call
  `add`, `mul`, `matmul`, `exp`, `tanh` and `total`
- `backward(out, g=1.0)` takes nodes from a heap; `contributions(node, g)` yields pairs of a parent and its gradient
- `Function.apply`, in both forms, with a `Context`; `Add`, `Mul`, `MatMul`, `Exp`, `Tanh`, `Sum`; an argument that is no
  `Value` is a constant
- `unbroadcast(g, shape)`, `numeric_gradient(f, x)`
- `guards(ctx)`, which is empty; since step 5 it has a `Saved` for each array that a Function saves

Since step 6 the operators call `run(function, *args)`, which gives boxes to the innermost layer: `Layer`, `Forward`,
`Box(value, layer)`, `Dual`, `shape_of(x)`.  Step 7 adds `innermost(args)`, the layers `Batch` and `Grad`, the Functions
`Reshape`, `Expand` and `SumTo`, and the transforms `vmap(f)` and `grad(f)`, which nest with `jvp` in any order.

The last cell of each step shows the learner's definitions beside those of minigrad (beside.py), and over all steps each file of
minigrad/core.
"""

from __future__ import annotations

import ast
import functools
import linecache
import re
import sys
import types
from pathlib import Path
from typing import Any

from lessons.catalogue import cells, steps
from lessons.instructor import solutions, solved

__all__ = ["ENGINE", "keep", "put", "source_of", "state"]

ENGINE = "engine.py"
HEADER = '''"""My autograd engine."""

import heapq
import itertools
import weakref

import numpy as np

created = itertools.count()
'''


def keep(*things: Any) -> None:
    """Write functions and classes into engine.py, in the working directory, and into the module engine if it is loaded.

    Write nothing if there is no engine.py.  Raise ValueError for a thing without source, such as a number.

    >>> keep(3)
    Traceback (most recent call last):
    ValueError: 3 is not kept in engine.py: write it as a function with def, or as a class
    """
    for thing in things:
        source = source_of(thing)
        name = thing.__name__
        if (engine := sys.modules.get("engine")) is not None:
            keep_lines(engine)
            setattr(engine, name, thing)
        if (place := Path(ENGINE)).exists():
            place.write_text(put(place.read_text(encoding="utf-8"), name, source), encoding="utf-8")


def keep_lines(engine: types.ModuleType) -> None:
    """Keep the lines that the loaded engine was made of: tracebacks read them while the file gets others."""
    file, loaded = str(Path(ENGINE).absolute()), engine.__spec__
    if engine.__file__ == file and getattr(engine, "lines_of", None) is not loaded:
        lines = Path(file).read_text(encoding="utf-8").splitlines(keepends=True)
        linecache.cache[file] = sum(map(len, lines)), None, lines, file  # without a time it is never read again
        engine.lines_of = loaded  # a reload makes another


def put(text: str, name: str, source: str) -> str:
    """Return a program with the definition `source` instead of that of `name`, or with `source` at the end.

    >>> print(put("x = 1\\n\\n\\ndef f(): ...\\n", "f", "def f():\\n    return 2\\n"))
    x = 1
    <BLANKLINE>
    <BLANKLINE>
    def f():
        return 2
    <BLANKLINE>
    """
    if (old := definition(ast.parse(text), name)) is None:
        return f"{text.rstrip()}\n\n\n{source.strip()}\n"
    lines = text.splitlines(keepends=True)
    first, last = span(old)
    return "".join([*lines[: first - 1], f"{source.strip()}\n", *lines[last:]])


def definition(tree: ast.Module, name: str, line: int | None = None) -> ast.stmt | None:
    """Return the last definition of a function or class in a program; with `line`, the one that contains it."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    found = [node for node in tree.body if isinstance(node, kinds) and node.name == name]
    if line is not None:
        found = [node for node in found if span(node)[0] <= line <= span(node)[1]]
    return found[-1] if found else None


def span(node: Any) -> tuple[int, int]:
    """Return the first and last line of a definition with its decorators."""
    return min([node.lineno, *(one.lineno for one in node.decorator_list)]), node.end_lineno


def source_of(thing: Any) -> str:
    """Return the source of a function or class, also of a notebook's cell; raise ValueError if there is none."""
    members = vars(thing).values() if isinstance(thing, type) else [thing]
    codes = [getattr(getattr(one, "__func__", one), "__code__", None) for one in members]
    for code in codes:  # inspect finds no source for the class of a cell
        if isinstance(code, types.CodeType) and (text := "".join(linecache.getlines(code.co_filename))):
            found = definition(ast.parse(text), thing.__name__, code.co_firstlineno)
            if found is not None:
                first, last = span(found)
                return "".join(text.splitlines(keepends=True)[first - 1 : last])
    raise ValueError(f"{thing!r} is not kept in {ENGINE}: write it as a function with def, or as a class")


@functools.cache
def state(number: int) -> str:
    """Return engine.py as it is before step `number`: the given code and the solutions of all earlier steps.

    >>> state(1).splitlines()[0], "class Value" in state(2)
    ('\"\"\"My autograd engine.\"\"\"', True)
    """
    text = HEADER
    for one in steps():
        if one.number < number:
            text = after(text, one)
    return text


def after(text: str, one: Any) -> str:
    """Return engine.py after a step, from its text before."""
    known = solutions(one)
    for title, cell in cells(one.path):
        if title.startswith("[markdown]"):
            continue
        cell, check = solved(cell, known)
        tree = ast.parse(cell)
        lines = cell.splitlines(keepends=True)
        given = re.findall(r"^lessons\.keep\((.*)\)$", cell, re.MULTILINE)
        for name in [*re.findall(r"\w+", ", ".join(given)), *re.findall(r'"(\w+)"', check)]:
            if (found := definition(tree, name)) is not None:
                first, last = span(found)
                text = put(text, name, "".join(lines[first - 1 : last]))
    return text
