"""Time custom Functions in both forms: the combined forward(ctx, x), and the separate one with setup_context."""

import numpy as np

from ..case import case, target
from .small import backward, mygrad_backward


def combined(lib):
    """exp in the combined form."""

    class Exp(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            result = x.exp()
            ctx.save_for_backward(result)
            return result

        @staticmethod
        def backward(ctx, g):
            (result,) = ctx.saved_tensors
            return g * result

    return Exp


def separate(lib):
    """exp in the separate form."""

    class Exp(lib.autograd.Function):
        @staticmethod
        def forward(x):
            return x.exp()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(output)

        @staticmethod
        def backward(ctx, g):
            (result,) = ctx.saved_tensors
            return g * result

    return Exp


def argument():
    """Return three numbers."""
    return np.float32([0.1, 0.2, 0.3])


def applied(lib, function):
    """Return a function that applies `function` to a leaf, without backward."""
    x = lib.tensor(argument(), requires_grad=True)
    return lambda: (function.apply(x),)


def differentiated(lib, function):
    """Return a function that runs `function` and its backward."""
    x = lib.tensor(argument(), requires_grad=True)
    return lambda: backward(function.apply(x).sum(), x)


@case(target("minigrad", "torch", 0.4), compiles=False)
def custom_apply(lib, compiled):
    """A custom Function with setup_context on 3 elements, applied."""
    return applied(lib, separate(lib))


@case(target("minigrad", "torch", 0.4), compiles=False)
def custom_backward(lib, compiled):
    """A custom Function with setup_context on 3 elements, summed, forward and backward."""
    return differentiated(lib, separate(lib))


@case(target("minigrad", "torch", 0.4), compiles=False)
def custom_combined_apply(lib, compiled):
    """A custom Function with forward(ctx, x) on 3 elements, applied."""
    return applied(lib, combined(lib))


@case(target("minigrad", "torch", 0.4), compiles=False)
def custom_combined_backward(lib, compiled):
    """A custom Function with forward(ctx, x) on 3 elements, summed, forward and backward."""
    return differentiated(lib, combined(lib))


# ---------------------------------------------------------------------- the equivalents in other libraries
def jax_exp(jax):
    """Return exp with a custom rule."""
    exp = jax.custom_vjp(jax.numpy.exp)

    def forward(x):
        result = jax.numpy.exp(x)
        return result, result

    exp.defvjp(forward, lambda result, g: (g * result,))
    return exp


@custom_backward.jax
def _(jax):
    exp, x = jax_exp(jax), jax.numpy.asarray(argument())
    f = jax.jit(jax.grad(lambda x: exp(x).sum()))
    return lambda: (f(x),)


def mygrad_exp(mg):
    """exp as an Operation."""
    from mygrad.operation_base import Operation

    class Exp(Operation):
        def __call__(self, x):
            self.variables = (x,)
            self.result = np.exp(x.data)
            return self.result

        def backward_var(self, grad, index, **kwargs):
            return grad * self.result

    return lambda x: mg.Tensor._op(Exp, x)


@custom_apply.mygrad
def _(mg):
    exp, x = mygrad_exp(mg), mg.tensor(argument())
    return lambda: (exp(x),)


@custom_backward.mygrad
def _(mg):
    exp, x = mygrad_exp(mg), mg.tensor(argument())
    return lambda: mygrad_backward(exp(x).sum(), x)


@custom_backward.autograd
def _(autograd):
    exp = autograd.extend.primitive(np.exp)
    autograd.extend.defvjp(exp, lambda result, x: lambda g: g * result)
    x, f = argument(), autograd.grad(lambda x: autograd.numpy.sum(exp(x)))
    return lambda: (f(x),)
