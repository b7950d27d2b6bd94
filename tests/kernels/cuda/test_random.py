"""Random numbers on the device: those that the seed gives on the processor, and the same place in the stream after them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minigrad
from minigrad.kernels.cpu import normal_rng
from minigrad.kernels.cuda.random_cuda import RandomStream

DTYPES = [np.dtype(np.float32), np.dtype(np.float64)]


def both(seed=3):
    """Return the stream of a seed on the processor and on the device."""
    return np.random.Generator(np.random.Philox(seed)), RandomStream(np.random.Philox(seed))


def check_place(here, there):
    """Check that both streams continue alike."""
    rest = lambda rng: [rng.random(3, np.float32).tolist(), rng.random(2).tolist(), rng.integers(0, 9, 5).tolist()]
    assert rest(here) == rest(there)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 40), st.sampled_from(DTYPES)), max_size=5), st.integers(0, 9))
def test_uniform_numbers_are_numpys(draws, seed):
    here, there = both(seed)
    for size, dtype in draws:
        found = there.random(size, dtype)
        assert found.dtype == dtype and found.shape == (size,)
        np.testing.assert_array_equal(found.to_host(), here.random(size, dtype))
    check_place(here, there)


@pytest.mark.parametrize("size", [(), (2, 0, 3), (3, 5), (1,), (300,)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_uniform_numbers_of_any_shape(size, dtype):
    here, there = both()
    found = there.random(size, dtype)
    assert found.shape == size
    np.testing.assert_array_equal(found.to_host(), here.random(size, dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("size", [(), (9,), (41, 3), (2, 0)], ids=str)
def test_normal_numbers_are_the_processors(dtype, size, monkeypatch):
    monkeypatch.setattr(normal_rng, "NOISE_FROM", 100)
    here, there = both()
    for rng in (here, there):
        rng.random(3, np.float32)
    found, expected = normal_rng.normal(there, size, dtype), normal_rng.normal(here, size, dtype)
    assert found.dtype == dtype and found.shape == size
    np.testing.assert_allclose(found.to_host(), expected, rtol=1e-5, atol=16 * np.finfo(dtype).eps)
    check_place(here, there)


DRAWS = {
    "rand": lambda **where: minigrad.rand(2, 3, **where),
    "rand64": lambda **where: minigrad.rand(5, dtype=minigrad.float64, **where),
    "randn": lambda **where: minigrad.randn(2, 3, **where),
    "randint": lambda **where: minigrad.randint(3, 9, (4,), **where),
    "randperm": lambda **where: minigrad.randperm(7, **where),
    "rand_like": lambda **where: minigrad.rand_like(minigrad.zeros(3, **where)),
    "randn_like": lambda **where: minigrad.randn_like(minigrad.zeros(3, **where)),
    "randint_like": lambda **where: minigrad.randint_like(minigrad.zeros(3, **where), 5),
    "normal": lambda **where: minigrad.normal(1.0, 2.0, (3,), **where),
    "normal of tensors": lambda **where: minigrad.normal(minigrad.zeros(3, **where), 2.0),
    "bernoulli": lambda **where: minigrad.bernoulli(minigrad.full((5,), 0.5, **where)),
    "bernoulli of p": lambda **where: minigrad.zeros(5, **where).bernoulli(0.5),
    "poisson": lambda **where: minigrad.poisson(minigrad.full((5,), 4.0, **where)),
    "binomial": lambda **where: minigrad.binomial(minigrad.full((5,), 4.0, **where), minigrad.full((5,), 0.5, **where)),
    "multinomial": lambda **where: minigrad.multinomial(minigrad.ones(2, 4, **where), 3),
    "multinomial again": lambda **where: minigrad.multinomial(minigrad.ones(2, 4, **where), 6, True),
    "uniform_": lambda **where: minigrad.zeros(4, **where).uniform_(-1, 1),
    "normal_": lambda **where: minigrad.zeros(4, **where).normal_(1, 2),
    "bernoulli_": lambda **where: minigrad.zeros(4, **where).bernoulli_(0.3),
    "exponential_": lambda **where: minigrad.zeros(4, **where).exponential_(),
    "random_": lambda **where: minigrad.zeros(4, **where).random_(5),
    "dropout": lambda **where: minigrad.nn.functional.dropout(minigrad.ones(3, 4, **where)),
    "dropout2d": lambda **where: minigrad.nn.functional.dropout2d(minigrad.ones(2, 3, 4, 2, **where)),
    "alpha_dropout": lambda **where: minigrad.nn.functional.alpha_dropout(minigrad.ones(3, 4, **where), training=True),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_seed_gives_the_same_numbers_on_both_devices(name):
    minigrad.manual_seed(7)
    here, there = DRAWS[name](), DRAWS[name](device="cuda")
    assert there.is_cuda and there.dtype is here.dtype
    np.testing.assert_allclose(there.cpu().numpy(), here.numpy(), rtol=1e-6)
    with minigrad.device("cuda"):
        assert DRAWS[name]().is_cuda


def test_generators_belong_to_a_device():
    here, there = minigrad.Generator().manual_seed(3), minigrad.Generator("cuda").manual_seed(3)
    assert there.device.type == "cuda" and there.initial_seed() == 3
    assert minigrad.rand(3, generator=there, device="cuda").tolist() == minigrad.rand(3, generator=here).tolist()
    with pytest.raises(RuntimeError, match=r"rand: expected a generator on cuda:0.*found one on cpu"):
        minigrad.rand(3, generator=here, device="cuda")
    with pytest.raises(RuntimeError, match=r"rand: expected a generator on cpu.*found one on cuda:0"):
        minigrad.rand(3, generator=there)


def test_the_default_generator_of_the_device_is_its_own():
    minigrad.manual_seed(1)
    first = minigrad.rand(3, device="cuda").tolist()
    minigrad.manual_seed(1)
    minigrad.rand(5)
    assert minigrad.rand(3, device="cuda").tolist() == first


def test_the_state_of_a_generator_leads_back_to_its_place():
    g = minigrad.Generator("cuda").manual_seed(2)
    minigrad.rand(3, generator=g, device="cuda")
    state = g.get_state()
    assert state.is_cpu
    first = minigrad.rand(4, generator=g, device="cuda").tolist()
    copy = g.set_state(state).clone_state()
    assert minigrad.rand(4, generator=copy, device="cuda").tolist() == first
    with pytest.raises(TypeError, match="on the CPU"):
        g.set_state(state.cuda())


def test_fork_rng_leaves_the_generator_of_the_device_alone():
    minigrad.manual_seed(1)
    with minigrad.fork_rng():
        inside = minigrad.rand(3, device="cuda").tolist()
    assert minigrad.rand(3, device="cuda").tolist() == inside


def test_vmap_draws_for_each_example():
    x = minigrad.zeros(3, 2, device="cuda")
    minigrad.manual_seed(0)
    found = minigrad.func.vmap(lambda row: row + minigrad.rand(2, device="cuda"), randomness="different")(x)
    minigrad.manual_seed(0)
    assert found.tolist() == minigrad.rand(3, 2).tolist()
