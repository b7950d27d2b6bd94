"""Distributions against SciPy, against their own draws, and against finite differences; PyTorch: tests/parity."""

import copy
import math

import numpy as np
import pytest
import scipy.special
import scipy.stats

import minigrad
from minigrad import distributions as D
from minigrad.func import grad, jvp, vmap
from minigrad.ops.incomplete_gamma import gammainc, standard_gamma

SCIPY = {  # distribution, and SciPy's
    "Normal": (D.Normal(0.5, 2.0), scipy.stats.norm(0.5, 2)),
    "Laplace": (D.Laplace(0.5, 2.0), scipy.stats.laplace(0.5, 2)),
    "Gumbel": (D.Gumbel(0.5, 2.0), scipy.stats.gumbel_r(0.5, 2)),
    "Uniform": (D.Uniform(-1.0, 3.0), scipy.stats.uniform(-1, 4)),
    "Exponential": (D.Exponential(2.0), scipy.stats.expon(scale=0.5)),
    "Gamma": (D.Gamma(0.7, 2.0), scipy.stats.gamma(0.7, scale=0.5)),
    "Beta": (D.Beta(2.0, 0.7), scipy.stats.beta(2, 0.7)),
}
TRANSFORMED = {
    "exp": (
        D.TransformedDistribution(D.Normal(0.3, 0.5), D.ExpTransform()),
        scipy.stats.lognorm(0.5, scale=math.exp(0.3)),
    ),
    "a decreasing one": (
        D.TransformedDistribution(D.Uniform(0.0, 1.0), [D.SigmoidTransform().inv, D.AffineTransform(1.0, -2.0)]),
        scipy.stats.logistic(1, 2),
    ),
}
ALL = {**SCIPY, **TRANSFORMED}


