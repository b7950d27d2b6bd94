"""Formulas: operations and their derivatives, written with public names so that you can paste them."""

from . import elementwise, layers, matrices, reductions, shaping
