"""The table of all operations, as Markdown for docs/operations.md: built from their declarations, with examples that run.

Each operation has the name that it has in both libraries, after `minigrad.` here and `torch.` there.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from typing import Any

from ..core.tensor import Tensor
from ..formulas.expression import parsed
from ..formulas.latex import latex, symbol
from ..formulas.named_parts import in_parts
from ..ops.base.registry import TABLE, Entry
from ..tensors.nested import tensors_in
from .samples import call

# The files of operations in reading order; files that are missing here follow.
READING = """pointwise elementary rounding compare logic activation reduce prod order statistics quantiles scan softmax shape
join pad grids flip diagonal index gather scattering slices masks sort matmul einsum linalg determinants decompositions
norms""".split()
HEAD = "| operation | also | computes | derivative | example |\n| --- | --- | --- | --- | --- |"
SYMBOLS = {"input": "x", "self": "x", "other": "w", "tensors": "x"}  # for parameters; others keep their names


def operations_table() -> str:
    r"""Return Markdown with a row per operation: its name in PyTorch and here, its result, its derivative, an example.

    >>> r"| `sin(x)`<br>\(\bar{x} = \bar{y} \odot \cos\left(x\right)\) |" in operations_table()
    True
    """
    rank = {f"minigrad.ops.{name}": i for i, name in enumerate(READING)}
    modules = sorted(dict.fromkeys(entry.module for entry in TABLE.values()), key=lambda m: rank.get(m, len(rank)))
    parts = []
    for module in modules:
        title = re.split(r"[:.;,]\s", sys.modules[module].__doc__ or module)[0].replace("\n", " ")
        parts.append(f"## {title}\n\n{HEAD}")
        parts += [row(entry) for entry in TABLE.values() if entry.module == module and not is_alias(entry)]
        parts.append("")
    return "\n".join(parts)


def row(entry: Entry) -> str:
    """Return the row of one operation."""
    samples = [*[entry.shown] * bool(entry.shown), *entry.samples] if entry.differentiable else []
    call, formulas = next((found for sample in samples if (found := recorded(entry, sample))[1]), ("", []))
    differs = f"<br>*Not as in PyTorch:* {entry.differs}" if entry.differs else ""
    cells = [
        ", ".join(code(path(e)) for e in TABLE.values() if e.function is entry.function),
        also(entry),
        first_line(entry) + differs,
        "<br>".join([code(call) if formulas else "", *formulas]).removeprefix("<br>"),
        example(entry),
    ]
    return f"| {' | '.join(cells)} |"


def recorded(entry: Entry, sample: str) -> tuple[str, list[str]]:
    """Return a sample's call and the formulas of its gradients as mathematics, from a recording; none if nothing runs."""
    library = sys.modules[__name__.partition(".")[0]]
    args, kwargs = call(library, lambda *a, **k: (a, k), entry, sample, dtype="float32")[0]
    for t in [t for t in tensors_in((args, kwargs)) if t.dtype.is_floating_point]:
        t.requires_grad_()
    results: list[Tensor] = []

    def program() -> list[Tensor]:
        results.extend(tensors_in(entry.function(*args, **kwargs)))
        return [t for t in results if t.requires_grad]

    rec = library.record(program, passes=("forward", "backward"))
    given = inspect.signature(entry.function).bind(*args, **kwargs).arguments
    named = {SYMBOLS.get(name, name): list(tensors_in(a)) for name, a in given.items()}
    named |= {"out" if "y" in named else "y": results}
    for name, several in named.items():
        numbered = enumerate(several, 1) if len(several) > 1 else [("", t) for t in several]
        rec.name_values({id(t): f"{name}{k}" for k, t in numbered})
    record = rec.to_dict()
    ops = [op for op in record["ops"] if op["phase"] == "forward"]
    labels = [v["label"] for v in record["values"]]
    formulas = [line for op in ops for edge in op["edges"] for line in as_mathematics(op, edge, labels)]
    return "; ".join(op["call"] for op in ops), formulas


def as_mathematics(op: dict, edge: dict, labels: list[str]) -> list[str]:
    """Return the gradient along an edge as mathematics; a long one in named parts, one per line."""
    whole, parts = in_parts(edge["formula"])
    if not parts:
        return [f"\\({edge['latex']}\\)"]
    bars = [rf"\bar{{{symbol(labels[o])}}}" for o in op["outputs"]]
    names = {"g": bars[0]} | {f"g[{k}]": bar for k, bar in enumerate(bars)} | {n: symbol(n) for n in labels}
    equations = {
        rf"\bar{{{symbol(labels[edge['input']])}}}": whole,
        **{rf"\quad {name}": part for name, part in parts.items()},
    }
    return [rf"\({name} = {latex(parsed(formula), names)}\)" for name, formula in equations.items()]


def is_alias(entry: Entry) -> bool:
    """Return True if the table already has the operation under another name, as multiply for mul."""
    return next(e for e in TABLE.values() if e.function is entry.function) is not entry


def path(entry: Entry) -> str:
    """Return the operation's name after `minigrad.` or `torch.`, such as nn.functional.gelu or Tensor.view."""
    return entry.torch or entry.name


def also(entry: Entry) -> str:
    """Return the other forms of an operation."""
    name = entry.name.rpartition(".")[2]
    forms = [f".{name}()"] * bool(entry.method and "Tensor" not in path(entry)) + [f".{name}_()"] * entry.inplace
    return ", ".join(map(code, forms + ["out="] * entry.out))


def first_line(entry: Entry) -> str:
    """Return the first line of an operation's docstring, which states its result."""
    return (entry.function.__doc__ or "").strip().split("\n")[0].replace("|", "\\|")


def example(entry: Entry) -> str:
    """Return a call of the operation's first sample, which the tests run too, and the shape of its result."""
    if not entry.samples:
        return ""
    sample, library = entry.samples[0], sys.modules[__name__.partition(".")[0]]
    result, _ = call(library, entry.function, entry, sample, dtype="float32")
    return f"{code(as_called(entry, sample))} → {code(shapes(result))}"


def as_called(entry: Entry, sample: str) -> str:
    """Return a sample as users write it: `sum(T(3, 4))`, or `T(2, 6).view((3, 4))` if there is only a method."""
    if "Tensor." not in path(entry):
        return f"{path(entry)}({sample})"
    given: Any = ast.parse(f"f({sample})", mode="eval").body
    first, given.args, given.func = given.args[0], given.args[1:], ast.Name(entry.name)
    return f"{ast.unparse(first)}.{ast.unparse(given)}"


def shapes(result: Any) -> str:
    """Return the shape of each result as text, or the value if it is not a tensor."""
    if isinstance(result, (tuple, list)) and any(isinstance(r, Tensor) for r in result):
        return ", ".join(map(shapes, result))
    return str(tuple(result.shape)) if isinstance(result, Tensor) else str(result)


def code(text: str) -> str:
    """Return text as code in a table cell."""
    return f"`{text}`".replace("|", "\\|").replace("\n", " ") if text else ""
