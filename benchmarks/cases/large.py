"""Define training steps with large activations, whose peak memory peak.py measures."""

from ..case import case
from . import training_in_jax as in_jax
from .growing import jax_deep_loss
from .networks import jax_cnn_loss, network
from .training import filled, step

MLP = (1024, 256), (1024,), *((1024, 1024), (1024,)) * 4, (10, 1024), (10,)
CNN = (32, 1, 3, 3), (32,), (64, 32, 3, 3), (64,), (10, 64 * 16 * 16), (10,)
BLOCK = ((768, 256), (768,), (256, 256), (256,), (1024, 256), (1024,), (256, 1024), (256,), (256,), (256,), (256,), (256,),
         (10, 256), (10,))  # fmt: skip


def prepared(lib, compiled, model, data):
    """Return a step of this model by SGD with momentum; `data` has its parameters, images and labels."""
    parameters, images, labels = data
    model = filled(lib, model, parameters)
    return step(lib, compiled, model, lib.optim.SGD(model.parameters(), in_jax.RATE, momentum=0.9), images, labels)


def jax_prepared(jax, loss, data):
    """Prepare the same step in JAX."""
    return in_jax.step(jax, loss, in_jax.momentum, *data)


# two examples are learned at once, and a loss near 0 has few digits
@case(n=4096, quick=2, breaks=True, tolerance=1e-3)
def mlp(lib, compiled, n):
    """five layers of 1,024 numbers, batch {n}"""
    nn = lib.nn
    widths = 256, *[1024] * 5
    hidden = [layer for k in range(5) for layer in (nn.Linear(*widths[k : k + 2]), nn.Tanh())]
    return prepared(lib, compiled, nn.Sequential(*hidden, nn.Linear(1024, 10)), network(MLP, n, (256,)))


@case(n=64, quick=2, breaks=True)
def cnn(lib, compiled, n):
    """two convolutions with pooling on 64 x 64 images, batch {n}"""
    nn = lib.nn
    layers = [nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
              nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]  # fmt: skip
    model = nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * 16 * 16, 10))
    return prepared(lib, compiled, model, network(CNN, n, (1, 64, 64)))


@case(n=32, quick=2, breaks=True)
def transformer(lib, compiled, n):
    """a transformer block over 256 words of 256 numbers, batch {n}"""
    nn = lib.nn

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            settings = {"dropout": 0.0, "activation": "gelu", "batch_first": True, "norm_first": True}
            self.block, self.head = nn.TransformerEncoderLayer(256, 4, 1024, **settings), nn.Linear(256, 10)

        def forward(self, words):
            return self.head(self.block(words).mean(1))

    return prepared(lib, compiled, Classifier(), network(BLOCK, n, (256, 256)))


mlp.jax(lambda jax, n: jax_prepared(jax, jax_deep_loss, network(MLP, n, (256,))))
cnn.jax(lambda jax, n: jax_prepared(jax, jax_cnn_loss, network(CNN, n, (1, 64, 64))))
transformer.jax(lambda jax, n: jax_prepared(jax, in_jax.transformer, network(BLOCK, n, (256, 256))))

CASES = mlp, cnn, transformer
