"""Numbers among the arguments are symbols: what is computed of them is computed at each call, what they decide is compared."""

import contextlib
import functools
import math
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import minigrad as torch
from minigrad import compile
from minigrad.compile.trace import CaptureTrace
from minigrad.nn import functional as F

from .both import defined, function_of
from .interpreted import either, interpreted

__all__ = ["either", "interpreted"]

X = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64)
STEPS = {
    "a schedule": (lambda x, s, t: x * (s * 0.1) - t, 1),
    "a decay": (lambda x, s, t: x * 0.9**s + s**2 * t, 1),
    "functions of math": (
        lambda x, s, t: x * math.exp(-s) + math.sqrt(abs(t)) * math.cos(s * math.pi) / math.hypot(s, t),
        1,
    ),
    "two numbers": (lambda x, s, t: x * (s + t) + (s - t) / (s * t), 1),
    "Adam's correction": (lambda x, s, t: x / (1 - 0.9**s) / (math.sqrt(1 - 0.999**s) + 1e-8), 1),
    "rounding to digits": (lambda x, s, t: x * round(s, 1) + t % 0.3 + s // 0.2, 1),
    "a scalar operand of several operations": (
        lambda x, s, t: torch.clamp(x, -s, s).pow(2) + torch.lerp(x, x * 2, s / 10),
        1,
    ),
    "a tensor made of numbers": (
        lambda x, s, t: x * torch.tensor(s) + torch.tensor([[s, 1.0, s * t]], dtype=torch.float64) + x.new_tensor([t]),
        1,
    ),
    "a tensor full of a number": (
        lambda x, s, t: torch.full((3,), s) + torch.full_like(x, t) * x.new_full((3,), s) + torch.scalar_tensor(t),
        1,
    ),
    "a number that fills": (lambda x, s, t: x * torch.empty(3).fill_(s) + x.masked_fill(x > 0, t), 1),
    "settings": (
        lambda x, s, t: x.add(x, alpha=s) + F.leaky_relu(x, t) + F.elu(x, s) + x.clone().addcmul_(x, x, value=t),
        1,
    ),
    "settings of losses": (lambda x, s, t: F.smooth_l1_loss(x, x * 2, beta=s) + F.huber_loss(x, x * 2, delta=t), 1),
    "numbers that are returned": (lambda x, s, t: (x * s, s * 2, [t, s - t]), 1),
    "a comparison": (lambda x, s, t: x * s if s > 1 else x * t, 2),
    "min and max": (lambda x, s, t: x * min(s, t) + max(s, 0.5), 4),
    "a whole part": (lambda x, s, t: x * int(s), None),
    "digits": (lambda x, s, t: x * len(f"{s:.3f}"), None),
    "a method": (lambda x, s, t: x * (2 if s.is_integer() else t), None),
    "a key": (lambda x, s, t: x * {s: 2.0}[s], None),
}
PAIRS = [(0.5, 1.5), (1.25, 0.75), (2.5, 3.5), (0.7, 0.2), (3.0, 0.3), (1.25, 1.5), (0.51, 1.51)]


def same(a, b):
    if isinstance(b, (tuple, list)):
        assert type(a) is type(b) and len(a) == len(b)
        return [same(x, y) for x, y in zip(a, b)]
    if isinstance(b, torch.Tensor):
        return np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12)
    assert a == b and type(a) is type(b)


@pytest.mark.parametrize("name", STEPS)
def test_a_step_gives_what_it_gives_eagerly_and_is_captured_as_often_as_it_has_to_be(name, either):
    f, versions = STEPS[name]
    c = compile(f)
    for s, t in PAIRS:
        same(c(X, s, t), f(X, s, t))
    assert versions is None or len(c.versions) <= versions, c.explain()


