"""On the device meta operations give the shapes and dtypes that they give elsewhere, and so do their derivatives, or they say
that the sizes depend on numbers; and what an operation makes for itself is on its arguments' device.
"""

import re

import pytest

import minigrad
from minigrad.autograd import forward_ad, grad
from minigrad.ops.base.registry import TABLE
from tests.table import NAMES, SMOOTH, call, each_operation, floats, run, tensors, tracked

CPU = minigrad.device("cpu")
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
    """Return the gradients of the sum of the results."""
    leaves = [leaf.detach().requires_grad_() for leaf in run(name, sample)[1]]
    outs = tracked(run(name, sample, leaves=leaves)[0])
    ones = [minigrad.ones_like(o) for o in outs]
    return list(grad(outs, leaves, ones, materialize_grads=True)) if outs else []


def tangents(name, sample):
    """Return the tangents of the results."""
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(leaf.detach(), leaf.detach().clone()) for leaf in run(name, sample)[1]]
        found = [forward_ad.unpack_dual(o).tangent for o in floats(run(name, sample, leaves=duals)[0])]
    return [t for t in found if t is not None]


def check(work, name, sample):
    """Compare what is found on both devices."""
    there = on_meta(work, name, sample)
    if there is None:
        return
    here = work(name, sample)
    assert [(t.dtype, t.shape) for t in here] == [(t.dtype, t.shape) for t in there]
    assert all(t.is_meta for t in there)


@each_operation(NAMES)
def test_meta_gives_results_and_gradients_of_the_same_shapes(name, sample):
    check(results, name, sample)
    if TABLE[name].differentiable:
        check(gradients, name, sample)


@pytest.mark.slow
@each_operation(SMOOTH)
def test_meta_gives_tangents_of_the_same_shapes(name, sample):
    check(tangents, name, sample)


@pytest.mark.parametrize("name", sorted(BY_NUMBERS))
def test_meta_refuses_results_that_depend_on_numbers(name):
    found = [on_meta(results, name, sample) for sample in TABLE[name].samples]
    assert None in found


@each_operation(NAMES)
def test_results_and_gradients_are_on_the_arguments_device(name, sample):
    """The default device is meta here, whose tensors have no numbers: one of them beside others is an error."""
    entry = TABLE[name]
    with CPU:
        (args, settings), leaves = call(minigrad, lambda *args, **settings: (args, settings), entry, sample)
        leaves = [leaf.requires_grad_() for leaf in leaves]
    if not tensors([*args, *settings.values()]):
        return  # the operation makes a new tensor

    def elsewhere(*args, **settings):
        with minigrad.device("meta"):
            return entry.function(*args, **settings)

    with CPU:
        result, _ = call(minigrad, elsewhere, entry, sample, leaves=leaves)
    found, outs = tensors(result), tracked(result)
    for _ in range(2 if outs else 0):  # derivatives of first and second order
        with minigrad.device("meta"):
            gs = grad(outs, leaves, [o.detach() for o in outs], create_graph=True, allow_unused=True)
        found += [g for g in gs if g is not None]
        outs = [g for g in gs if g is not None and g.requires_grad]
        if not outs:
            break
    assert {t.device for t in found} <= {CPU}
