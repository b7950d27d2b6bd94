"""Transforms of transforms: to depth three over every operation family, perturbations, closures, grad modes, dual numbers."""

import itertools

import pytest

import minigrad as torch
from minigrad.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap
from minigrad.ops.base.registry import TABLE
from tests.table import SMOOTH, determined, floats, run

F64 = {"dtype": torch.float64}
SIZE = 2


# Each takes a function of a list of tensors, linear combinations of which are its result, to the same kind of function.
def reverse(f):
    return lambda xs: list(grad(lambda xs: sum((o * o).sum() for o in f(xs)))(xs))


def forward(f):
    return lambda xs: list(jvp(lambda xs: f(xs), (xs,), ([x * 0 + 0.5 for x in xs],))[1])


def batch(f):
    """Return two examples that are nearly alike, so that each stays in the operation's domain; the mean is taken."""
    return lambda xs: [o.mean(0) for o in vmap(f)([torch.stack([x, x * 1.001]) for x in xs])]


def loop(f):
    """Return the expected result of `batch`."""
    return lambda xs: [(a + b) / 2 for a, b in zip(f(xs), f([x * 1.001 for x in xs]))]


def eager_reverse(f):
    """Return the expected result of `reverse`."""

    def g(xs):
        xs = [x if x.requires_grad else x.detach().requires_grad_() for x in xs]
        return eager_gradient(sum((o * o).sum() for o in f(xs)), xs)

    return g


def eager_forward(f):
    """Return the expected result of `forward`: the gradient of the pull-back."""

    def g(xs):
        xs = [x if x.requires_grad else x.detach().requires_grad_() for x in xs]
        outs = f(xs)
        us = [torch.zeros_like(o).requires_grad_() for o in outs]
        pulled = eager_gradient(sum((o * u).sum() for o, u in zip(outs, us)), xs)
        return eager_gradient(sum((p * 0.5).sum() for p in pulled), us)

    return g


def eager_gradient(total, xs):
    """Return the gradients of a number, zeros where there is none."""
    if not total.requires_grad:
        return [torch.zeros_like(x) for x in xs]
    return list(torch.autograd.grad(total, xs, create_graph=True, materialize_grads=True))


TRANSFORMS = {"grad": reverse, "jvp": forward, "vmap": batch}
EAGER = {"grad": eager_reverse, "jvp": eager_forward, "vmap": loop}


def once(names):
    """Return a few operations of each module, in full only by hand: the table's own tests go through all of them."""
    chosen = {}
    for name in names:
        if TABLE[name].vmap:
            chosen.setdefault(TABLE[name].module, []).append(name)
    return sorted(n for group in chosen.values() for n in group[:4])


@pytest.mark.parametrize("name", once(SMOOTH))
def test_compositions_over_operation_families(name):
    sample = TABLE[name].samples[0]
    leaves = run(name, sample)[1]
    if not leaves or not any(o.requires_grad for o in floats(run(name, sample, leaves=tracked(leaves))[0])):
        pytest.skip("has no derivative here")
    f = lambda xs: determined(name, floats(run(name, sample, leaves=list(xs))[0]))
    for outer, inner in itertools.product(TRANSFORMS, TRANSFORMS):
        found = TRANSFORMS[outer](TRANSFORMS[inner](f))(leaves)
        wanted = EAGER[outer](EAGER[inner](f))(leaves)
        for a, b in zip(found, wanted, strict=True):
            assert torch.allclose(a.detach(), b.detach(), 1e-7, 1e-7, equal_nan=True), f"{outer} of {inner}"


def tracked(leaves):
    return [leaf.detach().clone().requires_grad_() for leaf in leaves]


