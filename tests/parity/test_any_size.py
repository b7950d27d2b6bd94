"""Operations with tensors of any size and layout, 0 and 1 among the sizes: PyTorch's results, shapes and gradients, and its
refusals."""

import warnings

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import minigrad
from minigrad.ops.base.registry import TABLE
from tests.parity.random_programs import shares_memory
from tests.parity.test_table import COMPARED, compare, peer
from tests.table import floats, tensors
from tests.table.variants import run, variants

TOLERANCE = {"float64": 1e-8, "float32": 5e-4}
ONLY_OURS = {  # what PyTorch refuses, and minigrad computes, and why; of tensors without elements this is so for many
    "scatter": "PyTorch has no gradient for a source that is larger than the index",
    "scatter_reduce": "PyTorch has no gradient for a source that is larger than the index",
    "scatter_add": "PyTorch has no gradient for a source that is larger than the index",
    "avg_pool3d": "PyTorch compares the window with the input without its padding",
}
ONLY_THEIRS = {  # what minigrad refuses, and PyTorch computes
    "linalg.cond": "a matrix of no rows has no singular values to compare; PyTorch says 0",
    "local_response_norm": "there are no channels to go over",
    "scaled_dot_product_attention": "there are no features, by whose number the scale divides",
    "take_along_dim": "PyTorch reads past the end where an index is broadcast",
    "linalg.matrix_norm": "a matrix of no rows has no largest sum of a row",
    "linalg.norm": "a matrix of no rows has no largest sum of a row",
}
OTHERWISE = {  # what has no elements, and another shape
    "conv1d": "without channels PyTorch's result has no channels either",
    "conv2d": "without channels PyTorch's result has no channels either",
    "conv3d": "without channels PyTorch's result has no channels either",
}
SINGULAR = ("qr", "pinverse", "svd", "linalg", "det", "logdet", "slogdet", "inverse", "cholesky", "matrix")


def result(module, variant, derivatives):
    """Return what is computed, the gradients of its sum, and where the result is a view of an operand."""
    function = TABLE[variant.name].function if module is minigrad else peer(TABLE[variant.name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module.manual_seed(0)
        out, maker = run(module, function, variant, True)
        viewed = [[x.numel() * o.numel() > 0 and shares_memory(o, x) for x in maker.leaves] for o in tensors(out)]
        if not derivatives:
            return out, [], viewed
        leaves = [x.detach().requires_grad_() for x in maker.leaves]
        outs = [o for o in floats(run(module, function, variant, True, leaves)[0]) if o.requires_grad]
        ones = [module.ones_like(o) for o in outs]
        found = module.autograd.grad(outs, leaves, ones, allow_unused=True) if outs else [None] * len(leaves)
        return out, [module.zeros_like(x) if g is None else g for x, g in zip(leaves, found)], viewed


def attempt(module, variant, derivatives):
    try:
        return result(module, variant, derivatives)
    except Exception as e:
        return e


def check(name, data):
    """One variant."""
    variant = data.draw(variants(name, ("float64", "float32")))
    derivatives = TABLE[name].differentiable and variant.dtype in TOLERANCE
    theirs, ours = attempt(torch, variant, derivatives), attempt(minigrad, variant, derivatives)
    if isinstance(theirs, Exception) or isinstance(ours, Exception):
        assert not isinstance(ours, Exception) or isinstance(ours, minigrad.MinigradError), f"{variant}: {ours!r}"
        if not isinstance(theirs, Exception):
            assert name in ONLY_THEIRS, f"{variant}: {ours!r}, torch {theirs!r}"
        elif not isinstance(ours, Exception):
            empty = 0 in variant.sizes.values() or "(0" in variant.sample
            assert empty or name in ONLY_OURS, f"{variant}: {ours!r}, torch {theirs!r}"
        return
    if name in OTHERWISE and 0 in variant.sizes.values():
        return
    if name.startswith(SINGULAR) and not {"expanded", "windows"}.isdisjoint(variant.layouts):
        return  # equal rows: what is found is the last digits' noise
    compare(theirs[0], ours[0], f"{variant}", TOLERANCE.get(variant.dtype, 0))
    assert theirs[2] == ours[2], f"{variant}: a view of {ours[2]}, torch {theirs[2]}"
    for a, b in zip(theirs[1], ours[1], strict=True):
        compare(a, b, f"gradient of {variant}", TOLERANCE[variant.dtype])


@pytest.mark.parametrize("name", [n for n in COMPARED if n != "as_strided"])  # that is about the memory and its gaps
@given(data=st.data())
@settings(max_examples=8, derandomize=True)
def test_results_and_refusals_at_any_size_are_torchs(name, data):
    check(name, data)
