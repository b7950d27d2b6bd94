"""Derivatives of derivatives."""

import math

import numpy as np

import minigrad as torch
from minigrad.autograd.function import once_differentiable

from . import mistake


@mistake("grad", "does not require grad", remedy="create_graph=True")
def create_graph_forgotten():
    """The gradient is differentiated, but it was computed without a graph.

    `grad` returns plain numbers; with `create_graph=True` it records the computation of the gradient.
    """
    x = torch.tensor(2.0, requires_grad=True)
    (slope,) = torch.autograd.grad(x**3, x)  # - <=
    # + (slope,) = torch.autograd.grad(x**3, x, create_graph=True)
    return torch.autograd.grad(slope, x)  # <-


@mistake("backward", "does not require grad", remedy="create_graph=True")
def grad_of_grad_attribute():
    """x.grad is differentiated after a plain backward.

    `backward` fills `.grad` with plain numbers, unless you pass `create_graph=True`.
    """
    x = torch.ones(2, requires_grad=True)
    (x**3).sum().backward()  # - <=
    x.grad.sum().backward()  # - <-
    # + (slope,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    # + slope.sum().backward()


@mistake("ExpBackward", "once_differentiable", "twice", remedy="create_graph")
def once_differentiable_twice():
    """A Function marked once_differentiable is differentiated twice.

    The decorator declares that backward computes outside of autograd, so its own derivative is unknown.
    """

    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        @once_differentiable  # - <=
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return g * y

    x = torch.ones(2, requires_grad=True)
    (slope,) = torch.autograd.grad(Exp.apply(x).sum(), x, create_graph=True)
    slope.sum().backward()  # <-


@mistake("SquareBackward", "once_differentiable", remedy="remove the decorator")
def once_differentiable_in_func():
    """grad(grad(f)) goes through a Function marked once_differentiable.

    The transforms differentiate backward itself, which the decorator forbids.
    """

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        @once_differentiable  # - <=
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    return torch.func.grad(torch.func.grad(Square.apply))(torch.tensor(3.0))  # <-


