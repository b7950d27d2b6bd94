"""Calls of the operations' samples, with minigrad or with torch, on the same numbers.

A sample is the text of a call's arguments (minigrad/ops/base/registry.py), evaluated here with `T`, `P`, `I`, `B` and `S`
bound to functions that make tensors.  The float tensors that it makes are its leaves, for differentiation.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from ..ops.base.registry import Entry


class Maker:
    """The names that a sample may use.  `leaves` replaces the float tensors from T, P and S, in order."""

    def __init__(
        self, module: Any, entry: Entry, sample: str, dtype: str = "float64", leaves: Any = None, layout: str = "plain"
    ):
        self.module, self.entry, self.dtype, self.given, self.layout = module, entry, dtype, leaves, layout
        self.random = np.random.default_rng(zlib.crc32(f"{entry.name}({sample})".encode()))
        self.leaves = []

    def leaf(self, array: np.ndarray) -> Any:
        """Return the next float tensor."""
        if self.given is not None:
            t = self.given[len(self.leaves)]
        else:
            t = lay_out(self.module, array.astype(self.dtype), self.layout)
        self.leaves.append(t)
        return t

    def T(self, *shape: int) -> Any:
        """Make a float tensor within the operation's domain."""
        low, high = self.entry.domain
        return self.leaf(np.asarray(self.random.uniform(low, high, shape)))

    def P(self, *shape: int) -> Any:
        """Make a positive float tensor."""
        return self.leaf(np.asarray(self.random.uniform(0.2, 2.0, shape)))

    def S(self, *shape: int) -> Any:
        """Make a symmetric, positive definite matrix."""
        a = self.random.standard_normal(shape)
        return self.leaf(a @ np.swapaxes(a, -1, -2) + shape[-1] * np.eye(shape[-1]))

    def I(self, *shape_and_high: int) -> Any:  # noqa: E743
        """Make a tensor of integers below a bound, the last argument."""
        *shape, high = shape_and_high
        return self.module.tensor(np.asarray(self.random.integers(0, high, shape)))

    def B(self, *shape: int) -> Any:
        """Make a tensor of booleans."""
        return self.module.tensor(np.asarray(self.random.random(shape) < 0.5))


def lay_out(module: Any, array: np.ndarray, layout: str) -> Any:
    """Return a tensor with these elements, in another memory layout."""
    if layout == "plain" or array.ndim == 0:
        return module.tensor(array.copy())
    if layout == "transposed":
        return module.tensor(np.ascontiguousarray(array.T)).permute(*range(array.ndim)[::-1])
    if layout == "channels last":
        return module.tensor(np.moveaxis(array, min(1, array.ndim - 1), -1).copy()).movedim(-1, min(1, array.ndim - 1))
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1] + 1), array.dtype)
    wide[..., 1::2] = array
    return module.tensor(wide)[..., 1::2]


def call(module: Any, function: Any, entry: Entry, sample: str, **options: Any) -> tuple:
    """Return the result of function(sample) and the leaves."""
    maker = Maker(module, entry, sample, **options)
    names = {n: getattr(maker, n) for n in "TPISB"}
    result = eval(f"function({sample})", {"function": function, "torch": module, **names})
    return result, maker.leaves
