"""Gradients of convolutions under the names of `torch.nn.grad`, for a custom Function whose backward needs one.

The convolution, its input's gradient and its weight's gradient are three operations, each a derivative of the others
(ops/nn/conv.py), so you can differentiate these functions again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.tensor import Tensor
from ..errors import error
from ..ops.nn.conv import ConvInput, ConvWeight, Geometry, settings
from ..ops.products import one_dtype
from ..ops.windows import count

__all__ = ["conv2d_input", "conv2d_weight"]


def conv2d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Return the gradient of conv2d with respect to its input, which has shape `input_size` (N, C, H, W).

    Raises RuntimeError for shapes that do not belong to one convolution.

    >>> import minigrad as torch
    >>> x, weight = torch.randn(1, 1, 3, 3, requires_grad=True), torch.randn(1, 1, 1, 2)
    >>> y = torch.nn.functional.conv2d(x, weight)
    >>> grad_output = torch.randn_like(y)
    >>> y.backward(grad_output)
    >>> torch.allclose(torch.nn.grad.conv2d_input(x.shape, weight, grad_output), x.grad)
    True
    """
    who = "conv2d_input"
    grad_output, weight = one_dtype(who, grad_output, weight, names=("grad_output", "weight"))
    geometry = settings(who, 2, stride, padding, dilation, groups)
    check(who, tuple(input_size), tuple(weight.shape), tuple(grad_output.shape), geometry)
    return ConvInput.apply(grad_output, weight, tuple(input_size[2:]), geometry)


def conv2d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Return the gradient of conv2d with respect to its weight, which has shape `weight_size` (O, C / groups, K, L).

    Raises RuntimeError for shapes that do not belong to one convolution.

    >>> import minigrad as torch
    >>> x, weight = torch.randn(1, 1, 3, 3), torch.randn(1, 1, 1, 2, requires_grad=True)
    >>> y = torch.nn.functional.conv2d(x, weight)
    >>> grad_output = torch.randn_like(y)
    >>> y.backward(grad_output)
    >>> torch.allclose(torch.nn.grad.conv2d_weight(x, weight.shape, grad_output), weight.grad)
    True
    """
    who = "conv2d_weight"
    grad_output, input = one_dtype(who, grad_output, input, names=("grad_output", "input"))
    geometry = settings(who, 2, stride, padding, dilation, groups)
    check(who, tuple(input.shape), tuple(weight_size), tuple(grad_output.shape), geometry)
    return ConvWeight.apply(grad_output, input, tuple(weight_size[2:]), geometry)


def check(who: str, x: tuple, weight: tuple, grad: tuple, geometry: Geometry) -> None:
    """Raise RuntimeError unless the shapes of input, weight and output fit one convolution."""
    if not len(x) == len(weight) == len(grad) == 4:
        fix = "pass shapes with a batch dimension and a channel dimension"
        raise error(RuntimeError, who, f"expected 4 dimensions, got {x}, {weight} and {grad}", fix)
    expected = (x[0], weight[0], *map(count, x[2:], weight[2:], *geometry[:3]))
    if grad != expected or weight[1] * geometry.groups != x[1] or weight[0] % geometry.groups:
        options = ", ".join(f"{name}={value}" for name, value in geometry._asdict().items())
        what = f"an input of shape {x} and a weight of shape {weight} with {options} give an output of shape {expected}"
        fix = "pass the stride, padding, dilation and groups of the convolution"
        raise error(RuntimeError, who, f"{what}, but grad_output has shape {grad}", fix)
