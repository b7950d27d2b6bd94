"""Exercises about gradients of vectors and matrices: shapes, products, broadcasting and its sums, reductions, and indices."""

import random

import numpy as np

import minigrad as torch
from lessons import expect

from . import Task, applied, code, combined, exercise, fence, number, numbers


@exercise(1, "A gradient says how the loss changes with each element of b.")
def shape_of_a_gradient(r: random.Random) -> Task:
    """Give the shape of a gradient after broadcasting."""
    m, n = r.sample(range(2, 8), 2)
    batch = r.choice([k for k in range(2, 8) if k not in (m, n)])
    x, b = r.choice(
        [((m, n), (1, n)), ((m, n), (m, 1)), ((1, n), (m, 1)), ((batch, m, n), (m, 1)), ((batch, m, n), (1, n))]
    )
    operation = r.choice(["x + b", "x * b", "x - b", "torch.sin(x * b)"])
    result, dropped = np.broadcast_shapes(x, b), tuple(size for size in b if size > 1)
    return numbers(
        f"`x` has the shape {list(x)} and `b` the shape {list(b)}, and both require grad. Give the shape of `b.grad` after "
        f"`({operation}).sum().backward()` as a list.",
        b,
        solution=f"""
x, b = torch.ones({list(x)}, requires_grad=True), torch.ones({list(b)}, requires_grad=True)
({operation}).sum().backward()
shape_of_a_gradient = b.grad.shape""",
        why="A gradient has the shape of its tensor: backward adds up the gradients of the copies that broadcasting makes.",
        mistakes={
            result: "that is the shape of the result; the gradient has one element for each element of b",
            x: "that is the shape of x",
            dropped: "the dimension of size 1 stays",
        },
    )


@exercise(1, "How many elements of the result does one element of b contribute to?")
def gradient_of_a_bias(r: random.Random) -> Task:
    """Count the uses of a broadcast element."""
    (m, n), c = r.sample(range(2, 10), 2), r.randint(2, 9)
    shape, uses = r.choice([([n], m), ([m, 1], n), ([1, n], m), ([1], m * n)])
    return number(
        f"`x` has the shape {[m, n]} and `b` the shape {shape}. Each element of `b.grad` is the same number. Compute it for "
        f"`({c} * (x + b)).sum().backward()`.",
        c * uses,
        solution=f"""
x, b = torch.ones({m}, {n}), torch.ones({shape}, requires_grad=True)
({c} * (x + b)).sum().backward()
gradient_of_a_bias = b.grad.flatten()[0].item()""",
        why="Broadcasting uses each element of b several times, and its gradient is the sum over the uses.",
        mistakes={
            c: "each element of b is used several times",
            c * m * n: f"one element of b is added to {uses} elements of x",
            c * m: f"one element of b is added to {uses} elements of x",
            c * n: f"one element of b is added to {uses} elements of x",
        },
    )


@exercise(1, "A mean is a sum divided by the number of elements. How many elements has each mean here?")
def gradient_of_a_mean(r: random.Random) -> Task:
    """Differentiate a mean."""
    (m, n), c = r.sample(range(2, 10), 2), r.randint(2, 20)
    mean, count = r.choice([("mean()", m * n), ("mean(0).sum()", m), ("mean(1).sum()", n)])
    return number(
        f"`x` has the shape {[m, n]}. All elements of `x.grad` are equal. Compute them for `({c} * x).{mean}.backward()`.",
        c / count,
        solution=f"""
x = torch.ones({m}, {n}, requires_grad=True)
({c} * x).{mean}.backward()
gradient_of_a_mean = x.grad[0, 0].item()""",
        why="Each element contributes its value, divided by the number of elements, to its mean.",
        mistakes={
            c: "that is the gradient of the sum",
            c / m / n: f"each mean is over {count} elements",
            c / n: f"each mean is over {count} elements",
            c / m: f"each mean is over {count} elements",
        },
    )


