"""Time whole training steps: loss, gradients and plain gradient descent.  Compiled contestants compile all of it."""

import numpy as np

from ..case import case, target
from .rows import autograd_cross_entropy

RATE = 0.01
COMPILED = target("minigrad.compile", ("torch.compile", "jax.jit"), 1.0)
DIGITS = (32, 64), (32,), (10, 32), (10,)
LARGE = (1024, 64), (1024,), (10, 1024), (10,)
CNN = (8, 1, 3, 3), (8,), (16, 8, 3, 3), (16,), (10, 64), (10,)
ATTENTION, HEADS = ((96, 32), (96,), (32, 32), (32,), (10, 32), (10,)), 4


def network(shapes, batch, image=(64,)):
    """Return parameters of these shapes, images and labels, as arrays."""
    random = np.random.default_rng(0)
    parameters = [random.standard_normal(s, np.float32) * np.float32(0.1) for s in shapes]
    return parameters, random.standard_normal((batch, *image), np.float32), random.integers(0, 10, batch)


def tensors(lib, shapes, batch, image=(64,)):
    """Return the same as tensors."""
    parameters, images, labels = network(shapes, batch, image)
    return [lib.tensor(p, requires_grad=True) for p in parameters], lib.tensor(images), lib.tensor(labels)


def step(lib, compiled, loss, parameters, images, labels):
    """Return the function to time: a step with the shared `loss`."""

    @compiled
    def whole(parameters, images, labels, rate):
        value = loss(lib, parameters, images, labels)
        gradients = lib.autograd.grad(value, parameters)
        with lib.no_grad():
            for p, g in zip(parameters, gradients):
                p.sub_(rate * g)
        return value.detach()

    return lambda: (whole(parameters, images, labels, RATE),)


def loss_of(lib, parameters, images, labels):
    """Return the loss of a network of two layers."""
    w1, b1, w2, b2 = parameters
    F = lib.nn.functional
    return F.cross_entropy(F.linear(F.linear(images, w1, b1).tanh(), w2, b2), labels)


def cnn_loss(lib, parameters, images, labels):
    """Return the loss of two convolutions with pooling and one layer."""
    w1, b1, w2, b2, w3, b3 = parameters
    F = lib.nn.functional
    hidden = F.max_pool2d(F.conv2d(images, w1, b1, padding=1).relu(), 2)
    hidden = F.max_pool2d(F.conv2d(hidden, w2, b2, padding=1).relu(), 2)
    return F.cross_entropy(F.linear(hidden.flatten(1), w3, b3), labels)


