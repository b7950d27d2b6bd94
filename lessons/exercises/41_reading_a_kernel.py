"""The exercises of lesson 41."""

import numpy as np

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise


@exercise(
    "Which arrays does the loop read, and which does it write? The product and the sum are in registers.",
    "Four arrays of a million elements with 4 bytes each.",
)
def reading_bytes(answer):
    """Three arrays are read and one is written: 4 * 1,000,000 * 4 bytes."""
    mistakes = {
        12e6: "that leaves out the result: writing it moves bytes, too",
        4e6: "each element has 4 bytes",
        32e6: "these are the bytes of the eager operations, but the loop keeps the product and the sum in registers",
        24e6: "the product and the sum stay in registers",
        20e6: "the product and the sum stay in registers",
    }
    expect.number(answer, 16e6, mistakes)


@exercise(
    "One time is bytes_moved / bandwidth, the other operations / peak.",
    "Both happen at the same time: the larger one decides.",
)
def reading_roofline(answer):
    """Memory and arithmetic are busy at the same time, so the slower one sets the time."""
    cases = [
        ("12 MB at 40 GB/s and 1e6 operations", (12e6, 40e9, 1e6, 50e9)),
        ("1 MB at 40 GB/s and 1e9 operations", (1e6, 40e9, 1e9, 50e9)),
    ]
    for what, args in cases:
        moving, computing = args[0] / args[1], args[2] / args[3]
        given = answer(*args)
        if given is None:
            raise Wrong("reading_roofline returns None: is there a return?")
        mistakes = {
            moving + computing: "the two times overlap; they do not add",
            moving: "that is the time for the bytes; the arithmetic takes longer here, and the slower one decides",
            computing: "that is the time for the arithmetic; the bytes take longer here, and the slower one decides",
        }
        right = max(moving, computing)
        if not isinstance(given, (int, float)) and not hasattr(given, "item"):
            raise Wrong(f"for {what} at 5e10 operations/s it returns {given!r}, expected a number")
        if not np.isclose(float(given), right, rtol=1e-6, atol=0):
            why = next((w for n, w in mistakes.items() if np.isclose(float(given), n, rtol=1e-6, atol=0)), "")
            words = f"for {what} at 5e10 operations/s it returns {float(given):.3g} s, expected {right:.3g} s"
            raise Wrong(words + (f": {why}" if why else ""))


class Counted:
    """An array of one dimension that counts the reads and writes of its elements."""

    def __init__(self, name, numbers):
        self.name, self.numbers, self.reads, self.writes = name, np.array(numbers), 0, 0
        self.size, self.shape, self.dtype, self.ndim = len(self.numbers), self.numbers.shape, self.numbers.dtype, 1

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        self.reads += np.size(self.numbers[index])
        return self.numbers[index]

    def __setitem__(self, index, value):
        self.writes += np.size(self.numbers[index])
        self.numbers[index] = value

    def __array__(self, *_, **__):
        raise Wrong(f"{self.name} is used as a whole: write a loop over the elements, {self.name}[i]")

    __mul__ = __rmul__ = __add__ = __radd__ = __neg__ = __pow__ = __array__


@exercise(
    "The derivative of x * x * y with respect to x is 2 * x * y, and with respect to y it is x * x. Multiply each by g.",
    "for i in range(g.size): read g[i], x[i] and y[i] into variables, each once.",
    "Then dx[i] = 2 * xi * yi * gi and dy[i] = xi * xi * gi. Do not read dx or dy: `dx[i] += ...` does.",
)
def reading_backward(answer):
    """Five arrays move, each once, with three reads and two writes per element."""
    answer = getattr(answer, "py_func", answer)  # Numba's wrapper
    random = np.random.default_rng(0)
    for size in (1, 7):
        g, x, y = random.standard_normal((3, size))
        arrays = [Counted(name, a) for name, a in zip(("g", "x", "y"), (g, x, y))]
        results = [Counted(name, np.full(size, np.nan)) for name in ("dx", "dy")]
        answer(*arrays, *results)
        for result, wanted in zip(results, (2 * x * y * g, x * x * g)):
            if np.isnan(result.numbers).any():
                raise Wrong(f"with {size} elements {result.name} is not written completely")
            expect.tensor(result.numbers, torch.tensor(wanted), f"with {size} elements {result.name}")
        for array in (*arrays, *results):
            reads, writes = (size, 0) if array in arrays else (0, size)
            if array.reads != reads:
                raise Wrong(f"the numbers are right, but {array.name} is read {array.reads} times, expected {reads}")
            if array.writes != writes:
                raise Wrong(
                    f"the numbers are right, but {array.name} is written {array.writes} times, expected {writes}"
                )
