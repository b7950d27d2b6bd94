"""Random programs on lines, which are rows or columns, compiled and eager: softmax, norms, sums, losses over any dimension."""

import math
import random
import re

import numpy as np
import pytest

import minigrad as torch
from minigrad.compile.api import compile

from .both import defined
from .interpreted import interpreted
from .test_compile_random import close

F = torch.nn.functional
__all__ = ["interpreted"]
WHOLE = ["softmax(x, d)", "log_softmax(x, d)", "x - x.mean(d, True)", "x / (x * x).sum(d, True).sqrt()", "x * y.amax(d, True)",
         "x + y.softmax(e).sum(d, True)", "x - x.logsumexp(d, True)", "x * x.softmax(d).amax(e, True)", "torch.exp(x - y)",
         "F.layer_norm(x, x.shape[-1:])", "F.layer_norm(x, x.shape[-2:])", "F.rms_norm(x, x.shape[-1:])",
         "F.normalize(x, 2, d)", "F.normalize(x, 2, (d, e), 1e-3)",
         "x.transpose(-1, -2).softmax(d).transpose(-1, -2)", "x * x.sum((e, d), True).tanh()",
         "(x - x.mean((d, e), True)) / (x.var((d, e), unbiased=False, keepdim=True) + 1).sqrt()"]  # fmt: skip
ENDS = ["x.sum()", "x.sum(d)", "x.amax(d).sum(0)", "x.mean((0, d))", "x[0] + 1", "x.logsumexp(d)", "x.select(d, 0).exp()",
        "(x * x).mean(d, True)", "loss(x, d)"]  # fmt: skip


def loss(x, d):
    """Return cross-entropy along a dimension."""
    others = [n for k, n in enumerate(x.shape) if k != d]
    target = (torch.arange(math.prod(others)) * 5 % x.shape[d]).reshape(others)
    return F.cross_entropy(x.movedim(d, 1), target, reduction=("none", "mean")[d % 2], ignore_index=2)


def program(seed):
    """Return a random program of some steps on two tensors of one shape, and the shape."""
    rng = random.Random(seed)
    shape = [rng.choice([1, 2, 3, 3, 5]) for _ in range(rng.choice([2, 3, 3, 4]))]
    lines = []
    for _ in range(rng.randint(1, 4)):
        d, e = rng.sample(range(len(shape)), 2)
        text = rng.choice(WHOLE).replace("softmax(x, d)", "torch.softmax(x, d)").replace("log_torch.", "torch.log_")
        lines.append(f"{rng.choice('xy')} = " + "".join({"d": str(d), "e": str(e)}.get(t, t) for t in tokens(text)))
    d = rng.randrange(1, len(shape))
    results = [rng.choice(ENDS) for _ in range(2)]
    results = ["".join({"d": str(d)}.get(t, t) for t in tokens(r)) for r in results]
    source = "def f(x, y):\n    " + "\n    ".join(["z = x * y", *lines, f"return {', '.join(results)}, x + z"]) + "\n"
    return source, shape


def tokens(text):
    """Return the words of a text, and the text between them."""
    return re.split(r"\b", text)


def compare(seed):
    """Compare a random program, compiled and eager."""
    source, shape = program(seed)
    names = {"torch": torch, "F": F, "loss": loss}
    defined(source, names)
    rng = np.random.default_rng(seed)
    leaves = [torch.tensor(rng.standard_normal(shape), requires_grad=True) for _ in range(2)]
    return compared(names["f"], leaves, f"seed {seed}\n{source}\n{shape}")


