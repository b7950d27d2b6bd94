"""Functions: their definition, and the results of forward."""

import minigrad as torch

from . import Mistake


class ForwardWithoutCtx(Mistake):
    """forward does not take the ctx.

    The first argument of forward is the ctx, unless the class has a setup_context, which then receives it.
    """

    says = TypeError
    operation = "Square.forward"
    numbers = ("2 arguments", "forward(x)")
    remedy = "def forward(ctx, x)"

    def wrong():
        class Square(torch.autograd.Function):
            @staticmethod
            # + def forward(ctx, x):
            def forward(x):  # - <-
                return x * x

        return Square.apply(torch.tensor([1.0, 2.0]))


class SelfBesideCtx(Mistake):
    """The methods take a `self` before the ctx, and are not static.

    A Function has no instances, so there is no `self`.
    """

    says = TypeError
    operation = "Square.forward"
    numbers = ("2 arguments", "(self, ctx, x)")
    remedy = "@staticmethod"

    def wrong():
        class Square(torch.autograd.Function):
            # + @staticmethod
            # + def forward(ctx, x):
            def forward(self, ctx, x):  # - <-
                return x * x

        return Square.apply(torch.tensor([1.0, 2.0]))


class ClassMethod(Mistake):
    """forward is a class method instead of a static method.

    A class method gets the class as its first argument, instead of the ctx.
    """

    says = TypeError
    operation = "Square.forward"
    numbers = ("2 arguments",)
    remedy = "@staticmethod"

    def wrong():
        class Square(torch.autograd.Function):
            @classmethod  # -
            # + @staticmethod
            def forward(ctx, x):  # <-
                return x * x

        return Square.apply(torch.tensor([1.0, 2.0]))


class ForwardMissing(Mistake):
    """A Function has no forward, because its name is misspelt.

    `apply` looks for a method with the name forward.
    """

    says = NotImplementedError
    operation = "Square"
    numbers = ("forward", "`foward`")
    remedy = "rename"

    def wrong():
        class Square(torch.autograd.Function):
            @staticmethod
            def foward(ctx, x):  # <-
                return x * x

        return Square.apply(torch.tensor([1.0, 2.0]))

    def right():
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


class BackwardMissing(Mistake):
    """backward is misspelt.

    minigrad does not look for a method with the name backwards, so this Function has no backward at all.
    """

    says = NotImplementedError
    operation = "Square"
    numbers = ("backward", "`backwards`")
    remedy = "rename"

    def wrong():
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


class NoBackward(Mistake):
    """A Function without backward is differentiated.

    minigrad records nothing inside forward, so backward has to compute the gradients.
    """

    says = NotImplementedError
    operation = "Square"
    numbers = ("backward",)
    remedy = "def backward(ctx, grad_output)"

    def wrong():
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


class BackwardAndVjp(Mistake):
    """A Function defines both backward and vjp.

    Both are names of the same method.
    """

    operation = "Double"
    numbers = ("backward", "vjp")
    remedy = "keep one"

    def wrong():
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, g):  # -
                return g * 2  # -

            @staticmethod  # -
            def vjp(ctx, g):
                return g * 2

        return Double.apply(torch.tensor([1.0, 2.0]))  # <-


class DictReturned(Mistake):
    """forward returns a dict of tensors.

    forward returns a tensor or a tuple of tensors. Tensors inside a dict would have no gradient.
    """

    says = TypeError
    operation = "Powers"
    numbers = ("output 0", "dict")
    remedy = "tuple"

    def wrong():
        class Powers(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return {"square": x**2, "cube": x**3}  # - <-
                # + return x**2, x**3

        return Powers.apply(torch.tensor([1.0, 2.0], requires_grad=True))  # -
        # + square, cube = Powers.apply(torch.tensor([1.0, 2.0], requires_grad=True))
        # + return {"square": square, "cube": cube}


class ForwardReturnsNothing(Mistake):
    """forward has no `return`.

    A Python function without `return` returns None, and None has no gradient.
    """

    says = "no-tensor-output"
    operation = "Square.forward"
    numbers = ("None", "argument 0", "(2,)")
    remedy = "return"

    def wrong():
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):  # <-
                ctx.result = x * x

        return Square.apply(torch.tensor([1.0, 2.0], requires_grad=True))

    def right():
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


class ForwardReturnsArray(Mistake):
    """forward returns a NumPy array.

    Only tensors carry a history, so the gradient would silently end at the array.
    """

    says = "no-tensor-output"
    operation = "Sort.forward"
    numbers = ("ndarray", "argument 0")
    remedy = "from_numpy"

    def wrong():
        class Sort(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                a = x.detach().numpy()  # -
                # + a = x.detach().numpy().copy()
                a.sort()
                return a  # - <-
                # + return torch.from_numpy(a)

        return Sort.apply(torch.tensor([2.0, 1.0], requires_grad=True) * 1)


class CapturedWeight(Mistake):
    """forward uses a weight that is not one of its arguments.

    minigrad records nothing inside forward, so the weight would never get a gradient.
    """

    says = "captured-tensor"
    operation = "Linear.forward"
    numbers = ("(2, 3)",)
    remedy = "Linear.apply"

    def wrong():
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


class GradInsideForward(Mistake):
    """forward differentiates a result that it has just computed.

    minigrad records nothing inside forward, so there is nothing to differentiate, unless you enable gradients there.
    """

    operation = "grad"
    numbers = ("Slope.forward",)
    remedy = "enable_grad()"

    def wrong():
        class Slope(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                y = (x**3).sum()  # -
                # + with torch.enable_grad():
                # +     x = x.detach().requires_grad_()
                # +     y = (x**3).sum()
                return torch.autograd.grad(y, x)[0]  # <-

        return Slope.apply(torch.tensor([1.0, 2.0], requires_grad=True))
