"""Random tensors: ranges, moments, seeds, states, generators, threads, gradients and vmap's randomness."""

import copy
import pickle
import threading
import tracemalloc

import numpy as np
import pytest

import minigrad
from minigrad.ops.base.registry import TABLE
from tests import table

N = 20_000


def mean_and_std(t):
    a = t.numpy().astype(np.float64)
    return a.mean(), a.std()


@pytest.mark.parametrize(
    ("draw", "mean", "std"),
    [
        (lambda: minigrad.rand(N), 0.5, 12**-0.5),
        (lambda: minigrad.randn(N), 0.0, 1.0),
        (lambda: minigrad.randint(-2, 3, (N,)), 0.0, 2**0.5),
        (lambda: minigrad.bernoulli(minigrad.full((N,), 0.3)), 0.3, 0.21**0.5),
        (lambda: minigrad.normal(2.0, 3.0, (N,)), 2.0, 3.0),
        (lambda: minigrad.normal(minigrad.full((N,), 2.0), 3.0), 2.0, 3.0),
        (lambda: minigrad.poisson(minigrad.full((N,), 4.0)), 4.0, 2.0),
        (lambda: minigrad.binomial(minigrad.full((N,), 8.0), minigrad.tensor(0.25)), 2.0, 1.5**0.5),
        (lambda: minigrad.empty(N).uniform_(-1, 3), 1.0, 4 * 12**-0.5),
        (lambda: minigrad.empty(N).normal_(1, 2), 1.0, 2.0),
        (lambda: minigrad.empty(N).exponential_(2), 0.5, 0.5),
        (lambda: minigrad.empty(N).log_normal_(0, 0.5), np.exp(0.125), (np.exp(0.25) - 1) ** 0.5 * np.exp(0.125)),
        (lambda: minigrad.empty(N).cauchy_(2, 3).clamp(2 - 3, 2 + 3), 2.0, 3 * (2 / np.pi) ** 0.5),
        (lambda: minigrad.empty(N).geometric_(0.25), 4.0, 12**0.5),
        (lambda: minigrad.empty(N).bernoulli_(0.25), 0.25, 0.1875**0.5),
        (lambda: minigrad.empty(N, dtype=minigrad.int64).random_(0, 5), 2.0, 2**0.5),
        (lambda: minigrad.rand_like(minigrad.zeros(N, dtype=minigrad.float64)), 0.5, 12**-0.5),
        (lambda: minigrad.randn_like(minigrad.zeros(N)), 0.0, 1.0),
        (lambda: minigrad.randint_like(minigrad.zeros(N), 5), 2.0, 2**0.5),
    ],
)
def test_moments(draw, mean, std):
    minigrad.manual_seed(0)
    found = mean_and_std(draw())
    assert found == (pytest.approx(mean, abs=5 * std / N**0.5), pytest.approx(std, rel=0.05))


def test_dtypes_and_ranges():
    assert minigrad.rand(3).dtype == minigrad.randn(3).dtype == minigrad.float32
    assert minigrad.rand(3, dtype=minigrad.float64).dtype == minigrad.float64
    assert minigrad.randint(5, (3,)).dtype == minigrad.randperm(3).dtype == minigrad.int64
    x = minigrad.rand(1000)
    assert x.numpy().min() >= 0 and x.numpy().max() < 1
    assert sorted(minigrad.randperm(100).tolist()) == list(range(100))
    assert set(minigrad.randint(2, 5, (1000,)).tolist()) == {2, 3, 4}
    assert minigrad.rand(2, requires_grad=True).is_leaf


@pytest.mark.cpu("it watches the processor's generator")
def test_the_operations_that_draw_are_known():
    found = set()
    for name in table.NAMES:
        before = minigrad.get_rng_state()
        for sample in TABLE[name].samples:
            table.run(name, sample)
        found |= set() if minigrad.equal(before, minigrad.get_rng_state()) else {name}
    assert found == set(table.DRAWN)


def test_same_seed_same_numbers():
    draws = lambda: (minigrad.rand(3).tolist(), minigrad.randn(3).tolist(), minigrad.randperm(5).tolist())
    minigrad.manual_seed(7)
    first = draws()
    assert minigrad.initial_seed() == 7
    assert draws() != first
    minigrad.manual_seed(7)
    assert draws() == first
    minigrad.seed()
    assert draws() != first


@pytest.mark.cpu("the state of the processor's generator; that of the GPU is in minigrad.cuda")
def test_the_state_is_restored_in_the_middle_of_a_buffer():
    minigrad.manual_seed(1)
    minigrad.rand(3), minigrad.randn(1), minigrad.randint(9, (1,))
    state = minigrad.get_rng_state()
    first = [minigrad.rand(3).tolist(), minigrad.randint(9, (5,)).tolist()]
    minigrad.set_rng_state(state)
    assert [minigrad.rand(3).tolist(), minigrad.randint(9, (5,)).tolist()] == first


def test_fork_rng_restores_the_default_generator():
    minigrad.manual_seed(1)
    state = minigrad.get_rng_state().tolist()
    with minigrad.fork_rng():
        minigrad.rand(5)
    assert minigrad.get_rng_state().tolist() == state


