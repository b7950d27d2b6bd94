"""Check an explanation: its numbers are those of the gradient, and the printed equations are true."""

import math
import re

import numpy as np

from minigrad.explain.steps import Step, Sum

NOTES = re.compile(r" \(\d+ smaller terms?\)|   \((?:from|the partial).*$")
SAME = 2e-3  # four digits for each factor


def adds_up(e):
    """Check that the steps, sums and paths of an explanation give its numbers."""
    for part in (part for step in e.steps if isinstance(step, Step) for part in step.parts):
        if part.terms:
            close([term.product for term in part.terms] + [part.rest], part.gives)
        for term in part.terms:
            close([term.arrived * term.partial], term.product)
    for s in (s for s in e.steps if isinstance(s, Sum)):
        close([*s.terms, s.seed], s.total)
    for k, total in enumerate(e.numbers):
        close([path.gives[k] for path in e.paths], total)
    printed(str(e))


def close(terms, total):
    if math.isnan(total):
        assert any(map(math.isnan, terms))
        return
    scale = sum(map(abs, terms)) + abs(total)
    assert abs(math.fsum(terms) - total) <= 1e-3 * scale + 1e-12, (terms, total)


def printed(text):
    """Check that both sides of each equation are the same number; return the number of equations."""
    count = 0
    for line in text.splitlines():
        if not line.startswith(("    ∂", "    d", "  + ")) or "smaller" in line and "×" not in line:
            continue
        _, *sides = re.split(r" = | gets ", NOTES.sub("", line))
        if len(sides) < 2 or ".backward(" in line or ".jvp(" in line or "nan" in line or "inf" in line:
            continue
        terms = [value(term) for term in sides[0].split(" + ")]
        scale = sum(np.abs(term) for term in terms)
        assert np.all(np.abs(sum(terms) - value(sides[1])) <= SAME * scale + 1e-12), line
        count += 1
    return count


def value(text):
    """Return a product of numbers or of lists of them."""
    return math.prod(np.asarray(eval(factor), float) for factor in text.split(" × "))