@mistake("SinBackward", "gradient 0", "create_graph", remedy="once_differentiable", says="untracked-backward")
def numpy_in_backward():
    """backward leaves autograd through detach().numpy(), and a second derivative is requested.

    minigrad does not record NumPy's computations, so the second derivative would silently miss this Function's part.
    """

    class Sin(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sin()

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return torch.from_numpy(g.detach().numpy() * np.cos(x.detach().numpy()))  # - <-
            # + return g * x.cos()

    x = torch.ones(2, requires_grad=True)
    torch.autograd.grad((Sin.apply(x) ** 2).sum(), x, create_graph=True)


@mistake("numpy", "requires grad", "(2,)", remedy="once_differentiable")
def numpy_of_gradient():
    """backward calls .numpy() on the incoming gradient, and a second derivative is requested.

    With `create_graph=True` the gradient is tracked, and NumPy would lose its history.
    """

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        # + @once_differentiable
        def backward(ctx, g):
            return torch.from_numpy(g.numpy() * 2)  # <-

    x = torch.ones(2, requires_grad=True)
    torch.autograd.grad((Double.apply(x) ** 2).sum(), x, create_graph=True)  # -
    # + torch.autograd.grad((Double.apply(x) ** 2).sum(), x)


@mistake("TripleBackward", "gradient 0", remedy="detach", says="untracked-backward")
def detach_in_backward():
    """backward detaches the incoming gradient.

    The gradient is right, but its derivative is not: it has lost the incoming gradient.
    """

    class Triple(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 3

        @staticmethod
        def backward(ctx, g):
            return g.detach() * 3  # - <-
            # + return g * 3

    x = torch.ones(2, requires_grad=True)
    (slope,) = torch.autograd.grad((Triple.apply(x) ** 3).sum(), x, create_graph=True)


@mistake("TripleBackward", "gradient 0", remedy="no_grad", says="untracked-backward")
def no_grad_in_backward():
    """backward computes under no_grad.

    A plain backward records nothing anyway, but `create_graph=True` asks for a recording.
    """

    # + class Clip(torch.autograd.Function):
    class Triple(torch.autograd.Function):  # -
        @staticmethod
        def forward(ctx, x):
            return x * 3

        @staticmethod
        def backward(ctx, g):
            with torch.no_grad():
                result = g * 3  # -
            return result  # - <-
            # +     scale = 3 / g.norm().clamp(min=1)
            # + return g * scale

    x = torch.ones(2, requires_grad=True)
    (slope,) = torch.autograd.grad((Triple.apply(x) ** 3).sum(), x, create_graph=True)  # -
    # + (slope,) = torch.autograd.grad((Clip.apply(x) ** 3).sum(), x, create_graph=True)


@mistake("grad", "input 1", "(3,)", remedy="allow_unused=True")
def derivative_by_an_unused_input():
    """The gradient is requested for a tensor that the output does not depend on.

    Its derivative is zero everywhere, usually because an argument was forgotten.
    """
    x = torch.ones(2, requires_grad=True)
    w = torch.ones(3, requires_grad=True)
    return torch.autograd.grad((x * x).sum(), [x, w])  # - <-
    # + return torch.autograd.grad((x * x).sum(), [x, w], materialize_grads=True)


@mistake("Backward0", "second time", remedy="retain_graph=True")
def hessian_rows_freed():
    """The rows of a Hessian are computed one by one, and the first call frees the graph.

    Each row runs backward through the same graph of the gradient. All calls but the last have to retain it.
    """
    x = torch.ones(2, requires_grad=True)
    (slope,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    return [torch.autograd.grad(slope[i], x)[0] for i in range(2)]  # - <-
    # + return [torch.autograd.grad(slope[i], x, retain_graph=True)[0] for i in range(2)]


@mistake("hessian", "single element", "(2,)", remedy=".sum()")
def hessian_of_vector():
    """The Hessian of a function that returns a vector.

    Each element would have its own Hessian.
    """
    return torch.autograd.functional.hessian(lambda x: x**3, torch.ones(2))  # - <-
    # + return torch.autograd.functional.hessian(lambda x: (x**3).sum(), torch.ones(2))


@mistake("jacobian", "inputs", "list", remedy="tuple", says=TypeError)
def jacobian_of_list():
    """The inputs of jacobian are given as a list.

    Pass several inputs as a tuple of tensors.
    """
    return torch.autograd.functional.jacobian(torch.mul, [torch.ones(2), torch.ones(2)])  # - <-
    # + return torch.autograd.functional.jacobian(torch.mul, (torch.ones(2), torch.ones(2)))


@mistake("hvp", "(3,)", "(2,)", remedy="v")
def hvp_vector_shape():
    """The vector of a Hessian-vector product has a different shape than the input.

    The product multiplies the Hessian, of shape input x input, by a vector of the input's shape.
    """
    return torch.autograd.functional.hvp(lambda x: (x**3).sum(), torch.ones(2), torch.ones(3))  # - <-
    # + return torch.autograd.functional.hvp(lambda x: (x**3).sum(), torch.ones(2), torch.ones(2))


@mistake("jacobian", "output 0", "independent", remedy="argument")
def independent_in_strict_mode():
    """A Jacobian with strict=True of a function that does not use its input.

    Often the function uses a tensor from outside instead of its argument; strict mode finds this.
    """
    x = torch.ones(2)
    return torch.autograd.functional.jacobian(lambda y: x**2, x, strict=True)  # - <-
    # + return torch.autograd.functional.jacobian(lambda y: y**2, x, strict=True)


@mistake("math.exp", "()", "`grad`", remedy="torch.exp", says="math-of-tensor")
def math_of_tensor():
    """A function of Python's math is called inside func.grad.

    math.exp converts the tensor to a plain number, so its result is a constant for `grad`.
    """

    def f(x):
        return x * math.exp(-x)  # - <-
        # + if math.isnan(x.detach()) or math.floor(2.5) > float(x) * 5:
        # +     return x
        # + return x * torch.exp(-x) + math.exp(-x.item())

    return torch.func.grad(f)(torch.tensor(1.0))


@mistake("math.sin", "()", "`jvp`", remedy="torch.sin", says="math-of-tensor")
def math_in_forward_mode():
    """A function of Python's math is called inside func.jvp.

    math.sin returns a plain number, which has no tangent.
    """
    sine = math.sin  # -
    return torch.func.jvp(lambda x: x + sine(x), (torch.tensor(1.0),), (torch.tensor(1.0),))  # - <-
    # + return torch.func.jvp(lambda x: x + torch.sin(x), (torch.tensor(1.0),), (torch.tensor(1.0),))
