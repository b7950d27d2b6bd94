"""Time models as learners write them, one training step each, in minigrad and PyTorch, eager, on one thread.

    python -m benchmarks.models              all of them, and the median of the ratios
    python -m benchmarks.models lenet gat    some

A model is a function `build(lib)` that returns its module and a function for its loss.  Both libraries get the same weights
and data.  Loss and gradients of the third step are compared before timing.  A step is zero_grad, loss, backward and the
optimizer's step.
"""

from . import attention, graphs, images, sequences
from .model import MEDIAN, median

MODELS = (
    images.digits_mlp,
    images.lenet,
    images.vgg_small,
    images.resnet18,
    images.mobilenet,
    images.unet,
    images.autoencoder,
    images.vae,
    images.dcgan,
    images.siamese,
    images.mixer,
    sequences.lstm_rows,
    sequences.lstm_words,
    sequences.gru_chars,
    sequences.bilstm_tagger,
    sequences.seq2seq,
    attention.encoder,
    attention.mingpt,
    attention.vit,
    attention.feedback,
    attention.entmax,
    graphs.gcn,
    graphs.gat,
    graphs.dqn,
    graphs.neural_ode,
)
