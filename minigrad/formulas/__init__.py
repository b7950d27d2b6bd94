"""Formulas: operations and their derivatives, written with public names so that you can paste them."""

from . import elementwise, matrices, reductions, shaping
