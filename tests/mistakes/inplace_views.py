"""In-place operations on views, and values that do not fit."""

import minigrad as torch

from . import mistake


@mistake("add_", "(3, 2)", "expanded", remedy="clone()")
def write_to_expanded():
    """An expanded tensor is modified in place.

    All its rows share one memory, so there is only one row to write to.
    """
    bias = torch.zeros(2)
    rows = bias.expand(3, 2)  # - <=
    # + rows = bias.expand(3, 2).clone()
    rows += 1  # <-


@mistake("add_", "[2]", "[3, 2]", remedy="x = x + ...")
def result_that_does_not_fit():
    """A larger tensor is added to a smaller one in place.

    Broadcasting would make the result larger, but the memory cannot grow.
    """
    total = torch.zeros(2)
    total += torch.ones(3, 2)  # - <-
    # + total = total + torch.ones(3, 2)
    # + total += torch.ones(2)


@mistake("add_", "float32", "int64", remedy=".float()")
def fractions_into_integers():
    """Fractions are added to a tensor of integers in place.

    An integer tensor cannot hold decimals.
    """
    count = torch.tensor([1, 2])  # - <=
    # + count = torch.tensor([1, 2]).float()
    count += 0.5  # <-


@mistake("mul_", "view", "no_grad", "(2,)", remedy="clone()")
def write_to_a_view_made_under_no_grad():
    """A view is made under no_grad, and written to when minigrad records again.

    The view has no place in the graph, so its base would not get the history of the write.
    """
    w = torch.tensor(3.0, requires_grad=True)
    states = torch.ones(2, 2)
    with torch.no_grad():  # -
        first = states[0]  # - <=
    # + first = states[0]
    first.mul_(w)  # <-
    # + states.sum().backward()


@mistake("add_", "inference", "(2,)", remedy="clone()")
def write_to_an_inference_tensor():
    """A tensor made under inference_mode is modified outside of it.

    Such tensors count no writes, which makes them fast, so minigrad could not notice this one.
    """
    with torch.inference_mode():
        x = torch.ones(2)
    # + x = x.clone()
    x += 1  # <-


@mistake("detach_", "view", "(2,)", remedy=".detach()")
def detach_a_view_in_place():
    """A view is detached in place.

    It would leave the graph while its base, which shares the memory, stays there.
    """
    x = torch.ones(2, 2, requires_grad=True) * 2
    x[0].detach_()  # - <-
    # + return x[0].detach()
