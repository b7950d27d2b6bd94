"""The equations of einsum: letters for dimensions become labels, which are numbers; einsum.py contracts by these."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import error
from .products import refused

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"  # a letter's label is its index here
DOTS = 1000  # the labels of an ellipsis' dimensions end here


def parsed(equation: str, operands: Any) -> tuple:
    """Return the terms of an equation as lists of letters and "...", the result's term or None, and the operands."""
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        few = "fewer" if len(terms) > len(operands) else "more"
        raise refused(
            "einsum",
            f"{few} operands were provided than specified in the equation: {len(operands)} for {equation!r}",
            f"write one group of letters per tensor: '{','.join(['ij', 'jk', 'kl', 'lm'][: max(len(operands), 1)])}'",
        )
    letters = [split(t, equation, f"operand {k}") for k, t in enumerate(terms)]
    return letters, split(right, equation, "the output") if arrow else None, operands


def split(term: str, equation: str, whose: str) -> list:
    """Split "a...b" into ["a", "...", "b"]."""
    head, dots, tail = term.partition("...")
    if "." in head + tail:
        raise refused(
            "einsum",
            f"found '.' for {whose} that is not part of any ellipsis in {equation!r}",
            "write '...' for dimensions that are only broadcast: '...ij,...jk->...ik'",
        )
    for c in head + tail:
        if c not in LETTERS:
            raise refused(
                "einsum",
                f"invalid subscript {c!r} in {equation!r}, subscripts must be in [a-zA-Z]",
                "use one letter for each dimension: 'ij,jk->ik'",
            )
    return [*head, *([dots] if dots else []), *tail]


def sublists(args: tuple) -> tuple:
    """Return the same from the form `einsum(x, [0, 1], y, [1, 2], [0, 2])`."""
    n = len(args) // 2

    def spell(indices: Any) -> list:
        if not isinstance(indices, (tuple, list)):
            what = f"a sublist of subscripts must be a list, not {type(indices).__name__}"
            raise error(
                TypeError, "einsum", what, "write einsum(x, [0, 1], y, [1, 2]), or an equation as a string first"
            )
        for i in indices:
            if i is not Ellipsis and not isinstance(i, (int, np.integer)):
                what = f"a subscript of a sublist must be an int, not {type(i).__name__}"
                raise error(TypeError, "einsum", what, "write einsum(x, [0, 1], y, [1, 2])")
            if i is not Ellipsis and not 0 <= int(i) < len(LETTERS):
                what = f"subscript {i} of a sublist is not within the valid range [0, {len(LETTERS)})"
                raise error(ValueError, "einsum", what, f"use numbers from 0 to {len(LETTERS) - 1}")
        return ["..." if i is Ellipsis else LETTERS[int(i)] for i in indices]

    return [spell(t) for t in args[1 : 2 * n : 2]], spell(args[-1]) if len(args) % 2 else None, args[: 2 * n : 2]


def labelled(terms: list, target: list | None, operands: Any) -> tuple:
    """Return the labels of the operands' dimensions and of the result's."""
    ranks = [x.ndim - (len(t) - 1) for x, t in zip(operands, terms) if "..." in t]
    for k, (x, t) in enumerate(zip(operands, terms)):
        if "..." not in t and len(t) != x.ndim or len(t) - ("..." in t) > x.ndim:
            fix = "" if "..." in t else " and it has no ellipsis"
            raise refused(
                "einsum",
                f"the number of subscripts in the equation ({len(t) - ('...' in t)}) does not match the number "
                f"of dimensions ({x.ndim}) for operand {k}{fix}",
                f"write {x.ndim} letters for it, or '...' for dimensions that are only broadcast",
            )

    def labels(term: list, rank: int) -> tuple:
        return tuple(n for c in term for n in (range(DOTS - rank, DOTS) if c == "..." else (LETTERS.index(c),)))

    found = [labels(t, x.ndim - (len(t) - 1)) for t, x in zip(terms, operands)]
    for k, (x, term) in enumerate(zip(operands, found)):
        for n in set(term):
            sizes = {x.shape[i] for i, m in enumerate(term) if m == n}
            if len(sizes) > 1:
                raise refused(
                    "einsum",
                    f"subscript {spelled(n)} is repeated for operand {k} but the sizes don't match, "
                    f"{' != '.join(str(s) for s in sorted(sizes, reverse=True))}",
                    "use two letters for dimensions of different sizes",
                )
    longest = max(ranks, default=0)
    if target is None:
        letters = [c for t in terms for c in t if c != "..."]
        target = ["...", *sorted(c for c in set(letters) if letters.count(c) == 1)]
    for c in target:
        if c != "..." and target.count(c) > 1:
            raise refused(
                "einsum",
                f"output subscript {c} appears more than once in the output",
                "write each letter once after '->'; minigrad.diag_embed makes diagonals",
            )
        if c != "..." and not any(c in t for t in terms):
            raise refused(
                "einsum",
                f"output subscript {c} does not appear in the equation for any input operand",
                "use only letters after '->' that occur before it",
            )
    return found, labels(target, longest)


def spelled(label: int) -> str:
    """Return a label as the user wrote it."""
    return LETTERS[label] if label < len(LETTERS) else "..."


def written(of_x: tuple, of_y: tuple, of_out: tuple) -> str:
    """Return the equation of labels, with letters from i on in order of appearance."""
    letters = dict(zip(dict.fromkeys((*of_x, *of_y, *of_out)), "ijklmnopqrstuvwxyzabcdefgh" + LETTERS))
    x, y, out = ("".join([letters[d] for d in labels]) for labels in (of_x, of_y, of_out))
    return f"{x},{y}->{out}"
