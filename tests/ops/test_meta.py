"""On the device meta every operation of the table gives tensors of the shapes and dtypes that it gives elsewhere, and so do
its derivatives; or it says that their sizes depend on numbers.  A new operation is covered by its declaration alone."""

import re

import pytest

import minigrad
from minigrad.autograd import forward_ad, grad
from minigrad.ops.base.registry import TABLE
from tests.table import NAMES, SMOOTH, floats, run, tensors

# What looks at numbers: for a result that is a number of Python's, or of a size that depends on them.
BY_NUMBERS = {
    "allclose", "argwhere", "bincount", "equal", "histc", "index_put", "masked_scatter", "masked_select", "nonzero",
    "one_hot", "repeat_interleave", "unique", "unique_consecutive", "where",
}  # fmt: skip
REFUSED = r"cannot be called on meta tensors|depends on numbers|no data!"


def on_meta(work, name, sample):
    """Return the result of `work` on meta; None where it is refused, as some operations may be."""
    try:
        with minigrad.device("meta"):
            return work(name, sample)
    except (RuntimeError, NotImplementedError) as e:
        if name not in BY_NUMBERS:
            raise
        assert isinstance(e, minigrad.MinigradError) and re.search(REFUSED, str(e))
        return None


def results(name, sample):
    return tensors(run(name, sample)[0])


def gradients(name, sample):
    """Return the gradients of the sum of the results, and of these gradients."""
    leaves = [leaf.detach().requires_grad_() for leaf in run(name, sample)[1]]
    outs = [o for o in floats(run(name, sample, leaves=leaves)[0]) if o.requires_grad]
    ones = [minigrad.ones_like(o) for o in outs]
    return list(grad(outs, leaves, ones, materialize_grads=True)) if outs else []


def tangents(name, sample):
    """Return the tangents of the results."""
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(leaf.detach(), leaf.detach().clone()) for leaf in run(name, sample)[1]]
        found = [forward_ad.unpack_dual(o).tangent for o in floats(run(name, sample, leaves=duals)[0])]
    return [t for t in found if t is not None]


def check(work, name):
    """Compare what is found on both devices."""
    for sample in TABLE[name].samples:
        there = on_meta(work, name, sample)
        if there is None:
            continue
        here = work(name, sample)
        assert [(t.dtype, t.shape) for t in here] == [(t.dtype, t.shape) for t in there], sample
        assert all(t.is_meta for t in there), sample


@pytest.mark.parametrize("name", NAMES)
def test_results_have_their_shapes(name):
    check(results, name)


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_have_their_shapes(name):
    check(gradients, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", SMOOTH)
def test_tangents_have_their_shapes(name):
    check(tangents, name)


@pytest.mark.parametrize("name", sorted(BY_NUMBERS))
def test_what_depends_on_numbers_is_refused(name):
    found = [on_meta(results, name, sample) for sample in TABLE[name].samples]
    assert None in found
