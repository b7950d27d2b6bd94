"""Exercises about forward mode: tangents by hand, jvp, the choice between the two modes, and derivatives without a graph."""

import math
import random
from collections.abc import Callable

import minigrad as torch
import minigrad.autograd.forward_ad as fwAD
from lessons import expect
from lessons.exercise import Wrong
from minigrad.autograd import Function

from . import Task, choice, code, exercise, fence, number, numbers

DUALS = "import minigrad.autograd.forward_ad as fwAD\n\nwith fwAD.dual_level():\n"


@exercise(
    1,
    "Which of the two numbers is the maximum? A small change in the other one has no effect.",
    "The tangent belongs to the larger value, not to the larger tangent. Then the factor multiplies it.",
)
def tangent_of_a_maximum(r: random.Random) -> Task:
    """Follow a tangent through a maximum."""
    (low, high), k = sorted(r.sample(range(2, 10), 2)), r.randint(2, 5)
    fast, slow = r.randint(5, 9), r.choice([-3, -2, 2, 3])  # the smaller value has the larger tangent
    first, second = r.sample([(low, fast), (high, slow)], 2)
    return number(
        f"`x` has the value {first[0]} and the tangent {first[1]}; `y` has the value {second[0]} and the tangent {second[1]}. "
        f"Compute the tangent of `{k} * torch.maximum(x, y)`.",
        k * slow,
        solution=f"{DUALS}    x = fwAD.make_dual(torch.tensor({first[0]}.0), torch.tensor({first[1]}.0))\n"
        f"    y = fwAD.make_dual(torch.tensor({second[0]}.0), torch.tensor({second[1]}.0))\n"
        f"    tangent_of_a_maximum = fwAD.unpack_dual({k} * torch.maximum(x, y)).tangent",
        why="Near this point, the maximum is one of the two tensors, so it has the tangent of that tensor.",
        mistakes={
            k * fast: "the maximum chooses the larger value, and the tangent comes with that value",
            k * (fast + slow): "only one of the two reaches the result",
            slow: "the factor multiplies the tangent, too",
            k * high: "that is the value of the result",
        },
    )


@exercise(
    1,
    "A pass of forward mode gives the derivative along one direction in the space of all parameters.",
    "The gradient has one number for each parameter. Count the weights and the biases.",
)
def jvp_calls_for_a_gradient(r: random.Random) -> Task:
    """Count the passes that a gradient needs in forward mode."""
    n_in, n_out = r.sample(range(3, 30), 2)
    batch = r.choice([16, 32, 64])
    return number(
        f"A layer `torch.nn.Linear({n_in}, {n_out})` is trained on batches of {batch} examples; the loss is one number. You "
        "compute the gradient of the loss with respect to all parameters of the layer with `torch.func.jvp`, one parameter at "
        "a time. How many calls does one batch need?",
        n_in * n_out + n_out,
        solution=f"layer = torch.nn.Linear({n_in}, {n_out})\n"
        "jvp_calls_for_a_gradient = sum(parameter.numel() for parameter in layer.parameters())",
        why="Forward mode needs a pass for each input of the loss. That is why training uses one backward pass instead.",
        mistakes={
            1: "one pass is enough for backward, but a jvp gives the derivative along one direction",
            n_in * n_out: "the layer has biases, too",
            2: "weight and bias are two tensors, but each number in them is a parameter",
            batch * (n_in * n_out + n_out): "a jvp passes the whole batch through the layer",
        },
    )


PROGRAMS = {
    "x @ w": "rk",
    "(x @ w).sum(0)": "k",
    "(x @ w).T": "kr",
    "(x @ w).sum(1, keepdim=True)": "r1",
    "w.sum(1)": "c",
}


@exercise(
    1,
    "A tangent says how each element of `y` changes.",
    "Compute the shape of y.",
)
def shape_of_a_tangent(r: random.Random) -> Task:
    """Predict the shape of a tangent."""
    rows, columns, k = r.sample(range(2, 9), 3)
    program = r.choice(list(PROGRAMS))
    right = tuple({"r": rows, "k": k, "c": columns, "1": 1}[one] for one in PROGRAMS[program])
    return numbers(
        f"`x` has the shape [{rows}, {columns}] and no tangent. `w` has the shape [{columns}, {k}] and is a dual. "
        f"What is the shape of the tangent of `{program}`? Give a list.",
        right,
        solution=f"{DUALS}    x = torch.ones({rows}, {columns})\n"
        f"    w = fwAD.make_dual(torch.ones({columns}, {k}), torch.ones({columns}, {k}))\n"
        f"    shape_of_a_tangent = list(fwAD.unpack_dual({program}).tangent.shape)",
        why="A tangent is the change in its tensor, so it has the shape of that tensor.",
        mistakes={
            (columns, k): "that is the shape of the tangent of w; each operation computes a new tangent",
            (*right, columns, k): "that is the shape of the Jacobian; a tangent is its product with one direction",
            (rows, columns): "that is the shape of x, which has no tangent",
        },
    )


