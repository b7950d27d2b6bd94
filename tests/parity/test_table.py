"""The sweep over the table of operations (tests/table) against PyTorch: values, dtypes, layouts of memory and gradients."""

import functools
import itertools

import numpy as np
import pytest
import torch

import minigrad
from minigrad.ops.base.registry import TABLE
from tests.table import NAMES, call, each_operation, tensors, tracked

COMPARED = [n for n in NAMES if not TABLE[n].differs]
SMOOTH = [n for n in COMPARED if TABLE[n].differentiable]
TOLERANCE = {"float64": 1e-9, "float32": 2e-4, "int64": 0}
HALVES = {"float16": 4e-3, "bfloat16": 3.2e-2}  # four units in the last of 11 digits, and of 8
NOT_IN_HALVES = {
    "soft_margin_loss",  # its samples have float32 beside float16, which PyTorch's losses do not promote
    "linalg.matrix_exp",  # PyTorch rounds each product to the half
    "grid_sample",  # PyTorch rounds places to the half, minigrad to float32: a point of a sample lies where reflections turn
    "logcumsumexp",  # in one sample the gradient hangs on the last digit of exponents around 100, which float16 has not
}


def peer(entry):
    """Return PyTorch's function of the same name."""
    return functools.reduce(getattr, (entry.torch or entry.name).split("."), torch)


def both(name, sample, **options):
    """Return the sample's result and leaves with each library; the exception instead of a result where one was raised."""
    entry = TABLE[name]
    found = []
    for module, function in ((torch, peer(entry)), (minigrad, entry.function)):
        module.manual_seed(0)
        try:
            found.append(call(module, function, entry, sample, **options))
        except Exception as e:
            found.append((e, []))
    return found


def plain(t):
    if getattr(t, "_is_zerotensor", lambda: False)():  # zeros without memory, which PyTorch makes in backward
        return np.zeros(tuple(t.shape), kind(t))
    return t.detach().numpy() if hasattr(t, "detach") else np.asarray(t)


def kind(t):
    return str(t.dtype).split(".")[-1]


def compare(theirs, ours, what, tolerance):
    if not tensors(theirs):
        assert ours == theirs or np.allclose(ours, theirs), f"{what}: {ours}, torch {theirs}"
    assert len(tensors(ours)) == len(tensors(theirs)), f"{what}: {ours}, torch {theirs}"
    for a, b in zip(tensors(theirs), tensors(ours)):
        assert tuple(a.shape) == tuple(b.shape), f"{what}: shape {tuple(b.shape)}, torch {tuple(a.shape)}"
        assert kind(a) == kind(b), f"{what}: dtype {kind(b)}, torch {kind(a)}"
        x, y = plain(a), plain(b)
        allowed = max(tolerance, TOLERANCE.get(kind(a), 0))  # a result in float32 is no more exact than float32
        assert np.allclose(y, x, rtol=allowed, atol=allowed, equal_nan=True), f"{what}:\n{y}\ntorch\n{x}"


# of nn.functional, where torch.<name> is another function: it returns indices as well, or takes other arguments
OTHERS = {"adaptive_max_pool1d", "binary_cross_entropy_with_logits", "embedding", "embedding_bag"}


def test_functions_of_networks_stand_at_the_top_level_where_torch_has_them_there():
    functional = {entry.name for entry in TABLE.values() if entry.torch.startswith("nn.functional.")}
    ours, theirs = ({n for n in functional if hasattr(module, n)} for module in (minigrad, torch))
    assert ours == theirs - OTHERS


@each_operation(COMPARED)
def test_values_and_dtypes_are_torchs(name, sample):
    for dtype, tolerance in TOLERANCE.items():
        (theirs, _), (ours, _) = both(name, sample, dtype=dtype)
        if isinstance(theirs, Exception):
            assert dtype != "float64", f"torch refuses the sample: {theirs}"
            continue
        assert not isinstance(ours, Exception), f"in {dtype}: {ours!r}, torch computes it"
        compare(theirs, ours, dtype, tolerance)


