"""The exercises of lesson 26."""

import math

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise
from lessons.loops import loops
from minigrad.ops.base.families import Pointwise


@exercise(
    "The chain rule: the derivative of log(u) with respect to u is 1 / u; multiply it by the derivative of u.",
    "u is 1 + x * x, and its derivative is 2 * x. `out` is log(u), not u.",
)
def KernelRepaired(answer):
    """2x / (1 + x²): the derivative of the logarithm, times the derivative of 1 + x²."""
    apply, points = operation(answer), torch.tensor([-2.0, -0.4, 0.5, 3.0], dtype=torch.float64, requires_grad=True)
    expected = declared(answer, kernel=lambda x: torch.log(1 + x * x), dx=lambda x: 2 * x / (1 + x * x))
    expect.tensor(apply(points), expected(points), "the kernel, log(1 + x²),")
    expect.computes(apply, expected, (points,))
    expect.computes(slope(apply), slope(expected), (points,))


def slope(f):
    """Return the derivative of an elementwise function, as a function that can be differentiated again."""
    return lambda *x: torch.autograd.grad(f(*x).sum(), x[0], create_graph=True)[0]


def declared(answer, **formulas):
    """Return the right operation under the name of the answer, so that the pictures of both have the same steps."""
    return type(answer.__name__, (Pointwise,), formulas).apply


def operation(answer):
    """Return the function of an operation that an answer declares."""
    if not (isinstance(answer, type) and hasattr(answer, "kernel")):
        raise Wrong(f"expected a subclass of Pointwise, got {answer!r}")
    if not callable(answer.kernel):
        raise Wrong("the kernel is missing")
    for name in answer.names:
        if not callable(getattr(answer, f"d{name}", None)):
            raise Wrong(f"d{name} is missing: the kernel has the argument {name}, which needs a derivative")
    return answer.apply


@exercise(
    "The derivative with respect to x is exp(y), the one with respect to y is x * exp(y). Multiply both by the gradient of the result.",
    "Keep exp(y) in a variable: e = math.exp(y_[i]).",
    "Then dx_[i] = g_[i] * e and dy_[i] = g_[i] * x_[i] * e.",
)
def kernel_backward(answer):
    """Both gradients share a loop, which computes exp(y) once and reads each input once."""
    inputs = [[1.0, 2.0, -1.0], [3.0, -0.5, 2.0], [0.0, 1.0, -2.0]]
    loops(answer, lambda g, x, y: (g * math.exp(y), g * x * math.exp(y)), 2, inputs)


@exercise(
    "The derivative follows from the result alone: out * (1 - out).",
    "kernel = lambda x: 1 / (1 + exp(-x)), and dx = lambda out: out * (1 - out).",
)
def KernelLean(answer):
    """Your derivative needs only the result or only `x`. The result exists anyway: dx = lambda out: out * (1 - out)."""
    apply, points = operation(answer), torch.tensor([-2.0, -0.4, 0.5, 3.0], dtype=torch.float64, requires_grad=True)
    expected = declared(answer, kernel=lambda x: 1 / (1 + torch.exp(-x)), dx=lambda out: out * (1 - out))
    expect.tensor(apply(points), expected(points), "the kernel, 1 / (1 + exp(-x)),")
    gradient = slope(apply)(points)
    expect.tensor(gradient, slope(expected)(points), "the gradient")
    expect.tensor(slope(slope(apply))(points), slope(slope(expected))(points), "the gradient of the gradient")
    expect.saves(apply, (points,), 32)


@exercise(
    "The derivative of sqrt(u) with respect to u is 1 / (2 * sqrt(u)), and the derivative of u with respect to x is 2x.",
    "sqrt(u) is the result, which a formula reads as `out`: dx = lambda x, out: x / out.",
)
def KernelDistance(answer):
    """x / out and y / out: formulas that read the result need not compute it again."""
    apply = operation(answer)
    right = {"kernel": lambda x, y: torch.sqrt(x * x + y * y + 1), "dx": lambda x, out: x / out}
    expected = declared(answer, **right, dy=lambda y, out: y / out)
    x = torch.tensor([-2.0, -0.4, 0.5, 3.0], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([1.0, -1.5, 0.25, 0.0], dtype=torch.float64, requires_grad=True)
    expect.tensor(apply(x, y), expected(x, y), "the kernel")
    expect.computes(apply, expected, (x, y), (x.reshape(2, 2), y[:2]))
    expect.computes(slope(apply), slope(expected), (x, y))
    large = torch.full((8192,), 2.0, requires_grad=True)
    expect.computes(lambda x: apply(x, 2.0).sum(), lambda x: expected(x, 2.0 * torch.ones(1)).sum(), (large,))
