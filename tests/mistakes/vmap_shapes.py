"""Shapes inside vmap."""

import minigrad as torch
from minigrad import vmap

from . import mistake


@mistake("add", "(3,) and (4,)", "batch of 5", remedy="the same size")
def shapes_of_one_example():
    """Shapes do not fit under vmap.

    The shapes are those of one example, without the batch dimension.
    """
    w = torch.ones(4)  # -
    # + w = torch.ones(3)
    return vmap(lambda x: x + w)(torch.ones(5, 3))  # <-


@mistake("matmul", "(2, 4)", "(3,)", "batch of 5", remedy="4")
def matmul_of_one_example():
    """The inner sizes of a matrix product differ under vmap.

    One example is a vector of 3 elements, but the matrix needs vectors of 4.
    """
    weight = torch.ones(2, 4)  # -
    # + weight = torch.ones(2, 3)
    return vmap(lambda x: weight @ x)(torch.ones(5, 3))  # <-


@mistake("sum", "got 1", "[-1, 0]", "batch of 5", remedy="dim=0", says=IndexError)
def dimension_of_the_batch():
    """A mapped function counts dimensions as if the batch were there.

    One example of a matrix is a vector, whose only dimension is 0.
    """
    return vmap(lambda x: x.sum(1))(torch.ones(5, 3))  # - <-
    # + return vmap(lambda x: x.sum(0))(torch.ones(5, 3))


@mistake("reshape", "(5, -1)", "(2, 3)", "size 6", "batch of 5", remedy="product is 6")
def reshape_with_the_batch():
    """A mapped function reshapes as if the batch were there.

    It can only reshape the elements of one example.
    """
    return vmap(lambda x: x.reshape(5, -1))(torch.ones(5, 2, 3))  # - <-
    # + return vmap(lambda x: x.reshape(-1))(torch.ones(5, 2, 3))


@mistake("stack", "(3,)", "(4,)", remedy="same shape")
def stack_of_one_example():
    """Tensors of different shapes are stacked under vmap.

    The shapes of one example have to match.
    """
    zeros = torch.zeros(4)  # -
    # + zeros = torch.zeros(3)
    return vmap(lambda x: torch.stack([x, zeros]))(torch.ones(5, 3))  # <-


@mistake("linear", "(3,)", "(2, 4)", "batch of 5", remedy="3")
def linear_layer_of_one_example():
    """A layer gets examples of the wrong size under vmap.

    One example has 3 features, but the layer expects 4.
    """
    layer = torch.nn.Linear(4, 2)  # -
    # + layer = torch.nn.Linear(3, 2)
    return vmap(layer)(torch.ones(5, 3))  # <-
