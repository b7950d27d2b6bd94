"""Custom Functions of all kinds, for pages that compute them by what their methods computed."""

import numpy as np

import minigrad as torch

F64 = torch.float64


class Saves(torch.autograd.Function):
    """Saves an intermediate, computes with constants, and writes in place in its backward."""

    @staticmethod
    def forward(ctx, x, w, power):
        inner = x.exp() + torch.ones(3, dtype=F64)
        ctx.save_for_backward(inner, w)
        ctx.power = power
        return inner**power * w

    @staticmethod
    def backward(ctx, g):
        inner, w = ctx.saved_tensors
        slope = g * ctx.power * inner ** (ctx.power - 1)
        slope.mul_(w)
        slope += torch.zeros(3, dtype=F64)
        return (
            slope * (inner - 1),
            (g * inner**ctx.power).cumsum(0).flip(0).cumsum(0).diff(prepend=torch.zeros(1, dtype=F64)),
            None,
        )


class Attribute(torch.autograd.Function):
    """Keeps a tensor on ctx under another name than the variable."""

    @staticmethod
    def forward(ctx, x):
        y = x.sigmoid()
        ctx.kept = y
        return y * 2

    @staticmethod
    def backward(ctx, g):
        y = ctx.kept
        return g * 2 * y * (1 - y)


class Uniform(torch.autograd.Function):
    """Keeps a number on ctx, which may as well be a constant."""

    @staticmethod
    def forward(ctx, x):
        n = x.sum()
        ctx.total = n
        return x * n

    @staticmethod
    def backward(ctx, g):
        return g * ctx.total


class TwoOutputs(torch.autograd.Function):
    """Has two results and a jvp; with setup_context."""

    @staticmethod
    def forward(x, y):
        return x * y, x.sin()

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, y = inputs
        ctx.save_for_backward(x.cos(), x, y)
        ctx.save_for_forward(x.cos(), x, y)

    @staticmethod
    def backward(ctx, g, h):
        c, x, y = ctx.saved_tensors
        return g * y + h * c, g * x

    @staticmethod
    def jvp(ctx, x_t, y_t):
        c, x, y = ctx.saved_tensors
        product = x_t * y
        product.add_(y_t * x)
        return product, c * x_t


class Places(torch.autograd.Function):
    """One of its results has no gradient."""

    @staticmethod
    def forward(ctx, x):
        values, places = x.sort()
        ctx.mark_non_differentiable(places)
        ctx.save_for_backward(places)
        return values, places

    @staticmethod
    def backward(ctx, g, _):
        (places,) = ctx.saved_tensors
        return torch.zeros_like(g).scatter(0, places, g)


class Dirty(torch.autograd.Function):
    """Writes to its input."""

    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(x.detach().cos())

    @staticmethod
    def backward(ctx, g):
        return g * 3


class Nested(torch.autograd.Function):
    """Applies others in both passes."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return Attribute.apply(Attribute.apply(x))

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * Attribute.apply(x)


class Identity(torch.autograd.Function):
    """Returns its input, and the gradient as it comes."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return -g


class Host(torch.autograd.Function):
    """Computes in NumPy."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.tensor(np.sin(x.detach().numpy()))

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.cos()


class HostBackward(torch.autograd.Function):
    """Computes its backward in NumPy."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return torch.tensor(g.numpy() * np.cos(x.detach().numpy()))


def of_places(x):
    values, places = Places.apply(x)
    return (values * places).sum()


class StraightThrough(torch.autograd.Function):
    """Returns the gradient and the tangent that it gets."""

    @staticmethod
    def forward(ctx, x):
        return x.round(), x.sign()

    @staticmethod
    def backward(ctx, g, h):
        return g

    @staticmethod
    def jvp(ctx, x_t):
        return x_t, x_t


PROGRAMS = {
    "straight through": lambda x: sum(y.sum() for y in StraightThrough.apply(x * 3)),
    "saves": lambda x: Saves.apply(x, x * 2, 3).sum(),
    "attribute": lambda x: (Attribute.apply(x) * x).sum(),
    "uniform": lambda x: Uniform.apply(x).sum(),
    "two outputs": lambda x: (TwoOutputs.apply(x, x * 2)[0] + TwoOutputs.apply(x * 2, x)[1]).sum(),
    "one of two outputs": lambda x: TwoOutputs.apply(x, x * 2)[1].sum(),
    "places": of_places,
    "dirty": lambda x: Dirty.apply(x * 1).sum(),
    "nested": lambda x: Nested.apply(x).sum(),
    "identity": lambda x: (Identity.apply(x) * x).sum(),
    "twice": lambda x: Saves.apply(Saves.apply(x, x, 2) / 100, x, 2).sum(),
    "host": lambda x: (Host.apply(x) * x).sum(),
    "host backward": lambda x: (HostBackward.apply(x) * x).sum(),
}
WITH_JVP = ("two outputs", "one of two outputs", "straight through")
FROZEN = {
    "uniform": "Uniform.backward reads a tensor from ctx that the record does not follow",
    "host": "Host.forward computes in NumPy",
    "host backward": "HostBackward.backward computes in NumPy",
}
