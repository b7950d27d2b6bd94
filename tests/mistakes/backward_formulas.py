"""Formulas of backward with right shapes and wrong numbers, which finite differences reveal.

The viewer can put these mistakes into the backward of a recorded Function (viz/viewer/mistakes.js).
"""

import minigrad as torch
from minigrad.autograd import gradcheck

from . import mistake

float64 = torch.float64


@mistake("gradcheck", "input 0", "numerical 0.927671", "analytical 0.731059", remedy="formula of backward")
def term_forgotten():
    """backward forgets one of two uses of its input.

    The product rule has a term for each use, and the terms add up.
    """

    class Swish(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x.sigmoid()

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            s = x.sigmoid()
            return g * s  # - <-
            # + return g * s + g * x * s * (1 - s)

    gradcheck(Swish.apply, torch.tensor([1.0, 3.0], dtype=float64, requires_grad=True))


@mistake("AddColumn.backward", "gradient 1", "(3, 4)", "(3,)", "argument column", remedy="shape (3,)")
def gradient_not_summed():
    """backward forgets the sum over the dimension along which forward broadcasts an input.

    An element that is used four times gets the sum of four gradients. minigrad sums over the dimensions that broadcasting
    itself adds, as PyTorch does, but not over the one that `column[:, None]` adds.
    """

    class AddColumn(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, column):
            return x + column[:, None]

        @staticmethod
        def backward(ctx, g):
            return g, g  # - <-
            # + return g, g.sum(1)

    AddColumn.apply(torch.ones(3, 4, requires_grad=True), torch.ones(3, requires_grad=True)).sum().backward()


@mistake("gradcheck", "output 0", "input 0", "numerical 0.540302", "analytical -0.841471", remedy="formula of backward")
def gradients_exchanged():
    """backward takes the gradients of its outputs in the wrong order.

    It gets a gradient for each output, in the order in which forward returns them.
    """

    class SinCos(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sin(), x.cos()

        @staticmethod
        def backward(ctx, g_sin, g_cos):
            (x,) = ctx.saved_tensors
            return g_cos * x.cos() - g_sin * x.sin()  # - <-
            # + return g_sin * x.cos() - g_cos * x.sin()

    gradcheck(SinCos.apply, torch.tensor([1.0, 3.0], dtype=float64, requires_grad=True))


@mistake("gradcheck", "input 0", "numerical 6", "analytical 18", remedy="formula of backward")
def output_saved_for_input():
    """backward uses the output where its formula needs the input.

    The derivative of the square is twice the input. Formulas in the output, as the exponential has one, are the exception.
    """

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * x
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * 2 * y  # - <-
            # + return g * 2 * x

    gradcheck(Square.apply, torch.tensor([2.0, 3.0], dtype=float64, requires_grad=True))