@exercise(1, "Count how often each element of x is used.")
def gradient_of_an_index(r: random.Random) -> Task:
    """Differentiate an index with repetitions."""
    values, c = [r.randint(1, 9) for _ in range(4)], r.randint(2, 5)
    often, once = r.sample(range(4), 2)
    index = r.sample([often, often, r.choice([often, once]), once], 4)
    program = f"x = torch.tensor({[float(v) for v in values]}, requires_grad=True)\n({c} * x[{index}]).sum().backward()"
    count = [index.count(i) for i in range(4)]
    return numbers(
        f"Compute the four numbers in `x.grad` after this program.{fence(program)}",
        [c * k for k in count],
        solution=f"{program}\ngradient_of_an_index = x.grad",
        why="An element contributes once for each time it is picked.",
        mistakes={
            tuple(c * (k > 0) for k in count): "an element contributes once for each time it is picked",
            (c,) * 4: "count how often each element is picked",
            tuple(
                c * k * v for k, v in zip(count, values)
            ): "the expression is linear: its gradient does not depend on x",
            tuple(c * i for i in index): "that uses the positions: count how often each element is picked",
        },
    )


@exercise(
    2,
    "x occurs twice in the product. Each occurrence contributes a vector.",
    "Write the sum for two elements: a11 x1² + (a12 + a21) x1 x2 + a22 x2². Differentiate it.",
)
def gradient_of_a_quadratic_form(r: random.Random) -> Task:
    """Differentiate a quadratic form."""
    p, q, s, t = r.sample(range(1, 9), 4)
    a, x = np.array([[p, q], [s, t]]), np.array(r.sample(range(1, 5), 2))
    program = f"""
A = torch.tensor({a.astype(float).tolist()})
x = torch.tensor({x.astype(float).tolist()}, requires_grad=True)
(x @ A @ x).backward()"""
    return numbers(
        f"Compute the two numbers in `x.grad` after this program.{fence(program)}",
        listed((a + a.T) @ x),
        solution=f"{program}\ngradient_of_a_quadratic_form = x.grad",
        why="The right x contributes the transposed A times x, and the left x contributes A x. A is not symmetric.",
        mistakes={
            listed(2 * a @ x): "that is right only for a symmetric A",
            listed(a @ x): "that is the contribution of one x, but there are two",
            listed(a.T @ x): "that is the contribution of one x, but there are two",
            listed(2 * a.T @ x): "that is right only for a symmetric A",
        },
    )


@exercise(
    2,
    "The gradient has the shape of its matrix.",
    "For C = A @ B with the incoming gradient G, it is G @ B.T for A and A.T @ G for B. Here, all elements of G are 1.",
)
def gradient_of_a_product(r: random.Random) -> Task:
    """Differentiate a product of matrices."""
    a, b = (np.array([[r.randint(-3, 6) for _ in range(n)] for _ in range(m)]) for m, n in ((2, 3), (3, 2)))
    name = r.choice("AB")
    one, other, rows = (a, b, "A.grad[0]") if name == "A" else (b.T, a.T, "B.grad[:, 0]")
    program = f"""
A = torch.tensor({a.astype(float).tolist()}, requires_grad=True)
B = torch.tensor({b.astype(float).tolist()}, requires_grad=True)
(A @ B).sum().backward()"""
    return numbers(
        f"What are the three numbers in `{rows}` after this program?{fence(program)}",
        listed(other.sum(1)),
        solution=f"{program}\ngradient_of_a_product = {rows}",
        why="An element of one matrix is multiplied by a row or column of the other, so its gradient is the sum of these.",
        mistakes={
            listed(other[:, 0]): "the element contributes to two elements of the product",
            listed(other.sum(0)): f"{rows} has three elements, one for each element that it is multiplied with",
            listed(one[0]): f"those are elements of {name}, but the product is linear in {name}",
            (float(other.sum()),) * 3: "each element is multiplied by only a part of the other matrix",
        },
    )


