"""Exercises about derivatives of derivatives: create_graph, Hessians and their products, once_differentiable, Newton steps."""

import random
from collections.abc import Callable

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong

from . import Task, applied, choice, code, combined, exercise, fence, number, numbers


@exercise(
    1,
    "Is `slope` a constant, or does it have a graph? That depends on `create_graph`.",
    "If `slope` is a constant $s$, then $s x$ has the derivative $s$. If not, use the product rule.",
)
def slope_as_factor(r: random.Random) -> Task:
    """Differentiate a product with a gradient in it."""
    (n, x), a, kept = r.choice([(3, 3), (3, 4), (4, 2), (4, 4)]), r.randint(2, 9), r.random() < 0.5
    first, second = a * n * x ** (n - 1), a * n * (n - 1) * x ** (n - 2)
    program = (
        f"x = torch.tensor({x}.0, requires_grad=True)\n"
        f"(slope,) = torch.autograd.grad({a} * x**{n}, x{', create_graph=True' if kept else ''})\n"
        "(result,) = torch.autograd.grad(slope * x, x)"
    )
    return number(
        f"{fence(program)}What is `result`?",
        first + x * second if kept else first,
        solution=f"{program}\nslope_as_factor = result.item()",
        why="With `create_graph=True` a gradient is a function of `x`; without it, a constant."
        + (" Here the product rule gives $s + x s'$." if kept else " So the product has the derivative `slope`."),
        mistakes={
            first: "that treats the slope as a constant, but create_graph=True keeps its graph",
            first + x * second: "that is the product rule, but without create_graph=True the slope is a constant",
            second: "that is the derivative of the slope alone; the program differentiates slope * x",
            x * second: "the factor x has a derivative, too" if kept else "the slope is a constant: only x changes",
        },
    )


@exercise(
    1,
    "The second `backward` computes the second derivative. Where does it put the number?",
    "`backward` adds to `x.grad`. Is there a number in it already?",
)
def grad_added_again(r: random.Random) -> Task:
    """Predict the gradient after two backward passes."""
    a, n, x, emptied = r.randint(2, 6), r.choice([3, 4]), r.choice([-5, -4, 4, 5]), r.random() < 0.4
    first, second = a * n * x ** (n - 1), a * n * (n - 1) * x ** (n - 2)
    middle = "slope = x.grad\nx.grad = None\nslope.backward()" if emptied else "x.grad.backward()"
    program = (
        f"x = torch.tensor({x}.0, requires_grad=True)\ny = {a} * x**{n}\n"
        f"y.backward(create_graph=True)\n{middle}\nresult = x.grad"
    )
    return number(
        f"{fence(program)}What is `result`?",
        second if emptied else first + second,
        solution=f"{program}\ngrad_added_again = result.item()",
        why="`backward` adds to `.grad`, even in a pass through a gradient. `torch.autograd.grad` does not."
        + (" Here `.grad` was empty, so only the second derivative is in it." if emptied else ""),
        mistakes={
            first: "that is the first derivative alone; the second backward writes to x.grad, too",
            second: "x.grad holds the first derivative already, and backward adds to it",
            first + second: "x.grad is None before the second backward, so nothing is added to the first derivative",
            2 * first: "the second pass differentiates the slope, not y",
        },
    )


@exercise(
    1,
    "The gradient of one number has the shape of `x`. The Hessian is the Jacobian of that gradient.",
    "Write the shape of the result first, then the shape of `x` twice.",
)
def hessian_shape(r: random.Random) -> Task:
    """Find the shape of a Hessian."""
    m, n = r.sample([2, 3, 4, 5, 6], 2)
    reduce, out = r.choice([(".sum()", ()), (".sum(0)", (n,)), (".sum(1)", (m,)), (".sum()", ()), (".mean(0)", (n,))])
    mistakes = {
        (*out, m, n): "that is the shape of the Jacobian, with the first derivatives",
        (m, n): "that is the shape of x, but a Hessian has a number for each pair of its elements",
        (m * n, m * n): "nothing is flattened: each element of x keeps its two indices",
        (m, n, m, n): "the function has several results, and each of them has a Hessian",
        (m, n, m, n, *out): "the dimensions of the result come first",
    }
    return numbers(
        f"`f = lambda x: (x**3){reduce}`, and `x` has the shape ({m}, {n}). Give the shape of `torch.func.hessian(f)(x)`.",
        (*out, m, n, m, n),
        solution=f"hessian_shape = torch.func.hessian(lambda x: (x**3){reduce})(torch.ones({m}, {n})).shape",
        why="The shape of a Hessian is the shape of the result, then the shape of the input twice.",
        mistakes=mistakes,
    )


