"""Time a recurrent network written as a loop: eager code runs each step, compiled code is one program of all steps."""

import numpy as np

from ..case import case, target
from .networks import COMPILED

BATCH, WIDTH, HIDDEN = 32, 32, 64
TARGETS = target("minigrad", "torch", 1.0), COMPILED


def sequence(n):
    """Return the words and the parameters: weights of a word and of the previous state, and the bias."""
    random = np.random.default_rng(0)
    shapes = (BATCH, n, WIDTH), (HIDDEN, WIDTH), (HIDDEN, HIDDEN), (HIDDEN,)
    return [random.standard_normal(s, np.float32) * np.float32(0.1) for s in shapes]


def last(lib, words, w, u, b):
    """Return the last state."""
    hidden = lib.zeros(BATCH, HIDDEN)
    for t in range(words.shape[1]):
        hidden = lib.tanh(words[:, t] @ w.T + hidden @ u.T + b)
    return hidden


@case(*TARGETS, n=50, quick=4)
def rnn_forward(lib, compiled, n):
    """{n} steps of a recurrent network of 64 numbers, batch 32, forward."""
    arguments = [lib.tensor(a) for a in sequence(n)]
    f = compiled(lambda *arguments: last(lib, *arguments))
    return lambda: (f(*arguments),)


@case(*TARGETS, n=50, quick=4)
def rnn_gradient(lib, compiled, n):
    """{n} steps of a recurrent network, and the gradients of the mean square of what they leave."""
    words, *parameters = [lib.tensor(a) for a in sequence(n)]
    for p in parameters:
        p.requires_grad_()

    @compiled
    def f(words, *parameters):
        loss = (last(lib, words, *parameters) ** 2).mean()
        return loss.detach(), *lib.autograd.grad(loss, parameters)

    return lambda: f(words, *parameters)


# ---------------------------------------------------------------------- JAX
def jax_last(jax, words, w, u, b):
    """Return the last state, computed by a scan, JAX's form of such a loop."""
    jnp = jax.numpy
    step = lambda hidden, word: (jnp.tanh(word @ w.T + hidden @ u.T + b), None)
    return jax.lax.scan(step, jnp.zeros((BATCH, HIDDEN), jnp.float32), words.swapaxes(0, 1))[0]


@rnn_forward.jax
def _(jax, n):
    arguments = [jax.numpy.asarray(a) for a in sequence(n)]
    f = jax.jit(lambda *arguments: jax_last(jax, *arguments))
    return lambda: (f(*arguments),)


@rnn_gradient.jax
def _(jax, n):
    words, *parameters = [jax.numpy.asarray(a) for a in sequence(n)]
    loss = lambda parameters, words: (jax_last(jax, words, *parameters) ** 2).mean()
    graded = jax.jit(jax.value_and_grad(loss))

    def run():
        value, gradients = graded(parameters, words)
        return value, *gradients

    return run


# ---------------------------------------------------------------------- mygrad and autograd
def mygrad_last(mg, words, w, u, b):
    """Return the last state."""
    hidden = np.zeros((BATCH, HIDDEN), np.float32)
    for t in range(words.shape[1]):
        hidden = mg.tanh(mg.matmul(words[:, t], w.T) + mg.matmul(hidden, u.T) + b)
    return hidden


@rnn_gradient.mygrad
def _(mg, n):
    words, *parameters = sequence(n)
    parameters = [mg.tensor(p) for p in parameters]

    def run():
        loss = (mygrad_last(mg, words, *parameters) ** 2).mean()
        loss.backward()
        return loss, *[p.grad for p in parameters]

    return run


@rnn_gradient.autograd
def _(autograd, n):
    np_ = autograd.numpy
    words, *parameters = sequence(n)

    def loss(parameters):
        w, u, b = parameters
        hidden = np.zeros((BATCH, HIDDEN), np.float32)
        for t in range(words.shape[1]):
            hidden = np_.tanh(np_.dot(words[:, t], w.T) + np_.dot(hidden, u.T) + b)
        return np_.mean(hidden**2)

    graded = autograd.value_and_grad(loss)

    def run():
        value, gradients = graded(parameters)
        return value, *gradients

    return run
