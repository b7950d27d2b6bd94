"""Derivatives of first and second order in both modes: they agree with finite differences, with each other, with func.grad,
and with what hooks and checkpoints keep of them.
"""

import numpy as np
import pytest

import minigrad
from minigrad import func
from minigrad.arrays.memory import is_new
from minigrad.autograd import forward_ad, grad
from minigrad.ops.base.registry import TABLE
from tests.autograd.test_dual_saved import check
from tests.table import SMOOTH, each_operation, floats, run, run_on_all, tracked

STEP = 1e-6
SAME_AS_TORCH = [n for n in SMOOTH if not TABLE[n].differs]


def weights(outs, seed):
    """Return fixed random cotangents."""
    random = np.random.default_rng(seed)
    return [minigrad.tensor(np.asarray(random.standard_normal(tuple(o.shape)))) for o in outs]


def scalar(outs, ws):
    """Return one number from all outputs."""
    return sum([(o * w).sum() for o, w in zip(outs, ws, strict=True)])


def fresh(leaves):
    return [leaf.detach().clone().requires_grad_() for leaf in leaves]


def gradients(name, sample, leaves, create_graph=False):
    """Return the positions of the outputs that have a derivative, these outputs, and the gradients of their weighted sum."""
    found = floats(run(name, sample, leaves=leaves)[0])
    kept = [i for i, o in enumerate(found) if o.requires_grad]
    outs = [found[i] for i in kept]
    if not outs:
        return kept, [], []
    gs = grad(scalar(outs, weights(outs, 1)), leaves, create_graph=create_graph, materialize_grads=True)
    return kept, outs, gs


def directions(leaves):
    random = np.random.default_rng(2)
    return [np.asarray(random.standard_normal(tuple(leaf.shape))) for leaf in leaves]


def along(gs, vs):
    """Return the derivative along directions, from gradients."""
    return sum(float((g.numpy() * v).sum()) for g, v in zip(gs, vs))


def difference(f, leaves, vs):
    """Return the derivative of f along directions by finite differences."""
    ends = [[minigrad.tensor(x.detach().numpy() + step * v) for x, v in zip(leaves, vs)] for step in (STEP, -STEP)]
    return (float(f(ends[0])) - float(f(ends[1]))) / (2 * STEP)


def close(a, b, scale=1e-5):
    assert np.allclose(a, b, rtol=scale, atol=scale * 10, equal_nan=True), f"{a} and {b}"


@each_operation(SMOOTH)
def test_the_gradient_equals_finite_differences(name, sample):
    leaves = fresh(run(name, sample)[1])
    kept, outs, gs = gradients(name, sample, leaves)
    if not outs:
        return

    def total(leaves):
        found = floats(run(name, sample, leaves=leaves)[0])
        return scalar([found[i] for i in kept], weights(outs, 1))

    vs = directions(leaves)
    close(along(gs, vs), difference(total, leaves, vs))


@each_operation(SMOOTH)
def test_the_second_derivative_equals_finite_differences(name, sample):
    leaves = fresh(run(name, sample)[1])
    gs = gradients(name, sample, leaves, create_graph=True)[2]
    again = [i for i, g in enumerate(gs) if g.requires_grad]
    if not again:
        return
    ws, vs = weights([gs[i] for i in again], 3), directions(leaves)
    second = grad(scalar([gs[i] for i in again], ws), leaves, materialize_grads=True)

    def total(leaves):
        found = gradients(name, sample, fresh(leaves))[2]
        return scalar([found[i] for i in again], ws)

    close(along(second, vs), difference(total, leaves, vs), 1e-4)


@each_operation(SMOOTH)
def test_forward_mode_is_the_transpose_of_backward(name, sample):
    leaves = fresh(run(name, sample)[1])
    kept, outs, gs = gradients(name, sample, leaves)
    if not outs:
        return
    vs = directions(leaves)
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(leaf.detach(), minigrad.tensor(v)) for leaf, v in zip(leaves, vs)]
        found = floats(run(name, sample, leaves=duals)[0])
        tangents = [forward_ad.unpack_dual(found[i]).tangent for i in kept]
    tangents = [minigrad.zeros_like(o) if t is None else t for o, t in zip(outs, tangents)]
    close(float(scalar(tangents, weights(outs, 1))), along(gs, vs), 1e-8)


def weighted(name, sample, given):
    """Return the weighted sum of all differentiable results, with a separate weight for each element."""
    outs = [o for o in run_on_all(name, sample, given)[0] if o.is_floating_point()]
    ws = [minigrad.linspace(0.5, 1.5, max(o.numel(), 1), dtype=o.dtype)[: o.numel()].reshape(o.shape) for o in outs]
    return sum([(o * w).sum() for o, w in zip(outs, ws)])


@each_operation(SAME_AS_TORCH)
def test_func_grad_gives_the_gradients_of_eager_mode(name, sample):
    leaves = run_on_all(name, sample)[1]
    nums = tuple([i for i, leaf in enumerate(leaves) if leaf.is_floating_point()])
    given = [leaf.clone().requires_grad_(leaf.is_floating_point()) for leaf in leaves]
    total = weighted(name, sample, given)
    if not tracked(total):  # matrix_power(x, 0)
        return
    wanted = grad(total, [given[i] for i in nums], materialize_grads=True)
    for below in (leaves, given):  # untracked below the transform, and tracked
        found = func.grad(lambda *given: weighted(name, sample, given), argnums=nums)(*below)
        for f, w in zip(found, wanted, strict=True):
            assert f.shape == w.shape and f.dtype == w.dtype
            assert np.allclose(f.detach().numpy(), w.numpy(), rtol=1e-9, atol=1e-10, equal_nan=True), f"{f} is not {w}"


@pytest.mark.cpu("is about what nodes keep, which is the same on a device")
@pytest.mark.parametrize("name", SAME_AS_TORCH)
def test_hooks_and_checkpoints_keep_the_tangents_of_saved_tensors(name):
    sample = TABLE[name].samples[0]
    check(lambda *given: weighted(name, sample, given), run_on_all(name, sample)[1], f"{name}({sample})")


@each_operation(SMOOTH)
def test_a_write_to_a_gradient_reaches_nothing_else(name, sample):
    leaves = fresh(run(name, sample)[1])
    outs = tracked(run(name, sample, leaves=leaves)[0])
    if not outs:
        return
    seeds = [minigrad.ones_like(o) for o in outs]
    before, of_each_run = [t.detach().clone() for t in (*outs, *leaves)], []
    for _ in range(2):
        minigrad.autograd.backward(outs, seeds, retain_graph=True)
        of_each_run.append([None if leaf.grad is None else leaf.grad.clone() for leaf in leaves])
        for leaf, g in zip(leaves, of_each_run[-1]):
            if g is not None:
                assert np.array_equal(leaf.grad, g, equal_nan=True), "another gradient was written to"
                leaf.grad.fill_(77)
                leaf.grad = None
    for a, b in zip(before + of_each_run[0], [*outs, *leaves, *of_each_run[1]]):
        assert a is b or np.array_equal(a, b.detach(), equal_nan=True)
    assert all((seed == 1).all() for seed in seeds)


def test_an_array_for_two_edges_is_new_for_neither():
    a, b = np.ones(2), np.ones(2)
    assert (
        is_new(b, a, [(None, a), (None, b)])
        and not is_new(b, a, [(None, b), (None, b)])
        and not is_new(a, a, [(None, a)])
    )
