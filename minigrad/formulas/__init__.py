"""Formulas: what operations and their derivatives are, in public names that can be typed in."""

from . import elementwise, layers, matrices, reductions, shaping
