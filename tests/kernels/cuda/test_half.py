"""float16 and bfloat16 on the device: every operation of the table gives what it gives on the processor, and kernels compute in
float32."""

import numpy as np
import pytest

import minigrad
from minigrad import bfloat16, float16
from minigrad.autograd import grad
from minigrad.kernels.cuda import kernel_modules
from minigrad.kernels.cuda.device_array import to_device
from minigrad.ops.base.registry import TABLE
from minigrad.ops.create import UNSET
from tests.table import DRAWN, NAMES, call, floats, tensors

HELD = [n for n in NAMES if TABLE[n].differs != UNSET and n not in DRAWN]
# two units in the last digit: sums are added up in another order, and then rounded
TOLERANCE = {float16: 2e-3, bfloat16: 1.6e-2}
HALVES = pytest.mark.parametrize("dtype", TOLERANCE, ids=lambda d: d.name)


def results(name, sample, dtype):
    """Return a sample's results in a dtype, and their gradients with respect to its leaves."""
    entry = TABLE[name]
    made = call(minigrad, entry.function, entry, sample, dtype=dtype.name)[1]
    leaves = [leaf.detach().requires_grad_(entry.differentiable) for leaf in made]
    found = tensors(call(minigrad, entry.function, entry, sample, dtype=dtype.name, leaves=leaves)[0])
    outs = [o for o in floats(found) if o.requires_grad]
    random = np.random.default_rng(1)
    weights = [minigrad.tensor(random.uniform(0.5, 1.0, tuple(o.shape)), dtype=o.dtype) for o in outs]
    return [*found, *(grad(outs, leaves, weights, materialize_grads=True) if outs else ())]


def numbers(t):
    """Return a tensor's numbers in float64."""
    return t.detach().cpu().double().numpy()


@pytest.mark.slow
@HALVES
@pytest.mark.parametrize("name", HELD)
def test_results_and_gradients_are_those_of_the_processor(name, dtype):
    for sample in TABLE[name].samples:
        try:
            here = results(name, sample, dtype)
        except Exception:  # what the processor refuses is not for the device to mend
            continue
        with minigrad.device("cuda"):
            there = results(name, sample, dtype)
        for a, b in zip(here, there, strict=True):
            assert b.is_cuda and (a.dtype, a.shape) == (b.dtype, b.shape), f"{name}({sample})"
            a, b, tolerance = numbers(a), numbers(b), TOLERANCE[dtype]
            assert np.allclose(a, b, tolerance, tolerance, equal_nan=True), f"{name}({sample}):\n{a}\n{b}"


@HALVES
@pytest.mark.parametrize("size", [0, 1, 33, 2560])
def test_sums_products_and_means_are_kept_in_float32(size, dtype):
    x = minigrad.ones(size, device="cuda").to(dtype)
    assert x.sum().item() == size == (x @ x).item() and x.sum().dtype is dtype
    assert np.array_equal((x * 3).mean().item(), 3.0 if size else np.nan, equal_nan=True)


@HALVES
def test_formulas_are_rounded_once(dtype):
    x = minigrad.linspace(-4, 4, 101, device="cuda").to(dtype)
    for f in (minigrad.nn.functional.gelu, minigrad.nn.functional.silu, minigrad.tanh):
        assert minigrad.equal(f(x), f(x.float()).to(dtype))
        tracked = x.clone().requires_grad_()
        (g,) = grad(f(tracked).sum(), tracked)
        wide = x.float().requires_grad_()
        (exact,) = grad(f(wide).sum(), wide)
        assert np.allclose(numbers(g), numbers(exact), TOLERANCE[dtype], TOLERANCE[dtype])


@HALVES
@pytest.mark.parametrize("other", ["float16", "bfloat16", "float32", "float64", "int64", "uint8", "bool"])
@pytest.mark.parametrize("step", [1, 2])
def test_conversions(dtype, other, step):
    """Copies from and to the dtype, of whole memory and of every second element."""
    x = minigrad.tensor([0, 1, 3, 0, 200, 7], dtype=getattr(minigrad, other))[::step]
    there = x.cuda()
    assert there.to(dtype).dtype is dtype and there.to(dtype).tolist() == x.to(dtype).tolist()
    assert there.to(dtype).to(x.dtype).tolist() == x.tolist()


def test_every_bfloat16_is_read():
    patterns = np.arange(1 << 16, dtype=np.uint16)
    wide = minigrad.tensor(patterns.view(np.int16), device="cuda").view(bfloat16).float().cpu().numpy()
    assert np.array_equal(wide, patterns.view(bfloat16.to_numpy()).astype(np.float32), equal_nan=True)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of numbers that are none, or too large
