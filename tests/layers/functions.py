"""Custom Functions for the tests of the layers."""

import numpy as np

import minigrad as torch
from tests.functions import custom


def function(name="Scale", **methods):
    """Return a Function x -> 2 x with all methods; those given replace them, None leaves one out."""
    methods = {
        "forward": lambda x: x * 2,
        "setup_context": lambda ctx, inputs, output: None,
        "backward": lambda ctx, g: g * 2,
        "jvp": lambda ctx, t: t * 2,
        "vmap": lambda info, in_dims, x: (made.apply(x), in_dims[0]),
    } | methods
    generated = methods.get("generate_vmap_rule") and methods["vmap"].__name__ == "<lambda>"
    if generated and "vmap" not in methods.get("keep", ()):
        methods["vmap"] = None
    made = custom(name, **methods | {"keep": None})
    return made


class NumpySort(torch.autograd.Function):
    """The document's first example, with a rule and a jvp."""

    @staticmethod
    def forward(x, dim):
        a = x.numpy()
        order = np.argsort(a, axis=dim)
        back = np.argsort(order, axis=dim)
        return torch.tensor(np.take_along_axis(a, order, axis=dim)), torch.tensor(order), torch.tensor(back)

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, ctx.dim = inputs
        _, order, back = output
        ctx.mark_non_differentiable(order, back)
        ctx.save_for_backward(order, back)
        ctx.save_for_forward(order, back)

    @staticmethod
    def backward(ctx, g, _0, _1):
        order, back = ctx.saved_tensors
        return NumpyTake.apply(g, back, order, ctx.dim), None

    @staticmethod
    def jvp(ctx, t, _):
        order, back = ctx.saved_tensors
        return NumpyTake.apply(t, order, back, ctx.dim), None, None

    @staticmethod
    def vmap(info, in_dims, x, dim):
        x = x.movedim(in_dims[0], 0)
        dim = dim if dim >= 0 else dim + x.dim() - 1
        return NumpySort.apply(x, dim + 1), (0, 0, 0)


class NumpyTake(torch.autograd.Function):
    """The document's second one."""

    @staticmethod
    def forward(x, order, back, dim):
        return torch.tensor(np.take_along_axis(x.numpy(), order.numpy(), dim))

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, order, back, ctx.dim = inputs
        ctx.save_for_backward(order, back)
        ctx.save_for_forward(order, back)

    @staticmethod
    def backward(ctx, g):
        order, back = ctx.saved_tensors
        return NumpyTake.apply(g, back, order, ctx.dim), None, None, None

    @staticmethod
    def jvp(ctx, t, *_):
        order, back = ctx.saved_tensors
        return NumpyTake.apply(t, order, back, ctx.dim)

    @staticmethod
    def vmap(info, in_dims, x, order, back, dim):
        rank = x.dim() - (in_dims[0] is not None)
        dim = dim if dim >= 0 else dim + rank
        front = lambda t, d: t.expand(info.batch_size, *t.shape) if d is None else t.movedim(d, 0)
        return NumpyTake.apply(*[front(t, d) for t, d in zip((x, order, back), in_dims)], dim + 1), 0


class Cube(torch.autograd.Function):
    """x -> x**3 and its derivative, saved as an output; its rule is generated."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x**3, 3 * x**2

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output[1])
        ctx.save_for_forward(inputs[0], output[1])

    @staticmethod
    def backward(ctx, g, g_slope):
        x, slope = ctx.saved_tensors
        return g * slope + g_slope * 6 * x

    @staticmethod
    def jvp(ctx, t):
        x, slope = ctx.saved_tensors
        return t * slope, t * 6 * x


class ManualCube(Cube):
    """The cube with its own vmap rule."""

    generate_vmap_rule = False

    @staticmethod
    def vmap(info, in_dims, x):
        return ManualCube.apply(x), (in_dims[0], in_dims[0])
