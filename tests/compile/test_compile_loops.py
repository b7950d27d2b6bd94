"""Loops in compiled programs: steps that repeat become one function, and compute what eager code does."""

import random

import numpy as np
import pytest

import minigrad as torch
from minigrad.compile.api import compile
from minigrad.compile.emit import subfunctions

from .both import defined, function_of
from .interpreted import interpreted
from .test_compile_lines import compared

__all__ = ["interpreted"]
N = 3  # states are N x N, so that all may be multiplied by each other
STEPS = ["h = torch.tanh(x[t] @ w + h @ w.T)", "h = h * c.sigmoid() + x[t]", "c = c + h.sum(0) * x[t, 0]", "h = h - h.mean()",
         "c = torch.where(h > c - 0.3, h, c * 0.5)", "h = h.softmax(t % 2)", "c = (c + x[2 * t]) @ h.T",
         "h = h + c if t % 2 else h * c", "c = x[:t + 1].sum(0) * 0.1", "h = x[t + 1, 1:2] * h", "s = s + (h * c).sum()",
         "c, h = h * 0.5, c", "h = h + x[t].T", "h = torch.cat([h[1:], x[t, :1]])", "s = s * h[t % 3, 0].cos()",
         "c = c.sin() + t * 0.1", "h = (y[t] @ w.T + h @ w.T).tanh()", "c = c + (y[:, t % 3] @ w).sum(0)"]  # fmt: skip


def program(seed):
    """Return a loop of random steps over two states and a sum."""
    rng = random.Random(seed)
    lines = rng.sample(STEPS, rng.randint(1, 4))
    steps = rng.choice([2, 3, 4, 5, 7])
    body = "\n        ".join(lines)
    return f"""def f(x, w):
    h, c, s = w.tanh(), w * 0.5, torch.zeros((), dtype=w.dtype)
    y = x[:{steps}] * w
    for t in range({steps}):
        {body}
    return h + w * x[0], c * 2, s + x[1, 0, 0]
"""


def compare(seed):
    """Compare a random loop, compiled and eager."""
    source, names = program(seed), {"torch": torch}
    defined(source, names)
    rng = np.random.default_rng(seed)
    x, w = (torch.tensor(rng.standard_normal(shape), requires_grad=True) for shape in ((14, N, N), (N, N)))
    return compared(names["f"], (x, w), f"seed {seed}\n{source}")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", [0, *[pytest.param(k, marks=pytest.mark.slow) for k in range(1, 16)]])
def test_random_loops(part, interpreted, monkeypatch):
    monkeypatch.setattr(subfunctions, "SAVED", 1)  # share as much as possible
    compiled = [compare(seed) for seed in range(part * 25, part * 25 + 25)]
    assert sum(["def repeated" in c.source() for c in compiled]) > 7


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(1000, 1003))
def test_random_loops_by_numba(seed):
    compare(seed)


def cells(x, w):
    """Return the last state of a recurrent network."""
    h = torch.zeros(x.shape[1:], dtype=x.dtype)
    for t in range(len(x)):
        h = torch.tanh(x[t] + h @ w)
    return (h,)


def example(n):
    """Return arguments for n steps."""
    rng = np.random.default_rng(n)
    return [torch.tensor(rng.standard_normal(shape), requires_grad=True) for shape in ((n, 2, N), (N, N))]


def test_a_step_that_repeats_is_one_function(interpreted):
    source = compared(cells, example(8), "").source()
    assert source.count(" = tanh(") == 2  # in the function, and in the last step, which is fused with what follows
    assert "np.int64(5)" in source and "np.int64(6)" in source


def test_the_text_of_a_long_loop_is_as_long_as_its_calls(interpreted):
    few, many = (compared(cells, example(n), "").source().count("\n") for n in (10, 40))
    assert (many - few) / 30 < 14  # lines for a step and its backward; comments, empty lines


