"""Functions: their definition, and the results of forward."""

import minigrad as torch

from . import mistake


@mistake("Square.forward", "2 arguments", "forward(x)", remedy="def forward(ctx, x)", says=TypeError)
def forward_without_ctx():
    """forward does not take the ctx.

    The first argument of forward is the ctx, unless the class has a setup_context, which then receives it.
    """

    class Square(torch.autograd.Function):
        @staticmethod
        # + def forward(ctx, x):
        def forward(x):  # - <-
            return x * x

    return Square.apply(torch.tensor([1.0, 2.0]))


@mistake("Square.forward", "2 arguments", "(self, ctx, x)", remedy="@staticmethod", says=TypeError)
def self_beside_ctx():
    """The methods take a `self` before the ctx, and are not static.

    A Function has no instances, so there is no `self`.
    """

    class Square(torch.autograd.Function):
        # + @staticmethod
        # + def forward(ctx, x):
        def forward(self, ctx, x):  # - <-
            return x * x

    return Square.apply(torch.tensor([1.0, 2.0]))


@mistake("Square.forward", "2 arguments", remedy="@staticmethod", says=TypeError)
def class_method():
    """forward is a class method instead of a static method.

    A class method gets the class as its first argument, instead of the ctx.
    """

    class Square(torch.autograd.Function):
        @classmethod  # -
        # + @staticmethod
        def forward(ctx, x):  # <-
            return x * x

    return Square.apply(torch.tensor([1.0, 2.0]))


@mistake("Square", "forward", "`foward`", remedy="rename", says=NotImplementedError)
def forward_missing():
    """A Function has no forward, because its name is misspelt.

    `apply` looks for a method with the name forward.
    """

    class Square(torch.autograd.Function):
        @staticmethod
        def foward(ctx, x):  # <-
            return x * x

    return Square.apply(torch.tensor([1.0, 2.0]))


def forward_missing_corrected():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return forwards(x)

        @staticmethod
        def backward(ctx, g):
            return g

        backwards = backward

    forwards = lambda x: x * x
    return Square.apply(torch.tensor([1.0, 2.0]))


@mistake("Square", "backward", "`backwards`", remedy="rename", says=NotImplementedError)
def backward_missing():
    """backward is misspelt.

    minigrad does not look for a method with the name backwards, so this Function has no backward at all.
    """

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * x

        @staticmethod
        # + def backward(ctx, g):
        def backwards(ctx, g):  # - <-
            return g

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    Square.apply(x).sum().backward()


@mistake("Square", "backward", remedy="def backward(ctx, grad_output)", says=NotImplementedError)
def no_backward():
    """A Function without backward is differentiated.

    minigrad records nothing inside forward, so backward has to compute the gradients.
    """

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            # + ctx.save_for_backward(x)
            return x * x

        # + @staticmethod
        # + def backward(ctx, grad_output):
        # +     (x,) = ctx.saved_tensors
        # +     return 2 * x * grad_output

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    Square.apply(x).sum().backward()  # <-


@mistake("Double", "backward", "vjp", remedy="keep one")
def backward_and_vjp():
    """A Function defines both backward and vjp.

    Both are names of the same method.
    """

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):  # - <=
            return g * 2  # -

        @staticmethod  # -
        def vjp(ctx, g):
            return g * 2

    return Double.apply(torch.tensor([1.0, 2.0]))  # <-


@mistake("Powers", "output 0", "dict", remedy="tuple", says=TypeError)
def dict_returned():
    """forward returns a dict of tensors.

    forward returns a tensor or a tuple of tensors. Tensors inside a dict would have no gradient.
    """

    class Powers(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return {"square": x**2, "cube": x**3}  # - <-
            # + return x**2, x**3

    return Powers.apply(torch.tensor([1.0, 2.0], requires_grad=True))  # -
    # + square, cube = Powers.apply(torch.tensor([1.0, 2.0], requires_grad=True))
    # + return {"square": square, "cube": cube}


@mistake("Square.forward", "None", "argument 0", "(2,)", remedy="return", says="no-tensor-output")
def forward_returns_nothing():
    """forward has no `return`.

    A Python function without `return` returns None, and None has no gradient.
    """

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):  # <-
            ctx.result = x * x

    return Square.apply(torch.tensor([1.0, 2.0], requires_grad=True))


def forward_returns_nothing_corrected():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * x

    class Shape(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.shape[0]

    Shape.apply(torch.tensor([1.0, 2.0]))  # nothing has a gradient here
    return Square.apply(torch.tensor([1.0, 2.0], requires_grad=True))


@mistake("Sort.forward", "ndarray", "argument 0", remedy="from_numpy", says="no-tensor-output")
def forward_returns_array():
    """forward returns a NumPy array.

    Only tensors carry a history, so the gradient would silently end at the array.
    """

    class Sort(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            a = x.detach().numpy()  # -
            # + a = x.detach().numpy().copy()
            a.sort()
            return a  # - <-
            # + return torch.from_numpy(a)

    return Sort.apply(torch.tensor([2.0, 1.0], requires_grad=True) * 1)


@mistake("Linear.forward", "(2, 3)", remedy="Linear.apply", says="captured-tensor")
def captured_weight():
    """forward uses a weight that is not one of its arguments.

    minigrad records nothing inside forward, so the weight would never get a gradient.
    """
    weight = torch.ones(2, 3, requires_grad=True)  # -

    class Linear(torch.autograd.Function):
        @staticmethod
        # + def forward(ctx, x, weight):
        # +     ctx.save_for_backward(x, weight)
        def forward(ctx, x):  # -
            return x @ weight  # <-

        @staticmethod
        def backward(ctx, g):
            return g @ weight.T  # -
            # + x, weight = ctx.saved_tensors
            # + return g @ weight.T, x.T @ g

    Linear.apply(torch.ones(4, 2, requires_grad=True)).sum().backward()  # -
    # + Linear.apply(torch.ones(4, 2, requires_grad=True), torch.ones(2, 3, requires_grad=True)).sum().backward()


@mistake("grad", "Slope.forward", remedy="enable_grad()")
def grad_inside_forward():
    """forward differentiates a result that it has just computed.

    minigrad records nothing inside forward, so there is nothing to differentiate, unless you enable gradients there.
    """

    class Slope(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = (x**3).sum()  # -
            # + with torch.enable_grad():
            # +     x = x.detach().requires_grad_()
            # +     y = (x**3).sum()
            return torch.autograd.grad(y, x)[0]  # <-

    return Slope.apply(torch.tensor([1.0, 2.0], requires_grad=True))
