"""Write docs/programs.md from the programs' docstrings and the losses in curves.json."""

import ast
from pathlib import Path

from . import SCRIPTS, Curve, difference, kept

PAGE = Path(__file__).parents[2] / "docs" / "programs.md"
HEAD = """# Programs that run as they stand

{count} programs as people write them for PyTorch, after its tutorials and examples and after well-known repositories. Each
imports torch and runs as it stands: `minigrad run tests/programs/scripts/vae.py`, or by [`as_torch()`](howto/port.md). The
tests run all of them and compare the losses that they print with those that PyTorch computes.

For that PyTorch draws minigrad's random numbers, so that weights, batches and noise are the same. Data come with scikit-learn
or are made. Steps are those of the optimizer, or episodes of a game; the losses are the first and the last one printed, and
the last column has the largest relative difference of all. Losses are printed with six digits: 0 means that all of them are
the same. Programs that would enlarge any rounding, as a game whose moves are drawn, compute in float64.

`python -m tests.programs` runs them all in PyTorch and in minigrad and makes this page; with names, some of them.

| program | after | lines, steps | loss, PyTorch | loss, minigrad | apart by |
| --- | --- | --: | --- | --- | --: |
"""


def text() -> str:
    """Return the text of the page."""
    curves = kept()
    return HEAD.format(count=len(SCRIPTS)) + "".join(row(name, **curves[name]) for name in SCRIPTS)


def row(name: str, minigrad: Curve, torch: Curve) -> str:
    """Return the table's row for a program."""
    what, after = described(SCRIPTS[name])
    lines = len(SCRIPTS[name].read_text().splitlines())
    apart = f"{difference(minigrad, torch):.0e}".replace("0e+00", "0")
    cells = [f"`{name}`: {what}", after, f"{lines}, {torch['steps'][-1]}", ends(torch), ends(minigrad), apart]
    return f"| {' | '.join(map(str, cells))} |\n"


def described(script: Path) -> tuple[str, str]:
    """Return a program's purpose and its source, from its docstring."""
    what, after = (ast.get_docstring(ast.parse(script.read_text())) or "").split("\n\nAfter ")
    return what.replace("\n", " ").rstrip("."), after.replace("\n", " ").rstrip(".")


def ends(curve: Curve) -> str:
    """Return the first and the last loss."""
    first, last = curve["losses"][0], curve["losses"][-1]
    return f"{first:.4g} to {last:.4g}"
