"""Decides from estimated costs whether a convolution is computed as a matrix product (kernels: conv_cpu.py).

A kernel also computes the ends of rows and lays out the weights; a product needs a copy of all windows. So a product is used
for many channels of small planes, as in the last layers of an image network, and a kernel for everything else.
"""

import math
from typing import Any, NamedTuple

WINDOWS = 1 << 22  # elements of all windows, which a product holds at once


class Cost(NamedTuple):
    """The time of a convolution, as a multiple of the time that its multiplications take in a bare matrix product.

    The numbers are fitted to 40 convolutions of 3 to 512 channels with 4 x 4 to 56 x 56 elements, with AVX2.
    """

    kernel: float
    weights: float  # laying them out, divided by the number of windows
    windows: float  # copying them or adding them up, divided by the number of output channels

    def of_kernel(self, number: tuple, images: int, kernel: tuple) -> float:
        """Return the cost of a kernel for `number` windows in each dimension."""
        ends = math.prod([1 + 1 / n for n, k in zip(number, kernel) if k > 1])
        return self.kernel * ends * (1 + self.weights / (images * math.prod(number)))

    def of_product(self, channels: int) -> float:
        """Return the cost of a product."""
        return 1.1 + 1.1 * self.windows / channels

    def favours_product(self, number: tuple, images: int, w: tuple, groups: int) -> bool:
        """Return True if a product is faster than a kernel, for a weight of shape `w`."""
        elements = images * math.prod(number) * math.prod(w[1:]) * groups
        return 0 < elements <= WINDOWS and self.of_product(w[0] // groups) < self.of_kernel(number, images, w[2:])


FORWARD, BY_INPUT, BY_WEIGHT = Cost(1.0, 32, 33), Cost(1.0, 70, 110), Cost(1.3, 75, 33)


def of_single_elements(w: tuple, geometry: Any) -> bool:
    """Return True if a convolution is one product per image without a copy: each element is a window."""
    ones = geometry.groups, *w[2:], *geometry.stride
    return all([n == 1 for n in ones]) and not any(geometry.padding)
