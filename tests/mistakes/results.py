"""Arguments and results of backward: their number and order."""

import minigrad as torch

from . import mistake


@mistake("Scale.backward", "1 gradient", "2 arguments", "(x, factor)", remedy="return grad_x, None")
def too_few_gradients():
    """backward returns fewer gradients than forward has arguments.

    backward returns one entry for each argument of forward; the entry of an argument that is not a tensor is None.
    """

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.factor = factor
            return x * factor

        @staticmethod
        def backward(ctx, g):
            return g * ctx.factor  # - <-
            # + return g * ctx.factor, None

    Scale.apply(torch.ones(2, requires_grad=True), 3.0).sum().backward()


@mistake("Product.backward", "3 gradients", "2 arguments", "(x, y)", remedy="return grad_x, grad_y")
def too_many_gradients():
    """backward returns more gradients than forward has arguments.

    It returns one for each argument of forward, not one for each tensor that forward uses.
    """

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * y, g * x, g  # - <-
            # + return g * y, g * x, None  # an extra None is harmless

    Product.apply(torch.ones(2, requires_grad=True), torch.ones(2)).sum().backward()


@mistake("Double.backward", "2 gradients", "1 argument", "ctx", remedy="return grad_x")
def gradient_for_ctx():
    """backward returns a None for the ctx.

    The ctx is not an argument of apply, and gets no gradient.
    """

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return None, g * 2  # - <-
            # + return g * 2

    Double.apply(torch.ones(2, requires_grad=True)).sum().backward()


@mistake("Double.backward", "None", "x", "(2,)", remedy="return", says="backward-returns-nothing")
def missing_return():
    """backward computes the gradient but does not return it.

    A Python function without `return` returns None, and None means that the gradient is zero.
    """

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):  # <-
            g * 2

    Double.apply(torch.ones(2, requires_grad=True)).sum().backward()


def missing_return_corrected():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    class Stop(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return None  # explicit, so on purpose

    x = torch.ones(2, requires_grad=True)
    (Double.apply(x) + Stop.apply(x)).sum().backward()


@mistake("Product.backward", "None", "2 arguments", remedy="return grad_x, grad_y")
def missing_return_of_two():
    """backward of a Function with two arguments does not return its gradients.

    A Python function without `return` returns None, which is one value instead of two.
    """

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, g):  # <-
            x, y = ctx.saved_tensors
            g * y, g * x  # -
            # + grad_x, grad_y = g * y, g * x
            # + return grad_x, grad_y

    Product.apply(torch.ones(2, requires_grad=True), torch.ones(2)).sum().backward()


@mistake("Scale.backward", "gradient 1", "argument factor", remedy="None")
def gradient_for_number():
    """backward returns a gradient for an argument that is not a tensor.

    A number cannot have a gradient: return None for it.
    """

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.save_for_backward(x)  # -
            ctx.factor = factor  # -
            # + ctx.save_for_backward(x, factor)
            return x * factor

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors  # -
            return g * ctx.factor, (g * x).sum()  # - <-
            # + x, factor = ctx.saved_tensors
            # + return g * factor, (g * x).sum()

    Scale.apply(torch.ones(2, requires_grad=True), 3.0).sum().backward()  # -
    # + Scale.apply(torch.ones(2, requires_grad=True), torch.tensor(3.0)).sum().backward()


@mistake(
    "SinCos.backward",
    "3 arguments",
    "backward(ctx, g)",
    "2 outputs",
    remedy="def backward(ctx, grad_0, grad_1)",
    says=TypeError,
)
def one_gradient_for_two_outputs():
    """backward takes one gradient, but forward returns two outputs.

    backward receives a gradient for each output; for an unused output it is zeros.
    """

    class SinCos(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sin(), x.cos()

        @staticmethod
        # + def backward(ctx, grad_sin, grad_cos):
        def backward(ctx, g):  # - <-
            (x,) = ctx.saved_tensors
            return g * x.cos()  # -
            # + return grad_sin * x.cos() - grad_cos * x.sin()

    s, c = SinCos.apply(torch.ones(2, requires_grad=True))  # -
    (s + c).sum().backward()  # -
    # + s, _ = SinCos.apply(torch.ones(2, requires_grad=True))
    # + s.sum().backward()


@mistake("Double.backward", "2 arguments", "backward(g)", remedy="def backward(ctx, grad_output)", says=TypeError)
def backward_without_ctx():
    """backward does not take the ctx.

    Its first argument is the ctx, followed by one gradient for each output of forward.
    """

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        # + def backward(ctx, g):
        def backward(g):  # - <-
            return g * 2

    Double.apply(torch.ones(2, requires_grad=True)).sum().backward()


@mistake(
    "SinCos.backward",
    "grad_cos",
    "gradient 1",
    "None",
    "set_materialize_grads(False)",
    remedy="if grad_cos is not None",
    says=TypeError,
)
def none_not_materialized():
    """backward computes with a gradient that is None.

    After `set_materialize_grads(False)` the gradient of an unused output is None instead of zeros.
    """

    class SinCos(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(x)
            return x.sin(), x.cos()

        @staticmethod
        def backward(ctx, grad_sin, grad_cos):
            (x,) = ctx.saved_tensors
            return grad_sin * x.cos() - grad_cos * x.sin()  # - <-
            # + parts = []
            # + if grad_sin is not None:
            # +     parts.append(grad_sin * x.cos())
            # + if grad_cos is not None:
            # +     parts.append(-grad_cos * x.sin())
            # + return sum(parts)

    s, _ = SinCos.apply(torch.ones(2, requires_grad=True))
    s.sum().backward()


@mistake(
    "Product.backward",
    "gradient 0",
    "argument x",
    "(2,)",
    remedy="ctx.needs_input_grad[0]",
    says="none-for-needed",
    under="debug",
    unlocated="two lines have the two exchanged tests",
)
def none_for_needed():
    """backward returns None for an argument whose gradient is needed.

    None means that the gradient is zero. Here the two conditions are swapped.
    """

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            gx = g * y if ctx.needs_input_grad[1] else None  # - <=
            gy = g * x if ctx.needs_input_grad[0] else None  # -
            # + gx = g * y if ctx.needs_input_grad[0] else None
            # + gy = g * x if ctx.needs_input_grad[1] else None
            return gx, gy  # <-

    Product.apply(torch.ones(2, requires_grad=True), torch.ones(2)).sum().backward()
