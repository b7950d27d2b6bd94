"""The operations on lines that have kernels on the device, with the arguments that kernels/lines.py has for them."""

from __future__ import annotations

from functools import partial
from typing import Any

from . import normalize_cuda, softmax_cuda

FORWARD = {
    "softmax": softmax_cuda.softmax,
    "log_softmax": partial(softmax_cuda.softmax, log=True),
    "logsumexp": softmax_cuda.logsumexp,
    "cross_entropy": softmax_cuda.cross_entropy,
    "from_logits": softmax_cuda.cross_entropy_backward,
    "standardize": normalize_cuda.standardize,
    "layer_norm": lambda *args: normalize_cuda.layer_norm(*args) or normalize_cuda.norm(*args),
    "channelwise": normalize_cuda.affine,
    "divide_by_rms": normalize_cuda.divide_by_rms,
}
BACKWARD = {  # of the gradients, the arguments and the results
    "softmax": lambda g, x, dims, out: softmax_cuda.softmax_backward(g, out, dims),
    "log_softmax": lambda g, x, dims, out: softmax_cuda.softmax_backward(g, out, dims, log=True),
    "standardize": lambda g, g1, g2, x, dims, eps, out, mean, variance: normalize_cuda.standardize_backward(
        g, x, mean, variance, dims, eps
    ),
    "layer_norm": lambda g, g1, g2, x, weight, bias, dims, eps, out, mean, variance: (
        normalize_cuda.layer_norm_backward(g, x, weight, mean, variance, dims, eps)
        or normalize_cuda.norm_backward(g, x, weight, mean, variance, dims, eps)
    ),
    "divide_by_rms": lambda g, g1, x, dims, eps, out, factor: normalize_cuda.divide_by_rms_backward(g, x, factor, dims),
}


def forward(cls: Any, args: tuple) -> list | None:
    """Run an operation's kernel; its results, None where there is none for these arrays."""
    return several(FORWARD[cls.name](*args)) if cls.name in FORWARD else None


def backward(cls: Any, gs: tuple, bound: tuple) -> list | None:
    """Run the kernel of its backward; the gradients of its arguments by that of its first result."""
    if cls.name not in BACKWARD or any(g is not None for g in gs[1:]):
        return None
    made = several(BACKWARD[cls.name](*gs, *bound))
    return None if made is None else made + [None] * (len(cls.names) - len(made))


def several(made: Any) -> list | None:
    """Return results as a list."""
    return None if made is None else list(made) if type(made) is tuple else [made]