@exercise(
    1,
    "The Hessian has the second derivatives: $2a$ and $2c$ on the diagonal, and $b$ in the other two places.",
    "The Hessian of a quadratic function is the same at every point, so you do not need `x`.",
)
def hessian_times_vector(r: random.Random) -> Task:
    """Multiply a Hessian by a vector."""
    a, b, c = r.sample([2, 3, 4, 5, 6], 3)
    x, v = r.sample([1, 2, 3], 2), r.choice([[1, -1], [2, -1], [1, -2], [-1, 3]])
    program = (
        f"f = lambda x: {a} * x[0] ** 2 + {b} * x[0] * x[1] + {c} * x[1] ** 2\n"
        f"x, v = torch.tensor({[float(i) for i in x]}), torch.tensor({[float(i) for i in v]})\n"
        "_, product = torch.func.jvp(torch.func.grad(f), (x,), (v,))"
    )
    times = lambda u: (2 * a * u[0] + b * u[1], b * u[0] + 2 * c * u[1])
    return numbers(
        f"{fence(program)}`product` is the Hessian of `f` times `v`. What are its two numbers?",
        times(v),
        solution=f"{program}\nhessian_times_vector = product.tolist()",
        why="The derivative of the gradient along `v` is the Hessian times `v`; here the Hessian is $(2a, b; b, 2c)$.",
        mistakes={
            times(x): "that is the gradient at x",
            (a * v[0] + b * v[1], b * v[0] + c * v[1]): "the second derivative of a square has a factor 2",
            (2 * a * v[0], 2 * c * v[1]): "the mixed derivatives are not zero: x[0] * x[1] depends on both elements",
        },
    )


@exercise(
    2,
    "A `once_differentiable` backward puts a node into the graph of its gradient. A pass through this node raises the error.",
    "Write both gradients as formulas. Which one contains a result of `Once.backward`, and which tensors does that depend on?",
)
def once_raises(r: random.Random) -> Task:
    """Find the second derivatives that raise an error."""
    w, x = r.sample(["w", "x"], 2)
    n, m, product = r.randint(2, 4), r.randint(3, 5), r.random() < 0.5
    loss = f"Once.apply({w}) * {x}**{n}" if product else f"Once.apply({w}) + {w} * {x}**{n}"
    pairs = [(w, w), (w, x), (x, w), (x, x)]
    r.shuffle(pairs)
    calls = {letter: f"torch.autograd.grad(by_{a}, {b}, retain_graph=True)" for letter, (a, b) in zip("abcd", pairs)}
    letter = {pair: letter for letter, pair in zip("abcd", pairs)}
    raising = {letter[w, w], letter[w, x]} if product else {letter[w, w]}
    body = f"ctx.save_for_backward(x)\nreturn x**{m}", "g", "(x,) = ctx.saved_tensors", f"return g * {m} * x**{m - 1}"
    program = combined("Once", "x", *body, decorator="torch.autograd.function.once_differentiable") + (
        "\n\nw, x = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)\n"
        f"loss = {loss}\nby_w, by_x = torch.autograd.grad(loss, (w, x), create_graph=True)"
    )
    tried = "\n".join(f"        {key!r}: lambda: {call}," for key, call in calls.items())
    return choice(
        f"{fence(program)}Which of these calls raise an error? Give a list of letters.\n\n"
        + "\n".join(f"- `{key!r}`: `{call}`" for key, call in calls.items()),
        raising,
        solution=f"{program}\n\n\ndef raising():\n    calls = {{\n{tried}\n    }}\n"
        "    for letter, call in calls.items():\n        try:\n            call()\n"
        "        except RuntimeError:\n            yield letter\n\n\nonce_raises = list(raising())",
        why=f"`by_{w}` contains a result of `Once.backward`, which raises an error if a second pass goes through it. `by_{x}` "
        f"uses at most the value of `Once.apply({w})`, which has an ordinary first derivative.",
        mistakes={
            letter[x, x]: f"by_{x} does not contain a result of Once.backward",
            letter[
                x, w
            ]: f"by_{x} does not contain a result of Once.backward: the pass reaches Once for the first time",
            letter[w, x]: f"in by_{w}, the result of Once.backward is one term, and {x} is in the other term",
        },
    )


