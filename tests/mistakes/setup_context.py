"""setup_context: a forward without ctx, and saving values for backward."""

import minigrad as torch

from . import mistake


@mistake("Square.forward", "1 argument", "forward(ctx, x)", "setup_context", remedy="def forward(x)", says=TypeError)
def both_styles():
    """forward takes a ctx although the class has a setup_context.

    Use one of two styles: forward(ctx, x), or forward(x) with setup_context(ctx, inputs, output).
    """

    class Square(torch.autograd.Function):
        @staticmethod
        # + def forward(x):
        def forward(ctx, x):  # - <-
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

    return Square.apply(torch.ones(2, requires_grad=True))


@mistake("Square.forward", "ctx", "setup_context", remedy="setup_context(ctx, inputs, output)", says=NameError)
def ctx_in_forward():
    """forward uses a ctx that it does not have.

    With a setup_context, forward only computes. Store the values for backward in setup_context.
    """

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


@mistake(
    "Scale.forward",
    "3 arguments",
    "forward(x, factor)",
    "setup_context",
    remedy="def setup_context(ctx, inputs, output)",
    says=TypeError,
)
def setup_missing():
    """forward takes no ctx, but the class has no setup_context.

    Without setup_context, minigrad calls forward with the ctx, because nothing else could store values for backward.
    """

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


@mistake("Square.forward", "`setup_contex`", "forward(x)", "2 arguments", remedy="rename", says=TypeError)
def setup_misspelt():
    """setup_context is misspelt.

    minigrad does not look for a method with the name setup_contex, so it calls forward with a ctx.
    """

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        # + def setup_context(ctx, inputs, output):
        def setup_contex(ctx, inputs, output):  # - <-
            ctx.save_for_backward(*inputs)

    return Square.apply(torch.ones(2, requires_grad=True))


@mistake("Total", "`set_up_context`", "setup_context", remedy="rename", says="misspelt-method")
def setup_misspelt_unnoticed():
    """setup_context is misspelt, and forward takes any number of arguments.

    forward then silently gets the ctx as one of them.
    """

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


@mistake("Square", "setup_context", "grad", remedy="def setup_context(ctx, inputs, output)")
def transform_without_setup():
    """A Function whose forward takes a ctx is used under func.grad.

    Under a transform a tensor has one value inside and another outside. A forward that both computes and saves cannot tell
    which one it saves, so the two steps have to be separate.
    """

    class Square(torch.autograd.Function):
        @staticmethod
        # + def forward(x):
        def forward(ctx, x):  # - <=
            ctx.save_for_backward(x)  # -
            return x * x

        # + @staticmethod
        # + def setup_context(ctx, inputs, output):
        # +     ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g

    return torch.func.grad(lambda x: Square.apply(x).sum())(torch.ones(2))  # <-


@mistake(
    "Square.setup_context",
    "save_for_backward",
    "argument 0",
    "tuple",
    remedy="save_for_backward(*inputs)",
    says=TypeError,
)
def inputs_saved():
    """setup_context saves the tuple of inputs.

    inputs is a tuple of all arguments of forward, even of a single one.
    """

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs)  # - <-
            # + ctx.save_for_backward(*inputs)

    return Square.apply(torch.ones(2, requires_grad=True))


@mistake("Double.setup_context", "inputs", "tuple", "1 argument", "shape", remedy="(x,) = inputs", says=AttributeError)
def inputs_not_unpacked():
    """setup_context uses the tuple of inputs like its only tensor.

    inputs is a tuple of all arguments of forward, even of a single one. The comma in `x, = inputs` unpacks it.
    """

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


@mistake(
    "Scale.setup_context",
    "inputs",
    "2 arguments",
    "(x, factor)",
    "expected 1",
    remedy="(x, factor) = inputs",
    says=ValueError,
)
def inputs_count():
    """setup_context unpacks fewer values from inputs than forward has arguments.

    inputs has all arguments of forward, not only the tensors.
    """

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


@mistake(
    "SinCos.setup_context",
    "save_for_backward",
    "argument 0",
    "tuple",
    remedy="save_for_backward(*output)",
    says=TypeError,
)
def outputs_saved():
    """setup_context saves the tuple of outputs.

    output is the return value of forward: for several outputs, their tuple.
    """

    class SinCos(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x.sin(), x.cos()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(output)  # - <-
            # + ctx.save_for_backward(*output)

    return SinCos.apply(torch.ones(2, requires_grad=True))


@mistake(
    "Square.setup_context",
    "3 arguments",
    "setup_context(ctx, inputs)",
    remedy="def setup_context(ctx, inputs, output)",
    says=TypeError,
)
def output_forgotten():
    """setup_context does not take the output.

    It is called with the ctx, the tuple of inputs and the output.
    """

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        # + def setup_context(ctx, inputs, output):
        def setup_context(ctx, inputs):  # - <-
            ctx.save_for_backward(*inputs)

    return Square.apply(torch.ones(2, requires_grad=True))


@mistake(
    "Scale.setup_context",
    "3 arguments",
    "setup_context(ctx, x, factor, output)",
    remedy="def setup_context(ctx, inputs, output)",
    says=TypeError,
)
def inputs_spread_out():
    """setup_context takes forward's arguments one by one.

    They arrive as one tuple.
    """

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


@mistake(
    "Square.setup_context",
    "save_for_backward",
    "setup_context(inputs, output, ctx)",
    remedy="def setup_context(ctx, inputs, output)",
    says=AttributeError,
)
def ctx_not_first():
    """setup_context takes its arguments in a different order.

    They are passed by position, and the ctx is always the first.
    """

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


@mistake("Square.setup_context", "tuple", remedy="ctx.save_for_backward", says="setup-context-returns")
def setup_returns():
    """setup_context returns something.

    It fills the ctx; its return value is ignored.
    """

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


@mistake("Square.forward", "output 1", "ctx", remedy="return only", says=TypeError)
def ctx_returned():
    """forward returns the ctx beside its result.

    minigrad keeps the ctx itself. The return value of forward goes to the caller of apply.
    """

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * x, ctx  # <-

    return Square.apply(torch.ones(2, requires_grad=True))


ctx_returned_corrected = both_styles.corrected()


@mistake(
    "Square.backward",
    "saved tensor 0",
    "(2,)",
    "made by mul",
    remedy="save the inputs and recompute it in backward, or return it from forward as an output",
    says="saved-intermediate",
    under="debug",
)
def derived_saved():
    """A tensor computed from the input is saved, and the gradient is differentiated again.

    Tensors computed in forward have no history. backward treats them as constants, so the second derivative misses the part
    that goes through them.
    """

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
