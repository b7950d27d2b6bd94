"""compile."""

import numpy as np

import minigrad as torch

from . import Mistake


class CompiledItem(Mistake):
    """A function compiled with fullgraph=True reads a number out of a tensor.

    The compiled program is made once for all values, so that it cannot take a branch that depends on one.
    """

    operation = "compile(halved)"
    numbers = ("item()",)
    remedy = "minigrad.where"

    def wrong():
        @torch.compile(fullgraph=True)
        def halved(x):
            if x.sum() > 0:  # <-
                return x / 2
            return x

        return halved(torch.ones(3))

    def right():
        @torch.compile(fullgraph=True)
        def halved(x):
            return torch.where(x.sum() > 0, x / 2, x)

        return halved(torch.ones(3))


class CompiledNumpy(Mistake):
    """A function compiled with fullgraph=True uses NumPy.

    What NumPy computes is not recorded and would be a constant of the compiled program.
    """

    operation = "compile(waves)"
    numbers = ("numpy()", "(3,)")
    remedy = "minigrad's operations"

    def wrong():
        @torch.compile(fullgraph=True)
        def waves(x):
            return x + torch.from_numpy(np.sin(x.numpy()))  # <-

        return waves(torch.ones(3))

    def right():
        @torch.compile(fullgraph=True)
        def waves(x):
            return x + x.sin()

        return waves(torch.ones(3))


class CompiledNothing(Mistake):
    """compile gets the value of a function in place of the function.

    It needs the function, to run it on other tensors.
    """

    says = TypeError
    operation = "compile"
    numbers = ("a tensor of shape (3,)",)
    remedy = "compile(f)(x)"

    def wrong():
        f = lambda x: x * x
        return torch.compile(f(torch.ones(3)))  # <-

    def right():
        f = lambda x: x * x
        return torch.compile(f)(torch.ones(3))
