"""The exercises of lesson 3."""

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise
from minigrad.func import grad


@exercise(
    "Both cards send back a contribution, which `x` adds.",
    "Each contribution is the saved result, exp(0).",
)
def separate_gradient(answer):
    """Each form multiplies by its saved result, exp(0) = 1, and `x` adds both contributions."""
    mistakes = {
        1.0: "that is the contribution of one of the two forms",
        0.0: "that is the value of x",
        5.437: "that is the gradient at 1",
    }
    expect.number(answer, 2.0, mistakes, rtol=0.02)


@exercise(
    "`inputs` holds all arguments of forward, given or not.",
    "The ctx is not an argument of forward in this form.",
)
def separate_inputs(answer):
    """x, y, factor and shift: an omitted argument counts, too, with its default."""
    mistakes = {
        3.0: "omitted arguments count, too, with their defaults",
        5.0: "the ctx does not count",
    }
    mistakes[2.0] = "arguments that are not tensors count, too"
    expect.number(answer, 4.0, mistakes)


@exercise(
    "The result is `output`, a tensor.",
    "setup_context: ctx.save_for_backward(output)",
    "backward: (result,) = ctx.saved_tensors; return grad_output * (1 - result**2)",
)
def SeparateTanh(answer):
    """One tensor is saved, and the gradient computed from it can be differentiated again."""
    differentiates(answer, torch.tanh, (0.0, 0.5, -2.0))
    x = torch.tensor([2.0, 4.0], requires_grad=True)
    expect.saves(answer.apply, (x,), 8)
    expect.keeps(answer.apply(x), x.tanh(), what="the result")


@exercise(
    "forward(x) has no ctx and saves nothing; setup_context(ctx, inputs, output) does.",
    "s is neither an input nor the output. It can be computed again from x.",
    "Save x alone, and begin backward with s = torch.sigmoid(x).",
)
def SeparateSilu(answer):
    """In the separate form, it saves only an input or an output, so the second derivative is right."""
    differentiates(answer, lambda x: x * torch.sigmoid(x), (0.0, 0.5, -2.0))


@exercise(
    "forward(x, n=2) computes; setup_context finds both in `inputs`, a tuple of two, even if the call omits n.",
    "x is a tensor: use save_for_backward. n is a number: ctx.n = n.",
    "backward returns two gradients, the second of them None.",
)
def SeparatePower(answer):
    """x is saved, n is an attribute, and there are two gradients, one of them None."""
    differentiates(answer, lambda x, n=2: x**n, (0.5, -2.0), (), (3,), (1,), (4,))


def differentiates(answer, expected, points, *more):
    """Check the values, gradients and second derivatives of a Function, or of its first output, against `expected`."""

    @expect.calling(answer)
    def first(*args):
        result = answer.apply(*args)
        return result[0] if isinstance(result, tuple) else result

    words = "; a saved tensor that is neither an input nor an output counts as a constant"
    if isinstance(answer.apply(torch.tensor(points[0]), *(more[0] if more else ())), tuple):
        words += ", and the gradient of a second output has to be added"
    for rest in more or ((),):
        expect.computes(
            first, expected, *[(torch.tensor(at, requires_grad=True), *rest) for at in (points[0], list(points))]
        )
        for at in points:
            x, whole = torch.tensor(at), f"at {at}" + "".join(f", n = {n}" for n in rest)
            own, wanted = lambda x: first(x, *rest), lambda x: expected(x, *rest)
            expect.tensor(grad(own)(x), grad(wanted)(x), f"func.grad {whole}")
            second_is(grad(grad(own))(x), grad(grad(wanted))(x), f"the second derivative {whole}", words)
            second_is(again(own, x), again(wanted, x), f"the second derivative with create_graph {whole}", words)


def again(f, x):
    """Return the second derivative by two backward passes."""
    x = x.clone().requires_grad_()
    (slope,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad(slope, x)[0] if slope.requires_grad else torch.zeros_like(x)


def second_is(given, wanted, what, words):
    """Check the second derivative; the message says how it gets lost."""
    try:
        expect.tensor(given, wanted, what)
    except Wrong as wrong:
        raise Wrong(f"{wrong}{words}") from None
