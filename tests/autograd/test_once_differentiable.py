"""@once_differentiable: every nesting of derivatives gives the right number, or says that there is none."""

from itertools import product

import pytest

import minigrad as torch
from minigrad.autograd import forward_ad
from minigrad.autograd.function import NestedIOFunction, once_differentiable
from minigrad.func import grad, jacfwd, jacrev, jvp, vmap
from tests.functions import custom, leaf


def sine(save, read):
    """Return sin as a Function that hands its input to backward in some way."""

    Sine = custom(
        "Sine",
        generate_vmap_rule=True,
        forward=lambda x: x.sin(),
        setup_context=lambda ctx, inputs, output: save(ctx, *inputs) or ctx.save_for_forward(*inputs),
        backward=once_differentiable(lambda ctx, g: g * read(ctx).cos()),
        jvp=lambda ctx, t: t * ctx.saved_tensors[0].cos(),
    )
    return Sine.apply


def on_attribute(ctx, x):
    ctx.x = x


KEPT = {
    "saved": (lambda ctx, x: ctx.save_for_backward(x), lambda ctx: ctx.saved_tensors[0]),
    "attribute": (on_attribute, lambda ctx: ctx.x),
    "intermediate": (lambda ctx, x: ctx.save_for_backward(x * 2), lambda ctx: ctx.saved_tensors[0] / 2),
}


def first_of_batch(f):
    return lambda x: vmap(f)(torch.stack([x, x + 1.0]))[0]


STEPS = {
    "grad": grad,
    "jvp": lambda f: lambda x: jvp(f, (x,), (torch.ones_like(x),))[1],
    "jacrev": jacrev,
    "jacfwd": jacfwd,
    "vmap": first_of_batch,
}
WORDS = [w for n in (1, 2, 3) for w in product(STEPS, repeat=n)] + [
    ("grad", "vmap", "jvp", "grad"),
    ("jacrev", "jacfwd", "vmap", "grad"),
    ("vmap", "grad", "jvp", "vmap", "grad"),
]


def applied(words, f):
    for step in reversed(words):
        f = STEPS[step](f)
    return f


def derivative(order, x):
    return (x.sin(), x.cos(), -x.sin(), -x.cos())[order].item()


@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("words", WORDS, ids="-".join)
def test_a_derivative_is_right_and_a_second_reverse_pass_is_refused(words, kept):
    x, f = torch.tensor(0.7, dtype=torch.float64), applied(words, sine(*KEPT[kept]))
    derivatives = [w for w in words if w != "vmap"]
    reverse = [w in ("grad", "jacrev") for w in derivatives]
    if sum(reverse) > 1 and reverse[-1]:  # a jvp inside them all calls the user's jvp, never the backward
        with pytest.raises(RuntimeError, match="@once_differentiable"):
            f(x)
    else:
        assert f(x).item() == pytest.approx(derivative(len(derivatives), x))


@pytest.mark.parametrize("inner", [(), ("vmap",), ("vmap", "vmap")], ids="-".join)
@pytest.mark.parametrize("kept", ["saved", "attribute"])
def test_the_tangent_of_a_gradient_in_a_dual_level_is_right_and_its_gradient_is_refused(kept, inner):
    x, f = torch.tensor(0.7, dtype=torch.float64, requires_grad=True), applied(inner, sine(*KEPT[kept]))
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.ones_like(x))
        (slope,) = torch.autograd.grad(f(dual), x, create_graph=True)
        tangent = forward_ad.unpack_dual(slope).tangent
        assert tangent.item() == pytest.approx(derivative(2, x))
        with pytest.raises(RuntimeError, match="@once_differentiable"):
            torch.autograd.grad(tangent, x)


def test_backward_of_a_forward_over_reverse_derivative_is_refused():
    x = torch.tensor(0.7, requires_grad=True)
    y = applied(("jvp", "grad"), sine(*KEPT["saved"]))(x)
    with pytest.raises(RuntimeError, match="@once_differentiable"):
        y.backward()


