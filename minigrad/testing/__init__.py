"""Help for tests and documentation: compare tensors, check a Function, and list all operations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.halves import widened
from ..core.tensor import Tensor
from ..diagnose.boundary import guard as _guard
from .operations import operations_table

if TYPE_CHECKING:
    from .function_checks import Result

__all__ = ["assert_close", "check", "operations_table"]

TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
}  # relative and absolute: torch.testing's


def assert_close(
    actual: Any,
    expected: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_dtype: bool = True,
    msg: str | None = None,
) -> None:
    """Raise AssertionError unless two tensors, or sequences of tensors, agree within tolerances that depend on the dtype.

    >>> import minigrad
    >>> minigrad.testing.assert_close(minigrad.tensor([1.]), minigrad.tensor([1.0000001]))
    """
    if isinstance(actual, (list, tuple)):
        if len(actual) != len(expected):
            raise AssertionError(msg or f"got {len(actual)} values, expected {len(expected)}")
        for a, e in zip(actual, expected, strict=True):
            assert_close(a, e, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=check_dtype, msg=msg)
        return
    a, e = array(actual), array(expected)
    if a.shape != e.shape:
        raise AssertionError(msg or f"got shape {a.shape}, expected {e.shape}")
    if check_dtype and a.dtype != e.dtype:
        raise AssertionError(msg or f"got dtype {a.dtype}, expected {e.dtype}")
    rel, absolute = TOLERANCES.get(str(a.dtype), (0.0, 0.0))
    rel, absolute = rel if rtol is None else rtol, absolute if atol is None else atol
    bad = ~np.isclose(widened(a), widened(e), rtol=rel, atol=absolute, equal_nan=equal_nan)
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise AssertionError(
            msg
            or f"{int(bad.sum())} of {bad.size} elements differ; at {where}: got {a[where]!r}, expected {e[where]!r} "
            f"(rtol {rel}, atol {absolute})"
        )


def check(function: type, *args: Any, skip: Iterable[str] = (), surrogate: bool = False) -> Result:
    """Check a custom Function against all of PyTorch's rules for Functions, and report what holds and what fails.

    `function` is a subclass of `autograd.Function`, minigrad's or PyTorch's.  `args` are the arguments of its `apply`,
    converted to float64; without them, `check` tries shapes until forward runs.  If some of the tensors require grad, the
    others are constants.  `skip` names rows to leave out.  The result is true if nothing fails; its `assert_ok()` raises
    AssertionError with all failures.

    With `surrogate`, backward is deliberately not the derivative of forward, as for a step with a surrogate slope, a
    straight-through estimator, or a gradient reversal: all other rows are checked, and jvp is compared with backward.  The
    same holds if one of these words (or STE, GRL) stands in the name, a docstring or a comment of the Function.

    Raises TypeError for anything but a Function, ValueError for an unknown row or if no arguments are found.

    >>> import minigrad
    >>> class Square(minigrad.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return g * x
    >>> result = minigrad.testing.check(Square, minigrad.tensor([3.]))
    >>> print(result["gradients"].message)
    backward gives 1 for the derivative of output 0 with respect to x, but finite differences give 2: off by a factor of 2
    """
    from .function_checks import run  # imported here because only `check` needs it

    return run(function, args, tuple(skip), surrogate)[0]


def array(x: Any) -> np.ndarray:
    """Return a tensor or a number as an array."""
    return x.detach().numpy() if isinstance(x, Tensor) else np.asarray(x)


_guard(__name__)