def close(ours, theirs, tolerance=1e-4):
    np.testing.assert_allclose(ours.numpy(), theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", ALL)
def test_density_and_quantiles_are_scipys(name):
    d, s = ALL[name]
    x = s.ppf(np.linspace(0.05, 0.95, 7))
    close(d.log_prob(minigrad.tensor(x)), s.logpdf(x))
    if hasattr(d, "_cdf"):
        close(d.cdf(minigrad.tensor(x)), s.cdf(x))
    if hasattr(d, "_icdf"):
        close(d.icdf(minigrad.linspace(0.05, 0.95, 7)), x, 1e-3)


@pytest.mark.parametrize("name", SCIPY)
def test_entropy_and_moments_are_scipys(name):
    d, s = SCIPY[name]
    close(d.entropy(), s.entropy())
    close(d.mean, s.mean())
    close(d.variance, s.var(), 1e-3)


def test_probabilities_of_0_and_1_are_scipys():
    d, s = D.Bernoulli(probs=0.3), scipy.stats.bernoulli(0.3)
    x = np.arange(2.0)
    close(d.log_prob(minigrad.tensor(x)), s.logpmf(x))
    close(d.mean, s.mean())
    close(d.variance, s.var())


@pytest.mark.parametrize("name", ALL)
def test_draws_pass_kolmogorov_and_smirnov(name):
    d, s = ALL[name]
    minigrad.manual_seed(1)
    assert scipy.stats.kstest(d.sample((4000,)).numpy(), s.cdf).pvalue > 0.01


@pytest.mark.parametrize("d, p", [
    (D.Bernoulli(probs=0.3), [0.7, 0.3]),
    (D.Bernoulli(logits=2.0), [1 / (1 + math.exp(2)), 1 / (1 + math.exp(-2))]),
    (D.Categorical(probs=minigrad.tensor([2.0, 3.0, 0.0, 5.0])), [0.2, 0.3, 0.0, 0.5]),
], ids=str)  # fmt: skip
def test_counts_of_draws_pass_the_chi_square_test(d, p):
    minigrad.manual_seed(1)
    values, n = d.sample((4000,)).numpy(), 4000
    seen = np.array([np.sum(values == k) for k in range(len(p))])
    possible = np.array(p) > 0
    assert seen.sum() == n and not seen[~possible].any()
    assert scipy.stats.chisquare(seen[possible], n * np.array(p)[possible]).pvalue > 0.01


def test_draws_of_a_mixture_have_its_mean_and_variance():
    minigrad.manual_seed(0)
    parts = D.Independent(
        D.Normal(minigrad.tensor([[-2.0, 0.0], [1.0, 3.0]]), minigrad.tensor([[1.0, 0.5], [2.0, 1.0]])), 1
    )
    d = D.MixtureSameFamily(D.Categorical(minigrad.tensor([0.3, 0.7])), parts)
    x = d.sample((40000,)).numpy()
    np.testing.assert_allclose(x.mean(0), d.mean.numpy(), atol=0.03)
    np.testing.assert_allclose(x.var(0), d.variance.numpy(), atol=0.08)


def test_a_transform_with_more_elements_than_the_base_draws_noise_for_each():
    minigrad.manual_seed(0)
    d = D.TransformedDistribution(D.Normal(0.0, 1.0), D.AffineTransform(minigrad.zeros(3), 1.0))
    x = d.sample((1000,))
    assert d.batch_shape == (3,) and x.shape == (1000, 3)
    assert np.abs(np.corrcoef(x.numpy().T) - np.eye(3)).max() < 0.1


def test_a_transform_of_vectors_maps_the_dimensions_of_an_event_together():
    class Rotated(D.Transform):
        domain = codomain = D.constraints.real_vector
        _call = lambda self, x: x.flip(-1)
        _inverse = lambda self, y: y.flip(-1)
        log_abs_det_jacobian = lambda self, x, y: x.new_zeros(x.shape[:-1])

    d = D.TransformedDistribution(D.Normal(minigrad.tensor([0.0, 5.0]), 1.0), Rotated())
    assert (d.batch_shape, d.event_shape) == ((), (2,))
    assert d.log_prob(minigrad.tensor([5.0, 0.0])) == 2 * D.Normal(0.0, 1.0).log_prob(minigrad.tensor(0.0))
    with pytest.raises(ValueError, match="map 1 dimensions together, but a draw has shape ()") as e:
        D.TransformedDistribution(D.Normal(0.0, 1.0), Rotated())
    assert e.value.remedy == "expand the base distribution"


def test_vectors_are_drawn_with_their_mean_and_covariance():
    minigrad.manual_seed(0)
    cov = minigrad.tensor([[2.0, 0.5], [0.5, 1.0]])
    x = D.MultivariateNormal(minigrad.tensor([1.0, -1.0]), cov).sample((40000,)).numpy()
    np.testing.assert_allclose(x.mean(0), [1, -1], atol=0.03)
    np.testing.assert_allclose(np.cov(x.T), cov.numpy(), atol=0.05)
    concentration = minigrad.tensor([0.5, 1.0, 2.0])
    d = D.Dirichlet(concentration)
    x = d.sample((40000,)).numpy()
    np.testing.assert_allclose(x.mean(0), d.mean.numpy(), atol=0.01)
    np.testing.assert_allclose(x.var(0), d.variance.numpy(), atol=0.005)


def test_numbers_of_a_tiny_concentration_are_no_ties():
    minigrad.manual_seed(0)
    x = D.Dirichlet(minigrad.full((3,), 0.01)).sample((1000,)).numpy()
    assert np.isfinite(x).all() and (x.max(-1) > 0.99).mean() > 0.9


# ---------------------------------------------------------------------- implicit derivatives
@pytest.mark.parametrize("a", [0.05, 0.5, 1.0, 2.0, 7.0, 300.0, 1e5])
def test_derivatives_of_logs_of_gamma_draws_are_those_of_the_quantile(a):
    def f(t):
        minigrad.manual_seed(3)
        return standard_gamma(t).log()

    t = minigrad.full((5,), a, dtype=minigrad.float64)
    below = scipy.special.gammainc(a, f(t).exp().numpy())
    h = 1e-3 * a
    x = lambda da: np.log(scipy.special.gammaincinv(a + da, below))
    first = (8 * (x(h) - x(-h)) - (x(2 * h) - x(-2 * h))) / (12 * h)
    second = (-x(2 * h) + 16 * x(h) - 30 * x(0) + 16 * x(-h) - x(-2 * h)) / (12 * h * h)
    g = grad(lambda t: f(t).sum())
    np.testing.assert_allclose(g(t).numpy(), first, rtol=1e-6)
    np.testing.assert_allclose(grad(lambda t: g(t).sum())(t).numpy(), second, rtol=1e-3, atol=1e-5 * first.max() / a)
    np.testing.assert_allclose(jvp(f, (t,), (minigrad.ones_like(t),))[1].numpy(), first, rtol=1e-6)


def test_derivatives_of_the_incomplete_gamma_function_are_right():
    a, x = (minigrad.tensor(v, dtype=minigrad.float64, requires_grad=True) for v in ([0.3, 1.0, 5.0], [0.2, 2.0, 4.0]))
    assert minigrad.autograd.gradcheck(gammainc, (a, x))
    assert minigrad.autograd.gradgradcheck(gammainc, (a, x))


def test_the_gradient_of_a_mean_of_draws_is_the_means():
    minigrad.manual_seed(0)
    a, b = minigrad.tensor(2.0, requires_grad=True), minigrad.tensor(3.0, requires_grad=True)
    for d in (D.Beta(a, b), D.Gamma(a, b)):
        got = minigrad.autograd.grad(d.rsample((40000,)).mean(), (a, b))
        want = minigrad.autograd.grad(d.mean, (a, b))
        np.testing.assert_allclose([g.item() for g in got], [g.item() for g in want], atol=0.01)


def test_gradients_reach_every_parameter_of_what_has_rsample():
    for d in [d for d, _ in SCIPY.values()] + [D.Dirichlet(minigrad.ones(3))]:
        fresh = {k: getattr(d, k).clone().requires_grad_() for k in d._given}
        type(d)(**fresh).rsample((4,)).sum().backward()
        assert all(v.grad is not None and v.grad.isfinite().all() for v in fresh.values()), d


# ---------------------------------------------------------------------- transforms of functions, records
def test_draws_under_vmap_differ_between_examples_and_have_gradients():
    scale = minigrad.tensor([1.0, 2.0, 3.0])
    for make in (lambda s: D.Normal(0.0, s), lambda s: D.Gamma(s, 1.0), D.Exponential):
        x = vmap(lambda s: make(s).rsample((2,)), randomness="different")(scale)
        assert x.shape == (3, 2) and len(set(x.flatten().tolist())) == 6
        g = vmap(grad(lambda s: make(s).rsample().sum()), randomness="different")(scale)
        assert g.shape == (3,) and g.isfinite().all()


def test_log_prob_under_vmap_is_that_of_each_example():
    x, scale = minigrad.randn(4), minigrad.rand(4) + 0.5
    got = vmap(lambda x, s: D.Normal(0.0, s).log_prob(x))(x, scale)
    close(got, D.Normal(0.0, scale).log_prob(x).numpy())
    with pytest.raises(ValueError, match="scale"):
        vmap(lambda x, s: D.Normal(0.0, s).log_prob(x))(x, -scale)


def names_of(record):
    return [op["name"] for op in record["ops"] if op["phase"] == "forward"]


def test_a_record_shows_noise_and_how_the_parameters_make_a_draw_of_it():
    loc, scale = minigrad.zeros(3, requires_grad=True), minigrad.ones(3, requires_grad=True)
    with minigrad.record() as rec:
        D.Normal(loc, scale).rsample().sum().backward()
    found = rec.to_dict()
    assert names_of(found) == ["mul", "add", "sum"]  # no check of an argument stands there
    kinds = {v["id"]: v["kind"] for v in found["values"]}
    mul, add = ([kinds[i] for i in op["inputs"]] for op in found["ops"][:2])
    assert (mul, add) == (["parameter", "input"], ["parameter", "computed"])  # the input is the noise
    flows = [op["name"] for op in found["ops"] if op["phase"] == "backward"]
    assert flows == ["sum", "add", "mul"] and loc.grad is not None and scale.grad is not None


def test_a_record_of_a_gamma_draw_has_one_operation_of_shape_and_noise():
    a = minigrad.full((3,), 2.0, requires_grad=True)
    with minigrad.record() as rec:
        D.Gamma(a, minigrad.ones(3)).rsample().sum().backward()
    assert names_of(rec.to_dict()) == ["StandardGamma", "div", "sum"]


def test_compiled_functions_draw_anew_in_each_call():
    f = minigrad.compile(lambda loc: D.Normal(loc, 1.0, validate_args=False).rsample((3,)).sum())
    loc = minigrad.zeros(3)
    assert f(loc).item() != f(loc).item()


# ---------------------------------------------------------------------- divergences
PAIRS = [
    (D.Normal(0.5, 1.0), D.Normal(0.0, 2.0)),
    (D.Laplace(0.5, 1.0), D.Laplace(0.0, 2.0)),
    (D.Gumbel(0.5, 1.0), D.Gumbel(0.0, 2.0)),
    (D.Uniform(0.2, 0.8), D.Uniform(0.0, 2.0)),
    (D.Exponential(2.0), D.Exponential(1.0)),
    (D.Gamma(2.0, 1.0), D.Gamma(1.0, 2.0)),
    (D.Beta(2.0, 1.5), D.Beta(1.0, 3.0)),
    (D.Bernoulli(probs=0.3), D.Bernoulli(probs=0.5)),
    (D.ContinuousBernoulli(probs=0.3), D.ContinuousBernoulli(probs=0.5)),
    (D.Categorical(minigrad.tensor([1.0, 2.0])), D.Categorical(minigrad.tensor([2.0, 2.0]))),
    (D.Dirichlet(minigrad.tensor([1.0, 2.0])), D.Dirichlet(minigrad.tensor([2.0, 2.0]))),
    (D.MultivariateNormal(minigrad.zeros(2), minigrad.eye(2)), D.MultivariateNormal(minigrad.ones(2), 2 * minigrad.eye(2))),
    tuple(D.Independent(D.Normal(minigrad.tensor([m, 0.0]), 1.0), 1) for m in (0.0, 1.0)),
    tuple(D.TransformedDistribution(D.Normal(m, 1.0), [D.AffineTransform(minigrad.tensor(1.0), 0.5), D.TanhTransform()])
          for m in (0.0, 0.5)),
]  # fmt: skip


@pytest.mark.parametrize("p, q", PAIRS, ids=lambda d: type(d).__name__)
def test_divergences_are_means_over_draws(p, q):
    minigrad.manual_seed(0)
    x = p.sample((40000,))
    terms = p.log_prob(x) - q.log_prob(x)
    assert abs(D.kl_divergence(p, q) - terms.mean()) < 5 * terms.std() / 200 + 1e-6


def test_divergence_is_infinite_where_q_cannot_give_what_p_gives():
    assert D.kl_divergence(D.Uniform(-1.0, 1.0), D.Uniform(0.0, 2.0)) == math.inf
    assert D.kl_divergence(D.Bernoulli(probs=0.5), D.Bernoulli(probs=1.0)) == math.inf
    one, two = (D.Categorical(minigrad.tensor([1.0, weight])) for weight in (0.0, 1.0))
    assert D.kl_divergence(two, one) == math.inf and D.kl_divergence(one, two) == pytest.approx(math.log(2))


def test_a_subclass_has_the_divergence_of_its_family():
    class Mine(D.Normal):
        pass

    assert D.kl_divergence(Mine(0.0, 1.0), D.Normal(1.0, 1.0)) == 0.5


# ---------------------------------------------------------------------- errors
def test_a_wrong_parameter_is_named_with_its_first_wrong_value():
    with pytest.raises(ValueError) as e:
        D.Normal(0.0, minigrad.tensor([1.0, -2.0, 0.0]))
    assert e.value.operation == "Normal"
    assert e.value.problem == "scale has to be above 0, but scale[1] is -2.; so are 1 more"
    assert "softplus" in e.value.remedy


@pytest.mark.parametrize("make, words", [
    (lambda: D.Uniform(1.0, 0.0), "high has to be above 1"),
    (lambda: D.Bernoulli(probs=1.5), "between 0 and 1, but probs is 1.5"),
    (lambda: D.Bernoulli(), "exactly one of probs, logits, but got none"),
    (lambda: D.Categorical(probs=minigrad.ones(2), logits=minigrad.ones(2)), "but got probs and logits"),
    (lambda: D.Categorical(probs=minigrad.tensor([0.5, -1.0])), "nonnegative numbers"),
    (lambda: D.Categorical(probs=minigrad.tensor(0.5)), "a dimension of classes"),
    (lambda: D.Categorical(probs=[0.5, 0.5]), "a dimension of classes, but got list"),
    (lambda: D.Multinomial(3, minigrad.ones(2)).log_prob(minigrad.ones(2)), "whole numbers with the sum 3"),
    (lambda: D.OneHotCategorical(probs=0.5), "probs needs a dimension of classes"),
    (lambda: D.OneHotCategorical(minigrad.ones(2)).log_prob(minigrad.ones(2)), "a vector with one 1 and otherwise 0"),
    (lambda: D.OneHotCategorical(minigrad.ones(2)).log_prob(minigrad.ones(3)), "event shape (2,)"),
    (lambda: D.Exponential(1.0).log_prob(minigrad.tensor(-1.0)), "value has to be at least 0, but value is -1."),
    (lambda: D.Categorical(minigrad.ones(2)).log_prob(minigrad.tensor(2)), "a whole number between 0 and 1, but value is 2"),
    (lambda: D.Uniform(minigrad.zeros(2), 1.0).log_prob(minigrad.tensor(2.0)), "shape (2,), but value[0] is 2.; so are 1 more"),
    (lambda: D.Dirichlet(minigrad.tensor([1.0, 0.0])), "everywhere above 0"),
    (lambda: D.MultivariateNormal(minigrad.zeros(2), minigrad.tensor([[1.0, 2.0], [2.0, 1.0]])), "positive eigenvalues"),
    (lambda: D.MultivariateNormal(minigrad.zeros(2), minigrad.eye(3)), "loc has shape (2,)"),
    (lambda: D.Normal(0.0, 1.0).log_prob(minigrad.tensor(math.nan)), "value has to be a real number, but value is nan"),
    (lambda: D.Normal(0.0, 1.0).log_prob(0.0), "has to be a tensor"),
    (lambda: D.Bernoulli(probs=0.5).log_prob(minigrad.tensor([0.0, 2.0])), "0 or 1, but value[1] is 2."),
    (lambda: D.Normal(minigrad.zeros(3), 1.0).log_prob(minigrad.zeros(2)), "does not fit batch shape (3,)"),
    (lambda: D.Dirichlet(minigrad.ones(3)).log_prob(minigrad.ones(2)), "event shape (3,)"),
    (lambda: D.Independent(D.Normal(0.0, 1.0), 1), "reinterpreted_batch_ndims is 1"),
    (lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), [1]), "have to be Transforms"),
    (lambda: D.MixtureSameFamily(D.Normal(0.0, 1.0), D.Normal(0.0, 1.0)), "has to be a Categorical"),
    (lambda: D.MixtureSameFamily(D.Categorical(minigrad.ones(2)), D.Normal(0.0, 1.0)), "weights for 2 components"),
])  # fmt: skip
def test_what_is_wrong_is_said(make, words):
    with pytest.raises(ValueError) as e:
        make()
    assert words in e.value.problem and e.value.remedy