@exercise(
    2,
    "The gradient is the incoming gradient times `2 * x`. Which of these two factors leads back to `Square`?",
    "A second pass goes through `Square` if the incoming gradient depends on the result of `Square`.",
)
def backward_runs_again(r: random.Random) -> Task:
    """Count the calls of a backward in second derivatives."""
    n, c = r.randint(3, 9), r.randint(2, 5)
    tail, bent = r.choice(
        [
            (f"({c} * y).sum()", False),
            (f"(y * y.detach() * {c}).sum()", False),
            (f"(y**{c}).sum()", True),
            (f"(y.exp() / {c}).sum()", True),
            (f"(y.sum() + {c}) ** 2", True),
        ]
    )
    backward = 'runs.append("run")', "(x,) = ctx.saved_tensors", "return grad_output * 2 * x"
    square = combined("Square", "x", "ctx.save_for_backward(x)\nreturn x * x", "grad_output", *backward)
    program = f"""runs = []


{square}

x = torch.linspace(0.1, 1.0, {n}, requires_grad=True)
y = Square.apply(x)
(slope,) = torch.autograd.grad({tail}, x, create_graph=True)
hessian = [torch.autograd.grad(slope[i], x, retain_graph=True)[0] for i in range({n})]"""
    return number(
        f"{fence(program)}How many times does `Square.backward` run?",
        1 + n if bent else 1,
        solution=f"{program}\nbackward_runs_again = len(runs)",
        why="Each pass through the gradient goes through `Square` again, since the incoming gradient depends on `y`."
        if bent
        else "The incoming gradient is a constant here, so the second passes find `x` only in the factor `2 * x`.",
        mistakes={
            1: "the incoming gradient depends on y, so the second passes go through Square, too",
            n + 1: "the incoming gradient does not depend on y, so the second passes need only the factor 2 * x",
            n: "the first gradient needs a run, too" if bent else "only the first gradient goes through Square",
            2: "there is a second pass for each row of the Hessian" if bent else "no second pass goes through Square",
        },
    )


@exercise(
    2,
    "Newton's step for a minimum is $x - f'(x) / f''(x)$.",
    "Compute $f'(x) = 4x^3 - 2bx$ and $f''(x) = 12x^2 - 2b$ at the start, and mind the signs.",
)
def newton_step_uphill(r: random.Random) -> Task:
    """Take a Newton step where the curvature is negative."""
    b, x = r.randint(3, 9), r.choice([-0.5, -0.4, -0.2, 0.2, 0.4, 0.5])
    value, slope, curvature = x**4 - b * x**2, 4 * x**3 - 2 * b * x, 12 * x**2 - 2 * b
    program = (
        f"f = lambda x: x**4 - {b} * x**2\nx = torch.tensor({x}, dtype=torch.float64, requires_grad=True)\n"
        "(slope,) = torch.autograd.grad(f(x), x, create_graph=True)\n(curvature,) = torch.autograd.grad(slope, x)\n"
        "new = x - slope / curvature"
    )
    return number(
        f"{fence(program)}`f` falls from a maximum at 0 to a minimum on each side. What is `new`?",
        x - slope / curvature,
        solution=f"{program}\nnewton_step_uphill = new.item()",
        why="Newton's step goes to the point where the slope is zero. The curvature is negative here, so this is uphill: "
        "`new` is closer to the maximum at 0 than `x`.",
        mistakes={
            x + slope / curvature: "that goes downhill, but Newton's step subtracts the quotient, whatever its sign",
            x - value / slope: "that step looks for f(x) = 0; the program looks for a slope of 0",
            x - slope: "that is a step of gradient descent with rate 1",
            x - slope / (12 * x**2): "the second term has a second derivative, too",
        },
    )


