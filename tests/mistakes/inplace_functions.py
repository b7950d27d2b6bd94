"""In-place operations in Functions and hooks."""

import minigrad as torch

from . import Mistake


class ForgottenMarkDirty(Mistake):
    """The forward of a Function modifies its input in place without mark_dirty.

    The input has new values but its old place in the graph, so later results would get gradients as if nothing had
    happened.
    """

    operation = "Double"
    numbers = ("(2,)", "mul_", "argument 0")
    remedy = "ctx.mark_dirty("

    def wrong():
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                x.mul_(2)  # <-
                return x

            @staticmethod
            def backward(ctx, g):
                return g * 2

        x = torch.ones(2, requires_grad=True) * 1
        Double.apply(x).sum().backward()

    def right():
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, calls):
                ctx.mark_dirty(x)
                calls += 1  # nothing is differentiated with respect to it
                return x.mul_(2)

            @staticmethod
            def backward(ctx, g):
                return g * 2, None

        x = torch.ones(2, requires_grad=True) * 1
        calls = torch.tensor(0)
        Double.apply(x, calls).sum().backward()
        with torch.no_grad():
            Double.apply(torch.ones(2), calls)


class NumpyWriteInForward(Mistake):
    """A forward written in NumPy modifies the array of its argument.

    The array is the memory of the input itself. Only debug mode compares the numbers before and after.
    """

    under = "debug"
    operation = "Shift"
    numbers = ("(2,)", "argument 0")
    remedy = ".numpy().copy()"

    def wrong():
        class Shift(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                a = x.numpy()  # - <-
                # + a = x.numpy().copy()
                a += 1
                return torch.from_numpy(a)

            @staticmethod
            def backward(ctx, g):
                return g

        Shift.apply(torch.ones(2, requires_grad=True)).sum().backward()


class LeafIntoAnInplaceFunction(Mistake):
    """An in-place Function is applied to a parameter.

    The parameter would become its result. Like every in-place operation, the Function needs a tensor that is not a leaf.
    """

    operation = "Double"
    numbers = ("leaf", "(2,)")
    remedy = "clone()"

    def wrong():
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.mark_dirty(x)
                return x.mul_(2)

            @staticmethod
            def backward(ctx, g):
                return g * 2

        x = torch.ones(2, requires_grad=True)
        Double.apply(x)  # - <-
        # + Double.apply(x.clone()).sum().backward()


class ResultOfAFunctionChanged(Mistake):
    """The result of a custom Function is modified in place, although the Function has saved it for backward.

    `save_for_backward` saves the tensor itself. When backward reads it, it has new values.
    """

    operation = "ExpBackward"
    numbers = ("(2,)", "version 1", "mul_")
    remedy = "clone()"

    def wrong():
        class Exp(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                y = x.exp()
                ctx.save_for_backward(y)
                return y

            @staticmethod
            def backward(ctx, g):
                (y,) = ctx.saved_tensors
                return g * y

        y = Exp.apply(torch.ones(2, requires_grad=True))
        y.mul_(2)  # - <-
        y.sum().backward()  # -
        # + (y * 2).sum().backward()


class GradientChangedInBackward(Mistake):
    """A backward modifies its incoming gradient.

    The same memory may be the gradient of other tensors, which would change too.
    """

    operation = "DoubleBackward"
    numbers = ("gradient 0", "(2,)", "mul_")
    remedy = "clone()"

    def wrong():
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                g *= 2  # - <-
                # + g = g * 2
                # + g += 0
                return g

        Double.apply(torch.ones(2, requires_grad=True)).sum().backward()


class GradientChangedByNumpy(Mistake):
    """A backward written in NumPy modifies the array of its gradient.

    The array is the memory of the gradient itself. Only debug mode compares the numbers before and after.
    """

    under = "debug"
    operation = "DoubleBackward"
    numbers = ("gradient 0", "(2,)")
    remedy = ".numpy().copy()"

    def wrong():
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                a = g.numpy()  # - <-
                # + a = g.numpy().copy()
                a *= 2
                return torch.from_numpy(a)

        y = Double.apply(torch.ones(2, requires_grad=True))
        (y * 3).sum().backward()


class SavedTensorChangedInBackward(Mistake):
    """A backward uses a saved input as scratch memory.

    `ctx.saved_tensors` returns the input itself: the caller's tensor, perhaps the training data, has new values after
    backward.
    """

    operation = "SquareBackward"
    numbers = ("saved tensor 0", "(2,)", "mul_")
    remedy = "clone()"

    def wrong():
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)  # -
                # + slope = 2 * x  # no other code uses it, so backward may write to it
                # + ctx.save_for_backward(x, slope)
                return x * x

            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors  # -
                return x.mul_(2) * g  # - <-
                # + _, slope = ctx.saved_tensors
                # + return slope.mul_(g)

        Square.apply(torch.ones(2, requires_grad=True)).sum().backward()


class ParameterChangedInAHook(Mistake):
    """A hook updates a parameter while backward still needs it.

    Products deeper in the graph have saved the parameter, and need it for their derivatives.
    """

    operation = "MulBackward0"
    numbers = ("(2,)", "mul_")
    remedy = "after backward"

    def wrong():
        w = torch.ones(2, requires_grad=True)
        y = w * torch.ones(2, requires_grad=True)

        def decay(g):  # -
            with torch.no_grad():  # -
                w.mul_(0.9)  # - <-

        y.register_hook(decay)  # -
        y.sum().backward()
        # + with torch.no_grad():
        # +     w.mul_(0.9)


class PackHookThatWrites(Mistake):
    """The pack hook of saved_tensors_hooks modifies the tensor to save.

    It receives the tensor itself, with which the program continues to compute.
    """

    operation = "saved_tensors_hooks"
    numbers = ("(2,)", "mul_")
    remedy = "clone()"

    def wrong():
        def pack(t):  # -
            return t.mul_(0.5)  # - <-

        x = torch.ones(2, requires_grad=True) * 1
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t * 2):  # -
            x.exp()  # -
        # + with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone().mul_(0.5), lambda t: t * 2):
        # +     x.exp().sum().backward()
