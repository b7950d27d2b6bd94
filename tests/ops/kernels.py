"""Runs a pointwise call by Numba's fused kernels and by NumPy, to compare the two."""

import numpy as np
import pytest

import minigrad
from minigrad.autograd import grad
from minigrad.kernels import choose, pointwise_calls, pointwise_gradients

RTOL = {"float32": 1e-5, "float64": 1e-12}


def results(function, arrays, dtype):
    """Return the result and the gradients of its weighted sum, as arrays."""
    leaves = [minigrad.tensor(a.astype(dtype)).requires_grad_() for a in arrays]
    with minigrad.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        out = function(
            *leaves
        )  # by the definitions: written-out operations have the size from which they fuse in their text
    found = [out]
    if out.requires_grad:
        varied = minigrad.tensor(np.random.default_rng(5).standard_normal(tuple(out.shape)).astype(dtype))
        uniform = minigrad.tensor(0.7, dtype=varied.dtype).expand(out.shape)  # as a sum sends it back
        for weights in (varied, uniform):
            found += grad(out, leaves, weights, retain_graph=True, materialize_grads=True)
    assert all(str(t.dtype).endswith((dtype, "bool")) for t in found), [t.dtype for t in found]
    return [t.detach().numpy() for t in found]


def check_fused(function, arrays, dtype):
    """Check that kernels, used from one element on, give the results of the formulas on arrays."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choose, "calls", {})
        found = []
        for least in (1, 10**9):
            patch.setitem(pointwise_calls.SIZES, "few", least)
            patch.setattr(pointwise_gradients, "GRADIENTS_FROM", least)
            found.append(results(function, arrays, dtype))
        fused, plain = found
    for i, (a, b) in enumerate(zip(fused, plain, strict=True)):
        what = "the result" if i == 0 else f"gradient {(i - 1) % len(arrays)}"
        np.testing.assert_allclose(a, b, rtol=RTOL[dtype], atol=RTOL[dtype], equal_nan=True, err_msg=what)
