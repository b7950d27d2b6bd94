"""The table of all operations, as Markdown for docs/operations.md: made from their declarations, with examples that run.

An operation goes by the name that it has in both libraries, behind `minigrad.` here and `torch.` there.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from typing import Any

from ..core.tensor import Tensor
from ..kernels import formula
from ..ops.base.primitive import Primitive
from ..ops.base.registry import TABLE, Entry
from .samples import call

# The files of operations in the order in which a reader wants them; what is not named here follows.
READING = """pointwise elementary rounding compare logic activation reduce prod order statistics quantiles scan softmax shape
join pad grids flip diagonal index gather scattering slices masks sort matmul einsum linalg determinants decompositions
norms""".split()
HEAD = "| operation | also | computes | derivative | example |\n| --- | --- | --- | --- | --- |"


def operations_table() -> str:
    """Markdown with one row for each operation: its name in PyTorch and here, what it computes, its derivative, an example.

    >>> "| `sin` | `.sin()`, `.sin_()`, `out=` | `sin(x)` | `x: cos(x)` |" in operations_table()
    True
    """
    rank = {f"minigrad.ops.{name}": i for i, name in enumerate(READING)}
    modules = sorted(dict.fromkeys(entry.module for entry in TABLE.values()), key=lambda m: rank.get(m, len(rank)))
    parts = []
    for module in modules:
        title = re.split(r"[:.;,]\s", sys.modules[module].__doc__ or module)[0].replace("\n", " ")
        parts.append(f"## {title}\n\n{HEAD}")
        parts += [row(entry) for entry in TABLE.values() if entry.module == module and not second_name(entry)]
        parts.append("")
    return "\n".join(parts)


def row(entry: Entry) -> str:
    """One operation of the table."""
    derivative = "<br>".join(
        code(line) for line in dict.fromkeys(line for cls in classes(entry) for line in derivatives(cls))
    )
    if entry.differentiable and not derivative:
        derivative = "by its parts"
    differs = f"<br>*Not as in PyTorch:* {entry.differs}" if entry.differs else ""
    cells = [
        ", ".join(code(path(e)) for e in TABLE.values() if e.function is entry.function),
        also(entry),
        computes(entry) + differs,
        derivative,
        example(entry),
    ]
    return f"| {' | '.join(cells)} |"


def second_name(entry: Entry) -> bool:
    """Whether the operation stands in the table under another name already: multiply is mul."""
    return next(e for e in TABLE.values() if e.function is entry.function) is not entry


def path(entry: Entry) -> str:
    """The operation's name behind `minigrad.`, which is that behind `torch.`: nn.functional.gelu, Tensor.view."""
    return entry.torch or entry.name


def also(entry: Entry) -> str:
    """The other forms of an operation."""
    name = entry.name.rpartition(".")[2]
    forms = [f".{name}()"] * bool(entry.method and "Tensor" not in path(entry)) + [f".{name}_()"] * entry.inplace
    return ", ".join(map(code, forms + ["out="] * entry.out))


def computes(entry: Entry) -> str:
    """A pointwise operation's formula, else the first line of the docstring."""
    kernel = getattr(entry.cls, "kernel", None)
    if kernel is not None:
        return code(formula.shown(kernel))
    return (entry.function.__doc__ or "").strip().split("\n")[0].replace("|", "\\|")


def example(entry: Entry) -> str:
    """A call of the operation and the shape of what it gives: its first sample, which the tests run as well."""
    if not entry.samples:
        return ""
    sample, library = entry.samples[0], sys.modules[__name__.partition(".")[0]]
    result, _ = call(library, entry.function, entry, sample, dtype="float32")
    return f"{code(as_called(entry, sample))} → {code(shapes(result))}"


def as_called(entry: Entry, sample: str) -> str:
    """A sample as a user writes it: `sum(T(3, 4))`, and where there is only the method `T(2, 6).view((3, 4))`."""
    if "Tensor." not in path(entry):
        return f"{path(entry)}({sample})"
    given: Any = ast.parse(f"f({sample})", mode="eval").body
    first, given.args, given.func = given.args[0], given.args[1:], ast.Name(entry.name)
    return f"{ast.unparse(first)}.{ast.unparse(given)}"


def shapes(result: Any) -> str:
    """The shape of a result, or of each; of what is no tensor the value itself."""
    if isinstance(result, (tuple, list)) and any(isinstance(r, Tensor) for r in result):
        return ", ".join(map(shapes, result))
    return str(tuple(result.shape)) if isinstance(result, Tensor) else str(result)


def code(text: str) -> str:
    """A formula as code in the cell of a table."""
    return f"`{text}`".replace("|", "\\|").replace("\n", " ") if text else ""


def classes(entry: Entry) -> list:
    """The declared operations that a function of the table applies, itself or by helpers; other functions have a row."""
    if entry.cls is not None:
        return [entry.cls]
    found, todo = [], [entry.function]
    seen = {e.function for e in TABLE.values()}
    while todo and not found:
        near, todo = todo, []
        for function in map(inspect.unwrap, near):
            for named in [function.__globals__.get(name) for name in function.__code__.co_names]:
                if isinstance(named, type) and issubclass(named, Primitive) and named.formulas:
                    found.append(named)
                elif inspect.isfunction(named) and named.__module__.startswith("minigrad.ops.") and named not in seen:
                    seen.add(named)
                    todo.append(named)
    return found


def derivatives(cls: Any) -> list:
    """`x: cos(x)` for each argument that has a formula."""
    return [f"{cls.names[i]}: {formula.shown(f)}" for i, f in cls.formulas.items()]
