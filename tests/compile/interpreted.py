"""Generated modules run as plain Python: slow on arrays, but at once, so that hundreds of programs can be compared.

The generated code runs here in Python. test_compile.py checks that Numba makes the same of it, and `make test-slow` checks
that with every program that takes `either`.
"""

import math
import re
import types

import numpy as np
import pytest

from minigrad.compile import loaded

VECMATH = ("acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh exp exp2 expm1 floor hypot log log10 log1p log2 "
           "sin sinh sqrt tan tanh trunc")  # fmt: skip
UNLIKE = {"acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atan2": "arctan2",
          "atanh": "arctanh"}  # fmt: skip
FUNCTIONS = {
    **{name: getattr(np, UNLIKE.get(name, name)) for name in VECMATH.split()},
    "where": lambda c, x, y: x if c else y,
    "erf": math.erf,
    "pow": np.power,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "plus": lambda total, x: total + x,
    "higher": lambda top, x: (
        x if isinstance(top, np.integer) else np.maximum(top, x)
    ),  # a running maximum starts as an integer
    "peak": lambda top: top,
    "empty": np.empty,
    "flat": np.ravel,
    "zeros": np.zeros,
}


def njit(*args, **options):
    """Return a decorator that does nothing."""
    return args[0] if args else lambda f: f


def product(x, y, out):
    """The product of matrices."""
    out[...] = x @ y


def load(name, source):
    """Return the module with this text, not compiled."""
    module = types.ModuleType(name)
    text = source.replace("from numba import njit", "from tests.compile.interpreted import njit")
    text = text.replace("from minigrad.kernels.vecmath", "from tests.compile.interpreted")
    text = re.sub("from minigrad.kernels.cpu.(gemm|new_arrays)", "from tests.compile.interpreted", text)
    exec(compile(text, f"<{name}>", "exec"), module.__dict__)
    return module


def __getattr__(name):
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    raise AttributeError(name)


@pytest.fixture
def interpreted(monkeypatch):
    """Compile without Numba."""
    monkeypatch.setattr(loaded, "cache", types.SimpleNamespace(load=load))
    with np.errstate(all="ignore"):
        yield


@pytest.fixture(params=["python", pytest.param("numba", marks=pytest.mark.slow)])
def either(request):
    """Without Numba, and with it."""
    if request.param == "python":
        request.getfixturevalue("interpreted")
