"""Check that an answer is a loop: it reads and writes one number at a time, and Numba compiles it."""

import contextlib
import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from . import expect
from .exercise import Wrong

__all__ = ["Cells", "loops"]


class Cells:
    """Memory that a loop reads and writes one number at a time; None marks unwritten elements."""

    def __init__(self, numbers: Iterable) -> None:
        self.numbers, self.writes = list(numbers), 0
        self.size, self.shape = len(self.numbers), (len(self.numbers),)

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, i: Any) -> Any:
        if (number := self.numbers[self.place(i)]) is None:
            raise Wrong("the memory for results is read before anything was written there: it may hold any number")
        return number

    def __setitem__(self, i: Any, value: Any) -> None:
        if isinstance(value, (Cells, np.ndarray)):
            raise Wrong("a loop writes one number at a time, as in out_[i] = ...")
        self.writes += 1
        self.numbers[self.place(i)] = value

    def place(self, i: Any) -> int:
        """Return an index; raise Wrong for a slice, IndexError behind the end."""
        i = i[0] if isinstance(i, tuple) and len(i) == 1 else i
        if not isinstance(i, (int, np.integer)):
            raise Wrong("a loop reads and writes one number at a time, as in x_[i] with a whole number i, and no slice")
        if not 0 <= i < self.size:  # IndexError also ends Python's own loop over all elements
            raise IndexError(f"index {i} is behind the last element of {self.size}: they count from 0")
        return int(i)

    def whole(self, *other: Any) -> Any:
        """Raise Wrong: a loop has no arithmetic with arrays."""
        raise Wrong("the arrays are computed with as a whole; a loop reads x_[i] for each index i")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = whole
    __pow__ = __rpow__ = __neg__ = __abs__ = __float__ = __array__ = __gt__ = __ge__ = __lt__ = __le__ = whole


def loops(answer: Any, expected: Callable, count: int, inputs: list) -> None:
    """Check that a function of `inputs` and `count` memories fills these, one number at a time, and compiles.

    >>> def double(x_, out_):
    ...     for i in range(out_.size):
    ...         out_[i] = 2 * x_[i]
    >>> loops(double, lambda x: (2 * x,), 1, [[1.0, 2.0]])
    """
    from numba import njit
    from numba.core.errors import NumbaError

    if not callable(answer):
        raise Wrong(f"expected a function, got {answer!r}")
    plain = getattr(answer, "py_func", answer)
    wanted = [np.array(column) for column in zip(*[expected(*numbers) for numbers in zip(*inputs)])]
    names = ["out_"] if count == 1 else ["dx_", "dy_"]
    with contextlib.suppress(NotImplementedError):  # of a function that exists in machine code only, as vecmath's do
        number_by_number(plain, names, inputs, wanted)
    compiled = answer if hasattr(answer, "py_func") else njit(plain)
    arrays = [np.array(numbers) for numbers in inputs]
    results = [np.full(len(inputs[0]), np.nan) for _ in range(count)]
    try:
        compiled(*arrays, *results)
    except NumbaError as e:
        lines = [line for line in re.sub(r"\x1b\[\d*m", "", str(e)).splitlines() if line.strip()]
        raise Wrong(f"Numba cannot compile it: {' '.join(lines[1:2] or lines)}") from None  # the first names the step
    for name, result, right in zip(names, results, wanted):
        expect.tensor(result, right, f"{name}, compiled,")


def number_by_number(plain: Callable, names: list, inputs: list, wanted: list) -> None:
    """Check that a loop, run in Python, reads the inputs and writes each number of the results."""
    read, written = [Cells(numbers) for numbers in inputs], [Cells([None] * len(inputs[0])) for _ in wanted]
    returned = plain(*read, *written)
    if not any(cells.writes for cells in written):
        raise Wrong("nothing was written to the last argument" + "; a result is returned" * (returned is not None))
    if any(cells.writes for cells in read):
        raise Wrong("an input was written to; only the last arguments are for results")
    for name, cells, right in zip(names, written, wanted):
        if None in cells.numbers:
            raise Wrong(f"element {cells.numbers.index(None)} of {name} was not written")
        expect.tensor(cells.numbers, right, name)
