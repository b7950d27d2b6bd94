"""The exercises of lesson 5."""

import math

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise


@exercise(
    "To the left of 0 the tangent grows again.",
    "At 0 the products of x do not change; only `2 * x` is left.",
)
def forward_smallest(answer):
    """At x = 0 the tangent, 3 · x · x + 2, is smallest."""
    mistakes = {
        0.0: "that is the x where the tangent is smallest",
        29.0: "that is the tangent at 3",
        5.0: "that is the tangent at 1 and at -1; go on between them",
    }
    expect.number(answer, 2.0, mistakes)


@exercise(
    "First x · x: its value is 9, its tangent 3 · 1 + 1 · 3.",
    "Then (x · x) · y: the value of each factor times the tangent of the other: 9 · 10 + 6 · 2.",
)
def forward_tangent(answer):
    """x · x has the tangent 6, so z has 9 · 10 + 6 · 2 = 102."""
    mistakes = {
        12.0: "that is the contribution of x; y changes, too",
        90.0: "that is the contribution of y; x changes, too",
        18.0: "that is the value of z",
        21.0: "that is for a tangent of 1 for y, but it is 10",
        96.0: "x occurs in the product twice",
        60.0: "tangents are not multiplied by each other",
    }
    expect.number(answer, 102.0, mistakes)


@exercise(
    "Let q = a / b. Then a = q · b: write down the rule for that product.",
    "a′ = q · b′ + q′ · b. Solve it for q′.",
    "value = a / b; tangent = (a_tangent - value * b_tangent) / b; return both.",
)
def forward_quotient(answer):
    """Differentiate a = q · b, which gives a′ = q · b′ + q′ · b, and solve for q′."""

    def quotient(a, a_tangent, b, b_tangent):
        return a / b, (a_tangent - a / b * b_tangent) / b

    given = answer(6.0, 1.0, 2.0, 10.0)
    if given is not None and given is not ... and not isinstance(given, (tuple, list)):
        raise Wrong("return two numbers as a pair: the value and the tangent")
    if isinstance(given, (tuple, list)) and len(given) == 2 and math.isclose(float(given[1]), 0.1):
        raise Wrong("the tangents are not divided by each other: derive the rule from a = q · b, a product")
    if isinstance(given, (tuple, list)) and len(given) == 2 and float(given[1]) == 14.5:
        raise Wrong("the tangent for 6, 1, 2, 10 is 14.5, expected -14.5: look at the order of the subtraction")
    calls = (6.0, 1.0, 2.0, 0.0), (6.0, 0.0, 2.0, 1.0), (6.0, 1.0, 2.0, 10.0), (-1.0, 3.0, 4.0, 0.5)
    expect.computes(answer, quotient, *calls, gradients=False)


class ForwardOnly(torch.autograd.Function):
    """x * sum(x), which has no backward."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * x.sum()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(*inputs)

    @staticmethod
    def jvp(ctx, x_tangent):
        (x,) = ctx.saved_tensors
        return x_tangent * x.sum() + x * x_tangent.sum()


@exercise(
    "Each row of torch.eye(x.numel()) is the tangent for one input.",
    "torch.func.jvp(f, (x,), (tangent,))[1] is the column of that input.",
    "torch.stack(columns, dim=1) puts columns side by side.",
)
def forward_jacobian(answer):
    """One pass for each input computes one column."""

    def g(x):
        return torch.stack([x[0] * x[1], x[1] + 10 * x[2]])

    x = torch.tensor([2.0, 3.0, 4.0])
    expected = torch.tensor([[3.0, 2.0, 0.0], [0.0, 1.0, 10.0]])
    given = answer(g, x)
    if getattr(given, "shape", None) == (3, 2):
        raise Wrong(
            "the table has the shape [3, 2], expected [2, 3]: tangents give columns; dim=1 puts them side by side"
        )
    expect.tensor(given, expected, "the Jacobian of three numbers to two")
    expect.tensor(answer(lambda x: x.sum().reshape(1), x), torch.ones(1, 3), "the Jacobian of x.sum().reshape(1)")
    pair = torch.tensor([5.0, 6.0])
    expect.tensor(answer(lambda x: x * x, pair), torch.diag(2 * pair), "the Jacobian of x * x for two numbers")
    wanted = torch.eye(3) * x.sum() + x[:, None]
    try:
        given = answer(ForwardOnly.apply, x)
    except NotImplementedError:
        raise Wrong("f has no backward here: use forward mode only") from None
    expect.tensor(given, wanted, "the Jacobian of a Function without backward")


@exercise(
    "Forward mode computes a column in each pass, backward a row. The Jacobian has a row for each output.",
    "The velocity is the combination of columns for one tangent, the velocities of the angles.",
)
def forward_passes(answer):
    """Six columns, three rows. A velocity is one direction, so it needs one pass."""
    mistakes = {
        (3, 6, 1): "forward mode needs a pass for each input, backward one for each output",
        (6, 3, 6): "all angles turn at once: their velocities are one tangent",
        (6, 3, 3): "a pass of forward mode gives the tangents of all three coordinates",
        (6, 3, 18): "a pass of forward mode gives the tangents of all three coordinates, for one direction",
        (18, 18, 1): "a pass gives a whole column or row, not one number",
        (6, 1, 1): "backward with one gradient gives one row, and the hand has three coordinates",
    }
    expect.numbers(answer, [6, 3, 1], mistakes)
