"""Clip gradients: by their common norm, or element by element."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ...autograd.grad_mode import no_grad
from ...core.tensor import Tensor
from ...diagnose.debug import used_by_step
from ...diagnose.optimizers import warn_used_up
from ...errors import error, warn
from ...ops.from_data import tensor
from ...ops.join import stack


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale all gradients together, in place, so that their common norm is at most `max_norm`; return the norm before.

    Raises RuntimeError for a norm that is not finite if `error_if_nonfinite`.

    >>> import minigrad
    >>> x = minigrad.tensor([1., 1.], requires_grad=True)
    >>> (x * minigrad.tensor([3., 4.])).sum().backward()
    >>> minigrad.nn.utils.clip_grad_norm_([x], 1.0)
    tensor(5.)
    >>> x.grad
    tensor([0.6000, 0.8000])
    """
    warn_used_up("clip_grad_norm_", parameters)
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    grads = gradients(parameters)
    if parameters and not grads:
        warn(
            "clip-without-gradients",
            "clip_grad_norm_",
            f"none of the {len(parameters)} parameters has a gradient, so there is nothing to clip",
            "call it between loss.backward() and optimizer.step()",
        )
    elif max_norm < 1e4:  # a huge norm is a way to read the norm alone
        warn_if_used(grads)
    total = get_total_norm(grads, norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total)
    return total


def warn_if_used(grads: list) -> None:
    """Warn about gradients that the last step has used: to clip them changes nothing."""
    if grads and all(used_by_step(g) for g in grads):
        warn(
            "clip-after-step",
            "clip_grad_norm_",
            f"the last step has already used the {len(grads)} gradients, so clipping them has no effect",
            "call it between loss.backward() and optimizer.step()",
        )


def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Return the norm of all tensors together, as if they were one vector; 0 for an empty list.

    Raises RuntimeError for a norm that is not finite if `error_if_nonfinite`.

    >>> import minigrad
    >>> minigrad.nn.utils.get_total_norm([minigrad.tensor([3.]), minigrad.tensor([[4., 0.]])])
    tensor(5.)
    """
    given = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not given:
        return tensor(0.0)
    with no_grad():
        total = stack([t.norm(norm_type) for t in given]).norm(norm_type)
        if error_if_nonfinite and not math.isfinite(total.item()):
            what = f"the total norm of order {norm_type} of the gradients is {total.item()}"
            raise error(RuntimeError, "clip_grad_norm_", what, "pass error_if_nonfinite=False to scale them anyway")
    return total


def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale all gradients, in place, by max_norm / total_norm if that is below 1.

    >>> import minigrad
    >>> x = minigrad.ones(2, requires_grad=True)
    >>> x.grad = minigrad.tensor([6., 8.])
    >>> minigrad.nn.utils.clip_grads_with_norm_(x, 5.0, minigrad.tensor(10.))
    >>> x.grad
    tensor([3.0000, 4.0000])
    """
    with no_grad():
        factor = (max_norm / (total_norm + 1e-6)).clamp(max=1.0)
        for g in gradients(parameters):
            g.mul_(factor)


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Clamp every element of the gradients, in place, to the range from -clip_value to clip_value.

    >>> import minigrad
    >>> x = minigrad.tensor([1., 1.], requires_grad=True)
    >>> (x * minigrad.tensor([3., -4.])).sum().backward()
    >>> minigrad.nn.utils.clip_grad_value_([x], 1.0)
    >>> x.grad
    tensor([ 1., -1.])
    """
    with no_grad():
        for g in gradients(parameters):
            g.clamp_(-clip_value, clip_value)


def gradients(parameters: Tensor | Iterable[Tensor]) -> list:
    """Return the gradients that are not None."""
    given = [parameters] if isinstance(parameters, Tensor) else parameters
    return [g for p in given if (g := p.grad) is not None]
