"""The exercises of lesson 6."""

import minigrad as torch
import minigrad.autograd.forward_ad as fwAD
from lessons import expect
from lessons.exercise import exercise


@exercise(
    "The slope is 2 · x · exp(x · x), and exp is never 0.",
    "x is 0 there.",
)
def forward_flat(answer):
    """At x = 0 the square is flat: 2 · 0 · exp(0) = 0. The result is exp(0) = 1."""
    mistakes = {
        0.0: "that is the gradient, and x; look at the result of `Exp`",
        2.718: "that is the result at 1",
    }
    expect.number(answer, 1.0, mistakes, rtol=0.01)


@exercise(
    "There are two tangents, and three saved tensors: x, y, r.",
    "x, y, r = ctx.saved_tensors; return (x * x_tangent + y * y_tangent) / r",
)
def ForwardHypot(answer):
    """Both tangents count, each with its own slope."""
    moves(answer, lambda x, y: (x * x + y * y).sqrt(), (3.0, 4.0), (1.0, 0.0), (0.0, 1.0), (10.0, -2.0))
    moves(answer, lambda x, y: (x * x + y * y).sqrt(), ([3.0, -5.0], [4.0, 12.0]), ([1.0, 2.0], [0.0, -1.0]))
    with fwAD.dual_level():
        x = fwAD.make_dual(torch.tensor(3.0), torch.tensor(1.0))
        given = fwAD.unpack_dual(answer.apply(x, torch.tensor(4.0))).tangent
    expect.tensor(given, 0.6, "the tangent at 3 and 4, if y has no tangent,")


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x**2


@exercise(
    "In jvp, ctx.saved_tensors holds the tensors given to save_for_forward.",
    "The tangent of the output is the slope times the incoming tangent.",
    "ctx.save_for_forward(*inputs), and return 3 * x**2 * x_tangent",
)
def ForwardCube(answer):
    """x is saved for forward mode as well, and jvp multiplies the slope by the incoming tangent."""
    expect.function(answer, Cube, (torch.tensor([2.0, -1.0], requires_grad=True),))
    moves(answer, lambda x: x**3, (2.0,), (1.0,), (10.0,), (0.0,))
    moves(answer, lambda x: x**3, ([2.0, -1.0, 0.5],), ([1.0, 3.0, -2.0],))


@exercise(
    "Each output has its own rule. r cos(phi) is a product, so both factors count.",
    "The velocity in x is r_tangent * cos(phi) - r * sin(phi) * phi_tangent.",
    "Return a tuple of two, in the order of the outputs.",
)
def ForwardPolar(answer):
    """One pass gives the velocities of both outputs."""
    moves(answer, polar, (2.0, 0.5), (1.0, 0.0), (0.0, 1.0), (3.0, -2.0))
    moves(answer, polar, ([1.0, 2.0], [0.0, 4.0]), ([1.0, -1.0], [0.5, 2.0]))


def polar(r, phi):
    return r * phi.cos(), r * phi.sin()


class Steps(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x[1:] - x[:-1]

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        zero = grad_output.new_zeros(1)
        return torch.cat([zero, grad_output]) - torch.cat([grad_output, zero])


@exercise(
    "How fast does the difference of two numbers change, if you know how fast each of them changes?",
    "The tangents follow the same formula as the values.",
)
def ForwardSteps(answer):
    """Linear functions treat tangents as they treat values. Their backward has another formula: the transposed matrix."""
    x = torch.tensor([1.0, 4.0, 9.0, 16.0])
    expect.function(answer, Steps, (x.clone().requires_grad_(),))
    moves(answer, lambda x: x[1:] - x[:-1], (x.tolist(),), ([1.0, 0.0, 0.0, 0.0],), ([1.0, -2.0, 0.5, 10.0],))


def moves(answer, expected, at, *directions):
    """Check a Function's tangents at a point, in some directions, against those of `expected`; all of them are numbers."""
    expect.tangents(answer, expected, tuple(map(torch.tensor, at)), *(tuple(map(torch.tensor, d)) for d in directions))
