"""float16 on the device: every operation of the table gives what it gives on the processor, and kernels compute in float32."""

import numpy as np
import pytest

import minigrad
from minigrad.autograd import grad
from minigrad.ops.create import UNSET
from minigrad.ops.random import DRAWN
from minigrad.ops.registry import TABLE
from tests.table import NAMES, call, floats, tensors

HELD = [n for n in NAMES if TABLE[n].differs not in (UNSET, DRAWN)]
TOLERANCE = 2e-3  # two units in the last digit: sums are added up in another order, and then rounded


def results(name, sample):
    """What a sample gives in float16, and the gradients of that by its leaves."""
    entry = TABLE[name]
    made = call(minigrad, entry.function, entry, sample, dtype="float16")[1]
    leaves = [leaf.detach().requires_grad_(entry.differentiable) for leaf in made]
    found = tensors(call(minigrad, entry.function, entry, sample, dtype="float16", leaves=leaves)[0])
    outs = [o for o in floats(found) if o.requires_grad]
    random = np.random.default_rng(1)
    weights = [minigrad.tensor(random.uniform(0.5, 1.0, tuple(o.shape)), dtype=o.dtype) for o in outs]
    return [*found, *(grad(outs, leaves, weights, materialize_grads=True) if outs else ())]


@pytest.mark.parametrize("name", HELD)
def test_results_and_gradients_are_those_of_the_processor(name):
    for sample in TABLE[name].samples:
        try:
            here = results(name, sample)
        except Exception:  # what the processor refuses is not for the device to mend
            continue
        with minigrad.device("cuda"):
            there = results(name, sample)
        for a, b in zip(here, there, strict=True):
            assert b.is_cuda and (a.dtype, a.shape) == (b.dtype, b.shape), f"{name}({sample})"
            a, b = a.detach().numpy(), b.detach().cpu().numpy()
            assert np.allclose(a, b, TOLERANCE, TOLERANCE, equal_nan=True), f"{name}({sample}):\n{a}\n{b}"


@pytest.mark.parametrize("size", [0, 1, 33, 3000])
def test_sums_products_and_means_are_kept_in_float32(size):
    x = minigrad.ones(size, device="cuda").half()
    assert x.sum().item() == size == (x @ x).item() and x.sum().dtype is minigrad.float16
    assert (
        np.array_equal((x / 7).mean().item(), np.mean((x / 7).cpu().numpy(), dtype=np.float32), equal_nan=True) or size
    )


def test_formulas_are_rounded_once():
    x = minigrad.linspace(-4, 4, 101, device="cuda").half()
    for f in (minigrad.nn.functional.gelu, minigrad.nn.functional.silu, minigrad.tanh):
        assert minigrad.equal(f(x), f(x.float()).half())
        tracked = x.clone().requires_grad_()
        (g,) = grad(f(tracked).sum(), tracked)
        wide = x.float().requires_grad_()
        (exact,) = grad(f(wide).sum(), wide)
        assert np.allclose(g.cpu().numpy(), exact.cpu().numpy(), TOLERANCE, TOLERANCE)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64", "uint8", "bool"])
@pytest.mark.parametrize("step", [1, 2])
def test_conversions(dtype, step):
    """Copies from and to float16, of whole memory and of every second element."""
    values = np.array([0, 1, 3, 0, 200, 7]).astype(dtype)
    x = minigrad.tensor(values, device="cuda")[::step]
    assert x.half().dtype is minigrad.float16 and x.half().tolist() == values[::step].astype(np.float16).tolist()
    assert x.half().to(x.dtype).tolist() == values[::step].tolist()


def test_float16_meets_numbers_and_float32():
    x, y = minigrad.tensor([1.0, 2.0], device="cuda").half(), minigrad.ones(2, device="cuda")
    assert (x * 2.5 + 1).dtype is minigrad.float16 and (x + y).dtype is minigrad.float32
    assert minigrad.where(x > 1, x, 0.0).tolist() == [0.0, 2.0]
    x += y
    assert x.dtype is minigrad.float16 and x.tolist() == [2.0, 3.0]
