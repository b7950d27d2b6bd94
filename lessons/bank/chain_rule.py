"""Exercises about the chain rule: derivatives by hand, and the products and sums that `backward` computes."""

import math
import random

import minigrad as torch
from lessons import expect

from . import Task, choice, code, exercise, fence, number


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


@exercise(1, "There are two paths from x to z. Each one contributes the product of the slopes along it.")
def total_slope(r: random.Random) -> Task:
    """Add a direct path and an indirect one."""
    direct, q, s = r.randint(2, 9), r.choice([-4, -3, 3, 4, 5]), r.choice([-3, -2, 2, 3])
    return number(
        f"$z = f(x, y)$ with $y = g(x)$. At a point, $\\partial f / \\partial x = {direct}$, "
        f"$\\partial f / \\partial y = {q}$ and $dg / dx = {s}$. Compute $dz / dx$ there.",
        direct + q * s,
        solution=f"""
x = torch.tensor(1.0, requires_grad=True)
y = {s} * x
z = {direct} * x + {q} * y
z.backward()
total_slope = x.grad.item()""",
        why="The slopes along a path are multiplied, and the products of the paths are added.",
        mistakes={
            direct: "x changes z through y, too",
            q * s: "x also changes z directly",
            direct + q: "the path through y has two slopes: multiply them",
            direct * q * s: "the contributions of the two paths are added",
        },
    )


@exercise(1, "Compare the two values first. Which of them is y near this x?")
def slope_of_maximum(r: random.Random) -> Task:
    """Differentiate the larger of two functions."""
    a = r.randint(3, 7)
    x = r.choice([v for v in range(1, 10) if v != a and 2 * v != a])
    larger, smaller = (a, 2 * x) if a * x > x * x else (2 * x, a)
    return number(
        f"`y = torch.maximum({a} * x, x * x)` at `x = torch.tensor({x}.0, requires_grad=True)`. Compute `x.grad` after "
        "`y.backward()`.",
        larger,
        solution=f"""
x = torch.tensor({x}.0, requires_grad=True)
torch.maximum({a} * x, x * x).backward()
slope_of_maximum = x.grad.item()""",
        why="Near this x, y is one of the two functions, so the other one gets the gradient 0.",
        mistakes={
            smaller: "that is the slope of the smaller function, which does not change y",
            larger + smaller: "the smaller function gets no gradient",
            (larger + smaller) / 2: "the gradient is shared only where both are equal",
            max(a * x, x * x): "that is the value of y",
        },
    )


@exercise(1, "Take the outer slope at the inner value, and multiply it by the inner slope.")
def form_of_the_chain_rule(r: random.Random) -> Task:
    """Choose the derivative of a composition."""
    k = r.randint(2, 9)
    outer, slope = r.choice([("\\sin({})", "\\cos({})"), ("\\exp({})", "\\exp({})"), ("\\ln({})", "1 / ({})")])
    inner, factor = r.choice([(f"{k}x", f"{k}"), (f"x^{k + 1}", f"{k + 1}x^{k}"), (f"x^2 + {k}x", f"(2x + {k})")])
    forms = {
        f"{factor} \\cdot {slope.format(inner)}": "",
        slope.format(inner): "the slope of the inner function is missing",
        slope.format(factor.strip("()")): "the outer slope is taken at the inner value, not at the inner slope",
        f"{factor} \\cdot {slope.format('x')}": "the outer slope is taken at the inner value, not at x",
    }
    order = r.sample(list(forms), 4)
    shown = "".join(f"\n- {letter}: ${form}$" for letter, form in zip("abcd", order))
    right = "abcd"[next(i for i, form in enumerate(order) if not forms[form])]
    return choice(
        f"Which of these is the derivative of ${outer.format(inner)}$ with respect to $x$? Give its letter.\n{shown}",
        right,
        solution=f'form_of_the_chain_rule = "{right}"',
        why="It is the outer slope at the inner value, times the inner slope.",
        mistakes={letter: forms[form] for letter, form in zip("abcd", order)},
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
        f"`y = torch.tanh({w} * x + {b})` at `x = torch.tensor({x}, requires_grad=True)`. Compute `x.grad` after "
        "`y.backward()` with Python's `math`.",
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
    2,
    "The slope of one step is a * (1 - 2 * y), at the y before the step.",
    "Compute the value of y for each step, and multiply the slopes of all steps.",
)
def slope_of_a_loop(r: random.Random) -> Task:
    """Differentiate a loop."""
    a, x, n = r.choice([1.5, 2.5, 3.0, 3.5]), r.choice([0.1, 0.2, 0.3, 0.7, 0.8]), r.choice([3, 4])
    y, slopes = x, []
    for _ in range(n):
        slopes.append(a * (1 - 2 * y))
        y = a * y * (1 - y)
    program = f"""
x = torch.tensor({x}, requires_grad=True)
y = x
for _ in range({n}):
    y = {a} * y * (1 - y)
y.backward()"""
    return number(
        f"Compute `x.grad` after this program without autograd, with a loop over floats.{fence(program)}",
        math.prod(slopes),
        solution=f"{program}\nslope_of_a_loop = x.grad.item()",
        why="The loop is a chain of steps. Each step has a slope at the value that it receives; backward multiplies them.",
        mistakes={
            slopes[-1]: "that is the slope of the last step only",
            slopes[0] ** n: "each step has the slope at its own y, not at x",
            sum(slopes): "the slopes along a chain are multiplied",
            y: "that is the value of y",
        },
    )