def test_a_generator_is_independent_of_the_default_one():
    g = minigrad.Generator(minigrad.get_default_device())
    g.manual_seed(3)
    minigrad.manual_seed(0)
    a = minigrad.rand(2, generator=g)
    minigrad.manual_seed(0)
    b = minigrad.rand(2)
    assert a.tolist() != b.tolist()
    copies = [g.clone_state(), copy.deepcopy(g), pickle.loads(pickle.dumps(g))]
    found = minigrad.randn(2, generator=g).tolist()
    assert [minigrad.randn(2, generator=one).tolist() for one in copies] == [found] * 3
    assert (g.initial_seed(), g.device) == (3, a.device)
    for fill in ("uniform_", "normal_", "exponential_", "bernoulli_", "random_", "cauchy_", "log_normal_"):
        x, y = minigrad.zeros(8), minigrad.zeros(8)
        getattr(x, fill)(generator=g.manual_seed(1))
        getattr(y, fill)(generator=g.manual_seed(1))
        assert x.tolist() == y.tolist()


def test_threads_draw_different_numbers():
    drawn = []
    work = lambda: drawn.extend(tuple(minigrad.rand(4).tolist()) for _ in range(200))
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(set(drawn)) == 800


def test_multinomial_follows_the_weights():
    minigrad.manual_seed(0)
    p = minigrad.tensor([1.0, 0.0, 3.0])
    drawn = minigrad.multinomial(p, N, replacement=True).numpy()
    assert np.bincount(drawn, minlength=3) / N == pytest.approx([0.25, 0.0, 0.75], abs=0.02)
    first = np.array([minigrad.multinomial(p, 1).item() for _ in range(2000)])
    assert np.bincount(first, minlength=3) / 2000 == pytest.approx([0.25, 0.0, 0.75], abs=0.05)


@pytest.mark.parametrize("rows", [(), (2,)])
def test_as_many_draws_as_weights_take_little_memory(rows):
    p = minigrad.rand(*rows, 20_000)
    tracemalloc.start()
    drawn = minigrad.multinomial(p, 20_000, replacement=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e7 and drawn.shape == p.shape and drawn.min() >= 0 and drawn.max() < 20_000


def test_multinomial_without_replacement_draws_each_once():
    rows = minigrad.multinomial(minigrad.rand(50, 6) + 0.1, 6)
    assert (np.sort(rows.numpy(), -1) == np.arange(6)).all()
    assert rows.dtype == minigrad.int64


def test_random_draws_have_zero_gradients():
    p = minigrad.full((3,), 0.5, requires_grad=True)
    for y in (p.bernoulli(), minigrad.poisson(p), minigrad.normal(p, 1.0), minigrad.normal(0.0, p)):
        (g,) = minigrad.autograd.grad(y.sum(), p)
        assert g.tolist() == [0.0, 0.0, 0.0]


def test_filling_in_place_cuts_the_past():
    x = minigrad.ones(3, requires_grad=True)
    y = x * 2
    y.uniform_()
    (g,) = minigrad.autograd.grad(y.sum(), x, allow_unused=True, materialize_grads=True)
    assert g.tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(RuntimeError, match="leaf"):
        x.normal_()
    with minigrad.no_grad():
        x.normal_()


@pytest.mark.parametrize(
    "draw",
    [
        lambda x: minigrad.rand(2),
        minigrad.randn_like,
        lambda x: minigrad.randperm(50) + x[0],
        lambda x: minigrad.normal(x, 1.0),
        lambda x: minigrad.bernoulli(minigrad.full((64,), 0.5)),
        lambda x: minigrad.multinomial(minigrad.ones(100), 9),
        lambda x: minigrad.ones_like(x).uniform_(),
        lambda x: minigrad.randn_like(minigrad.zeros(3, 5).T),
    ],
)
def test_randomness_under_vmap(draw):
    x = minigrad.zeros(3, 2)
    a, b, c = minigrad.vmap(draw, randomness="different")(x).tolist()
    assert a != b != c != a
    a, b, c = minigrad.vmap(draw, randomness="same")(x).tolist()
    assert a == b == c


def test_randomness_of_nested_vmaps():
    f = lambda x: x + minigrad.rand(())
    both = minigrad.vmap(minigrad.vmap(f, randomness="different"), randomness="different")(minigrad.zeros(2, 3))
    assert len(set(both.reshape(-1).tolist())) == 6
    outer = minigrad.vmap(minigrad.vmap(f, randomness="same"), randomness="different")(minigrad.zeros(2, 3)).tolist()
    assert [len(set(row)) for row in outer] == [1, 1] and outer[0] != outer[1]


def test_limits_by_their_names_in_pytorch():
    assert (
        minigrad.randint(high=1, size=(2,)).tolist()
        == minigrad.randint_like(minigrad.ones(2), high=1).tolist()
        == [0, 0]
    )
    assert minigrad.empty(2).uniform_(**{"from": 2, "to": 2}).tolist() == [2.0, 2.0]
    assert minigrad.empty(2).random_(**{"from": 1, "to": 2}).tolist() == [1.0, 1.0]
