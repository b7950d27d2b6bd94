"""Gathering, scattering and masks against loops in Python; in-place forms against the others."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad
from minigrad.autograd import grad

REDUCE = {"sum": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


@st.composite
def scattering(draw):
    """(x, dim, index, src), with repeated places and some zeros."""
    shape = tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)))
    d = draw(st.integers(0, len(shape) - 1))
    sizes = tuple(draw(st.integers(0, n + 2 * (e == d))) for e, n in enumerate(shape))
    random = np.random.default_rng(draw(st.integers(0, 99)))
    src = random.integers(-2, 3, sizes) * 0.5
    return random.integers(-2, 3, shape) * 0.5, d, random.integers(0, shape[d], sizes), src


def place(d, index, at):
    return (*at[:d], index[at], *at[d + 1 :])


@given(scattering())
def test_gather_and_scatters_are_loops(case):
    a, d, index, src = case
    x, i, s = minigrad.tensor(a), minigrad.tensor(index), minigrad.tensor(src)
    everywhere = list(itertools.product(*map(range, index.shape)))
    gathered = x.gather(d, i).numpy()
    assert all(gathered[at] == a[place(d, index, at)] for at in everywhere)
    for include, (name, ufunc) in itertools.product((True, False), REDUCE.items()):
        expected, first = a.copy(), set()
        for at in everywhere:
            p = place(d, index, at)
            expected[p] = src[at] if not include and p not in first else ufunc(expected[p], src[at])
            first.add(p)
        found = x.scatter_reduce(d, i, s, name, include_self=include)
        assert np.allclose(found.numpy(), expected), name
    expected = a.copy()
    for at in everywhere:
        expected[place(d, index, at)] += src[at]
    assert np.allclose(x.scatter_add(d, i, s).numpy(), expected)
    assert np.allclose(x.scatter(d, i, s, reduce="add").numpy(), expected)
    written = x.scatter(d, i, s).numpy()
    for at in everywhere:
        p = place(d, index, at)
        assert written[p] in [src[b] for b in everywhere if place(d, index, b) == p]


@given(scattering(), st.sampled_from(["sum", "mean", "prod"]), st.booleans())
def test_gradients_of_scatter_reduce_are_finite_differences_also_at_zeros(case, reduce, include):
    a, d, index, src = case
    i, g = minigrad.tensor(index), np.random.default_rng(1).standard_normal(a.shape)
    u, v = np.random.default_rng(2).standard_normal(a.shape), np.random.default_rng(3).standard_normal(src.shape)

    def f(a, src):
        return minigrad.tensor(a).scatter_reduce(d, i, minigrad.tensor(src), reduce, include_self=include)

    x, s = minigrad.tensor(a).requires_grad_(), minigrad.tensor(src).requires_grad_()
    gx, gs = grad(x.scatter_reduce(d, i, s, reduce, include_self=include), (x, s), minigrad.tensor(g))
    h = 1e-6
    numeric = ((f(a + h * u, src + h * v) - f(a - h * u, src - h * v)).numpy() * g).sum() / (2 * h)
    assert np.allclose((gx.numpy() * u).sum() + (gs.numpy() * v).sum(), numeric, 1e-6, 1e-5), reduce


PLACES = minigrad.tensor([[0, 1], [0, 0], [1, 0], [0, 1]])
PRODUCTS = {  # polynomials of a (4, 2) tensor of factors
    "scatter_reduce": lambda s: minigrad.tensor([[2.0, 3], [4, 5]]).scatter_reduce(0, PLACES, s, "prod"),
    "its other dimension": lambda s: minigrad.tensor([[2.0, 3], [4, 5]]).scatter_reduce(1, PLACES.mT, s.mT, "prod"),
    "a shorter index": lambda s: minigrad.tensor([[2.0, 3], [4, 5]]).scatter_reduce(0, PLACES[:3, :1], s, "prod"),
    "without self": lambda s: minigrad.ones(2, 2).scatter_reduce(0, PLACES, s, "prod", include_self=False),
    "in place": lambda s: minigrad.ones(2, 2).scatter_reduce_(0, PLACES, s, "prod"),
    "into factors": lambda s: s[:2].scatter_reduce(0, PLACES[:2], s[2:], "prod"),
    "index_reduce": lambda s: minigrad.ones(2, 2).index_reduce(0, minigrad.tensor([1, 0, 1, 1]), s, "prod"),
    "scatter": lambda s: minigrad.ones(2, 2).scatter(0, PLACES, s, reduce="multiply"),
    "prod": lambda s: s.prod(0),
    "cumprod": lambda s: s.cumprod(0),
}


def mixed_differences(f, x, order):
    """Return all derivatives of this order of a polynomial that is linear in each element: differences of steps of 1."""
    n, out = x.numel(), np.zeros((x.numel(),) * order)
    for at in itertools.permutations(range(n), order):
        for signs in itertools.product((1.0, -1.0), repeat=order):
            moved = x.flatten().clone()
            moved[list(at)] += minigrad.tensor(signs)
            out[at] += np.prod(signs) * float(f(moved.reshape(x.shape))) / 2**order
    return out.reshape(x.shape * order)


@pytest.mark.parametrize("zeros", [0, 2, 3, 5, 8])
@pytest.mark.parametrize("name", PRODUCTS)
def test_second_derivatives_of_products_are_right_at_any_number_of_zeros(name, zeros):
    random = np.random.default_rng(zeros)
    x = random.integers(1, 4, 8) * 0.5
    x[random.permutation(8)[:zeros]] = 0
    weights = np.resize([1.0, -2.0, 3.0, 0.5], PRODUCTS[name](minigrad.ones(4, 2)).shape)
    weights, x = minigrad.tensor(weights).float(), minigrad.tensor(x.reshape(4, 2)).float()
    f = lambda s: (PRODUCTS[name](s) * weights).sum()
    right = mixed_differences(f, x, 2)
    func = minigrad.func
    ways = {
        "hessian": func.hessian(f),
        "forward twice": func.jacfwd(func.jacfwd(f)),
        "reverse twice": lambda x: minigrad.autograd.functional.hessian(f, x),
        "vmap": (lambda x: func.vmap(func.hessian(f))(minigrad.stack([x, 2 * x, x + 1]))[0]) if name != "in place" else None,
    }  # fmt: skip
    for way, run in ways.items():
        assert run is None or np.allclose(run(x).numpy(), right), way


def test_third_derivatives_of_a_product_scattered_into_one_element():
    index = minigrad.tensor([0, 0, 1, 0])
    f = lambda s: minigrad.tensor([2.0, 3.0]).scatter_reduce(0, index, s, "prod").sum()
    x = minigrad.tensor([0.0, 0.0, 2.0, 0.0])
    assert np.allclose(
        minigrad.func.jacfwd(minigrad.func.jacrev(minigrad.func.jacrev(f)))(x).numpy(), mixed_differences(f, x, 3)
    )


def test_scatter_reduce_of_a_product_differentiates_infinite_factors():
    s = minigrad.tensor([float("inf"), 2.0, 3.0, 4.0], requires_grad=True)
    y = minigrad.ones(2).scatter_reduce(0, minigrad.tensor([0, 1, 0, 1]), s, "prod")
    assert grad(y.sum(), s)[0].tolist() == [3, 4, float("inf"), 2]


def test_scatter_reduce_of_a_product_differentiates_factors_that_underflow():
    s = minigrad.tensor([1e-200, 3e-200], dtype=minigrad.float64, requires_grad=True)
    y = minigrad.ones(1, dtype=minigrad.float64).scatter_reduce(0, minigrad.tensor([0, 0]), s, "prod")
    assert grad(y, s)[0].tolist() == [3e-200, 1e-200]


def test_equal_extremes_share_the_gradient():
    x, s = minigrad.tensor([1.0, 5.0]).requires_grad_(), minigrad.tensor([1.0, 1.0, 2.0]).requires_grad_()
    y = x.scatter_reduce(0, minigrad.tensor([0, 0, 1]), s, "amax")
    gx, gs = grad(y.sum(), (x, s))
    assert np.allclose(gx.numpy(), [1 / 3, 1]) and np.allclose(gs.numpy(), [1 / 3, 1 / 3, 0])


I = minigrad.tensor([2, 0])  # noqa: E741
FORMS = {
    "scatter_": lambda x, v: (0, minigrad.tensor([[0, 2, 1, 0]]), v[:1]),
    "scatter_add_": lambda x, v: (0, minigrad.tensor([[0, 2, 1, 0], [0, 2, 0, 0]]), v),
    "scatter_reduce_": lambda x, v: (0, minigrad.tensor([[0, 2, 1, 0]]), v[:1], "prod"),
    "index_add_": lambda x, v: (0, I, v),
    "index_copy_": lambda x, v: (0, I, v),
    "index_fill_": lambda x, v: (0, I, v[0, 0]),
    "index_put_": lambda x, v: ((I,), v),
    "masked_fill_": lambda x, v: (x.detach() > 0, v[0, 0]),
    "masked_scatter_": lambda x, v: (x.detach() > 0.5, v),
    "tril_": lambda x, v: (-1,),
    "triu_": lambda x, v: (1,),
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("view", [lambda y: y[:, :4], lambda y: y.t()[:4].t(), lambda y: y[:, ::2].flip(0)])
def test_an_in_place_form_has_the_results_and_gradients_of_the_plain_one(name, view):
    random = np.random.default_rng(0)
    a, b, g = random.standard_normal((3, 8)), random.standard_normal((2, 4)), random.standard_normal((3, 8))
    if name == "masked_scatter_":
        a -= 0.8
    results = []
    for inplace in (True, False):
        x, v = minigrad.tensor(a).requires_grad_(), minigrad.tensor(b).requires_grad_()
        y = x * 1
        part = view(y)
        args = FORMS[name](part, v)
        if inplace:
            assert getattr(part, name)(*args) is part
            result = part
        else:
            result = getattr(minigrad.Tensor, name[:-1])(part, *args)
        gx, gv = grad(result, (x, v), minigrad.tensor(g[:, :4]), allow_unused=True)
        results.append((result.detach().numpy(), gx.numpy(), np.zeros(0) if gv is None else gv.numpy()))
    assert all(np.allclose(p, q) for p, q in zip(*results))


@pytest.mark.parametrize("method, args", [("scatter_reduce_", ("prod",)), ("index_reduce_", ("prod",))])
def test_an_in_place_product_into_a_constant_has_the_gradients_of_the_plain_one(method, args):
    found, index = [], minigrad.tensor([0, 0, 1])
    for name in (method, method[:-1]):
        s = minigrad.tensor([2.0, 3.0, 4.0], requires_grad=True)
        y = getattr(minigrad.tensor([5.0, 7.0]), name)(0, index, s, *args)
        found.append(grad(y.sum(), s)[0].tolist())
    assert found[0] == found[1] == [15, 10, 7]


def test_an_in_place_form_in_a_vmap_inside_a_grad_keeps_what_it_saves():
    x = minigrad.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    found = [
        minigrad.func.grad(lambda x, f=f: minigrad.func.vmap(lambda row: f(row * 1))(x).sum())(x)
        for f in (lambda row: row.cumprod_(0), lambda row: row.cumprod(0))
    ]
    assert found[0].tolist() == found[1].tolist()


def test_a_write_to_a_few_elements_changes_no_others():
    x = minigrad.zeros(1000, 1000)
    other = x[500:]
    x[[0, 999], [0, 999]] = minigrad.tensor([1.0, 2.0])
    x.index_add_(0, minigrad.tensor([999, 999]), minigrad.ones(2, 1000))
    assert float(other.sum()) == 2002.0 and float(x.sum()) == 2003.0


@pytest.mark.parametrize("reduce, far", [("amin", np.inf), ("amax", -np.inf)])
def test_scatter_reduce_without_self_excludes_the_input_from_the_gradient(reduce, far):
    """With include_self=False an infinity of src stands at the extreme beside nothing."""
    x = minigrad.ones(3, dtype=minigrad.float64, requires_grad=True)
    src = minigrad.tensor([far, 1.0, far], dtype=minigrad.float64, requires_grad=True)
    out = x.scatter_reduce(0, minigrad.tensor([0, 0, 1]), src, reduce, include_self=False)
    of_x, of_src = grad(out.sum(), (x, src), create_graph=True)
    assert of_x.tolist() == [0, 0, 1] and of_src.tolist() == [0, 1, 1]


def test_the_tangent_of_an_extreme_is_that_of_its_element():
    index, src = minigrad.tensor([0, 0]), minigrad.tensor([1.0, 3.0])
    largest = lambda src: minigrad.zeros(2).scatter_reduce(0, index, src, "amax")
    assert minigrad.func.jvp(largest, (src,), (minigrad.tensor([np.inf, 2.0]),))[1].tolist() == [2, 0]