@exercise(
    1,
    "Forward mode needs a pass for each direction of the inputs, reverse mode one for each output.",
    "Count the passes of both for this question.",
)
def cheaper_mode(r: random.Random) -> Task:
    """Choose between forward and reverse mode."""
    few, many = r.randint(2, 9), r.randint(20, 900) * 10
    same = r.randint(10, 99)
    stories = [
        (f"A simulation has {few} parameters and returns {many} positions. You need the whole Jacobian.", few, many),
        (f"A network has {many} weights and returns {few} losses. You need the gradient of each loss.", many, few),
        (
            f"A function has {many} inputs and {few + 1} outputs. You need the change of all outputs along one direction.",
            1,
            few + 1,
        ),
        (f"A function has {few + 1} inputs and {many} outputs. You need the gradient of one output.", few + 1, 1),
        (f"A function has {same} inputs and {same} outputs. You need the whole Jacobian.", same, same),
    ]
    story, forward, reverse = r.choice(stories)
    right = "equal" if forward == reverse else "forward" if forward < reverse else "reverse"
    count = f"forward mode needs {forward} passes, reverse mode {reverse}"
    return choice(
        f"{story} Which mode needs fewer passes: `forward`, `reverse`, or is the number `equal`?",
        right,
        solution=f"forward, reverse = {forward}, {reverse}  # passes: directions of the inputs, and outputs\n"
        'cheaper_mode = "equal" if forward == reverse else "forward" if forward < reverse else "reverse"',
        why=f"Here {count}.",
        mistakes={
            "forward": f"count again: a forward pass goes along one direction; {count}",
            "reverse": f"count again: a reverse pass begins at one output; {count}",
            "equal": f"the two numbers differ: {count}",
        },
    )


@exercise(
    1,
    "jvp receives a tangent for each argument of forward, also for those that do not change.",
    "A tensor without a tangent is constant: zeros. A number or a text has no tangent at all: None.",
)
def zeros_and_nones(r: random.Random) -> Task:
    """Predict the tangents that `jvp` receives."""
    duals, tensors, others = r.randint(1, 2), r.randint(1, 4), r.randint(1, 4)
    kinds = [f"dual({r.randint(2, 9)}.0)" for _ in range(duals)]
    kinds += [f"torch.ones(2, requires_grad={r.choice([True, False])})" for _ in range(tensors)]
    kinds += [r.choice([str(r.randint(2, 9)), '"sum"', "None", "True"]) for _ in range(others)]
    passed = ", ".join(r.sample(kinds, len(kinds)))
    program = f"""\
def dual(n):
    return fwAD.make_dual(torch.full((2,), n), torch.ones(2))


class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, *arguments):
        return torch.zeros(2)

    @staticmethod
    def jvp(ctx, *tangents):
        received.extend(tangents)
        return torch.zeros(2)


received = []
with fwAD.dual_level():
    F.apply({passed})"""
    return numbers(
        f"{fence(program)}How many entries of `received` are tensors of zeros, and how many are None? Give a list.",
        (tensors, others),
        solution=f"import minigrad.autograd.forward_ad as fwAD\n\n{program}\n\n"
        "nones = sum(t is None for t in received)\n"
        "zeros_and_nones = [sum(t is not None and not t.any() for t in received), nones]",
        why="A tensor without a tangent does not change, so its tangent is zeros. Only tensors have tangents.",
        mistakes={
            (others, tensors): "these two are swapped: the zeros are for tensors, None for the other arguments",
            (0, tensors + others): "a tensor without a tangent gets zeros, so that jvp needs no special case",
            (tensors + others, 0): "an argument that is no tensor has no tangent: None",
            (tensors + duals, others): "the tangents of the duals are ones",
        },
    )


