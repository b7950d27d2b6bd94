"""Modules that PyTorch's module_db lacks, or has not with these settings: text, state, and three calls in a row."""

import warnings

import numpy as np
import pytest
import torch

import minigrad

from .test_nn import data, twins

# a module, and the shapes of its inputs (a number n: integers below n, of shape (2, 3))
LAYERS = """
Unflatten(1, [2, -1]) | (3, 4)
Dropout(0.3) |
Dropout2d() |
Dropout3d(0.0) | (1, 2, 2, 2, 2)
FeatureAlphaDropout(0.2) |
RReLU(0.1, 0.2, inplace=True) |
Hardsigmoid() | (3, 4)
Embedding(5, 3, None, 1.0) | 5
Embedding(5, 3, padding_idx=-1, max_norm=1.0, norm_type=1.0) | 5
Embedding(5, 3, scale_grad_by_freq=True) | 5
AdaptiveMaxPool2d(3, return_indices=True) | (2, 2, 5, 4)
MaxPool2d(3, stride=2, ceil_mode=True) | (1, 2, 6, 6)
Conv2d(4, 4, 3, stride=2, padding=1, groups=2, bias=False) | (2, 4, 5, 6)
Conv2d(2, 3, (3, 2), padding='same', padding_mode='reflect', dilation=2) | (2, 2, 5, 6)
Conv2d(2, 3, (3, 2), padding=1, padding_mode='reflect') | (2, 2, 5, 6)
Conv2d(2, 3, (3, 2), padding=1, padding_mode='replicate') | (2, 2, 5, 6)
Conv2d(2, 3, (3, 2), padding='same', padding_mode='replicate') | (2, 2, 5, 6)
Conv2d(2, 3, (3, 2), padding=1, padding_mode='circular') | (2, 2, 5, 6)
Conv2d(2, 3, (3, 2), padding='same', padding_mode='circular') | (2, 2, 5, 6)
ConvTranspose2d(2, 4, 3, output_padding=1, stride=2) | (2, 2, 3, 4)
BatchNorm1d(3, momentum=0.3) | (4, 3)
BatchNorm1d(3, momentum=None) | (4, 3, 5)
BatchNorm2d(3, affine=False) | (4, 3, 2, 2)
InstanceNorm3d(3, affine=True, track_running_stats=True) | (2, 3, 2, 2, 2)
CosineSimilarity(dim=1) | (3, 4), (3, 4)
PairwiseDistance(keepdim=True) | (3, 4), (3, 4)
Upsample(scale_factor=2, mode='bilinear', align_corners=True) | (1, 2, 3, 3)
Upsample((5, 4), mode='bicubic') | (1, 2, 3, 3)
Unfold(2) | (1, 2, 3, 3)
Fold((3, 3), 2) | (1, 8, 4)
PixelShuffle(2) | (1, 8, 3, 3)
PixelUnshuffle(2) | (1, 2, 4, 4)
ChannelShuffle(3) | (2, 6, 4)
Sequential() |
Sequential(Linear(2, 2), Flatten(), Sequential(ReLU(inplace=True), Identity())) | (3, 2)
ModuleList([ReLU(), ReLU(), Linear(2, 2), Linear(2, 2)]) |
ModuleDict({'a': ReLU(), 'b': Sequential(Tanh())}) |
RNN(3, 4, 2, nonlinearity='relu', batch_first=True, bidirectional=True) | (2, 5, 3)
LSTM(3, 4, bidirectional=True, bias=False) | (5, 3)
GRU(3, 4, num_layers=2, bidirectional=True) | (5, 2, 3), (4, 2, 4)
RNN(8, 32) | (9, 8, 8), (1, 8, 32)
RNN(8, 32, nonlinearity='relu', bias=False) | (9, 8, 8)
LSTM(8, 16, 2, bidirectional=True, batch_first=True) | (7, 6, 8)
LSTM(8, 16, bias=False) | (40, 8)
LSTM(8, 16, 2, bidirectional=True, batch_first=True, proj_size=5) | (7, 6, 8)
GRU(8, 16, 2, batch_first=True) | (6, 9, 8)
GRU(8, 16, bidirectional=True, bias=False) | (9, 6, 8), (2, 6, 16)
RNNCell(3, 4, nonlinearity='relu', bias=False) | (2, 3)
LSTMCell(3, 4) | (2, 3)
GRUCell(3, 4) | (2, 3)
MultiheadAttention(4, 2, kdim=3, vdim=5) | (3, 2, 4), (5, 2, 3), (5, 2, 5)
MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True) | (3, 2, 4), (5, 2, 4), (5, 2, 4)
Transformer(4, 2, 1, 1, 8, 0.0) | (3, 2, 4), (5, 2, 4)
TripletMarginLoss(swap=True) | (3, 2), (3, 2), (3, 2)
SoftMarginLoss(reduction='sum') | (2, 3), 2
""".strip().splitlines()


def flat(result):
    return [t for r in result for t in flat(r)] if isinstance(result, (tuple, list)) else [result]


def three_calls(lib, module, shapes):
    inputs, found = [], []
    for call in range(3):
        given = [
            lib.tensor(data(2, 3, seed=call, high=s))
            if isinstance(s, int)
            else lib.tensor(np.sign(data(*s, seed=i)) if len(s) == 1 and i else data(*s, seed=10 * call + i))
            for i, s in enumerate(shapes)
        ]
        given = [t.abs() if i == 2 and "Gaussian" in type(module).__name__ else t for i, t in enumerate(given)]
        inputs += [t.requires_grad_() for t in given if t.is_floating_point()]
        found += [t for t in flat(module(*given)) if t is not None]
    learned = [t for t in (*inputs, *module.parameters()) if t.requires_grad]
    loss = sum((t * t).sum() for t in found if t.requires_grad)
    grads = lib.autograd.grad(loss, learned, allow_unused=True)
    return [*found, *grads, *module.state_dict().values()]


@pytest.mark.parametrize("line", LAYERS)
def test_layer_is_torchs(line):
    text, _, shapes = line.partition(" |")
    theirs, ours = twins(lambda nn: eval(text, vars(nn).copy()))
    assert repr(ours) == repr(theirs).replace("NonDynamicallyQuantizableLinear", "Linear")
    assert list(ours.state_dict()) == list(theirs.state_dict())
    if not shapes.strip():
        return
    shapes = eval(f"[{shapes}]")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = [three_calls(lib, m, shapes) for lib, m in ((torch, theirs), (minigrad, ours))]
    for a, b in zip(*results, strict=True):
        # PyTorch does not differentiate every loss by its target
        assert a is None or np.allclose(a.detach().numpy(), b.detach().numpy(), atol=1e-7)
