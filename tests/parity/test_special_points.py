"""Operations element by element at NaN, infinities, zeros, kinks, edges of domains, and the largest and smallest numbers.

Values, gradients, tangents and second derivatives of all of the table stand beside PyTorch's.  What differs stands in
DIFFERENCES with its reason, and with the operands at which it may; what stands there without need fails as well.
PyTorch's loops take most elements in vectors and the rest one by one, and the two differ at NaN (hardtanh's gradient is 0
in one and 1 in the other, elu's NaN and 1): what counts is the vectors', which the number of elements here fills.
"""

import re
import warnings
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

import minigrad
from minigrad.ops.base.registry import TABLE
from tests.parity.test_table import COMPARED, peer, plain
from tests.table import call, floats, tensors

KINDS = ("value", "gradient", "tangent", "second")
ALONE = ("prelu", "zeta")  # which have no derivative by an operand, or not elementwise
ELEMENTWISE = [n for n in COMPARED if TABLE[n].cls is not None and n not in ALONE or n in ("logit", "tanhshrink")]
WHOLE = 64  # elements that PyTorch's loops take at a time, at most


def points(dtype, few):
    """Return points that may go wrong: fewer where they are combined with each other in three operands."""
    f = np.finfo(dtype)
    root, least = np.sqrt(f.max) * 4, np.sqrt(f.tiny) / 4  # their squares are infinite, and 0
    found = [0.0, 1, -1, np.nan, np.inf, -np.inf, f.max, f.tiny, 0.5, root]
    if not few:
        found += [-0.0, -f.max, -f.tiny, f.smallest_subnormal, -root, least, 1e-20, -1e-20, f.eps, 1 + f.eps, 1 - f.eps]
        found += [-0.5, 2, 3, -3, 6, 20, 21, -21, 90, -90, -110, 720, -720, 1e-4, 1e18, -1e18, 1e12, -1e12, 1.3]
    return np.array(found, dtype)


