"""`x[mask]`: programs whose results do not depend on how many elements a mask selects."""

import re
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import minigrad as torch
from minigrad import compile
from minigrad.nn import functional as F
from tests.functions import custom

from .interpreted import interpreted

__all__ = ["interpreted"]
WHOLE = {
    "a sum": lambda x, y, w: x[x > 0].sum(),
    "a mean": lambda x, y, w: (x * 2 + w)[x > 0].exp().mean(),
    "a mask of fewer dimensions": lambda x, y, w: (x * w)[y[:, 0] > 0].sin().sum() + x[(y > 0).all(1)].mean(),
    "two selections": lambda x, y, w: (x[y > 0] * y[y > 0]).sum(),
    "one mask for several": lambda x, y, w: (lambda m: ((x[m] - (y * w)[m]) ** 2 / (1 + y[m].abs())).mean())(x > 0),
    "a loss": lambda x, y, w: (lambda m: F.mse_loss(x[m] * w, y[m]))(y > 0),
    "another loss": lambda x, y, w: (lambda m: F.binary_cross_entropy_with_logits(x[m], (y > 0).float()[m]))(x != 0),
    "a number of the graph": lambda x, y, w: (x[x > 0] / w).sum() + (x[x > 0] ** w).mean(),
    "numbers of the last dimension": lambda x, y, w: (x[y[:, 0] > 0] * y.sum(0) + w).cos().sum(),
    "where its derivative is infinite": lambda x, y, w: x[x > 0].sqrt().sum() + (w / x[x != 0]).mean(),
    "where it is not a number": lambda x, y, w: x[x > 0].log().sum() + (x[x > 0] - w).abs().log().mean(),
    "masked_select": lambda x, y, w: torch.masked_select(x * w, y[:1] > 0).tanh().sum(),
    "an integer mask": lambda x, y, w: x[(y > 0).nonzero(as_tuple=True)].sum() * w,
    "a condition": lambda x, y, w: (lambda m: torch.where(y[m] > 1, x[m] * w, x[m]).sum())(x > 0),
    "another dtype": lambda x, y, w: x[x > 0].double().sum().float() * w,
    "integers": lambda x, y, w: (x * 4).long()[x > 0].sum() * w,
}


def changes_the_mask(x, y, w):
    mask = x > 0
    part = x[mask]
    mask.logical_not_()
    return (part * w).sum() + x[mask].exp().mean()


def changes_the_tensor(x, y, w):
    z = y * 2
    part = z[x > 0]
    z.mul_(3)
    return (part * w).sum() + z[x > 0].mean()


WHOLE |= {"a mask that changes": changes_the_mask, "a tensor that changes": changes_the_tensor}


def cases():
    """Yield arguments with masks of several sizes, empty and full among them; some elements are 0."""
    torch.manual_seed(0)
    for shift in (0.0, 0.5, -0.5, 9.0, -9.0):
        x = torch.randn(4, 3) + shift
        x[0, 1] = 0.0
        yield x.requires_grad_(), torch.randn(4, 3) - shift / 2, torch.tensor(1.5 + shift / 20, requires_grad=True)


def outcome(f, x, y, w):
    """Return the result, its gradients, and their gradients."""
    out = f(x, y, w)
    first = torch.autograd.grad(out, (x, w), allow_unused=True, create_graph=False)
    return [out.detach(), *[torch.zeros(()) if g is None else g for g in first]]


def same(found, wanted):
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype and torch.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True), (found, wanted)


@pytest.mark.filterwarnings("ignore:.*(empty|NaN)")
@pytest.mark.parametrize("name", WHOLE)
def test_a_selection_that_is_summed_is_part_of_the_program(name, interpreted):
    f = WHOLE[name]
    c = compile(f, fullgraph=True)
    for x, y, w in cases():
        same(outcome(c, x, y, w), outcome(f, x, y, w))
    assert len(c.versions) == 1, c.explain()


def penalty(x, w):
    """Return a gradient of a gradient, computed inside the function."""
    (g,) = torch.autograd.grad((x[x > 0] ** 3 * w).sum(), x, create_graph=True)
    return (g**2).sum()


