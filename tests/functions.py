"""Custom Functions that several tests use."""

import minigrad


def custom(name, torch=minigrad, **members):
    """Return a custom Function with these static methods and attributes; None leaves one out."""
    own = {k: staticmethod(m) if callable(m) else m for k, m in members.items() if m is not None}
    return type(name, (torch.autograd.Function,), own)


def leaf(*values):
    return minigrad.tensor(values or (1.0, 2.0), requires_grad=True)


class Exp(minigrad.autograd.Function):
    @staticmethod
    def forward(ctx, i):
        result = i.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, g):
        (result,) = ctx.saved_tensors
        return g * result
