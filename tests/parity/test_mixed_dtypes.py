"""Derivatives of operations on tensors of several dtypes: as exact as the dtype to which the operands are promoted.

The reference is the operation in float64 on the same numbers, which float16 represents.
"""

import os
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
import torch

import minigrad
from minigrad.ops.base.families import Pointwise
from minigrad.ops.base.registry import TABLE
from tests.table import call, tensors

from .test_table import SMOOTH, peer

EPS = {"float16": 2**-10, "bfloat16": 2**-7, "float32": 2**-23, "float64": 2**-52}
PAIRS = [
    ("float32", "float64"),
    ("float64", "float32"),
    ("float16", "float32"),
    ("float32", "float16"),
    ("float16", "float64"),
    ("float32", "bfloat16"),
    ("int64", "float32"),
    ("float32", "int64"),
]
# of nn.functional, where PyTorch takes the dtype of the input, or of the target
NOT_PROMOTED = {"binary_cross_entropy", "binary_cross_entropy_with_logits", "block_diag", "batch_norm", "instance_norm"}


def leaves_of(name, sample):
    leaves = call(minigrad, lambda *args, **options: None, TABLE[name], sample)[1]
    return [t.numpy().astype(np.float16) for t in leaves]


def several(name, sample):
    """Return True for an operation on elements, of several tensors or of integers."""
    cls = TABLE[name].cls
    return isinstance(cls, type) and issubclass(cls, Pointwise) and len(re.findall(r"\b[TPI]\(", sample)) > 1


CASES = [(n, s) for n in SMOOTH for s in TABLE[n].samples if several(n, s)]
CASES += [
    (n, s) for n in ("cosine_similarity", "lerp", "where", "mse_loss", "hypot", "logaddexp") for s in TABLE[n].samples
]
REFUSED = {"lerp"}  # integers, which PyTorch takes beside a weight of floats
CASES = [case for case in dict.fromkeys(CASES) if case[0] not in NOT_PROMOTED]


def derivatives(library, name, sample, arrays, dtypes):
    """Return the results, first and second derivatives and the tangent."""
    function = peer(TABLE[name]) if library is torch else TABLE[name].function
    leaves = [library.tensor(a.astype(np.float64)).to(getattr(library, d)) for a, d in zip(arrays, dtypes)]
    moving = [t.requires_grad_() for t in leaves if t.is_floating_point()]
    random = np.random.default_rng(0)
    numbers = lambda t: library.tensor(random.integers(1, 4, tuple(t.shape)) / 2).to(t.dtype)
    outs = tensors(call(library, function, TABLE[name], sample, leaves=leaves)[0])
    outs = [o for o in outs if o.is_floating_point() and o.requires_grad]
    if not outs:
        return {}
    first = library.autograd.grad(outs, moving, [*map(numbers, outs)], allow_unused=True, create_graph=True)
    smooth = [g for g in first if g is not None and g.requires_grad]
    second = library.autograd.grad(smooth, moving, [*map(numbers, smooth)], allow_unused=True) if smooth else ()
    plain = library.autograd.grad(  # without create_graph, on arrays
        [o for o in tensors(call(library, function, TABLE[name], sample, leaves=leaves)[0]) if o.requires_grad],
        moving, [library.ones_like(o) for o in outs], allow_unused=True)  # fmt: skip
    with library.autograd.forward_ad.dual_level():
        duals = [library.autograd.forward_ad.make_dual(t.detach(), numbers(t)) for t in moving]
        given = iter(duals)
        duals = [next(given) if t.is_floating_point() else t for t in leaves]
        pushed = tensors(call(library, function, TABLE[name], sample, leaves=duals)[0])
        tangents = [library.autograd.forward_ad.unpack_dual(o).tangent for o in pushed if o.is_floating_point()]
    return {"out": outs, "first": first, "second": second, "plain": plain, "tangent": tangents}


