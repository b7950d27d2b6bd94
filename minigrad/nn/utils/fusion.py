"""Fold a batch norm in evaluation mode into the layer before it, and make modules without initial values."""

from __future__ import annotations

import copy
import inspect
from typing import Any

from ...arrays.devices import get_default_device
from ...core.tensor import Tensor
from ...errors import error
from ...ops.create import ones_like, zeros_like
from ..module import Module
from ..parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights", "skip_init"]


def fuse_conv_bn_eval(conv: Module, bn: Module, transpose: bool = False) -> Module:
    """Return a convolution that computes `conv` followed by `bn`; both have to be in evaluation mode.

    Pass `transpose` for a transposed convolution.  Raises AssertionError in training mode or without running statistics.

    >>> import minigrad
    >>> conv, norm, x = minigrad.nn.Conv2d(1, 2, 3).eval(), minigrad.nn.BatchNorm2d(2).eval(), minigrad.ones(1, 1, 4, 4)
    >>> fused = minigrad.nn.utils.fuse_conv_bn_eval(conv, norm)
    >>> minigrad.allclose(fused(x), norm(conv(x)))
    True
    """
    fused = fusible("fuse_conv_bn_eval", conv, bn)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_linear_bn_eval(linear: Module, bn: Module) -> Module:
    """Return a linear layer that computes `linear` followed by `bn`; both have to be in evaluation mode.

    Raises AssertionError in training mode, without running statistics, or if the numbers of features differ.

    >>> import minigrad
    >>> linear, norm, x = minigrad.nn.Linear(3, 2).eval(), minigrad.nn.BatchNorm1d(2).eval(), minigrad.ones(1, 3)
    >>> fused = minigrad.nn.utils.fuse_linear_bn_eval(linear, norm)
    >>> minigrad.allclose(fused(x), norm(linear(x)))
    True
    """
    fused = fusible("fuse_linear_bn_eval", linear, bn)
    if bn.num_features not in (1, linear.out_features):
        raise error(
            AssertionError,
            "fuse_linear_bn_eval",
            f"the batch norm has {bn.num_features} features, the linear layer {linear.out_features}",
            "pass the batch norm that follows this layer",
        )
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fusible(who: str, layer: Module, bn: Module) -> Any:
    """Return a copy of the layer.  Raises AssertionError if it cannot be fused with the batch norm."""
    if layer.training or bn.training or bn.running_mean is None:
        what = "the batch norm has no running statistics" if bn.running_mean is None else "a module is in training mode"
        raise error(AssertionError, who, what, "call eval() on both, after training with track_running_stats=True")
    return copy.deepcopy(layer)


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Return weight and bias of a convolution fused with a following batch norm of these statistics and parameters.

    >>> import minigrad
    >>> mean, var = minigrad.zeros(2), minigrad.full((2,), 4.0)
    >>> weight, bias = minigrad.nn.utils.fuse_conv_bn_weights(minigrad.ones(2, 1, 1), None, mean, var, 0.0, None, None)
    >>> weight.flatten().tolist()
    [0.5, 0.5]
    """
    b = zeros_like(bn_rm) if conv_b is None else conv_b
    scale = (bn_rv + bn_eps).rsqrt() * (ones_like(bn_rm) if bn_w is None else bn_w)
    shape = [1, -1] if transpose else [-1, 1]
    weight = (conv_w * scale.reshape(shape + [1] * (conv_w.ndim - 2))).to(conv_w.dtype)
    bias = ((b - bn_rm) * scale + (0.0 if bn_b is None else bn_b)).to(conv_w.dtype if conv_b is None else b.dtype)
    return Parameter(weight.detach(), conv_w.requires_grad), Parameter(bias.detach(), b.requires_grad)


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """Return weight and bias of a linear layer fused with a following batch norm of these statistics and parameters.

    >>> import minigrad
    >>> mean, var, one = minigrad.zeros(2), minigrad.full((2,), 4.0), minigrad.ones(2)
    >>> weight, bias = minigrad.nn.utils.fuse_linear_bn_weights(minigrad.ones(2, 1), None, mean, var, 0.0, one, one)
    >>> weight.flatten().tolist(), bias.tolist()
    ([0.5, 0.5], [1.0, 1.0])
    """
    return fuse_conv_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)


def skip_init(module_cls: type, *args: Any, **kwargs: Any) -> Module:
    """Make a module without computing initial values; its tensors hold uninitialized memory until you set them.

    Raises TypeError for a non-class, RuntimeError for a class that is not a Module or whose __init__ takes no `device`.

    >>> import minigrad
    >>> minigrad.nn.utils.skip_init(minigrad.nn.Linear, 5, 1).weight.shape
    minigrad.Size([1, 5])
    """
    if not (isinstance(module_cls, type) and issubclass(module_cls, Module)):
        kind = RuntimeError if isinstance(module_cls, type) else TypeError
        raise error(kind, "skip_init", f"expected a Module class, but got {module_cls}", "pass nn.Linear, for example")
    if "device" not in inspect.signature(module_cls).parameters:
        raise error(
            RuntimeError,
            "skip_init",
            f"{module_cls.__name__} has no argument 'device'",
            f"write {module_cls.__name__}(...) without skip_init",
        )
    place = kwargs.pop("device", None) or get_default_device()
    kwargs["device"] = "meta"
    return module_cls(*args, **kwargs).to_empty(device=place)
