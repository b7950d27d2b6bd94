"""Time softmax, layer norm and cross-entropy on 512 rows of 1,000 float32, forward and backward."""

import numpy as np

from ..case import case, target

TARGETS = target("minigrad", "torch", 1.0), target("minigrad.compile", ("torch.compile", "jax.jit"), 1.0)
CLASSES = 1000


def table(rows):
    """Return the argument and a gradient of the result."""
    random = np.random.default_rng(0)
    return [random.standard_normal((rows, CLASSES), np.float32) for _ in range(2)]


def affine():
    """Return the weight and bias of a layer norm."""
    random = np.random.default_rng(1)
    return [random.standard_normal(CLASSES, np.float32) for _ in range(2)]


def labels(rows):
    """Return a class for each row."""
    return np.random.default_rng(2).integers(0, CLASSES, rows)


# ---------------------------------------------------------------------- softmax
@case(*TARGETS, n=512, quick=8)
def softmax(lib, compiled, n):
    """softmax of {n} x 1,000 float32, forward and backward."""
    x, g = map(lib.tensor, table(n))
    x.requires_grad_()

    @compiled
    def f(x, g):
        p = lib.softmax(x, -1)
        return p.detach(), *lib.autograd.grad(p, x, g)

    return lambda: f(x, g)


@softmax.jax
def _(jax, n):
    x, g = map(jax.numpy.asarray, table(n))

    @jax.jit
    def f(x, g):
        p, pull = jax.vjp(jax.nn.softmax, x)
        return p, *pull(g)

    return lambda: f(x, g)


@softmax.mygrad
def _(mg, n):
    x, g = table(n)
    x = mg.tensor(x)

    def run():
        p = mg.nnet.softmax(x)
        p.backward(g)
        return p, x.grad

    return run


def top(autograd, x):
    """Return the maximum of each row as a constant: autograd's derivative of max would widen float32 to float64."""
    return np.max(autograd.tracer.getval(x), -1, keepdims=True)


@softmax.autograd
def _(autograd, n):
    np_ = autograd.numpy
    x, g = table(n)

    def formula(x):
        e = np_.exp(x - top(autograd, x))
        return e / np_.sum(e, -1, keepdims=True)

    f = autograd.make_vjp(formula)

    def run():
        pull, p = f(x)
        return p, pull(g)

    return run


# ---------------------------------------------------------------------- layer norm
@case(*TARGETS, n=512, quick=8)
def layer_norm(lib, compiled, n):
    """Layer norm of {n} x 1,000 float32 with weight and bias, forward and backward."""
    x, g, w, b = map(lib.tensor, (*table(n), *affine()))
    for t in (x, w, b):
        t.requires_grad_()

    @compiled
    def f(x, w, b, g):
        y = lib.nn.functional.layer_norm(x, (CLASSES,), w, b)
        return y.detach(), *lib.autograd.grad(y, (x, w, b), g)

    return lambda: f(x, w, b, g)


def layer_norm_formula(np_):
    """Return a layer norm in functions with NumPy's names."""

    def formula(x, w, b):
        centred = x - np_.mean(x, -1, keepdims=True)
        return centred / np_.sqrt(np_.mean(centred * centred, -1, keepdims=True) + np.float32(1e-5)) * w + b

    return formula


@layer_norm.jax
def _(jax, n):
    x, g, w, b = map(jax.numpy.asarray, (*table(n), *affine()))

    @jax.jit
    def f(x, w, b, g):
        y, pull = jax.vjp(layer_norm_formula(jax.numpy), x, w, b)
        return y, *pull(g)

    return lambda: f(x, w, b, g)


@layer_norm.mygrad
def _(mg, n):
    x, g, w, b = (*table(n), *affine())
    x, w, b = map(mg.tensor, (x, w, b))
    formula = layer_norm_formula(mg)

    def run():
        y = formula(x, w, b)
        y.backward(g)
        return y, x.grad, w.grad, b.grad

    return run


@layer_norm.autograd
def _(autograd, n):
    x, g, w, b = (*table(n), *affine())
    f = autograd.make_vjp(layer_norm_formula(autograd.numpy), (0, 1, 2))

    def run():
        pull, y = f(x, w, b)
        return y, *pull(g)

    return run


# ---------------------------------------------------------------------- cross-entropy
@case(*TARGETS, n=512, quick=8)
def cross_entropy(lib, compiled, n):
    """Cross-entropy of {n} x 1,000 float32, forward and backward."""
    x, classes = lib.tensor(table(n)[0], requires_grad=True), lib.tensor(labels(n))

    @compiled
    def f(x, classes):
        loss = lib.nn.functional.cross_entropy(x, classes)
        return loss.detach(), *lib.autograd.grad(loss, x)

    return lambda: f(x, classes)


@cross_entropy.jax
def _(jax, n):
    x, classes = jax.numpy.asarray(table(n)[0]), jax.numpy.asarray(labels(n))

    def loss(x, classes):
        return -jax.numpy.take_along_axis(jax.nn.log_softmax(x), classes[:, None], 1).mean()

    f = jax.jit(jax.value_and_grad(loss))
    return lambda: f(x, classes)


@cross_entropy.mygrad
def _(mg, n):
    x, classes = mg.tensor(table(n)[0]), labels(n)

    def run():
        loss = mg.nnet.softmax_crossentropy(x, classes)
        loss.backward()
        return loss, x.grad

    return run


@cross_entropy.autograd
def _(autograd, n):
    x, classes = table(n)[0], labels(n)
    f = autograd.value_and_grad(lambda x: autograd_cross_entropy(autograd, x, classes))
    return lambda: f(x)


def autograd_cross_entropy(autograd, x, classes):
    """Return the cross-entropy in autograd's functions."""
    np_, shifted = autograd.numpy, x - top(autograd, x)
    log_p = shifted - np_.log(np_.sum(np_.exp(shifted), -1, keepdims=True))
    return -np_.mean(log_p[np.arange(len(classes)), classes])