@pytest.mark.parametrize("names", list(itertools.product(TRANSFORMS, repeat=3)), ids=" of ".join)
def test_depth_three(names):
    w = torch.tensor([[0.5, -0.25], [0.125, 1.0]], **F64)

    def f(xs):
        (x,) = xs
        y = (w @ x).tanh()
        z = y.clone()
        z[0] = y[1] * x[0]  # views and writes at each level
        z[1:].mul_(y[:1])
        return [z + torch.softmax(x, 0).cumsum(0)]

    found = wanted = f
    for name in reversed(names):
        found, wanted = TRANSFORMS[name](found), EAGER[name](wanted)
    x = torch.tensor([0.3, -0.8], **F64)
    assert torch.allclose(found([x])[0], wanted([x])[0].detach(), 1e-9, 1e-9)


def test_depth_six():
    f = lambda x: (x**7).sum()
    g = grad(
        lambda x: vmap(lambda x: jvp(lambda x: grad(lambda x: jacfwd(jacrev(f))(x[None]).sum())(x), (x,), (x,))[1])(
            x
        ).sum()
    )
    x = torch.tensor([1.0, 1.1], **F64)  # f'' = 42 x^5, its gradient 210 x^4, jvp by x: 840 x^4, gradient 3360 x^3
    assert torch.allclose(g(x), 3360 * x**3)


# ---------------------------------------------------------------------- perturbation confusion
def derivative(f):
    return lambda x: jvp(f, (x,), (torch.ones((), **F64),))[1]


@pytest.mark.parametrize("outer", [grad, derivative])
@pytest.mark.parametrize("inner", [grad, derivative])
def test_perturbation_confusion(outer, inner):
    """Siskind and Pearlmutter, "Nesting forward-mode AD in a functional framework", 2008."""
    one = torch.tensor(1.0, **F64)
    assert outer(lambda x: x * inner(lambda y: x + y)(one))(one).item() == 1.0
    assert outer(lambda x: x * inner(lambda y: x * y)(torch.tensor(2.0, **F64)))(one).item() == 2.0
    assert outer(lambda x: inner(lambda y: x * x * y * y)(x))(torch.tensor(3.0, **F64)).item() == 6 * 9.0


@pytest.mark.parametrize("outer", [grad, derivative])
def test_perturbation_confusion_through_a_returned_function(outer):
    """Manzyuk, Pearlmutter, Radul, Rush, Siskind, "Perturbation confusion in forward automatic differentiation", 2019."""
    shifted = lambda u: lambda f: lambda x: f(x + u)  # d/du of it at 0 is the derivative operator
    at = torch.tensor(0.5, **F64)
    d = lambda f: lambda x: outer(lambda u: shifted(u)(f)(x))(torch.tensor(0.0, **F64))
    assert d(torch.exp)(at).item() == pytest.approx(at.exp().item())
    assert d(d(torch.sin))(at).item() == pytest.approx(-at.sin().item())


# ---------------------------------------------------------------------- closures at every level
def test_closures_capture_every_level():
    eager = torch.tensor(2.0, **F64, requires_grad=True)

    def f(a):
        def g(b):
            def h(c):
                return a * b**2 * c**3 * eager

            return grad(h)(b) * jvp(h, (a,), (b,))[1]  # (3 a b^4 e) (3 a^3 b^3 e)

        return grad(g)(a)  # d/db of 9 a^4 b^7 e^2 at b = a

    value = f(torch.tensor(1.5, **F64))
    assert value.item() == pytest.approx(63 * 1.5**10 * 4)
    assert torch.autograd.grad(value, eager)[0].item() == pytest.approx(126 * 1.5**10 * 2)
    assert grad(f)(torch.tensor(1.5, **F64)).item() == pytest.approx(630 * 1.5**9 * 4)


def test_inner_transforms_capture_batched_tensors():
    w, x = torch.tensor([1.0, 2.0, 3.0], **F64), torch.tensor(0.5, **F64)
    found = vmap(lambda w: grad(lambda x: jvp(lambda y: w * x * y**2, (x,), (w,))[1])(x))(w)  # d/dx of 2 w^2 x^2
    assert torch.allclose(found, 4 * w * w * x)


