"""What is measured.  A case is a function of the library (minigrad or torch, which have the same names) that sets
everything up and returns the function to be timed.
"""

import numpy as np


def three(lib, requires_grad):
    """Three vectors of three elements."""
    return [lib.tensor([1.0, 2.0, 3.0], requires_grad=requires_grad) for _ in range(3)]


def small_forward(lib):
    """x * y + z on 3 elements, tracked."""
    x, y, z = three(lib, True)
    return lambda: x * y + z


def small_forward_untracked(lib):
    """x * y + z on 3 elements, not tracked."""
    x, y, z = three(lib, False)
    return lambda: x * y + z


def small_backward(lib):
    """x * y + z on 3 elements, forward and backward."""
    x, y, z = three(lib, True)
    return lambda: (x * y + z).sum().backward()


def chain(lib):
    """A chain of 1,000 multiplications, forward and backward."""
    x = lib.tensor([1.0], requires_grad=True)

    def run():
        y = x
        for _ in range(1000):
            y = y * 1.001
        y.backward()

    return run


def custom_function(lib):
    """A Function of the user's, applied and differentiated."""

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

    x = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
    return lambda: Exp.apply(x).sum().backward()


def network(lib):
    """Parameters and data of a 64-32-10 network, batch 32."""
    random = np.random.default_rng(0)
    shapes = (32, 64), (32,), (10, 32), (10,)
    parameters = [
        lib.tensor(random.standard_normal(s).astype(np.float32) * np.float32(0.1), requires_grad=True) for s in shapes
    ]
    images = lib.tensor(random.standard_normal((32, 64)).astype(np.float32))
    return parameters, images, lib.tensor(random.integers(0, 10, 32))


def loss_of(lib, parameters, images, labels):
    """The network's cross-entropy."""
    w1, b1, w2, b2 = parameters
    linear = lib.nn.functional.linear
    return lib.nn.functional.cross_entropy(linear(linear(images, w1, b1).tanh(), w2, b2), labels)


def network_step(lib):
    """A training step of a 64-32-10 network, batch 32."""
    parameters, images, labels = network(lib)

    def run():
        gradients = lib.autograd.grad(loss_of(lib, parameters, images, labels), parameters)
        with lib.no_grad():
            for p, g in zip(parameters, gradients):
                p.sub_(g, alpha=0.01)

    return run


def network_step_compiled(lib):
    """The same step by minigrad.compile, beside torch eager."""
    if not hasattr(lib, "Record"):
        return network_step(lib)
    parameters, images, labels = network(lib)

    @lib.compile
    def step(parameters, images, labels, rate):
        gradients = lib.autograd.grad(loss_of(lib, parameters, images, labels), parameters)
        with lib.no_grad():
            for p, g in zip(parameters, gradients):
                p.sub_(rate * g)

    return lambda: step(parameters, images, labels, 0.01)


def per_sample_gradients(lib):
    """Gradients of each of 32 samples: vmap of grad."""
    parameters, images, labels = network(lib)
    parameters = [p.detach() for p in parameters]

    def one(parameters, image, label):
        return loss_of(lib, parameters, image[None], label[None])

    return lambda: lib.vmap(lib.func.grad(one), in_dims=(None, 0, 0))(parameters, images, labels)


def hessian(lib):
    """A 200 x 200 Hessian."""
    x = lib.tensor(np.linspace(0.1, 1.0, 200))
    return lambda: lib.func.hessian(lambda x: (x.sin() * x).sum() ** 2)(x)


def pointwise(lib):
    """tanh(x) * sigmoid(y) + exp(-x * x) on a million float32, value and both gradients."""
    random = np.random.default_rng(0)
    x, y = [lib.tensor(random.standard_normal(10**6).astype(np.float32), requires_grad=True) for _ in range(2)]
    return lambda: lib.autograd.grad((lib.tanh(x) * lib.sigmoid(y) + lib.exp(-x * x)).sum(), (x, y))


def pointwise_compiled(lib):
    """The same by minigrad.compile, beside torch eager."""
    if not hasattr(lib, "Record"):
        return pointwise(lib)
    random = np.random.default_rng(0)
    x, y = [lib.tensor(random.standard_normal(10**6).astype(np.float32), requires_grad=True) for _ in range(2)]

    @lib.compile
    def gradients(x, y):
        return lib.autograd.grad((lib.tanh(x) * lib.sigmoid(y) + lib.exp(-x * x)).sum(), (x, y))

    return lambda: gradients(x, y)


CASES = (small_forward, small_forward_untracked, small_backward, chain, custom_function, network_step,
         network_step_compiled, per_sample_gradients, hessian, pointwise, pointwise_compiled)  # fmt: skip
