"""Time a pointwise formula on large arrays.  Memory traffic dominates: each fused operation saves a pass."""

import numpy as np

from ..case import case, target


def two(n):
    """Return two arrays of n float32."""
    random = np.random.default_rng(0)
    return [random.standard_normal(n, np.float32) for _ in range(2)]


@case(
    target("minigrad", "torch", 1.0),
    target("minigrad.compile", ("torch.compile", "jax.jit"), 0.2),
    target("minigrad.compile", "copying", 1.5),
    n=10**7,
    quick=10**5,
)
def pointwise(lib, compiled, n):
    """tanh(x) * sigmoid(y) + exp(-x * x) on {n} float32: values and both gradients."""
    x, y = [lib.tensor(a, requires_grad=True) for a in two(n)]
    ones = lib.ones(n)

    @compiled
    def f(x, y):
        z = lib.tanh(x) * lib.sigmoid(y) + lib.exp(-x * x)
        return z.detach(), *lib.autograd.grad(z, (x, y), ones)

    return lambda: f(x, y)


@pointwise.jax
def _(jax, n):
    jnp = jax.numpy
    x, y, ones = [jnp.asarray(a) for a in (*two(n), np.ones(n, np.float32))]

    @jax.jit
    def f(x, y, ones):
        z, pull = jax.vjp(lambda x, y: jnp.tanh(x) * jax.nn.sigmoid(y) + jnp.exp(-x * x), x, y)
        return z, *pull(ones)

    return lambda: f(x, y, ones)


@pointwise.mygrad
def _(mg, n):
    x, y = map(mg.tensor, two(n))
    ones = np.ones(n, np.float32)

    def run():
        z = mg.tanh(x) * mg.nnet.sigmoid(y) + mg.exp(-x * x)
        z.backward(ones)
        return z, x.grad, y.grad

    return run


@pointwise.autograd
def _(autograd, n):
    np_ = autograd.numpy
    x, y = two(n)
    ones = np.ones(n, np.float32)
    f = autograd.make_vjp(lambda x, y: np_.tanh(x) / (1 + np_.exp(-y)) + np_.exp(-x * x), (0, 1))

    def run():
        pull, z = f(x, y)
        return z, *pull(ones)

    return run


@pointwise.yardstick("copying")
def _(n):
    """Read and write the same bytes with memcpy: read x and y, create three arrays."""
    x, y = two(n)
    return lambda: (x.copy(), y.copy(), np.full(n, 0, np.float32))
