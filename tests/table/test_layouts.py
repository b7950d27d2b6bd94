"""With tensors of any size, dtype and layout operations give what they give for plain ones: values, derivatives, writes.

Memory that is transposed, has gaps, is read-only or repeats itself, sizes 0 and 1, and equal sizes in different places.
"""

import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minigrad
from minigrad.autograd import forward_ad, grad
from minigrad.ops.base.registry import TABLE
from minigrad.ops.create import UNSET
from tests.table import DRAWN, NAMES, floats, tensors, tracked
from tests.table.variants import GAP, SHARING, run, variants

BY_MEMORY = {"as_strided", "empty_like"}  # what these give depends on the layout, or on nothing
CHECKED = [n for n in NAMES if TABLE[n].differs != UNSET and n not in DRAWN and n not in BY_MEMORY]
VIEWS = {"view", "view_as"}  # refuse memory that has no such view
CLOSE = {"float64": 1e-8, "float32": 2e-4, "float16": 2e-2, "bfloat16": 1e-1}
NUMERIC = {"float64", "float32"}  # the dtypes in which derivatives are compared
pytestmark = [pytest.mark.cpu("NumPy's memory"), pytest.mark.filterwarnings("ignore")]


def attempt(f):
    """Return what f gives, or the error with which it refuses; any other exception is a fault."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return f()
    except minigrad.MinigradError as e:
        assert "To fix" in str(e), f"an error that does not say what to do: {e}"
        return e


def numbers(t):
    return t.detach().to(minigrad.float64).numpy() if t.is_floating_point() else t.detach().numpy()


def agree(plain, other, variant, what):
    """Assert that the tensors are the same, up to the order of sums."""
    if not tensors(plain):
        assert plain == other or np.allclose(plain, other, 1e-6, equal_nan=True), (
            f"{what} of {variant}: {other}, plain {plain}"
        )
    assert len(tensors(plain)) == len(tensors(other)), f"{what} of {variant}"
    for a, b in zip(tensors(plain), tensors(other)):
        assert a.shape == b.shape and a.dtype == b.dtype, (
            f"{what} of {variant}: {b.dtype}{b.shape}, plain {a.dtype}{a.shape}"
        )
        x, y, allowed = numbers(a), numbers(b), CLOSE.get(a.dtype.name, 0)
        assert np.allclose(y, x, allowed, allowed, equal_nan=True), f"{what} of {variant}:\n{y}\nplain\n{x}"


def both(variant, f):
    """Return f's results for plain tensors and for those laid out; None where both refuse."""
    plain, other = attempt(lambda: f(variant, False)), attempt(lambda: f(variant, True))
    if isinstance(plain, Exception) or isinstance(other, Exception):
        same = type(plain) is type(other)
        assert same or variant.name in VIEWS and not isinstance(plain, Exception), (
            f"{variant}: {other!r}, plain {plain!r}"
        )
        return None
    return plain, other


def value(variant, laid_out):
    return run(minigrad, TABLE[variant.name].function, variant, laid_out)[0]


def derivatives(variant, laid_out):
    """Return the gradients of a weighted sum of the results, and their tangents where the leaves move as their numbers say."""
    function = TABLE[variant.name].function
    leaves = [x.detach().requires_grad_() for x in run(minigrad, function, variant, laid_out)[1].leaves]
    outs = tracked(run(minigrad, function, variant, laid_out, leaves)[0])
    random = np.random.default_rng(1)
    weights = [minigrad.tensor(random.standard_normal(tuple(o.shape)), dtype=o.dtype) for o in outs]
    found = list(grad(outs, leaves, weights, materialize_grads=True)) if outs else []
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(x.detach(), x.detach()) for x in leaves]
        outs = floats(run(minigrad, function, variant, laid_out, duals)[0])
        tangents = [forward_ad.unpack_dual(o).tangent for o in outs]
    return found + [t for t in tangents if t is not None]


def written(variant, laid_out):
    """Return what the in-place form leaves in its operand; the memory around it is as it was."""

    def write(self, *args, **kwargs):
        return getattr(self, variant.name + "_")(*args, **kwargs)

    out, maker = run(minigrad, write, variant, laid_out)
    memory, t = maker.memories[0]
    assert out is t
    if memory is not None:
        values = memory.copy()
        t.zero_()
        around = values[memory != 0]
        memory[...] = values
        assert around.size == memory.size - t.numel() and (around == memory.dtype.type(GAP)).all(), variant
    return out


def check(name, data):
    """One variant."""
    variant = data.draw(variants(name))
    if (found := both(variant, value)) is not None:
        agree(*found, variant, "the result")
        if (
            TABLE[name].differentiable
            and variant.dtype in NUMERIC
            and (found := both(variant, derivatives)) is not None
        ):
            agree(*found, variant, "the derivatives")
    if TABLE[name].inplace and re.match(r"[TP]\([\d, ]*\)(,|$)", variant.sample):
        check_written(variant)


def check_written(variant):
    """Check that the in-place form writes nothing into memory that is read-only or shared within the tensor."""
    plain, other = attempt(lambda: written(variant, False)), attempt(lambda: written(variant, True))
    if variant.layouts[0] in (*SHARING, "read-only"):
        assert isinstance(other, Exception) or variant.layouts[0] != "read-only" or not plain.numel(), variant
        return
    assert isinstance(plain, Exception) == isinstance(other, Exception), f"{variant}: {other!r}, plain {plain!r}"
    if not isinstance(plain, Exception):
        agree(plain, other, variant, "what is written")


@pytest.mark.parametrize("name", CHECKED)
@given(data=st.data())
@settings(max_examples=2, derandomize=True)
def test_sizes_dtypes_and_layouts_make_no_difference(name, data):
    check(name, data)


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKED)
@given(data=st.data())
@settings(max_examples=40, derandomize=True)
def test_many_sizes_dtypes_and_layouts_make_no_difference(name, data):
    check(name, data)