@exercise(
    2,
    "`new` depends on `w` directly, and through `g` if `g` has a graph.",
    "The derivative of `new` with respect to `w` is 1 if `g` is a constant, else 1 minus the rate times the second derivative.",
)
def slope_through_a_step(r: random.Random) -> Task:
    """Differentiate through a step of gradient descent."""
    a, rate, kept = r.randint(2, 4), r.choice([0.1, 0.2, 0.3]), r.random() < 0.6
    w = r.choice([-3.0, -2.0, 2.0, 3.0, 4.0])
    new = w - rate * 2 * a * w
    through, constant = 2 * a * new * (1 - 2 * a * rate), 2 * a * new
    program = (
        f"loss = lambda w: {a} * w**2\nw = torch.tensor({w}, requires_grad=True)\n"
        f"(g,) = torch.autograd.grad(loss(w), w{', create_graph=True' if kept else ''})\n"
        f"new = w - {rate} * g\n(result,) = torch.autograd.grad(loss(new), w)"
    )
    return number(
        f"{fence(program)}`result` says how the loss after a step depends on the start. What is `result`?",
        through if kept else constant,
        solution=f"{program}\nslope_through_a_step = result.item()",
        why="Multiply the slope at `new` by the derivative of `new` with respect to `w`. If `g` has a graph, that is "
        "1 minus the rate times the second derivative; otherwise it is 1.",
        mistakes={
            constant: "that treats g as a constant, but g has a graph: new depends on w through g, too",
            through: "that differentiates g as well, but g is a constant without create_graph=True",
            2 * a * w: "that is the gradient before the step",
            2 * a * w * (1 - 2 * a * rate) ** 3: "the loss is a square, so its slope has the factor new only once",
        },
    )


@exercise(
    3,
    "The Hessian times v is the derivative of the gradient along v, or the gradient of the number `(gradient * v).sum()`.",
    "`torch.func.jvp(torch.func.grad(f), (x,), (v,))` gives the gradient and its derivative along v.",
)
def damped_hvp(r: random.Random) -> Task:
    """Multiply a damped Hessian by a vector without the matrix."""
    c = r.choice([0.1, 0.2, 0.5, 1.5, 2.0, 2.5, 3.0, 4.0])
    product = "torch.func.jvp(torch.func.grad(f), (x,), (v,))[1]"

    def judge(answer):
        vector = torch.tensor([1.0, 2.0]), torch.tensor([1.0, -1.0])
        _product(answer, lambda x: x[0] ** 3 + 2 * x[0] * x[1] ** 2, *vector, torch.tensor([-2.0 + c, 4.0 - c]))
        _without_matrix(answer)
        x, v = torch.tensor([[1.0, 2.0, -3.0], [0.5, 0.0, 1.0]]), torch.tensor([[1.0, -1.0, 2.0], [3.0, 5.0, -2.0]])
        _product(answer, lambda x: (x**4).sum() / 12, x, v, x * x * v + c * v)
        _product(answer, lambda x: (x**3).sum(), torch.tensor(2.0), torch.tensor(-1.0), torch.tensor(-12.0 - c))
        _product(answer, lambda x: (3 * x).sum(), x, v, c * v)

    def source(*lines: str) -> str:
        return "\n    ".join(["def damped_hvp(f, x, v):", *lines])

    return code(
        f"Some optimizers add a multiple of the identity matrix to a Hessian. Return $H v + {c} v$, where $H$ is the Hessian "
        "of `f` "
        "at `x`. `f` takes a tensor of any shape and returns one number. Never build the matrix, and do not change `x`. "
        "`f` may be linear; then $H = 0$.",
        "def damped_hvp(f, x, v): ...",
        source(f"return {product} + {c} * v"),
        judge,
        "One pass along v through the gradient gives H v, and no tensor is larger than x.",
        (source(f"return {product}"), "expected"),
        (source(f"return torch.func.hessian(f)(x) @ v + {c} * v"), "a matrix"),
        (
            source(
                "x.requires_grad_()",
                "(slope,) = torch.autograd.grad(f(x), x, create_graph=True)",
                f"return torch.autograd.grad((slope * v).sum(), x)[0] + {c} * v",
            ),
            "do not change it",
        ),
        (
            source(
                "x = x.detach().requires_grad_()",
                "(slope,) = torch.autograd.grad(f(x), x)",
                f"return torch.autograd.grad((slope * v).sum(), x)[0] + {c} * v",
            ),
            "does not require grad",
        ),
    )


