"""The exercises of lesson 30."""

import numpy as np

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise


@exercise(
    "Which calls are of the same kind as an earlier one? A float is an argument of the module.",
    "The second and the fifth call are like the first. Another size is another kind, and an int is not a float.",
)
def compile_count(answer):
    """One for four floats, one for six, and one for six floats times an int. The value of a float makes no difference here."""
    mistakes = {
        5: "floats that are only used in arithmetic are arguments of the module",
        4: "floats that are only used in arithmetic are arguments of the module",
        2: "the 2 is an int, which is a different kind of argument from a float",
        1: "another size is captured anew, even if the text is the same",
    }
    expect.number(answer, 3, mistakes)


@exercise(
    "The `if` and the `item()` need the value of a tensor. Keep both as tensors.",
    "torch.where(length > 1, x / length, x) chooses without an `if`.",
    "Or divide by something that is never below 1: x / length.clamp(min=1).",
)
def compile_limited(answer):
    """Every vector now takes the same operations: a number replaces the decision."""

    def expected(x):
        length = (x * x).sum().sqrt()
        return torch.where(length > 1, x / length, x)

    vectors = [torch.tensor(v, requires_grad=True) for v in ([3.0, 4.0], [0.3, 0.4], [-0.6, 0.0], [0.0, -2.0])]
    expect.computes(answer, expected, *[(x,) for x in vectors], gradients=False)
    expect.computes(expect.compiles(answer), expected, *[(x,) for x in vectors])


@exercise(
    "The list outlives the call. Let the caller append to it.",
    "The loss may be returned as a tensor, or as a number, with item().",
    "return loss, dw",
)
def compile_noted(answer):
    """Instead of having side effects, the function returns its results, and the caller keeps them."""

    def expected(x, w):
        return ((x * w).sum() - 1) ** 2, 2 * ((x * w).sum() - 1) * x

    calls = [
        (torch.tensor([1.0, 2.0]), torch.tensor([0.5, 1.0], requires_grad=True)),
        (torch.tensor([3.0, 0.0, -1.0]), torch.tensor([0.0, 1.0, 2.0], requires_grad=True)),
    ]
    fast = expect.compiles(answer)
    for args in calls:
        given = fast(*args)
        if isinstance(given, torch.Tensor) or not isinstance(given, (tuple, list)) or len(given) != 2:
            raise Wrong("it compiles; now return two things, the loss and the gradient")
        wanted = [value.detach() for value in expected(*args)]
        loss, gradient = given
        if np.shape(gradient) == () and np.shape(loss) != ():
            raise Wrong("the loss comes first, then the gradient")
        expect.tensor(loss, wanted[0], "the loss")
        expect.tensor(gradient, wanted[1], "the gradient")
