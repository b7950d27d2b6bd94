"""The exercises of lesson 25."""

import re

import numpy as np

from lessons import expect
from lessons.exercise import Wrong, exercise
from lessons.loops import loops


@exercise(
    "The sum is one operation and the product another. Write down the arrays that each reads and writes.",
    "Each of the two reads two arrays and writes one: six arrays of 4,000,000 bytes.",
)
def kernel_bytes(answer):
    """Two operations, each of which reads two arrays and writes one: 6 * 4 MB. One loop would move 3 * 4 MB."""
    mistakes = {
        12e6: "that is for one loop, which reads x and y once and writes the result",
        20e6: "the sum reads two arrays and writes one, and the product also reads two and writes one",
        16e6: "the sum is written to memory, and the product reads it again",
        6e6: "that counts numbers, and each has 4 bytes",
        24: "that is in millions of bytes; write all of them",
        6: "that counts arrays; each has 4,000,000 bytes",
    }
    expect.number(answer, 24e6, mistakes)


@exercise(
    "`for i in range(out_.size):` visits all indices.",
    "In the loop: read `x = x_[i]`, and write `out_[i] = ...` with abs(x).",
)
def kernel_loop(answer):
    """Each number is read once, stays in a register for the computation, and its result is written once."""
    loops(answer, lambda x: (x / (1 + abs(x)),), 1, [[-3.0, -0.5, 0.0, 1.0, 4.0]])


@exercise(
    "Which numbers in the formula are Python numbers? Each of them widens the result.",
    "Write np.float32(1) instead of 1, and np.float32(0.5) instead of 0.5.",
)
def kernel_narrow(answer):
    """Each constant is a float32, so every step stays a float32."""
    from numba import njit
    from numba.core.errors import NumbaError

    if not callable(answer):
        raise Wrong(f"expected a function, got {answer!r}")
    compiled = answer if hasattr(answer, "py_func") else njit(answer)
    for x in (0.0, 2.0, -3.0):
        try:
            given = compiled(np.float32(x))
        except NumbaError as e:
            lines = [line for line in re.sub(r"\x1b\[\d*m", "", str(e)).splitlines() if line.strip()]
            raise Wrong(f"Numba cannot compile it: {' '.join(lines[1:2] or lines)}") from None
        expect.tensor(given, 1 / (1 + x * x / 2), f"the result for {x:g}")
    compiled_for = next(one for one in compiled.signatures if str(one[0]) == "float32")
    types = compiled.overloads[compiled_for].type_annotation.calltypes
    wide = [str(step) for step, called in types.items() if called and str(called.return_type) == "float64"]
    if wide:
        steps = "one step has" if len(wide) == 1 else f"{len(wide)} steps have"
        raise Wrong(f"the numbers are right, but {steps} a float64 result")