@pytest.mark.parametrize("make, words", [
    (lambda: D.Bernoulli(probs=0.5).rsample(), "has no rsample"),
    (lambda: D.Beta(1.0, 1.0).cdf(minigrad.tensor(0.5)), "has no cdf"),
    (lambda: D.Beta(1.0, 1.0).icdf(minigrad.tensor(0.5)), "has no icdf"),
    (lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), D.ExpTransform()).entropy(), "has no entropy"),
    (lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), D.ExpTransform()).mean, "has no mean"),
    (lambda: D.Distribution().log_prob(minigrad.tensor(0.5)), "has no log_prob"),
    (lambda: D.Distribution().expand((2,)), "has no expand"),
    (lambda: D.kl_divergence(D.Exponential(1.0), D.Normal(0.0, 1.0)), "no formula for (Exponential, Normal)"),
    (lambda: D.kl_divergence(D.Distribution(), D.Distribution()), "no formula for (Distribution, Distribution)"),
    (lambda: D.Transform()(minigrad.zeros(2)), "defines no _call"),
    (lambda: D.Transform().inv(minigrad.zeros(2)), "defines no _inverse"),
    (lambda: D.Transform().log_abs_det_jacobian(minigrad.zeros(2), minigrad.zeros(2)), "defines no log_abs_det"),
    (lambda: D.kl_divergence(*[D.TransformedDistribution(D.Normal(0.0, 1.0), D.AffineTransform(minigrad.tensor(x), 1.0))
                               for x in (0.0, 1.0)]), "p is transformed by [AffineTransform()]"),
    (lambda: D.kl_divergence(*[D.Independent(D.Normal(minigrad.zeros(2, 2), 1.0), n) for n in (1, 2)]), "1 dimensions of p"),
])  # fmt: skip
def test_what_does_not_exist_is_said(make, words):
    with pytest.raises(NotImplementedError) as e:
        make()
    assert words in e.value.problem and e.value.remedy


