"""Affine maps, the functions behind `nn.Linear` and `nn.Bilinear`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.tensor import Tensor
from ...errors import error
from ...layers.batch import batched
from ...layers.batching import front
from ...tensors.printing import error_notes
from ..base.primitive import Primitive
from ..einsum import einsum
from ..matmul import multiply, product, rows
from ..products import one_dtype
from .entry import functional


class Affine(Primitive):
    """x @ weight.T + bias, for a weight matrix and any number of examples."""

    autocast = "half"
    lowering = "affine"
    dimensions = "affine"
    call = "linear(x, weight, bias)"
    node, views = "Addmm", ("weight",)
    arrays = quiet = True
    dx = lambda g, weight: multiply(g, weight)
    dweight = lambda g, x: multiply(rows(g).mT, rows(x))
    dbias = lambda g: g

    @staticmethod
    def impl(x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
        out = product(x, weight.T)
        out += bias
        return out

    @classmethod
    def node_name(cls, node: Any) -> str:
        """Return the view node if the examples are no matrix: PyTorch reshapes them."""
        return type(node).__name__ if len(node._shape) == 2 else "ViewBackward0"

    @classmethod
    def partial_text(cls, i: int) -> str:
        """Return the formulas in the form they have for a matrix of examples."""
        return ("g @ weight", "g.mT @ x", "g")[i]

    @classmethod
    def pushforward(cls, primals: tuple, tangents: list, outs: tuple) -> Any:
        (x, weight, _), (tx, tw, tb) = primals, tangents
        terms = [None if tx is None else tx @ weight.mT, None if tw is None else x @ tw.mT, tb]
        total = sum(t for t in terms if t is not None)
        return total if total.shape == outs[0].shape else total.expand(outs[0].shape)

    def vmap(info: Any, in_dims: tuple, *args: Tensor) -> tuple:
        """Apply one map to all examples if they share it, else a product and a sum, which have vmap rules."""
        if in_dims[1:] == (None, None):
            return Affine.apply(front(args[0], in_dims[0], info.batch_size), *args[1:]), 0
        return batched(lambda x, weight, bias: x @ weight.mT + bias, args, in_dims, info.batch_size), 0


@functional(
    "T(2, 3), T(4, 3), T(4)",
    "T(3), T(4, 3)",
    "T(2, 5, 3), T(4, 3), T(4)",
    "T(2, 3), T(3)",
    "T(0, 3), T(2, 3), T(2)",
    "T(3, 2).mT, T(3, 4).mT",
)
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return input @ weight.T + bias: (..., in) with weight (out, in) and bias (out,) gives (..., out).

    Raises RuntimeError if the last sizes of `input` and `weight` differ.

    >>> import minigrad
    >>> linear(minigrad.tensor([1., 2.]), minigrad.tensor([[3., 4.]]), minigrad.tensor([5.]))
    tensor([16.])
    """
    shape, sizes = input._sizes, weight._sizes
    if len(sizes) not in (1, 2) or not shape or shape[-1] != sizes[-1]:
        raise error(
            RuntimeError,
            "linear",
            f"input of shape {tuple(input.shape)} and weight of shape {tuple(weight.shape)} cannot be "
            "multiplied: their last sizes differ",
            features_fix(shape, sizes, type(weight) is Tensor),
            notes=error_notes({"input": input, "weight": weight}, marked=[-1]),
        )
    if weight._np_dtype is not input._np_dtype:
        input, weight = one_dtype("linear", input, weight, names=("input", "weight"))
    kind = input._np_dtype
    if bias is not None and bias._np_dtype is not kind:
        input, bias = one_dtype("linear", input, bias, names=("input", "bias"))
    if bias is not None and len(sizes) == 2 and len(bias._sizes) == 1 and kind.kind != "b":
        return Affine.apply(input, weight, bias)
    out = input @ (weight.mT if len(sizes) == 2 else weight)
    return out if bias is None else out + bias


def features_fix(shape: tuple, sizes: tuple, is_plain: bool) -> str:
    """Return the fix for an input whose number of features is not the weight's, a plain tensor's or a parameter's."""
    if not shape or len(sizes) != 2:
        return "pass an input of shape (..., in_features) and a weight of shape (out_features, in_features)"
    if math.prod(shape[1:]) == sizes[1]:
        return "write input.flatten(1), which merges all dimensions but the batch"
    if is_plain and shape[-1] == sizes[0]:
        return "write weight.mT: a weight has shape (out_features, in_features)"
    if len(shape) > 1 and shape[-2] == sizes[1]:
        return "write input.mT: an input has shape (..., in_features)"
    return f"build the layer with in_features={shape[-1]}, or pass an input of shape (..., {sizes[1]})"


@functional("T(2, 3), T(2, 4), T(5, 3, 4), T(5)", "T(3, 2, 3), T(3, 2, 2), T(1, 3, 2)")
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return out[..., o] = sum over i and j of input1[..., i] * weight[o, i, j] * input2[..., j], plus bias[o]."""
    if input1.shape[:-1] != input2.shape[:-1] or tuple(weight.shape[1:]) != (input1.shape[-1], input2.shape[-1]):
        raise error(
            RuntimeError,
            "bilinear",
            f"inputs of shapes {tuple(input1.shape)} and {tuple(input2.shape)} do not fit a weight of "
            f"shape {tuple(weight.shape)}",
            "pass a weight of shape (out_features, in1_features, in2_features)",
        )
    if bias is not None:
        input1, bias = one_dtype("bilinear", input1, bias, names=("input1", "bias"))
    out = einsum("...i,oij,...j->...o", input1, weight, input2)
    return out if bias is None else out + bias
