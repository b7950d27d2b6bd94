"""float16 in every operation of the table against PyTorch: values, dtypes and gradients."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import minigrad  # noqa: E402
from minigrad.ops.registry import TABLE  # noqa: E402
from tests.parity.test_table import COMPARED, compare, kind, peer  # noqa: E402
from tests.table import call, floats, tensors  # noqa: E402

TOLERANCE = 4e-3  # four units in the last of float16's 11 digits
NOT_COMPARED = {
    "soft_margin_loss",  # its samples have float32 beside float16, which PyTorch's losses do not promote
    "logcumsumexp",  # in one sample the gradient hangs on the last digit of exponents around 100, which float16 has not
}
HELD = [n for n in COMPARED if n not in NOT_COMPARED]


def results(module, name, sample, leaves=None):
    """What the sample gives, in float16 or from the leaves."""
    return call(module, peer(TABLE[name]) if module is torch else TABLE[name].function, TABLE[name], sample,
                dtype="float16", leaves=leaves)  # fmt: skip


def gradients(module, name, sample, leaves=None):
    """The gradients by the leaves, of the results times numbers that float16 can hold."""
    leaves = results(module, name, sample)[1] if leaves is None else leaves
    leaves = [leaf.detach().clone().requires_grad_() for leaf in leaves]
    outs = [o for o in floats(results(module, name, sample, leaves)[0]) if o.requires_grad]
    random = np.random.default_rng(4)
    weights = [random.uniform(0.5, 1.0, tuple(o.shape)).astype(np.float16).astype(kind(o)) for o in outs]
    weights = [module.tensor(w) for w in weights]
    found = module.autograd.grad(outs, leaves, weights, allow_unused=True) if outs else [None] * len(leaves)
    return [module.zeros_like(leaf) if g is None else g for leaf, g in zip(leaves, found)]


def check(work, name, sample):
    """Dtypes and numbers are PyTorch's; where it rounds between its steps, minigrad's may be those of float64 instead."""
    what = f"{name}({sample})"
    try:
        theirs = work(torch, name, sample)
    except RuntimeError:  # it has no such kernel, or refuses the sample; NotImplementedError is one
        return
    ours = work(minigrad, name, sample)
    assert [kind(t) for t in tensors(ours)] == [kind(t) for t in tensors(theirs)], what
    try:
        compare(theirs, ours, what, TOLERANCE)
    except AssertionError:
        exact = work(minigrad, name, sample, [leaf.double() for leaf in results(minigrad, name, sample)[1]])
        compare([t.to(o.dtype) for t, o in zip(tensors(exact), tensors(ours))], tensors(ours), what, TOLERANCE)


@pytest.mark.parametrize("name", HELD)
def test_values_and_dtypes_are_torchs(name):
    for sample in TABLE[name].samples:
        check(lambda *args: results(*args)[0], name, sample)


@pytest.mark.parametrize("name", [n for n in HELD if TABLE[n].differentiable])
def test_gradients_are_torchs(name):
    for sample in TABLE[name].samples:
        check(gradients, name, sample)
