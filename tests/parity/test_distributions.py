"""Distributions against torch.distributions: values, shapes, gradients, divergences."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import minigrad
from minigrad import distributions as D

T = torch.distributions

# name -> (parameters with ranges, values): a range (low, high), "simplex", "matrix", "integers" or a vector "real"
POSITIVE, REAL, UNIT = (0.3, 3.0), (-2.0, 2.0), (0.05, 0.95)
ONE_DIM = {
    "Normal": ({"loc": REAL, "scale": POSITIVE}, REAL),
    "Laplace": ({"loc": REAL, "scale": POSITIVE}, REAL),
    "Gumbel": ({"loc": REAL, "scale": POSITIVE}, REAL),
    "Uniform": ({"low": (-3.0, -2.5), "high": (2.5, 3.0)}, REAL),
    "Exponential": ({"rate": POSITIVE}, POSITIVE),
    "Gamma": ({"concentration": POSITIVE, "rate": POSITIVE}, POSITIVE),
    "Beta": ({"concentration1": (1.1, 3.0), "concentration0": (1.1, 3.0)}, UNIT),
    "Bernoulli": ({"probs": UNIT}, "01"),
    "ContinuousBernoulli": ({"probs": UNIT}, UNIT),
}
MOMENTS = "mean variance stddev mode entropy".split()


def numbers(seed, kind, shape):
    """Return an array of a row of the table."""
    r = np.random.default_rng(seed)
    if kind == "01":
        return r.integers(0, 2, shape).astype(np.float64)
    return r.uniform(*kind, shape)


def both(name, parameters, **more):
    """Return the two distributions, and their tracked parameters."""
    ours = {k: minigrad.tensor(v, requires_grad=True) for k, v in parameters.items()}
    theirs = {k: torch.tensor(v, requires_grad=True) for k, v in parameters.items()}
    return getattr(D, name)(**ours, **more), getattr(T, name)(**theirs, **more), ours, theirs


def same(ours, theirs, tolerance=1e-8):
    assert tuple(ours.shape) == tuple(theirs.shape)
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=tolerance, atol=tolerance)


def same_gradients(a, b, ours, theirs, tolerance=1e-6):
    """Check that the gradients of sums by all parameters are the same; where PyTorch has none, ours is zero or none."""
    if not b.requires_grad:
        return
    a.sum().backward()
    b.sum().backward()
    for k in ours:
        if theirs[k].grad is not None:
            got = ours[k].grad if ours[k].grad is not None else minigrad.zeros_like(ours[k])
            got, want = got.numpy(), theirs[k].grad.numpy()
            if k in ("covariance_matrix", "precision_matrix"):  # either triangle may have a part of the gradient
                got, want = (g + g.transpose(0, 2, 1) for g in (got, want))
            if k == "scale_tril":  # what is above the diagonal is no parameter
                got, want = np.tril(got), np.tril(want)
            np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance, err_msg=k)


@pytest.mark.parametrize("what", ["log_prob", "cdf", "icdf", *MOMENTS])
@pytest.mark.parametrize("name", ONE_DIM)
def test_formulas_and_gradients_are_pytorchs(name, what):
    table, values = ONE_DIM[name]
    given = {k: numbers(i, v, (4, 1) if i else (3,)) for i, (k, v) in enumerate(table.items())}
    p, q, ours, theirs = both(name, given)
    assert p.batch_shape == tuple(q.batch_shape) and p.event_shape == tuple(q.event_shape)
    x = numbers(9, UNIT if what == "icdf" else values, (2, 4, 3))
    try:
        b = getattr(q, what)
        b = b(torch.tensor(x)) if what in ("log_prob", "cdf", "icdf") else b() if callable(b) else b
    except NotImplementedError:
        pytest.skip("PyTorch has none")
    a = getattr(p, what)
    a = a(minigrad.tensor(x)) if what in ("log_prob", "cdf", "icdf") else a() if callable(a) else a
    same(a, b)
    if what != "mode" and (what, name) != ("cdf", "Gamma"):  # PyTorch has no derivative by the concentration
        same_gradients(a, b, ours, theirs)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(sorted(ONE_DIM)), st.data())
def test_shapes_broadcast_as_in_pytorch(name, data):
    table, values = ONE_DIM[name]
    full = data.draw(st.lists(st.integers(1, 3), max_size=3))
    shapes = [
        [1 if data.draw(st.booleans()) else m for m in full[data.draw(st.integers(0, len(full))) :]] for _ in table
    ]
    given_ = {k: numbers(i, v, tuple(s)) for i, ((k, v), s) in enumerate(zip(table.items(), shapes))}
    p, q, *_ = both(name, given_)
    assert p.batch_shape == tuple(q.batch_shape)
    sample_shape = tuple(data.draw(st.lists(st.integers(0, 3), max_size=2)))
    assert p.sample(sample_shape).shape == tuple(q.sample(sample_shape).shape)
    x = numbers(7, values, tuple(p.batch_shape))
    same(p.log_prob(minigrad.tensor(x)), q.log_prob(torch.tensor(x)))
    wider = (2, *p.batch_shape)
    same(p.expand(wider).log_prob(minigrad.tensor(x)), q.expand(wider).log_prob(torch.tensor(x)))
    assert p.expand(wider).sample(sample_shape).shape == tuple(q.expand(wider).sample(sample_shape).shape)


# ---------------------------------------------------------------------- divergences
def constant(name):
    """Return parameters of two distributions of a family, p's and q's."""
    if name in ONE_DIM:
        table = ONE_DIM[name][0]
        return [{k: numbers(10 * j + i, v, (3,)) for i, (k, v) in enumerate(table.items())} for j in (0, 1)]
    r = np.random.default_rng(5)
    if "Categorical" in name:
        return [{"probs": r.dirichlet(np.ones(3), 2)} for _ in range(2)]
    if name == "Dirichlet":
        return [{"concentration": r.uniform(0.3, 3, (2, 3))} for _ in range(2)]
    if name == "MultivariateNormal":
        return [
            {"loc": r.normal(size=(2, 3)), "scale_tril": np.tril(r.normal(size=(2, 3, 3)), -1) + np.eye(3)}
            for _ in range(2)
        ]
    raise ValueError(name)


@pytest.mark.parametrize("name", [*ONE_DIM, "Categorical", "OneHotCategorical", "Dirichlet", "MultivariateNormal"])
def test_divergences_are_pytorchs(name):
    for first, second in (constant(name), constant(name)[::-1]):
        p, r, ours, theirs = both(name, first)
        q, s, *_ = both(name, second)
        mine, other = D.kl_divergence(p, q), T.kl_divergence(r, s)
        same(mine, other, 1e-7)
        if torch.isfinite(other).all():
            same_gradients(mine, other, ours, theirs)


# ---------------------------------------------------------------------- vectors
R = np.random.default_rng(2)
WEIGHTS, LOGITS, LOC, ANY = (
    R.uniform(0.1, 1, (2, 3)),
    R.normal(size=(2, 3)),
    R.normal(size=(4, 1, 3)),
    R.normal(size=(2, 3, 3)),
)
SYMMETRIC = ANY @ ANY.transpose(0, 2, 1) + np.eye(3)
MATRICES = "covariance_matrix precision_matrix scale_tril".split()
CLASSES = [{"probs": WEIGHTS}, {"logits": LOGITS}]
VECTORS = {  # name -> settings that are no tensors, attributes beside mean and variance, and the parameters in each form
    "Categorical": ({}, ["mode", "probs", "logits"], CLASSES),
    "OneHotCategorical": ({}, ["mode", "probs", "logits"], CLASSES),
    "OneHotCategoricalStraightThrough": ({}, ["mode", "probs", "logits"], CLASSES),
    "Multinomial": ({"total_count": 6}, ["probs", "logits"], CLASSES),
    "Dirichlet": ({}, ["mode"], [{"concentration": R.uniform(1.1, 3, (2, 3))}]),
    "MultivariateNormal": ({}, ["mode", *MATRICES], [
        {"loc": LOC, "covariance_matrix": SYMMETRIC},
        {"loc": LOC, "precision_matrix": SYMMETRIC},
        {"loc": LOC, "scale_tril": np.tril(ANY, -1) + np.eye(3) * 1.5},
    ]),
}  # fmt: skip
FORMS = [(name, list(form)[-1], form) for name, (_, _, forms) in VECTORS.items() for form in forms]


@pytest.mark.parametrize("name, form", [(n, f) for n, _, f in FORMS], ids=[f"{n} by {k}" for n, k, _ in FORMS])
def test_distributions_of_classes_and_vectors_are_pytorchs(name, form):
    settings, attributes, _ = VECTORS[name]
    p, q, ours, theirs = both(name, form, **settings)
    for what in ("mean", "variance", *attributes):
        same(getattr(p, what), getattr(q, what).expand(getattr(p, what).shape))
    same(p.entropy(), q.entropy(), 1e-6)  # PyTorch's lgamma(n + 1) is in float32
    x = q.sample((5,))
    a, b = p.log_prob(minigrad.tensor(x.numpy())), q.log_prob(x)
    same(a, b)
    same_gradients(a, b, ours, theirs)
    wider = (3, *p.batch_shape)
    for d, e in [(p, q), (p.expand(wider), q.expand(wider))]:
        assert (d.batch_shape, d.event_shape) == (tuple(e.batch_shape), tuple(e.event_shape))
        assert d.has_rsample == e.has_rsample
        drawn, drawn_there = d.sample((5,)), e.sample((5,))
        assert drawn.shape == tuple(drawn_there.shape) and str(drawn.dtype)[9:] == str(drawn_there.dtype)[6:]
        assert e.support.check(torch.tensor(drawn.numpy())).all()
        same(d.log_prob(minigrad.tensor(drawn_there.numpy())), e.log_prob(drawn_there))


def test_counts_of_impossible_classes_are_pytorchs():
    p, q = (lib.distributions.Multinomial(2, logits=lib.tensor([0.0, -np.inf])) for lib in (minigrad, torch))
    for x in ([2.0, 0.0], [1.0, 1.0]):
        same(p.log_prob(minigrad.tensor(x)), q.log_prob(torch.tensor(x)))


def test_a_straight_through_draw_has_the_gradients_of_pytorch():
    values, weights = [[0.2, 0.3, 0.5]], np.arange(3.0)
    ours, theirs = (lib.tensor(values, requires_grad=True) for lib in (minigrad, torch))
    for lib, p in ((minigrad, ours), (torch, theirs)):
        draw = lib.distributions.OneHotCategoricalStraightThrough(probs=p).rsample((4,))
        (draw * lib.tensor(weights)).sum().backward()
    same(ours.grad, theirs.grad, 1e-6)


def test_the_divergence_of_a_class_and_a_vector_has_no_formula():
    weights = minigrad.ones(2)
    for pair in [(D.Categorical, D.OneHotCategorical), (D.OneHotCategorical, D.Categorical)]:
        with pytest.raises(NotImplementedError, match="no formula for"):
            D.kl_divergence(pair[0](weights), pair[1](weights))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["Bernoulli", "ContinuousBernoulli", "Categorical"])
def test_probabilities_of_0_and_1_have_the_logits_of_pytorch(name, dtype):
    values = [[0.0, 0.25, 0.75], [1.0, 0.0, 0.0]]
    p, q = (
        getattr(lib.distributions, name)(lib.tensor(values, dtype=getattr(lib, dtype))) for lib in (minigrad, torch)
    )
    same(p.logits, q.logits, 1e-6)
    same(p.entropy(), q.entropy(), 1e-6)


# ---------------------------------------------------------------------- made of others
def test_independent_mixture_and_transformed_are_pytorchs():
    loc, w = np.random.default_rng(6).normal(size=(4, 3, 2)), np.random.default_rng(7).uniform(0.1, 1, (4, 3))
    x = np.random.default_rng(8).normal(size=(5, 4, 2))

    def made(lib, tensor):
        parts = lib.Independent(lib.Normal(tensor(loc), tensor(1.5)), 1)
        mixture = lib.MixtureSameFamily(lib.Categorical(tensor(w)), parts)
        moved = lib.TransformedDistribution(
            lib.Independent(lib.Normal(tensor(loc[:, 0]), tensor(1.5)), 1),
            [lib.AffineTransform(1.0, -2.0), lib.TanhTransform()],
        )
        log_odds = lib.TransformedDistribution(lib.Uniform(tensor(0.0), tensor(1.0)), [lib.SigmoidTransform().inv])
        wide = lib.TransformedDistribution(log_odds, [lib.AffineTransform(tensor(loc[0]), 2.0), lib.ExpTransform()])
        return parts, mixture, moved, log_odds, wide

    for p, q in zip(made(D, minigrad.tensor), made(T, torch.tensor)):
        assert (p.batch_shape, p.event_shape) == (tuple(q.batch_shape), tuple(q.event_shape))
        assert p.sample((2,)).shape == tuple(q.sample((2,)).shape)
        assert p.has_rsample == q.has_rsample
        at = q.sample((5,)).numpy()
        same(p.log_prob(minigrad.tensor(at)), q.log_prob(torch.tensor(at)), 1e-6)
        if isinstance(p, D.MixtureSameFamily):
            continue
        wider = (2, *p.batch_shape)
        same(
            p.expand(wider).log_prob(minigrad.tensor(at[:2, None])),
            q.expand(wider).log_prob(torch.tensor(at[:2, None])),
            1e-6,
        )
    p, q = made(D, minigrad.tensor)[1], made(T, torch.tensor)[1]
    same(p.mean, q.mean)
    same(p.variance, q.variance)
    same(p.log_prob(minigrad.tensor(x)), q.log_prob(torch.tensor(x)), 1e-6)
    u = numbers(3, UNIT, (5, 3, 2))
    p, q = made(D, minigrad.tensor)[-1], made(T, torch.tensor)[-1]
    same(p.icdf(minigrad.tensor(u)), q.icdf(torch.tensor(u)), 1e-6)
    same(p.cdf(minigrad.tensor(np.exp(u))), q.cdf(torch.tensor(np.exp(u))), 1e-6)


TRANSFORMS = {
    "affine": lambda lib: lib.distributions.AffineTransform(lib.tensor([1.0, -2.0, 0.5]), -3.0),
    "exp": lambda lib: lib.distributions.ExpTransform(),
    "sigmoid": lambda lib: lib.distributions.SigmoidTransform(),
    "tanh": lambda lib: lib.distributions.TanhTransform(cache_size=1),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_are_pytorchs(name):
    x = np.random.default_rng(1).normal(size=(2, 3)).astype(np.float32)
    t, u = (TRANSFORMS[name](lib) for lib in (minigrad, torch))
    assert t == TRANSFORMS[name](minigrad) and t != D.Transform() and str(t) == str(u)
    a, b = t(minigrad.tensor(x)), u(torch.tensor(x))
    same(a, b, 1e-6)
    assert t.codomain.check(a).all() and t.inv.domain is t.codomain and t.sign == u.sign
    same(t.inv(a), u.inv(b), 1e-5)
    same(t.log_abs_det_jacobian(minigrad.tensor(x), a), u.log_abs_det_jacobian(torch.tensor(x), b), 1e-5)
    same(t.inv.log_abs_det_jacobian(a, minigrad.tensor(x)), u.inv.log_abs_det_jacobian(b, torch.tensor(x)), 1e-5)


@pytest.mark.parametrize("name, x", [
    ("simplex", [[0.2, 0.8], [0.5, 0.6]]), ("positive_definite", [[[2.0, 1.0], [1.0, 2.0]], [[1.0, 2.0], [2.0, 1.0]]]),
    ("lower_cholesky", [[[1.0, 0.0], [2.0, 1.0]], [[1.0, 1.0], [2.0, 1.0]]]), ("boolean", [0.0, 1.0, 0.5]),
    ("unit_interval", [0.0, 1.0, 1.1]),
    ("real", [1.0, float("nan"), float("inf")]), ("positive", [0.0, 1.0]), ("nonnegative", [0.0, -1.0]),
    ("real_vector", [[1.0, float("nan")], [1.0, 2.0]]),
    ("integer_interval(0, 2)", [0.0, 2.0, 1.5, -1.0, 3.0]), ("greater_than(1.5)", [1.5, 2.0]),
    ("interval(-1.0, 2.0)", [-1.0, 2.0, 2.5]), ("independent(c.boolean, 1)", [[0.0, 1.0], [0.0, 2.0]]),
])  # fmt: skip
def test_constraints_are_pytorchs(name, x):
    ours, theirs = (eval(f"c.{name}", {"c": lib.constraints}) for lib in (D, T))
    assert ours.check(minigrad.tensor(x)).tolist() == theirs.check(torch.tensor(x)).tolist()
    assert (ours.event_dim, ours.is_discrete) == (theirs.event_dim, theirs.is_discrete)


@pytest.mark.parametrize("expand", [True, False])
@pytest.mark.parametrize("batch", [(), (2, 4)])
@pytest.mark.parametrize("name", ["Bernoulli", "Categorical", "OneHotCategorical"])
def test_all_values_are_listed(name, batch, expand):
    p, q, *_ = both(name, {"probs": numbers(0, UNIT, batch if name == "Bernoulli" else (*batch, 3))})
    a, b = p.enumerate_support(expand), q.enumerate_support(expand)
    assert p.has_enumerate_support and str(a.dtype).rpartition(".")[2] == str(b.dtype).rpartition(".")[2]
    same(a, b)
    same(p.log_prob(a), q.log_prob(b))
    same(p.perplexity(), q.perplexity())


def test_values_without_a_list():
    for name in ("Normal", "Laplace"):
        d = getattr(D, name)(0.0, 1.0)
        assert not d.has_enumerate_support
        with pytest.raises(NotImplementedError, match=f"{name}: has no enumerate_support"):
            d.enumerate_support()