@exercise(
    2,
    "The inner elements are in two differences, and the first and the last element in one.",
    "A difference d = x[i + 1] - x[i] sends 2 d to x[i + 1] and -2 d to x[i].",
)
def gradient_of_differences(r: random.Random) -> Task:
    """Differentiate the differences of neighbours."""
    c = r.randint(1, 4)
    x = np.array(r.sample(range(1, 12), 4))
    d = np.diff(x)
    up, down = np.array([0, *d]), np.array([*d, 0])
    program = f"""
x = torch.tensor({x.astype(float).tolist()}, requires_grad=True)
d = x[1:] - x[:-1]
({c} * d * d).sum().backward()"""
    return numbers(
        f"What are the four numbers in `x.grad` after this program?{fence(program)}",
        listed(2 * c * (up - down)),
        solution=f"{program}\ngradient_of_differences = x.grad",
        why="The two slices overlap, and an element that is in both gets the sum of both contributions.",
        mistakes={
            listed(2 * c * up): "x[:-1] contributes, too, with a minus sign",
            listed(-2 * c * down): "x[1:] contributes, too",
            listed(2 * c * (up + down)): "x[:-1] is subtracted",
            listed(c * (up - down)): "a square has the slope 2 d",
        },
    )


@exercise(
    2,
    "Try it with two equal elements: does each get the whole gradient, or a share, or does only one of them get it?",
    "amax, and max without a dimension, share the gradient. max with a dimension also returns an index, so it picks one.",
)
def gradient_of_a_tie(r: random.Random) -> Task:
    """Differentiate a maximum with a tie."""
    top, c, ties = r.randint(6, 9), r.choice([6, 12, 18]), r.choice([2, 3])
    values = r.sample([top] * ties + [r.randint(0, 5) for _ in range(5 - ties)], 5)
    maximum, shared = r.choice([("amax()", True), ("max()", True), ("max(0).values", False), ("amax(0)", True)])
    program = f"x = torch.tensor({[float(v) for v in values]}, requires_grad=True)\n({c} * x.{maximum}).backward()"
    largest = [v == top for v in values]
    share, full = tuple(c / ties * one for one in largest), tuple(c * one for one in largest)
    first = tuple(c * (i == values.index(top)) for i in range(5))
    return numbers(
        f"What are the five numbers in `x.grad` after this program?{fence(program)}",
        share if shared else first,
        solution=f"{program}\ngradient_of_a_tie = x.grad",
        why="max with a dimension sends the gradient to the element whose index it returns. amax, and max without a dimension, "
        "share it among equal elements.",
        mistakes={
            full: f"the gradients of all elements add up to {c}",
            share: "max with a dimension returns an index, and its gradient goes to that element only",
            first: "this maximum returns no index, so the largest elements share the gradient",
            (c / 5,) * 5: "elements below the maximum do not change it",
        },
    )


