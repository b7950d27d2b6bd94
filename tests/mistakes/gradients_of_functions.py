"""Functions whose gradient is missing, or cannot be differentiated again."""

from dataclasses import replace

import numpy as np

import minigrad as torch

from . import mistake


@mistake("backward", "Cube saves square", remedy="compute square again in backward")
def intermediate_saved_for_the_second_derivative():
    """`forward` saves an intermediate result, and `backward` is differentiated.

    `forward` does not record. The second derivative would miss the part through the intermediate result.
    """

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            square = x * x  # -
            ctx.save_for_backward(square)  # - <-
            return square * x  # -
            # + ctx.save_for_backward(x)
            # + return x * x * x

        @staticmethod
        def backward(ctx, g):
            (square,) = ctx.saved_tensors  # -
            return g * 3 * square  # -
            # + (x,) = ctx.saved_tensors
            # + return g * 3 * x * x

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (gradient,) = torch.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)
    gradient.sum().backward()


@mistake("backward", "SquareOfTwice computes ctx.twice in forward", remedy="compute x * 2 again in backward")
def intermediate_on_the_ctx():
    """`forward` stores an intermediate result on the ctx, and `backward` is differentiated.

    It has no history, whether it is saved or stored.
    """

    class SquareOfTwice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.twice = x * 2  # - <-
            return ctx.twice**2  # -
            # + ctx.save_for_backward(x)
            # + return (x * 2) ** 2

        @staticmethod
        def backward(ctx, g):
            return 4 * ctx.twice * g  # -
            # + (x,) = ctx.saved_tensors
            # + return 8 * x * g

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (gradient,) = torch.autograd.grad(SquareOfTwice.apply(x).sum(), x, create_graph=True)
    gradient.sum().backward()


@mistake("backward", "Square computes its gradient with x.item()", remedy="compute with the tensor itself: x")
def number_in_a_differentiated_backward():
    """`backward` computes with the number of a saved tensor, and is differentiated.

    `item()` returns a number of Python, which has no history.
    """

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x.item() * g  # - <-
            # + return 2 * x * g

    x = torch.ones(1, requires_grad=True)
    (gradient,) = torch.autograd.grad(Square.apply(x).sum(), x, create_graph=True)
    gradient.sum().backward()


@mistake("backward", "Step returns minigrad.bool", "no derivative", remedy="(level > 0).float()")
def bool_output_differentiated():
    """A Function returns a comparison, for which its backward has a surrogate slope.

    Only floats have derivatives: a bool or integer output has no history, so no gradient reaches this backward.
    """

    class Step(torch.autograd.Function):
        @staticmethod
        def forward(ctx, level):
            ctx.save_for_backward(level)
            return level > 0  # - <-
            # + return (level > 0).float()

        @staticmethod
        def backward(ctx, g):
            (level,) = ctx.saved_tensors
            return g / (1 + level.abs())

    level = torch.tensor([0.5, -1.0], requires_grad=True)
    (Step.apply(level) * 2.0).sum().backward()


@mistake(
    "backward", "Normalize marks its output n as non-differentiable", remedy="remove ctx.mark_non_differentiable(n)"
)
def marked_output_differentiated():
    """An output that `forward` marks as non-differentiable is differentiated.

    The mark promises that no gradient is needed.
    """

    class Normalize(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            n = x.norm()
            y = x / n
            ctx.save_for_backward(y, n)
            ctx.mark_non_differentiable(n)  # <-
            return y, n

        @staticmethod
        def backward(ctx, g, _):
            y, n = ctx.saved_tensors
            return (g - y * (g * y).sum()) / n

    y, n = Normalize.apply(torch.ones(3, requires_grad=True))
    n.backward()  # -
    # + y[0].backward()


replace(
    marked_output_differentiated,
    under="debug",
    name="marked_output_differentiated_in_debug_mode",
    text="""In debug mode, the message about an output that is marked as non-differentiable names the mark, too.

Debug mode notes every end of a history.""",
)


@mistake("Exp.forward", "argument 0 (x)", "NumPy array of shape (3,)", remedy="torch.tensor(x)", says=AttributeError)
def array_into_a_function():
    """A Function is applied to a NumPy array.

    `apply` passes anything to forward, which calls a method that arrays do not have.
    """

    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()  # <-
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return g * y

    Exp.apply(np.ones(3))  # - <=
    # + Exp.apply(torch.tensor(np.ones(3)))


@mistake("Product.backward", "gx", "x does not require grad, w requires grad", remedy="gx = None", says=NameError)
def gradient_only_if_needed():
    """A gradient that is not needed has no value when `backward` returns it.

    Only the tests of `ctx.needs_input_grad` give the variables a value.
    """

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x * w

        @staticmethod
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            # + gx = gw = None
            if ctx.needs_input_grad[0]:
                gx = g * w
            if ctx.needs_input_grad[1]:
                gw = g * x
            return gx, gw  # <-

    Product.apply(torch.ones(3), torch.ones(3, requires_grad=True)).sum().backward()


@mistake(
    "Product.backward",
    "gradient 1",
    "argument w",
    "(3,)",
    remedy="ctx.needs_input_grad[1] for w",
    says="none-for-needed",
)
def same_test_for_both_gradients():
    """Both gradients are computed under the test for the first argument.

    The first argument does not require grad, so the second gets no gradient either, and is never trained.
    """

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x * w

        @staticmethod
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            gx = gw = None
            if ctx.needs_input_grad[0]:
                gx, gw = g * w, g * x
            return gx, gw  # <-

    Product.apply(torch.ones(3), torch.ones(3, requires_grad=True)).sum().backward()


def same_test_for_both_gradients_corrected():
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x * w

        @staticmethod
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            return g * w if ctx.needs_input_grad[0] else None, g * x if ctx.needs_input_grad[1] else None

    class Constant(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return None, None

    Product.apply(torch.ones(3), torch.ones(3, requires_grad=True)).sum().backward()
    Constant.apply(torch.ones(3), torch.ones(3, requires_grad=True)).sum().backward()


@mistake("grad", "a new result of index", remedy="differentiate with respect to that tensor")
def part_of_a_leaf_as_input():
    """The gradient by an element of a leaf is requested.

    `x[0]` makes a new result, and the loss was not computed from it.
    """
    x = torch.ones(3, requires_grad=True)
    y = (x**2).sum()
    torch.autograd.grad(y, x[0])  # - <-
    # + torch.autograd.grad(y, x)[0][0]
    # + first = x[0]
    # + torch.autograd.grad((first**2).sum(), first)