KEPT_ANYHOW = KEPT | {"intermediate attribute": (lambda ctx, x: setattr(ctx, "x", [x * 1]), lambda ctx: ctx.x[0])}


@pytest.mark.parametrize("kept", KEPT_ANYHOW)
@pytest.mark.parametrize("inner", [(), ("vmap",), ("grad",), ("vmap", "grad"), ("grad", "vmap")], ids="-".join)
def test_a_reverse_pass_over_another_one_is_refused(inner, kept):
    f = applied(inner, sine(*KEPT_ANYHOW[kept]))
    x = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match="@once_differentiable"):
        if "grad" in inner:
            grad(f)(x.detach())
        else:
            (g,) = torch.autograd.grad(f(x) + x**2, x, create_graph=True)
            g.backward()


# ---------------------------------------------------------------------- backward in NumPy
Square = custom(
    "Square",
    forward=lambda ctx, x: ctx.save_for_backward(x) or x * x,
    backward=once_differentiable(
        lambda ctx, g: torch.from_numpy(2 * ctx.saved_tensors[0].detach().numpy() * g.detach().numpy()).to(g.device)
    ),
)


def test_once_differentiable_gives_first_derivatives():
    x = leaf(1.0, 3.0)
    Square.apply(x).sum().backward()
    assert x.grad.tolist() == [2.0, 6.0]
    assert not x.grad.requires_grad


def test_once_differentiable_refuses_the_second_derivative_by_its_input():
    """The incoming gradient is a constant; only what was saved requires grad."""
    x = leaf(1.0, 3.0)
    (g,) = torch.autograd.grad(Square.apply(x).sum(), x, create_graph=True)
    assert g.requires_grad
    with pytest.raises(RuntimeError, match="differentiate twice a function that was marked with @once_differentiable"):
        torch.autograd.grad(g.sum(), x)
    with pytest.raises(RuntimeError, match="twice"):
        g.sum().backward()


def test_once_differentiable_refuses_the_derivative_by_the_incoming_gradient():
    x, w = leaf(1.0, 3.0), leaf(1.0, 1.0)
    (g,) = torch.autograd.grad(Square.apply(x), x, w, create_graph=True)
    with pytest.raises(RuntimeError, match="twice"):
        torch.autograd.grad(g.sum(), w)


def test_once_differentiable_in_a_sum_with_differentiable_terms_raises():
    x = leaf(2.0)
    (g,) = torch.autograd.grad((Square.apply(x) + x**3).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="twice"):
        torch.autograd.grad(g.sum(), x)


def test_once_differentiable_of_several_inputs_keeps_none():
    Mul = custom(
        "Mul",
        forward=lambda ctx, x, y, n: ctx.save_for_backward(x, y) or x * y * n,
        backward=once_differentiable(lambda ctx, g: (g * ctx.saved_tensors[1] * 2, None, None)),
    )
    x, y = leaf(2.0), torch.tensor([3.0])
    (g,) = torch.autograd.grad(Mul.apply(x, y, 2).sum(), x, create_graph=True)
    assert g.tolist() == [6.0]


def test_once_differentiable_of_a_nested_function():
    class Twice(NestedIOFunction):
        def forward_extended(self, pair):
            return [pair[0] * 2, pair[1] * 3]

        @once_differentiable
        def backward_extended(self, a, b):
            return ((a * 2, b * 3),)

    x, y, w = leaf(1.0), leaf(1.0), leaf(5.0)
    a, b = Twice.apply((x, y))
    gx, gy = torch.autograd.grad([a, b], [x, y], [w, torch.ones(1)], create_graph=True)
    assert (gx.tolist(), gy.tolist()) == ([10.0], [3.0])
    with pytest.raises(RuntimeError, match="twice"):
        gx.backward()
