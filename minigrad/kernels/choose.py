"""The choice of a callable: for arguments of these kinds, which prepared call runs an operation?

It is prepared at the first such call, and then looked up. Pointwise results (pointwise_calls.py), their gradients
(pointwise_gradients.py) and operations on lines (row_kernels.py) share the table; None means that NumPy is as fast.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

REMEMBERED = 4096  # choices

calls: dict[tuple, Callable | None] = {}  # set_num_threads forgets them


def choose(key: tuple, prepare: Callable, *args: Any) -> Callable | None:
    """Return the call for a key, prepared by prepare(*args) the first time."""
    try:
        return calls[key]
    except KeyError:
        pass
    if len(calls) >= REMEMBERED:
        calls.clear()
    calls[key] = call = prepare(*args)
    return call


def kind(a: Any) -> Any:
    """Return the properties of a value on which a call depends; numbers count by type alone."""
    return (a.shape, a.strides, a.dtype) if type(a) is np.ndarray else type(a)
