"""Lines of text on cards: an amount under a name, and a formula in parts, with an index in brackets, or in LaTeX."""

import ast
import re

from .. import text
from ..graph.drawn_graph import Graph
from ..layout.style import TEXTS, measure
from ..view import View
from . import mathematics
from .heat import Heat
from .parts import Line

INDEXED = re.compile(r"\w+\[([^\[\]]+)\]( = .+)?")  # the call of an operation that reads or writes a part
PUT = {"pad": 0, "index_put": 1, "index_copy": 2}  # functions that write into zeros, and the place of what they write
SCATTER = {"select_scatter", "slice_scatter", "diagonal_scatter"}
READABLE = 0.7  # a formula that needs a smaller scale than this to fit is not typeset


def formula_lines(
    graph: Graph, formula: str, style: str, latex: str | None, columns: int, begin: str = "", owner: dict | None = None
) -> list[Line]:
    """Break a formula into lines, a long one into named parts; or return it in LaTeX if requested and not too wide.

    `owner` is the record's entry of the edge or push whose formula it is.
    """
    from minigrad.formulas.named_parts import in_parts  # the record was made by minigrad, so this costs no import time

    said = lambda formula: text.clean(graph.said(formula, owner or {}))
    line_of = lambda formula: begin + said(formula)
    latex = latex or mathematics.of(graph, said(formula))
    if graph.view.tex and latex and mathematics.is_formula(latex):
        wide, rows = mathematics.extent(latex)
        size, most = TEXTS[style].size, measure("x" * columns, style)
        if wide * size * READABLE <= most:
            extent = min(wide * size, most), rows * TEXTS[style].height
            return [Line([(line_of(formula), style)], None, latex, extent)]
    whole, parts = (formula, {}) if graph.view.slide else in_parts(formula)
    formulas = [line_of(whole), *(f"{name} = {said(part)}" for name, part in parts.items())]
    most = graph.view.lines if graph.view.slide else 2 * graph.view.lines  # enough lines to show the whole formula
    return [Line([(line, style)]) for one in formulas for line in text.wrap(one, columns, most)]


def in_brackets(op: dict, formula: str) -> str:
    """Return the contribution of an operation with an index as it is written by hand, with the index; "" for another one.

    >>> in_brackets({"call": "w[:2]"}, "pad(g, (0, 2))"), in_brackets({"call": "a[1] = b"}, "g.select_scatter(p, 0, 1)")
    ('zeros[:2] = g', 'g, with [1] = 0')
    >>> in_brackets({"call": "p[i]"}, "zeros_like(p).index_put((i,), g, accumulate=True)")
    'zeros[i] += g'
    >>> in_brackets({"call": "x[1]"}, "a + pad(g.expand(1), (1, 0))")
    'a, with [1] += g'
    """
    made = INDEXED.fullmatch(op.get("call") or "")
    try:
        call = ast.parse(formula, mode="eval").body if made else None
    except SyntaxError:
        return ""
    if isinstance(call, ast.BinOp) and isinstance(call.op, ast.Add):  # of the contributions to a gradient
        before, term = ast.unparse(call.left), in_brackets(op, ast.unparse(call.right))
        if " = zeros" in term:
            return in_brackets(op, before)
        return f"{before}, with {term.removeprefix('zeros').replace(' = ', ' += ')}" if term[:5] == "zeros" else ""
    if not made or not isinstance(call, ast.Call):
        return ""
    method = call.func if isinstance(call.func, ast.Attribute) else None
    name = method.attr if method else getattr(call.func, "id", "")
    if made[2] and method and name in SCATTER:
        return f"{ast.unparse(method.value)}, with [{made[1]}] = 0"
    if name not in PUT or len(call.args) <= PUT[name]:
        return ""
    given = call.args[PUT[name]]
    if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and given.func.attr == "expand":
        given = given.func.value
    return f"zeros[{made[1]}] {'+' * ('accumulate=True' in formula)}= {ast.unparse(given)}"


def assigned(name: str, amount: str, style: str, view: View, sign: str = "=") -> list[Line]:
    """Return `name = amount` in lines; an unknown part is left out."""
    alone = amount.startswith(("min ", "all ", "(", "nan ", "inf ", "-inf ")) and sign == "="
    joint = " " if alone else f" {sign} "
    whole = f"{name}{joint}{amount}" if name and amount else name or amount
    return [Line([(line, style)]) for line in text.wrap(whole, view.columns, view.lines)] if whole else []


def with_grad(lines: list[Line], now: str, style: str, columns: int) -> list[Line]:
    """Add what `.grad` holds to the lines of the gradient that a pass adds: grad += [3], now [39]: 36 from train.py:9."""
    if now and len(lines) == 1 and len(lines[0].text) + len(now) + 2 <= columns + 8:
        return [Line([*lines[0].left, (f", {now}", style)])]
    return lines + [Line([(line, style)]) for line in text.wrap(now, columns, 3) if line]


def amount_of(graph: Graph, entry: dict | None, heat: Heat | None = None) -> str:
    """Return a value's contents, unless its picture has them in cells; on a slide a large one shows only its shape."""
    amount = "" if heat and heat.words else text.contents(entry)
    if entry is None or not amount or text.whole(entry) or not graph.view.slide or "shapes" in graph.view.show:
        return amount
    return text.shape(entry["shape"])
