"""The exercises of lesson 16."""

import math

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise
from minigrad.autograd import Function


@exercise(
    "The two points are x + eps = 1.5e-6 and x - eps = -0.5e-6.",
    "relu gives 1.5e-6 at the first and 0 at the second. Divide their difference by 2e-6.",
)
def difference_at_corner(answer):
    """(1.5e-6 - 0) / 2e-6 = 0.75: the corner lies between the two points, though x is not on it."""
    mistakes = {
        1.0: "that is the derivative, which backward gives; the corner at 0 lies within eps",
        0.5: "that is the slope at x = 0",
        1.5: "the two points are 2 * eps apart",
        0.0: "x + eps is above the corner",
    }
    expect.number(answer, 0.75, mistakes)


FOUND_BY = "gradgradcheck", "gradcheck", "neither"
REASONS = {  # (position, answer)
    (0, "gradcheck"): "2 * x is the right slope of x * x, so gradcheck accepts it",
    (0, "neither"): "the saved 2 * x is a constant for the second derivative, which then is 0 instead of 2",
    (1, "gradgradcheck"): "the derivative of x.sin() is x.cos(), so backward agrees with its derivative",
    (1, "neither"): "the slope of x.cos() is -x.sin(), and the differences of forward show it",
    (2, "gradcheck"): "3 * x * x is the slope of x * x * x, so backward agrees with forward",
    (2, "gradgradcheck"): "backward is computed from x, so its derivative is right as well",
}


@exercise(
    "gradcheck compares backward with differences of forward. It does not know what forward should compute.",
    "gradgradcheck compares the derivative of backward with differences of backward. It does not look at forward.",
    "A tensor that forward has computed is a constant for the second derivative.",
)
def checked_by(answer):
    """gradcheck finds a slope that disagrees with forward, gradgradcheck a second derivative that disagrees with backward."""
    if isinstance(answer, str) or not isinstance(answer, (list, tuple)) or len(answer) != 3:
        raise Wrong(f"expected three words in a list, got {answer!r}")
    for i, (given, wanted) in enumerate(zip(answer, FOUND_BY)):
        word = given.strip().lower() if isinstance(given, str) else given
        if word != wanted:
            why = REASONS.get((i, word), "the words are 'gradcheck', 'gradgradcheck' and 'neither'")
            raise Wrong(f"{given!r} is not right for the {('first', 'second', 'third')[i]} Function: {why}")


@exercise(
    "There are two mistakes. Check one argument at a time, as in torch.testing.check(CheckedHypot, a, b).",
    "The derivative of the length with respect to a is a / length. Which of the two ignores the incoming gradient?",
)
def CheckedHypot(answer):
    """grad_output * a / length and grad_output * b / length; everything else is right, too."""
    if not (isinstance(answer, type) and issubclass(answer, Function)):
        raise Wrong(f"expected a subclass of autograd.Function, got {answer!r}")
    a, b = torch.tensor([3.0, -1.0], dtype=torch.float64), torch.tensor([4.0, 2.0], dtype=torch.float64)
    given = answer.apply(a, b)
    expect.tensor(given, [5.0, math.sqrt(5.0)], "the result for [3, -1] and [4, 2]")
    expect.holds(answer, a, b)
