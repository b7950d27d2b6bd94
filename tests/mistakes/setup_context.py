"""setup_context: a forward without ctx, and saving values for backward."""

import minigrad as torch

from . import Mistake


class BothStyles(Mistake):
    """forward takes a ctx although the class has a setup_context.

    Use one of two styles: forward(ctx, x), or forward(x) with setup_context(ctx, inputs, output).
    """

    says = TypeError
    operation = "Square.forward"
    numbers = ("1 argument", "forward(ctx, x)", "setup_context")
    remedy = "def forward(x)"

    def wrong():
        class Square(torch.autograd.Function):
            @staticmethod
            # + def forward(x):
            def forward(ctx, x):  # - <-
                return x * x

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.save_for_backward(*inputs)

        return Square.apply(torch.ones(2, requires_grad=True))


class CtxInForward(Mistake):
    """forward uses a ctx that it does not have.

    With a setup_context, forward only computes. Store the values for backward in setup_context.
    """

    says = NameError
    operation = "Square.forward"
    numbers = ("ctx", "setup_context")
    remedy = "setup_context(ctx, inputs, output)"

    def wrong():
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(x):
                ctx.save_for_backward(x)  # noqa: F821  # - <-
                return x * x

            @staticmethod
            def setup_context(ctx, inputs, output):
                pass  # -
                # + ctx.save_for_backward(*inputs)

        return Square.apply(torch.ones(2, requires_grad=True))


class SetupMissing(Mistake):
    """forward takes no ctx, but the class has no setup_context.

    Without setup_context, minigrad calls forward with the ctx, because nothing else could store values for backward.
    """

    says = TypeError
    operation = "Scale.forward"
    numbers = ("3 arguments", "forward(x, factor)", "setup_context")
    remedy = "def setup_context(ctx, inputs, output)"

    def wrong():
        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(x, factor):  # <-
                return x * factor

            @staticmethod
            # + def setup_context(ctx, inputs, output):
            # +     _, ctx.factor = inputs
            # +
            # + @staticmethod
            def backward(ctx, g):
                return g * 2, None  # -
                # + return g * ctx.factor, None

        return Scale.apply(torch.ones(2, requires_grad=True), 2.0)


class SetupMisspelt(Mistake):
    """setup_context is misspelt.

    minigrad does not look for a method with the name setup_contex, so it calls forward with a ctx.
    """

    says = TypeError
    operation = "Square.forward"
    numbers = ("`setup_contex`", "forward(x)", "2 arguments")
    remedy = "rename"

    def wrong():
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(x):
                return x * x

            @staticmethod
            # + def setup_context(ctx, inputs, output):
            def setup_contex(ctx, inputs, output):  # - <-
                ctx.save_for_backward(*inputs)

        return Square.apply(torch.ones(2, requires_grad=True))


class SetupMisspeltUnnoticed(Mistake):
    """setup_context is misspelt, and forward takes any number of arguments.

    forward then silently gets the ctx as one of them.
    """

    says = "misspelt-method"
    operation = "Total"
    numbers = ("`set_up_context`", "setup_context")
    remedy = "rename"

    def wrong():
        class Total(torch.autograd.Function):
            @staticmethod
            def forward(*tensors):
                return sum(t.sum() for t in tensors if isinstance(t, torch.Tensor))  # -
                # + return sum(t.sum() for t in tensors)

            @staticmethod
            # + def setup_context(ctx, inputs, output):
            def set_up_context(ctx, inputs, output):  # - <-
                ctx.shapes = [t.shape for t in inputs]

            # + @staticmethod
            # + def context(ctx):
            # +     """Help under an unrelated name."""
            # +
            # + forward_twice = backward_slow = setup = vmapped = context

        return Total.apply(torch.ones(2))


class TransformWithoutSetup(Mistake):
    """A Function whose forward takes a ctx is used under func.grad.

    Under a transform a tensor has one value inside and another outside. A forward that both computes and saves cannot tell
    which one it saves, so the two steps have to be separate.
    """

    operation = "Square"
    numbers = ("setup_context", "grad")
    remedy = "def setup_context(ctx, inputs, output)"

    def wrong():
        class Square(torch.autograd.Function):
            @staticmethod
            # + def forward(x):
            def forward(ctx, x):  # -
                ctx.save_for_backward(x)  # -
                return x * x

            # + @staticmethod
            # + def setup_context(ctx, inputs, output):
            # +     ctx.save_for_backward(*inputs)

            @staticmethod
            def backward(ctx, g):
                return 2 * ctx.saved_tensors[0] * g

        return torch.func.grad(lambda x: Square.apply(x).sum())(torch.ones(2))  # <-


class InputsSaved(Mistake):
    """setup_context saves the tuple of inputs.

    inputs is a tuple of all arguments of forward, even of a single one.
    """

    says = TypeError
    operation = "Square.setup_context"
    numbers = ("save_for_backward", "argument 0", "tuple")
    remedy = "save_for_backward(*inputs)"

    def wrong():
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(x):
                return x * x

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.save_for_backward(inputs)  # - <-
                # + ctx.save_for_backward(*inputs)

        return Square.apply(torch.ones(2, requires_grad=True))


class InputsNotUnpacked(Mistake):
    """setup_context uses the tuple of inputs like its only tensor.

    inputs is a tuple of all arguments of forward, even of a single one. The comma in `x, = inputs` unpacks it.
    """

    says = AttributeError
    operation = "Double.setup_context"
    numbers = ("inputs", "tuple", "1 argument", "shape")
    remedy = "(x,) = inputs"

    def wrong():
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(x):
                return x * 2

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.shape = inputs.shape  # - <-
                # + (x,) = inputs
                # + ctx.shape = x.shape

        return Double.apply(torch.ones(2, requires_grad=True))