@exercise(
    3,
    "The sum of the pure second derivatives is the trace of the Hessian: only the diagonal counts.",
    "`torch.func.hessian(f)(x)` keeps the graph to the tensors that `f` uses, and `.trace()` adds up the diagonal.",
)
def helmholtz(r: random.Random) -> Task:
    """Add the second derivatives of a differential equation."""
    a, k = r.randint(2, 5), r.choice([4, 9, 16, 25])

    def judge(answer):
        w, x = torch.tensor([1.0, -2.0, 0.5], requires_grad=True), torch.tensor([0.3, 0.1, -0.7], requires_grad=True)
        expect.computes(
            lambda w, x: answer(lambda x: torch.dot(w, x).sin(), x),
            lambda w, x: (k - a * (w * w).sum()) * torch.dot(w, x).sin(),
            (w, x),
        )
        for values in ([1.0, 2.0], [-0.5, 3.0]):
            expect.computes(
                lambda w, x: answer(lambda x: w * x[0] ** 3 * x[1], x),
                lambda w, x: w * (6 * a * x[0] * x[1] + k * x[0] ** 3 * x[1]),
                (torch.tensor(2.0, requires_grad=True), torch.tensor(values, requires_grad=True)),
            )

    def source(body: str) -> str:
        return f"def helmholtz(f, x):\n    {body}"

    return code(
        "A network $f$ can learn to solve a differential equation: its loss measures how much $f$ violates the equation. "
        f"Return ${a} \\Delta f(x) + {k} f(x)$, where $\\Delta f$ is the sum of the second derivatives "
        "$\\partial^2 f / \\partial x_i^2$. `x` is a vector, and `f(x)` is one number. The result must be "
        "differentiable with respect to `x` and to the tensors that `f` uses.",
        "def helmholtz(f, x): ...",
        source(f"return {a} * torch.func.hessian(f)(x).trace() + {k} * f(x)"),
        judge,
        "The trace of the Hessian adds up the pure second derivatives, and the graph leads to x and the weights.",
        (source(f"return {a} * torch.func.hessian(f)(x).sum() + {k} * f(x)"), "expected"),
        (source(f"return {a} * torch.func.hessian(f)(x.detach()).trace() + {k} * f(x)"), "the gradient of x is"),
        (source(f"return torch.func.hessian(f)(x).trace() + {k} * f(x)"), "expected"),
        (source(f"return {a} * torch.func.hessian(f)(x).trace().item() + {k} * f(x)"), "the gradient of"),
    )


@exercise(
    3,
    "You can compute the slope from the result $y$: differentiate, and replace the exponential function.",
    "Save the result and compute the slope in backward, with tensor operations: $y' = k y (1 - y / L)$.",
)
def TwiceLogistic(r: random.Random) -> Task:
    """Write a growth curve that has all its derivatives."""
    top, k = r.choice([2, 3, 4, 5, 6]), r.choice([2, 3, 4, 0.5])
    curve = lambda x: top / (1 + torch.exp(-k * x))

    def judge(answer):
        points = [torch.tensor(values, requires_grad=True) for values in ([0.0, 0.3, -0.2], [[0.1], [-0.4]])]
        for x in points:
            expect.function(answer, applied(curve), (x,))
            for order in (2, 3):
                wanted = _derivative(curve, x, order)
                expect.tensor(_derivative(answer.apply, x, order), wanted, f"derivative {order}", rtol=1e-3, atol=1e-4)
        expect.keeps(answer.apply(points[0]), curve(points[0]), what="the result")

    def source(save: str, slope: str, saved: str = "y") -> str:
        forward = f"y = {top} / (1 + torch.exp(-{k} * x))\nctx.save_for_backward({save})\nreturn y"
        backward = f"({saved},) = ctx.saved_tensors", f"return grad_output * {slope}"
        return combined("TwiceLogistic", "x", forward, "grad_output", *backward)

    return code(
        f"The curve $y = {top} / (1 + e^{{-{k} x}})$ describes growth with a limit. Write it as a Function with `apply(x)`. "
        "Derivatives of every order must be right, and you may save only the result.",
        source("...", "..."),
        source("y", f"{k} * y * (1 - y / {top})"),
        judge,
        "An output comes back from saved_tensors with its history, so autograd can differentiate a formula that uses it again.",
        (source(f"{k} * y * (1 - y / {top})", "slope", "slope"), "derivative 2"),
        (source("y", f"{k} * y.detach() * (1 - y.detach() / {top})"), "derivative 2"),
        (source("y", f"{k} * y * (1 - y)"), "expected"),
        (source("x", f"{top * k} * torch.exp(-{k} * x) / (1 + torch.exp(-{k} * x)) ** 2", "x"), "the result is enough"),
    )