@exercise(
    3,
    "First compute the gradient in the shape of x. Then add up the elements that come from the same element of b.",
    "Sum over the leading dimensions that b does not have, and over the dimensions in which b has the size 1.",
    "The second sum needs keepdim=True.",
)
def gradient_of_broadcast(r: random.Random) -> Task:
    """Undo broadcasting."""
    k = r.randint(2, 9)
    expression, slope, f = r.choice([
        (f"{k} * x * b", f"{k} * g * x", lambda x, b: k * x * b),
        (f"x - {k} * b", f"-{k} * g", lambda x, b: x - k * b),
        (f"x / b + {k}", "-g * x / b**2", lambda x, b: x / b + k),
        (f"x * b**2 - {k}", "2 * g * x * b", lambda x, b: x * b**2 - k),
        (f"x + ({k} * b).sin()", f"g * {k} * ({k} * b).cos()", lambda x, b: x + (k * b).sin()),
        (f"x**2 * b + {k} * b", f"g * (x**2 + {k})", lambda x, b: x**2 * b + k * b),
    ])  # fmt: skip

    def expected(g: torch.Tensor, x: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        leaf = b.clone().requires_grad_()
        return torch.autograd.grad(f(x, leaf), leaf, g)[0]

    def judge(answer):
        for x_shape, shape in (
            ((2, 3), (3,)),
            ((2, 3), (2, 1)),
            ((4, 2, 3), (2, 1)),
            ((2, 3), (1, 1)),
            ((5,), ()),
            ((3,), (3,)),
        ):
            x = torch.arange(1.0, 1 + int(np.prod(x_shape))).reshape(x_shape) * 0.1
            b = 1 + torch.arange(0.0, int(np.prod(shape))).reshape(shape) * 0.3
            expect.computes(expect.by_hand(answer), expected, (x + 0.5, x, b), gradients=False)

    def source(*body: str) -> str:
        return "def gradient_of_broadcast(g, x, b):" + "".join(f"\n    {line}" for line in (*body, "return g"))

    local = f"g = {slope}"
    leading = "while g.dim() > b.dim():\n        g = g.sum(0)"
    ones = "for i, size in enumerate(b.shape):\n        if size == 1:\n            g = g.sum(i, keepdim=True)"
    return code(
        f"`y = {expression}` has the shape of `x`, so `b` is broadcast. The gradient of `y` is `g`. Return the gradient of "
        "`b`, without autograd. `b` can have fewer dimensions than `x`, and dimensions of size 1.",
        "def gradient_of_broadcast(g, x, b): ...",
        source(local, leading, ones),
        judge,
        "Broadcasting copies, and the backward of a copy is a sum, over new dimensions and over dimensions of size 1.",
        (source(local), "shape"),
        (source(local, leading), "shape"),
        (source(local, leading, ones.replace(", keepdim=True", "")), "shape"),
        (source("g = g * 1.5", leading, ones), "expected"),
    )


@exercise(
    3,
    "Let the shapes guide you: each gradient has the shape of its tensor.",
    "The gradient of x is a product with w, and the gradient of w is a product with x.",
    "b is added to each row, so its gradient is a sum over rows.",
)
def gradients_of_a_layer(r: random.Random) -> Task:
    """Write the backward of a linear layer."""
    k, transposed = r.choice([0.5, 2, 3, 4, 5]), r.random() < 0.5
    forward = f"{k} * (x @ w{'.T' if transposed else ''}) + b"
    back = "w" if transposed else "w.T"
    outer = "g.T @ x" if transposed else "x.T @ g"

    def expected(g, x, w, b):
        leaves = [one.clone().requires_grad_() for one in (x, w, b)]
        x, w, b = leaves
        return torch.autograd.grad(k * (x @ (w.T if transposed else w)) + b, leaves, g)

    def judge(answer):
        for rows, inputs, outputs in ((4, 3, 2), (1, 2, 5), (3, 1, 2)):
            shape = (outputs, inputs) if transposed else (inputs, outputs)
            g, x, w = (torch.arange(m * n).reshape(m, n) * 0.3 - 1 for m, n in ((rows, outputs), (rows, inputs), shape))
            expect.computes(
                expect.by_hand(answer), expected, (g, x * x, w + 0.5, torch.zeros(outputs)), gradients=False
            )

    def source(*results: str) -> str:
        return f"def gradients_of_a_layer(g, x, w, b):\n    return {', '.join(results)}"

    right = f"{k} * g @ {back}", f"{k} * {outer}", "g.sum(0)"
    return code(
        f"`y = {forward}` is a layer: `x` has an example in each row, `w` is a matrix and `b` a vector. The gradient of `y` is "
        "`g`. Return the gradients of `x`, `w` and `b`, without autograd.",
        "def gradients_of_a_layer(g, x, w, b): ...",
        source(*right),
        judge,
        "Each gradient of a product is a product of g with the other factor, transposed so that the shapes fit.",
        (source(*right[:2], "g"), "result 2"),
        (source(f"g @ {back}", outer, "g.sum(0)"), "expected"),
        (source(right[0], f"({right[1]}).T", right[2]), "result 1"),
        (source(*right[:2], "g.mean(0)"), "result 2"),
    )


@exercise(
    3,
    "Each element of x contributes directly, and through the mean of its line.",
    "Centre the incoming gradient in the same way: subtract its mean.",
)
def CentredLines(r: random.Random) -> Task:
    """Write the backward of a subtracted mean."""
    dim, k = r.choice([0, 1]), r.choice([0.5, 2, 3, 4, 5, 10])

    def expected(x: torch.Tensor) -> torch.Tensor:
        return k * (x - x.mean(dim, keepdim=True))

    def judge(answer):
        calls = [torch.arange(m * n).double().reshape(m, n) ** 2 * 0.25 for m, n in ((2, 3), (4, 1), (3, 5))]
        expect.function(answer, applied(expected), *[(x.requires_grad_(),) for x in calls])
        expect.saves(answer.apply, (calls[0],), 0)
        expect.holds(answer, calls[0].detach())

    def source(back: str, save: str = "") -> str:
        forward = f"{save}return {k} * (x - x.mean({dim}, keepdim=True))"
        return combined("CentredLines", "x", forward, "g", f"return {back}")

    right = f"{k} * (g - g.mean({dim}, keepdim=True))"
    return code(
        f"`CentredLines.apply(x)` returns `{k} * (x - x.mean({dim}, keepdim=True))` for a matrix. Write its backward, which "
        "needs no saved tensor.",
        source("..."),
        source(right),
        judge,
        "The mean depends on each element of the line, so backward subtracts the mean of the incoming gradient.",
        (source(f"{k} * g"), "the gradient"),
        (source(f"{k} * (g - g.mean({1 - dim}, keepdim=True))"), "the gradient"),
        (source(right, "ctx.save_for_backward(x)\n"), "bytes are saved"),
    )


@exercise(
    3,
    "The gradient of the table is zero where no element is picked.",
    "A line that is picked twice gets the sum of both gradients. An assignment keeps only one of the two.",
    "zeros.index_add(dim, index, g) adds slices at positions that may repeat.",
)
def PickedLines(r: random.Random) -> Task:
    """Write the backward of picked lines."""
    dim, k = r.choice([0, 1]), r.choice([2, 3, 4, 5, 6, 7, 8, 9, 10])
    which, lines = ("index", "rows") if dim == 0 else (":, index", "columns")

    def expected(table: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        return table.index_select(dim, index) * k

    def judge(answer):
        for shape, index in (((3, 4), [2, 0]), ((5, 3), [1, 2, 1]), ((4, 5), [3, 3, 3, 0])):
            table = torch.arange(shape[0] * shape[1]).reshape(shape) * 0.5
            expect.function(answer, applied(expected), (table.requires_grad_(), torch.tensor(index)))

    def source(*steps: str) -> str:
        forward = f"ctx.save_for_backward(index)\nctx.shape = table.shape\nreturn {k} * table[{which}]"
        return combined("PickedLines", "table, index", forward, "g", "(index,) = ctx.saved_tensors", *steps)

    zeros, back = "grad = torch.zeros(ctx.shape)", "return grad, None"
    return code(
        f"`PickedLines.apply(table, index)` returns {k} times the {lines} of a matrix with the numbers in `index`, which can "
        "repeat. Write its backward.",
        source("..."),
        source(f"return torch.zeros(ctx.shape).index_add({dim}, index, {k} * g), None"),
        judge,
        "A line that is picked several times gets the sum of the gradients; the index has no gradient.",
        (source(zeros, f"grad[{which}] = {k} * g", back), "the gradient"),
        (source(zeros, f"grad[{which}] += {k} * g", back), "the gradient"),
        (source(f"return torch.zeros(ctx.shape).index_add({dim}, index, g), None"), "the gradient"),
    )


def listed(values: np.ndarray) -> tuple[float, ...]:
    """Return the elements of an array as a tuple of floats."""
    return tuple(float(one) for one in values)