def operands(n, dtype):
    """Return every combination of the points in n operands, as many as fill vectors."""
    grids = [g.ravel() for g in np.meshgrid(*[points(dtype, n > 2)] * n, indexing="ij")]
    return [np.resize(g, -(-g.size // WHOLE) * WHOLE) for g in grids]


def calls(name):
    """Return samples with operands of any shape, each with other settings; tensors of one element stand for the shapes."""
    found = {}
    for sample in TABLE[name].samples:
        text = re.sub(r"\b([TPB])\([^()]*\)(\.mT|\[[^\]]*\])?", r"\1(1)", sample)
        text = re.sub(r"\b\d+ \* T\(1\)|P\(1\)", "T(1)", text)
        if "T(1)" in text and not re.search(r"I\(|float\(|torch\.", text) and ("B(1)" not in text or name == "where"):
            found[text] = text.count("T(1)")
    return found.items()


def derivatives(module, function, entry, sample, arrays):
    """Return what is found of each kind; None where PyTorch has none."""
    dtype = str(arrays[0].dtype)
    leaves = [module.tensor(a, requires_grad=True) for a in arrays]
    result = call(module, function, entry, sample, leaves=leaves, dtype=dtype)[0]
    found = {"value": [plain(t) for t in tensors(result)]}
    outs = [o for o in floats(result) if o.requires_grad]
    ones = [module.ones_like(o) for o in outs]
    try:
        firsts = module.autograd.grad(outs, leaves, ones, create_graph=True, allow_unused=True) if outs else []
        found["gradient"] = filled(module, firsts, leaves)
        found["tangent"] = tangents(module, function, entry, sample, arrays)
        tracked = [g for g in firsts if g is not None and g.requires_grad]
        rest = [module.ones_like(g) for g in tracked]
        seconds = module.autograd.grad(tracked, leaves, rest, allow_unused=True) if tracked else []
        found["second"] = filled(module, seconds, leaves)
    except RuntimeError as e:
        assert module is torch and "not implemented" in str(e), e
    return found


def filled(module, gradients, leaves):
    """Return the gradients, with zeros where there are none."""
    gradients = gradients or [None] * len(leaves)
    return [plain((module.zeros_like(x) if g is None else g) + 0) for g, x in zip(gradients, leaves)]


def tangents(module, function, entry, sample, arrays):
    """Return the tangents where all operands move by one."""
    ad = module.autograd.forward_ad
    with ad.dual_level():
        duals = [ad.make_dual(module.tensor(a), module.ones(a.shape, dtype=module.tensor(a).dtype)) for a in arrays]
        outs = floats(call(module, function, entry, sample, leaves=duals, dtype=str(arrays[0].dtype))[0])
        found = [ad.unpack_dual(o).tangent for o in outs]
        return [plain((module.zeros_like(o) if t is None else t) + 0) for o, t in zip(outs, found)]


def unlike(a, b, kind):
    """Where they differ: values by their last digits, derivatives by those of the number 1, as they are sums of such."""
    if a.dtype.kind == "b":
        return a != b
    eps = np.finfo(a.dtype).eps
    with np.errstate(all="ignore"):
        same = (a == b) | (a != a) & (b != b)
        allowed = 100 * eps * np.maximum(abs(a), abs(b)) + (np.finfo(a.dtype).tiny if kind == "value" else 16 * eps)
        return ~(same | (abs(a - b) <= allowed))


class Difference(NamedTuple):
    """List what may differ, of which operations, at which operands, and why."""

    names: str
    kinds: tuple
    reason: str
    at: Any = lambda *operands: True


def huge(*operands):
    """Where squares overflow, or infinities are."""
    return np.any([abs(x) > np.sqrt(np.finfo(x.dtype).max) / 2 for x in operands], axis=0)


def tiny(*operands):
    """Where squares vanish or lose digits, and what is divided by them overflows."""
    return np.any([abs(x) < 1e-15 for x in operands], axis=0)


def unknown(*operands):
    return np.any([x != x for x in operands], axis=0)


DERIVATIVES = KINDS[1:]
OVER = "PyTorch's formula overflows on the way to the limit, 0"
FORWARD = "PyTorch's tangent is not that of its gradient"
DIFFERENCES = [
    Difference("add sub subtract addcmul addcdiv", ("value",), "PyTorch's processor adds the product unrounded, which "
               "overflows here", huge),
    Difference("addcdiv", ("gradient", "second"), "PyTorch squares the divisor", lambda x, a, b: huge(b) | tiny(b)),
    Difference("asinh arcsinh atanh arctanh erf erfc gelu mish", ("second",), OVER, lambda x: abs(x) > 80),
    Difference("softsign", DERIVATIVES, OVER, huge),
    Difference("atan2 arctan2", ("gradient", "tangent"), "PyTorch squares the length, which gives 0 or NaN near 0",
               lambda x, y: tiny(x, y) & ((x != 0) | (y != 0))),
    Difference("atan2 arctan2", ("tangent",), "0 at the origin, as the gradient is; PyTorch has NaN",
               lambda x, y: (x == 0) & (y == 0)),
    Difference("atan2 arctan2", ("tangent", "second"), "PyTorch squares the length", lambda x, y: huge(x, y) | tiny(x, y)),
    Difference("clamp clip clamp_min clamp_max maximum minimum", ("tangent",), FORWARD, unknown),
    Difference("clamp clip", ("tangent",), FORWARD + " where both limits are one", lambda x, *limits: limits[0] == limits[-1]),
    Difference("digamma polygamma lgamma", KINDS, "PyTorch's trigamma has nine digits; lgamma has few near its zero at 1",
               lambda x: abs(x) <= 21),
    Difference("digamma polygamma lgamma", KINDS, "0 at inf, inf at a pole however far, no limit at -inf",
               huge),
    Difference("div divide true_divide", ("tangent",), "the difference of two infinities, which PyTorch orders otherwise",
               lambda x, y: tiny(y) | huge(x)),
    Difference("fmod remainder", ("value",), "the rest is exact; PyTorch's quotient overflows", lambda x, y: abs(y) < abs(x)),
    Difference("gelu", ("value",), "PyTorch's float32 has six digits where erf is near -1", lambda x: x == -3),
    Difference("gelu", ("value",), "on some processors PyTorch's float32 is NaN there", lambda x: x == np.inf),
    Difference("hardswish", ("value",), "0 where it is flat; PyTorch multiplies by a 0", lambda x: x < -3),
    Difference("hardswish", ("second",), "PyTorch's second derivative at NaN is 0", unknown),
    Difference("hypot", ("second",), "the last digits of a difference of large numbers", lambda x, y: True),
    Difference("lerp", ("tangent",), "the sum of 1 - weight and weight", lambda x, y, w: huge(w)),
    Difference("logaddexp", ("second",), OVER, lambda x, y: abs(x - y) > 80),
    Difference("logit", DERIVATIVES, "the limit's derivative is 0 outside of it, also at NaN and of second order; PyTorch's "
               "loops differ in it", lambda x: ~((x >= 0.2) & (x <= 0.8))),
    Difference("pow", ("second",), "PyTorch's second derivative is NaN at 0 and in huge powers", lambda x, y: True),
    Difference("erfcx", DERIVATIVES, "PyTorch subtracts nearly equal numbers, and infinities at inf", lambda x: x > 5),
    Difference("log_ndtr", DERIVATIVES, "PyTorch's quotient of exponentials is NaN far out", lambda x: (x < -20) | ~(x < 1e4)),
    Difference("logaddexp2", ("value",), "0, and PyTorch's rounding of it", lambda x, y: (x == -1) & (y == -1)),
    Difference("ndtri", ("second",), "PyTorch's ndtri has fewer digits there", lambda x: x < 1e-18),
    Difference("i0 i1 i1e", DERIVATIVES, "PyTorch's float32 overflows sooner", lambda x: abs(x) > 80),
    Difference("i1 i1e", ("second",), "PyTorch subtracts nearly equal numbers", lambda x: abs(x) < 1e-3),
    Difference("i0 i1 i1e", DERIVATIVES, "PyTorch's is a number at NaN", lambda x: x != x),
    Difference("sinc", DERIVATIVES, "PyTorch's difference has no digits near 0", lambda x: abs(x) < 1e-3),
    Difference("softplus", ("second",), "PyTorch counts the threshold itself to the line", lambda x: x == 20),
    Difference("tanhshrink", ("value",), "a difference of nearly equal numbers", lambda x: abs(x) < 1e-3),
]  # fmt: skip


@cache
def compared(name, dtype):
    """Return the unexplained differences of an operation, as lines, and the numbers of those that explain some."""
    entry, lines, used = TABLE[name], [], set()
    for sample, n in calls(name):
        arrays = operands(n, dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = derivatives(torch, peer(entry), entry, sample, arrays)
            ours = derivatives(minigrad, entry.function, entry, sample, arrays)
        for kind in theirs:
            for a, b in zip(theirs[kind], ours[kind], strict=True):
                bad = unlike(a, b, kind)
                for i, d in enumerate(DIFFERENCES):
                    if bad.any() and name in d.names.split() and kind in d.kinds:
                        with np.errstate(all="ignore"):
                            there = np.broadcast_to(d.at(*arrays), bad.shape)
                        used.update([i] if (bad & there).any() else [])
                        bad = bad & ~there
                at = np.flatnonzero(bad)
                lines += [
                    f"{name}({sample}), {kind} at ({', '.join(f'{x[k]:.9g}' for x in arrays)}): {b[k]}, torch {a[k]}"
                    for k in at[:5]
                ]
    return lines, used


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_values_and_derivatives_at_special_points_are_torchs(name, dtype):
    lines, _ = compared(name, dtype)
    assert not lines, "\n".join(lines)


def test_each_difference_is_still_one():
    names = {n for d in DIFFERENCES for n in d.names.split()}
    used = [i for name in names for dtype in ("float64", "float32") for i in compared(name, dtype)[1]]
    everywhere = [i for i, d in enumerate(DIFFERENCES) if not d.reason.startswith("on some processors")]
    assert set(everywhere) <= set(used)
