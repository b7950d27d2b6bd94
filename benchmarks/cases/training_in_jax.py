"""Define the training steps of training.py in JAX: functions from parameters and optimizer state to new ones."""

from .networks import jax_cross_entropy as cross_entropy
from .networks import jax_loss

RATE = 0.01


def step(jax, loss, update, parameters, images, labels):
    """Return a step made of `loss` and `update`, which returns new parameters and the new optimizer state."""
    jnp = jax.numpy
    images, labels = jnp.asarray(images), jnp.asarray(labels)

    def whole(parameters, state, images, labels):
        value, gradients = jax.value_and_grad(lambda p: loss(jax, p, images, labels))(parameters)
        return *update(jax, parameters, gradients, state), value

    return repeated(jax, whole, parameters, images, labels)


def repeated(jax, whole, parameters, *data):
    """Return the function to time: it calls a compiled step with the last results and may reuse their memory."""
    whole = jax.jit(whole, donate_argnums=(0, 1))
    kept = [[jax.numpy.array(p) for p in parameters], None]

    def run():
        kept[0], kept[1], *results = whole(*kept, *data)
        return tuple(results)

    return run


# ---------------------------------------------------------------------- optimizers
def momentum(jax, parameters, gradients, velocity):
    """Return SGD with a momentum of 0.9."""
    velocity = gradients if velocity is None else [0.9 * v + g for v, g in zip(velocity, gradients)]
    return [p - RATE * v for p, v in zip(parameters, velocity)], velocity


def adam(jax, parameters, gradients, state):
    """Return Adam with its usual settings."""
    jnp = jax.numpy
    means, squares, k = state or ([jnp.zeros_like(p) for p in parameters], [jnp.zeros_like(p) for p in parameters], 0)
    k = k + 1
    means = [0.9 * m + 0.1 * g for m, g in zip(means, gradients)]
    squares = [0.999 * s + 0.001 * g * g for s, g in zip(squares, gradients)]
    rate, scale = RATE / (1 - 0.9**k), 1 / (1 - 0.999**k) ** 0.5
    moved = [
        p - jnp.float32(rate) * m / (jnp.sqrt(s) * jnp.float32(scale) + 1e-8)
        for p, m, s in zip(parameters, means, squares)
    ]
    return moved, (means, squares, k)


# ---------------------------------------------------------------------- losses
digits = jax_loss


def custom(jax, parameters, images, labels):
    """Return the loss of a network of two layers whose activation has a custom derivative."""
    w1, b1, w2, b2 = parameters
    swish = jax.custom_vjp(lambda x: x * jax.nn.sigmoid(x))

    def backward(x, g):
        s = jax.nn.sigmoid(x)
        return (g * s * (1 + x * (1 - s)),)

    swish.defvjp(lambda x: (swish(x), x), backward)
    return cross_entropy(jax, swish(images @ w1.T + b1) @ w2.T + b2, labels)


def transformer(jax, parameters, words, labels):
    """Return the loss of a pre-norm transformer block, a mean over the words, and one layer."""
    wi, bi, wo, bo, w1, b1, w2, b2, scale1, shift1, scale2, shift2, w, b = parameters
    batch, length, width = words.shape

    def normalised(x, scale, shift):
        centred = x - x.mean(-1, keepdims=True)
        return centred / jax.numpy.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * scale + shift

    x = normalised(words, scale1, shift1) @ wi.T + bi
    q, k, v = x.reshape(batch, length, 3, 4, width // 4).transpose(2, 0, 3, 1, 4)
    found = jax.nn.softmax(q @ k.mT / (width // 4) ** 0.5) @ v
    x = words + found.swapaxes(1, 2).reshape(batch, length, width) @ wo.T + bo
    x = x + jax.nn.gelu(normalised(x, scale2, shift2) @ w1.T + b1, approximate=False) @ w2.T + b2
    return cross_entropy(jax, x.mean(1) @ w.T + b, labels)


def dropout_step(jax, parameters, images, labels):
    """Return a step with batch norm, whose running statistics are part of the state, and dropout, which needs a key."""
    jnp = jax.numpy
    images, labels = jnp.asarray(images), jnp.asarray(labels)

    def loss(parameters, images, labels, key):
        w1, b1, scale, shift, w2, b2 = parameters
        hidden = images @ w1.T + b1
        mean, var = hidden.mean(0), hidden.var(0)
        hidden = jax.nn.relu((hidden - mean) / jnp.sqrt(var + 1e-5) * scale + shift)
        kept = jax.random.bernoulli(key, 0.8, hidden.shape)
        hidden = jnp.where(kept, hidden / 0.8, 0)
        return cross_entropy(jax, hidden @ w2.T + b2, labels), (mean, var)

    def whole(parameters, state, images, labels):
        velocity, running_mean, running_var, key = state or (None, jnp.zeros(32), jnp.ones(32), jax.random.key(0))
        key, mine = jax.random.split(key)
        graded = jax.value_and_grad(loss, has_aux=True)
        (value, (mean, var)), gradients = graded(parameters, images, labels, mine)
        parameters, velocity = momentum(jax, parameters, gradients, velocity)
        n = len(images)
        running_mean = (0.9 * running_mean + 0.1 * mean).astype(mean.dtype)
        running_var = (0.9 * running_var + 0.1 * var * n / (n - 1)).astype(var.dtype)
        return parameters, (velocity, running_mean, running_var, key), value, running_mean, running_var

    return repeated(jax, whole, parameters, images, labels)