@exercise(
    3,
    "The elements do not mix, so the gradient of `f(x).sum()` contains the slope of each element.",
    "The gradient of `slope.sum()` contains the second derivatives; keep the graph of the first gradient.",
    "`torch.where` chooses between both steps for each element.",
)
def safe_newton_step(r: random.Random) -> Task:
    """Take Newton's step only where a function curves upwards."""
    rate = r.choice([0.01, 0.02, 0.05, 0.1, 0.2, 0.25])

    def expected(f, slope, curvature):
        return lambda x: torch.where(curvature(x) > 0, x - slope(x) / curvature(x), x - rate * slope(x))

    def judge(answer):
        well = lambda x: x**4 - 2 * x**2
        stepped = expected(well, lambda x: 4 * x**3 - 4 * x, lambda x: 12 * x**2 - 4)
        calls = [(torch.tensor(v),) for v in ([1.5, 0.1, -0.2, -2.0], [[0.3, 0.9], [-0.5, 3.0]], -0.25)]
        expect.computes(lambda x: answer(well, x), stepped, *calls, gradients=False)
        wave = expected(torch.cos, lambda x: -x.sin(), lambda x: -x.cos())
        expect.computes(lambda x: answer(torch.cos, x), wave, (torch.tensor([3.0, 0.5, 2.0]),), gradients=False)

    def source(last: str, *, kept: bool = True) -> str:
        return (
            "def safe_newton_step(f, x):\n    x = x.detach().requires_grad_()\n"
            f"    (slope,) = torch.autograd.grad(f(x).sum(), x{', create_graph=True' if kept else ''})\n"
            f"    (curvature,) = torch.autograd.grad(slope.sum(), x)\n    return {last}"
        )

    return code(
        "`f` works element by element, and each element of `x` looks for a minimum. Return the next `x`. Where the second "
        f"derivative is positive, take Newton's step. Elsewhere that step would go uphill: there, subtract {rate} times the "
        "slope instead. `x` may have any shape.",
        "def safe_newton_step(f, x): ...",
        source(f"torch.where(curvature > 0, x - slope / curvature, x - {rate} * slope).detach()"),
        judge,
        "A positive second derivative means that the parabola at this element has a minimum to go to.",
        (source("x - slope / curvature"), "expected"),
        (source(f"torch.where(curvature > 0, x - {rate} * slope, x - slope / curvature)"), "expected"),
        (source(f"x - slope / curvature if curvature > 0 else x - {rate} * slope"), "raises RuntimeError"),
        (
            source(f"torch.where(curvature > 0, x - slope / curvature, x - {rate} * slope)", kept=False),
            "create_graph=True",
        ),
    )


def _product(answer: Callable, f: Callable, x: torch.Tensor, v: torch.Tensor, wanted: torch.Tensor) -> None:
    """Expect a product of a Hessian and a vector; x must stay as it is."""
    own = x.clone()
    given = answer(f, own, v)
    if own.requires_grad or own.grad is not None:
        raise Wrong("x requires grad afterwards: do not change it, and use x.detach().requires_grad_()")
    expect.tensor(given, wanted, f"the result for x of shape {list(x.shape)}")


def _without_matrix(answer: Callable) -> None:
    """Expect that a product with a Hessian creates no tensor as large as the matrix."""
    n = 200
    x = torch.linspace(0.0, 1.0, n)
    values = torch.record(lambda: answer(lambda x: (x**3).sum(), x, x + 1), passes="forward").to_dict()["values"]
    if sum(value["bytes"] for value in values) >= 4 * n * n:
        raise Wrong(f"the numbers are right, but for {n} elements it computes a matrix of {n} x {n}")


def _derivative(f: Callable, x: torch.Tensor, order: int) -> torch.Tensor:
    """Return a derivative of a function that works element by element."""
    x = x.detach().requires_grad_()
    result = f(x)
    for _ in range(order):
        if not result.requires_grad:
            raise Wrong(f"derivative {order} is missing: backward computes with tensors that have no history")
        (result,) = torch.autograd.grad(result.sum(), x, create_graph=True)
    return result
