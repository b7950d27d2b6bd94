"""Distributions against torch.distributions: values, shapes, gradients, divergences."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minigrad
from minigrad import distributions as D

torch = pytest.importorskip("torch")
T = torch.distributions

# name -> (parameters with ranges, values): a range (low, high), "simplex", "matrix", "integers" or a vector "real"
POSITIVE, REAL, UNIT = (0.3, 3.0), (-2.0, 2.0), (0.05, 0.95)
ONE_DIM = {
    "Normal": ({"loc": REAL, "scale": POSITIVE}, REAL),
    "Laplace": ({"loc": REAL, "scale": POSITIVE}, REAL),
    "Cauchy": ({"loc": REAL, "scale": POSITIVE}, REAL),
    "Gumbel": ({"loc": REAL, "scale": POSITIVE}, REAL),
    "LogNormal": ({"loc": REAL, "scale": POSITIVE}, POSITIVE),
    "Uniform": ({"low": (-3.0, -2.5), "high": (2.5, 3.0)}, REAL),
    "Exponential": ({"rate": POSITIVE}, POSITIVE),
    "Gamma": ({"concentration": POSITIVE, "rate": POSITIVE}, POSITIVE),
    "Chi2": ({"df": POSITIVE}, POSITIVE),
    "Weibull": ({"scale": POSITIVE, "concentration": (1.1, 3.0)}, POSITIVE),
    "Pareto": ({"scale": (0.1, 0.4), "alpha": (2.1, 4.0)}, (0.5, 3.0)),
    "HalfNormal": ({"scale": POSITIVE}, POSITIVE),
    "HalfCauchy": ({"scale": POSITIVE}, POSITIVE),
    "StudentT": ({"df": (2.1, 6.0), "loc": REAL, "scale": POSITIVE}, REAL),
    "Beta": ({"concentration1": (1.1, 3.0), "concentration0": (1.1, 3.0)}, UNIT),
    "Kumaraswamy": ({"concentration1": (1.1, 3.0), "concentration0": (1.1, 3.0)}, UNIT),
    "Bernoulli": ({"probs": UNIT}, "01"),
    "Geometric": ({"probs": UNIT}, "counts"),
    "Poisson": ({"rate": POSITIVE}, "counts"),
}
MOMENTS = "mean variance stddev mode entropy perplexity".split()
WRONG = {("Kumaraswamy", "mode")}  # PyTorch takes the logarithm of a negative number


def numbers(seed, kind, shape):
    """Return an array of a row of the table."""
    r = np.random.default_rng(seed)
    if kind == "01":
        return r.integers(0, 2, shape).astype(np.float64)
    if kind == "counts":
        return r.integers(0, 5, shape).astype(np.float64)
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
            np.testing.assert_allclose(got.numpy(), theirs[k].grad.numpy(), rtol=tolerance, atol=tolerance, err_msg=k)


@pytest.mark.parametrize("what", ["log_prob", "cdf", "icdf", *MOMENTS])
@pytest.mark.parametrize("name", ONE_DIM)
def test_formulas_and_gradients_are_pytorchs(name, what):
    if (name, what) in WRONG:
        pytest.skip("PyTorch is wrong")
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
    if what != "mode" and (what, "concentration" in table or "df" in table) != (
        "cdf",
        True,
    ):  # PyTorch has no derivative
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
    if name in ("Categorical", "OneHotCategorical"):
        return [{"probs": r.dirichlet(np.ones(3), 2)} for _ in range(2)]
    if name == "Dirichlet":
        return [{"concentration": r.uniform(0.3, 3, (2, 3))} for _ in range(2)]
    if name == "MultivariateNormal":
        return [
            {"loc": r.normal(size=(2, 3)), "scale_tril": np.tril(r.normal(size=(2, 3, 3)), -1) + np.eye(3)}
            for _ in range(2)
        ]
    return [{"total_count": np.full(3, 4.0), "probs": r.uniform(0.1, 0.9, 3)} for _ in range(2)]


FAMILIES = [*ONE_DIM, "Categorical", "OneHotCategorical", "Dirichlet", "MultivariateNormal", "Binomial"]


def pytorch_has(p, q):
    """Return whether PyTorch has a formula for the pair."""
    P, Q = (both(n, constant(n)[j])[1] for j, n in enumerate((p, q)))
    try:
        T.kl_divergence(P, Q)
    except NotImplementedError:
        return False
    return True


@pytest.mark.parametrize("p, q", [pair for pair in itertools.product(FAMILIES, FAMILIES) if pytorch_has(*pair)])
def test_divergences_are_pytorchs(p, q):
    a, c, ours, theirs = both(p, constant(p)[0])
    b, d, *_ = both(q, constant(q)[1])
    mine, other = D.kl_divergence(a, b), T.kl_divergence(c, d)
    same(mine, other, 1e-7)
    if torch.isfinite(other).all():
        same_gradients(mine, other, ours, theirs)


# ---------------------------------------------------------------------- vectors
@pytest.mark.parametrize("given_as", ["covariance_matrix", "precision_matrix", "scale_tril"])
def test_multivariate_normal_is_pytorchs(given_as):
    r = np.random.default_rng(1)
    m = r.normal(size=(2, 3, 3))
    m = np.tril(m, -1) + np.eye(3) * 1.5 if given_as == "scale_tril" else m @ m.transpose(0, 2, 1) + np.eye(3)
    p, q, ours, theirs = both("MultivariateNormal", {"loc": r.normal(size=(4, 1, 3)), given_as: m})
    x = r.normal(size=(5, 4, 2, 3))
    assert (p.batch_shape, p.event_shape) == ((4, 2), (3,))
    for name in ("covariance_matrix", "precision_matrix", "scale_tril", "mean", "variance", "mode"):
        same(getattr(p, name), getattr(q, name).expand(getattr(p, name).shape))
    same(p.entropy(), q.entropy())
    a, b = p.log_prob(minigrad.tensor(x)), q.log_prob(torch.tensor(x))
    same(a, b)
    a.sum().backward()
    b.sum().backward()
    for k in ours:
        got, want = ours[k].grad.numpy(), theirs[k].grad.numpy()
        if k != "loc" and k != "scale_tril":  # a symmetric matrix's gradient may be told in two triangles
            got, want = got + got.transpose(0, 2, 1), want + want.transpose(0, 2, 1)
        np.testing.assert_allclose(got, np.tril(want) if k == "scale_tril" else want, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ["Categorical", "OneHotCategorical", "Multinomial"])
@pytest.mark.parametrize("kind", ["probs", "logits"])
def test_classes_are_pytorchs(name, kind):
    r = np.random.default_rng(2)
    v = r.uniform(0.1, 1, (2, 3)) if kind == "probs" else r.normal(size=(2, 3))
    p, q, ours, theirs = both(name, {kind: v}, **({"total_count": 4} if name == "Multinomial" else {}))
    x = q.sample((5,)).numpy()
    same(p.probs, q.probs)
    same(p.logits, q.logits)
    same(p.entropy(), q.entropy(), 1e-6)
    same(p.mean, q.mean)
    same(p.variance, q.variance)
    a, b = p.log_prob(minigrad.tensor(x)), q.log_prob(torch.tensor(x))
    same(a, b)
    same_gradients(a, b, ours, theirs)
    assert p.sample((5,)).shape == tuple(q.sample((5,)).shape) and p.sample().dtype == getattr(
        minigrad, str(q.sample().dtype)[6:]
    )
    if q.has_enumerate_support:
        same(p.enumerate_support(), q.enumerate_support())
        same(p.enumerate_support(False), q.enumerate_support(False))
        same(p.mode, q.mode)


def test_dirichlet_is_pytorchs():
    c = np.random.default_rng(3).uniform(1.1, 3, (2, 3))
    p, q, ours, theirs = both("Dirichlet", {"concentration": c})
    x = q.sample((4,)).detach()
    for name in ("mean", "variance", "mode"):
        same(getattr(p, name), getattr(q, name))
    same(p.entropy(), q.entropy())
    a, b = p.log_prob(minigrad.tensor(x.numpy())), q.log_prob(x)
    same(a, b)
    same_gradients(a, b, ours, theirs)


def test_binomial_is_pytorchs():
    p, q, ours, theirs = both("Binomial", {"probs": np.array([0.2, 0.7])}, total_count=5)
    x = np.array([[0.0, 5.0], [3.0, 2.0]])
    for name in ("mean", "variance", "mode"):
        same(getattr(p, name), getattr(q, name))
    same(p.entropy(), q.entropy())
    same(p.enumerate_support(), q.enumerate_support())
    a, b = p.log_prob(minigrad.tensor(x)), q.log_prob(torch.tensor(x))
    same(a, b)
    same_gradients(a, b, ours, theirs)


@pytest.mark.parametrize("name", ["RelaxedBernoulli", "RelaxedOneHotCategorical"])
def test_relaxed_classes_are_pytorchs(name):
    logits = np.random.default_rng(4).normal(size=(2, 3))
    temperature = np.array(0.7)
    p = getattr(D, name)(minigrad.tensor(temperature), logits=minigrad.tensor(logits))
    q = getattr(T, name)(torch.tensor(temperature), logits=torch.tensor(logits))
    x = q.sample((4,))
    assert p.rsample((4,)).shape == tuple(x.shape)
    same(p.log_prob(minigrad.tensor(x.numpy())), q.log_prob(x), 1e-6)


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
        sticks = lib.TransformedDistribution(lib.Normal(tensor(loc[:, 0]), tensor(1.5)), lib.StickBreakingTransform())
        return parts, mixture, moved, sticks

    for p, q in zip(made(D, minigrad.tensor), made(T, torch.tensor)):
        assert (p.batch_shape, p.event_shape) == (tuple(q.batch_shape), tuple(q.event_shape))
        assert p.sample((2,)).shape == tuple(q.sample((2,)).shape)
        assert p.has_rsample == q.has_rsample
        at = q.sample((5,)).numpy()
        same(p.log_prob(minigrad.tensor(at)), q.log_prob(torch.tensor(at)), 1e-6)
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


REGIONS = {
    "real": (3,), "positive": (3,), "nonnegative": (3,), "unit_interval": (3,), "simplex": (3,), "lower_cholesky": (3, 3),
    "real_vector": (3,),
}  # fmt: skip


@pytest.mark.parametrize("registry", ["transform_to", "biject_to"])
@pytest.mark.parametrize("region", REGIONS)
def test_transforms_to_regions_are_pytorchs(region, registry):
    x = np.random.default_rng(1).normal(size=(2, *REGIONS[region]))
    if (region, registry) == ("lower_cholesky", "biject_to"):
        pytest.skip("PyTorch has none, as no log_abs_det_jacobian is known")
    t = getattr(D, registry)(getattr(D.constraints, region))
    u = getattr(T, registry)(getattr(T.constraints, region))
    a, b = t(minigrad.tensor(x)), u(torch.tensor(x))
    same(a, b)
    assert getattr(D.constraints, region).check(a).all()
    same(t.inv(a), u.inv(b))
    if region not in ("lower_cholesky",) and u.bijective:
        same(t.log_abs_det_jacobian(minigrad.tensor(x), a), u.log_abs_det_jacobian(torch.tensor(x), b))


@pytest.mark.parametrize("name, x", [
    ("simplex", [[0.2, 0.8], [0.5, 0.6]]), ("positive_definite", [[[2.0, 1.0], [1.0, 2.0]], [[1.0, 2.0], [2.0, 1.0]]]),
    ("lower_cholesky", [[[1.0, 0.0], [2.0, 1.0]], [[1.0, 1.0], [2.0, 1.0]]]), ("boolean", [0.0, 1.0, 0.5]),
    ("nonnegative_integer", [0.0, 2.0, 1.5, -1.0]), ("unit_interval", [0.0, 1.0, 1.1]), ("one_hot", [[0.0, 1.0], [1.0, 1.0]]),
    ("real", [1.0, float("nan"), float("inf")]), ("positive", [0.0, 1.0]), ("nonnegative", [0.0, -1.0]),
    ("real_vector", [[1.0, float("nan")], [1.0, 2.0]]), ("positive_integer", [0.0, 1.0, 2.5]),
])  # fmt: skip
def test_constraints_are_pytorchs(name, x):
    ours, theirs = getattr(D.constraints, name), getattr(T.constraints, name)
    assert ours.check(minigrad.tensor(x)).tolist() == theirs.check(torch.tensor(x)).tolist()
    assert (ours.event_dim, ours.is_discrete) == (theirs.event_dim, theirs.is_discrete)
