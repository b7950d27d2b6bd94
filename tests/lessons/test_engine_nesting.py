"""The engine of all eight steps nests jvp, grad and vmap in any order, with the results of minigrad.func."""

import itertools
import types

import numpy as np
import pytest

import minigrad
from lessons import build
from minigrad import func

ENGINE = types.ModuleType("engine_of_all_steps")
exec(build.state(9), vars(ENGINE))
Value, total = ENGINE.Value, ENGINE.total
RANDOM = np.random.default_rng(0)
M, X, V = RANDOM.normal(size=(3, 3)), RANDOM.normal(size=3), RANDOM.normal(size=3)


def mine(a):
    return total(ENGINE.tanh(Value(M) @ a) * a * a.exp())


def theirs(a):
    return ((minigrad.tensor(M) @ a).tanh() * a * a.exp()).sum()


def transformed(kind, f, g):
    """Return a number-valued derivative of f by the engine, and of g by minigrad: along V, or the gradient times V."""
    if kind == "jvp":
        return lambda a: ENGINE.jvp(f, [a], [Value(V)])[1], lambda a: func.jvp(g, (a,), (minigrad.tensor(V),))[1]
    return lambda a: total(ENGINE.grad(f)(a) * V), lambda a: (func.grad(g)(a) * minigrad.tensor(V)).sum()


@pytest.mark.parametrize(
    "kinds", [k for n in (1, 2, 3) for k in itertools.product(("grad", "jvp"), repeat=n)], ids=" of ".join
)
def test_derivatives_nest_and_vmap_goes_around_them(kinds):
    f, g = mine, theirs
    for kind in reversed(kinds):
        f, g = transformed(kind, f, g)
    assert np.allclose(f(Value(X)).value, g(minigrad.tensor(X)).numpy())
    batch = RANDOM.normal(size=(4, 3))
    assert np.allclose(ENGINE.vmap(f)(Value(batch)).value, func.vmap(g)(minigrad.tensor(batch)).numpy())


@pytest.mark.parametrize("kinds", [("jvp",), ("grad",), ("jvp", "grad"), ("grad", "jvp")], ids=" of ".join)
def test_derivatives_go_around_a_vmap(kinds):
    f = lambda a: total(ENGINE.vmap(lambda one: one * one * one.exp())(a))
    g = lambda a: func.vmap(lambda one: one * one * one.exp())(a).sum()
    for kind in reversed(kinds):
        f, g = transformed(kind, f, g)
    assert np.allclose(f(Value(X)).value, g(minigrad.tensor(X)).numpy())


def along(f, x):
    return ENGINE.jvp(f, [x], [Value(1.0)])[1]


def gradient(f, x):
    return ENGINE.grad(f)(x)


@pytest.mark.parametrize("outer", [along, gradient])
@pytest.mark.parametrize("inner", [along, gradient])
def test_tangents_and_gradients_of_two_calls_are_not_confused(outer, inner):
    assert outer(lambda x: x * inner(lambda y: x + y, Value(1.0)), Value(1.0)).value == 1.0
    assert outer(lambda x: x * inner(lambda y: x * y, x), Value(3.0)).value == 6.0
    assert outer(lambda x: inner(lambda y: x * x, Value(1.0)), Value(3.0)).value == 0.0


def test_tangents_nest_in_the_engine_of_step_6():
    engine = types.ModuleType("engine_of_six_steps")
    exec(build.state(7), vars(engine))
    one = engine.Value(1.0)
    slope = lambda f, x: engine.jvp(f, [x], [one])[1]
    assert slope(lambda x: x * slope(lambda y: x + y, one), one).value == 1.0
    assert slope(lambda x: slope(lambda y: y * y * y, x), engine.Value(2.0)).value == 12.0