@exercise(
    2,
    "Count the rounds first: backward only sees the operations that ran.",
    "In each round, the slope of y becomes the factor times the old slope, plus 1 for the x that is added.",
)
def slope_of_a_while(r: random.Random) -> Task:
    """Differentiate a loop that depends on the values."""
    a, x, limit = r.randint(2, 4), r.randint(2, 5), r.choice([50, 100, 200])
    y, slope, rounds = x, 1, 0
    while y < limit:
        y, slope, rounds = a * y + x, a * slope + 1, rounds + 1
    program = f"""
x = torch.tensor({x}.0, requires_grad=True)
y = x
while y < {limit}:
    y = {a} * y + x
y.backward()"""
    return number(
        f"Compute `x.grad` after this program.{fence(program)}",
        slope,
        solution=f"{program}\nslope_of_a_while = x.grad.item()",
        why=f"The loop runs {rounds} rounds, and x contributes through the first y and in each round.",
        mistakes={
            a**rounds: "that is the path through the first y, but each round adds x once more",
            a + 1: "that is the slope after one round",
            y: "that is the value of y",
            slope - a**rounds: "the first y is x, too",
            a * slope + 1: "that is one round too many",
        },
    )


@exercise(
    2,
    "Near the point, f stretches by its slope. The inverse function does the opposite.",
    "Differentiate g(f(x)) = x: the product of the two slopes is 1. At which point do you take each of them?",
)
def slope_of_the_inverse(r: random.Random) -> Task:
    """Differentiate an inverse function."""
    a, p = r.randint(2, 9), r.choice([1, 2, 3])
    q = p**3 + a * p
    return number(
        f"$f(x) = x^3 + {a}x$, so $f({p}) = {q}$. Let $g$ be the inverse function of $f$. Compute the derivative of $g$ at "
        f"${q}$.",
        1 / (3 * p * p + a),
        solution=f"""
x = torch.tensor({p}.0, requires_grad=True)
(x**3 + {a} * x).backward()
slope_of_the_inverse = 1 / x.grad.item()""",
        why="g(f(x)) = x has the slope 1, and by the chain rule, this is the product of the two slopes.",
        mistakes={
            3 * p * p + a: "that is the slope of f",
            1 / (3 * q * q + a): "take the slope of f at x, not at f(x)",
            -1 / (3 * p * p + a): "the inverse of an increasing function increases",
            1 / q: "that is one over the value, not one over the slope",
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
        expect.computes(expect.by_hand(answer), expected, *calls, gradients=False)

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


@exercise(
    3,
    "Go through the functions in the order in which they are applied, and keep track of the value and the slope so far.",
    "Multiply the slope before you compute the next value: the slope of a function belongs to the value that it receives.",
)
def slope_of_composition(r: random.Random) -> Task:
    """Write the chain rule for a list of functions."""
    innermost = r.choice(["first", "last"])
    k, b, at = r.randint(2, 9), r.randint(2, 9), r.randint(2, 5)
    order = 1 if innermost == "first" else -1
    example = f"{k} * {at}**2 + {b}" if innermost == "first" else f"({k} * {at} + {b})**2"

    def expected(functions, slopes, x):
        slope = 1.0
        for f, df in list(zip(functions, slopes))[::order]:
            slope, x = slope * df(x), f(x)
        return slope

    def judge(answer):
        functions = [lambda x: x * x, lambda x: k * x + b, math.sin, lambda x: 1 / (2 + x)]
        slopes = [lambda x: 2 * x, lambda x: k, math.cos, lambda x: -1 / (2 + x) ** 2]
        for which in ([1], [0, 2], [2, 0], [3, 2, 0, 1], [2, 1, 3, 0], []):
            fs, dfs = [functions[i] for i in which], [slopes[i] for i in which]
            for x in (0.3, 1.5):
                mistakes = {
                    math.prod(df(x) for df in dfs): "take each slope at the value that its function receives",
                    expected(fs[::-1], dfs[::-1], x): f"the {innermost} function is applied first",
                }
                expect.number(expect.by_hand(answer)(fs, dfs, x), expected(fs, dfs, x), mistakes)

    def source(over: str, body: str) -> str:
        head = "def slope_of_composition(functions, slopes, x):\n    slope = 1\n"
        return f"{head}    for f, df in {over}:\n        {body}\n    return slope"

    forwards, backwards = "zip(functions, slopes)", "zip(reversed(functions), reversed(slopes))"
    right, other = (forwards, backwards)[::order]
    return code(
        "`functions` is a list of functions of a number, and `slopes` the list of their derivatives. Apply the functions "
        f"one after the other, with the {innermost} one as the innermost. Return the derivative of the composition at `x`, "
        f"without autograd. For example, with `square(x) = x**2` and `line(x) = {k} * x + {b}`, the list `[square, line]` "
        f"stands for a function with the value `{example}` at `x = {at}`.",
        "def slope_of_composition(functions, slopes, x): ...",
        source(right, "slope, x = slope * df(x), f(x)"),
        judge,
        "Each function multiplies the slope so far by its own, taken at the value that it receives.",
        (source(right, "slope = slope * df(x)"), "receives"),
        (source(other, "slope, x = slope * df(x), f(x)"), "applied first"),
    )


@exercise(
    3,
    "Carry the derivative of x with respect to u through the loop. At the start it is 0.",
    "u enters each step directly, and through the x of the step before.",
)
def slope_of_recurrence(r: random.Random) -> Task:
    """Differentiate a recurrence with a shared parameter."""
    a, b = r.choice([0.5, 1.5, 2.0]), r.randint(2, 5)
    step, slope = r.choice(STEPS[:3])  # exp would overflow

    def program(x: torch.Tensor, u: torch.Tensor, n: int) -> torch.Tensor:
        for _ in range(n):
            x = a * getattr(x, step)() + b * u
        return x

    def expected(x: torch.Tensor, u: torch.Tensor, n: int) -> torch.Tensor:
        leaf = u.detach().requires_grad_()
        with torch.enable_grad():
            return torch.autograd.grad(program(x, leaf, n), leaf)[0]

    def judge(answer):
        calls = [(torch.tensor(x), torch.tensor(u), n) for x, u, n in ((0.5, 0.2, 1), (-0.4, 0.1, 2), (0.3, -0.2, 5))]
        expect.computes(expect.by_hand(answer), expected, *calls, gradients=False)

    def source(*steps: str) -> str:
        body = "".join(f"\n        {one}" for one in steps)
        return f"def slope_of_recurrence(x, u, n):\n    slope = 0\n    for _ in range(n):{body}\n    return slope"

    carry, move = f"slope = {a} * {slope} * slope + {b}", f"x = {a} * x.{step}() + {b} * u"
    shown = f"def program(x, u, n):\n    for _ in range(n):\n        {move}\n    return x"
    return code(
        f"Return the derivative of `program(x, u, n)` with respect to `u`, without autograd.{fence(shown)}",
        "def slope_of_recurrence(x, u, n): ...",
        source(carry, move),
        judge,
        "Each step adds a direct contribution of u, and multiplies the earlier contributions by its slope.",
        (source(move, carry), "expected"),
        (source(f"slope = slope + {b}"), "expected"),
        (source(f"slope = {a} * {slope} * {b}", move), "expected"),
    )


@exercise(
    3,
    "Compute the loss first, and keep the intermediate values z = w * x + b and h.",
    "Go back from the loss: error, then h, then z. The gradients of w and b follow from the gradient of z.",
)
def tiny_network_gradients(r: random.Random) -> Task:
    """Send a gradient back through a tiny network."""
    step, slope = r.choice(STEPS)
    slope, c = slope.replace("x.", "z."), r.randint(2, 9)

    def expected(w, b, v, x, target):
        leaves = [one.detach().requires_grad_() for one in (w, b, v)]
        with torch.enable_grad():
            h = getattr(leaves[0] * x + leaves[1], step)()
            return torch.autograd.grad((leaves[2] * h - target) ** 2 * c, leaves)

    def judge(answer):
        calls = [
            [torch.tensor(one) for one in call] for call in ((0.5, 0.1, 2.0, 0.7, 1.0), (-1.2, 0.4, -0.5, 1.5, -2.0))
        ]
        expect.computes(expect.by_hand(answer), expected, *map(tuple, calls), gradients=False)

    def source(error: str, back: str) -> str:
        return f"""
def tiny_network_gradients(w, b, v, x, target):
    z = w * x + b
    h = z.{step}()
    error = {error}
    back = {back}
    return back * x, back, error * h"""

    error = f"{2 * c} * (v * h - target)"
    shown = f"h = (w * x + b).{step}()\nloss = {c} * (v * h - target) ** 2"
    return code(
        f"Return the gradients of `loss` with respect to `w`, `b` and `v`, without autograd. All are numbers.{fence(shown)}",
        "def tiny_network_gradients(w, b, v, x, target): ...",
        source(error, f"error * v * {slope}"),
        judge,
        "Compute the gradient of the error once. It goes to v, and through h and z to w and b.",
        (source(error, "error * v"), "result 0"),
        (source(error, f"error * {slope}"), "result 0"),
        (source(f"{c} * (v * h - target)", f"error * v * {slope}"), "expected"),
    )


STEPS = [
    ("sin", "x.cos()"),
    ("tanh", "(1 - x.tanh() ** 2)"),
    ("sigmoid", "x.sigmoid() * (1 - x.sigmoid())"),
    ("exp", "x.exp()"),
]
