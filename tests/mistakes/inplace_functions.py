"""In-place operations in Functions and hooks."""

import minigrad as torch

from . import mistake


@mistake("Double", "(2,)", "mul_", "argument 0", remedy="ctx.mark_dirty(")
def forgotten_mark_dirty():
    """The forward of a Function modifies its input in place without mark_dirty.

    The input has new values but its old place in the graph, so later results would get gradients as if nothing had
    happened.
    """

    class Double(torch.autograd.Function):
        @staticmethod
        # + def forward(ctx, x, calls):
        # +     ctx.mark_dirty(x)
        # +     calls += 1  # nothing is differentiated with respect to it
        # +     return x.mul_(2)
        def forward(ctx, x):  # -
            x.mul_(2)  # - <-
            return x  # -

        @staticmethod
        def backward(ctx, g):
            return g * 2  # -
            # + return g * 2, None

    x = torch.ones(2, requires_grad=True) * 1
    Double.apply(x).sum().backward()  # -
    # + calls = torch.tensor(0)
    # + Double.apply(x, calls).sum().backward()
    # + with torch.no_grad():
    # +     Double.apply(torch.ones(2), calls)


@mistake("Shift", "(2,)", "argument 0", remedy=".numpy().copy()", under="debug")
def numpy_write_in_forward():
    """A forward written in NumPy modifies the array of its argument.

    The array is the memory of the input itself. Only debug mode compares the numbers before and after.
    """

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


@mistake("Double", "leaf", "(2,)", remedy="clone()")
def leaf_into_an_inplace_function():
    """An in-place Function is applied to a parameter.

    The parameter would become its result. Like every in-place operation, the Function needs a tensor that is not a leaf.
    """

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


@mistake("ExpBackward", "(2,)", "version 1", "mul_", remedy="clone()")
def result_of_a_function_changed():
    """The result of a custom Function is modified in place, although the Function has saved it for backward.

    `save_for_backward` saves the tensor itself. When backward reads it, it has new values.
    """

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


@mistake("DoubleBackward", "gradient 0", "(2,)", "mul_", remedy="clone()")
def gradient_changed_in_backward():
    """A backward modifies its incoming gradient.

    The same memory may be the gradient of other tensors, which would change too.
    """

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


@mistake("DoubleBackward", "gradient 0", "(2,)", remedy=".numpy().copy()", under="debug")
def gradient_changed_by_numpy():
    """A backward written in NumPy modifies the array of its gradient.

    The array is the memory of the gradient itself. Only debug mode compares the numbers before and after.
    """

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


@mistake("SquareBackward", "saved tensor 0", "(2,)", "mul_", remedy="clone()")
def saved_tensor_changed_in_backward():
    """A backward uses a saved input as scratch memory.

    `ctx.saved_tensors` returns the input itself: the caller's tensor, perhaps the training data, has new values after
    backward.
    """

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


@mistake("MulBackward0", "(2,)", "mul_", remedy="after backward")
def parameter_changed_in_a_hook():
    """A hook updates a parameter while backward still needs it.

    Products deeper in the graph have saved the parameter, and need it for their derivatives.
    """
    w = torch.ones(2, requires_grad=True)
    y = w * torch.ones(2, requires_grad=True)

    def decay(g):  # -
        with torch.no_grad():  # -
            w.mul_(0.9)  # - <-

    y.register_hook(decay)  # -
    y.sum().backward()
    # + with torch.no_grad():
    # +     w.mul_(0.9)


@mistake("saved_tensors_hooks", "(2,)", "mul_", remedy="clone()")
def pack_hook_that_writes():
    """The pack hook of saved_tensors_hooks modifies the tensor to save.

    It receives the tensor itself, with which the program continues to compute.
    """

    def pack(t):  # -
        return t.mul_(0.5)  # - <-

    x = torch.ones(2, requires_grad=True) * 1
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t * 2):  # -
        x.exp()  # -
    # + with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone().mul_(0.5), lambda t: t * 2):
    # +     x.exp().sum().backward()