def test_checks_can_be_left_out():
    assert D.Normal(0.0, -1.0, validate_args=False).scale == -1


def test_users_distributions_have_the_base_class():
    class Coin(D.Distribution):
        arg_constraints = {"p": D.constraints.unit_interval}
        support = D.constraints.boolean

        def __init__(self, p, validate_args=None):
            self.p = p
            super().__init__(p.shape, (), validate_args)

    assert Coin(minigrad.ones(2)).batch_shape == (2,)
    with pytest.raises(ValueError, match="p has to be between 0 and 1"):
        Coin(minigrad.tensor(2.0))
    with pytest.raises(NotImplementedError, match="has no mean"):
        Coin(minigrad.ones(2)).mean


def test_a_cached_transform_returns_the_x_of_its_latest_y():
    x = minigrad.tensor([0.5, 20.0], requires_grad=True)  # where tanh rounds to 1
    plain, t = D.TanhTransform(), D.TanhTransform(cache_size=1)
    y = t(x)
    assert t.inv(y) is x and t(x) is y and t.inv(y.clone())[1].isinf() and plain.inv(plain(x))[1].isinf()
    z = minigrad.tensor([0.1, 0.2])
    assert t(t.inv(z)) is z and t == copy.deepcopy(t) == D.TanhTransform()
    made = D.TransformedDistribution(D.Normal(0.0, 9.0), D.TanhTransform(cache_size=1))
    minigrad.manual_seed(0)
    assert made.log_prob(made.rsample((100,))).isfinite().all()
    with pytest.raises(ValueError, match="cache_size must be 0 or 1, but got 2"):
        D.TanhTransform(cache_size=2)


def test_a_number_of_draws_is_an_int():
    with pytest.raises(NotImplementedError, match="total_count has to be a number of draws, but is 2.5"):
        D.Multinomial(2.5, minigrad.ones(2))