WHOLE = {
    "Adam's correction": (lambda x, k, n: x / (1 - 0.9**k) * math.sqrt(1 - 0.999**k), 1),
    "an operand": (lambda x, k, n: (x * k + n) / (k + 1) - x**2, 1),
    "whole arithmetic": (lambda x, k, n: x * (k // 3 + n % 2 - k * n + (k << 1) + ~n + abs(-k) + math.gcd(k, n)), 1),
    "operands of integers": (lambda x, k, n: torch.tensor([1, 2, 3]) * k + n // 2, 1),
    "powers, of which some are no ints": (lambda x, k, n: x * 2 ** (k - 3), 1),
    "what is returned": (lambda x, k, n: (x * k, k * 2, k / n, [n] * 2), 1),
    "is it an int": (lambda x, k, n: x * k if isinstance(k, int) else x * 0, 1),
    "a loop": (lambda x, k, n: functools.reduce(lambda y, _: y * 2, range(k), x) * n, 6),
    "an index": (lambda x, k, n: x[k % 3] * n, 3),
    "a size": (lambda x, k, n: x[:k].sum() * n + torch.ones(k).sum(), 6),
    "a dimension": (lambda x, k, n: x.reshape(1, 3).sum(k % 2) * n, 2),
    "parity": (lambda x, k, n: x * n if k % 2 else -x * n, 2),
    "every tenth": (lambda x, k, n: (x * k, "print") if k % 10 == 0 else (x * k, ""), 2),
    "its type": (lambda x, k, n: x * k if type(k) is int else x * 0, None),
    "its digits": (lambda x, k, n: x * len(f"{k}{n}"), None),
    "a key": (lambda x, k, n: x * {1: 2.0}.get(k, 3.0), None),
    "a method": (lambda x, k, n: x * k.bit_length() + n, None),
    "a list": (lambda x, k, n: x * [1, 2, 3][k % 3], 3),
}


@pytest.mark.parametrize("name", WHOLE)
def test_ints_are_symbols_as_well(name, either):
    f, versions = WHOLE[name]
    c = compile(f)
    for k, n in [(3, 2), (4, 5), (1, 1), (2, 7), (3, 3), (10, 2), (5, 4), (1, 20)]:
        same(c(X, k, n), f(X, k, n))
    assert versions is None or len(c.versions) <= versions, c.explain()


@pytest.mark.parametrize("a, b", [(1, True), (1, 1.0), (2, 2**70), (-1, 0), (2, np.int64(2))])
def test_numbers_of_other_types_are_of_another_kind(a, b, interpreted):
    f = compile(lambda x, k: x * k + (k if isinstance(k, (bool, float)) else 0))
    for k in (a, b, a):
        same(f(X, k), f.function(X, k))


def test_an_int_as_operand_keeps_the_dtype_of_the_tensor():
    f = compile(lambda i, h, k: (i * k, h * k, i / k, i + k * 0.5))
    i, h = torch.tensor([1, 2], dtype=torch.int32), torch.tensor([1.0, 2.0], dtype=torch.float16)
    for k in (3, 4):
        for a, b in zip(f(i, h, k), f.function(i, h, k)):
            assert a.dtype == b.dtype and a.tolist() == b.tolist()
    assert len(f.versions) == 1


def test_gradients_with_respect_to_tensors_follow_the_number():
    f = compile(lambda x, s: (x * math.exp(s) ** 2).sum())
    for s in (0.1, 0.2, 0.4):
        x = X.clone().requires_grad_()
        f(x, s).backward()
        np.testing.assert_allclose(x.grad.numpy(), np.full(3, math.exp(s) ** 2), rtol=1e-12)
    assert len(f.versions) == 1


def test_gradients_know_the_settings_of_each_call(interpreted):
    c = compile(lambda x, s: x.add(x.sin(), alpha=s) + F.leaky_relu(x, s) + F.softplus(x, beta=s))
    for s in (0.5, 1.5, 2.5):
        x = X.clone().requires_grad_()
        same(*[torch.autograd.grad(f(x, s).sum(), x)[0] for f in (c, c.function)])
    assert len(c.versions) == 1


MADE_OF_NUMBERS = {
    "ints": (lambda x, s, k: x * torch.tensor([k, 2]) + torch.tensor(k).floor_divide(2), 1),
    "ints and floats": (lambda x, s, k: x * torch.tensor([k, s]) + torch.tensor([[s], [k]]).sum(), 1),
    "floats as ints": (lambda x, s, k: x * torch.tensor([s, 2], dtype=torch.int64) + k, 1),
    "full of an int": (lambda x, s, k: x * torch.full((2,), k) + torch.tensor(k).clamp(0, 2) * s, 1),
    "filled with an int": (lambda x, s, k: x * torch.tensor([1, 2]).fill_(k) * s, 1),
    "operations of ints": (lambda x, s, k: x * torch.maximum(torch.tensor(k) ** 2, torch.tensor(3)) * s, 1),
    "a comparison": (lambda x, s, k: torch.where(torch.tensor(k) > 2, x, x * torch.tensor(s)), 1),
    "rounded to an integer": (lambda x, s, k: x * torch.tensor([s, k], dtype=torch.int32), None),
    "rounded to a half": (lambda x, s, k: x * torch.tensor([s, k], dtype=torch.float16), None),
    "truth": (lambda x, s, k: x * torch.tensor([s, k], dtype=torch.bool), None),
    "one that is taken back": (lambda x, s, k: x * torch.tensor(s).item() + torch.tensor([k]).item(), None),
    "many": (lambda x, s, k: x * torch.tensor([s] * 100).sum() * k, None),
}


@pytest.mark.parametrize("name", MADE_OF_NUMBERS)
def test_tensors_made_of_numbers_have_those_of_each_call(name, either):
    f, versions = MADE_OF_NUMBERS[name]
    c, x = compile(f, fullgraph=True), torch.tensor([1.0, 2.0])
    for s, k in [(0.5, 3), (0.75, 4), (1.5, 1), (-2.5, 0), (0.0, -3)]:
        a, b = c(x, s, k), f(x, s, k)
        assert a.dtype == b.dtype and torch.allclose(a, b), (s, k)
    assert not c.explain().count("the generated code failed"), c.explain()
    assert versions is None or len([v for v in c.versions if v.arguments[1][1] == "any float"]) == versions, c.explain()


def test_a_tensor_that_cannot_be_made_leaves_no_numbers_to_the_next():
    def f(x, s):
        with contextlib.suppress(RuntimeError):
            torch.full((2,), s, device="nowhere")
        return x * torch.tensor([1.0, 2.0])

    c, x = compile(f), torch.tensor([1.0, 2.0])
    for s in (0.5, 1.5):
        same(c(x, s), f(x, s))


def test_a_whole_step_with_a_schedule_is_compiled_once(interpreted):
    def step(w, x, lr):
        loss = ((w * x).sum() - 1) ** 2
        (g,) = torch.autograd.grad(loss, [w])
        return w - lr * 0.1 * g

    c, eager = compile(step), torch.ones(3, dtype=torch.float64)
    w = eager
    for k in range(20):
        lr = 0.5 * 0.9**k
        w = c(w.detach().requires_grad_(), X, lr)
        eager = step(eager.detach().requires_grad_(), X, lr)
        same(w.detach(), eager.detach())
    assert len(c.versions) == 1


def test_the_text_says_what_a_number_is():
    f = compile(lambda x, rate: x * (rate * 0.1) + math.exp(-rate))
    f(X, 0.5)
    assert "# rate_0_1 is rate * 0.1" in f.source() and "# math_exp_rate is math.exp(-rate)" in f.source()


def test_errors_of_arithmetic_are_those_of_the_function(interpreted):
    f = compile(lambda x, s: x * (1.0 / (s - 1.0)) + math.sqrt(s))
    same(f(X, 2.0), X + math.sqrt(2.0))
    with pytest.raises(ZeroDivisionError):
        f(X, 1.0)
    with pytest.raises(ValueError, match="math domain error|expected a nonnegative input"):
        f(X, -2.0)
    h = compile(lambda x, s: x * (1.0 / (s - 1.0)) if s != 1 else x)
    for s in (2.0, 3.0, 1.0, 1.0):
        same(h(X, s), h.function(X, s))
    assert len(h.versions) == 2
    g = compile(lambda x, s: x * abs((s - 1.0) ** 0.5))
    same(g(X, 2.0), X)
    same(g(X, 0.5), X * abs((-0.5) ** 0.5))  # a complex number on the way


def test_an_expression_that_grows_without_end_is_a_value(interpreted):
    def f(x, s):
        for _ in range(60):
            s = s * s + 0.001
        return x * s

    c = compile(f)
    for s in (0.5, 0.4, 0.5):
        same(c(X, s), f(X, s))
    assert len(c.versions) == 2


def test_math_stays_as_it_is_for_others_while_a_function_is_captured(monkeypatch):
    module, before, seen = vars(sys.modules["math"]), CaptureTrace.process, []
    own = dict(module)
    monkeypatch.setattr(CaptureTrace, "process", lambda *args: seen.append(dict(module)) or before(*args))
    compile(lambda x, s: x * math.exp(s))(X, 0.5)
    assert seen and all(one == own for one in seen) and math is sys.modules["math"]


def test_the_globals_of_the_function_are_as_before_also_where_it_cannot_be_captured():
    scope = {"math": math, "exp": math.exp}
    defined("def f(x, s):\n    return x * exp(s) * math.sqrt(s) / (1 if x.sum() > 0 else 2)", scope)
    with pytest.raises(RuntimeError):
        compile(scope["f"], fullgraph=True)(X, 0.5)
    assert scope["math"] is math and scope["exp"] is math.exp


def test_functions_of_math_are_symbolic_by_any_global_name_and_in_helpers():
    scope = {"m": math, "root": math.sqrt}
    defined("def half(s):\n    return root(s) / 2\ndef f(x, s):\n    return x * m.exp(s) + half(s)", scope)
    c = compile(scope["f"])
    for s in (0.5, 0.75, 2.0):
        same(c(X, s), scope["f"](X, s))
    assert len(c.versions) == 1


@pytest.mark.parametrize("f", [lambda x, t: x * math.exp(math.exp(t)), lambda x, t: x * math.sqrt(5.01 - t),
                               lambda x, t: x * math.sqrt(t - 4.99)])  # fmt: skip
def test_numbers_near_the_end_of_a_functions_domain(f, interpreted):
    c = compile(f)  # a warning, as of running eagerly, would be an error
    for t in (5.0, 5.005):
        same(c(X, t), f(X, t))


NUMBERS = st.floats(0.01, 5.0)
LEAVES = st.sampled_from(["s", "t", "0.5", "2", "1.5"])
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
        st.tuples(st.sampled_from(["abs", "math.exp", "math.atan", "math.sin", "-"]), inner).map(
            lambda p: f"{p[0]}({p[1]})"
        ),
        st.tuples(inner, inner, inner, inner).map(lambda p: f"({p[0]} if {p[1]} < {p[2]} else {p[3]})"),
        st.tuples(inner, st.integers(0, 3)).map(lambda p: f"round({p[0]}, {p[1]})"),
    ),
    max_leaves=6,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(EXPRESSIONS, st.lists(st.tuples(NUMBERS, NUMBERS), min_size=3, max_size=5))
def test_random_arithmetic_of_numbers(either, expression, pairs):
    f = function_of(f"lambda x, s, t: x * ({expression})", {"math": math})
    c = compile(f)
    for s, t in pairs:
        try:
            expected = f(X, s, t)
        except (ArithmeticError, ValueError) as e:
            with pytest.raises(type(e)):
                c(X, s, t)
        else:
            np.testing.assert_allclose(c(X, s, t).numpy(), expected.numpy(), rtol=1e-12)


# whole numbers that are no arguments: powers of 2 and 10, which many sizes divide, at the ends of the integers and beyond
@pytest.mark.filterwarnings("error::minigrad.MinigradWarning")
@pytest.mark.parametrize("rows", [2, pytest.param(3, marks=pytest.mark.slow), pytest.param(10, marks=pytest.mark.slow)])
@pytest.mark.parametrize("sign", [1, pytest.param(-1, marks=pytest.mark.slow)])
def test_a_large_constant_from_outside_is_no_multiple_of_a_size(rows, sign):
    a, b, c, d, e = sign * 2.0**62, sign * 2.0**63, sign * 2.0**64, sign * 1e19, sign * 6.02214076e23
    k, m = sign * 6.0, sign * 1e30

    def f(x):
        return x * a, x * b, x / b, x * c, x / c, x * d, x / d, x * e, x / e, x * k, x / k, x * m

    x = torch.ones(rows, 3)
    for eager, compiled in zip(f(x), compile(f)(x), strict=True):
        assert torch.allclose(eager, compiled, rtol=1e-6, atol=0.0), (eager[0, 0], compiled[0, 0])


@pytest.mark.filterwarnings("error::minigrad.MinigradWarning")
@pytest.mark.parametrize("k", [2**63 - 1, -(2**63), pytest.param(2**62, marks=pytest.mark.slow), 12])
def test_a_large_whole_constant_from_outside(k):
    x = torch.arange(6).reshape(2, 3)
    same(compile(lambda x: (x + k, x * k))(x), (x + k, x * k))
