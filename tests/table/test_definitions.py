"""Generated code gives what the definitions give: each operation's results, views, nodes and gradients."""

import numpy as np
import pytest

import minigrad
from minigrad import func
from minigrad.autograd import detect_anomaly, grad
from minigrad.config import GENERIC
from minigrad.core.graph import FullNode
from tests.floats import some
from tests.table import NAMES, SMOOTH, each_operation, floats, run, tensors, tracked

DIGITS = {"float64": 1e-12, "float32": 1e-5, "float16": 1e-2}
DEFINED = [name for name in NAMES if not name.startswith("empty")]  # whose numbers are any
WAYS = [
    ("float64", True),
    *[
        pytest.param(*way, marks=pytest.mark.slow)
        for way in (("float32", False), ("float16", True), ("float16", False))
    ],
]

# without code for the last step; in the others it is missing where an operand is an integer
ALONE = "bernoulli grid_sample index_fill linalg.cholesky_ex linalg.lu_factor linalg.lu_factor_ex linalg.vander normal vander"


def described(name, sample, dtype, requires_grad):
    """Return what a program can see of a sample's results, and their numbers with those of the gradients of its leaves."""
    minigrad.manual_seed(0)
    leaves = [x.detach().requires_grad_(requires_grad) for x in run(name, sample, dtype=dtype)[1]]
    result, _ = run(name, sample, leaves=leaves)
    outs, results = tracked(result), tensors(result)
    seen = []
    for t in results:
        base = [x is t._base for x in leaves]
        seen.append((t.dtype, t.stride(), base, t._view and t._view.args, t.grad_fn and t.grad_fn.name()))
    generated = not any(isinstance(o.grad_fn, FullNode) for o in outs)
    weights = [minigrad.arange(1.0, o.numel() + 1, dtype=o.dtype).reshape(o.shape) for o in outs]
    grads = grad(outs, leaves, weights, materialize_grads=True) if outs else []
    assert [t.grad_fn and t.grad_fn.name() for t in results] == [s[-1] for s in seen]  # also of freed nodes
    return repr(seen), generated, [t.detach().numpy() for t in (*results, *grads)]


def agree(numbers, by_definition, digits):
    for a, b in zip(numbers, by_definition, strict=True):
        np.testing.assert_allclose(a, b, rtol=digits, atol=digits)


@pytest.mark.parametrize("dtype, requires_grad", WAYS)
@each_operation(DEFINED)
def test_generated_code_gives_what_the_definition_gives(name, sample, dtype, requires_grad):
    try:
        found, generated, numbers = described(name, sample, dtype, requires_grad)
    except minigrad.MinigradError:  # the operation is not there for float16
        assert dtype == "float16"
        return
    with detect_anomaly(check_nan=False):  # where nothing is written out
        expected, _, by_definition = described(name, sample, dtype, requires_grad)
    assert found == expected
    assert GENERIC or generated or name in ALONE.split() or "I(" in sample or dtype == "float16"
    agree(numbers, by_definition, DIGITS[dtype])


@each_operation(some(SMOOTH, 6))
def test_second_derivatives_by_transforms_are_those_of_the_definition(name, sample):
    leaves = tuple(run(name, sample)[1])
    nums = tuple(range(len(leaves)))

    def curved(*given):
        return sum([(o.sin() * o).sum() for o in floats(run(name, sample, leaves=given)[0])])

    def squares(*given):
        return sum([(slope * slope).sum() for slope in func.grad(curved, nums)(*given)])

    def second():
        return [t.numpy() for t in (*func.grad(squares, nums)(*leaves), *func.jvp(squares, leaves, leaves))]

    if leaves:
        found = second()
        with detect_anomaly(check_nan=False):
            agree(found, second(), 1e-9)
