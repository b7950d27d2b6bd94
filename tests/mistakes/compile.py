"""Compiled functions."""

import numpy as np

import minigrad as torch

from . import mistake


@mistake("compile(halved)", "item()", remedy="torch.where")
def compiled_item():
    """A function compiled with fullgraph=True reads a number out of a tensor.

    The compiled program is the same for all values, so it cannot take a branch that depends on one.
    """

    @torch.compile(fullgraph=True)
    def halved(x):
        if x.sum() > 0:  # - <-
            return x / 2  # -
        return x  # -
        # + return torch.where(x.sum() > 0, x / 2, x)

    return halved(torch.ones(3))


@mistake("compile(waves)", "numpy()", "(3,)", remedy="minigrad's operations")
def compiled_numpy():
    """A function compiled with fullgraph=True uses NumPy.

    minigrad does not record NumPy's computations; their result would be a constant of the compiled program.
    """

    @torch.compile(fullgraph=True)
    def waves(x):
        return x + torch.from_numpy(np.sin(x.numpy()))  # - <-
        # + return x + x.sin()

    return waves(torch.ones(3))


@mistake("compile", "a tensor of shape (3,)", remedy="compile(f)(x)", says=TypeError)
def compiled_nothing():
    """compile gets the value of a function instead of the function.

    It needs the function, so that it can run it on other tensors.
    """
    f = lambda x: x * x
    return torch.compile(f(torch.ones(3)))  # - <-
    # + return torch.compile(f)(torch.ones(3))


@mistake("compile(positive)", "size", "depends on values", remedy="torch.where")
def compiled_mask():
    """A function compiled with fullgraph=True returns the elements that a condition selects.

    Their number depends on the values, but the compiled program is made for one size.
    """

    @torch.compile(fullgraph=True)
    def positive(x):
        return x[x > 0]  # - <-
        # + return torch.where(x > 0, x, 0.0)

    return positive(torch.ones(3))


@mistake("compile(doubled)", "append()", "outlives the call", remedy="return the new value")
def compiled_append():
    """A function compiled with fullgraph=True appends to a list from outside.

    Calls run the compiled program, which only computes tensors: the list would not grow.
    """
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


@mistake(
    "compile(doubled)",
    "Double",
    "is_traceable",
    remedy="remove that from Double",
    unlocated="the class is found, but not the line of its attribute",
)
def compiled_function():
    """A function compiled with fullgraph=True calls a custom Function that is not traceable.

    The compiler runs forward and backward once, and records their operations. If the methods do more than that, set
    `is_traceable = False`; otherwise omit it.
    """

    class Double(torch.autograd.Function):
        is_traceable = False  # - <=

        @staticmethod
        def forward(ctx, x):
            return x * 2

    @torch.compile(fullgraph=True)
    def doubled(x):
        return Double.apply(x)  # <-

    return doubled(torch.ones(3))


@mistake(
    "compile(split)",
    "set",
    remedy="return tensors",
    unlocated="the capture has the value, but not the line of the return",
)
def compiled_result():
    """A function compiled with fullgraph=True returns an object of your own class.

    The compiled program returns tensors, numbers and strings, in tuples, lists and dicts.
    """

    @torch.compile(fullgraph=True)
    def split(x):
        return {x.sum(), x.prod()}  # - <=
        # + return x.sum(), x.prod()

    return split(torch.ones(3))  # <-


@mistake("compile(f)", "print()", remedy="runs eagerly", says="compile-eager")
def compiled_with_a_print():
    """A compiled function prints.

    A recorded and replayed function would print only once. minigrad runs the original function instead, as slowly as
    without compile; the warning gives the reason.
    """

    @torch.compile
    def f(x):
        print(end="")  # -
        return x * 2

    return f(torch.ones(3))  # - <-
    # + y = f(torch.ones(3))
    # + print(end="")
    # + return y


@mistake(
    "compile(step)",
    "9 times",
    "9 values",
    remedy="rounds decides what is computed",
    says="compile-often",
    unlocated="any line may have changed the variable",
)
def compiled_for_each_number():
    """A compiled step repeats an operation n times, where n is an outside variable that changes at each call.

    A number that takes part in the computation may change from call to call. If a number decides which operations run, each
    value needs its own program, which has to be compiled.
    """
    rounds = 0

    @torch.compile
    def step(x):
        for _ in range(rounds):  # - <=
            x = 2 * x  # -
        return x  # -
        # + return 2.0**rounds * x

    # + for k in range(10):
    for k in range(9):  # -
        rounds = k
        x = step(torch.ones(3))  # <-
    return x
