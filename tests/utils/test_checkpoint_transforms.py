"""Checkpoints under the transforms of functions, and in forward mode, give the derivatives of the plain function."""

import pytest

import minigrad as torch
from minigrad import nn
from minigrad.utils.checkpoint import checkpoint

from .checkpoints import close, leaf


def captures():
    """Return functions of two numbers that use tensors from outside, in the operations that save them."""
    torch.manual_seed(0)
    w = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    trained = torch.tensor([[0.3, -0.2], [0.5, 0.1]], requires_grad=True)
    net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    save = lambda f, *args, **kwargs: checkpoint(f, *args, use_reentrant=False, **kwargs)

    class Scaled(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x, weight):
            return x * weight

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, g):
            x, weight = ctx.saved_tensors
            return g * weight, g * x

        @staticmethod
        def jvp(ctx, x_t, weight_t):
            x, weight = ctx.saved_tensors
            return (0 if x_t is None else x_t * weight) + (0 if weight_t is None else x * weight_t)

    return {
        "matrix": lambda x: (w @ x).sin().sum(),
        "parameter": lambda x: (trained @ x).exp().prod(),
        "network": lambda x: net(x).sum(),
        "cross entropy": lambda x: nn.functional.cross_entropy(w * x, torch.tensor([0, 1])),
        "index": lambda x: (x[torch.tensor([1, 0, 1])] * w.flatten()[:3]).prod(),
        "Function": lambda x: Scaled.apply(x.sin(), w[0]).prod(),
        "nested": lambda x: save(lambda x: save(lambda x: (w @ x).tanh(), x) * w[1], x).prod(),
        "structures": lambda x: save(
            lambda d, *, scale: {"out": [(d["x"] * scale).sin()]}, {"x": x}, scale=w[0]
        )["out"][0].prod(),
    }  # fmt: skip


def forward_over_reverse(f):
    def run(x):
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(x.clone().requires_grad_(), torch.tensor([1.0, -0.5]))
            y = f(dual)
            (g,) = torch.autograd.grad(y, dual, create_graph=True)
            return [*torch.autograd.forward_ad.unpack_dual(y), *torch.autograd.forward_ad.unpack_dual(g)]

    return run


WAYS = {
    "grad": torch.func.grad,
    "grad of grad": lambda f: torch.func.grad(lambda x: torch.func.grad(f)(x).sin().sum()),
    "vjp": lambda f: lambda x: torch.func.vjp(f, x)[1](torch.tensor(0.7))[0],
    "jvp": lambda f: lambda x: torch.func.jvp(f, (x,), (torch.tensor([1.0, -0.5]),))[1],
    "jvp of grad": lambda f: lambda x: torch.func.jvp(torch.func.grad(f), (x,), (torch.tensor([1.0, -0.5]),))[1],
    "jacrev": lambda f: torch.func.jacrev(lambda x: torch.stack([f(x), f(2 * x)])),
    "hessian": torch.func.hessian,
    "vmap": lambda f: lambda x: torch.func.vmap(f)(torch.stack([x, 2 * x, 3 * x])),
    "vmap of grad": lambda f: lambda x: torch.func.vmap(torch.func.grad(f))(torch.stack([x, 2 * x, 3 * x])),
    "grad of vmap": lambda f: torch.func.grad(lambda x: torch.func.vmap(f)(torch.stack([x, 2 * x, 3 * x])).sin().sum()),
    "forward over reverse": forward_over_reverse,
    "functional.hessian": lambda f: lambda x: torch.autograd.functional.hessian(f, x),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", captures())
def test_transforms_and_forward_mode_give_what_they_give_without_checkpoint(program, way):
    f, x = captures()[program], torch.tensor([0.4, -0.6])
    found = [WAYS[way](g)(x) for g in (f, lambda x: checkpoint(f, x, use_reentrant=False))]
    close(*[r if isinstance(r, list) else [r] for r in found])


def test_gradients_of_captured_parameters_pass_through_a_transform():
    w, x = torch.tensor([[0.3, -0.2], [0.5, 0.1]], requires_grad=True), torch.tensor([0.4, -0.6])
    found = []
    for call in (lambda f, x: f(x), lambda f, x: checkpoint(f, x, use_reentrant=False)):
        run = lambda x, call=call: call(lambda x: (w @ x).sin().prod(), x)
        penalty = torch.func.grad(run)(x).square().sum() + torch.func.vmap(run)(torch.stack([x, 2 * x, 3 * x])).sum()
        found.append(torch.autograd.grad(penalty, w))
    close(*found)


@pytest.mark.parametrize("way", ["grad", "vmap of grad"])
def test_random_numbers_in_a_transform_are_those_without_checkpoint(way):
    f, x = lambda x: nn.functional.dropout(x * torch.tensor([1.0, 2.0]), 0.5).sin().sum(), torch.tensor([0.4, -0.6])
    found, seen = [], ({"randomness": "same"} if "vmap" in way else {})
    for g in (f, lambda x: checkpoint(f, x, use_reentrant=False)):
        torch.manual_seed(1)
        run = torch.func.grad(g)
        found.append([run(x) if not seen else torch.func.vmap(run, **seen)(torch.stack([x, 2 * x])), torch.rand(2)])
    close(*found)


def test_a_transform_inside_the_function_works():
    w, found = leaf(2, 2), []
    for call in (lambda f, x: f(x), lambda f, x: checkpoint(f, x, use_reentrant=False)):
        x = leaf(2)
        run = lambda x: torch.func.vmap(torch.func.grad(lambda z: (w @ z).sin().sum()))(torch.stack([x, 2 * x]))
        found.append(torch.autograd.grad(call(run, x).square().sum(), [x, w]))
    close(*found)


@pytest.mark.parametrize("early_stop", [False, True])
def test_forward_mode_goes_through_backward(early_stop):
    def run(x, w):
        y = (x * w).exp()
        return (y * 1).mul_(x).tanh() * w

    def tangents(call):
        with torch.autograd.forward_ad.dual_level():
            x, w = torch.autograd.forward_ad.make_dual(leaf(3), torch.ones(3)), leaf(3)
            grads = torch.autograd.grad(call(x, w).sum(), (x, w))
            return [torch.autograd.forward_ad.unpack_dual(g).tangent for g in grads]

    close(tangents(lambda x, w: checkpoint(run, x, w, use_reentrant=False, early_stop=early_stop)), tangents(run))
