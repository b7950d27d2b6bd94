"""Many normal numbers from the kernel, beside their definition."""

import numpy as np
import pytest

from minigrad.kernels.cpu import normal_rng

DTYPES = [np.dtype(np.float32), np.dtype(np.float64)]


def generator(seed=3):
    return np.random.Generator(np.random.Philox(seed))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("size", [(5000,), (71, 73), (2, 0, 3), (), (4097,)])
def test_the_kernel_gives_what_is_defined(size, dtype, monkeypatch):
    found = normal_rng.normal(generator(), size, dtype)
    monkeypatch.setattr(normal_rng, "only_definitions", lambda: True)
    expected = normal_rng.normal(generator(), size, dtype)
    assert found.shape == size and found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=16 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_numbers_are_normal_and_independent(dtype):
    x = normal_rng.normal(generator(), (2, 300_000), dtype).astype(np.float64)
    assert abs(x.mean()) < 0.005 and abs((x**2).mean() - 1) < 0.01
    assert abs((x**3).mean()) < 0.02 and abs((x**4).mean() - 3) < 0.05 and abs((np.abs(x) < 1).mean() - 0.68269) < 0.003
    assert abs((x[0] * x[1]).mean()) < 0.01 and abs((x[0] ** 2 * x[1] ** 2).mean() - 1) < 0.03  # pairs of one length
    assert abs((x[0, 1:] * x[0, :-1]).mean()) < 0.01


def test_few_numbers_are_numpys():
    np.testing.assert_array_equal(
        normal_rng.normal(generator(), (9,), DTYPES[0]), generator().standard_normal(9, np.float32)
    )


def test_each_draw_leads_the_stream_on():
    rng = generator()
    assert not np.intersect1d(
        normal_rng.normal(rng, (5000,), DTYPES[1]), normal_rng.normal(rng, (5000,), DTYPES[1])
    ).size


@pytest.mark.parametrize("shape", [(5000,), (3, 4097), (10,), (0,), (1,)])
def test_permutations_have_every_number_once(shape):
    found = normal_rng.permutations(generator(), shape)
    assert found.shape == shape
    np.testing.assert_array_equal(np.sort(found, -1), np.broadcast_to(np.arange(shape[-1]), shape))


def test_every_number_of_a_permutation_comes_to_every_part():
    found = normal_rng.permutations(generator(), (20, 8192)) // 1024
    for part in np.split(found, 8, -1):
        counts = np.bincount(part.reshape(-1), minlength=8)
        assert abs(counts - 20 * 128).max() < 5 * np.sqrt(20 * 128)
