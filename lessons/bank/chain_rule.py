"""Exercises about the chain rule: derivatives by hand, and what `backward` multiplies and adds."""

import random

import minigrad as torch
from lessons import expect

from . import Task, code, exercise, number


@exercise(1, "Differentiate each term: $a x^n$ has the derivative $a n x^{n-1}$.")
def slope_of_a_power(r: random.Random) -> Task:
    """Differentiate a polynomial."""
    a, b, x = r.randint(2, 5), r.randint(2, 9), r.choice([-3, -2, 2, 3])
    return number(
        f"Let $y = {a}x^2 + {b}x$. What is the derivative of $y$ at $x = {x}$?",
        2 * a * x + b,
        solution=f"slope_of_a_power = 2 * {a} * {x} + {b}",
        why="The terms have the derivatives $2ax$ and $b$.",
        mistakes={
            a * x * x + b * x: "that is the value, not the derivative",
            2 * a * x: "the linear term has a derivative, too",
            a * x + b: "the derivative of the square has a factor 2",
        },
    )


@exercise(
    2,
    "The chain rule: the derivative of tanh at the inner value, times the derivative of the inner function.",
    "The derivative of tanh is `1 - tanh(z) ** 2`.",
)
def slope_of_tanh(r: random.Random) -> Task:
    """Differentiate a chain of two functions."""
    w, b, x = r.choice([0.5, 1.5, 2.0]), r.choice([-0.5, 0.25, 1.0]), r.choice([-0.5, 0.5, 1.0])
    t = torch.tensor(w * x + b, dtype=torch.float64).tanh().item()
    return number(
        f"`y = torch.tanh({w} * x + {b})` at `x = torch.tensor({x}, requires_grad=True)`. What is `x.grad` after "
        "`y.backward()`? Compute it with Python's `math`.",
        w * (1 - t * t),
        solution=f"import math\nslope_of_tanh = {w} * (1 - math.tanh({w} * {x} + {b}) ** 2)",
        why="Backward multiplies the slope of tanh by the slope of the inner function.",
        mistakes={
            1 - t * t: "the inner function has a slope, too",
            t: "that is the value of y",
            w * (1 - t): "tanh has the slope 1 - tanh², with a square",
        },
    )


@exercise(
    3,
    "Each use of the tensor contributes to its gradient; the contributions are added.",
    "`torch.autograd.grad(y, x)` computes the expected result, so you can compare.",
)
def gradient_of_two_terms(r: random.Random) -> Task:
    """Write the gradient of a small program."""
    a, b = r.randint(2, 6), r.randint(2, 6)

    def expected(x: torch.Tensor) -> torch.Tensor:
        return a * 2 * x * x.exp() + a * x * x * x.exp() + b

    def judge(answer):
        calls = [(torch.tensor(values),) for values in ([0.0], [1.0, -1.0], [0.5, 2.0, -0.25])]
        expect.computes(answer, expected, *calls, gradients=False)

    def source(body: str) -> str:
        return f"def gradient_of_two_terms(x):\n    return {body}"

    return code(
        f"Return the gradient of `({a} * x**2 * x.exp() + {b} * x).sum()` with respect to `x`, without autograd.",
        "def gradient_of_two_terms(x): ...",
        source(f"{a} * (2 * x + x * x) * x.exp() + {b}"),
        judge,
        "The product rule gives two terms, one for each factor that depends on x.",
        (source(f"{a} * 2 * x * x.exp() + {b}"), "expected"),
        (source(f"{a} * (2 * x + x * x) * x.exp()"), "expected"),
        (source(f"({a} * x**2 * x.exp() + {b} * x).sum()"), "shape"),
    )
