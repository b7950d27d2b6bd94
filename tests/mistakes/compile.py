"""Compiled functions."""

import numpy as np

import minigrad as torch

from . import Mistake


class CompiledItem(Mistake):
    """A function compiled with fullgraph=True reads a number out of a tensor.

    The compiled program is the same for all values, so it cannot take a branch that depends on one.
    """

    operation = "compile(halved)"
    numbers = ("item()",)
    remedy = "torch.where"

    def wrong():
        @torch.compile(fullgraph=True)
        def halved(x):
            if x.sum() > 0:  # - <-
                return x / 2  # -
            return x  # -
            # + return torch.where(x.sum() > 0, x / 2, x)

        return halved(torch.ones(3))


class CompiledNumpy(Mistake):
    """A function compiled with fullgraph=True uses NumPy.

    minigrad does not record NumPy's computations; their result would be a constant of the compiled program.
    """

    operation = "compile(waves)"
    numbers = ("numpy()", "(3,)")
    remedy = "minigrad's operations"

    def wrong():
        @torch.compile(fullgraph=True)
        def waves(x):
            return x + torch.from_numpy(np.sin(x.numpy()))  # - <-
            # + return x + x.sin()

        return waves(torch.ones(3))


class CompiledNothing(Mistake):
    """compile gets the value of a function instead of the function.

    It needs the function, so that it can run it on other tensors.
    """

    says = TypeError
    operation = "compile"
    numbers = ("a tensor of shape (3,)",)
    remedy = "compile(f)(x)"

    def wrong():
        f = lambda x: x * x
        return torch.compile(f(torch.ones(3)))  # - <-
        # + return torch.compile(f)(torch.ones(3))


class CompiledMask(Mistake):
    """A function compiled with fullgraph=True returns the elements that a condition selects.

    Their number depends on the values, but the compiled program is made for one size.
    """

    operation = "compile(positive)"
    numbers = ("size", "depends on values")
    remedy = "torch.where"

    def wrong():
        @torch.compile(fullgraph=True)
        def positive(x):
            return x[x > 0]  # - <-
            # + return torch.where(x > 0, x, 0.0)

        return positive(torch.ones(3))


class CompiledAppend(Mistake):
    """A function compiled with fullgraph=True appends to a list from outside.

    Calls run the compiled program, which only computes tensors: the list would not grow.
    """

    operation = "compile(doubled)"
    numbers = ("append()", "outlives the call")
    remedy = "return the new value"

    def wrong():
        history = []

        @torch.compile(fullgraph=True)
        def doubled(x):
            history.append(x.sum())  # - <-
            return x * 2  # -
            # + return x * 2, x.sum()

        return doubled(torch.ones(3))  # -
        # + y, total = doubled(torch.ones(3))
        # + history.append(total)
        # + return y


class CompiledFunction(Mistake):
    """A function compiled with fullgraph=True calls a custom Function that is not traceable.

    The compiler runs forward and backward once, and records their operations. If the methods do more than that, set
    `is_traceable = False`; otherwise omit it.
    """

    operation = "compile(doubled)"
    numbers = ("Double", "is_traceable")
    remedy = "remove that from Double"

    def wrong():
        class Double(torch.autograd.Function):
            is_traceable = False  # -

            @staticmethod
            def forward(ctx, x):
                return x * 2

        @torch.compile(fullgraph=True)
        def doubled(x):
            return Double.apply(x)  # <-

        return doubled(torch.ones(3))


class CompiledResult(Mistake):
    """A function compiled with fullgraph=True returns an object of your own class.

    The compiled program returns tensors, numbers and strings, in tuples, lists and dicts.
    """

    operation = "compile(split)"
    numbers = ("set",)
    remedy = "return tensors"

    def wrong():
        @torch.compile(fullgraph=True)
        def split(x):
            return {x.sum(), x.prod()}  # -
            # + return x.sum(), x.prod()

        return split(torch.ones(3))  # <-


class CompiledWithAPrint(Mistake):
    """A compiled function prints.

    A recorded and replayed function would print only once. minigrad runs the original function instead, as slowly as
    without compile; the warning gives the reason.
    """

    says = "compile-eager"
    operation, numbers, remedy = "compile(f)", ("print()",), "runs eagerly"

    def wrong():
        @torch.compile
        def f(x):
            print(end="")  # -
            return x * 2

        return f(torch.ones(3))  # - <-
        # + y = f(torch.ones(3))
        # + print(end="")
        # + return y


class CompiledForEachNumber(Mistake):
    """A compiled step repeats an operation n times, where n is an outside variable that changes at each call.

    A number that takes part in the computation may change from call to call. If a number decides which operations run, each
    value needs its own program, which has to be compiled.
    """

    says = "compile-often"
    operation, numbers, remedy = "compile(step)", ("9 times", "9 values"), "rounds decides what is computed"

    def wrong():
        rounds = 0

        @torch.compile
        def step(x):
            for _ in range(rounds):  # -
                x = 2 * x  # -
            return x  # -
            # + return 2.0**rounds * x

        # + for k in range(10):
        for k in range(9):  # -
            rounds = k
            x = step(torch.ones(3))  # <-
        return x
