"""The names of a program that can be drawn: its tensors with a graph, its modules and its functions.

`minigrad render PROGRAM.py --list` prints them.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .function_arguments import keywords_needed
from .libraries import is_drawn, is_module, library_of_tensor, tree_of

if TYPE_CHECKING:
    from .run_program import Program

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


@dataclass
class Named:
    """A name, a description of its value, and the last line of the program that assigns it."""

    name: str
    description: str
    line: int | None
    starts_backward: bool = False


@dataclass
class Listing:
    """The names that can be drawn, by the kind of their values."""

    tensors: list[Named] = field(default_factory=list)
    modules: list[Named] = field(default_factory=list)
    functions: list[Named] = field(default_factory=list)

    @classmethod
    def of(cls, program: Program, began: Callable[[Any], bool] = lambda value: False) -> Listing:
        """Collect the names of a program that has run; `began` knows the tensors from which its last backward began.

        >>> from .run_program import Program
        >>> Listing.of(Program("net.py", b"", names={"n": 3}))
        Listing(tensors=[], modules=[], functions=[])
        """
        found, lines = cls(), lines_of(program.text)
        for name, value in program.names.items():
            if name.startswith("_") or not is_drawn(value):
                continue
            if library_of_tensor(value):
                if value.grad_fn is not None:
                    text = f"{str(value.dtype).rpartition('.')[2]} {tuple(value.shape)}"
                    found.tensors.append(Named(name, text, lines.get(name), began(value)))
            elif is_module(value):
                count = sum(p.numel() for p in value.parameters())
                text = f"{type(value).__name__}, {count:,} parameter{'s' * (count != 1)}"
                found.modules.append(Named(name, text, lines.get(name)))
            elif not keywords_needed(signature := inspect.signature(value)):
                found.functions.append(Named(name, str(signature), lines.get(name)))
        return found

    @property
    def every(self) -> list[Named]:
        """The names of all kinds."""
        return [*self.tensors, *self.modules, *self.functions]

    def rows(self, file: str) -> Iterator[str]:
        """Yield the lines of the list, with the targets as one types them."""
        wide = max((len(f"{file}:{one.name}") for one in self.every), default=0)
        for kind, named in vars(self).items():
            if named:
                yield f"{kind}:"
            for one in named:
                line = f"  line {one.line}" if one.line else ""
                start = "  the last backward began here" if one.starts_backward else ""
                yield f"  {f'{file}:{one.name}':{wide}}  {one.description}{line}{start}"
        if not self.every:
            yield f"{file} has no name that can be drawn: no tensor with a graph, no module and no function."

    def advice(self, file: str) -> str:
        """Return a sentence that tells what to name instead of nothing."""
        words = [f"{one.name} (a {kind[:-1]})" for kind, ones in vars(self).items() for one in ones]
        if not words:
            return "It also defines no tensor with a graph, no module and no function, so there is nothing to draw."
        return f"Name what to draw, such as {file}:{self.every[0].name}. It has {', '.join(words)}."


def lines_of(text: bytes) -> dict[str, int]:
    """Return the last line that assigns, or defines, each name of a program's top level.

    >>> sorted(lines_of(b"x = 1\\nfor i in range(3):\\n    x += i\\ndef f(y):\\n    z = y").items())
    [('f', 4), ('i', 2), ('x', 3)]
    """
    found: dict[str, int] = {}
    try:
        pending: list[ast.AST] = [tree_of(text)]
    except (SyntaxError, ValueError):
        return found
    while pending:
        node = pending.pop()
        if isinstance(node, SCOPES):
            if name := getattr(node, "name", ""):
                found[name] = max(found.get(name, 0), node.lineno)
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found[node.id] = max(found.get(node.id, 0), node.lineno)
        pending += ast.iter_child_nodes(node)
    return found
