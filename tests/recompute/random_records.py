"""Records of random programs of views, writes and arithmetic, for pages that compute them."""

from typing import Any

import numpy as np

import minigrad
from tests.parity.harness import attempt
from tests.parity.random_programs import ALL, LEAVES, write

from .again import recorded

END = """
    made = [t for name, t in locals().items() if name[0] == "v"]
    return sum([(t * t).sum() for t in (*made, a, b, c, d, s)])
"""
PASSES = ("forward", "backward", "jvp")


class RandomProgram:
    """A program; None as its function if minigrad refuses it, as PyTorch does: a write to a leaf, for example."""

    def __init__(self, seed: int):
        self.lines = write(seed, minigrad).lines
        names: dict[str, Any] = {"torch": minigrad, "attempt": attempt}
        exec("\n    ".join([f"def program({ALL}):", *self.lines]) + END, names)
        self.run = names["program"]

    def record(self, scale: float, dtype: Any = minigrad.float64) -> Any:
        """Return the live record from leaves times a factor, its document and arrays; an exception if there is none."""
        arrays = [np.array(eval(numbers)) * scale for numbers in LEAVES.values()]
        leaves = [minigrad.tensor(a, dtype=dtype, requires_grad=True) for a in arrays]
        return attempt(lambda: recorded(minigrad.record(self.run, *leaves, passes=PASSES, contents=True)))
