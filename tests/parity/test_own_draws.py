"""Random functions beside PyTorch with PyTorch's own numbers: what varies with what, shares, distributions, dtypes, errors.

Elsewhere PyTorch gets minigrad's numbers (same_draws.py), and there a wrong use of them is the same in both.
"""

import warnings

import numpy as np
import pytest
import torch
from scipy.stats import ks_2samp

import minigrad

from . import same_draws

SHAPE = (40, 30, 5, 4, 3, 2)
DROPOUTS = [*same_draws.DROPOUTS, "alpha_dropout", "feature_alpha_dropout", "feature_dropout"]
# an example of everything that same_draws replaces, and of what draws besides; of each are 2,000 numbers or more
FILLED = {
    "uniform_": ["uniform_()", "uniform_(-3, 5)"],
    "normal_": ["normal_()", "normal_(2, 0.1)"],
    "bernoulli_": ["bernoulli_()", "bernoulli_(0.2)", "bernoulli_(torch.linspace(0, 1, 3000))"],
    "exponential_": ["exponential_()", "exponential_(5)"],
    "random_": ["random_(7)", "random_(-3, 4)"],
}
MADE = {
    "rand": ["rand(50, 60)", "rand((3000,), dtype=torch.float64)"],
    "randn": ["randn(3000)", "randn(30, 100, dtype=torch.float64)"],
    "randint": ["randint(5, (3000,))", "randint(-4, 9, (30, 100))", "randint(3, (3000,), dtype=torch.float32)"],
    "randperm": ["randperm(3000)", "randperm(3000, dtype=torch.int32)"],
    "normal": ["normal(torch.zeros(3000), 2.0)", "normal(1.0, torch.ones(3000))", "normal(1.0, 3.0, (30, 100))"],
    "bernoulli": ["bernoulli(torch.full((3000,), 0.3))", "bernoulli(torch.linspace(0, 1, 3000))"],
    "poisson": ["poisson(torch.full((3000,), 3.5))", "poisson(torch.linspace(0, 60, 3000))"],
    "multinomial": ["multinomial(torch.tensor([1.0, 5.0, 0.0, 2.0]), 3000, True)",
                    "multinomial(torch.tensor([[1.0, 5.0, 3.0, 2.0]] * 5000), 2)"],
    "rand_like": ["rand_like(torch.ones(3000))"],
    "randn_like": ["randn_like(torch.ones(3000), dtype=torch.float64)"],
    "randint_like": ["randint_like(torch.ones(3000), 5)", "randint_like(torch.ones(3000), -2, 5)"],
}  # fmt: skip
OTHERS = [
    "torch.distributions.Gamma(torch.linspace(0.1, 9, 3000), 1.0).rsample()",
    "torch.binomial(torch.full((3000,), 9.0), torch.full((3000,), 0.3))",
    "torch.nn.functional.rrelu(-torch.ones(3000), 0.1, 0.4, True)",
    "torch.nn.functional.gumbel_softmax(torch.tensor([[0.0, 1.0, 2.0]] * 1000), 0.7)",
    "torch.nn.functional.gumbel_softmax(torch.tensor([[0.0, 1.0, 2.0]] * 1000), hard=True)",
    "torch.nn.Linear(50, 60).weight",
    "torch.nn.Linear(3000, 3000).bias",
    "torch.nn.Conv2d(30, 40, 3).weight",
    "torch.nn.Embedding(300, 10).weight",
    "torch.nn.LSTM(20, 30).weight_hh_l0",
    "torch.nn.MultiheadAttention(30, 3).in_proj_weight",
    "torch.nn.init.kaiming_normal_(torch.empty(50, 60), a=0.3, mode='fan_out')",
    "torch.nn.init.trunc_normal_(torch.empty(3000), 0.5, 2.0, -1.0, 1.5)",
    "torch.nn.init.orthogonal_(torch.empty(55, 55))",
]
OTHERS += [
    f"torch.distributions.{made}.sample((3000,))"
    for made in ("Gamma(0.7, 2.0)", "Beta(0.5, 2.0)", "Gumbel(1.0, 2.0)", "Laplace(1.0, 2.0)", "Exponential(3.0)",
                 "Normal(1.0, 2.0)", "Uniform(-1.0, 2.0)", "Bernoulli(0.3)", "ContinuousBernoulli(torch.tensor(0.2))",
                 "Categorical(torch.tensor([1.0, 5.0, 2.0]))", "Dirichlet(torch.tensor([0.5, 1.0, 4.0]))",
                 "Multinomial(9, torch.tensor([1.0, 5.0, 2.0]))")
]  # fmt: skip
EXAMPLES = [f"torch.empty(3000).{call}" for calls in FILLED.values() for call in calls]
EXAMPLES += [f"torch.{call}" for calls in MADE.values() for call in calls] + OTHERS


def numbers(library, program):
    library.manual_seed(3)
    return eval(program, {"torch": library}).detach()


@pytest.mark.parametrize("program", EXAMPLES)
def test_the_numbers_have_pytorchs_distribution(program):
    theirs, ours = numbers(torch, program), numbers(minigrad, program)
    assert (tuple(ours.shape), ours.dtype.name) == (tuple(theirs.shape), str(theirs.dtype).removeprefix("torch."))
    theirs, ours = (t.numpy().astype(np.float64).reshape(-1) for t in (theirs, ours))
    assert theirs.size >= 2000 and ks_2samp(theirs, ours).pvalue > 1e-4
    assert abs(autocorrelation(ours) - autocorrelation(theirs)) < 0.1  # where parameters differ, the order counts