@exercise(
    2,
    "Use a second pair of variables for the tangents: below each statement, write the statement for its tangent.",
    "`v` starts as a constant, so its tangent starts at 0. After the first statement it depends on `x`.",
)
def tangent_of_a_loop(r: random.Random) -> Task:
    """Carry tangents through a loop."""
    n, h, k = r.randint(2, 3), r.choice([0.25, 0.5, -0.5]), r.randint(1, 2)
    start, speed, tangent = r.randint(1, 3), r.randint(1, 3), r.choice([-2, 2, 3])

    def run(follow: bool) -> tuple[float, float]:
        x, dx, v, dv = float(start), float(tangent), float(speed), 0.0
        for _ in range(n):
            v, dv = v - k * x * x, dv - 2 * k * x * dx if follow else 0.0
            x, dx = x + h * v, dx + h * dv
        return x, dx

    value, right = run(True)
    program = f"""\
def f(x):
    v = torch.tensor({speed}.0)
    for _ in range({n}):
        v = v - {k} * x * x
        x = x + {h} * v
    return x"""
    return number(
        f"{fence(program)}`x` has the value {start} and the tangent {tangent}. What is the tangent of `f(x)`? "
        "Compute it with plain Python numbers.",
        right,
        solution=f"{program}\n\n\n"
        f"value, tangent_of_a_loop = torch.func.jvp(f, (torch.tensor({start}.0),), (torch.tensor({tangent}.0),))",
        why="Each variable that depends on x carries a tangent through the loop, including v.",
        mistakes={
            run(False)[1]: "v depends on x after the first statement, so it has a tangent, too",
            right / tangent: "that is the derivative, but the tangent of the input is not 1",
            value: "that is the value of f(x)",
        },
    )


@exercise(
    2,
    "Write down the Jacobian: a row for each output, a column for each input.",
    "The result is the Jacobian times the tangent, $J v$: a number for each row.",
)
def product_with_the_jacobian(r: random.Random) -> Task:
    """Compute a Jacobian-vector product by hand."""
    (a, b), (p, q), (s, t) = r.sample(range(2, 7), 2), r.sample(range(1, 6), 2), r.sample([-3, -2, -1, 2, 3], 2)
    (top, right), (left, bottom) = (a * q, a * p), (1, 2 * b * q)  # the rows of the Jacobian
    f = f"lambda x: torch.stack([{a} * x[0] * x[1], x[0] + {b} * x[1] ** 2])"
    return numbers(
        f"`f = {f}`. What tangent does `torch.func.jvp(f, (x,), (v,))` return for x = [{p}, {q}] and v = [{s}, {t}]? "
        "Give a list of two numbers.",
        (top * s + right * t, left * s + bottom * t),
        solution=f"f = {f}\nx, v = torch.tensor([{p}.0, {q}.0]), torch.tensor([{s}.0, {t}.0])\n"
        "product_with_the_jacobian = torch.func.jvp(f, (x,), (v,))[1].tolist()",
        why="Each output changes by its row of the Jacobian times the tangent.",
        mistakes={
            (
                top * s + left * t,
                right * s + bottom * t,
            ): "that is the vjp, which multiplies the columns instead of the rows",
            (top + right, left + bottom): "that is for the direction [1, 1], but the tangent is v",
            (top * s, bottom * t): "each output depends on both inputs, so each row has two terms",
            (a * p * q, p + b * q * q): "that is the value of f(x)",
        },
    )


@exercise(
    2,
    "`no_grad` switches off the graph. Does forward mode use a graph?",
    "`detach` removes the tangent: this factor counts as a constant.",
)
def tangent_past_detach(r: random.Random) -> Task:
    """Find the operations that stop a tangent."""
    a, b, x, t = r.randint(2, 6), r.randint(2, 6), r.randint(2, 5), r.choice([-2, 2, 3, 4])
    program = f"""\
with fwAD.dual_level():
    x = fwAD.make_dual(torch.tensor({x}.0), torch.tensor({t}.0))
    with torch.no_grad():
        y = {a} * x * x
    z = y + {b} * x.detach() * x
    tangent = fwAD.unpack_dual(z).tangent"""
    return number(
        f"{fence(program)}What is `tangent`?",
        t * x * (2 * a + b),
        solution=f"import minigrad.autograd.forward_ad as fwAD\n\n{program}\ntangent_past_detach = tangent",
        why="A tangent needs no graph, so no_grad does not stop it. A detached tensor has none.",
        mistakes={
            t * x * b: "no_grad stops recording for backward; tangents are computed as before",
            t * x * 2 * (a + b): "detach removes the tangent, so one factor of the second product is a constant",
            t * x * 2 * a: "only one of the two factors is detached; the other one has its tangent",
        },
    )


