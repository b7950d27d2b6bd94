"""Tensors that a captured function creates from numbers: tensor([lr, 1.0]), full((3,), k), x.fill_(s).

The numbers are parameters of the program, which creates the tensor anew at each call.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..arrays.kinds import host
from ..core.frames import current, use
from ..core.tensor import Tensor
from ..ops.join import stack
from .captured_steps import HANDLED
from .symbols import plain

MOST = 64  # maximum number of Python numbers in one tensor that become parameters of the program


def create(trace: Any, elements: list, like: Tensor) -> Any:
    """Create a tensor from parameters of the program: one for all of its elements, or one for each."""
    frame: Any = current()
    while frame.layer is not trace:
        frame = frame.parent
    kind = like._np_dtype
    if kind.kind != "f" and any(isinstance(a, float) for a in elements):  # floats are truncated
        elements = [a.__trunc__() for a in elements]
    ones = partial(like.new_ones, dtype=like.dtype)
    with use(frame.all_grad(False)):
        if len(elements) == 1:
            made = ones(like._sizes) * trace.operand(elements[0], kind)
        else:
            made = stack([ones(()) * trace.operand(a, kind) for a in elements]).reshape(like._sizes)
    trace.from_numbers[trace.value(made)] = elements
    return made


def holds(t: Tensor, numbers: list) -> bool:
    """Return True if a tensor consists of these numbers, one per element or one for all, and they may be parameters."""
    if len(numbers) > MOST or t._np_dtype not in HANDLED or t._np_dtype.kind == "b":
        return False
    held = np.array(list(map(plain, numbers))).astype(t._np_dtype)
    return np.array_equal(host(t._a).ravel(), held if len(held) > 1 else np.repeat(held, t._a.size), equal_nan=True)
