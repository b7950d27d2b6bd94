"""minigrad.compile with func's transforms, inside and outside, in compositions: what eager code gives.

Most programs run as plain Python (interpreted.py), for waiting for Numba would take minutes.
"""

import itertools
import random
import weakref

import pytest

import minigrad as torch
from minigrad import func
from minigrad.compile.api import compile
from tests.floats import some

from .both import quietly, same
from .interpreted import interpreted

__all__ = ["interpreted"]
F = torch.nn.functional


def scalar(f):
    """Return a number from f's result, so that it has a gradient."""

    def g(x):
        y = f(x)
        return (y * y.cos()).sum()

    return g


def pulled(f):
    def g(x):
        y, pull = func.vjp(f, x)
        return pull(torch.ones_like(y) * 0.7)[0]

    return g


TRANSFORMS = {
    "grad": lambda f: func.grad(scalar(f)),
    "hessian": lambda f: func.hessian(scalar(f)),
    "jacrev": func.jacrev,
    "jacfwd": func.jacfwd,
    "jvp": lambda f: lambda x: func.jvp(f, (x,), (torch.ones_like(x) * 0.5,))[1],
    "vjp": pulled,
    "linearize": lambda f: lambda x: func.linearize(f, x)[1](x.cos()),
    "vmap": lambda f: lambda x: torch.vmap(f)(torch.stack([x, x * 2, x.sin()])),
    "vmap by columns": lambda f: (
        lambda x: torch.vmap(lambda a, b: f(a) * b, (1, None), -1)(torch.stack([x, x * 2], -1), 0.5)
    ),
    "compile": lambda f: compile(f, fullgraph=True),
}
FUNCTIONS = {
    "sin": lambda x: x.sin() * x,
    "power of a sum": lambda x: (x**3).sum() ** 2,
    "powers": lambda x: x / 3 + 2 / x + x**2.5,
    "softmax": lambda x: torch.softmax(x, -1) * x,
    "product": lambda x: torch.outer(x, x).tanh().sum(0) if x.ndim == 1 else x.tanh(),
    "where": lambda x: torch.where(x > 0.3, x * x, x.exp()),
    "slices": lambda x: x[..., :2].exp() * x[..., 1:3],
    "scan": lambda x: x.cumsum(-1) / (1 + x * x),
    "tensors made inside": lambda x: x * torch.arange(x.shape[-1]) + torch.eye(x.shape[-1])[0],
    "norm": lambda x: x / (x * x).sum().sqrt(),
    "maximum": lambda x: x.max() * x + x.amax(-1, keepdim=True),
    "cross-entropy": lambda x: F.cross_entropy(x.reshape(1, -1), torch.tensor([1])) * x,
    "layer norm": lambda x: F.layer_norm(x, (x.shape[-1],)),
    "sort": lambda x: x.sort(-1)[0] * torch.gather(x, -1, x.argsort(-1)),
}


def compositions(depth):
    """Yield the transforms, one after the other; at most two that add dimensions."""
    for names in itertools.product(TRANSFORMS, repeat=depth):
        if sum([n in ("hessian", "jacrev", "jacfwd") for n in names]) + 2 * names.count("hessian") <= 3:
            yield names


def compare(names, fname, tolerance=1e-9):
    """The composition compiled, and eager."""
    f = g = FUNCTIONS[fname]
    for n in names:
        f = TRANSFORMS[n](f)
        g = TRANSFORMS[n](g) if n != "compile" else g
    x = torch.linspace(0.1, 1.0, 4, dtype=torch.float64)
    same(compile(f, fullgraph=True)(x), g(x), tolerance)


@pytest.mark.parametrize("fname", FUNCTIONS)
def test_transforms_compiled(fname, interpreted):
    some_of_depth(1, fname)


@pytest.mark.parametrize("fname", some(FUNCTIONS, 2))
def test_compositions_of_two_transforms(fname, interpreted):
    some_of_depth(2, fname)


@pytest.mark.slow
@pytest.mark.parametrize("fname", FUNCTIONS)
def test_compositions_of_three_transforms(fname, interpreted):
    some_of_depth(3, fname)


def some_of_depth(depth, fname):
    """Compare some compositions, compiled and eager."""
    every = list(compositions(depth))
    for names in random.Random(f"{fname}{depth}").sample(every, min(5 if depth == 2 else 10, len(every))):
        compare(names, fname)


@pytest.mark.parametrize("program", some([
    (("hessian",), "power of a sum"), (("hessian", "vmap"), "sin"), (("grad", "vmap"), "softmax"),
    (("jvp", "grad"), "layer norm"), (("jacrev",), "cross-entropy"), (("compile", "hessian"), "norm"),
]))  # fmt: skip
def test_compiled_by_numba(program):
    compare(*program)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_of_a_compiled_function(name, interpreted):
    x = torch.linspace(0.1, 1.0, 4, dtype=torch.float64)
    for f in FUNCTIONS.values():
        same(TRANSFORMS[name](compile(f))(x), TRANSFORMS[name](f)(x), 1e-9)


def test_the_sizes_of_constants_follow_the_arguments(interpreted):
    f = func.hessian(lambda x: (x.sin() * x).sum() ** 2)
    c = compile(f, fullgraph=True)
    for n in (3, 5, 1, 0, 3):
        x = torch.linspace(0.1, 1.0, n)
        same(c(x), f(x))


def test_a_tensor_that_was_there_before_is_no_constant():
    hidden = weakref.WeakSet([scale := torch.tensor(3.0)])  # the capture cannot see what lies there
    c, x = compile(lambda x: x * min(hidden.__iter__(), key=len_of)), torch.ones(2)
    for _ in range(2):
        same(quietly(c, x), x * 3)
    assert "eagerly" in c.explain()
    scale.mul_(2)
    same(c(x), x * 6)


def len_of(t):
    """Return the number of dimensions, as a key for min."""
    return t.ndim
