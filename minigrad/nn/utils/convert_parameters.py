"""Parameters as one vector, and a vector as parameters: for optimizers and curvatures that know only vectors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...core.tensor import Tensor
from ...diagnose.optimizers import warn_used_up
from ...errors import error
from ...ops.join import cat


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Return the elements of all parameters, one after another, as a vector that is differentiated like them.

    Raises TypeError for parameters on different devices, RuntimeError for none, or for one that is not contiguous.

    >>> import minigrad
    >>> layer = minigrad.nn.Linear(2, 3)
    >>> minigrad.nn.utils.parameters_to_vector(layer.parameters()).shape
    minigrad.Size([9])
    """
    return cat([p.view(-1) for p in of_one_device("parameters_to_vector", parameters)])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Set the data of the parameters to parts of a vector, which share its memory: the inverse of parameters_to_vector.

    Raises TypeError for anything but a tensor and for parameters on different devices, RuntimeError for a vector that is
    too short.

    >>> import minigrad
    >>> p, q = minigrad.zeros(1, 2), minigrad.zeros(())
    >>> minigrad.nn.utils.vector_to_parameters(minigrad.tensor([4., 5., 6.]), [p, q])
    >>> p, q
    (tensor([[4., 5.]]), tensor(6.))
    """
    if not isinstance(vec, Tensor):
        what = f"expected a tensor with the elements of all parameters, but got {type(vec).__name__}"
        raise error(TypeError, "vector_to_parameters", what, "pass torch.tensor(values), or parameters_to_vector(...)")
    found = of_one_device("vector_to_parameters", parameters)
    if vec.numel() < (n := sum(p.numel() for p in found)):
        what = f"the vector has {vec.numel()} elements, but the parameters have {n}"
        raise error(RuntimeError, "vector_to_parameters", what, "pass one element for each of the parameters' elements")
    begin = 0
    for p in found:
        p.data = vec[begin : begin + p.numel()].view_as(p).data
        begin += p.numel()


def of_one_device(who: str, parameters: Any) -> list[Tensor]:
    """Return parameters as a list.  Raises TypeError if they are on different devices."""
    warn_used_up(who, parameters)
    found = list(parameters)
    if len(devices := {str(p.device): None for p in found}) > 1:
        what = f"the parameters are on different devices: {' and '.join(devices)}"
        raise error(TypeError, who, what, "convert the parameters of each device on their own")
    return found
