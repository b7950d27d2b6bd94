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
from ..formulas.expression import parsed
from ..formulas.latex import latex, symbol
from ..formulas.named_parts import in_parts
from ..ops.base.registry import TABLE, Entry
from ..tensors.nested import tensors_in
from .samples import call

# The files of operations in the order in which a reader wants them; what is not named here follows.
READING = """pointwise elementary rounding compare logic activation reduce prod order statistics quantiles scan softmax shape
join pad grids flip diagonal index gather scattering slices masks sort matmul einsum linalg determinants decompositions
norms""".split()
HEAD = "| operation | also | computes | derivative | example |\n| --- | --- | --- | --- | --- |"
SYMBOLS = {"input": "x", "self": "x", "other": "w", "tensors": "x"}  # of parameters; others keep their names


def operations_table() -> str:
    r"""Markdown with one row for each operation: its name in PyTorch and here, what it computes, its derivative, an example.

    >>> r"| `sin(x)`<br>\(\bar{x} = \bar{y} \odot \cos\left(x\right)\) |" in operations_table()
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
    """The call of a sample, and the formulas of its gradients as mathematics, as a record has them; none if nothing runs."""
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
    """The gradient along an edge as mathematics; a long one in named parts, with a line for each."""
    whole, parts = in_parts(edge["formula"])
    if not parts:
        return [f"\\({edge['latex']}\\)"]
    bars = [rf"\bar{{{symbol(labels[o])}}}" for o in op["outputs"]]
    names = {"g": bars[0]} | {f"g[{k}]": bar for k, bar in enumerate(bars)} | {n: symbol(n) for n in labels}
    told = {
        rf"\bar{{{symbol(labels[edge['input']])}}}": whole,
        **{rf"\quad {name}": part for name, part in parts.items()},
    }
    return [rf"\({name} = {latex(parsed(formula), names)}\)" for name, formula in told.items()]


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


def first_line(entry: Entry) -> str:
    """What an operation computes: the first line of its docstring."""
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
