"""Long tables, of kernels that take a second each to compile and of programs: `make test` runs some rows, for one dtype."""

import pytest

FLOAT = [pytest.param("float32", marks=pytest.mark.slow), "float64"]
FLOATS = pytest.mark.parametrize("dtype", FLOAT)


def some(rows, step=3, rest=pytest.mark.slow):
    """Return a table as parameters: each `step`-th row for `make test`, the others for `make test-slow` or another mark."""
    return [pytest.param(row, marks=[] if i % step == 0 else rest) for i, row in enumerate(rows)]