def attention_loss(lib, parameters, words, labels):
    """Return the loss of self-attention over sequences of words, a mean over each, and one layer."""
    w1, b1, w2, b2, w3, b3 = parameters
    F, (batch, length, width) = lib.nn.functional, words.shape
    heads = F.linear(words, w1, b1).reshape(batch, length, 3, HEADS, width // HEADS).permute(2, 0, 3, 1, 4)
    q, k, v = heads[0], heads[1], heads[2]
    found = lib.softmax(q @ k.mT / (width // HEADS) ** 0.5, -1) @ v
    hidden = words + F.linear(found.transpose(1, 2).reshape(batch, length, width), w2, b2)
    return F.cross_entropy(F.linear(hidden.mean(1), w3, b3), labels)


@case(target("minigrad", "torch", 0.6), target("minigrad.compile", "jax.jit", 0.15))
def network_step(lib, compiled):
    """A training step of a 64-32-10 network, batch 32."""
    return step(lib, compiled, loss_of, *tensors(lib, DIGITS, 32))


@case(target("minigrad", "torch", 1.0), COMPILED, n=512, quick=16)
def large_network_step(lib, compiled, n):
    """A training step of a 64-1024-10 network, batch {n}."""
    return step(lib, compiled, loss_of, *tensors(lib, LARGE, n))


@case(target("minigrad", "torch", 1.0), COMPILED)
def cnn_step(lib, compiled):
    """A training step of a network with two convolutions on 8 x 8 images, batch 32."""
    return step(lib, compiled, cnn_loss, *tensors(lib, CNN, 32, (1, 8, 8)))


@case(target("minigrad", "torch", 1.0), COMPILED)
def attention_step(lib, compiled):
    """A training step of attention with 4 heads over 16 words of 32 numbers, batch 32."""
    return step(lib, compiled, attention_loss, *tensors(lib, ATTENTION, 32, (16, 32)))


# ---------------------------------------------------------------------- JAX
def jax_loss(jax, parameters, images, labels):
    """Return the loss of the network of two layers."""
    w1, b1, w2, b2 = parameters
    return jax_cross_entropy(jax, jax.numpy.tanh(images @ w1.T + b1) @ w2.T + b2, labels)


def jax_cross_entropy(jax, logits, labels):
    """Return the loss of logits."""
    return -jax.numpy.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()


def jax_cnn_loss(jax, parameters, images, labels):
    """Return the loss of the network with two convolutions."""
    w1, b1, w2, b2, w3, b3 = parameters
    jnp, lax = jax.numpy, jax.lax

    def layer(x, w, b):
        y = jax.nn.relu(lax.conv_general_dilated(x, w, (1, 1), "SAME") + b[:, None, None])
        return lax.reduce_window(y, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    hidden = layer(layer(images, w1, b1), w2, b2)
    return jax_cross_entropy(jax, hidden.reshape(len(images), -1) @ w3.T + b3, labels)


def jax_attention_loss(jax, parameters, words, labels):
    """Return the loss of self-attention, a mean over each sequence, and one layer."""
    w1, b1, w2, b2, w3, b3 = parameters
    batch, length, width = words.shape
    q, k, v = (words @ w1.T + b1).reshape(batch, length, 3, HEADS, width // HEADS).transpose(2, 0, 3, 1, 4)
    found = jax.nn.softmax(q @ k.mT / (width // HEADS) ** 0.5) @ v
    hidden = words + found.swapaxes(1, 2).reshape(batch, length, width) @ w2.T + b2
    return jax_cross_entropy(jax, hidden.mean(1) @ w3.T + b3, labels)


def jax_step(jax, loss, parameters, images, labels):
    """Return a step that makes new parameters from the old ones and may reuse their memory."""
    state = [jax.numpy.array(p) for p in parameters]
    images, labels = jax.numpy.asarray(images), jax.numpy.asarray(labels)

    def whole(parameters, images, labels, rate):
        value, gradients = jax.value_and_grad(lambda p: loss(jax, p, images, labels))(parameters)
        return [p - rate * g for p, g in zip(parameters, gradients)], value

    whole = jax.jit(whole, donate_argnums=0)

    def run():
        state[:], value = whole(state, images, labels, RATE)
        return (value,)

    return run


network_step.jax(lambda jax: jax_step(jax, jax_loss, *network(DIGITS, 32)))
large_network_step.jax(lambda jax, n: jax_step(jax, jax_loss, *network(LARGE, n)))
cnn_step.jax(lambda jax: jax_step(jax, jax_cnn_loss, *network(CNN, 32, (1, 8, 8))))
attention_step.jax(lambda jax: jax_step(jax, jax_attention_loss, *network(ATTENTION, 32, (16, 32))))


# ---------------------------------------------------------------------- mygrad
def mygrad_loss(mg, parameters, images, labels):
    """Return the loss of the network of two layers."""
    w1, b1, w2, b2 = parameters
    logits = mg.matmul(mg.tanh(mg.matmul(images, w1.T) + b1), w2.T) + b2
    return mg.nnet.softmax_crossentropy(logits, labels)


def mygrad_cnn_loss(mg, parameters, images, labels):
    """Return the loss of the network with two convolutions."""
    w1, b1, w2, b2, w3, b3 = parameters

    def layer(x, w, b):
        y = mg.nnet.relu(mg.nnet.conv_nd(x, w, stride=1, padding=1) + b.reshape(-1, 1, 1))
        return mg.nnet.max_pool(y, (2, 2), 2)

    hidden = layer(layer(images, w1, b1), w2, b2)
    return mg.nnet.softmax_crossentropy(mg.matmul(hidden.reshape(len(images), -1), w3.T) + b3, labels)


def mygrad_step(mg, loss, parameters, images, labels):
    """Return a step that writes to the parameters' arrays."""
    parameters = [mg.tensor(p) for p in parameters]

    def run():
        value = loss(mg, parameters, images, labels)
        value.backward()
        for p in parameters:
            p.data -= np.float32(RATE) * p.grad
        return (value,)

    return run


network_step.mygrad(lambda mg: mygrad_step(mg, mygrad_loss, *network(DIGITS, 32)))
large_network_step.mygrad(lambda mg, n: mygrad_step(mg, mygrad_loss, *network(LARGE, n)))
cnn_step.mygrad(lambda mg: mygrad_step(mg, mygrad_cnn_loss, *network(CNN, 32, (1, 8, 8))))


# ---------------------------------------------------------------------- autograd, which lacks image convolutions
def autograd_step(autograd, parameters, images, labels):
    """Return a step that writes to the parameters' arrays."""
    np_ = autograd.numpy

    def loss(parameters):
        w1, b1, w2, b2 = parameters
        logits = np_.dot(np_.tanh(np_.dot(images, w1.T) + b1), w2.T) + b2
        return autograd_cross_entropy(autograd, logits, labels)

    whole = autograd.value_and_grad(loss)

    def run():
        value, gradients = whole(parameters)
        for p, g in zip(parameters, gradients):
            p -= np.float32(RATE) * g
        return (value,)

    return run


network_step.autograd(lambda autograd: autograd_step(autograd, *network(DIGITS, 32)))
large_network_step.autograd(lambda autograd, n: autograd_step(autograd, *network(LARGE, n)))