class InputsCount(Mistake):
    """setup_context unpacks fewer values from inputs than forward has arguments.

    inputs has all arguments of forward, not only the tensors.
    """

    says = ValueError
    operation = "Scale.setup_context"
    numbers = ("inputs", "2 arguments", "(x, factor)", "expected 1")
    remedy = "(x, factor) = inputs"

    def wrong():
        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(x, factor):
                return x * factor

            @staticmethod
            def setup_context(ctx, inputs, output):
                (x,) = inputs  # - <-
                # + x, factor = inputs
                ctx.save_for_backward(x)
                # + ctx.factor = factor

        return Scale.apply(torch.ones(2, requires_grad=True), 2.0)


class OutputsSaved(Mistake):
    """setup_context saves the tuple of outputs.

    output is the return value of forward: for several outputs, their tuple.
    """

    says = TypeError
    operation = "SinCos.setup_context"
    numbers = ("save_for_backward", "argument 0", "tuple")
    remedy = "save_for_backward(*output)"

    def wrong():
        class SinCos(torch.autograd.Function):
            @staticmethod
            def forward(x):
                return x.sin(), x.cos()

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.save_for_backward(output)  # - <-
                # + ctx.save_for_backward(*output)

        return SinCos.apply(torch.ones(2, requires_grad=True))


class OutputForgotten(Mistake):
    """setup_context does not take the output.

    It is called with the ctx, the tuple of inputs and the output.
    """

    says = TypeError
    operation = "Square.setup_context"
    numbers = ("3 arguments", "setup_context(ctx, inputs)")
    remedy = "def setup_context(ctx, inputs, output)"

    def wrong():
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(x):
                return x * x

            @staticmethod
            # + def setup_context(ctx, inputs, output):
            def setup_context(ctx, inputs):  # - <-
                ctx.save_for_backward(*inputs)

        return Square.apply(torch.ones(2, requires_grad=True))


class InputsSpreadOut(Mistake):
    """setup_context takes forward's arguments one by one.

    They arrive as one tuple.
    """

    says = TypeError
    operation = "Scale.setup_context"
    numbers = ("3 arguments", "setup_context(ctx, x, factor, output)")
    remedy = "def setup_context(ctx, inputs, output)"

    def wrong():
        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(x, factor):
                return x * factor

            @staticmethod
            # + def setup_context(ctx, inputs, output):
            # +     x, factor = inputs
            # +     ctx.save_for_backward(x)
            def setup_context(ctx, x, factor, output):  # - <-
                ctx.factor = factor

        return Scale.apply(torch.ones(2, requires_grad=True), 2.0)


class CtxNotFirst(Mistake):
    """setup_context takes its arguments in a different order.

    They are passed by position, and the ctx is always the first.
    """

    says = AttributeError
    operation = "Square.setup_context"
    numbers = ("save_for_backward", "setup_context(inputs, output, ctx)")
    remedy = "def setup_context(ctx, inputs, output)"

    def wrong():
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(x):
                return x * x

            @staticmethod
            def setup_context(inputs, output, ctx):  # -
                ctx.save_for_backward(output)  # - <-

            # + def setup_context(ctx, inputs, output):
            # +     ctx.save_for_backward(*inputs)

        return Square.apply(torch.ones(2, requires_grad=True))


class SetupReturns(Mistake):
    """setup_context returns something.

    It fills the ctx; its return value is ignored.
    """

    says = "setup-context-returns"
    operation = "Square.setup_context"
    numbers = ("tuple",)
    remedy = "ctx.save_for_backward"

    def wrong():
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(x):
                return x * x

            @staticmethod
            def setup_context(ctx, inputs, output):
                return inputs  # - <-

            @staticmethod  # -
            def backward(ctx, g):  # -
                return g  # -
                # + ctx.save_for_backward(*inputs)

        return Square.apply(torch.ones(2, requires_grad=True))


class CtxReturned(Mistake):
    """forward returns the ctx beside its result.

    minigrad keeps the ctx itself. The return value of forward goes to the caller of apply.
    """

    says = TypeError
    operation = "Square.forward"
    numbers = ("output 1", "ctx")
    remedy = "return only"

    def wrong():
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * x, ctx  # <-

        return Square.apply(torch.ones(2, requires_grad=True))

    corrected = BothStyles.corrected


class DerivedSaved(Mistake):
    """A tensor computed from the input is saved, and the gradient is differentiated again.

    Tensors computed in forward have no history. backward treats them as constants, so the second derivative misses the part
    that goes through them.
    """

    says = "saved-intermediate"
    operation = "Square.backward"
    numbers = ("saved tensor 0", "(2,)", "made by mul")
    remedy = "save the inputs and recompute it in backward, or return it from forward as an output"
    under = "debug"

    def wrong():
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(x):
                return x * x

            @staticmethod
            def setup_context(ctx, inputs, output):
                (x,) = inputs
                ctx.save_for_backward(2 * x)  # - <-
                # + ctx.save_for_backward(x, x > 0, torch.rand(2), x.sign())

            @staticmethod
            def backward(ctx, g):
                (slope,) = ctx.saved_tensors  # -
                return slope * g  # -
                # + x, *_ = ctx.saved_tensors
                # + return 2 * x * g

        x = torch.ones(2, requires_grad=True)
        (g,) = torch.autograd.grad(Square.apply(x).sum(), x, create_graph=True)  # -
        # + torch.autograd.grad(Square.apply(x).sum(), x, create_graph=True)
        # + Square.apply(x).sum().backward()
