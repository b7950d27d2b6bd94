"""The exercises of lesson 2."""

import minigrad as torch
from lessons import expect
from lessons.exercise import exercise


@exercise(
    "The gradient is 3, which comes in, times the number that `Exp` saves.",
    "The saved number is the result, below `x` in the picture.",
)
def combined_saved(answer):
    """`backward` multiplies the incoming 3 by the saved result: 3 · 2 = 6."""
    mistakes = {
        6.0: "that is the gradient: 3 times the saved number",
        0.693: "that is x; `Exp` saves its result",
        3.0: "that is the gradient that comes in",
    }
    expect.number(answer, 2.0, mistakes, rtol=0.02)


@exercise(
    "Claim's incoming gradient is the derivative of 10 * y with respect to y.",
    "backward multiplies the incoming gradient by 5. The values of forward play no part.",
)
def combined_claim(answer):
    """backward turns the incoming 10 into 50; minigrad does not check that the slope of a square is 5."""
    mistakes = {
        60.0: "that is the true derivative of 10 * x * x, but backward claims a different one",
        5.0: "that leaves out the incoming gradient, 10",
        10.0: "10 is the incoming gradient of Claim",
        90.0: "that is the value, not the gradient",
    }
    expect.number(answer, 50.0, mistakes)


class Reciprocal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 1 / x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return -grad_output / (x * x)


@exercise(
    "The result is in ctx.saved_tensors, a tuple with one element.",
    "backward returns the incoming gradient times the slope.",
    "return grad_output * -result * result, or an equivalent formula.",
)
def CombinedReciprocal(answer):
    """Minus the square of the result times the incoming gradient: only the result has to be saved."""
    expect.function(answer, Reciprocal, *points(0.5, [1.0, -2.0], [[4.0, 0.25]]))
    expect.saves(answer.apply, points([2.0, 4.0])[0], 8)


class Sine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return scale * x.sin()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * ctx.scale * x.cos(), None


@exercise(
    "backward reads ctx.scale. Which line sets it?",
    "forward has two arguments besides the ctx, so backward returns two gradients: None for the number.",
    "The gradient is the incoming one times the slope: grad_output * ctx.scale * x.cos().",
)
def CombinedSine(answer):
    """Now the number is on the ctx, and backward returns two gradients, the first a multiple of the incoming one."""
    expect.function(answer, Sine, *points(0.5, [1.0, -2.0], after=(3.0,)), *points([0.0, 2.0], after=(-0.5,)))


class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bound):
        ctx.bound = bound
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(-ctx.bound, ctx.bound), None


@exercise(
    "backward needs the bound, not x: it can be an attribute of the ctx.",
    "forward may return x.clone(); `clamp(low, high)` of a tensor clips its elements.",
    "return grad_output.clamp(-ctx.bound, ctx.bound), None",
)
def CombinedClip(answer):
    """Values pass through unchanged; backward clips the gradient element by element."""
    for bound in (9.0, 1.0, 0.25):
        expect.function(answer, Clip, *points(0.5, [4.0, 5.0, -6.0, 0.5, 1.0, -2.0], after=(bound,)))
    x = torch.tensor([4.0, 5.0, -6.0], requires_grad=True)  # one gradient of each kind, whatever the drawn ones are
    (given,) = torch.autograd.grad(answer.apply(x, 0.25), x, torch.tensor([0.5, 0.1, -9.0]))
    expect.tensor(given, [0.25, 0.1, -0.25], "the gradient for grad_output = [0.5, 0.1, -9] and bound = 0.25")


def points(*values, after=()):
    """Return calls with one tensor that requires grad, and with the further arguments."""
    return [(torch.tensor(value, requires_grad=True), *after) for value in values]