def test_a_long_program_is_several_functions(monkeypatch):
    monkeypatch.setattr(subfunctions, "LONG", 8)

    def f(x, w, k):
        for step in ("tanh", "sin", "cos", "sigmoid"):
            x = getattr(x @ w, step)() * k
        return x.sum(), x

    x, w = torch.randn(4, 4), torch.randn(4, 4, requires_grad=True)
    c = compile(f, fullgraph=True)
    for k in (0.5, 0.25):
        wanted, found = [torch.autograd.grad(g(x, w, k)[0], w)[0] for g in (f, c)]
        assert torch.allclose(wanted, found, atol=1e-5)
    assert c.source().count("def part_") > 2


def products(x, w, v):
    """Return a recurrent network whose steps multiply their input and their state by matrices."""
    h = torch.zeros(len(x), N, dtype=x.dtype)
    for t in range(x.shape[1]):
        h = torch.tanh(x[:, t] @ w.T + h @ v.T)
    return (h,)


def test_products_of_all_parts_are_one(interpreted):
    rng = np.random.default_rng(0)
    given = [torch.tensor(rng.standard_normal(s), requires_grad=True) for s in ((4, 5, 2), (N, 2), (N, N))]
    compared(products, given, "")
    c = compile(products)
    with torch.no_grad():
        assert torch.allclose(c(*given)[0], products(*given)[0])
    source = c.source()
    assert "product(x.reshape(" in source and source.count(" w.T, dot_1.reshape") == 1
    assert "product(h, copy_1, " in source  # v.T, in rows


def test_a_number_that_is_expanded_is_a_factor(interpreted):
    def f(x):
        return ((x @ x.T).sum(), (x @ x.T).sum() * 2, (x @ x.T).mean())

    x = torch.tensor(np.random.default_rng(0).standard_normal((4, N)), requires_grad=True)
    compared(f, (x,), "")


def test_a_derivative_is_computed_where_it_is_read(interpreted):
    def f(x, w):
        h = torch.tanh(x @ w)
        return (torch.relu(h @ w),)

    x, w = (torch.tensor(np.random.default_rng(0).standard_normal((n, N)), requires_grad=True) for n in (4, N))
    source = compared(f, (x, w), "").source()
    # 1 - h * h is not kept beside h, nor the mask of relu in place of its result
    assert "sub" not in source and "1.0 - h[i0, i1] * h[i0, i1]" in source.replace("_flat[i]", "[i0, i1]")


JOINED = ["torch.stack([x[0], y, x[1] * 2])", "torch.stack([x[0], y], 1)", "torch.stack([y, x[0]], -1)", "torch.cat([x[0], y])",
          "torch.cat([y[:, :1], y, y.exp()], 1)",
          "torch.stack([y.sum(), y.mean(), x.amax()])", "torch.cat([y.sum(0), torch.ones(2, dtype=y.dtype)])",
          "torch.stack([y.T, y.mT.contiguous()])", "torch.cat([y[:0], y])", "torch.stack([y])", "torch.hstack([y, y * 2])",
          "torch.stack([(y > 0), (x[0] > 0)]) * y", "torch.cat([y, y.float()])",
          "torch.stack([y.half(), x[0].half()])"]  # fmt: skip


@pytest.mark.parametrize("text", JOINED)
def test_tensors_that_are_joined(text, interpreted):
    f = function_of(f"lambda x, y: ({text}, x * 1, y * 1)", {"torch": torch})
    x, y = (torch.tensor(np.random.default_rng(0).standard_normal(s), requires_grad=True) for s in ((2, N, N), (N, N)))
    if "half" in text or ".float" in text:
        c = compile(f)
        assert torch.allclose(c(x, y)[0].double(), f(x, y)[0].double())
    else:
        source = compared(f, (x, y), "").source()
        assert ("call(statics" in source) == ("[:0]" in text or "> 0" in text), source


def test_the_states_of_a_recurrent_network_are_one_program(interpreted):
    net = torch.nn.GRU(N, 4).double()
    c = compared(lambda x, w: (net(x * w[0])[0],), example(6), "")
    assert "call(statics" not in c.source() and "fill: stack" in c.explain()