def compared(f, leaves, text):
    """Check that a compiled program gives eager code's values, and gradients from inside and outside."""

    def whole(*leaves):
        outs = f(*leaves)
        total = sum([(o * o).sum() for o in outs])
        return (*outs, *torch.autograd.grad(total, leaves))

    compiled = compile(whole)
    for a, b in zip(compiled(*leaves), whole(*leaves), strict=True):
        close(a, b, f"{text}\n{compiled.source()}")
    outside = compile(f)
    found, wanted = (torch.autograd.grad(sum([o.sum() for o in g(*leaves)]), leaves) for g in (outside, f))
    for a, b in zip(found, wanted, strict=True):
        close(a, b, f"{text}\n{outside.source('backward')}")
    for made in (compiled, outside):
        assert "failed" not in made.explain(), f"{made.explain()}\n{text}"
    return compiled


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", [0, *[pytest.param(k, marks=pytest.mark.slow) for k in range(1, 8)]])
def test_random_programs_on_lines(part, interpreted):
    compiled = [compare(seed) for seed in range(part * 50, part * 50 + 50)]
    assert sum(["over the rows" in c.explain() for c in compiled]) > 10


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(1000, 1003))
def test_random_programs_on_lines_by_numba(seed):
    compare(seed)


@pytest.mark.parametrize("lead", [(4,), (1, 3), (3, 1), (2, 3)])
def test_a_line_of_several_dimensions_is_one_loop_where_no_weight_comes_between(lead, interpreted):
    def f(x, w):
        return F.group_norm(x.reshape(-1, 3 * lead[-1], 5), lead[-1], w.repeat(lead[-1])), x.exp().mean((-2, -1))

    rng = np.random.default_rng(0)
    x, w = (torch.tensor(rng.standard_normal(s), requires_grad=True) for s in ((*lead, 3, 5), (3,)))
    source = compared(f, (x, w), lead).source()
    assert "_flat = flat(" in source and "row_sum(" in source


def test_what_is_computed_again_in_a_line_counts_for_its_loops(interpreted):
    def f(x):
        a = torch.atan2(x, x)
        mean = a.mean((1, 2), keepdim=True)
        chosen = torch.where(a > 0, a, mean)
        sums = x.sum(2, keepdim=True)
        larger = torch.maximum(a, x)
        outs = (chosen * x - sums).sum((1, 2)), larger.sum()
        return (*outs, *torch.autograd.grad(sum([o.tanh().sum() for o in outs]), (x,), allow_unused=True))

    x = torch.tensor(np.random.default_rng(0).standard_normal((5, 3, 4)), requires_grad=True)
    c = compile(f)
    for a, b in zip(c(x), f(x), strict=True):
        close(a, b, c.source())
    assert "failed" not in c.explain() and "add_1_row[i1, i2] + sum" in c.source()


@pytest.mark.parametrize("n", [5, 9])
def test_what_begins_behind_the_start_is_index_arithmetic(n, interpreted):
    def f(x):
        behind = x[2:] * x[:, 3:].mean()
        return (
            behind.softmax(0),
            (x[1:, :2].mT @ x[1:]).sum(),
            torch.autograd.grad((behind[1:] * behind[:-1]).sum(), x)[0],
        )

    c = compile(f, fullgraph=True)
    x = torch.tensor(np.random.default_rng(n).standard_normal((n, 7)), requires_grad=True)
    for a, b in zip(c(x), f(x), strict=True):
        close(a, b, c.source())
    assert "(x.shape[0] - 2)" in c.source()


@pytest.mark.parametrize("n", [1, 511, 512, 513, 1025])
def test_float32_is_summed_in_blocks_of_512_and_in_float64(n, interpreted):
    def f(x):
        return (x - 1).exp().sum(1), (x + 1).log_softmax(1), x.reshape(3, 1, n).expand(3, 2, n).exp().sum((0, 1))

    x = torch.tensor(np.random.default_rng(0).standard_normal((3, n), np.float32))
    c = compile(f)
    for a, b in zip(c(x), f(x.double()), strict=True):
        assert a.dtype is torch.float32 and (a - b).abs().max() <= 4e-7 * b.abs().max(), c.source()
    assert n == 1 or "start + np.uint64(512)" in c.source() and "sum_3[i0] = np.float32(sum_3_sum[i0])" in c.source()
