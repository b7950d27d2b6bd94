"""The user's source for the source pane: whole files if they have not changed since the run, else the recorded lines."""

import ast
import linecache
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from ..text import clean, file_name

LARGEST = 400_000  # bytes: from larger files only the recorded lines are shown


def sources(places: list[dict]) -> tuple[list[dict], list[int]]:
    """Return files by their lines, `{"name", "lines": {number: text}}`, and the index of the file of each place.

    A whole file is used only if it contains all recorded lines, word for word.  Otherwise it has changed, or the record comes
    from another machine, and none of its text may get into the page.

    >>> place = {"file": "/nowhere/net.py", "line": 3, "code": "y = w * x"}
    >>> sources([place, place])
    ([{'name': 'net.py', 'lines': {3: 'y = w * x'}}], [0, 0])
    """
    numbers: dict[str, int] = {}
    ran: dict[str, dict[int, str]] = defaultdict(dict)
    for place in places:
        numbers.setdefault(place["file"], len(numbers))
        ran[place["file"]][place["line"]] = place["code"]
    files = [{"name": file_name(file), "lines": _whole(file, ran[file]) or _shown(ran[file])} for file in numbers]
    return files, [numbers[place["file"]] for place in places]


def _whole(file: str, ran: dict[int, str]) -> dict[int, str]:
    """Return all lines of a file, or {} if it cannot be read or has changed."""
    lines = _read(file).expandtabs(4).splitlines()
    for line, code in ran.items():
        if not (0 < line <= len(lines) and code and lines[line - 1].strip() == code.strip()):
            return {}
    return {i: clean(line) for i, line in enumerate(lines, 1)}


def _read(file: str) -> str:
    """Return the text of a file or of a notebook's cell; "" if there is none or it is too large."""
    try:
        if os.path.isfile(file):
            return Path(file).read_text(encoding="utf-8") if os.path.getsize(file) <= LARGEST else ""
    except (OSError, ValueError):
        return ""
    return "".join(linecache.getlines(file)) if file in linecache.cache else ""


def _shown(ran: dict[int, str]) -> dict[int, str]:
    return {line: clean(ran[line]).rstrip() for line in sorted(ran)}


def headline(name: str, file: str, files: list[dict]) -> dict:
    """Return the statement that makes what a program draws, as `title`, and its `place`; {} if its source is not in the page.

    >>> file = {"name": "net.py", "lines": {1: "def f(x):", 2: "    return x * x", 3: "loss = f(", 4: "    w)"}}
    >>> headline("loss", "net.py", [file]), headline("f", "main.py", [file]), headline("y", "net.py", [file])
    ({'title': 'loss = f(w)', 'place': 'net.py:3'}, {'title': 'f(x)', 'place': 'net.py:1'}, {})
    """
    for one in files if name.isidentifier() else ():
        try:
            tree = ast.parse("\n".join(one["lines"].values()))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for node in reversed(list(_binding(tree, name))):
            place = f"{one['name']}:{list(one['lines'])[node.lineno - 1]}"  # a file that has changed has only lines that ran
            if isinstance(node, ast.FunctionDef):
                every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                return {"title": f"{name}({', '.join(each.arg for each in every)})", "place": place}
            if one["name"] == file:
                return {"title": ast.unparse(node), "place": place}
    return {}


def _binding(node: ast.AST, name: str) -> Iterator[ast.stmt]:
    """Yield the statements that give a name its value, outside of functions and classes."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef | ast.Lambda):
            if isinstance(child, ast.FunctionDef) and child.name == name:
                yield child
        elif isinstance(child, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = child.targets if isinstance(child, ast.Assign) else [child.target]
            if any(isinstance(one, ast.Name) and one.id == name for target in targets for one in ast.walk(target)):
                yield child
        else:
            yield from _binding(child, name)
