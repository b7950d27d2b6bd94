"""Formulas as mathematics: a call in LaTeX, a check of a record's LaTeX, and an estimate of a formula's size in LaTeX.

A record may come from a stranger, and LaTeX is a programming language that reads files.  So only formulas of the commands below
reach a LaTeX file; the others appear as plain text.
"""

import re

from ..graph.drawn_graph import Graph

PLAIN = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")  # h₂ is typeset like h2: with an index
TOKEN = re.compile(r"\\(?:left|right)(?:\\[A-Za-z]+|.)|\\(?:begin|end)\{\w*\}|\\[A-Za-z]+|\\.|.")
CLOSED_BY = {
    "{": "}",
    r"\left(": r"\right)",
    r"\left[": r"\right]",
    r"\left\lvert": r"\right\rvert",
    r"\left\lVert": r"\right\rVert",
    r"\left\lfloor": r"\right\rfloor",
    r"\begin{cases}": r"\end{cases}",
}
COMMANDS = {
    rf"\{word}"
    for word in (
        "arccos arcsin arctan bar bmod cdot cos cosh det dot exp frac Gamma ge gg infty land le ll ln lnot lor lvert mathbf"
        " mathrm mathtt max min ne odot operatorname oplus overline pi prod psi rvert sigma sin sinh sqrt sum tan tanh text"
        " textbackslash top , { } $ & # % _ ^ ~"
    ).split()
}
COMMAND = re.compile(r"\\[A-Za-z]+|\\.")  # a LaTeX command
SILENT = {
    rf"\{word}"
    for word in ("left", "right", "bar", "dot", "frac", "mathrm", "mathbf", "operatorname", "text", "begin", "end", ",")
}


def of(graph: Graph, expression: str) -> str:
    """Return an expression as LaTeX; "" if the view asks for none, or the text is not a call that can be typeset."""
    from minigrad.formulas.expression import parsed
    from minigrad.formulas.latex import latex

    numbers = {graph.name(value["id"]).translate(PLAIN) for value in graph.record["values"] if not value["shape"]}
    try:
        return latex(parsed(expression.translate(PLAIN)), numbers=numbers) if graph.view.tex else ""
    except (SyntaxError, ValueError, TypeError, LookupError, AttributeError, RecursionError, MemoryError):
        return ""


def is_formula(latex: str) -> bool:
    r"""Return True if a text consists of letters, numbers, and commands of formulas/latex.py, with brackets that match.

    >>> is_formula(r"\bar{x} = \bar{y} \odot \cos\left(x\right)"), is_formula(r"\text{\input{/etc/passwd}}")
    (True, False)
    """
    if not latex.isprintable() or "^^" in latex:  # ^^5c is a backslash
        return False
    opened: list[str] = []
    for token in TOKEN.findall(latex):
        if token in CLOSED_BY:
            opened.append(CLOSED_BY[token])
        elif opened and token == opened[-1]:
            opened.pop()
        elif token in ("&", r"\\"):
            if opened[-1:] != [r"\end{cases}"]:
                return False
        elif token in CLOSED_BY.values() or token[0] in "\\%#$~" and token not in COMMANDS:
            return False
    return not opened


def extent(latex: str) -> tuple[float, float]:
    r"""Estimate a formula's size in LaTeX: its width in ems, and its height in lines of text.

    >>> extent(r"\bar{x} = \bar{y} \, x"), extent(r"\frac{x}{2}")
    ((2.4, 1.0), (1.2, 1.5))
    """
    rows = 2.2 if r"\begin" in latex else 1.5 if r"\frac" in latex or r"\sum_" in latex else 1.0
    plain = COMMAND.sub(lambda found: "" if found[0] in SILENT else "x", latex)
    letters = sum(c not in "{}^_& \\" for c in plain)
    return round(0.6 * letters, 1), rows
