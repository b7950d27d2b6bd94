"""Programs that several tests record, and what they look for in the document."""

import numpy as np

import minigrad
from minigrad.autograd import Function


class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 * x

    @staticmethod
    def jvp(ctx, t):
        (x,) = ctx.saved_tensors
        return 2 * x * t


def layer(x, w, b):
    return (minigrad.tanh(x @ w + b) * x).sum()


def inputs():
    random = np.random.default_rng(0)
    x, w, b = (minigrad.tensor(random.standard_normal(s), requires_grad=True) for s in ((4, 3), (3, 3), (3,)))
    return x, w, b


def number(document, value):
    return np.array(document["values"][value]["summary"]["values"], float)


def forward(document):
    return [op for op in document["ops"] if op["phase"] == "forward"]
