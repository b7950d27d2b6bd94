"""Time function transforms: func.grad, once and twice, per-sample gradients, Hessians."""

import numpy as np

from ..case import case, target
from .networks import COMPILED, jax_loss, loss_of, network, tensors

SHAPES = (32, 64), (32,), (10, 32), (10,)


def small():
    """Return three numbers."""
    return np.float32([0.1, 0.2, 0.3])


@case(target("minigrad", "torch", 0.6), COMPILED)
def func_grad(lib, compiled):
    """func.grad of sum(sin(x) * x) on 3 elements."""
    x = lib.tensor(small())
    f = compiled(lib.func.grad(lambda x: (x.sin() * x).sum()))
    return lambda: (f(x),)


@func_grad.jax
def _(jax):
    x = jax.numpy.asarray(small())
    f = jax.jit(jax.grad(lambda x: (jax.numpy.sin(x) * x).sum()))
    return lambda: (f(x),)


@func_grad.autograd
def _(autograd):
    f = autograd.grad(lambda x: autograd.numpy.sum(autograd.numpy.sin(x) * x))
    return lambda: (f(small()),)


@case(target("minigrad", "torch", 1.0), COMPILED)
def func_grad_of_grad(lib, compiled):
    """func.grad of the sum of func.grad, the same function."""
    x = lib.tensor(small())
    inner = lib.func.grad(lambda x: (x.sin() * x).sum())
    f = compiled(lib.func.grad(lambda x: inner(x).sum()))
    return lambda: (f(x),)


@func_grad_of_grad.jax
def _(jax):
    x = jax.numpy.asarray(small())
    inner = jax.grad(lambda x: (jax.numpy.sin(x) * x).sum())
    f = jax.jit(jax.grad(lambda x: inner(x).sum()))
    return lambda: (f(x),)


@func_grad_of_grad.autograd
def _(autograd):
    np_ = autograd.numpy
    inner = autograd.grad(lambda x: np_.sum(np_.sin(x) * x))
    f = autograd.grad(lambda x: np_.sum(inner(x)))
    return lambda: (f(small()),)


@case(target("minigrad", "torch", 0.6), COMPILED, n=32)
def per_sample_gradients(lib, compiled, n):
    """Gradients of a 64-32-10 network for each of {n} samples: vmap of grad."""
    parameters, images, labels = tensors(lib, SHAPES, n)
    parameters = [p.detach() for p in parameters]

    def one(parameters, image, label):
        return loss_of(lib, parameters, image[None], label[None])

    f = compiled(lib.vmap(lib.func.grad(one), in_dims=(None, 0, 0)))
    return lambda: f(parameters, images, labels)


@per_sample_gradients.jax
def _(jax, n):
    parameters, images, labels = network(SHAPES, n)
    parameters, images, labels = (
        map(jax.numpy.asarray, parameters),
        jax.numpy.asarray(images),
        jax.numpy.asarray(labels),
    )
    parameters = list(parameters)

    def one(parameters, image, label):
        return jax_loss(jax, parameters, image[None], label[None])

    f = jax.jit(jax.vmap(jax.grad(one), in_axes=(None, 0, 0)))
    return lambda: f(parameters, images, labels)


@case(target("minigrad", "torch", 1.0), COMPILED, n=200, quick=10)
def hessian(lib, compiled, n):
    """A {n} x {n} Hessian of sum(sin(x) * x) ** 2, float64."""
    x = lib.tensor(np.linspace(0.1, 1.0, n))
    f = compiled(lib.func.hessian(lambda x: (x.sin() * x).sum() ** 2))
    return lambda: (f(x),)


@hessian.jax
def _(jax, n):
    x = jax.numpy.linspace(0.1, 1.0, n)
    f = jax.jit(jax.hessian(lambda x: (jax.numpy.sin(x) * x).sum() ** 2))
    return lambda: (f(x),)


@hessian.autograd
def _(autograd, n):
    np_ = autograd.numpy
    x, f = np.linspace(0.1, 1.0, n), autograd.hessian(lambda x: np_.sum(np_.sin(x) * x) ** 2)
    return lambda: (f(x),)


TINY = ((4, 2), (4,), (2, 4), (2,))  # 22 numbers


def tiny():
    """Return the parameters of a network in one vector, points and their classes."""
    parameters, points, classes = network(TINY, 16, (2,))
    return np.concatenate([p.ravel() for p in parameters]), points, classes % 2


def unpacked(vector):
    """Return the parameters unpacked from a vector."""
    return vector[:8].reshape(4, 2), vector[8:12], vector[12:20].reshape(2, 4), vector[20:]


@case(target("minigrad", "torch", 1.0), COMPILED)
def hessian_of_network(lib, compiled):
    """The Hessian of the loss of a 2-4-2 network on 16 points: 22 x 22."""
    vector, points, classes = map(lib.tensor, tiny())
    f = compiled(lib.func.hessian(lambda v, points, classes: loss_of(lib, unpacked(v), points, classes)))
    return lambda: (f(vector, points, classes),)


@hessian_of_network.jax
def _(jax):
    vector, points, classes = map(jax.numpy.asarray, tiny())
    f = jax.jit(jax.hessian(lambda v, points, classes: jax_loss(jax, unpacked(v), points, classes)))
    return lambda: (f(vector, points, classes),)
