"""Calls of the operations' samples, with minigrad or with torch, on the same numbers.

A sample is the text of a call's arguments (minigrad/ops/registry.py); here it is evaluated with `T`, `P`, `I`, `B` and
`S` bound to makers of tensors.  The float tensors that it makes are its leaves, by which it can be differentiated.
"""

import zlib

import numpy as np

import minigrad
from minigrad.ops.registry import TABLE

CALLS = [(name, i) for name, entry in sorted(TABLE.items()) for i in range(len(entry.samples))]
NAMES = sorted(name for name, entry in TABLE.items() if entry.samples)
SMOOTH = [n for n in NAMES if TABLE[n].differentiable]


class Maker:
    """The names that a sample may use.  `leaves` replaces the float tensors that T, P and S make, in order."""

    def __init__(self, module, entry, sample, dtype="float64", leaves=None, layout="plain"):
        self.module, self.entry, self.dtype, self.given, self.layout = module, entry, dtype, leaves, layout
        self.random = np.random.default_rng(zlib.crc32(f"{entry.name}({sample})".encode()))
        self.leaves = []

    def leaf(self, array):
        """The next float tensor."""
        if self.given is not None:
            t = self.given[len(self.leaves)]
        else:
            t = lay_out(self.module, array.astype(self.dtype), self.layout)
        self.leaves.append(t)
        return t

    def T(self, *shape):
        low, high = self.entry.domain
        return self.leaf(np.asarray(self.random.uniform(low, high, shape)))

    def P(self, *shape):
        return self.leaf(np.asarray(self.random.uniform(0.2, 2.0, shape)))

    def S(self, *shape):
        a = self.random.standard_normal(shape)
        return self.leaf(a @ np.swapaxes(a, -1, -2) + shape[-1] * np.eye(shape[-1]))

    def I(self, *shape_and_high):  # noqa: E743
        *shape, high = shape_and_high
        return self.module.tensor(np.asarray(self.random.integers(0, high, shape)))

    def B(self, *shape):
        return self.module.tensor(np.asarray(self.random.random(shape) < 0.5))


def lay_out(module, array, layout):
    """A tensor with these elements, in memory of another order."""
    if layout == "plain" or array.ndim == 0:
        return module.tensor(array.copy())
    if layout == "transposed":
        return module.tensor(np.ascontiguousarray(array.T)).permute(*range(array.ndim)[::-1])
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1] + 1), array.dtype)
    wide[..., 1::2] = array
    return module.tensor(wide)[..., 1::2]


def call(module, function, entry, sample, **options):
    """(the result of function(sample), the leaves)."""
    maker = Maker(module, entry, sample, **options)
    names = {n: getattr(maker, n) for n in "TPISB"}
    result = eval(f"function({sample})", {"function": function, "torch": module, **names})
    return result, maker.leaves


def run(name, sample, **options):
    """A sample of minigrad's own operation."""
    return call(minigrad, TABLE[name].function, TABLE[name], sample, **options)


def tensors(result):
    """The tensors in what an operation returned."""
    if isinstance(result, (tuple, list)):
        return [t for r in result for t in tensors(r)]
    return [result] if hasattr(result, "requires_grad") else []


def floats(result):
    """Those that can have derivatives."""
    return [t for t in tensors(result) if t.is_floating_point()]
