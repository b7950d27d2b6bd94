"""The exercises of lesson 10."""

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise


@exercise(
    "Which of the two operations saves a value?",
    "Both multiply by numbers, so the gradient does not depend on `leaf`.",
)
def inplace_dragged(answer):
    """Both operations multiply by fixed numbers: 5 · 3 = 15, wherever the leaf is."""
    mistakes = {
        0.0: "that is the value of the result, not the gradient",
        5.0: "the write multiplies by 3 as well",
        3.0: "that is the gradient of x after the first operation",
    }
    expect.number(answer, 15.0, mistakes)


def leaf(*numbers):
    return torch.tensor(numbers, requires_grad=True)


@exercise(
    "Write down the factors of each of the three numbers from leaf to the sum.",
    "All are multiplied by 2 and by 3, the first one by 5 as well.",
)
def inplace_gradient(answer):
    """2 * 5 * 3 for the first, 2 * 3 for the others: a write to a part belongs to the history of the whole."""
    for wrong, why in {
        (10.0, 2.0, 2.0): "the last write is missing",
        (6.0, 6.0, 6.0): "the write to x[0] changes x, too",
        (15.0, 3.0, 3.0): "the first step, leaf * 2, is missing",
        (30.0, 12.0, 18.0): "those are the values of x; the gradient is the product of the factors of each number",
    }.items():
        try:
            expect.tensor(answer, list(wrong))
        except Wrong:
            continue
        raise Wrong(f"not right: {why}")
    expect.tensor(answer, [30.0, 6.0, 6.0])


@exercise(
    "Write down the five derivatives. Two of them are simplest in terms of the result y = f(x).",
    "The derivative of exp is exp itself, so exp saves its result. Which other function has 1 / (2 * y) as its derivative?",
)
def inplace_refused(answer):
    """Both save the result y, which must not change: the derivatives are y and 1 / (2 * y)."""
    mistakes = {
        "neg": "its derivative is -1 everywhere, so it saves nothing",
        "cos": "its derivative is -sin(x), so it saves its input, which does not change",
        "square": "its derivative is 2 * x, so it saves its input, which does not change",
    }
    expect.choice(answer, {"exp", "sqrt"}, mistakes)


@exercise(
    "The message names the operation that saved the modified tensor: sigmoid saves its result.",
    "`s -= 0.5` writes to s. Create a new tensor.",
    "s = s - 0.5",
)
def inplace_repaired(answer):
    """Sigmoid's saved result stays unchanged; the difference is a new tensor."""
    inputs = [(leaf(0.0, 1.0, -2.0),), (leaf(3.0),)]
    expect.computes(answer, lambda x: ((x.sigmoid() - 0.5) ** 2).sum(), *inputs)


@exercise(
    "A leaf must not be written to. clone() makes a copy that is the result of an operation.",
    "y = x.clone(), and y[:, 0] is a view of the copy.",
    "y[:, 0] *= 2 writes to the first column. Return y.",
)
def inplace_column(answer):
    """Unlike the leaf, a copy may be written to; the write to its view becomes a part of its history."""
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0], [-0.5, 6.0]], requires_grad=True)
    for given, what in ((x.detach(), "a tensor"), (x * 1, "the result of an operation"), (x, "a leaf")):
        was, version = given.tolist(), given._version
        answer(given)
        if given.tolist() != was or given._version != version:
            raise Wrong(f"x, here {what}, has changed: write to a copy")
    expect.computes(answer, lambda x: x * torch.tensor([2.0, 1.0]), (x,))
    expect.computes(answer, lambda x: x * torch.tensor([2.0, 1.0, 1.0]), (leaf(1.0, -2.0, 3.0).reshape(1, 3),))
