"""The exercises of lesson 29."""

import re

import numpy as np

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise


@exercise(
    "Which loop can compute the exponentials? Can it also divide them?",
    "A quotient needs the whole sum, and that is known only after the last term.",
)
def compile_loops(answer):
    """One loop for the exponentials and their sum; the division has to wait for the whole sum, so it is in a second one."""
    mistakes = {
        1: "the first quotient needs the sum, which is known only after the last term",
        3: "the loop that computes the terms can also add them up",
        4: "equal operations are computed once, and operations in one loop count once",
    }
    expect.number(answer, 2, mistakes)


@exercise(
    "The mean is known only after the last number. Which sums can one loop compute without it?",
    "Multiply out the square: the mean of x², minus the square of the mean.",
)
def compile_variance(answer):
    """One loop computes both sums. (Where the mean is large, this form loses digits, and two loops are worth their time.)"""
    fast = expect.compiles(answer)
    for x in (torch.tensor([1.0, 2.0, 4.0]), torch.linspace(-1.0, 2.0, 7)):
        expect.tensor(fast(x), ((x - x.mean()) ** 2).mean(), f"the result for {x.numel()} numbers")
        shown = torch.compile(getattr(answer, "function", answer))
        shown(x)
        loops = re.findall(r"^  (?!note|one loop over \(\)).+", shown.explain(), re.MULTILINE)
        if any("one loop over" not in line for line in loops):
            raise Wrong(
                "the result is right, but the program calls an operation instead of a loop:\n" + "\n".join(loops)
            )
        if len(loops) > 1:
            raise Wrong(f"the result is right, but the program has {len(loops)} loops over x:\n" + "\n".join(loops))


@exercise(
    "Write down the derivatives of x.exp() * w with respect to x and to w. Which numbers do they need?",
    "x and w exist already. Only a number that the forward pass computes needs a new array.",
)
def compile_saved(answer):
    """One: x.exp(), which both derivatives need. The product is added up at once, and w exists already."""
    mistakes = {
        0: "the derivative with respect to w is x.exp(): the loop saves it, so that backward need not compute it again",
        2: "the product is only added up, and w exists already",
        3: "x and w exist already, and the product is only added up",
        1000: "that is the number of elements of one array",
    }
    expect.number(answer, 1, mistakes)


@exercise(
    "Begin with the lesson's `train`, without its bias.",
    "Under no_grad: velocity.mul_(0.9).add_(dw), then w.sub_(rate * velocity).",
)
def compile_momentum(answer):
    """Loss, gradient and both updates are one program that writes to the memory of w and velocity."""
    data = np.random.default_rng(1)
    x, y = torch.tensor(data.standard_normal((6, 3))), torch.tensor(data.standard_normal(6))
    fast = expect.compiles(answer)
    own, right = [[torch.zeros(3, dtype=x.dtype, requires_grad=True), torch.ones(3, dtype=x.dtype)] for _ in range(2)]
    for i, rate in enumerate((0.1, 0.1, 0.05)):
        (w, velocity), before = own, [t.detach().clone() for t in own]
        given, wanted = fast(x, y, w, velocity, rate), momentum(x, y, *right, rate)
        if given is None:
            raise Wrong("the function returns None: return the loss")
        for name, now, was in (("w", w, before[0]), ("velocity", velocity, before[1])):
            if np.array_equal(now.detach().numpy(), was.numpy()):
                raise Wrong(f"{name} has not changed: write to it in place, as with {name}.sub_(...)")
        expect.tensor(given, wanted, f"the loss of step {i + 1}")
        expect.tensor(velocity, right[1], f"velocity after step {i + 1}")
        expect.tensor(w, right[0], f"w after step {i + 1}")


def momentum(x, y, w, velocity, rate):
    """Take one step with momentum."""
    loss = (x @ w - y).square().mean()
    (dw,) = torch.autograd.grad(loss, w)
    with torch.no_grad():
        velocity.mul_(0.9).add_(dw)
        w.sub_(rate * velocity)
    return loss