def test_eager_gradients_through_each_transform():
    w = torch.tensor([0.5, 2.0], **F64, requires_grad=True)
    x = torch.tensor([1.0, 3.0], **F64)
    f = lambda x: (w * x**2).sum()
    for value, wanted in [
        (grad(f)(x).sum(), 2 * x),
        (vjp(f, x)[1](torch.tensor(1.0, **F64))[0].sum(), 2 * x),
        (jvp(f, (x,), (x,))[1], 2 * x * x),
        (vmap(lambda w, x: w * x**2)(w, x).sum(), x * x),
        (jacrev(lambda x: w * x)(x).sum(), torch.ones(2, **F64)),
        (jacfwd(lambda x: w * x)(x).sum(), torch.ones(2, **F64)),
        (hessian(f)(x).sum(), torch.full((2,), 2.0, **F64)),
        (linearize(f, x)[1](x), 2 * x * x),
        (linearize(f, x)[0], x * x),
    ]:
        assert torch.allclose(torch.autograd.grad(value, w)[0], wanted)


def test_eager_gradients_by_the_arguments():
    x = torch.tensor([1.0, 3.0], **F64, requires_grad=True)
    for g in (
        grad(lambda x: (x**3).sum())(x),
        vmap(grad(lambda x: x**3))(x),
        jvp(lambda x: x**3, (x,), (torch.ones(2, **F64),))[1],
    ):
        assert torch.allclose(torch.autograd.grad(g.sum(), x)[0], 6 * x)


def test_dual_numbers_around_transforms():
    fw = torch.autograd.forward_ad
    x, v = torch.tensor([1.0, 3.0], **F64), torch.tensor([1.0, 10.0], **F64)
    with fw.dual_level():
        d = fw.make_dual(x, v)
        for value, wanted in [
            (grad(lambda x: (x**3).sum())(d), 6 * x * v),
            (vmap(lambda x: x**3)(d), 3 * x**2 * v),
            (jvp(lambda x: x**3, (d,), (torch.ones(2, **F64),))[1], 6 * x * v),
            (grad(lambda y: (y * d).sum())(x), v),
        ]:
            assert torch.allclose(fw.unpack_dual(value).tangent, wanted)


# ---------------------------------------------------------------------- no_grad and friends
def test_no_grad_inside_stops_every_enclosing_gradient_but_no_tangent():
    def f(x):
        with torch.no_grad():
            c = x**2
        return x**2 - c

    x = torch.tensor(3.0)
    assert grad(f)(x).item() == 6.0
    assert jvp(f, (x,), (x,))[1].item() == linearize(f, x)[1](x).item() == 0.0
    assert grad(lambda x: grad(lambda y: f(y) * f(x))(x))(x).item() == 0.0 + 6.0 * 6.0 + 0.0 * 2


def test_no_grad_outside_a_transform_has_no_effect_inside():
    with torch.no_grad():
        assert grad(lambda x: x**2)(torch.tensor(3.0)).item() == 6.0
        assert grad(grad(lambda x: x**3))(torch.tensor(3.0)).item() == 18.0
        w = torch.tensor(1.0, requires_grad=True)
        assert not grad(lambda x: x * w)(torch.tensor(3.0)).requires_grad


def test_no_grad_around_an_inner_transform():
    def f(x):
        with torch.no_grad():
            g = grad(lambda y: y**3)(x)
        return g * x

    assert grad(f)(torch.tensor(3.0)).item() == 27.0


def test_a_leaking_set_grad_enabled_ends_with_the_transform():
    def f(x):
        torch.set_grad_enabled(False)
        return x**2

    with pytest.warns(torch.MinigradWarning, match="no_grad"):
        assert grad(f)(torch.tensor(3.0)).item() == 0.0
    assert torch.is_grad_enabled()


def test_inference_mode_outside():
    with torch.inference_mode():
        assert grad(lambda x: (x**2).sum())(torch.ones(2)).tolist() == [2.0, 2.0]
        assert jvp(lambda x: x**2, (torch.ones(2),), (torch.ones(2),))[1].tolist() == [2.0, 2.0]


def test_autograd_grad_inside_func_grad():
    f = lambda x: torch.autograd.grad((x**3).sum(), x, create_graph=True)[0].sum()
    assert grad(f)(torch.tensor([2.0])).tolist() == [12.0]
