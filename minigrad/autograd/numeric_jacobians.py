"""Compute the Jacobian of a function by finite differences, by backward row by row, and by forward mode column by column.

They are arrays of shape (input elements, output elements).  gradcheck.py compares them.
"""

from collections.abc import Callable, Iterator

import numpy as np

from ..core.function import as_tuple
from ..core.tensor import Tensor, is_float, wrap
from . import forward_ad
from .gradients import grad


def checked(inputs: tuple) -> list[tuple[int, Tensor]]:
    """Return the inputs to check, with their positions."""
    return [(i, x) for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]


def differentiable(func: Callable, inputs: tuple) -> list[tuple[int, Tensor]]:
    """Return the outputs that require grad, with their positions."""
    return [(i, o) for i, o in enumerate(as_tuple(func(*inputs))) if isinstance(o, Tensor) and o.requires_grad]


def floats(func: Callable, inputs: tuple) -> dict[int, np.ndarray]:
    """Return the values of all floating-point outputs, as copies: an output may share an input's memory."""
    return {i: numbers(o) for i, o in enumerate(as_tuple(func(*inputs))) if is_float(o)}


def numbers(t: Tensor) -> np.ndarray:
    """Return a flat copy of a tensor's values."""
    return t.detach().cpu()._a.astype(np.float64).reshape(-1)


def units(t: Tensor) -> Iterator[np.ndarray]:
    """Yield a unit array, in the tensor's shape, for each element of a tensor."""
    for place in np.ndindex(tuple(t.shape)):
        unit = np.zeros(tuple(t.shape), t._np_dtype)
        unit[place] = 1
        yield unit


def tensor_like(x: Tensor, a: np.ndarray) -> Tensor:
    """Return the array as a tensor on the device of x."""
    return wrap(a).to(x.device)


def numerical(func: Callable, inputs: tuple, x: Tensor, eps: float) -> dict[int, np.ndarray]:
    """Return, per output, the Jacobian with respect to x from central differences."""
    found = [difference(func, inputs, x, unit, eps) for unit in units(x)]
    return {i: np.reshape([d[i] for d in found], (x.numel(), v.size)) for i, v in floats(func, inputs).items()}


def difference(func: Callable, inputs: tuple, x: Tensor, direction: np.ndarray, eps: float) -> dict[int, np.ndarray]:
    """Return, per output, its central difference along a direction of x."""
    up, down = (moved(func, inputs, x, step * direction) for step in (eps, -eps))
    return {i: (up[i] - down[i]) / (2 * eps) for i in up}


def moved(func: Callable, inputs: tuple, x: Tensor, step: np.ndarray) -> dict[int, np.ndarray]:
    """Return the values of all outputs at x + step; x is changed in place and restored."""
    kept = x._a.copy()
    try:
        np.copyto(x._a, kept + tensor_like(x, step.astype(kept.dtype))._a)
        return floats(func, inputs)
    finally:
        np.copyto(x._a, kept)


def sides(
    func: Callable, inputs: tuple, x: Tensor, place: tuple, k: int, column: int, eps: float
) -> tuple[float, float]:
    """Return the slopes of one element of output k in one element of x, from the left and the right: they differ at a kink."""
    step = np.zeros(x._a.shape)
    step[place] = eps
    down, here, up = (moved(func, inputs, x, sign * step)[k][column] for sign in (-1, 0, 1))
    return (here - down) / eps, (up - here) / eps


def by_backward(out: Tensor, inputs: tuple) -> dict[int, np.ndarray]:
    """Return, per input, the Jacobian of one output, computed row by row."""
    targets = checked(inputs)
    rows = [pulled(out, [x for _, x in targets], unit) for unit in units(out)]
    return {i: np.reshape([row[j] for row in rows], (out.numel(), x.numel())).T for j, (i, x) in enumerate(targets)}


def pulled(out: Tensor, targets: list, weight: np.ndarray) -> list[np.ndarray]:
    """Return the flat gradients of a weighted output with respect to the targets; zeros where there is none."""
    found = grad(out, targets, tensor_like(out, weight), True, allow_unused=True)
    return [np.zeros(x.numel()) if g is None else numbers(g) for x, g in zip(targets, found)]


def by_forward(func: Callable, inputs: tuple, i: int, tangent: np.ndarray) -> dict[int, np.ndarray]:
    """Return, per output, the tangent that results from a tangent of input i."""
    with forward_ad.dual_level():
        args = [x.detach() if isinstance(x, Tensor) else x for x in inputs]
        args[i] = forward_ad.make_dual(args[i], tensor_like(args[i], tangent))
        results = {}
        for k, o in enumerate(as_tuple(func(*args))):
            if is_float(o):
                t = forward_ad.unpack_dual(o).tangent
                results[k] = np.zeros(o.numel()) if t is None else numbers(t)
    return results


def forward_jacobian(func: Callable, inputs: tuple, i: int, x: Tensor) -> dict[int, np.ndarray]:
    """Return, per output, the Jacobian with respect to input i, computed column by column."""
    rows = [by_forward(func, inputs, i, unit) for unit in units(x)]
    return {k: np.stack([r[k] for r in rows]) for k in rows[0]} if rows else {}
