"""Tangents inside a jvp method."""

import minigrad as torch
import minigrad.autograd.forward_ad as fwAD

from . import mistake


@mistake("Power.jvp", "tangent 1", "n_t", "None", remedy="if n_t is not None", says=TypeError)
def tangent_is_none():
    """jvp computes with a tangent that is None.

    Arguments of forward that are not tensors have a tangent of None. With `set_materialize_grads(False)`, so do tensors
    without a tangent.
    """

    class Power(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, n):
            ctx.save_for_forward(x)
            ctx.n = n
            return x**n

        @staticmethod
        def jvp(ctx, x_t, n_t):
            (x,) = ctx.saved_tensors
            return ctx.n * x ** (ctx.n - 1) * x_t + x**ctx.n * x.log() * n_t  # - <-
            # + return ctx.n * x ** (ctx.n - 1) * x_t

    with fwAD.dual_level():
        Power.apply(fwAD.make_dual(torch.ones(2), torch.ones(2)), 3.0)


@mistake(
    "Product.jvp", "tangent 1", "None", "set_materialize_grads(False)", remedy="if y_t is not None", says=TypeError
)
def tangent_not_materialized():
    """jvp computes with the tangent of a constant tensor, after set_materialize_grads(False).

    That call requests None instead of a tensor of zeros, so jvp and backward have to check for None.
    """

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.set_materialize_grads(False)
            ctx.save_for_forward(x, y)
            return x * y

        @staticmethod
        def jvp(ctx, x_t, y_t):
            x, y = ctx.saved_tensors
            return x_t * y + x * y_t  # - <-
            # + terms = [] if x_t is None else [x_t * y]
            # + return sum(terms if y_t is None else [*terms, x * y_t])

    with fwAD.dual_level():
        Product.apply(fwAD.make_dual(torch.ones(2), torch.ones(2)), torch.ones(2))


@mistake("Double.jvp", "tangent 0", "in place", remedy="clone()")
def jvp_writes_tangent():
    """jvp modifies its incoming tangent in place.

    That memory is still the tangent of the input: all other uses of the input would get the modified one.
    """

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def jvp(ctx, x_t):
            return x_t.mul_(2)  # - <-
            # + return x_t.clone().mul_(2)

    with fwAD.dual_level():
        Double.apply(fwAD.make_dual(torch.ones(2), torch.ones(2)))


@mistake("Square.jvp", "x_t", "tangent 0", remedy="multiply", says="tangent-unused")
def tangent_ignored():
    """jvp returns the slope without the incoming tangent.

    The tangent of the output is the slope of this step times the tangent of the input: the chain rule.
    """

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_forward(x)
            return x * x

        @staticmethod
        def jvp(ctx, x_t):
            (x,) = ctx.saved_tensors
            return 2 * x  # <-

    with fwAD.dual_level():
        Square.apply(fwAD.make_dual(torch.ones(2), 3 * torch.ones(2)))


def tangent_ignored_corrected():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, unused):
            ctx.save_for_forward(x)
            return x * x

        @staticmethod
        def jvp(ctx, x_t, unused):
            (x,) = ctx.saved_tensors
            return 2 * x * x_t

    class Step(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return (x > 0).float()

        @staticmethod
        def jvp(ctx, x_t):
            return torch.zeros(2)

    with fwAD.dual_level():
        x = fwAD.make_dual(torch.ones(2), 3 * torch.ones(2))
        Step.apply(Square.apply(x, torch.ones(2)))


@mistake("Square.backward", "0 tensors", "expected 1", remedy="ctx.save_for_backward", says=ValueError)
def saved_for_the_wrong_mode():
    """backward reads tensors that were saved for jvp.

    `save_for_forward` saves tensors for jvp only, `save_for_backward` for backward. Call both if you need both.
    """

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            # + ctx.save_for_backward(x)
            ctx.save_for_forward(x)  # <=
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors  # <-
            return 2 * x * g

    Square.apply(torch.tensor(3.0, requires_grad=True)).backward()
