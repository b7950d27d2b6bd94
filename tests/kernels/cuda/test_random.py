"""Random numbers on the device: Philox's words, and what is drawn on the processor for it."""

import numpy as np
import pytest

import minigrad
from minigrad.kernels.cuda.random_cuda import RandomStream

DTYPES = [np.dtype(np.float32), np.dtype(np.float64)]
SIZES = [(), (2, 0, 3), (3, 5), (1,), (300,)]


def parts(blocks, dtype, seed):
    """Return the upper bits of Philox's words, as many as the dtype has digits, as numbers in [0, 1)."""
    words = np.random.Philox(key=seed, counter=2**256 - 1).random_raw(4 * blocks)
    digits = np.finfo(dtype).nmant + 1
    return (words >> np.uint64(64 - digits)).astype(np.float64) * 2.0**-digits


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_uniform_numbers_are_philoxs(dtype):
    there, blocks = RandomStream(), 0
    there.seed(3)
    for size in SIZES:
        found = there.uniform(size, dtype).to_host()
        n = -(-found.size // 4)
        assert found.shape == size and found.dtype == dtype
        np.testing.assert_array_equal(found.reshape(-1), parts(blocks + n, dtype, 3)[4 * blocks :][: found.size])
        blocks += n


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_normal_numbers_are_made_of_pairs(dtype):
    there, blocks = RandomStream(), 0
    there.seed(5)
    for size in SIZES:
        found = there.normal(size, dtype, 1.0, 3.0).to_host()
        n = -(-found.size // 4)
        u, v = parts(blocks + n, dtype, 5)[4 * blocks :].reshape(-1, 2).T
        length, angle = np.sqrt(-2 * np.log(u + np.finfo(dtype).epsneg)), 2 * np.pi * v
        expected = np.stack([length * np.cos(angle), length * np.sin(angle)], 1).reshape(-1)[: found.size] * 3 + 1
        assert found.shape == size and found.dtype == dtype
        np.testing.assert_allclose(found.reshape(-1), expected, rtol=1e-5, atol=64 * np.finfo(dtype).eps)
        blocks += n


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
    "cauchy_": lambda **where: minigrad.zeros(4, **where).cauchy_(),
    "log_normal_": lambda **where: minigrad.zeros(4, **where).log_normal_(),
    "geometric_": lambda **where: minigrad.zeros(4, **where).geometric_(0.4),
    "random_": lambda **where: minigrad.zeros(4, **where).random_(5),
    "dropout": lambda **where: minigrad.nn.functional.dropout(minigrad.ones(3, 4, **where)),
    "dropout2d": lambda **where: minigrad.nn.functional.dropout2d(minigrad.ones(2, 3, 4, 2, **where)),
    "alpha_dropout": lambda **where: minigrad.nn.functional.alpha_dropout(minigrad.ones(3, 4, **where), training=True),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_seed_gives_the_same_numbers_again_on_the_device(name):
    drawn = []
    for _ in range(2):
        minigrad.manual_seed(7)
        drawn.append(DRAWS[name](device="cuda"))
    here = DRAWS[name]()
    assert drawn[0].is_cuda and drawn[0].dtype is here.dtype and drawn[0].shape == here.shape
    np.testing.assert_array_equal(drawn[0].cpu().numpy(), drawn[1].cpu().numpy())
    with minigrad.device("cuda"):
        assert DRAWS[name]().is_cuda


def test_generators_belong_to_a_device():
    here, there = minigrad.Generator().manual_seed(3), minigrad.Generator("cuda").manual_seed(3)
    assert there.device.type == "cuda" and there.initial_seed() == 3
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
    assert found.tolist() == minigrad.rand(3, 2, device="cuda").tolist()
