"""Every operation of the table against PyTorch: values, dtypes, shapes and gradients, over dtypes and layouts of memory.

The samples stand beside each operation's declaration, so a new operation is compared without writing a test.
"""

import functools

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import minigrad  # noqa: E402
from minigrad.ops.base.registry import TABLE  # noqa: E402
from tests.table import NAMES, call, floats, tensors  # noqa: E402

COMPARED = [n for n in NAMES if not TABLE[n].differs]
TOLERANCE = {"float64": 1e-9, "float32": 2e-4, "int64": 0}


def peer(entry):
    """Return PyTorch's function of the same name."""
    return functools.reduce(getattr, (entry.torch or entry.name).split("."), torch)


def both(name, sample, **options):
    """Return the sample's result and leaves with each library; the exception instead of a result where one was raised."""
    entry = TABLE[name]
    found = []
    for module, function in ((torch, peer(entry)), (minigrad, entry.function)):
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


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
@pytest.mark.parametrize("name", COMPARED)
def test_values_and_dtypes_are_torchs(name, dtype):
    for sample in TABLE[name].samples:
        (theirs, _), (ours, _) = both(name, sample, dtype=dtype)
        if isinstance(theirs, Exception):
            assert dtype != "float64", f"torch refuses the sample {name}({sample}): {theirs}"
            continue
        assert not isinstance(ours, Exception), f"{name}({sample}) in {dtype}: {ours!r}, torch computes it"
        compare(theirs, ours, f"{name}({sample}) in {dtype}", TOLERANCE[dtype])


@pytest.mark.parametrize("layout", ["transposed", "channels last", "sliced"])
@pytest.mark.parametrize("name", COMPARED)
def test_layout_of_memory_makes_no_difference(name, layout):
    for sample in TABLE[name].samples:
        (theirs, _), (ours, _) = both(name, sample, layout=layout)
        if isinstance(theirs, Exception) and isinstance(ours, Exception):
            continue  # such as view() of memory that has no such view
        for result in (theirs, ours):
            assert not isinstance(result, Exception), f"{name}({sample}), {layout}: {theirs!r} and {ours!r}"
        compare(theirs, ours, f"{name}({sample}), {layout}", 1e-9)


# What PyTorch leaves in the order of its operands or of LAPACK where minigrad's results lie row by row.
ROW_BY_ROW = {
    *(
        "conv1d",
        "conv2d",
        "conv_transpose1d",
        "conv_transpose2d",
        "avg_pool1d",
        "max_pool1d",
        "interpolate",
        "group_norm",
    ),
    *("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_max_pool1d", "pixel_shuffle", "pixel_unshuffle"),
    *("channel_shuffle", "lp_pool1d", "max_unpool2d"),
    *("adaptive_avg_pool3d", "adaptive_max_pool3d", "avg_pool3d", "max_pool3d"),
    *(
        "cholesky",
        "linalg.cholesky",
        "linalg.solve",
        "linalg.solve_triangular",
        "index_fill",
        "index_put",
        "kron",
        "addr",
    ),
    "local_response_norm",
    *("linalg.cholesky_ex", "linalg.lstsq", "linalg.lu_factor", "linalg.lu_factor_ex", "linalg.lu_solve"),
    *("linalg.solve_ex", "lu_solve", "ldexp", "unravel_index", "put"),
    *("upsample", "upsample_bilinear", "upsample_nearest"),
    *("select_scatter", "slice_scatter", "diagonal_scatter"),
}


@pytest.mark.parametrize("layout", ["plain", "transposed", "channels last", "sliced"])
@pytest.mark.parametrize("name", COMPARED)
def test_results_lie_in_memory_as_torchs_do(name, layout):
    """Compare strides, on which it depends whether `.view(-1)` is allowed."""
    for sample in TABLE[name].samples:
        (theirs, _), (ours, _) = both(name, sample, layout=layout)
        if isinstance(theirs, Exception):
            continue
        for a, b in zip(tensors(theirs), tensors(ours)):
            if steps(a) != steps(b) and a.numel() > 1:
                what = (
                    f"{name}({sample}), {layout}: strides {b.stride()}, torch {a.stride()}, of shape {tuple(a.shape)}"
                )
                assert name in ROW_BY_ROW and b.is_contiguous() and not a.is_contiguous(), what


def steps(t):
    """Return the strides of the dimensions that have more than one element."""
    return [step for step, n in zip(t.stride(), t.shape) if n > 1]


def test_powers_of_a_number_lie_row_by_row():
    for module in (torch, minigrad):
        x = module.ones(3, 4).T
        assert (2**x).is_contiguous() and module.pow(2.0, x).is_contiguous() and not (x**2).is_contiguous()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", [n for n in COMPARED if TABLE[n].differentiable])
def test_gradients_are_torchs(name, dtype):
    for sample in TABLE[name].samples:
        entry, gradients = TABLE[name], []
        for module, function in ((torch, peer(entry)), (minigrad, entry.function)):
            leaves = [
                leaf.detach().clone().requires_grad_() for leaf in call(module, function, entry, sample, dtype=dtype)[1]
            ]
            outs = [o for o in floats(call(module, function, entry, sample, leaves=leaves)[0]) if o.requires_grad]
            random = np.random.default_rng(4)
            weights = [module.tensor(np.asarray(random.standard_normal(tuple(o.shape)), dtype=kind(o))) for o in outs]
            found = module.autograd.grad(outs, leaves, weights, allow_unused=True) if outs else [None] * len(leaves)
            gradients.append([module.zeros_like(leaf) if g is None else g for leaf, g in zip(leaves, found)])
        compare(gradients[0], gradients[1], f"gradient of {name}({sample}) in {dtype}", TOLERANCE[dtype])


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


@pytest.mark.parametrize("name", [n for n in COMPARED if TABLE[n].differentiable])
def test_second_derivatives_are_zeros_and_none_where_torchs_are(name):
    """Adam moves a parameter whose gradient is zeros, and leaves one alone whose gradient is None."""
    for sample in TABLE[name].samples:
        entry, found = TABLE[name], []
        for module, function in ((torch, peer(entry)), (minigrad, entry.function)):
            leaves = [leaf.detach().clone().requires_grad_() for leaf in call(module, function, entry, sample)[1]]
            outs = [o for o in floats(call(module, function, entry, sample, leaves=leaves)[0]) if o.requires_grad]
            found.append(second_order(module, outs, leaves))
        # PyTorch's short cuts for no or one element are its own
        if found[0] is not None and all(leaf.numel() > 1 for leaf in leaves):
            text = f"{name}({sample})"
            assert (found[1] == found[0]) is (text not in OTHERWISE), f"{text}: {found[1]}, torch {found[0]}"


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
