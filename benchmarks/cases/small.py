"""Time small operations, dominated by the cost of a call and of a node."""

import numpy as np

from ..case import case, target


def three(lib, requires_grad, n=3):
    """Return three vectors of n elements, in float32."""
    return [lib.tensor(v, requires_grad=requires_grad) for v in vectors(n)]


def vectors(n=3):
    """Return the same as arrays."""
    random = np.random.default_rng(0)
    return [random.standard_normal(n).astype(np.float32) for _ in range(3)]


@case(target("minigrad", "torch", 0.5))
def small_forward(lib, compiled):
    """x * y + z on 3 elements, tracked."""
    x, y, z = three(lib, True)
    f = compiled(lambda x, y, z: x * y + z)
    return lambda: (f(x, y, z),)


@small_forward.mygrad
def _(mg):
    x, y, z = map(mg.tensor, vectors())
    return lambda: (x * y + z,)


@case(target("minigrad", "torch", 0.55))
def small_forward_untracked(lib, compiled):
    """x * y + z on 3 elements, not tracked."""
    x, y, z = three(lib, False)
    f = compiled(lambda x, y, z: x * y + z)
    return lambda: (f(x, y, z),)


@small_forward_untracked.jax
def _(jax):
    x, y, z = map(jax.numpy.asarray, vectors())
    f = jax.jit(lambda x, y, z: x * y + z)
    return lambda: (f(x, y, z),)


@small_forward_untracked.mygrad
def _(mg):
    x, y, z = [mg.tensor(v, constant=True) for v in vectors()]
    return lambda: (x * y + z,)


@small_forward_untracked.autograd
def _(autograd):
    x, y, z = vectors()  # untracked values are NumPy's own arrays
    return lambda: (x * y + z,)


def backward(loss, *leaves):
    """Run the backward pass and return new gradients of the leaves."""
    for x in leaves:
        x.grad = None
    loss.backward()
    return tuple([x.grad for x in leaves])


@case(target("minigrad", "torch", 0.3), compiles=False)
def small_backward(lib, compiled):
    """(x * y + z).sum().backward() on 3 elements, with the forward pass."""
    x, y, z = three(lib, True)
    return lambda: backward((x * y + z).sum(), x, y, z)


def mygrad_backward(loss, *leaves):
    """Return the same in mygrad, where a leaf loses its gradient when it is used again."""
    loss.backward()
    return tuple([x.grad for x in leaves])


@small_backward.mygrad
def _(mg):
    x, y, z = map(mg.tensor, vectors())
    return lambda: mygrad_backward((x * y + z).sum(), x, y, z)


@case(target("minigrad", "torch", 0.3), target("minigrad.compile", ("torch.compile", "jax.jit"), 1.0), n=3)
def small_grad(lib, compiled, n):
    """autograd.grad of sum(x * y + z) on {n} elements, with the forward pass."""
    x, y, z = three(lib, True, n)
    f = compiled(lambda x, y, z: lib.autograd.grad((x * y + z).sum(), (x, y, z)))
    return lambda: f(x, y, z)


@small_grad.jax
def _(jax, n):
    x, y, z = map(jax.numpy.asarray, vectors(n))
    f = jax.jit(jax.grad(lambda x, y, z: (x * y + z).sum(), (0, 1, 2)))
    return lambda: f(x, y, z)


@small_grad.mygrad
def _(mg, n):
    x, y, z = map(mg.tensor, vectors(n))
    return lambda: mygrad_backward((x * y + z).sum(), x, y, z)


@small_grad.autograd
def _(autograd, n):
    x, y, z = vectors(n)
    f = autograd.grad(lambda x, y, z: autograd.numpy.sum(x * y + z), (0, 1, 2))
    return lambda: f(x, y, z)


@case(target("minigrad", "torch", 0.25), n=1000, compiles=False)
def chain(lib, compiled, n):
    """A chain of {n} multiplications, float64, forward and backward."""
    x = lib.tensor(np.float64([1.0]), requires_grad=True)

    def run():
        y = x
        for _ in range(n):
            y = y * 1.000001
        return backward(y, x)

    return run


@chain.mygrad
def _(mg, n):
    x = mg.tensor(np.float64([1.0]))

    def run():
        y = x
        for _ in range(n):
            y = y * 1.000001
        return mygrad_backward(y, x)

    return run


@chain.autograd
def _(autograd, n):
    x = np.float64([1.0])

    def f(y):
        for _ in range(n):
            y = y * 1.000001
        return y[0]

    gradient = autograd.grad(f)
    return lambda: (gradient(x),)


@case(target("minigrad", "torch", 1), n=1_000_000, compiles=False)
def draws(lib, compiled, n):
    """{n} uniform and as many normal numbers, from a seed."""
    return lambda: (lib.manual_seed(0), lib.rand(n), lib.randn(n))[1:]
