"""NaN and infinity."""

import minigrad as torch

from . import Mistake


class RootOfZero(Mistake):
    """A square root is differentiated at 0, where its slope is infinite.

    The infinity meets a 0 on its way back, and `0 * inf` is NaN, which then spreads to all parameters.
    """

    says = "nan-gradient"
    operation = "SqrtBackward0"
    numbers = ("1 of 2 elements", "(2,)")
    remedy = "1e-12"

    def wrong():
        x = torch.tensor([0.0, 1.0], requires_grad=True)
        distance = (x * x).sqrt()
        distance.sum().backward()  # <-

    def right():
        x = torch.tensor([0.0, 1.0], requires_grad=True)
        distance = (x * x + 1e-12).sqrt()
        distance.sum().backward()
