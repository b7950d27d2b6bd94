"""The exercises of lesson 15."""

import math
import warnings

import numpy as np

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise
from minigrad.autograd import Function, gradcheck


@exercise(
    "Evaluate f at two points, on both sides of x.",
    "The two points are 2 * eps apart.",
)
def difference_by_hand(answer):
    """With points on both sides, the error shrinks with the square of eps."""
    for f, x in ((lambda v: v**3, 2.0), (math.exp, 0.0), (abs, 0.25)):
        for eps in (0.5, 1e-4):
            given, wanted = answer(f, x, eps), (f(x + eps) - f(x - eps)) / (2 * eps)
            if given is None:
                raise Wrong("it returns None: is there a return?")
            one_sided = (f(x + eps) - f(x)) / eps
            mistakes = {
                (f(x) - f(x - eps)) / eps: "that is a one-sided difference; take x + eps and x - eps",
                2 * wanted: "it is twice the slope: the two points are 2 * eps apart",
                wanted * 2 * eps: "that is how far f moves; divide by how far the input moves",
                wanted * eps * eps: "divide by (2 * eps): without parentheses, the result is multiplied by eps",
                one_sided: "that is a one-sided difference; take x + eps and x - eps",
            }
            mistakes = {wrong: why for wrong, why in mistakes.items() if not math.isclose(wrong, wanted)}
            expect.number(given, wanted, mistakes)


class Leaky(Function):
    """Function of the lesson; `slope` is the slope that backward uses below -1."""

    slope = 0.01

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x > -1, x, 0.1 * x - 0.9)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x > -1, grad_output, ctx._fn.slope * grad_output)


class RightLeaky(Leaky):
    slope = 0.1


@exercise(
    "For which x do forward and backward have different slopes?",
    "Below -1 forward has the slope 0.1, and backward 0.01.",
    "torch.tensor([-2.0], dtype=..., requires_grad=...): gradcheck needs float64.",
)
def checked_input(answer):
    """Below -1 the slopes are 0.1 and 0.01; other inputs do not show the mistake."""
    if isinstance(answer, (tuple, list)) and len(answer) == 1 and isinstance(answer[0], torch.Tensor):
        answer = answer[0]
    if not isinstance(answer, torch.Tensor):
        raise Wrong(f"expected a tensor, got {answer!r}")
    if not answer.requires_grad:
        raise Wrong("gradcheck checks inputs that require grad: requires_grad=True")
    if answer.dtype != torch.float64:
        raise Wrong("with float32, gradcheck reports mistakes that do not exist: dtype=torch.float64")
    if ((answer + 1).abs() < 1e-5).any():
        raise Wrong("at the corner, x = -1, a right backward would fail as well")
    if gradcheck(Leaky.apply, answer, raise_exception=False):
        raise Wrong("gradcheck finds nothing wrong at this input")
    if not gradcheck(RightLeaky.apply, answer, raise_exception=False):
        raise Wrong("at this input a right backward would fail as well")


@exercise(
    "Which gradient does Forgetful return for output 1, and which one should it return?",
    "backward returns x.cos() for each output, so each column of the Jacobian is x.cos(). Which elements should be 0?",
)
def checked_elements(answer):
    """4 elements on the diagonal are right; the other 12 should be 0 and are not."""
    mistakes = {
        16: "on the diagonal backward is right: the incoming gradient is 1 there",
        4: "those are the elements of the diagonal, which are right",
        6: "that is the number for 3 points, in the message above",
        8: "with 3 points, 6 of 9 differ; with 4 points, the Jacobian is 4 by 4",
        3: "that is the number in one row",
        9: "the Jacobian has 4 rows, with one right element in each",
    }
    expect.number(answer, 12, mistakes)


class WrongInOne(Function):
    """Function whose gradient is wrong only for numbers above 2."""

    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.where(x > 2, 1.9 * x, 2 * x)


class Swapped(WrongInOne):
    """Function that swaps the gradients of the first and last element; all others are right."""

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return (grad_output * 2 * x).flip(0)


@exercise(
    "Take the gradient first: torch.autograd.grad(f(x).sum(), x), with a separate x that requires grad.",
    "Then, for each index, move this one element of a copy by eps = 1e-6, and compare (up - down) / (2 * eps).",
    "Sum over f(x), as all outputs may move. torch.isclose, or abs(a - b) < 1e-5, compares.",
)
def checked_gradient(answer):
    """Move one element at a time and compare all outputs: one deviation is enough to fail."""
    right = [torch.sin, lambda x: x * x.flip(0), lambda x: x.cumsum(0) ** 2, lambda x: (x**3).mean()]
    wrong = [
        (WrongInOne.apply, "whose gradient is wrong for one element"),
        (Swapped.apply, "whose gradients are swapped: move one element at a time"),
        (lambda x: x * x.detach(), "in which a detach() hides half of the gradient"),
        (lambda x: x * x.flip(0).detach(), "whose gradient misses the paths between elements"),
    ]
    inputs = torch.tensor([0.5, 3.0, -1.0], dtype=torch.float64)
    answer(lambda x: expect.refused("gradcheck") or x.sin(), inputs.clone())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for requires in (False, True):
            for f, what in [*((f, "") for f in right), *wrong]:
                x = inputs.clone().requires_grad_(requires)
                given = answer(f, x)
                if not np.allclose(x.detach().numpy(), inputs.numpy(), rtol=0, atol=1e-12):
                    raise Wrong("x has different values afterwards: work on a clone()")
                if x.grad is not None:
                    raise Wrong("x.grad has changed afterwards: torch.autograd.grad leaves it alone")
                if given is None:
                    raise Wrong("it returns None: is there a return?")
                if bool(given) and what:
                    raise Wrong(f"it accepts a function {what}")
                if not bool(given) and not what:
                    raise Wrong("it rejects a right gradient: are eps and the tolerance for float64?")
        grid = inputs.reshape(1, 3).clone()
        if not answer(lambda x: x**2, grid) or answer(WrongInOne.apply, grid):
            raise Wrong("for a tensor with two dimensions it gives the wrong answer")
