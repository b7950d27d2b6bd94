"""Define cases that grow in growth.py: elements, parameters, layers.  For operations and vmap's batch see other themes."""

import numpy as np

from ..case import case
from .networks import jax_cross_entropy, jax_loss, jax_step, loss_of, network, step, tensors


@case(n=10**6, quick=10)
def elements(lib, compiled, n):
    """autograd.grad of sum(sin(x)) on {n} float32."""
    x = lib.tensor(numbers(n), requires_grad=True)
    f = compiled(lambda x: lib.autograd.grad(x.sin().sum(), x))
    return lambda: tuple(f(x))


def numbers(n):
    """Return n numbers from 0 to 1."""
    return np.linspace(0, 1, n, dtype=np.float32)


@elements.jax
def _(jax, n):
    x = jax.numpy.asarray(numbers(n))
    f = jax.jit(jax.grad(lambda x: jax.numpy.sin(x).sum()))
    return lambda: (f(x),)


@elements.autograd
def _(autograd, n):
    x, f = numbers(n), autograd.grad(lambda x: autograd.numpy.sum(autograd.numpy.sin(x)))
    return lambda: (f(x),)


def wide(n):
    """Return the shapes of a network with n hidden units."""
    return (n, 64), (n,), (10, n), (10,)


@case(n=1000, quick=10)
def parameters(lib, compiled, n):
    """A training step of a 64-{n}-10 network, batch 32."""
    return step(lib, compiled, loss_of, *tensors(lib, wide(n), 32))


parameters.jax(lambda jax, n: jax_step(jax, jax_loss, *network(wide(n), 32)))


def deep(n):
    """Return the shapes of a network of n layers."""
    return (32, 64), (32,), *((32, 32), (32,)) * (n - 2), (10, 32), (10,)


def deep_loss(lib, parameters, images, labels):
    """Return the loss of a network of many layers."""
    F, hidden = lib.nn.functional, images
    for k in range(0, len(parameters) - 2, 2):
        hidden = F.linear(hidden, parameters[k], parameters[k + 1]).tanh()
    return F.cross_entropy(F.linear(hidden, *parameters[-2:]), labels)


def jax_deep_loss(jax, parameters, images, labels):
    """Return the loss of the same network in JAX."""
    hidden = images
    for k in range(0, len(parameters) - 2, 2):
        hidden = jax.numpy.tanh(hidden @ parameters[k].T + parameters[k + 1])
    return jax_cross_entropy(jax, hidden @ parameters[-2].T + parameters[-1], labels)


@case(n=8, quick=2)
def layers(lib, compiled, n):
    """A training step of a network with {n} layers of 32 numbers, batch 32."""
    return step(lib, compiled, deep_loss, *tensors(lib, deep(n), 32))


layers.jax(lambda jax, n: jax_step(jax, jax_deep_loss, *network(deep(n), 32)))

CASES = elements, parameters, layers
