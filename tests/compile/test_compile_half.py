"""minigrad.compile of halves, which memory holds and loops compute with as float32; on the processor they stay calls."""

import numpy as np
import pytest

import minigrad as torch
from minigrad import bfloat16, compile, float16
from minigrad.func.tree import flatten

from .both import T, function_of
from .test_compile import PROGRAMS, F

HALVES = pytest.mark.parametrize("dtype", [float16, bfloat16], ids=lambda d: d.name)
NEAR = {float16: 0.02, bfloat16: 0.08}


def check(text, dtype, device):
    """Check that results and gradients are those of float32 up to rounding, in eager code's dtypes."""
    names = ("x", "w", "b")[: len(args := PROGRAMS[text]())]
    f = function_of(f"lambda {', '.join(names)}: {text}", {"torch": torch, "F": F, "relu": F.relu})
    compiled, found, kinds = compile(f), [], []
    halves = [a.to(dtype).to(device) for a in args]
    for run, given in [(f, [a.float() for a in halves]), (f, halves), *[(compiled, halves)] * 3]:
        tracked = [a.clone().requires_grad_() for a in given]
        with torch.device(device):
            outs = [t for t in flatten(run(*tracked))[0] if isinstance(t, torch.Tensor)]
        weights = [t.detach().cos() for t in (found[0] if found else outs)]
        loss = sum((t.float() * w).sum() for t, w in zip(outs, weights))
        found.append([*outs, *torch.autograd.grad(loss, tracked)])
        kinds.append([t.dtype for t in found[-1]])
    for again in found[2:]:
        for exact, rounded in zip(found[0], again, strict=True):
            exact, rounded = [t.detach().double().cpu().numpy() for t in (exact, rounded)]
            np.testing.assert_allclose(rounded, exact, NEAR[dtype], NEAR[dtype])
    assert kinds[1] == kinds[2] == kinds[3]
    return compiled


@pytest.mark.slow
@HALVES
@pytest.mark.parametrize("text", PROGRAMS)
def test_values_and_gradients_are_those_of_float32_rounded(text, dtype):
    assert "eagerly" not in check(text, dtype, torch.get_default_device()).explain()


@HALVES
@pytest.mark.parametrize(
    "f",
    [
        lambda x: torch.autograd.grad((x * 2.5).sum(), x)[0],
        lambda x: torch.autograd.grad((x.tanh() + 1).mean(), x)[0],
        lambda x: torch.ones(3) * x.shape[0] + x.shape[1],
    ],
)
def test_numbers_and_sizes_beside_halves(f, dtype):
    x = T(2, 3).to(dtype).requires_grad_()
    compiled = compile(f)
    for found in (compiled(x), compiled(x)):
        assert found.dtype == f(x).dtype
        np.testing.assert_allclose(found.float().numpy(), f(x).float().numpy(), NEAR[dtype])
    assert "eagerly" not in compiled.explain()
