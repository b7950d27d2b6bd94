"""Tangents of saved tensors: forward over reverse mode with saved_tensors_hooks and checkpoints."""

import numpy as np
import pytest

import minigrad as torch
from minigrad.autograd.forward_ad import dual_level, make_dual, unpack_dual
from minigrad.autograd.graph import allow_mutation_on_saved_tensors, save_on_cpu, saved_tensors_hooks
from minigrad.utils.checkpoint import checkpoint
from tests.functions import custom


def same(t):
    return t


def with_hooks(around):
    def run(f, *args):
        with around():
            return f(*args)

    return run


HOOKS = {
    "identity": lambda: saved_tensors_hooks(same, same),
    "clone": lambda: saved_tensors_hooks(lambda t: t.clone(), same),
    "as arrays": lambda: saved_tensors_hooks(lambda t: t.detach().numpy().copy(), torch.tensor),
    "on the CPU": save_on_cpu,
    "detached": lambda: saved_tensors_hooks(lambda t: t.detach(), same),
}
CALLS = {name: with_hooks(around) for name, around in HOOKS.items()}
CALLS["checkpoint"] = lambda f, *args: checkpoint(f, *args, use_reentrant=False)


def tangents(f, leaves, run, create=False):
    """Return the tangents of the gradients of f; each leaf has a random tangent."""
    r = np.random.default_rng(0)
    with dual_level():
        given = [
            make_dual(x.clone().requires_grad_(), torch.tensor(r.normal(size=tuple(x.shape)), dtype=x.dtype))
            if x.is_floating_point()
            else x
            for x in leaves
        ]
        tracked = [x for x in given if x.is_floating_point()]
        total = run(f, *given)
        if not tracked or not total.requires_grad:
            return []
        grads = torch.autograd.grad(total, tracked, create_graph=create, allow_unused=True)
        found = [None if g is None else unpack_dual(g).tangent for g in grads]
    return [None if t is None else t.detach().numpy() for t in found]


def check(f, leaves, what):
    for create in (False, True):
        wanted = tangents(f, leaves, lambda f, *args: f(*args), create)
        for name in ("identity", "checkpoint") if create else CALLS:
            for a, b in zip(tangents(f, leaves, CALLS[name], create), wanted, strict=True):
                assert (a is None) == (b is None), f"{what}, {name}: tangent {a}, without {b}"
                assert a is None or np.allclose(a, b, rtol=1e-12, atol=1e-12, equal_nan=True), f"{what}, {name}"


class Both(torch.autograd.Function):
    """Saves an input, a result and an intermediate, which counts as a constant."""

    @staticmethod
    def forward(ctx, x):
        half = (x / 2).exp()
        y = half * half
        ctx.save_for_backward(x, y, half.detach())
        ctx.save_for_forward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y, half = ctx.saved_tensors
        return g * y + 0 * x * half

    @staticmethod
    def jvp(ctx, t):
        return t * ctx.saved_tensors[0]


def written(x):
    y = x * 1
    y.exp_()
    return (y[:2] * x[:2]).sum()


def of_view(x):
    base = torch.zeros(4, dtype=x.dtype)
    view = base[1:]
    base[:3] = x * x
    return (view.exp() * view).sum()


@pytest.mark.parametrize("f", [lambda x: Both.apply(x).sum(), written, of_view], ids=["Function", "in place", "view"])
def test_hooks_keep_the_tangents_of_functions_writes_and_views(f):
    check(f, [torch.tensor([0.3, 0.7, 1.1], dtype=torch.float64)], "program")


def test_a_tangent_is_saved_as_it_was():
    """A later write to the tensor changes its tangent, too, but not what a hook has packed."""
    with dual_level(), allow_mutation_on_saved_tensors():
        x = make_dual(torch.tensor([3.0]).requires_grad_(), torch.ones(1))
        y = x * 1
        z = y * y
        y.mul_(x)
        (g,) = torch.autograd.grad(z, x)
        assert unpack_dual(g).tangent.item() == 2.0


def test_a_tangent_of_an_ended_level_is_not_saved():
    with dual_level():
        x = make_dual(torch.tensor([3.0]).requires_grad_(), torch.ones(1))
        with saved_tensors_hooks(same, same):
            y = x.exp() * x
    with dual_level():
        (g,) = torch.autograd.grad(y, x)
        assert unpack_dual(g).tangent is None


Twice = custom(
    "Twice",
    forward=lambda ctx, x: ctx.mark_dirty(x) or x.mul_(2),
    backward=lambda ctx, g: 2 * g,
    jvp=lambda ctx, t: 2 * t,
)


@pytest.mark.parametrize("create", [False, True])
def test_a_write_in_a_function_updates_the_tangents_of_bases_and_views(create):
    with dual_level():
        x = make_dual(torch.tensor([2.0, 3.0]).requires_grad_(create), torch.ones(2))
        base = torch.zeros(4)
        view = base[:2]
        base[1:3] = x
        part = view[1:]
        Twice.apply(view)
        assert unpack_dual(base).tangent.tolist() == [0.0, 2.0, 1.0, 0.0]
        assert unpack_dual(view).tangent.tolist() == [0.0, 2.0] and unpack_dual(part).tangent.tolist() == [2.0]
