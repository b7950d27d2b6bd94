"""Functions: calls of apply and forward."""

import minigrad as torch

from . import mistake


@mistake("Square.forward", "ctx", "1 argument", "shape (2,)", remedy="Square.apply(x)", says=TypeError)
def forward_called():
    """forward is called instead of apply.

    `apply` creates the ctx, calls forward with it, and records the operation for backward. A direct call of forward only
    computes, and has no ctx.
    """

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    Square.forward(x).sum().backward()  # - <-
    # + Square.apply(x).sum().backward()


@mistake("Square.forward", "save_for_backward", "None", remedy="Square.apply", says=AttributeError)
def forward_called_with_none():
    """forward is called with None instead of the ctx.

    You do not create the ctx yourself: `apply` creates one for each call, and passes the same one to backward.
    """

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    return Square.forward(None, x)  # <-


def forward_called_with_none_corrected():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

    class Fourth(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return Square.forward(ctx, x) ** 2  # passes its own ctx

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    Double.forward(None, x)  # does not use the ctx
    return Square.apply(x), Fourth.apply(x)


@mistake("Clip.forward", "never calls", remedy="Clip.apply(x)", says="forward-called", under="debug")
def forward_called_beside_setup_context():
    """forward, which takes no ctx, is called instead of apply.

    It computes the right values, and you can even differentiate it, because it consists of differentiable operations. But
    the backward of the class never runs.
    """

    class Clip(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x.clamp(-1, 1)

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            return g  # straight through, even where clamp has a slope of 0  # -
            # + return g

    x = torch.tensor([0.5, 2.0], requires_grad=True)
    Clip.forward(x).sum().backward()  # - <-
    # + Clip.apply(x).sum().backward()
    # + Clip.forward(x.detach())
    # + with torch.no_grad():
    # +     Clip.forward(x)


@mistake("Square", "instance", remedy="Square.apply(...)", says="function-instance")
def class_called():
    """The class is called like a function.

    In Python, calling a class creates an instance. Use a Function through `apply`, without instances.
    """

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * x

    return Square(torch.tensor([1.0, 2.0]))  # - <-
    # + square = Square.apply
    # + return square(torch.tensor([1.0, 2.0]))


@mistake("Scale", "instance", remedy="Scale.apply(...)")
def instance_called():
    """A Function is written like a module: an instance holds its settings and is called.

    The methods of a Function are static. Pass settings as arguments of forward, and store them on the ctx for backward.
    """

    class Scale(torch.autograd.Function):
        def __init__(self, factor):
            self.factor = factor

        def forward(self, x):
            return x * self.factor

        def backward(self, g):
            return g * self.factor

    return Scale(2.0)(torch.tensor([1.0, 2.0]))  # <-


def instance_called_corrected():
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.factor = factor
            return x * factor

        @staticmethod
        def backward(ctx, g):
            return g * ctx.factor, None

    return Scale.apply(torch.tensor([1.0, 2.0]), 2.0)


@mistake("Scale", "static", remedy="Scale.apply(...)", says="function-instance")
def init_calls_super():
    """A Function gets an `__init__` that calls `super().__init__()`.

    A Function has no instance to initialise: its methods are static.
    """

    class Scale(torch.autograd.Function):
        def __init__(self, factor):
            super().__init__()  # <-
            self.factor = factor

    return Scale(2.0)


def init_calls_super_corrected():
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            return x * factor

    return Scale.apply(torch.tensor([1.0, 2.0]), 2.0)


@mistake("ScaleBackward", "'factor'", "ctx", remedy="ctx.factor = ", says=AttributeError)
def setting_on_instance():
    """forward reads a setting of the instance from the ctx.

    The first argument of forward is the ctx of this call, not an instance, even if `apply` is called on an instance.
    """

    class Scale(torch.autograd.Function):
        def __init__(self, factor):
            self.factor = factor

        def forward(self, x):
            return x * self.factor  # <-

    return Scale(2.0).apply(torch.tensor([1.0, 2.0]))


def setting_on_instance_corrected():
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.factor = factor
            return x * ctx.factor

    return Scale.apply(torch.tensor([1.0, 2.0]), 2.0)


@mistake("Scale.forward", "'factor'", "(ctx, x, factor)", remedy="Scale.apply(x, factor)", says=TypeError)
def missing_argument():
    """apply gets fewer arguments than forward takes.

    `apply` takes the arguments of forward, without the ctx.
    """

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            return x * factor

    return Scale.apply(torch.tensor([1.0, 2.0]))  # - <-
    # + return Scale.apply(torch.tensor([1.0, 2.0]), 2.0)


@mistake("Square.forward", "3 arguments", "(ctx, x)", remedy="Square.apply(x)", says=TypeError)
def ctx_given():
    """apply is called with a ctx.

    `apply` creates the ctx and puts it before your arguments.
    """

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * x

    return Square.apply(None, torch.tensor([1.0, 2.0]))  # - <-
    # + return Square.apply(torch.tensor([1.0, 2.0]))


@mistake("Scale.apply", "'scale'", "(ctx, x, factor=1.0)", remedy="factor", says=TypeError)
def unknown_keyword():
    """apply gets a keyword argument that forward does not know.

    Use the names of forward's parameters.
    """

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor=1.0):
            return x * factor

    return Scale.apply(torch.tensor([1.0, 2.0]), scale=2.0)  # - <-
    # + return Scale.apply(torch.tensor([1.0, 2.0]), factor=2.0)


@mistake("Scale.apply", "factor", "keyword", remedy="def forward(ctx, x, factor)", says=TypeError)
def keyword_only():
    """forward has a keyword-only parameter.

    backward returns one gradient for each argument of forward, by position, so each argument needs a position.
    """

    class Scale(torch.autograd.Function):
        @staticmethod
        # + def forward(ctx, x, factor):
        def forward(ctx, x, *, factor):  # - <=
            return x * factor

    return Scale.apply(torch.tensor([1.0, 2.0]), factor=2.0)  # <-


@mistake("Total", "argument 0", "list", "(2,)", remedy="Total.apply(*tensors)", says=TypeError)
def list_of_tensors():
    """apply gets a list of tensors.

    backward returns one gradient for each argument, so tensors inside a list would get no gradient.
    """

    class Total(torch.autograd.Function):
        @staticmethod
        # + def forward(ctx, *tensors):
        def forward(ctx, tensors):  # -
            return tensors[0] + tensors[1]

        # + @staticmethod
        # + def backward(ctx, g):
        # +     return g, g

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    return Total.apply([x, x])  # - <-
    # + Total.apply(x, x).sum().backward()