@exercise(
    2,
    "Both passes determine the number $u \\cdot J v$: one as $u \\cdot (J v)$, the other as $(u J) \\cdot v$.",
    "Compute $(u J) \\cdot v$ from the backward pass. It is u[0] times the first tangent plus u[1] times the second.",
)
def missing_tangent(r: random.Random) -> Task:
    """Predict a tangent from a backward pass."""
    u, v = [r.choice([-3, -2, 2, 3]), r.choice([-4, -2, 2, 4])], [r.choice([-2, -1, 1, 2, 3]) for _ in range(3)]
    rows, known, right = [], 0, 0
    while not (known and right):  # with zeros, some mistakes give the right number
        rows = [[r.randint(-4, 5) for _ in range(3)] for _ in range(2)]
        known, right = (sum(j * d for j, d in zip(row, v)) for row in rows)
    gradient = [u[0] * one + u[1] * other for one, other in zip(*rows)]
    whole = sum(g * d for g, d in zip(gradient, v))
    return number(
        f"`f` maps three numbers to two. At some point, a backward pass with the incoming gradient u = {u} returns "
        f"{gradient}. At the same point, a forward pass with the tangent v = {v} returns the tangent [{known}, ?]. Which "
        "number replaces the question mark?",
        right,
        solution=f"whole = sum(g * d for g, d in zip({gradient}, {v}))\nmissing_tangent = (whole - {u[0]} * {known}) / {u[1]}",
        why="The two passes multiply the same Jacobian from two sides, so their products with the other vector are equal.",
        mistakes={
            whole: "that is the product of both vectors with the Jacobian, to which both tangents contribute",
            whole - u[0] * known: "this number is u[1] times the second tangent",
            whole - known: "multiply each tangent by its number in u",
        },
    )


@exercise(
    3,
    "`jvp` receives a tangent for each argument of forward, here three. The tangent of the number is None.",
    "The product rule: each output changes by the sum of the contributions of x and y. Return two tangents.",
)
def JvpOfTwoOutputs(r: random.Random) -> Task:
    """Write the jvp of a Function."""
    a, b = r.sample(range(2, 9), 2)
    order = r.sample(["x", "y", "k"], 3)
    names, moving = ", ".join(order), ", ".join(f"{name}_t" for name in order)

    def judge(answer):
        if not (isinstance(answer, type) and issubclass(answer, Function)):
            raise Wrong(f"expected a subclass of autograd.Function, got {answer!r}")
        pair = torch.tensor([1.0, -2.0]), torch.tensor([3.0, 0.5])
        for x, y, k in ((torch.tensor(2.0), torch.tensor(-1.0), 3), (*pair, 0.5)):
            for dx, dy in ((1.0, 0.0), (0.0, 1.0), (2.0, -3.0), (5.0, None)):
                check(answer, x, y, k, dx, dy)

    def check(answer, x, y, k, dx, dy):
        with fwAD.dual_level():
            x_dual = fwAD.make_dual(x, torch.full_like(x, dx))
            y_dual = y if dy is None else fwAD.make_dual(y, torch.full_like(y, dy))
            results = answer.apply(*[{"x": x_dual, "y": y_dual, "k": k}[name] for name in order])
            tangents = [fwAD.unpack_dual(one).tangent for one in results]
        for i, (result, value) in enumerate(zip(results, (a * k * x * y, x * x - b * y))):
            expect.tensor(
                fwAD.unpack_dual(result).primal, value, f"output {i} at x = {x.tolist()}, y = {y.tolist()}, k = {k}"
            )
        wanted = a * k * (dx * y + x * (dy or 0)), 2 * x * dx - b * (dy or 0)
        for i, (given, right) in enumerate(zip(tangents, wanted)):
            where = f"the tangent of output {i} at x = {x.tolist()}, y = {y.tolist()}, k = {k}, with the tangents {dx} and {dy}"
            if given is None:
                raise Wrong(f"{where} is None")
            expect.tensor(given, right, where)

    def source(*body: str) -> str:
        lines = "\n        ".join(body)
        return f"""\
class JvpOfTwoOutputs(torch.autograd.Function):
    @staticmethod
    def forward({names}):
        return {a} * k * x * y, x * x - {b} * y

    @staticmethod
    def setup_context(ctx, inputs, output):
        {names} = inputs
        ctx.save_for_forward(x, y)
        ctx.k = k

    @staticmethod
    def jvp(ctx, {moving}):
        {lines}
"""

    saved, first, second = "x, y = ctx.saved_tensors", f"{a} * ctx.k * (x_t * y + x * y_t)", f"2 * x * x_t - {b} * y_t"
    return code(
        "This Function has no derivative yet. Write its `jvp`.",
        source("..."),
        source(saved, f"return {first}, {second}"),
        judge,
        "jvp returns the change in each output: a sum with a term for each tensor that changes.",
        (source(saved, f"return {second}, {first}"), "expected"),
        (source(saved, f"return {a} * ctx.k * x_t * y_t, {second}"), "expected"),
        (source(saved, f"return {first}"), "1 tangent"),
    )