@pytest.mark.parametrize("source", [np.float32, np.float64])
def test_numbers_are_rounded_to_the_nearest_bfloat16_and_half_way_to_the_even_one(source):
    leading = np.arange(0, 1 << 16, 61, dtype=np.uint32)
    ends = np.array([0x7F7F, 0x7F80, 0x7FC0, 0xFF80, 0x0000, 0x8000, 0x0080, 0x007F], np.uint32)
    tails = np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32)
    x = (np.concatenate([leading, ends])[:, None] << 16 | tails).ravel().view(np.float32).astype(source)
    found = minigrad.tensor(x, device="cuda").bfloat16().cpu().numpy()
    number = x == x
    assert np.array_equal(found.view(np.uint16)[number], x.astype(found.dtype).view(np.uint16)[number])
    assert np.isnan(found[~number].astype(np.float32)).all() and not number.all()


@HALVES
def test_they_meet_numbers_and_float32(dtype):
    x, y = minigrad.tensor([1.0, 2.0], device="cuda").to(dtype), minigrad.ones(2, device="cuda")
    assert (x * 2.5 + 1).dtype is dtype and (x + y).dtype is minigrad.float32
    assert minigrad.where(x > 1, x, 0.0).tolist() == [0.0, 2.0]
    x += y
    assert x.dtype is dtype and x.tolist() == [2.0, 3.0]


def test_the_two_meet_in_float32():
    x, y = minigrad.tensor([1.0, 2.0], device="cuda").half(), minigrad.ones(2, device="cuda").bfloat16()
    assert (x + y).dtype is minigrad.cat([x, y]).dtype is minigrad.float32
    assert minigrad.cat([x, y]).tolist() == [1.0, 2.0, 1.0, 1.0] and minigrad.isin(x, y).tolist() == [True, False]


@HALVES
def test_elements_are_read_and_written_at_indices(dtype):
    x = minigrad.arange(6.0, device="cuda").to(dtype)
    assert x[[4, 1]].tolist() == [4.0, 1.0] and x[x > 3].tolist() == [4.0, 5.0]
    x[[0, 2]] = 7.5
    x[[1, 3]] = minigrad.tensor([-1.0, -2.0], device="cuda", dtype=dtype)
    x.index_add_(0, minigrad.tensor([5, 5], device="cuda"), x[:2])
    assert x.tolist() == [7.5, -1.0, 7.5, -2.0, 4.0, 11.5]
    assert repr(x[:2]) == f"tensor([ 7.5000, -1.0000], device='cuda:0', dtype=minigrad.{dtype.name})"


@HALVES
def test_random_numbers(dtype):
    x = minigrad.rand(1000, dtype=dtype, device="cuda")
    assert x.dtype is dtype and x.max() < 1 and abs(x.float().mean().item() - 0.5) < 0.05
    assert abs(minigrad.randn(1000, dtype=dtype, device="cuda").float().std().item() - 1) < 0.1


@HALVES
@pytest.mark.parametrize("name", DRAWN)
def test_every_draw_is_made(name, dtype):
    for sample in TABLE[name].samples:
        here = tensors(call(minigrad, TABLE[name].function, TABLE[name], sample, dtype=dtype.name)[0])
        with minigrad.device("cuda"):
            there = tensors(call(minigrad, TABLE[name].function, TABLE[name], sample, dtype=dtype.name)[0])
        assert [(t.dtype, t.shape) for t in there] == [(t.dtype, t.shape) for t in here] and all(
            t.is_cuda for t in there
        )


@HALVES
def test_reductions_of_arrays_as_they_stand(dtype):
    """Operations widen what they reduce; what is asked of arrays themselves comes to kernels that read and write halves."""
    a = to_device(np.array([[1.5, -2.0, 3.0], [0.0, 3.0, 0.25]]).astype(dtype.to_numpy()))
    assert a.sum().item() == 5.75 and a.sum(0).dtype == a.dtype and a.max(1).tolist() == [3.0, 3.0]
    assert a.argmax(1).tolist() == [2, 1] and np.count_nonzero(a).item() == 5 and a.any(1).tolist() == [True, True]
    assert a.all().item() is False
    assert np.add.reduce(a, (0,), np.float32).dtype == np.float32


@HALVES
@pytest.mark.parametrize("name", ["sum", "prod", "nansum", "amax", "amin", "max", "min", "any", "all"])
def test_reductions_need_one_kernel(name, dtype):
    x = minigrad.tensor([[1.5, -2.0, 3.0], [0.5, 3.0, 0.25]], dtype=dtype, device="cuda")
    function = getattr(minigrad, name)
    here, kernel_modules.launched = function(x.cpu()), {}
    try:
        there, kernels = function(x), list(kernel_modules.launched.values())
    finally:
        kernel_modules.launched = None
    assert there.dtype is here.dtype and there.tolist() == here.tolist()
    assert len(kernels) == 1 and kernels[0].signature[0] == f"{kernel_modules.element(dtype.to_numpy())}[:, :, ::1]"


def test_kernels_get_no_elements_that_they_do_not_know():
    with pytest.raises(AssertionError, match="as its bits"):
        kernel_modules.described((to_device(np.zeros(2, bfloat16.to_numpy())),))
    assert kernel_modules.element(bfloat16.to_numpy()) == "uint16"
