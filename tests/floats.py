"""Floats for tables of kernels: their text is the same for both, so `make test` compiles them for one."""

import pytest

FLOATS = pytest.mark.parametrize("dtype", [pytest.param("float32", marks=pytest.mark.slow), "float64"])
