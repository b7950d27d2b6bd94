"""The exercises of lesson 25."""

import contextlib
import math
import re

import numpy as np

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise
from minigrad.ops.base.families import Pointwise


class Cells:
    """Memory that a loop reads and writes one number at a time; None marks unwritten elements."""

    def __init__(self, numbers):
        self.numbers, self.writes = list(numbers), 0
        self.size, self.shape = len(self.numbers), (len(self.numbers),)

    def __len__(self):
        return self.size

    def __getitem__(self, i):
        if (number := self.numbers[self.place(i)]) is None:
            raise Wrong("the memory for results is read before anything was written there: it may hold any number")
        return number

    def __setitem__(self, i, value):
        if isinstance(value, (Cells, np.ndarray)):
            raise Wrong("a loop writes one number at a time, as in out_[i] = ...")
        self.writes += 1
        self.numbers[self.place(i)] = value

    def place(self, i):
        i = i[0] if isinstance(i, tuple) and len(i) == 1 else i
        if not isinstance(i, (int, np.integer)):
            raise Wrong("a loop reads and writes one number at a time, as in x_[i] with a whole number i, and no slice")
        if not 0 <= i < self.size:  # IndexError also ends Python's own loop over all elements
            raise IndexError(f"index {i} is behind the last element of {self.size}: they count from 0")
        return i

    def whole(self, *other):
        raise Wrong("the arrays are computed with as a whole; a loop reads x_[i] for each index i")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = whole
    __pow__ = __rpow__ = __neg__ = __abs__ = __float__ = __array__ = __gt__ = __ge__ = __lt__ = __le__ = whole


def loops(answer, expected, count, inputs):
    """Check that a function of `inputs` and `count` memories fills these, one number at a time, and compiles."""
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


def number_by_number(plain, names, inputs, wanted):
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


@exercise(
    "The sum is one operation and the product another. Write down the arrays that each reads and writes.",
    "Each of the two reads two arrays and writes one: six arrays of 4,000,000 bytes.",
)
def kernel_bytes(answer):
    """Two operations, each of which reads two arrays and writes one: 6 * 4 MB. One loop would move 3 * 4 MB."""
    mistakes = {
        12e6: "that is what one loop moves, which reads x and y once and writes the result",
        20e6: "the sum reads two arrays and writes one, and the product reads two again: x once more, and the sum",
        16e6: "the array between the two operations is written, and then read again",
        6e6: "that counts numbers; each has 4 bytes",
        24: "that is in millions of bytes; write all of them",
        6: "that counts arrays; each has 4,000,000 bytes",
    }
    expect.number(answer, 24e6, mistakes)


@exercise(
    "`for i in range(out_.size):` goes over all indices.",
    "In the loop: read `x = x_[i]`, and write `out_[i] = ...` with abs(x).",
)
def kernel_loop(answer):
    """Each number is read once, stays in a register for the computation, and its result is written once."""
    loops(answer, lambda x: (x / (1 + abs(x)),), 1, [[-3.0, -0.5, 0.0, 1.0, 4.0]])


@exercise(
    "The chain rule: the derivative of log(u) by u is 1 / u, times the derivative of u.",
    "u is 1 + x * x, and its derivative is 2 * x. `out` is log(u), not u.",
)
def KernelRepaired(answer):
    """2x / (1 + x²): the derivative of the logarithm, times the derivative of 1 + x²."""
    apply, points = operation(answer), torch.tensor([-2.0, -0.4, 0.5, 3.0], dtype=torch.float64, requires_grad=True)
    expected = declared(answer, kernel=lambda x: torch.log(1 + x * x), dx=lambda x: 2 * x / (1 + x * x))
    expect.tensor(apply(points), expected(points), "the kernel, log(1 + x²),")
    expect.computes(apply, expected, (points,))
    expect.computes(slope(apply), slope(expected), (points,))


def slope(f):
    """Return the derivative of an elementwise function, as a function that can be differentiated again."""
    return lambda *x: torch.autograd.grad(f(*x).sum(), x[0], create_graph=True)[0]


def declared(answer, **formulas):
    """Return the right operation under the name of the answer, so that the pictures of both have the same steps."""
    return type(answer.__name__, (Pointwise,), formulas).apply


def operation(answer):
    """Return the function of an operation that an answer declares."""
    if not (isinstance(answer, type) and hasattr(answer, "kernel")):
        raise Wrong(f"expected a subclass of Pointwise, got {answer!r}")
    if not callable(answer.kernel):
        raise Wrong("the kernel is missing")
    for name in answer.names:
        if not callable(getattr(answer, f"d{name}", None)):
            raise Wrong(f"d{name} is missing: the kernel has the argument {name}, which needs a derivative")
    return answer.apply


@exercise(
    "The derivative by x is exp(y), the one by y is x * exp(y); multiply both by the gradient of the result.",
    "Keep exp(y) in a variable: e = math.exp(y_[i]).",
    "Then dx_[i] = g_[i] * e and dy_[i] = g_[i] * x_[i] * e.",
)
def kernel_backward(answer):
    """Both gradients share a loop: it computes exp(y) once, and reads each input once."""
    inputs = [[1.0, 2.0, -1.0], [3.0, -0.5, 2.0], [0.0, 1.0, -2.0]]
    loops(answer, lambda g, x, y: (g * math.exp(y), g * x * math.exp(y)), 2, inputs)


@exercise(
    "The derivative of sqrt(u) by u is 1 / (2 * sqrt(u)), and u has the derivative 2x by x.",
    "sqrt(u) is the result, which a formula reads as `out`: dx = lambda x, out: x / out.",
)
def KernelDistance(answer):
    """x / out and y / out: formulas that read the result need not compute it again."""
    apply = operation(answer)
    right = {"kernel": lambda x, y: torch.sqrt(x * x + y * y + 1), "dx": lambda x, out: x / out}
    expected = declared(answer, **right, dy=lambda y, out: y / out)
    x = torch.tensor([-2.0, -0.4, 0.5, 3.0], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([1.0, -1.5, 0.25, 0.0], dtype=torch.float64, requires_grad=True)
    expect.tensor(apply(x, y), expected(x, y), "the kernel")
    expect.computes(apply, expected, (x, y), (x.reshape(2, 2), y[:2]))
    expect.computes(slope(apply), slope(expected), (x, y))
    large = torch.full((8192,), 2.0, requires_grad=True)
    expect.computes(lambda x: apply(x, 2.0).sum(), lambda x: expected(x, 2.0 * torch.ones(1)).sum(), (large,))
