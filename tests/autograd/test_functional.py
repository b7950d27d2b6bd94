"""autograd.functional in closed forms: nesting, strict, create_graph, strategies and refusals."""

import pytest

import minigrad
from minigrad.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp

X, Y = minigrad.tensor([1.0, 2.0]), minigrad.tensor([3.0])


def two(x, y):
    """(x*x*y, sum(x) + y)"""
    return x * x * y, x.sum() + y


def test_vjp_nests_like_outputs_and_inputs():
    outs, (gx, gy) = vjp(two, (X, Y), (minigrad.ones(2), minigrad.tensor([10.0])))
    assert [o.tolist() for o in outs] == [[3.0, 12.0], [6.0]]
    assert (gx.tolist(), gy.tolist()) == ([16.0, 22.0], [15.0])


def test_jvp_nests_like_inputs_and_outputs():
    outs, tangents = jvp(two, (X, Y), (minigrad.tensor([1.0, 0.0]), minigrad.tensor([1.0])))
    assert [t.tolist() for t in tangents] == [[7.0, 4.0], [2.0]]
    assert not any(t.requires_grad for t in (*outs, *tangents))


@pytest.mark.parametrize(
    "options",
    [{}, {"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}, {"create_graph": True}],
    ids=str,
)
def test_jacobian_has_the_same_value_for_every_option(options):
    (a, b), (c, d) = jacobian(two, (X, Y), **options)
    assert a.tolist() == [[6.0, 0.0], [0.0, 12.0]]
    assert b.tolist() == [[1.0], [4.0]]
    assert (c.tolist(), d.tolist()) == ([[1.0, 1.0]], [[1.0]])


@pytest.mark.parametrize("options", [{}, {"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}], ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (1, 3)])
def test_jacobian_of_odd_shapes(shape, options):
    x = minigrad.rand(shape)
    assert jacobian(lambda t: t * 2, x, **options).shape == (*shape, *shape)
    assert jacobian(lambda t: (t * 2).sum(), x, **options).shape == shape
    assert jacobian(lambda t: minigrad.ones(2, 3), x, **options).shape == (2, 3, *shape)


@pytest.mark.parametrize(
    "options",
    [{}, {"vectorize": True}, {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}, {"create_graph": True}],
    ids=str,
)
def test_hessian_has_the_same_value_for_every_option(options):
    f = lambda x, y: (x**3).sum() * y
    (a, b), (c, d) = hessian(f, (X, Y), **options)
    assert a.tolist() == [[18.0, 0.0], [0.0, 36.0]]
    assert (b.tolist(), c.tolist(), d.tolist()) == ([[3.0], [12.0]], [[3.0, 12.0]], [[0.0]])
    assert hessian(lambda x: (x**3).sum(), X, **options).tolist() == [[6.0, 0.0], [0.0, 12.0]]


@pytest.mark.parametrize("product", [vhp, hvp])
def test_hessian_products(product):
    f = lambda x, y: (x**3).sum() * y
    value, (px, py) = product(f, (X, Y), (minigrad.ones(2), minigrad.ones(1)))
    assert (value.tolist(), px.tolist(), py.tolist()) == ([27.0], [21.0, 48.0], [15.0])
    assert product(lambda x: x[0] ** 2, Y, minigrad.ones(1))[1].tolist() == [2.0]


@pytest.mark.parametrize("f", [vjp, jvp, jacobian, hessian, hvp, vhp])
def test_create_graph_gives_differentiable_results(f):
    x = minigrad.tensor([2.0], requires_grad=True)
    out = f(lambda t: (t**4).sum(), x, create_graph=True)
    found = out[1] if isinstance(out, tuple) else out
    (g,) = minigrad.autograd.grad(found.sum(), x)
    assert g.tolist() == [48.0] if f in (vjp, jvp, jacobian) else [96.0]
    plain = f(lambda t: (t**4).sum(), x)
    assert not (plain[1] if isinstance(plain, tuple) else plain).requires_grad


@pytest.mark.parametrize("f", [vjp, jvp, jacobian, hessian, hvp, vhp])
def test_strict_refuses_independence(f):
    x = minigrad.ones(1)
    constant = lambda t: minigrad.ones(1)
    with pytest.raises(RuntimeError, match="strict"):
        f(constant, x, strict=True)
    found = f(constant, x)
    assert (found[1] if isinstance(found, tuple) else found).reshape(-1).tolist() == [0.0]


def test_strict_refuses_a_constant_derivative():
    for f in (lambda *a, **k: jacobian(*a, create_graph=True, **k), hessian, hvp, vhp):
        with pytest.raises(RuntimeError, match="strict"):
            f(lambda t: 2 * t.sum(), minigrad.ones(1), strict=True)


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda: vjp(lambda t: t * 2, X), RuntimeError),
        (lambda: jvp(lambda t: t.sum(), X), RuntimeError),
        (lambda: vjp(lambda t: t * 2, X, minigrad.ones(3)), RuntimeError),
        (lambda: vjp(lambda t: t * 2, X, (minigrad.ones(2),) * 2), RuntimeError),
        (lambda: jacobian(lambda t: 3.0, X), TypeError),
        (lambda: jacobian(lambda t: t, [X]), TypeError),
        (lambda: jacobian(lambda t: t, X, strategy="forward-mode"), NotImplementedError),
        (lambda: jacobian(lambda t: t, X, strategy="sideways"), AssertionError),
        (lambda: jacobian(lambda t: t, X, strict=True, vectorize=True), RuntimeError),
        (lambda: hessian(lambda t: t, X), RuntimeError),
        (lambda: hessian(lambda t: (t.sum(), t.sum()), X), RuntimeError),
        (lambda: hvp(lambda t: t, X, X), RuntimeError),
        (lambda: vhp(lambda t: t.sum(), X), RuntimeError),
    ],
)
def test_refusals(call, kind):
    with pytest.raises(kind):
        call()


def test_works_under_no_grad_and_does_not_change_inputs():
    x = minigrad.ones(2, requires_grad=True)
    with minigrad.no_grad():
        assert jacobian(lambda t: t * t, x).tolist() == [[2.0, 0.0], [0.0, 2.0]]
        assert vjp(lambda t: (t * t).sum(), x)[1].tolist() == [2.0, 2.0]
    assert x.grad is None
