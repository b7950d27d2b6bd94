"""Time training steps as users write them, with a module, an optimizer, zero_grad, backward and step, all compiled.

torch.compile does not trace into `zero_grad`: it may break the graph there and run the compiled parts before and after.
training_in_jax.py has the same steps in JAX.
"""

from ..case import case, target
from . import training_in_jax as in_jax
from .networks import COMPILED, network

TARGETS = target("minigrad", "torch", 1.0), COMPILED
DIGITS = (32, 64), (32,), (10, 32), (10,)
WITH_NORM = (32, 64), (32,), (32,), (32,), (10, 32), (10,)
BLOCK = ((192, 64), (192,), (64, 64), (64,), (256, 64), (256,), (64, 256), (64,), (64,), (64,), (64,), (64,),
         (10, 64), (10,))  # fmt: skip
WORDS = (32, 64)


def step(lib, compiled, model, optimizer, images, labels, also=()):
    """Return the function to time: a training step that returns the loss and the tensors in `also`."""

    @compiled
    def whole(images, labels):
        optimizer.zero_grad()
        loss = lib.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss.detach()

    images, labels = lib.tensor(images), lib.tensor(labels)
    return lambda: (whole(images, labels), *also)


def filled(lib, model, parameters):
    """Return the module with these parameters."""
    with lib.no_grad():
        for p, values in zip(model.parameters(), parameters, strict=True):
            p.copy_(lib.tensor(values))
    return model


def digits(lib, parameters):
    """Return the network of two layers."""
    nn = lib.nn
    return filled(lib, nn.Sequential(nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 10)), parameters)


@case(*TARGETS, breaks=True)
def digits_sgd(lib, compiled):
    """A training step of a 64-32-10 network, batch 32, by SGD with momentum."""
    parameters, *data = network(DIGITS, 32)
    model = digits(lib, parameters)
    return step(lib, compiled, model, lib.optim.SGD(model.parameters(), in_jax.RATE, momentum=0.9), *data)


@case(*TARGETS, breaks=True)
def digits_adam(lib, compiled):
    """A training step of a 64-32-10 network, batch 32, by Adam."""
    parameters, *data = network(DIGITS, 32)
    model = digits(lib, parameters)
    return step(lib, compiled, model, lib.optim.Adam(model.parameters(), in_jax.RATE), *data)


@case(*TARGETS, breaks=True, tolerance=0.1)
def digits_dropout(lib, compiled):
    """A training step of a 64-32-10 network with batch norm and dropout, batch 256, by SGD with momentum."""
    nn = lib.nn
    layers = nn.Linear(64, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 10)
    parameters, *data = network(WITH_NORM, 256)
    model = filled(lib, nn.Sequential(*layers), parameters)
    optimizer = lib.optim.SGD(model.parameters(), in_jax.RATE, momentum=0.9)
    return step(lib, compiled, model, optimizer, *data, (model[1].running_mean, model[1].running_var))


@case(*TARGETS, breaks=True)
def transformer_step(lib, compiled):
    """A training step of a transformer block of 4 heads over 32 words of 64 numbers, batch 16, by Adam."""
    nn = lib.nn

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.block = nn.TransformerEncoderLayer(
                64, 4, 256, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
            )
            self.head = nn.Linear(64, 10)

        def forward(self, words):
            return self.head(self.block(words).mean(1))

    parameters, *data = network(BLOCK, 16, WORDS)
    model = filled(lib, Classifier(), parameters)
    return step(lib, compiled, model, lib.optim.Adam(model.parameters(), in_jax.RATE), *data)


@case(*TARGETS, breaks=True)
def custom_step(lib, compiled):
    """A training step of a 64-32-10 network whose activation is a custom Function, batch 32, by SGD with momentum."""
    parameters, *data = network(DIGITS, 32)

    class Swish(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x.sigmoid()

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            s = x.sigmoid()
            return g * s * (1 + x * (1 - s))

    first, second = lib.nn.Linear(64, 32), lib.nn.Linear(32, 10)
    both = filled(lib, lib.nn.Sequential(first, second), parameters)
    optimizer = lib.optim.SGD(both.parameters(), in_jax.RATE, momentum=0.9)
    return step(lib, compiled, lambda images: second(Swish.apply(first(images))), optimizer, *data)


digits_sgd.jax(lambda jax: in_jax.step(jax, in_jax.digits, in_jax.momentum, *network(DIGITS, 32)))
digits_adam.jax(lambda jax: in_jax.step(jax, in_jax.digits, in_jax.adam, *network(DIGITS, 32)))
digits_dropout.jax(lambda jax: in_jax.dropout_step(jax, *network(WITH_NORM, 256)))
transformer_step.jax(lambda jax: in_jax.step(jax, in_jax.transformer, in_jax.adam, *network(BLOCK, 16, WORDS)))
custom_step.jax(lambda jax: in_jax.step(jax, in_jax.custom, in_jax.momentum, *network(DIGITS, 32)))
