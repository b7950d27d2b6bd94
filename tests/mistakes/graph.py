"""How long a graph lives."""

import minigrad as torch

from . import Mistake


class BackwardTwice(Mistake):
    """The same graph is differentiated twice.

    The first backward frees what the operations have saved, so that memory is given back as early as possible.
    """

    operation = "MulBackward0"
    numbers = ("second time",)
    remedy = "retain_graph=True"

    def wrong():
        x = torch.tensor(2.0, requires_grad=True)
        y = x * x
        y.backward()
        y.backward()  # <-

    def right():
        x = torch.tensor(2.0, requires_grad=True)
        y = x * x
        y.backward(retain_graph=True)
        y.backward()
