"""A seed gives PyTorch's numbers: every function, layer, distribution and sampler that draws, and the state after it."""

import itertools

import numpy as np
import pytest
import torch

import minigrad
from tests import table

SEEDS = [0, 1, 42, 2**40 + 7, -3]
SHAPES = [(), (1,), (5,), (16,), (17,), (4, 5), (33, 2), (100,)]
DTYPES = ["float64", "float32", "float16", "bfloat16"]
DIGITS = {"float64": 1e-12, "float32": 2e-6, "float16": 2e-3, "bfloat16": 2e-2}
FILLS = ["uniform_()", "uniform_(2, 5)", "normal_()", "normal_(1, 2)", "bernoulli_(0.3)", "exponential_(2)", "random_()",
         "random_(9)", "random_(-3, 4)", "cauchy_(1, 2)", "log_normal_(0.5, 0.7)", "geometric_(0.3)"]  # fmt: skip
LIKE = ["rand_like", "randn_like", "nn.functional.dropout", "nn.functional.alpha_dropout", "bernoulli"]
MEMORIES = {
    "row-major": lambda x: x,
    "transposed": lambda x: x.T,
    "a column": lambda x: x[:, 0],
    "dimensions moved": lambda x: x[None, :, :, None].permute(3, 1, 0, 2),
}


def numbers(x):
    """Return the numbers of what a program draws: tensors, indices or structures of them."""
    if isinstance(x, (list, tuple)):
        return [n for part in x for n in numbers(part)]
    x = x.detach() if hasattr(x, "detach") else x
    return [np.asarray(x.double().numpy() if hasattr(x, "double") else x, np.float64)]


def same(draw, digits=2e-6, seeds=SEEDS):
    """Draw in both libraries; compare the numbers, and the state of the generator."""
    for seed in seeds:
        found = []
        for library in (torch, minigrad):
            library.manual_seed(seed)
            found.append(numbers(draw(library)))
        for theirs, ours in zip(*found, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=digits, atol=digits / 4)
        assert bytes(minigrad.get_rng_state().numpy()) == bytes(torch.get_rng_state().numpy())


def evaluated(program, digits=2e-6, seeds=SEEDS):
    same(lambda library: eval(program, {"torch": library, "np": np}), digits, seeds)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("fill", FILLS)
def test_a_tensor_is_filled_with_the_same_numbers(fill, dtype):
    for shape, memory in itertools.product(SHAPES, MEMORIES.values()):
        if len(shape) == 2 or memory is MEMORIES["row-major"]:
            same(lambda t: eval(f"x.{fill}", {"x": memory(t.zeros(shape, dtype=getattr(t, dtype)))}), DIGITS[dtype])


@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "int8", "uint8", "bool"])
def test_integers_fill_a_dtype_or_a_range(dtype):
    for shape in SHAPES:
        same(lambda t: t.zeros(shape, dtype=getattr(t, dtype)).random_())
        same(lambda t: t.zeros(shape, dtype=getattr(t, dtype)).random_(2))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", LIKE)
def test_a_result_like_a_tensor_has_the_same_numbers(name, dtype):
    *path, last = name.split(".")
    for shape, memory in itertools.product(SHAPES, MEMORIES.values()):
        if len(shape) == 2 or memory is MEMORIES["row-major"]:

            def draw(t):
                f = getattr(t.nn.functional if path else t, last)
                return f(memory(t.full(shape, 0.3, dtype=getattr(t, dtype))), *[0.4, True] * bool(path))

            same(draw, DIGITS[dtype], SEEDS[:2])


