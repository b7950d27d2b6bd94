"""The error of gradcheck for a derivative that differs from finite differences: both Jacobians, where they differ most, the
usual cause of such a difference, and the methods that may contain it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.context import Ctx
from ..core.engine import reachable
from ..core.graph import history
from ..core.tensor import Tensor, wrap
from ..errors import MinigradRuntimeError, error
from ..places import returned_at
from .numeric_jacobians import differentiable, numbers, sides


class GradcheckError(MinigradRuntimeError):
    """A derivative disagrees with finite differences; the message shows where, and suggests the cause.

    >>> import minigrad
    >>> from minigrad.autograd import Function, GradcheckError, gradcheck
    >>> class Half(Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x / 2
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         return g
    >>> try:
    ...     gradcheck(Half.apply, minigrad.ones(1, dtype=minigrad.float64, requires_grad=True))
    ... except GradcheckError as e:
    ...     print(str(e).split(":")[0])
    gradcheck
    """


class Tolerances:
    """The tolerances of one check."""

    def __init__(self, eps: float, atol: float, rtol: float, nondet_tol: float):
        self.eps, self.atol, self.rtol, self.nondet_tol = eps, atol, rtol, nondet_tol

    def close(self, a: Any, n: Any) -> bool:
        """Return True if the analytical value is close enough to the numerical one."""
        return bool(np.allclose(a, n, rtol=self.rtol, atol=self.atol))


def not_a_function(func: Callable, inputs: tuple) -> Exception | None:
    """Return an error if func gives other outputs when called again: then finite differences mean nothing."""
    first, again = differentiable(func, inputs), differentiable(func, inputs)
    for (k, a), (_, b) in zip(first, again):
        if not np.array_equal(numbers(a), numbers(b), equal_nan=True):
            return error(
                GradcheckError,
                "gradcheck",
                f"output {k} changes when the function is called twice with the same inputs, so finite "
                "differences mean nothing",
                "call minigrad.manual_seed(0) in the function if it draws random numbers, and keep no state in it",
            )
    return None


def suspects(func: Callable, inputs: tuple, methods: tuple) -> list[str]:
    """Return the lines at which these methods of the user's Functions return: one of these methods is wrong."""
    edges = [e for _, o in differentiable(func, inputs) if (e := history(o)) is not None]
    nodes = sorted([n for n in reachable(edges)[0] if isinstance(n, Ctx)], key=lambda n: n._seq)
    own = [(cls, m) for cls in dict.fromkeys([n._fn for n in nodes]) for m in methods]
    places = [(f"{cls.__name__}.{m}", returned_at(getattr(cls, m))) for cls, m in own]
    return [f"{who} returns at {place}" for who, place in places if place is not None]


def mismatch(
    mode: str, func: Callable, inputs: tuple, i: int, k: int, a: np.ndarray, n: np.ndarray, settings: Tolerances
) -> Exception:
    """Return the error for two Jacobians that differ: both, where they differ most, and the likely cause."""
    x = inputs[i]
    gap = np.abs(a - n) - settings.rtol * np.abs(n)
    row, column = np.unravel_index(int(np.argmax(np.where(np.isnan(gap), np.inf, gap))), gap.shape)
    at = tuple([int(p) for p in np.unravel_index(int(row), x.shape)]) if x.shape else ()
    allowed, off = settings.atol + settings.rtol * abs(n[row, column]), abs(a - n)[row, column]
    kink = ""
    if x._np_dtype == np.float64:  # in float32, rounding errors look like a kink
        left, right = sides(func, inputs, x, at, k, int(column), settings.eps)
        kink = KINK.format(left, right) if abs(right - left) > max(off, allowed) else ""
    wrong = int((~np.isclose(a, n, rtol=settings.rtol, atol=settings.atol)).sum())
    return error(
        GradcheckError, "gradcheck",
        f"Jacobian mismatch for output {k} with respect to input {i}{', in forward mode' * (mode == 'forward')},\n"
        f"numerical:{wrap(n)}\nanalytical:{wrap(a)}\n"
        f"{wrong} of {a.size} elements differ, most at [{row}, {column}] (input element [{', '.join(map(str, at))}], output "
        f"element {column}): numerical {n[row, column]:.6g}, analytical {a[row, column]:.6g}, {off:.2g} "
        f"apart ({allowed:.2g} allowed)",
        kink or advice(mode, x, a, n, settings))  # fmt: skip


KINK = (
    "check at inputs where the function is smooth: there is a kink here, the slope is {:.4g} from the left and {:.4g} from the "
    "right, and a central difference gives the mean of the two"
)


def advice(mode: str, x: Tensor, a: np.ndarray, n: np.ndarray, settings: Tolerances) -> str:
    """Return the likely cause of a difference of this kind."""
    method = "jvp" if mode == "forward" else "backward"
    if np.isnan(a).any() or np.isnan(n).any():
        which = "analytical" if np.isnan(a).any() else "numerical"
        return f"the {which} Jacobian has nan: look for 0/0, log or sqrt at the boundary of its domain, or inf - inf"
    if x._np_dtype != np.float64:
        return f"the input is {x.dtype}; finite differences need double precision: pass x.double().requires_grad_()"
    if not a.any():
        return f"the analytical Jacobian is zero: look for detach(), no_grad or a None that {method} returns here"
    if settings.close(a, -n):
        return f"the signs are opposite: look for a minus in {method}"
    ratios = a[n != 0] / n[n != 0]
    if ratios.size and np.abs(ratios - ratios[0]).max() <= 1e-3 * abs(ratios[0]) and not a[n == 0].any():
        return f"the analytical values are {ratios[0]:.4g} times the numerical ones: look for a factor in {method}"
    if a.shape[0] == a.shape[1] and settings.close(a, n.T):
        return f"one Jacobian is the other transposed: look for a missing transpose in {method}"
    there = (np.abs(a) > settings.atol / 2) | (np.abs(n) > settings.atol / 2)  # zeros agree whatever the formula
    if np.isclose(a, n, rtol=settings.rtol, atol=settings.atol)[there].mean() >= 0.5:
        return f"the other elements agree: look for a special case of these, such as a branch in {method}"
    return f"look at the formula of {method}, and for in-place changes after forward to the values it reads"
