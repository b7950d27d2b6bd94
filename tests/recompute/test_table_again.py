"""Every operation of the table in a record that a page computes again: all passes, with the recorded inputs and with others."""

import numpy as np
import pytest

import minigrad
from minigrad.ops.base.registry import TABLE
from minigrad.testing.samples import call
from tests.table import NAMES

from .again import computed, recorded
from .sayings import equal, weighted
from .test_record import SAVED, compare
from .test_table import COMMON, FROZEN

OTHERS = 3  # further inputs of each sample
# reasons that are none: noise stays, and a page counts what an operation saves among its values
# operations whose samples show where rounding or a corner decides, and what the record says of no number
NOISE = "in float32, rounding decides near zeros and at large numbers"
NOT_COMPARED = {
    ("det", "float64"): "the determinant of a singular matrix is its rounding",
    ("det", "float32"): "the determinant of a singular matrix is its rounding",
    **{(name, "float32"): NOISE for name in ("cdist", "logcumsumexp", "matrix_exp", "linalg.matrix_exp")},
}
FROZEN_HERE = {
    name: {"the record does not say how this number follows"} for name in ("empty_like", "ones_like", "zeros_like")
}
FROZEN_HERE["dist"] = {"the record's formula holds only while these zeros stay as they are"}  # of empty tensors
KEPT = SAVED | {"random draws keep their numbers"}


def others(a, random):
    """Return other numbers near those of an array, symmetric if they are; integers stay."""
    if a.dtype.kind != "f":
        return a
    factors = random.uniform(0.97, 1.03, a.shape).astype(a.dtype)
    if a.ndim > 1 and a.shape[-1] == a.shape[-2] and np.array_equal(a, np.swapaxes(a, -1, -2)):
        factors = (factors + np.swapaxes(factors, -1, -2)) / 2
    return a * factors


def record(entry, sample, leaves):
    """Return the record of a sample with these leaves, with another gradient for each result."""
    given = [minigrad.tensor(a).requires_grad_(entry.differentiable and a.dtype.kind == "f") for a in leaves]
    program, passes = weighted(entry, sample)
    return recorded(minigrad.record(program, *given, passes=passes, contents=True))


def frozen_reasons(name, dtype):
    """Check an operation's samples with the recorded inputs and others; return the reasons for what is frozen."""
    entry, random, reasons = TABLE[name], np.random.default_rng(0), set()
    for sample in entry.samples:
        leaves = [t.detach().numpy() for t in call(minigrad, entry.function, entry, sample, dtype=dtype)[1]]
        live, document, arrays = record(entry, sample, leaves)
        if isinstance(live, str):
            continue
        found = computed(live)
        compare(found, arrays)
        reasons |= set(found.frozen.values()) - KEPT
        for _ in range(OTHERS):
            _, other, expected = record(entry, sample, [others(a, random) for a in leaves])
            if [op["call"] for op in document["ops"]] != [op["call"] for op in other["ops"]]:
                continue
            given = {v["id"] for v in document["values"] if v["kind"] in ("parameter", "input", "constant")}
            given -= {o for step in live["steps"] for o in step["outputs"]}
            found = computed(live, {i: expected[i] for i in given if i in expected})
            for i in set(found.numbers) & set(expected) - {*found.frozen, *found.behind}:
                assert equal(found.numbers[i], expected[i]), (
                    document["values"][i]["label"],
                    document["ops"][0]["call"],
                )
    return reasons


@pytest.mark.parametrize("name", COMMON[::4])
def test_common_operations_follow_other_inputs(name):
    assert not frozen_reasons(name, "float32")


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", [n for n in NAMES if n not in FROZEN])
def test_operations_follow_other_inputs(name, dtype):
    if (name, dtype) in NOT_COMPARED:
        pytest.skip(NOT_COMPARED[name, dtype])
    assert frozen_reasons(name, dtype) == FROZEN_HERE.get(name, set())
