"""Decide when a convolution is computed as a product of matrices, by estimates of both costs (kernels: conv_cpu.py).

A kernel computes the ends of rows as well, and lays the weights out for itself; a product needs a copy of all windows.  So
many channels of small planes, as in the last layers of a network for images, are a product, and everything else is not.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

WINDOWS = 1 << 22  # elements of all windows, which a product needs at one time


class Cost(NamedTuple):
    """The time of a convolution, as a multiple of what its multiplications take in a product without anything else.

    The numbers are fitted to 40 convolutions, of 3 to 512 channels with 4 x 4 to 56 x 56 elements, with AVX2.
    """

    kernel: float
    weights: float  # laying them out, over the number of windows
    windows: float  # copying them or adding them up, over the number of channels of the result

    def of_kernel(self, number: tuple, images: int, kernel: tuple) -> float:
        """Return that of a kernel, for so many windows in each direction."""
        ends = math.prod([1 + 1 / n for n, k in zip(number, kernel) if k > 1])
        return self.kernel * ends * (1 + self.weights / (images * math.prod(number)))

    def of_product(self, channels: int) -> float:
        """Return that of a product."""
        return 1.1 + 1.1 * self.windows / channels

    def favours_product(self, number: tuple, images: int, w: tuple, groups: int) -> bool:
        """Return whether a product is quicker than a convolution by a weight of this shape."""
        elements = images * math.prod(number) * math.prod(w[1:]) * groups
        return 0 < elements <= WINDOWS and self.of_product(w[0] // groups) < self.of_kernel(number, images, w[2:])


FORWARD, BY_INPUT, BY_WEIGHT = Cost(1.0, 32, 33), Cost(1.0, 70, 110), Cost(1.3, 75, 33)


def of_single_elements(w: tuple, geometry: Any) -> bool:
    """Return whether a convolution is one product per image without copying: its windows are single elements, at each place."""
    ones = geometry.groups, *w[2:], *geometry.stride
    return all([n == 1 for n in ones]) and not any(geometry.padding)