PROGRAMS = [
    *[f"torch.{f}({s})" for f in ("rand", "randn") for s in SHAPES],
    *[f"torch.randint({limits}, {s})" for limits in ("10", "-3, 4", "2**28", "-2**40, 2**50") for s in SHAPES],
    *[f"torch.randperm({n})" for n in (0, 1, 2, 10, 1000)],
    *[f"torch.normal({p})" for p in ("0.0, 1.0, (5,)", "torch.arange(20.), 2.0", "0.5, torch.ones(40) / 3",
                                     "torch.zeros(3, 7), torch.ones(3, 7)")],
    *[f"torch.poisson(torch.full((40,), {mean}))" for mean in (0.0, 0.3, 9.9, 10.0, 1000.0)],
    *[f"torch.binomial(torch.full((40,), {n}), torch.full((40,), {p}))"
      for n, p in ((5.0, 0.3), (100.0, 0.3), (100.0, 0.7), (50.0, 0.01), (1000.0, 0.5), (3.0, 1.0), (0.0, 0.3))],
    *[f"torch.multinomial(torch.tensor({p}), {n})" for p in ([0.1, 0.2, 0.3, 0.4], [[0.1, 0.2, 0.7], [1, 2, 0.5]])
      for n in ("1", "2", "1, True", "7, True")],
    "torch.bernoulli(torch.zeros(9), 0.3)", "torch.randint_like(torch.zeros(9), 5)",
    "torch.nn.functional.rrelu(torch.arange(-4.0, 5.0), training=True)",
    "torch.nn.functional.gumbel_softmax(torch.arange(12.0).reshape(4, 3))",
    "torch.nn.functional.gumbel_softmax(torch.arange(12.0).reshape(4, 3), hard=True)",
    *[f"torch.{f}(torch.ones(2, 3, 4), 0.4, True)" for f in ("feature_dropout", "nn.functional.dropout1d",
                                                            "nn.functional.feature_alpha_dropout")],
    "torch.nn.functional.dropout2d(torch.ones(2, 3, 4, 5), 0.4)",
    "torch.nn.functional.dropout3d(torch.ones(2, 3, 4, 5, 2), 0.4)",
    *[f"torch.nn.init.{f}_(torch.empty({s}))" for s in ("4, 5", "5, 4", "20, 3, 2") for f in (
        "uniform normal trunc_normal xavier_uniform xavier_normal kaiming_uniform kaiming_normal orthogonal").split()],
    *[f"torch.nn.init.trunc_normal_(torch.empty(40), {p})" for p in ("0, 1, 2, 4", "3, 1, -2, 2")],
    *[f"[*torch.nn.{layer}.parameters()]" for layer in (
        "Linear(3, 2)", "Bilinear(3, 4, 2)", "Conv1d(2, 3, 3)", "Conv2d(2, 4, 3, groups=2)", "Conv3d(2, 3, 3)",
        "ConvTranspose2d(2, 3, 3)", "Embedding(5, 3)", "EmbeddingBag(5, 3)", "RNN(3, 4)", "LSTM(3, 4, 2)", "GRU(3, 4)",
        "RNNCell(3, 4)", "LSTMCell(3, 4)", "GRUCell(3, 4)", "MultiheadAttention(8, 2)", "MultiheadAttention(8, 2, kdim=4)",
        "TransformerEncoderLayer(8, 2, 16)", "TransformerDecoderLayer(8, 2, 16)", "Transformer(8, 2, 1, 1, 16)",
        "Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 2))")],
    *[f"[*torch.utils.data.{s}]" for s in (
        "RandomSampler(range(20))", "RandomSampler(range(20), True, 50)", "SubsetRandomSampler(range(20))",
        "WeightedRandomSampler([0.1, 0.5, 0.4], 10)", "DataLoader(torch.arange(20), 4, shuffle=True)",
        "DataLoader(torch.arange(20), 4)", "DataLoader(torch.arange(20), 3, True, generator=torch.Generator().manual_seed(4))",
        "distributed.DistributedSampler(range(20), 2, 0, seed=3)")],
    "[[*part] for part in torch.utils.data.random_split(range(20), [5, 15])]",
    "[[*part] for part in torch.utils.data.random_split(range(20), [0.3, 0.7], torch.Generator().manual_seed(3))]",
    "[torch.randn(3), torch.randn(3), torch.rand(2), torch.randn(20), torch.randn(3, dtype=torch.float64)]",
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_draws_the_same_numbers(program):
    evaluated(program)


DISTRIBUTIONS = ["Normal(M, S)", "Laplace(M, S)", "Gumbel(M, S)", "Uniform(M, M + S)", "Exponential(S)", "Gamma(S, S)",
                 "Beta(S, 2 * S)", "Dirichlet(P)", "Dirichlet(P[0])", "Bernoulli(P)", "Bernoulli(logits=P)",
                 "ContinuousBernoulli(P)", "Categorical(P)", "Categorical(logits=P)", "Categorical(P[0])",
                 "OneHotCategorical(P)", "OneHotCategoricalStraightThrough(P)", "Multinomial(5, P)",
                 "MultivariateNormal(torch.zeros(3), 2 * torch.eye(3))", "Independent(D.Normal(M, S), 1)",
                 "TransformedDistribution(D.Normal(M, S), [D.transforms.ExpTransform()])",
                 "MixtureSameFamily(D.Categorical(P[0]), D.Normal(torch.arange(3.0), torch.ones(3)))"]  # fmt: skip


@pytest.mark.parametrize("made", DISTRIBUTIONS)
def test_a_distribution_draws_the_same_numbers(made):
    def drawn(shape, method):
        def draw(t):
            scope = {"torch": t, "D": t.distributions, "M": t.tensor([0.0, 1.0]), "S": t.tensor([0.5, 2.0])}
            d = eval(f"D.{made}", scope | {"P": t.tensor([[0.5, 0.2, 0.3], [0.6, 0.3, 0.1]])})
            return getattr(d, method)(shape) if method == "sample" or d.has_rsample else ()

        return draw

    for shape, method in itertools.product([(), (1,), (3,), (20,), (2, 3)], ["sample", "rsample"]):
        same(drawn(shape, method), 1e-5, SEEDS[:3])


def test_every_operation_that_draws_is_compared():
    programs = " ".join([*PROGRAMS, *FILLS, *LIKE])
    assert [name for name in table.DRAWN if name not in programs] == []


def test_a_state_is_carried_from_one_library_to_the_other():
    torch.manual_seed(5)
    torch.randn(7)
    minigrad.set_rng_state(minigrad.tensor(torch.get_rng_state().numpy()))
    assert minigrad.initial_seed() == 5
    np.testing.assert_allclose(minigrad.randn(40).numpy(), torch.randn(40).numpy(), rtol=2e-6, atol=1e-6)
    torch.set_rng_state(torch.tensor(minigrad.get_rng_state().numpy()))
    assert torch.rand(3).tolist() == minigrad.rand(3).tolist()
