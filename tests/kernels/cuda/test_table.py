"""Every operation of the table on every sample: on the device it gives what it gives on the processor, and so do its
derivatives.  A new operation is covered by its declaration alone."""

import numpy as np
import pytest

import minigrad
from minigrad.autograd import forward_ad, grad
from minigrad.ops.base.registry import TABLE
from minigrad.ops.create import UNSET
from tests.floats import some
from tests.table import DRAWN, NAMES, SMOOTH, determined, floats, run, tensors


def twice(work, name, sample):
    """Return the results of `work` on the processor and on the device, for the same numbers."""
    with minigrad.device("cuda"):
        there = work(name, sample)
    return work(name, sample), there


def check(name, sample, here, there):
    """Check that results agree as exactly as float32 and float64 allow."""
    assert len(here) == len(there), f"{name}({sample})"
    for a, b in zip(here, there):
        assert b.is_cuda, f"{name}({sample}) left the device"
        assert a.dtype is b.dtype and a.shape == b.shape, f"{name}({sample}): {a.dtype}{a.shape} {b.dtype}{b.shape}"
        a, b, tolerance = a.detach().numpy(), b.detach().cpu().numpy(), 1e-5 if a.dtype is minigrad.float32 else 1e-9
        assert np.allclose(a, b, tolerance, tolerance, equal_nan=True), f"{name}({sample}):\n{a}\n{b}"


def leaves_of(name, sample):
    """Return the leaves of a sample, tracked."""
    return [leaf.detach().requires_grad_() for leaf in run(name, sample)[1]]


def results(name, sample):
    return determined(name, tensors(run(name, sample)[0]))


def gradients(name, sample):
    """Return the gradients of the weighted sum of the results."""
    leaves = leaves_of(name, sample)
    outs = [o for o in determined(name, floats(run(name, sample, leaves=leaves)[0])) if o.requires_grad]
    random = np.random.default_rng(1)
    weights = [minigrad.tensor(np.asarray(random.standard_normal(tuple(o.shape))), dtype=o.dtype) for o in outs]
    return list(grad(outs, leaves, weights, materialize_grads=True)) if outs else []


def tangents(name, sample):
    """Return the tangents of the results, where the tangent of each leaf is the leaf."""
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(leaf.detach(), leaf.detach().clone()) for leaf in run(name, sample)[1]]
        outs = determined(name, floats(run(name, sample, leaves=duals)[0]))
        found = [forward_ad.unpack_dual(o).tangent for o in outs]
    return [t for t in found if t is not None]


@pytest.mark.parametrize("name", some([n for n in NAMES if TABLE[n].differs != UNSET and n not in DRAWN]))
def test_results_are_those_of_the_processor(name):
    for sample in TABLE[name].samples:
        check(name, sample, *twice(results, name, sample))


@pytest.mark.parametrize("name", some([n for n in SMOOTH if n not in DRAWN], 5))
def test_gradients_are_those_of_the_processor(name):
    for sample in TABLE[name].samples:
        check(name, sample, *twice(gradients, name, sample))


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in SMOOTH if n not in DRAWN])
def test_tangents_are_those_of_the_processor(name):
    for sample in TABLE[name].samples:
        check(name, sample, *twice(tangents, name, sample))


SHAPES_ONLY = {"broadcast_tensors", "expand_as", "reshape_as", "type_as", "view_as"}  # nothing is computed with both


@pytest.mark.parametrize("name", some([n for n in NAMES if n not in SHAPES_ONLY]))
def test_tensors_on_two_devices_are_refused_by_their_names(name):
    for sample in TABLE[name].samples:
        leaves = [leaf.detach() for leaf in run(name, sample)[1]]
        shapes = [leaf.shape for leaf in leaves if leaf.ndim]
        if len(shapes) < 2 or any(0 in s for s in shapes):  # what has no elements is nowhere
            continue
        for k in [k for k, leaf in enumerate(leaves) if leaf.ndim]:
            with pytest.raises(RuntimeError, match=r"same device.*of shape .* on c.* and .*of shape .* on c"):
                run(name, sample, leaves=[x.cuda() if x is leaves[k] else x for x in leaves])
