"""Every operation of the table on every sample: derivatives of first and second order, jvp and vmap agree with each other
and with finite differences.  A new operation is covered by its declaration alone.
"""

import functools
import inspect
import warnings

import numpy as np
import pytest

import minigrad
from minigrad.autograd import forward_ad, grad
from minigrad.layers.batch import batched
from minigrad.ops.base.registry import TABLE, enter
from tests.floats import FLOATS
from tests.table import NAMES, SMOOTH, determined, floats, run, tensors

STEP = 1e-6


def weights(outs, seed):
    """Return fixed random cotangents."""
    random = np.random.default_rng(seed)
    return [minigrad.tensor(np.asarray(random.standard_normal(tuple(o.shape)))) for o in outs]


def scalar(outs, ws):
    """Return one number from all outputs."""
    total = None
    for o, w in zip(outs, ws, strict=True):
        part = (o * w).sum()
        total = part if total is None else total + part
    return total


def tracked(leaves):
    return [leaf.detach().clone().requires_grad_() for leaf in leaves]


def gradients(name, sample, leaves, create_graph=False):
    """(outputs, gradients of their weighted sum)"""
    outs = floats(run(name, sample, leaves=leaves)[0])
    outs = [o for o in outs if o.requires_grad]
    if not outs:
        return [], []
    return outs, grad(scalar(outs, weights(outs, 1)), leaves, create_graph=create_graph, materialize_grads=True)


def directions(leaves, seed=2):
    random = np.random.default_rng(seed)
    return [np.asarray(random.standard_normal(tuple(leaf.shape))) for leaf in leaves]


def moved(leaves, vs, step):
    return [minigrad.tensor(leaf.detach().numpy() + step * v) for leaf, v in zip(leaves, vs)]


def close(a, b, what, scale=1e-5):
    assert np.allclose(a, b, rtol=scale, atol=scale * 10, equal_nan=True), f"{what}:\n{a}\n{b}"


@pytest.mark.parametrize("name", SMOOTH)
def test_gradient_is_that_of_finite_differences(name):
    for sample in TABLE[name].samples:
        leaves = tracked(run(name, sample)[1])
        outs, gs = gradients(name, sample, leaves)
        if not outs:
            continue
        vs = directions(leaves)
        analytic = sum(float((g.numpy() * v).sum()) for g, v in zip(gs, vs))
        kept = [i for i, o in enumerate(floats(run(name, sample, leaves=leaves)[0])) if o.requires_grad]
        ends = []
        for step in (STEP, -STEP):
            found = floats(run(name, sample, leaves=moved(leaves, vs, step))[0])
            ends.append(float(scalar([found[i] for i in kept], weights(outs, 1))))
        close(analytic, (ends[0] - ends[1]) / (2 * STEP), f"{name}({sample})")


@pytest.mark.parametrize("name", SMOOTH)
def test_second_derivative_is_that_of_finite_differences(name):
    for sample in TABLE[name].samples:
        leaves = tracked(run(name, sample)[1])
        outs, gs = gradients(name, sample, leaves, create_graph=True)
        gs = [(i, g) for i, g in enumerate(gs) if g.requires_grad]
        if not gs:
            continue
        ws, vs = weights([g for _, g in gs], 3), directions(leaves)
        second = grad(scalar([g for _, g in gs], ws), leaves, materialize_grads=True)
        analytic = sum(float((h.numpy() * v).sum()) for h, v in zip(second, vs))
        ends = []
        for step in (STEP, -STEP):
            found = gradients(name, sample, tracked(moved(leaves, vs, step)))[1]
            ends.append(float(scalar([found[i] for i, _ in gs], ws)))
        close(analytic, (ends[0] - ends[1]) / (2 * STEP), f"{name}({sample})", 1e-4)


@pytest.mark.parametrize("name", SMOOTH)
def test_jvp_is_the_transpose_of_backward(name):
    for sample in TABLE[name].samples:
        leaves = tracked(run(name, sample)[1])
        outs, gs = gradients(name, sample, leaves)
        if not outs:
            continue
        vs = directions(leaves)
        with forward_ad.dual_level():
            duals = [forward_ad.make_dual(leaf.detach(), minigrad.tensor(v)) for leaf, v in zip(leaves, vs)]
            found = floats(run(name, sample, leaves=duals)[0])
            tangents = [forward_ad.unpack_dual(o).tangent for o in found]
        kept = [i for i, o in enumerate(floats(run(name, sample, leaves=leaves)[0])) if o.requires_grad]
        tangents = [minigrad.zeros_like(found[i]) if tangents[i] is None else tangents[i] for i in kept]
        forward = float(scalar(tangents, weights(outs, 1)))
        backward = sum(float((g.numpy() * v).sum()) for g, v in zip(gs, vs))
        close(forward, backward, f"{name}({sample})", 1e-8)


