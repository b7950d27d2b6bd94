"""Only some results of a compiled function are differentiated: the others' gradients are left out, and nothing runs eagerly."""

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import minigrad as torch
from minigrad import compile
from minigrad.compile import differentiation
from minigrad.nn import functional as F
from tests.functions import custom

from .interpreted import interpreted

__all__ = ["interpreted"]


@pytest.fixture
def compiled_only(monkeypatch):
    """A gradient that eager code computes is an error."""

    def refuse(*args):
        raise AssertionError("the gradient was computed by eager code")

    monkeypatch.setattr(differentiation, "recompute", refuse)


def loss_and_scores(x, w):
    scores = (x @ w).tanh()
    return F.cross_entropy(scores, torch.tensor([0, 1, 1])), scores, scores.softmax(1)


def sharing(x, w):
    y = x * w[0]
    z = y.sin() + y
    return (z * y).sum(), z @ x.T, y.exp() / (1 + z * z), w.sum() * z


def in_parts(x, w):
    y = (x @ w).exp()
    first, second = y.split(1, 1)
    return torch.cat([first, second.sin()], 1), torch.stack([second, first * 2]), y[0]


def views_and_writes(x, w):
    y = x * w[0]
    y[0] = y[1] * 2
    return y * 1, y[1:].exp(), y.T @ x


def in_some(f, x, w, wanted):
    outs = f(x, w)
    return torch.autograd.grad([outs[k].sum() for k in wanted], (x, w), allow_unused=True)


@pytest.mark.parametrize("f", [loss_and_scores, sharing, in_parts, views_and_writes])
def test_gradients_of_any_of_the_results_are_those_of_eager_code(f, interpreted, compiled_only):
    c = compile(f, fullgraph=True)
    torch.manual_seed(0)
    x, w = torch.randn(3, 2, requires_grad=True), torch.randn(2, 2, requires_grad=True)
    n = len(f(x, w))
    for wanted in itertools.chain(*[itertools.combinations(range(n), k + 1) for k in range(n)]):
        for found, expected in zip(in_some(c, x, w, wanted), in_some(f, x, w, wanted), strict=True):
            assert (found is None) == (expected is None), wanted
            assert found is None or torch.allclose(found, expected, rtol=1e-4, atol=1e-5), wanted


def test_gradients_of_some_results_flow_as_tensors_too(interpreted, compiled_only):
    c = compile(sharing)
    x, w = torch.randn(3, 2, requires_grad=True), torch.randn(2, 2, requires_grad=True)
    for f in (c, sharing):
        loss = f(x, w)[0]
        loss.register_hook(lambda g: g * 2)
        loss.backward(retain_graph=True)
        loss.backward()
    assert torch.allclose(x.grad, 8 * torch.autograd.grad(sharing(x, w)[0], x)[0], rtol=1e-4)


def test_what_was_not_used_makes_no_nan(interpreted, compiled_only):
    c = compile(lambda x: ((x * 2).sum(), x.log(), 1 / x), fullgraph=True)
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    assert torch.autograd.grad(c(x)[0], x)[0].tolist() == [2.0, 2.0]
    assert torch.autograd.grad(c(x)[1].sum(), x)[0].tolist() == [float("inf"), 1.0]


# Its gradient is the same whatever arrives.
Constant = custom(
    "Constant", forward=lambda x: x * 1, setup_context=lambda *a: None, backward=lambda ctx, g: torch.full((2,), 5.0)
)


@pytest.mark.filterwarnings("ignore")
def test_a_gradient_that_depends_on_none_is_there_only_where_its_operation_is_used(interpreted):
    c = compile(lambda x: (Constant.apply(x), x * 3), fullgraph=True)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    for wanted, gradient in [((0,), 5.0), ((1,), 3.0), ((0, 1), 8.0)]:
        found = torch.autograd.grad([c(x)[k].sum() for k in wanted], x)
        assert found[0].tolist() == [gradient] * 2


UNARY = [torch.sin, torch.exp, torch.tanh, lambda t: t * t, lambda t: t.sum(0, keepdim=True) + t, lambda t: t.T.clone().T,
         lambda t: t[[1, 0]], lambda t: t.relu(), lambda t: t.clone()]  # fmt: skip
BINARY = [torch.add, torch.mul, lambda a, b: a @ b.T @ a, lambda a, b: torch.where(a > 0, a, b), torch.sub]


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.integers(0, 13), st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=8),
    st.sets(st.integers(0, 3), min_size=1, max_size=3),
)
def test_random_programs_of_several_results(interpreted, compiled_only, steps, wanted):
    def f(x, w):
        made = [x, w]
        for op, i, j in steps:
            a, b = made[i % len(made)], made[j % len(made)]
            made.append(UNARY[op](a) if op < len(UNARY) else BINARY[op - len(UNARY)](a, b))
        return [t * 0.5 for t in made[-4:]]

    torch.manual_seed(0)
    x, w = [(torch.randn(2, 2, dtype=torch.float64) * 0.3).requires_grad_() for _ in range(2)]
    chosen = [k for k in wanted if k < len(f(x, w))]
    if not chosen:
        return
    for found, expected in zip(
        in_some(compile(f, fullgraph=True), x, w, chosen), in_some(f, x, w, chosen), strict=True
    ):
        assert (found is None) == (expected is None)
        assert found is None or torch.allclose(found, expected, rtol=1e-8, atol=1e-12)


def test_one_of_several_results_goes_into_another_compiled_function(compiled_only):
    two, after = compile(lambda x: (x * 2, x.exp())), compile(lambda y: (y * 3).sin())
    x = torch.tensor([0.5, -1.0], requires_grad=True)
    for k, inner in enumerate((lambda x: x * 2, torch.exp)):
        (found,) = torch.autograd.grad(after(two(x)[k]).sum(), x)
        (wanted,) = torch.autograd.grad((inner(x) * 3).sin().sum(), x)
        assert torch.allclose(found, wanted)
    assert "eagerly" not in after.explain()
