"""The exercises of lesson 7."""

import minigrad as torch
from lessons import expect
from lessons.exercise import exercise


@exercise(
    "The gradient is twice the sum of two slopes: that of exp, its result, and that of sin.",
    "x is about -1.75 there. `exp` saves its result.",
)
def saved_at_zero(answer):
    """Both slopes cancel: that of exp, 0.17, which is the result that it saves, and that of sin, cos(-1.75) = -0.17."""
    mistakes = {
        -1.746: "that is x; `exp` saves its result",
        -0.9847: "that is the result of sin",
        0.0: "that is the gradient",
    }
    expect.number(answer, 0.1745, mistakes, rtol=0.03)


@exercise(
    "Which of the four operations save a tensor? Write down what each derivative needs.",
    "sin needs x, cos needs x, and the product needs both of its factors. A tensor saved twice is in memory once.",
    "Those are x and the two factors: three tensors of 1000 numbers with 4 bytes each.",
)
def saved_bytes_of_product(answer):
    """x, sin(x) and cos(x), each once: 3 * 1000 * 4 bytes. The sum saves no numbers."""
    mistakes = {
        16000.0: "x is saved by two operations, but it is in memory once",
        8000.0: "that is two tensors; sin and cos save x, and the product saves both of its factors",
        4000.0: "that is one tensor; the product saves its factors, too",
        3000.0: "that is the number of elements; each has 4 bytes",
        20000.0: "each tensor counts once, and the sum saves none",
    }
    expect.number(answer, 12000.0, mistakes)


@exercise(
    "In forward: ctx.save_for_backward(...), with the tensor that backward should use.",
    "In backward: (result,) = ctx.saved_tensors; the gradient is grad_output times the derivative.",
)
def SavedTanh(answer):
    """Only the result is saved: backward needs neither the input nor e."""

    class Expected(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x.tanh())
            return x.tanh()

        @staticmethod
        def backward(ctx, grad_output):
            (result,) = ctx.saved_tensors
            return grad_output * (1 - result**2)

    x = torch.tensor([0.5, -1.0, 0.0], requires_grad=True)
    expect.function(answer, Expected, (x,), (torch.tensor([[0.25], [2.0]], requires_grad=True),))
    expect.keeps(answer.apply(x), x.tanh(), what="the result")


@exercise(
    "mul_ writes to the memory of e. Which other operations need the old values?",
    "exp has saved e for its backward, and the last line adds e. Leave e alone: create a new tensor.",
    "Without the underscore, mul returns one.",
)
def saved_then_changed(answer):
    """2 * e is a new tensor, so e, which exp saves and the sum uses, stays intact."""
    inputs = [(torch.tensor(v, requires_grad=True),) for v in ([0.0, 1.0], -2.0)]
    expect.computes(answer, lambda x: 2 * x.exp() + x.exp(), *inputs)


@exercise(
    "Every exp saves its result, and every product of two tensors saves both factors.",
    "A product of powers is one power: which single exponent gives the same values?",
    "6 * x saves nothing, since the 6 is a number.",
)
def saved_less(answer):
    """One tensor instead of four: the result of a single exp."""

    def four(x):
        return x.exp() * (2 * x).exp() * (3 * x).exp()

    x = torch.tensor([0.5, -1.0, 0.0], requires_grad=True)
    expect.computes(answer, four, (x,), (torch.tensor([[0.25], [-2.0]], requires_grad=True),))
    expect.saves(answer, (x,), most=x.nbytes)