@exercise(
    3,
    "The point depends on a single number, `t`. Write the point as a function of `t`, and apply `f` to it.",
    "torch.func.jvp(lambda t: f(point(t)), (t,), (torch.ones_like(t),)) returns the value and the tangent.",
)
def change_along_a_circle(r: random.Random) -> Task:
    """Differentiate along a path."""
    radius, w = r.randint(2, 5), r.choice([2, 3, 4, 0.5])

    programs: list[tuple[Callable, Callable]] = [  # functions, and their changes if x changes by d
        (lambda x: x[0] * x[1], lambda x, d: x[0] * d[1] + x[1] * d[0]),
        (lambda x: torch.stack([x[0], x[1] ** 2, x[1]]), lambda x, d: torch.stack([d[0], 2 * x[1] * d[1], d[1]])),
    ]

    def judge(answer):
        for f, change in programs:
            for t in (0.0, 0.7, -2.0):
                calls = []
                given = answer(_forward_only(lambda x: calls.append(x) or f(x)), torch.tensor(t))
                cos, sin = radius * math.cos(w * t), radius * math.sin(w * t)
                wanted = change(torch.tensor([cos, sin]), torch.tensor([-w * sin, w * cos]))
                _tangent(given, wanted, f"the change at t = {t}")
                if len(calls) != 1:
                    raise Wrong(f"f is called {len(calls)} times; one call is enough")

    def source(tangent: str, result: str = "change") -> str:
        return f"""\
def change_along_a_circle(f, t):
    def along(t):
        return f({radius} * torch.stack([({w} * t).cos(), ({w} * t).sin()]))

    value, change = torch.func.jvp(along, (t,), ({tangent},))
    return {result}
"""

    return code(
        f"At the time `t`, a point is at $({radius} \\cos {w}t, {radius} \\sin {w}t)$. Write a function of `f`, which "
        "takes two numbers in a tensor, and of the time `t`, a tensor. Return the derivative of `f` at the point with "
        "respect to the time. `f` may return many numbers, so call it once and use forward mode.",
        "def change_along_a_circle(f, t): ...",
        source("torch.ones_like(t)"),
        judge,
        "There is one input, the time, so a single forward pass gives the derivatives of all outputs.",
        (source("torch.ones_like(t)", "value"), "the change at"),
        (source(f"torch.full_like(t, {w + 1})"), "expected"),
    )