def as_array(t):
    return np.array(t.detach().clone().double().tolist())


def error(t, true):
    """Return the largest error, relative to the element or a hundredth of the largest, or of one."""
    a, b = as_array(t), as_array(true)
    finite = np.isfinite(a) & np.isfinite(b)
    if not finite.any() or not (size := np.abs(b[finite]).max()):
        return 0.0
    a, b = a[finite], b[finite]
    return float((np.abs(a - b) / (np.abs(b) + max(size, 1) / 100)).max())


def kind(t):
    return str(t.dtype).rpartition(".")[2]


def compare(name, sample):
    arrays = leaves_of(name, sample)
    for low, high in PAIRS:
        for i in range(max(len(arrays), 1)):
            dtypes = [low if j == i else high for j in range(len(arrays))]
            if not any(d[0] != "i" for d in dtypes) or name in REFUSED and "int64" in dtypes:
                continue
            numbers = [a.astype(int) if d[0] == "i" else a for a, d in zip(arrays, dtypes)]
            try:
                theirs = derivatives(torch, name, sample, arrays, dtypes)
                wide = ["int64" if d[0] == "i" else "float64" for d in dtypes]
                exact = derivatives(torch, name, sample, numbers, wide)
            except (RuntimeError, TypeError):
                continue
            ours = derivatives(minigrad, name, sample, arrays, dtypes)
            for what, found in ours.items():
                for a, b, true in zip(found, theirs[what], exact[what]):
                    if a is None or b is None or true is None:
                        continue
                    where = f"{name}({sample}) of {dtypes}: {what}"
                    assert what in ("second", "tangent") or kind(a) == kind(b), f"{where} is {kind(a)}, torch {kind(b)}"
                    digits = 1024 if what == "second" else 256  # where terms cancel
                    allowed = max(4 * error(b, true), digits * max(EPS[kind(b)], EPS[kind(ours["out"][0])]))
                    assert error(a, true) <= allowed, f"{where}: error {error(a, true)}, torch {error(b, true)}"


@pytest.mark.parametrize(("name", "sample"), CASES)
def test_derivatives_are_as_exact_as_the_common_dtype(name, sample):
    compare(name, sample)


@pytest.mark.parametrize("name", ["pow", "xlogy", "xlog1py", "atan2", "div", "fmod", "lerp", "addcdiv"])
def test_debug_mode_computes_the_same(name):
    with minigrad.debug(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample in TABLE[name].samples:
            if several(name, sample):
                compare(name, sample)


def test_the_generic_path_computes_the_same():
    chosen = "test_derivatives and (pow or xlogy or xlog1py or atan2 or copysign)"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__, "-k", chosen]
    environment = {**os.environ, "MINIGRAD_GENERIC": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.parametrize("mode", ["arrays", "graph", "debug", "jvp", "func"])
@pytest.mark.parametrize("shape", [(), (3,)])
def test_the_logarithm_of_a_small_base_has_the_digits_of_the_exponent(shape, mode):
    base, exponent = np.full(shape, 0.375), np.full(shape, 0.625)
    true = 0.375**0.625 * np.log(0.375)
    for dtype in ("float16", "float32"):
        a = minigrad.tensor(base).to(getattr(minigrad, dtype))
        b = minigrad.tensor(exponent).requires_grad_()
        f = lambda b, a=a: (a**b).sum()
        if mode == "func":
            found = minigrad.func.grad(f)(b)
        elif mode == "jvp":
            found = minigrad.func.jvp(f, (b.detach(),), (minigrad.ones_like(b),))[1] / max(b.numel(), 1)
        elif mode == "debug":
            with minigrad.debug():
                (found,) = minigrad.autograd.grad(f(b), b)
        else:
            (found,) = minigrad.autograd.grad(f(b), b, create_graph=mode == "graph")
        assert found.dtype == minigrad.float64
        assert np.allclose(found.detach().numpy(), true, rtol=1e-15, atol=0)
