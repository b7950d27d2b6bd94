"""Pointwise operations in pages for NaN, infinities, zeros with signs and extreme numbers, and type promotion."""

import numpy as np
import pytest

import minigrad
from minigrad.core.tensor import wrap
from minigrad.ops.base.registry import TABLE

from .node import evaluate
from .sayings import TOLERANCE
from .test_table import FROZEN

SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 1e-3, 20.0, -0.5, 3.0]
SINGLE = {name: entry.cls for name, entry in TABLE.items() if entry.cls is not None and entry.choose is None}
OPERANDS = {name: len(cls.names) - cls.n_settings for name, cls in SINGLE.items() if not cls.n_conditions}
NAMES = [name for name, n in OPERANDS.items() if n < 3 and name not in FROZEN and "f" in SINGLE[name].accepts]


def agree(found, expected, text):
    assert found.dtype == expected.dtype and found.shape == expected.shape, text
    few = TOLERANCE.get(expected.dtype.name, 0)
    with np.errstate(all="ignore"):
        right = (found == expected) | (np.isnan(found) & np.isnan(expected))
        right |= np.abs(found - expected.astype(float)) <= few * (1 + np.abs(expected))
    assert right.all(), f"{text}: {found[~right]} instead of {expected[~right]}"


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", NAMES)
def test_pointwise_operations_agree_on_special_numbers(name, dtype):
    x = np.array(SPECIAL, dtype)
    names = {"x": x} if OPERANDS[name] == 1 else {"x": np.repeat(x, len(x)), "y": np.tile(x, len(x))}
    call = f"{TABLE[name].torch.removeprefix('nn.functional.') or name}({', '.join(names)})"
    with np.errstate(all="ignore"):
        expected = TABLE[name].function(*[wrap(a.copy()) for a in names.values()]).numpy()
    (found,) = evaluate(call, names)
    agree(found, expected, call)


DTYPES = ["bool", "uint8", "int32", "int64", "float16", "float32", "float64"]


@pytest.mark.parametrize("a", DTYPES)
@pytest.mark.parametrize("b", DTYPES)
def test_operands_are_promoted_as_on_the_processor(a, b):
    x, y, zero = np.ones(2, a), np.ones(2, b), np.ones((), b)
    for text in ("x + y", "x * z", "x / y", "x + 2", "x * 2.5", "x == y", "x > 0.5"):
        names = {"x": x, "y": y, "z": zero}
        expected = eval(text, {k: minigrad.tensor(v) for k, v in names.items()}).numpy()
        (found,) = evaluate(text, names)
        assert found.dtype == expected.dtype and np.array_equal(found, expected), text
