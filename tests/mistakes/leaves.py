"""Leaves and their .grad."""

import minigrad as torch

from . import Mistake


class GradOfResult(Mistake):
    """The `.grad` of a result is read.

    backward fills the `.grad` of leaves only: tensors that were made by you, with `requires_grad=True`. What an operation
    returns is no leaf.
    """

    says = "grad-of-non-leaf"
    operation = "MulBackward0"
    remedy = "retain_grad()"

    def wrong():
        x = torch.tensor(3.0, requires_grad=True)
        y = x * 2
        (y * y).backward()
        return y.grad  # <-

    def right():
        x = torch.tensor(3.0, requires_grad=True)
        y = x * 2
        y.retain_grad()
        (y * y).backward()
        return y.grad


class IntegerParameter(Mistake):
    """A tensor of integers is to require grad.

    Derivatives are about small changes, which integers do not have.
    """

    operation = "requires_grad"
    numbers = ("int64",)
    remedy = "float"

    def wrong():
        return torch.tensor([1, 2], requires_grad=True)  # <-

    def right():
        return torch.tensor([1.0, 2.0], requires_grad=True)
