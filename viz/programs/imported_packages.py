"""The installed packages that a program imports and that are written for PyTorch, found without running anything.

A package is far larger than the part of it that a program uses, so only what runs on import counts: a missing name there
stops the program for certain, while one inside a function stops only those that call it.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path

from .libraries import absolute, file_of, imported, tree_of

IMPORT = re.compile(r"^(?:from[ \t]+([\w.]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n#]*)|import[ \t]+([^\n#]+))", re.MULTILINE)
OF_TORCH = re.compile(r"^(?:import|from)[ \t]+torch\b", re.MULTILINE)


def run_on_import(
    trees: dict[str, ast.Module], folder: Path, leave_out: Iterable[str]
) -> dict[str, dict[Path, ast.Module]]:
    """Return the statements that importing a program's packages runs, by package and file, if a file imports torch.

    `trees` are the program's own modules by name; packages in `leave_out` are not read.
    """
    leave_out = {*leave_out, *sys.stdlib_module_names, *[name.partition(".")[0] for name in trees], "minigrad"}
    pending = [name for tree in trees.values() for name in imported(tree)]
    seen: set[str] = set()
    found: dict[str, dict[Path, ast.Module]] = {}
    while pending:
        name = pending.pop()
        if name in seen or name.partition(".")[0] in leave_out:
            continue
        seen.add(name)
        if (file := module_file(name, [str(folder), *sys.path])) is None:
            continue
        pending += [name.rpartition(".")[0]] if "." in name else []
        try:
            text = file.read_text(encoding="utf-8", errors="replace")
            pending += modules_imported(text, name, file.name == "__init__.py")
            if OF_TORCH.search(text):
                found.setdefault(name.partition(".")[0], {})[file] = OnImport().visit(tree_of(text.encode()))
        except (OSError, SyntaxError, ValueError):  # importing it raises the error
            continue
    return found


def module_file(name: str, path: list[str]) -> Path | None:
    """Return the Python file of a module, or None; nothing is imported."""
    root, _, inside = name.partition(".")
    file = root_file(root, tuple(path))
    if file is None or not inside:
        return file
    return file_of(file.parent, inside) if file.name == "__init__.py" else None


@cache
def root_file(name: str, path: tuple[str, ...]) -> Path | None:
    """Return the file of a top-level module or package, if it is written in Python."""
    try:
        spec = PathFinder.find_spec(name, path)
    except (ImportError, OSError, ValueError):
        return None
    return Path(spec.origin) if spec and spec.origin and spec.origin.endswith(".py") else None


def modules_imported(text: str, name: str, is_package: bool) -> Iterator[str]:
    """Yield the modules that a module's text imports at the beginning of a line, without parsing it.

    >>> list(modules_imported("from . import neurons\\nimport torch.nn as nn, math", "spikes.core", False))
    ['spikes', 'spikes.neurons', 'torch.nn', 'math']
    """
    for base, names, plain in IMPORT.findall(text):
        if plain:
            yield from [part.split()[0] for part in plain.split(",") if part.split()]
            continue
        module = base.lstrip(".")
        base = absolute(module, len(base) - len(module), name if is_package else name.rpartition(".")[0])
        yield base
        yield from [f"{base}.{part.split()[0]}" for part in names.strip("()\\ \n").split(",") if part.split()]


class OnImport(ast.NodeTransformer):
    """Empties functions, and removes what runs only if the file is the program.

    >>> print(ast.unparse(OnImport().visit(ast.parse("import torch\\ndef f(): import math"))))
    import torch
    <BLANKLINE>
    def f():
        pass
    """

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Keep decorators and defaults, which run."""
        node.body = [ast.copy_location(ast.Pass(), node)]
        return node

    visit_AsyncFunctionDef = visit_FunctionDef  # type: ignore[assignment]

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """Keep the defaults."""
        node.body = ast.copy_location(ast.Constant(None), node)
        return node

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        """Remove `if __name__ == "__main__":`."""
        self.generic_visit(node)
        return node.orelse if "__name__" in ast.unparse(node.test) else node