@exercise(
    3,
    "Horner's rule starts with 0 and repeats `value = value * x + c`, from the highest coefficient to the lowest.",
    "The product rule gives the statement for the tangent. It needs the value before the step: compute it first.",
)
def dual_horner(r: random.Random) -> Task:
    """Evaluate a polynomial with dual numbers."""
    highest_first = r.random() < 0.5
    given = r.sample([r.randint(2, 9), -r.randint(2, 9), r.randint(2, 9)], 3)
    powers = [f"{c}x^{2 - i}" if highest_first else f"{c}x^{i}" for i, c in enumerate(given)]
    example = " + ".join(powers).replace("x^0", "").replace("x^1", "x").replace("+ -", "- ")

    def expected(coefficients: list, x: float, x_tangent: float) -> tuple[float, float]:
        terms = list(enumerate(reversed(coefficients) if highest_first else coefficients))
        slope = sum(n * c * x ** (n - 1) for n, c in terms if n)
        return sum(c * x**n for n, c in terms), slope * x_tangent

    def judge(answer):
        polynomials = given, [4.0], [1.0, -2.0], [0.5, 0.0, -1.0, 3.0, 2.0]
        calls = [(one, x, t) for one in polynomials for x, t in ((2.0, 1.0), (-1.5, 3.0))]
        expect.computes(expect.by_hand(answer), expected, *calls, gradients=False)

    orders = ["reversed(coefficients)", "coefficients"]

    def source(*body: str, order: str = orders[highest_first]) -> str:
        lines = "\n        ".join(body)
        return f"""\
def dual_horner(coefficients, x, x_tangent):
    value = tangent = 0.0
    for c in {order}:
        {lines}
    return value, tangent
"""

    value, tangent = "value = value * x + c", "tangent = tangent * x + value * x_tangent"
    return code(
        "Write a function that evaluates a polynomial for a dual number, given by `x` and `x_tangent`, and returns its value "
        f"and tangent as a pair. The list of coefficients begins with the {'highest' if highest_first else 'lowest'} power: "
        f"{given} stands for ${example}$. Use plain numbers and no autograd.",
        "def dual_horner(coefficients, x, x_tangent): ...",
        source(tangent, value),
        judge,
        "Each step is a product and a sum, and the product rule needs the value before the step.",
        (source(value, tangent), "expected"),
        (source("tangent = tangent * x + value", value), "expected"),
        (source(tangent, value, order=orders[not highest_first]), "expected"),
    )


@exercise(
    3,
    "The derivative of `f` along `v` is a function of `x`: `lambda x: torch.func.jvp(f, (x,), (v,))[1]`.",
    "Apply the same jvp to this function.",
)
def second_change_along_v(r: random.Random) -> Task:
    """Compute a second derivative without a graph."""
    v = r.sample([-3.0, -2.0, -1.0, 0.5, 1.0, 2.0, 3.0], 3)
    programs: list[tuple[Callable, Callable]] = [  # functions, and their second derivatives along d
        (lambda x: x[0] * x[1] * x[2], lambda x, d: 2 * (d[0] * d[1] * x[2] + d[0] * x[1] * d[2] + x[0] * d[1] * d[2])),
        (lambda x: x**3, lambda x, d: 6 * x * d**2),
        (lambda x: x.exp().sum(), lambda x, d: (x.exp() * d**2).sum()),
    ]

    def judge(answer):
        for f, wanted in programs:
            x, d = torch.tensor([1.0, -2.0, 0.5]), torch.tensor(v)
            given = answer(_forward_only(f), x)
            _tangent(given, wanted(x, d), "the second derivative at [1, -2, 0.5]")

    def source(inner: str = "v", result: str = "torch.func.jvp(first, (x,), (v,))[1]") -> str:
        return f"""\
def second_change_along_v(f, x):
    v = torch.tensor({v})

    def first(x):
        return torch.func.jvp(f, (x,), ({inner},))[1]

    return {result}
"""

    return code(
        f"Let `v = {v}`. Write a function that returns the second derivative of `f(x + t * v)` with respect to the number `t` "
        "at `t = 0`, for a function `f` of three numbers. Use only forward mode, without a graph or a backward pass.",
        "def second_change_along_v(f, x): ...",
        source(),
        judge,
        "The tangent is again a function of x, so its jvp gives the second derivative, without a graph.",
        (source(result="torch.func.jvp(first, (x,), (torch.ones(3),))[1]"), "expected"),
        (source(inner="x"), "expected"),
        (source(result="first(x)"), "expected"),
        (source(result="torch.func.hessian(f)(x) @ v @ v"), "solve the exercise without it"),
    )


def _forward_only(f: Callable) -> Callable:
    """Return `f`, which raises Wrong where it is called for a graph or a backward pass."""

    def called(x):
        for name in ("jacrev", "vjp", "grad"):
            expect.refused(name)
        if x.requires_grad:
            raise Wrong("x requires grad inside f: use forward mode only")
        return f(x)

    return called


def _tangent(given, wanted: torch.Tensor, what: str):
    """Expect a tangent without the value that jvp returns besides."""
    if isinstance(given, tuple):
        raise Wrong("jvp returns the value and the tangent: return the tangent alone")
    expect.tensor(given, wanted, what, atol=1e-4)
