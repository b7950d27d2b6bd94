"""Formulas as mathematics: a call in LaTeX, and about how much room LaTeX will need for a formula."""

from __future__ import annotations

import re

from .drawn_graph import Graph

PLAIN = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")  # h₂ is set as h2 is: with an index
COMMAND = re.compile(r"\\[A-Za-z]+|\\.")  # of LaTeX
SILENT = {
    rf"\{word}"
    for word in ("left", "right", "bar", "dot", "frac", "mathrm", "mathbf", "operatorname", "text", "begin", "end", ",")
}


def of(graph: Graph, expression: str) -> str:
    """An expression in labels as mathematics; "" where no LaTeX is wanted, or it is none."""
    from minigrad.formulas.expression import parsed
    from minigrad.formulas.latex import latex

    numbers = {graph.name(value["id"]).translate(PLAIN) for value in graph.record["values"] if not value["shape"]}
    try:
        return latex(parsed(expression.translate(PLAIN)), numbers=numbers) if graph.view.tex else ""
    except SyntaxError:
        return ""


def extent(latex: str) -> tuple[float, float]:
    r"""About how wide LaTeX sets a formula, in ems, and how many lines of text it is high.

    >>> extent(r"\bar{x} = \bar{y} \, x"), extent(r"\frac{x}{2}")
    ((2.4, 1.0), (1.2, 1.5))
    """
    rows = 2.2 if r"\begin" in latex else 1.5 if r"\frac" in latex or r"\sum_" in latex else 1.0
    plain = COMMAND.sub(lambda found: "" if found[0] in SILENT else "x", latex)
    letters = sum(c not in "{}^_& \\" for c in plain)
    return round(0.6 * letters, 1), rows