# What PyTorch leaves in the order of its operands or of LAPACK where minigrad's results lie row by row.
ROW_BY_ROW = {
    *"conv1d conv2d conv_transpose1d conv_transpose2d avg_pool1d max_pool1d interpolate group_norm".split(),
    *("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_max_pool1d", "pixel_shuffle", "pixel_unshuffle"),
    "channel_shuffle",
    *("adaptive_avg_pool3d", "adaptive_max_pool3d", "avg_pool3d", "max_pool3d"),
    *"cholesky linalg.cholesky linalg.solve linalg.solve_triangular index_fill index_put kron addr".split(),
    "local_response_norm",
    *("linalg.cholesky_ex", "linalg.lstsq", "linalg.lu_factor", "linalg.lu_factor_ex", "linalg.lu_solve"),
    *("linalg.solve_ex", "unravel_index", "put", "triangular_solve", "linalg.householder_product"),
    *("upsample", "upsample_bilinear", "upsample_nearest"),
    *("select_scatter", "slice_scatter", "diagonal_scatter"),
}


@each_operation(COMPARED)
def test_results_for_other_layouts_of_memory_are_torchs_and_laid_out_as_torchs(name, sample):
    """Strides are compared, too: whether `.view(-1)` is allowed depends on them."""
    for layout in ("plain", "transposed", "channels last", "sliced"):
        (theirs, _), (ours, _) = both(name, sample, layout=layout)
        if isinstance(theirs, Exception) and isinstance(ours, Exception):
            continue  # such as view() of memory that has no such view
        for result in (theirs, ours):
            assert not isinstance(result, Exception), f"{layout}: {theirs!r} and {ours!r}"
        compare(theirs, ours, layout, TOLERANCE["float64"])
        for a, b in zip(tensors(theirs), tensors(ours)):
            if steps(a) != steps(b) and a.numel() > 1:
                what = f"{layout}: strides {b.stride()}, torch {a.stride()}, of shape {tuple(a.shape)}"
                assert name in ROW_BY_ROW and b.is_contiguous() and not a.is_contiguous(), what


def steps(t):
    """Return the strides of the dimensions that have more than one element."""
    return [step for step, n in zip(t.stride(), t.shape) if n > 1]


def test_powers_of_a_number_lie_row_by_row():
    for module in (torch, minigrad):
        x = module.ones(3, 4).T
        assert (2**x).is_contiguous() and module.pow(2.0, x).is_contiguous() and not (x**2).is_contiguous()


def results(module, name, sample, dtype, leaves=None):
    """Return the results of a sample, and its leaves: numbers of the dtype, unless they are given."""
    function = peer(TABLE[name]) if module is torch else TABLE[name].function
    if leaves is None:
        made = call(module, function, TABLE[name], sample, dtype="float64" if dtype == "float64" else "float32")[1]
        leaves = [leaf.to(getattr(module, dtype)) for leaf in made]
    module.manual_seed(0)
    return call(module, function, TABLE[name], sample, leaves=leaves)


def values(*args):
    """Return the results alone."""
    return results(*args)[0]


def gradients(module, name, sample, dtype, leaves=None):
    """Return the gradients by the leaves, of the results times numbers that are the same in both libraries."""
    leaves = results(module, name, sample, dtype)[1] if leaves is None else leaves
    leaves = [leaf.detach().clone().requires_grad_() for leaf in leaves]
    outs = tracked(results(module, name, sample, dtype, leaves)[0])
    random = np.random.default_rng(4)
    low = 0.5 if dtype in HALVES else -1.0  # sums of numbers of both signs lose the digits that halves have
    weights = [module.tensor(random.uniform(low, 1.0, tuple(o.shape))).to(o.dtype) for o in outs]
    found = module.autograd.grad(outs, leaves, weights, allow_unused=True) if outs else [None] * len(leaves)
    return [module.zeros_like(leaf) if g is None else g for leaf, g in zip(leaves, found)]


@each_operation(SMOOTH)
def test_gradients_are_torchs(name, sample):
    for dtype in ("float64", "float32"):
        compare(*[gradients(m, name, sample, dtype) for m in (torch, minigrad)], dtype, TOLERANCE[dtype])


def in_double(found, dtype):
    """Return the results with tensors of the dtype in float64, because NumPy compares them and has no bfloat16."""
    return [t.double() if kind(t) == dtype else t for t in tensors(found)] or found