def test_derivatives_of_selections_are_part_of_the_program(interpreted):
    c = compile(penalty, fullgraph=True)
    for x, _, w in cases():
        if (x > 0).any():
            same(*[[g, *torch.autograd.grad(g, (x, w))] for g in (c(x, w), penalty(x, w))])


def sorts(x):
    y = x * 2
    chosen = y[y > 0]
    return y.sum() + chosen.sort().values.sum()


def counts(x):
    y = x * 2
    chosen = y[y > 0]
    return y.sum() / chosen.numel()


def decides(x):
    y = x * 2
    chosen = y[y > 0]
    return y.sum() * 2 if len(chosen) > 4 else y.sum()


def gives(x):
    y = x * 2
    chosen = y[y > 0]
    return chosen


def asks_for_its_gradient(x):
    y = x * 2
    chosen = y[y > 0]
    return torch.autograd.grad((chosen**2).sum(), chosen)[0].sum()


def meets_another(x):
    y = x * 2
    chosen = y[y > 0]
    return (chosen * y[y <= 0].sum() * x[x * 2 > 0]).sum()


Square = custom("Square", forward=lambda ctx, x: x[x > 0] ** 2, backward=lambda ctx, g: None)


def in_a_function(x):
    y = x * 2
    chosen = Square.apply(y.detach())
    return y.sum() + chosen.sum()


def takes_by_places_of_another(x):
    rows, columns = (x[:2] > 0).nonzero(as_tuple=True)
    return x[rows, columns].sum() + x[columns, rows.clamp(max=2)].sum() + x.sum()


def takes_places_apart(x):
    found = (x > 0).nonzero()[:]
    return x[found[:, 0], found[:, -1]].sum() + x[found[:, 0]].sum() + found[:, 1].sum() + x.sum()


def halves(x):
    return (x[x > 0].half() * 2000).mean().float() + x.sum()


def in_a_transform(x):
    return torch.func.grad(lambda t: (t[t > 0].sin() * t[t > 0]).mean())(x.detach()).sum() + x.sum()


def cuts_history(x):
    y = x * 2
    chosen = y[y > 0]
    return (chosen * chosen.detach()).sum()


EAGER = [
    sorts,
    counts,
    decides,
    gives,
    asks_for_its_gradient,
    meets_another,
    in_a_function,
    in_a_transform,
    cuts_history,
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", EAGER)
def test_what_needs_the_elements_one_by_one_is_not_compiled_and_right(f):
    c = compile(f)
    for x, _, _ in cases():
        if x.detach().min() < 9 and (x > 0).any():
            found, wanted = c(x), f(x)
            same([found.detach()], [wanted.detach()])
            if wanted.requires_grad:
                same([torch.autograd.grad(found.sum(), x)[0]], [torch.autograd.grad(wanted.sum(), x)[0]])


@pytest.mark.parametrize("f", [sorts, counts, decides])
def test_the_line_of_the_mask_is_named(f):
    line = f.__code__.co_firstlineno + 2
    with pytest.warns(torch.errors.MinigradWarning, match=re.escape(f"{__file__}:{line}")):
        compile(f)(torch.randn(3, requires_grad=True))


POINTWISE = [torch.sin, torch.exp, torch.log, torch.sqrt, torch.abs, torch.atan, lambda t: t**2, lambda t: 1 - t]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, len(POINTWISE) - 1), max_size=4), st.lists(st.booleans(), min_size=5, max_size=5))
def test_random_chains_of_selections(interpreted, chain, mask):
    def f(x, m):
        part = x[m]
        for k in chain:
            part = POINTWISE[k](part) * part
        return part.sum()

    x = torch.tensor([0.0, 1.0, 0.5, -1.0, 2.0], dtype=torch.float64, requires_grad=True)
    m = torch.tensor(mask)
    run = partial(compile(f, fullgraph=True), m=m)
    for g in (run, partial(run, m=~m)):
        m_ = g.keywords["m"]
        out, wanted = g(x), f(x, m_)
        same([out, *torch.autograd.grad(out, x)], [wanted, *torch.autograd.grad(wanted, x)])
