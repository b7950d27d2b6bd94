"""Write docs/programs.md from the programs' docstrings and the losses in curves.json."""

import ast
from pathlib import Path

from . import SCRIPTS, Curve, courses, difference, kept, numbers

PAGE = Path(__file__).parents[2] / "docs" / "programs.md"
HEAD = """# PyTorch programs that run unchanged

These {count} programs are written for PyTorch, modelled on its tutorials and examples and on well-known repositories. Each
imports torch and runs on minigrad without changes: `minigrad run tests/programs/scripts/vae.py`, or
[`as_torch()`](howto/port.md) in Python. The tests run all of them and compare the losses that they print with PyTorch's.

A seed gives the same random numbers in both, so weights, batches and noise are the same. {same} of the programs print
PyTorch's text character by character. Data come from scikit-learn or are generated. A step is a step of the optimizer, or an
episode of a game. The table shows the first and the last loss, and the largest relative difference between the two libraries
over all losses. Losses are printed with six digits; a difference of 0 means that all six agree. Programs that amplify
rounding errors, such as a game with random moves, compute in float64.

`python -m tests.programs` runs all programs in PyTorch and in minigrad and writes this page. To run only some, give their
names.

| program | modelled on | lines, steps | loss, PyTorch | loss, minigrad | difference |
| --- | --- | --: | --- | --- | --: |
"""
COURSES = """
## Public courses

Which programs of public courses run, unchanged, as `minigrad run` runs them. A program counts if it ends, or still
computes at the limit of time, on one thread. The tables have the programs that were tried, which may be a part of a
course. The digits of scikit-learn stand for MNIST, CIFAR and SVHN (`MINIGRAD_DATA=digits`). Random images, numbers and words
in files of the same form stand for other data that some programs read. There is no network, no GPU, no trained model, and of
packages only those that need no PyTorch: a program that needs more is counted apart, by its error message.

"Same numbers" counts those that compute PyTorch's numbers, of those that were run in PyTorch, too, from the same seed.
Compared are the losses of the first {limit} calls of backward, all that is printed, and then the weights and
tensors of the program, as far as both get within the limit of time, up to a relative difference of {apart:g}. Some programs
enlarge rounding beyond it in these few steps; they count if the numbers of the first {fewer} calls are the same in float64.

To make the table, fetch the courses that `tests/programs/courses.toml` names with git, and run
`python -m tests.programs.courses FOLDER --compare`.
"""


def text() -> str:
    """Return the text of the page."""
    curves = kept()
    ours = HEAD.format(count=len(SCRIPTS), same=sum(one["same"] for one in curves.values())) + "".join(
        row(name, **curves[name]) for name in SCRIPTS
    )
    said = COURSES.format(limit=numbers.LIMITS["float32"], fewer=numbers.LIMITS["float64"], apart=numbers.APART)
    return ours + said + courses.table()


def row(name: str, minigrad: Curve, torch: Curve, same: bool) -> str:
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
