"""Draw the package, docs/pictures/package.svg: a record whose operations are the folders, made from their real imports.

A folder is below those that it imports from at load time.  Arrows implied by others are left out.
"""

import ast
import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import viz
from viz.view import view_of

from . import DOCS, ROOT

FOLDERS = {  # each imports from those above it
    "places": "the user's line",
    "scopes": "a value or a state for a while, whatever interrupts",
    "signatures": "types of calls, for editors",
    "config": "MINIGRAD_GENERIC",
    "errors": "errors and warnings with the user's line",
    "files": "writes a whole file or nothing",
    "arrays": "dtypes, devices, memory: no tensors",
    "events": "the interface for observers and services",
    "kernels": "from a formula's text to compiled code",
    "core": "Tensor, Function, Node, the engine",
    "layers": "how grad, jvp and vmap handle an operation",
    "tensors": "conversion, printing, hooks: Tensor's Python interface",
    "return_types": "named tuples",
    "ops": "the operations, sorted by kind",
    "fast": "generated code for plain eager operations",
    "diagnose": "finds and explains mistakes",
    "func": "torch.func's names",
    "autograd": "torch.autograd's names",
    "formulas": "operations and derivatives as expressions",
    "record": "a program's computation as plain data",
    "compile": "compiles a function to a generated program",
    "nn": "modules and losses",
    "optim": "optimizers and schedules",
    "explain": "explains a number, a shape",
    "linalg": "torch.linalg's names",
    "own_kernels": "users' own CUDA kernels",
    "cuda": "torch.cuda's names",
    "serialization": "save and load: PyTorch's files, read without running them",
    "warmup": "compiles all kernels ahead of time",
    "utils": "data loaders, checkpointing: torch.utils's names",
    "distributions": "torch.distributions's names",
    "distributed": "many processes on MPI: torch.distributed's names",
    "testing": "assert_close, check",
    "profiler": "time and memory by operation: torch.profiler's names",
    "compat": "runs programs that import torch",
    "viz": "drawings, the viewer, the command",
    "display": "what notebooks show",
    "lessons": "notebooks with self-checking exercises",
}
BESIDE = ("viz", "lessons")  # separate packages beside minigrad


def folder_of(path: Path) -> str:
    """Return the folder of a file, or the file itself if it is directly in the package."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[0] if parts[0] in BESIDE else parts[1]


def files_of(folder: str) -> list[Path]:
    """Return the Python files of a folder."""
    inside = ROOT / folder if folder in BESIDE else ROOT / "minigrad" / folder
    return sorted(inside.rglob("[!0-9]*.py")) if inside.is_dir() else [inside.with_suffix(".py")]


def modules(path: Path) -> set[str]:
    """Return the modules, and names in them, that a file imports at load time, that is, outside functions."""
    package = list(path.relative_to(ROOT).parent.parts)
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            found |= {module} | {f"{module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def imported(path: Path) -> set[str]:
    """Return the folders that a file imports from at load time."""
    found = {re.sub(r"^minigrad\.(\w+).*|^(viz|lessons)\b.*", r"\1\2", name) for name in modules(path)}
    return found & set(FOLDERS) - {folder_of(path)}


def imports() -> dict[str, set[str]]:
    """Return for each folder those that it imports from."""
    found: dict[str, set[str]] = defaultdict(set)
    for folder in FOLDERS:
        for path in files_of(folder):
            found[folder] |= imported(path)
    return found


def behind(folder: str, edges: dict[str, set[str]]) -> set[str]:
    """Return all folders that can be reached from a folder."""
    seen: set[str] = set()
    todo = list(edges[folder])
    while todo:
        if (other := todo.pop()) not in seen:
            seen.add(other)
            todo += edges[other]
    return seen


def downward(edges: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return the imports from folders earlier in FOLDERS, without those implied by others."""
    order = list(FOLDERS)
    down = {f: {g for g in edges[f] if order.index(g) < order.index(f)} for f in order}
    return {f: {g for g in down[f] if not any(g in behind(h, down) for h in down[f] - {g})} for f in order}


def record() -> dict:
    """Return the package as a record: a value and an operation for each folder."""
    arrows, order = downward(imports()), list(FOLDERS)
    values, ops = [], []
    for i, folder in enumerate(order):
        files = files_of(folder)
        lines = sum(len(path.read_text().splitlines()) for path in files)
        size = f"{len(files)} files, {lines:,} lines" if len(files) > 1 else f"{lines:,} lines"
        values.append(
            {"id": i, "name": folder, "kind": "computed", "shape": [], "dtype": "", "device": "", "bytes": 0}
            | {"summary": {}}
        )
        ops.append(
            {
                "id": i,
                "phase": "forward",
                "name": folder,
                "formula": folder,
                "call": f"{FOLDERS[folder]} ({size})",
                "layer": [],
                "outputs": [i],
            }
            | {"inputs": [order.index(g) for g in order if g in arrows[folder]], "of": None, "inplace": False}
            | {"where": {"file": folder, "line": 1, "code": ""}, "function": None, "saved": [], "edges": []}
            | {"tangents": {}, "views": [], "inside": [], "module": []}
        )
    return {
        "schema": "minigrad.record/1",
        "program": {"file": "minigrad", "name": "folders", "passes": ["forward"]},
        "values": values,
        "ops": ops,
        "outputs": [],
        "gradients": {},
    }


def main() -> None:
    """Write the picture."""
    view = replace(view_of(show=()), full=True)  # the sentences about the folders are whole
    viz.Drawing(record(), ("forward",), view=view).save(DOCS / "pictures" / "package.svg")
