"""Imports run one way: from a folder only to those above it, imports inside functions and by name included."""

import ast
from functools import cache
from pathlib import Path

import pytest

from docs.build.package import FOLDERS

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "minigrad"


def name_of(path):
    """Return the dotted name of a module."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def folder(name):
    """Return the folder of a module, or its file if it is in no folder; "" for those that may import everything."""
    return name if name == "viz" else name.split(".")[1] if "." in name and name != "minigrad.__main__" else ""


def imported(name, path):
    """Return the modules that a file imports anywhere, but for the type checker."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]

    def walk(node):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
                continue
            if isinstance(child, ast.Call) and ast.unparse(child.func).endswith("import_module"):
                yield from by_name(child.args[0], ".".join(package))
            if isinstance(child, ast.Import):
                yield from [a.name for a in child.names]
            elif isinstance(child, ast.ImportFrom):
                above = package[: len(package) - child.level + 1] if child.level else []
                module = ".".join([*above, *([child.module] if child.module else [])])
                yield from [n if (n := f"{module}.{a.name}") in MODULES else module for a in child.names]
            yield from walk(child)

    return {m for m in walk(ast.parse(path.read_text())) if m in MODULES or m == "viz"} - {name, "minigrad"}


def by_name(argument, package):
    """Return the modules that a call of import_module may import, or their folder, as far as its text says which."""
    parts = argument.values if isinstance(argument, ast.JoinedStr) else [argument]
    text = "".join(p.value if isinstance(p, ast.Constant) else "{" + ast.unparse(p).strip("{}f'") + "}" for p in parts)
    text = text.replace("{__package__}", package).replace("{__name__}", package).partition("{")[0]
    return ["viz"] if text.startswith("viz") else [text.removesuffix(".")] if text.startswith("minigrad.") else []


@cache
def edges():
    return {name: imported(name, path) for name, path in MODULES.items()}


def rings(graph):
    """Return the sets of modules that need each other."""
    index, low, stack, found = {}, {}, [], []

    def go(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in graph[v]:
            if w not in index:
                go(w)
            if w in stack:
                low[v] = min(low[v], low[w])
        if low[v] == index[v]:
            ring = stack[stack.index(v) :]
            del stack[stack.index(v) :]
            found.extend([ring] if len(ring) > 1 else [])

    for v in graph:
        if v not in index:
            go(v)
    return found


def test_no_import_leads_to_a_folder_further_down():
    order = list(FOLDERS)
    upward = [
        (name, other)
        for name, found in edges().items()
        for other in found
        if folder(name) and order.index(folder(other)) > order.index(folder(name))
    ]
    assert not upward


def test_no_files_need_each_other():
    assert not rings({**edges(), "viz": set()})


@pytest.mark.parametrize("name", [name for name in MODULES if folder(name) == "core"])
def test_the_nucleus_imports_facts_about_arrays_and_the_users_line_alone(name):
    assert {folder(other) for other in edges()[name]} <= {"core", "arrays", "places", "scopes", "signatures", "events"}


def test_kernels_know_arrays_alone():
    kernels = [name for name in MODULES if folder(name) == "kernels"]
    assert {folder(other) for name in kernels for other in edges()[name]} <= {
        "kernels",
        "arrays",
        "places",
        "errors",
        "config",
    }


def test_no_name_of_a_file_occurs_twice():
    # PyTorch's names of modules
    public = set("compiler cuda function functional grad graph library linalg profiler special transforms".split())
    names = [path.stem for path in MODULES.values() if path.stem not in ("__init__", "__main__")]
    twice = {name for name in names if names.count(name) > 1}
    assert twice <= public