@each_operation([n for n in COMPARED if n not in NOT_IN_HALVES])
def test_values_and_gradients_of_half_precision_are_torchs(name, sample):
    """Or float64's, where PyTorch rounds between its steps."""
    works = [values, gradients] if TABLE[name].differentiable else [values]
    for dtype, work in itertools.product(HALVES, works):
        try:
            theirs = work(torch, name, sample, dtype)
        except RuntimeError:  # it has no such kernel, or refuses the sample; NotImplementedError is one
            continue
        ours, what = work(minigrad, name, sample, dtype), f"{work.__name__} in {dtype}"
        assert [kind(t) for t in tensors(ours)] == [kind(t) for t in tensors(theirs)], what
        try:
            compare(in_double(theirs, dtype), in_double(ours, dtype), what, HALVES[dtype])
        except AssertionError:
            exact = work(minigrad, name, sample, dtype, [t.double() for t in results(minigrad, name, sample, dtype)[1]])
            rounded = [t.to(o.dtype) for t, o in zip(tensors(exact), tensors(ours))]
            compare(in_double(rounded, dtype), in_double(ours, dtype), what, HALVES[dtype])


# Where a gradient does not change, and only one of the two counts it as depending on the input: minigrad's adaptive means are
# made of means, sums and divisions, and PyTorch knows what the power 0 comes to.
OTHERWISE = {
    "adaptive_avg_pool1d(T(2, 3, 8), 4)",
    "adaptive_avg_pool1d(T(3, 7), 3)",
    "adaptive_avg_pool1d(T(2, 2, 3), (5,))",
    "adaptive_avg_pool2d(T(2, 3, 4, 6), 2)",
    "adaptive_avg_pool2d(T(3, 7, 5), (3, None))",
    "adaptive_avg_pool2d(T(2, 2, 3, 4), (5, 1))",
    "adaptive_avg_pool3d(T(2, 2, 4, 6, 5), 2)",
    "adaptive_avg_pool3d(T(1, 2, 7, 5, 4), (3, None, 1))",
    "interpolate(T(1, 1, 4, 4), 3, mode='area')",
    "pow(T(3), 0)",
}


@each_operation(SMOOTH)
def test_second_derivatives_are_zeros_and_none_where_torchs_are(name, sample):
    """Adam moves a parameter whose gradient is zeros, and leaves one alone whose gradient is None."""
    found = []
    for module in (torch, minigrad):
        leaves = [leaf.detach().clone().requires_grad_() for leaf in results(module, name, sample, "float64")[1]]
        found.append(second_order(module, tracked(results(module, name, sample, "float64", leaves)[0]), leaves))
    # PyTorch's short cuts for no or one element are its own
    if found[0] is not None and all(leaf.numel() > 1 for leaf in leaves):
        same = f"{name}({sample})" not in OTHERWISE
        assert (found[1] == found[0]) is same, f"{found[1]}, torch {found[0]}"


def second_order(module, outs, leaves):
    """For each leaf's gradient, the leaves by which it has a gradient itself; None where torch cannot say."""
    ones = [module.ones_like(o) for o in outs]
    found, firsts = [], [None] * len(leaves)
    if outs:
        firsts = module.autograd.grad(outs, leaves, ones, create_graph=True, allow_unused=True)
    for first in firsts:
        if first is None or not first.requires_grad:
            found.append([])
            continue
        try:
            seconds = module.autograd.grad(first.sum(), leaves, allow_unused=True, retain_graph=True)
        except RuntimeError as e:
            assert module is torch and ("not implemented" in str(e)), e
            return None
        found.append([i for i, second in enumerate(seconds) if second is not None])
    return found


@pytest.mark.parametrize("y", [1, 2, 3, 0.5, -0.5, -1, -2, 0, 4, 1.5])
def test_powers_of_large_arrays_at_zeros_infinities_and_nan(y):
    odd = [0.0, -0.0, 1.0, -2.5, 1e-30, 1e30, np.inf, -np.inf, np.nan]
    found = []
    for module in (torch, minigrad):
        x = module.tensor(np.resize(odd, 10_000), requires_grad=True)
        out = x**y
        (dx,) = module.autograd.grad(out.sum(), x)
        found.append([plain(out), plain(dx)])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-14)
        np.testing.assert_array_equal(np.signbit(b)[a == a], np.signbit(a)[a == a])
