"""Formulas as mathematics: a call in LaTeX, and an estimate of a formula's size in LaTeX."""

from __future__ import annotations

import re

from .drawn_graph import Graph

PLAIN = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")  # h₂ is typeset like h2: with an index
COMMAND = re.compile(r"\\[A-Za-z]+|\\.")  # a LaTeX command
SILENT = {
    rf"\{word}"
    for word in ("left", "right", "bar", "dot", "frac", "mathrm", "mathbf", "operatorname", "text", "begin", "end", ",")
}


def of(graph: Graph, expression: str) -> str:
    """Return an expression as LaTeX; "" if the view asks for none, or the text is not an expression."""
    from minigrad.formulas.expression import parsed
    from minigrad.formulas.latex import latex

    numbers = {graph.name(value["id"]).translate(PLAIN) for value in graph.record["values"] if not value["shape"]}
    try:
        return latex(parsed(expression.translate(PLAIN)), numbers=numbers) if graph.view.tex else ""
    except SyntaxError:
        return ""


def extent(latex: str) -> tuple[float, float]:
    r"""Estimate a formula's size in LaTeX: its width in ems, and its height in lines of text.

    >>> extent(r"\bar{x} = \bar{y} \, x"), extent(r"\frac{x}{2}")
    ((2.4, 1.0), (1.2, 1.5))
    """
    rows = 2.2 if r"\begin" in latex else 1.5 if r"\frac" in latex or r"\sum_" in latex else 1.0
    plain = COMMAND.sub(lambda found: "" if found[0] in SILENT else "x", latex)
    letters = sum(c not in "{}^_& \\" for c in plain)
    return round(0.6 * letters, 1), rows
