"""The ctx: its attributes and marks, and needs_input_grad."""

import minigrad as torch

from . import mistake


@mistake(
    "Square", "ctx.x", "(2,)", "version 1", "mul_", remedy="ctx.save_for_backward(x)", says="ctx-attribute-changed"
)
def input_on_ctx():
    """An input is stored as an attribute of the ctx, and modified before backward.

    backward then uses the new values, and its result is wrong. With save_for_backward, a modification raises an error.
    """

    class Square(torch.autograd.Function):
        @staticmethod
        # + def forward(ctx, x, calls):
        def forward(ctx, x):  # -
            ctx.x = x
            # + ctx.calls = calls  # a counter without a gradient may change
            # + ctx.own = x.clone()
            # + ctx.own.mul_(2)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2 * ctx.x * g  # -
            # + return 2 * ctx.x * g, None

    leaf = torch.tensor([1.0, 2.0], requires_grad=True)
    x = leaf * 1  # -
    y = Square.apply(x)  # -
    x.mul_(10)  # - <-
    # + calls = torch.zeros(())
    # + y = Square.apply(leaf * 1, calls)
    # + calls.add_(1)
    y.sum().backward()


@mistake("Exp.forward", "ctx.y", "output 0", "(2,)", remedy="ctx.save_for_backward(y)", says="ctx-attribute-leak")
def output_on_ctx():
    """An output is stored as an attribute of the ctx.

    The output holds its history, the history holds the ctx, and the ctx would hold the output. Such a cycle keeps the
    memory of the whole graph alive after you drop the result, until Python's garbage collector finds it.
    """

    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.y = y  # - <-
            # + ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g * ctx.y  # -
            # + (y,) = ctx.saved_tensors
            # + return g * y

    Exp.apply(torch.tensor([1.0, 2.0], requires_grad=True)).sum().backward()


@mistake("DoubleInPlace.forward", "mark_dirty", "(2,)", remedy="return")
def dirty_not_returned():
    """forward marks an input that it modifies in place, but returns another tensor.

    Code that reads the input later has to find the new value with its new history, so the input has to be an output.
    """

    class DoubleInPlace(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x + 0  # - <-
            # + return x

    return DoubleInPlace.apply(torch.tensor([1.0, 2.0], requires_grad=True) * 1)


@mistake("Double.forward", "mark_dirty", "(2,)", "not one of its inputs", remedy="mark_dirty")
def output_marked_dirty():
    """A new tensor is marked as modified in place.

    mark_dirty is for inputs: forward may modify its own tensors freely.
    """

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.clone()
            y.mul_(2)
            ctx.mark_dirty(y)  # - <-
            return y

    return Double.apply(torch.tensor([1.0, 2.0], requires_grad=True))


@mistake("Sort.forward", "mark_non_differentiable", "argument 0", "list", remedy="mark_non_differentiable(*tensors)")
def list_marked():
    """A list of tensors is marked.

    mark_dirty and mark_non_differentiable take the tensors one by one.
    """

    class Sort(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y, order = x.sort()
            ctx.mark_non_differentiable([order])  # - <-
            # + ctx.mark_non_differentiable(order)
            return y, order

    return Sort.apply(torch.tensor([2.0, 1.0], requires_grad=True))


@mistake("Sign.forward", "mark_non_differentiable", "(2,)", remedy="return", says="mark-not-returned")
def mark_not_returned():
    """A tensor is marked as non-differentiable, but another one is returned.

    The mark belongs to the tensor that you pass. This forward returns a new one without a mark.
    """

    class Sign(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            sign = x.sign()
            ctx.mark_non_differentiable(sign)
            return sign * 1.0  # - <-
            # + return sign

        @staticmethod  # -
        def backward(ctx, g):  # -
            return g  # -

    Sign.apply(torch.tensor([2.0, -1.0], requires_grad=True)).sum().backward()  # -
    # + return Sign.apply(torch.tensor([2.0, -1.0], requires_grad=True))


@mistake(
    "Product.backward", "needs_input_grad", "2 entries", "(x, y)", remedy="ctx.needs_input_grad[0]", says=IndexError
)
def needs_counts_ctx():
    """needs_input_grad is indexed as if the ctx were an argument.

    It has one entry for each argument of apply, starting at 0, and none for the ctx.
    """

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            gx = gy = None
            # + if ctx.needs_input_grad[0]:
            # +     gx = g * y
            if ctx.needs_input_grad[1]:
                gx = g * y  # -
            if ctx.needs_input_grad[2]:  # - <-
                gy = g * x
            return gx, gy

    Product.apply(torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)).sum().backward()


@mistake("Double.backward", "needs_input_grad", "tuple of 1", remedy="ctx.needs_input_grad[0]", says=TypeError)
def needs_called():
    """needs_input_grad is called like a method.

    It is a tuple of booleans.
    """

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2 if ctx.needs_input_grad(0) else None  # - <-
            # + return g * 2 if ctx.needs_input_grad[0] else None

    Double.apply(torch.ones(2, requires_grad=True)).sum().backward()


@mistake("DoubleBackward", "'set_materialise_grads'", remedy="ctx.set_materialize_grads", says=AttributeError)
def materialize_misspelt():
    """set_materialize_grads is misspelt.

    The ctx has no method of that name.
    """

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialise_grads(False)  # - <-
            # + ctx.set_materialize_grads(False)
            return x * 2

    return Double.apply(torch.ones(2, requires_grad=True))


@mistake("DoubleBackward", "set_materialize_grads", remedy="ctx.set_materialize_grads(False)", says=AttributeError)
def materialize_assigned():
    """A value is assigned to set_materialize_grads.

    It is a method: call it with the value.
    """

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads = False  # - <-
            # + ctx.set_materialize_grads(False)
            return x * 2

    return Double.apply(torch.ones(2, requires_grad=True))


@mistake("Square.forward", "Square.x", "argument 0", "(2,)", remedy="ctx.save_for_backward", says="class-attribute")
def kept_on_class():
    """forward stores its input on the class.

    All calls share one class: the second call overwrites the input of the first before the first backward reads it. Each
    call has its own ctx.
    """

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            Square.x = x  # <-
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2 * Square.x * g

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (Square.apply(x) + Square.apply(x * 10)).sum().backward()


def kept_on_class_corrected():
    class Square(torch.autograd.Function):
        calls = 0
        two = None

        @staticmethod
        def forward(ctx, x):
            Square.calls += 1
            if Square.two is None:
                Square.two = torch.tensor(2.0)  # a constant may stay
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return Square.two * x * g

    class Times(torch.autograd.Function):
        factor = torch.tensor(3.0)

        @staticmethod
        def forward(ctx, x, factor):
            return x * factor

        @staticmethod
        def backward(ctx, g):
            return g * Times.factor, None

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (Square.apply(x) + Square.apply(x * 10)).sum().backward()
    Times.apply(x, Times.factor).sum().backward()
