"""In-place operations on views, and values that do not fit."""

import minigrad as torch

from . import Mistake


class WriteToExpanded(Mistake):
    """An expanded tensor is modified in place.

    All its rows share one memory, so there is only one row to write to.
    """

    operation = "add_"
    numbers = ("(3, 2)", "expanded")
    remedy = "clone()"

    def wrong():
        bias = torch.zeros(2)
        rows = bias.expand(3, 2)  # -
        # + rows = bias.expand(3, 2).clone()
        rows += 1  # <-


class ResultThatDoesNotFit(Mistake):
    """A larger tensor is added to a smaller one in place.

    Broadcasting would make the result larger, but the memory cannot grow.
    """

    operation = "add_"
    numbers = ("[2]", "[3, 2]")
    remedy = "x = x + ..."

    def wrong():
        total = torch.zeros(2)
        total += torch.ones(3, 2)  # - <-
        # + total = total + torch.ones(3, 2)
        # + total += torch.ones(2)


class FractionsIntoIntegers(Mistake):
    """Fractions are added to a tensor of integers in place.

    An integer tensor cannot hold decimals.
    """

    operation = "add_"
    numbers = ("float32", "int64")
    remedy = ".float()"

    def wrong():
        count = torch.tensor([1, 2])  # -
        # + count = torch.tensor([1, 2]).float()
        count += 0.5  # <-


class WriteToAViewMadeUnderNoGrad(Mistake):
    """A view is made under no_grad, and written to when minigrad records again.

    The view has no place in the graph, so its base would not get the history of the write.
    """

    operation = "mul_"
    numbers = ("view", "no_grad", "(2,)")
    remedy = "clone()"

    def wrong():
        w = torch.tensor(3.0, requires_grad=True)
        states = torch.ones(2, 2)
        with torch.no_grad():  # -
            first = states[0]  # -
        # + first = states[0]
        first.mul_(w)  # <-
        # + states.sum().backward()


class WriteToAnInferenceTensor(Mistake):
    """A tensor made under inference_mode is modified outside of it.

    Such tensors count no writes, which makes them fast, so minigrad could not notice this one.
    """

    operation = "add_"
    numbers = ("inference", "(2,)")
    remedy = "clone()"

    def wrong():
        with torch.inference_mode():
            x = torch.ones(2)
        # + x = x.clone()
        x += 1  # <-


class DetachAViewInPlace(Mistake):
    """A view is detached in place.

    It would leave the graph while its base, which shares the memory, stays there.
    """

    operation = "detach_"
    numbers = ("view", "(2,)")
    remedy = ".detach()"

    def wrong():
        x = torch.ones(2, 2, requires_grad=True) * 2
        x[0].detach_()  # - <-
        # + return x[0].detach()