@pytest.mark.parametrize("name", [n for n in SMOOTH if TABLE[n].vmap])
def test_vmap_is_a_loop_in_every_position(name):
    size = 3
    for sample in TABLE[name].samples:
        leaves = run(name, sample)[1]
        for mask in range(1, 2 ** len(leaves)) if len(leaves) < 4 else (1, 2 ** len(leaves) - 1):
            random = np.random.default_rng(mask)
            stacks = [np.stack([leaf.numpy() * random.uniform(0.9, 1.1) for _ in range(size)], axis=mask % (leaf.ndim + 1))
                      if mask >> i & 1 else leaf.numpy() for i, leaf in enumerate(leaves)]  # fmt: skip
            dims = tuple(mask % (leaf.ndim + 1) if mask >> i & 1 else None for i, leaf in enumerate(leaves))
            stacked = tuple(minigrad.tensor(s) for s in stacks)
            found = batched(lambda *ls: tuple(tensors(run(name, sample, leaves=ls)[0])), stacked, dims, size)
            found = determined(name, found)
            for k in range(size):
                one = [minigrad.tensor(s if d is None else np.take(s, k, axis=d)) for s, d in zip(stacks, dims)]
                for f, o in zip(found, determined(name, tensors(run(name, sample, leaves=one)[0])), strict=True):
                    assert f[k].dtype == o.dtype and f[k].shape == o.shape, (
                        f"vmap of {name}({sample}), batched at {dims}"
                    )
                    close(f.numpy()[k], o.numpy(), f"vmap of {name}({sample}), batched at {dims}", 1e-8)


def found_at(path):
    """Return the object at a dotted path in minigrad, or None."""
    try:
        return functools.reduce(getattr, path.split("."), minigrad)
    except AttributeError:
        return None


@pytest.mark.parametrize("name", sorted(TABLE))
def test_what_the_user_calls_is_what_stands_in_the_table(name):
    assert found_at(TABLE[name].torch or name) in (None, TABLE[name].function, TABLE[name].method)


def first_is_a_tensor(entry):
    """Return True if a tensor is the first argument of a function that is not one of the written-out ones."""
    first = next(iter(inspect.signature(entry.function).parameters.values()))
    return entry.cls is None and first.annotation == "Tensor" and first.kind is first.POSITIONAL_OR_KEYWORD


@pytest.mark.parametrize("wrong", [[1.0, 2.0], "spam", object()], ids=["list", "text", "object"])
@pytest.mark.parametrize("name", [n for n, e in sorted(TABLE.items()) if "." not in e.torch and first_is_a_tensor(e)])
def test_what_is_no_tensor_is_refused_by_argument_and_type(name, wrong):
    f = TABLE[name].function
    first, *rest = inspect.signature(f).parameters.values()
    required = [p for p in rest if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    with pytest.raises(
        TypeError, match=f"^[a-z0-9_.]*: argument '{first.name}' must be Tensor, not {type(wrong).__name__}"
    ):
        f(wrong, *[minigrad.ones(2) if p.annotation == "Tensor" else 1 for p in required])


ODD = [0.0, -1.0, np.inf, -np.inf, np.nan, 1e300, 1e-310, -0.0, 3.0]


@pytest.mark.cpu("NumPy's warnings")
@FLOATS
@pytest.mark.parametrize("name", NAMES)
def test_numpy_says_nothing_of_odd_numbers_whatever_its_settings_are(name, dtype):
    for sample in TABLE[name].samples:
        with np.errstate(all="ignore"):
            odd = [np.resize(ODD, tuple(leaf.shape)).astype(dtype) for leaf in run(name, sample)[1]]
        for how in ("warn", "raise"):
            leaves = [minigrad.tensor(a, requires_grad=True) for a in odd]
            with warnings.catch_warnings(), np.errstate(all=how):
                warnings.simplefilter("ignore")
                warnings.simplefilter("error", RuntimeWarning)
                try:
                    outs = [o for o in floats(run(name, sample, leaves=leaves)[0]) if o.requires_grad]
                    for create_graph in (True, False):
                        ones = [minigrad.ones_like(o) for o in outs]
                        grad(outs, leaves, ones, create_graph=create_graph, retain_graph=True, allow_unused=True)
                except minigrad.MinigradError as e:  # a decomposition that does not exist, a gradient of nothing
                    assert "registry" not in str(e)


def test_an_operation_does_not_take_the_place_of_another():
    before = TABLE["exp"]
    with pytest.raises(AssertionError, match="two operations are called exp"):
        enter("exp", len, ("T()",))
    assert TABLE["exp"] is before


def test_a_misspelt_word_of_a_declaration_is_refused():
    with pytest.raises(TypeError, match="inplcae"):
        enter("another", len, ("T()",), inplcae=True)
    assert "another" not in TABLE
