"""float16 and bfloat16 against PyTorch: conversions bit by bit, and how dtypes meet."""

import numpy as np
import pytest
import torch

import minigrad
from tests.parity.in_both import same_in_both
from tests.parity.test_table import HALVES as TOLERANCE
from tests.parity.test_table import kind

HALVES = pytest.mark.parametrize("dtype", TOLERANCE)


# ---------------------------------------------------------------------- conversions
def bits(module, t):
    """Return the bits of a tensor of two bytes an element, one pattern for all that are no number."""
    return np.where(t.isnan().numpy(), 0x7FC0, t.view(module.int16).numpy())


# of float32: every sign, exponent and leading bits, then what lies on, just below and just above the middle of two bfloat16s
TAILS = np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32)
PATTERNS = (np.arange(1 << 16, dtype=np.uint32)[:, None] << 16 | TAILS).ravel()


@HALVES
@pytest.mark.parametrize("source", ["float32", "float64", "int64", "uint8", "bool"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of numbers that are none
def test_conversions_are_torchs_bit_by_bit(dtype, source):
    numbers = PATTERNS.view(np.float32)
    if source == "int64":
        numbers = np.concatenate([PATTERNS, -PATTERNS.astype(np.int64), PATTERNS.astype(np.int64) << 31])
    numbers = numbers.astype(source)
    ours, theirs = minigrad.tensor(numbers), torch.tensor(numbers)
    assert np.array_equal(
        bits(minigrad, ours.to(getattr(minigrad, dtype))), bits(torch, theirs.to(getattr(torch, dtype)))
    )


@HALVES
@pytest.mark.parametrize("target", ["float16", "bfloat16", "float32", "float64"])
def test_conversions_from_every_number_are_torchs(dtype, target):
    patterns = np.arange(1 << 16, dtype=np.uint16).view(np.int16)
    ours, theirs = (
        m.tensor(patterns).view(getattr(m, dtype)).to(getattr(m, target)).double().numpy() for m in (minigrad, torch)
    )
    assert np.array_equal(ours, theirs, equal_nan=True)


# ---------------------------------------------------------------------- how dtypes meet
DTYPES = ["bfloat16", "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool"]


@pytest.mark.parametrize("a", DTYPES)
@pytest.mark.parametrize("b", DTYPES)
def test_promotion_is_torchs(a, b):
    theirs = torch.promote_types(getattr(torch, a), getattr(torch, b))
    ours = minigrad.promote_types(getattr(minigrad, a), getattr(minigrad, b))
    assert kindless(ours) == kindless(theirs)
    may = [m.can_cast(getattr(m, a), getattr(m, b)) for m in (minigrad, torch)]
    assert may[0] is may[1]


def kindless(dtype):
    """Return a dtype's name without its library's."""
    return str(dtype).split(".")[-1]


@pytest.mark.parametrize("a", DTYPES)
@pytest.mark.parametrize("b", DTYPES)
@pytest.mark.parametrize("shapes", [((2,), (2,)), ((2,), ()), ((), (2,))])
@same_in_both
def test_sums_of_tensors_have_torchs_dtype_and_numbers(m, a, b, shapes):
    x, y = (m.ones(shape, dtype=getattr(m, d)) for shape, d in zip(shapes, (a, b)))
    return [(kind(t), t.double().tolist()) for t in (x + y, y + x, m.where(x == y, x, y), m.stack([x + y]))]


@pytest.mark.parametrize("b", DTYPES)
@HALVES
@same_in_both
def test_joined_and_written_tensors_have_torchs_dtype(m, dtype, b):
    x, y = m.full((2,), 3, dtype=getattr(m, dtype)), m.ones(2, dtype=getattr(m, b))
    written = x.clone()
    written.copy_(y)
    written[1:] = y[:1]
    return [(kind(t), t.double().tolist()) for t in (m.cat([x, y]), m.stack([y, x]), written)]


@HALVES
@pytest.mark.parametrize("number", [2, 2.5, True])
def test_numbers_leave_the_dtype(dtype, number):
    ours, theirs = (m.ones(2, dtype=getattr(m, dtype)) * number for m in (minigrad, torch))
    assert (kind(ours), ours.tolist()) == (kind(theirs), theirs.tolist())


# ---------------------------------------------------------------------- memory
@HALVES
def test_memory_is_shared_with_torch_both_ways(dtype):
    ours = minigrad.arange(6.0).to(getattr(minigrad, dtype)).view(2, 3).t()
    theirs = torch.from_dlpack(ours)
    assert kind(theirs) == dtype and theirs.tolist() == ours.tolist() and theirs.data_ptr() == ours.data_ptr()
    back = minigrad.from_dlpack(theirs)
    assert kind(back) == dtype and back.stride() == (1, 3) and back.data_ptr() == ours.data_ptr()
    theirs[0, 1] = 7.5
    assert ours[0, 1].item() == back[0, 1].item() == 7.5
    del ours, theirs
    assert back.tolist() == [[0.0, 7.5], [1.0, 4.0], [2.0, 5.0]]


# ---------------------------------------------------------------------- what is said about them
@pytest.mark.parametrize("numbers", [[1.5, -2.25, 3.0], [1 / 3, 1e10], [1.0, 2.0], [float("nan"), 1e-5], [[0.1] * 40]])
@HALVES
def test_text_is_torchs(dtype, numbers):
    ours, theirs = (m.tensor(numbers, dtype=getattr(m, dtype)) for m in (minigrad, torch))
    assert repr(ours).replace("minigrad", "torch") == repr(theirs)
    assert ours.type().replace("minigrad", "torch") == theirs.type() and ours.sum().item() == pytest.approx(
        theirs.sum().item(), rel=TOLERANCE[dtype], nan_ok=True
    )


@HALVES
def test_finfo_is_torchs(dtype):
    ours, theirs = (m.finfo(getattr(m, dtype)) for m in (minigrad, torch))
    assert repr(ours) == repr(theirs)
    for name in ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution", "dtype"):
        assert getattr(ours, name) == getattr(theirs, name), name


@HALVES
@same_in_both
def test_factories_make_torchs_numbers(m, dtype):
    options = {"dtype": getattr(m, dtype)}
    made = [m.arange(5, **options), m.arange(0, 1, 0.125, **options), m.linspace(0, 1, 5, **options)]
    made += [m.eye(2, **options), m.full((2,), 1 / 3, **options), m.tensor(0.1, **options)]
    return [(kind(t), t.tolist()) for t in made]
