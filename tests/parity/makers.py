"""Programs of several themes share these makers: custom Functions and dual tensors, for PyTorch or for minigrad."""


def square_function(torch, seen=None):
    """x * x; `seen` collects the gradients that arrive."""

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            if seen is not None:
                seen.append(g)
            return 2 * x * g

    return Square


def product_function(torch):
    """x * y * factor, in the form with setup_context."""

    class ScaledProduct(torch.autograd.Function):
        @staticmethod
        def forward(x, y, factor):
            return x * y * factor

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, y, ctx.factor = inputs
            ctx.save_for_backward(x, y)

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * y * ctx.factor, g * x * ctx.factor, None

    return ScaledProduct


def dual_of(torch, primal, tangent, dtype=None):
    """Return a dual tensor of two lists."""
    return torch.autograd.forward_ad.make_dual(torch.tensor(primal, dtype=dtype), torch.tensor(tangent, dtype=dtype))


def parts_of(torch, dual):
    """Return the primal and the tangent."""
    primal, tangent = torch.autograd.forward_ad.unpack_dual(dual)
    return primal, tangent