def autocorrelation(x):
    x = np.clip(x, *np.quantile(x, [0.01, 0.99]))
    x = x - x.mean()
    return (x[1:] * x[:-1]).mean() / max((x * x).mean(), 1e-9)


def test_everything_that_gets_our_numbers_elsewhere_is_drawn_here():
    assert set(MADE) == set(same_draws.FUNCTIONS) and set(FILLED) == set(same_draws.METHODS)
    assert set(same_draws.DROPOUTS) <= set(DROPOUTS)


def test_random_split_takes_each_element_once_in_both():
    for library in (torch, minigrad):
        parts = library.utils.data.random_split(range(100), [30, 70])
        assert [len(p) for p in parts] == [30, 70] and sorted([*parts[0], *parts[1]]) == list(range(100))
        assert list(parts[0]) != sorted(parts[0])


def test_rows_without_replacement_have_each_position_once_in_both():
    for library in (torch, minigrad):
        drawn = library.multinomial(library.ones(500, 4), 4)
        assert drawn.sort().values.unique(dim=0).tolist() == [[0, 1, 2, 3]]


# ---------------------------------------------------------------------- dropouts
def dropped(library, name, *args, ndim, dtype="float32", shape=None, **options):
    """The result of a dropout of ones, or the type of its error; and how many warnings it gives."""
    function = getattr(library.nn.functional, name, None) or getattr(library, name)
    library.manual_seed(1)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        x = library.ones(SHAPE[:ndim] if shape is None else shape, dtype=getattr(library, dtype))
        try:
            return function(x, *args, **options), len(given)
        except (RuntimeError, ValueError) as e:
            return e, len(given)


def alike(theirs, ours):
    """Compare two results: what they share with a dimension's other elements, their values and how often each occurs."""
    (theirs, warned), (ours, told) = theirs, ours
    if isinstance(theirs, Exception) or isinstance(ours, Exception):
        assert isinstance(ours, type(theirs)), (theirs, ours)
        return
    assert told == warned and tuple(ours.shape) == tuple(theirs.shape)
    assert ours.dtype.name == str(theirs.dtype).removeprefix("torch.")
    theirs, ours = (np.asarray(t.double().numpy()) for t in (theirs, ours))
    assert [varies(ours, d) for d in range(ours.ndim)] == [varies(theirs, d) for d in range(theirs.ndim)]
    values, counts = np.unique(theirs.round(3), return_counts=True)
    found, times = np.unique(ours.round(3), return_counts=True)
    if ours.ndim > 1:  # else they may all be dropped
        assert found == pytest.approx(values, abs=3e-3)
        draws = np.prod([n for d, n in enumerate(ours.shape) if varies(ours, d)])
        assert times / ours.size == pytest.approx(counts / theirs.size, abs=5 / max(draws, 1) ** 0.5)


def varies(a, d):
    return bool(a.size and (a != a.take([0], d)).any())


@pytest.mark.parametrize("ndim", range(7))
@pytest.mark.parametrize("name", DROPOUTS)
@pytest.mark.parametrize("p", [0.0, 0.25, 1.0])
def test_a_dropout_drops_together_what_pytorch_drops_together(name, ndim, p):
    forms = [(True, {}), (False, {})]
    if name != "feature_dropout":
        forms += [(training, {"inplace": True}) for training in (True, False)]
    for training, options in forms:
        alike(*[dropped(library, name, p, training, ndim=ndim, **options) for library in (torch, minigrad)])


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "int64", "bool"])
@pytest.mark.parametrize("name", DROPOUTS)
def test_a_dropout_keeps_the_dtype_or_refuses_it(name, dtype):
    for p in (0.0, 0.25, 1.0) if dtype != "bool" else (0.0, 0.25):  # ones * 0 of bools has no answer in PyTorch either
        alike(*[dropped(library, name, p, True, ndim=4, dtype=dtype) for library in (torch, minigrad)])


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (0, 3, 2), (2, 3, 0, 4), (2, 0, 3, 4, 5)])
@pytest.mark.parametrize("name", DROPOUTS)
def test_a_dropout_of_nothing_is_nothing(name, shape):
    for p in (0.25, 1.0):
        alike(*[dropped(library, name, p, True, ndim=0, shape=shape) for library in (torch, minigrad)])


LAYERS = ["Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout"]


@pytest.mark.parametrize("ndim", range(1, 6))
@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_does_the_same_and_its_gradient_is_its_noise(name, ndim):
    results = []
    for library in (torch, minigrad):
        library.manual_seed(2)
        x = library.ones(SHAPE[:ndim], requires_grad=True)
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            try:
                y = getattr(library.nn, name)(0.25)(x)
                (y * 3).sum().backward()
            except RuntimeError as e:
                results.append((e, len(given)))
                continue
        assert ((x.grad == 0) == (y == y.min())).all()
        results.append((x.grad, len(given)))
    alike(*results)


@pytest.mark.parametrize(
    "name", ["dropout2d", "feature_dropout", "feature_alpha_dropout", "alpha_dropout", "dropout1d"]
)
def test_a_mean_and_a_variance_stay_as_in_pytorch(name):
    found = []
    for library in (torch, minigrad):
        library.manual_seed(0)
        x = library.randn(200, 150, 2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            y = (getattr(library.nn.functional, name, None) or getattr(library, name))(x, 0.3, True)
        found.append((y.mean().item(), y.std().item()))
    assert found[0] == pytest.approx(found[1], abs=0.03)
