"""Functions: calls of apply and forward."""

import minigrad as torch

from . import Mistake


class ForwardCalled(Mistake):
    """forward is called instead of apply.

    `apply` creates the ctx, calls forward with it, and records the operation for backward. A direct call of forward only
    computes, and has no ctx.
    """

    says = TypeError
    operation = "Square.forward"
    numbers = ("ctx", "1 argument", "shape (2,)")
    remedy = "Square.apply(x)"

    def wrong():
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


class ForwardCalledWithNone(Mistake):
    """forward is called with None instead of the ctx.

    You do not create the ctx yourself: `apply` creates one for each call, and passes the same one to backward.
    """

    says = AttributeError
    operation = "Square.forward"
    numbers = ("save_for_backward", "None")
    remedy = "Square.apply"

    def wrong():
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

        x = torch.tensor([1.0, 2.0], requires_grad=True)
        return Square.forward(None, x)  # <-

    def right():
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


class ForwardCalledBesideSetupContext(Mistake):
    """forward, which takes no ctx, is called instead of apply.

    It computes the right values, and you can even differentiate it, because it consists of differentiable operations. But
    the backward of the class never runs.
    """

    says = "forward-called"
    operation = "Clip.forward"
    numbers = ("never calls",)
    remedy = "Clip.apply(x)"
    under = "debug"

    def wrong():
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


class ClassCalled(Mistake):
    """The class is called like a function.

    In Python, calling a class creates an instance. Use a Function through `apply`, without instances.
    """

    operation = "Square"
    numbers = ("instance",)
    remedy = "Square.apply(...)"

    def wrong():
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * x

        return Square(torch.tensor([1.0, 2.0]))  # - <-
        # + square = Square.apply
        # + return square(torch.tensor([1.0, 2.0]))


class InstanceCalled(Mistake):
    """A Function is written like a module: an instance holds its settings and is called.

    The methods of a Function are static. Pass settings as arguments of forward, and store them on the ctx for backward.
    """

    operation = "Scale"
    numbers = ("instance",)
    remedy = "Scale.apply(...)"

    def wrong():
        class Scale(torch.autograd.Function):
            def __init__(self, factor):
                self.factor = factor

            def forward(self, x):
                return x * self.factor

            def backward(self, g):
                return g * self.factor

        return Scale(2.0)(torch.tensor([1.0, 2.0]))  # <-

    def right():
        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, factor):
                ctx.factor = factor
                return x * factor

            @staticmethod
            def backward(ctx, g):
                return g * ctx.factor, None

        return Scale.apply(torch.tensor([1.0, 2.0]), 2.0)


class InitCallsSuper(Mistake):
    """A Function gets an `__init__` that calls `super().__init__()`.

    A Function has no instance to initialise: its methods are static.
    """

    operation = "Scale"
    numbers = ("static",)
    remedy = "Scale.apply(...)"

    def wrong():
        class Scale(torch.autograd.Function):
            def __init__(self, factor):
                super().__init__()  # <-
                self.factor = factor

        return Scale(2.0)

    def right():
        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, factor):
                return x * factor

        return Scale.apply(torch.tensor([1.0, 2.0]), 2.0)


class SettingOnInstance(Mistake):
    """forward reads a setting of the instance from the ctx.

    The first argument of forward is the ctx of this call, not an instance, even if `apply` is called on an instance.
    """

    says = AttributeError
    operation = "ScaleBackward"
    numbers = ("'factor'", "ctx")
    remedy = "ctx.factor = "

    def wrong():
        class Scale(torch.autograd.Function):
            def __init__(self, factor):
                self.factor = factor

            def forward(self, x):
                return x * self.factor  # <-

        return Scale(2.0).apply(torch.tensor([1.0, 2.0]))

    def right():
        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, factor):
                ctx.factor = factor
                return x * ctx.factor

        return Scale.apply(torch.tensor([1.0, 2.0]), 2.0)


class MissingArgument(Mistake):
    """apply gets fewer arguments than forward takes.

    `apply` takes the arguments of forward, without the ctx.
    """

    says = TypeError
    operation = "Scale.forward"
    numbers = ("'factor'", "(ctx, x, factor)")
    remedy = "Scale.apply(x, factor)"

    def wrong():
        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, factor):
                return x * factor

        return Scale.apply(torch.tensor([1.0, 2.0]))  # - <-
        # + return Scale.apply(torch.tensor([1.0, 2.0]), 2.0)


class CtxGiven(Mistake):
    """apply is called with a ctx.

    `apply` creates the ctx and puts it before your arguments.
    """

    says = TypeError
    operation = "Square.forward"
    numbers = ("3 arguments", "(ctx, x)")
    remedy = "Square.apply(x)"

    def wrong():
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * x

        return Square.apply(None, torch.tensor([1.0, 2.0]))  # - <-
        # + return Square.apply(torch.tensor([1.0, 2.0]))


class UnknownKeyword(Mistake):
    """apply gets a keyword argument that forward does not know.

    Use the names of forward's parameters.
    """

    says = TypeError
    operation = "Scale.apply"
    numbers = ("'scale'", "(ctx, x, factor=1.0)")
    remedy = "factor"

    def wrong():
        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, factor=1.0):
                return x * factor

        return Scale.apply(torch.tensor([1.0, 2.0]), scale=2.0)  # - <-
        # + return Scale.apply(torch.tensor([1.0, 2.0]), factor=2.0)


class KeywordOnly(Mistake):
    """forward has a keyword-only parameter.

    backward returns one gradient for each argument of forward, by position, so each argument needs a position.
    """

    says = TypeError
    operation = "Scale.apply"
    numbers = ("factor", "keyword")
    remedy = "def forward(ctx, x, factor)"

    def wrong():
        class Scale(torch.autograd.Function):
            @staticmethod
            # + def forward(ctx, x, factor):
            def forward(ctx, x, *, factor):  # -
                return x * factor

        return Scale.apply(torch.tensor([1.0, 2.0]), factor=2.0)  # <-


class ListOfTensors(Mistake):
    """apply gets a list of tensors.

    backward returns one gradient for each argument, so tensors inside a list would get no gradient.
    """

    says = TypeError
    operation = "Total"
    numbers = ("argument 0", "list", "(2,)")
    remedy = "Total.apply(*tensors)"

    def wrong():
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
