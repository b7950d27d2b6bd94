"""The stream of random numbers: compiled and interpreted, it gives the same numbers, and NumPy's words."""

import threading

import numpy as np
import pytest

from minigrad.kernels.cache import without
from minigrad.kernels.cpu.mt19937 import Stream

F4, F8 = np.dtype(np.float32), np.dtype(np.float64)


def seeded(seed):
    stream = Stream()
    stream.seed(seed)
    return stream


MANY = np.linspace(0.05, 3, 300)
DRAWS = {
    "words": lambda s, n: s.words(n),
    "float32": lambda s, n: s.uniform((n,), F4),
    "float64": lambda s, n: s.uniform((n,), F8),
    "normal": lambda s, n: s.normal((n,), F4),
    "normal float64": lambda s, n: s.normal((n,), F8, 1.0, 2.0),
    "normal one by one": lambda s, n: s.normal((n,), F4, blocks=False),
    "integers": lambda s, n: s.integers(-3, 9, (n,)),
    "large integers": lambda s, n: s.integers(-3, 2**40, (n,)),
    "permutations": lambda s, n: s.permutations((2, n)),
    "gamma": lambda s, n: s.each("log_gammas", MANY[:n]),
    "poisson": lambda s, n: s.each("poissons", MANY[:n] * 20),
    "binomial": lambda s, n: s.each("binomials", np.arange(300.0)[:n], MANY[:n] / 3),
}


def drawn(compiled, names, n):
    token = without.set(not compiled)
    try:
        stream = seeded(11)
        return [DRAWS[name](stream, n) for name in names], stream.dump(11)
    finally:
        without.reset(token)


@pytest.mark.parametrize("n", [0, 1, 15, 16, 33, 700])
@pytest.mark.parametrize("name", DRAWS)
def test_kernels_draw_what_the_interpreter_draws(name, n):
    (found, *rest), state = drawn(True, [name, "normal one by one", "words"], n)
    (expected, *others), known = drawn(False, [name, "normal one by one", "words"], n)
    assert found.dtype == expected.dtype and state == known
    for a, b in zip([found, *rest], [expected, *others]):
        np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-6)


def test_words_are_numpys_however_they_are_taken():
    stream, expected = seeded(5), np.random.RandomState(5).randint(0, 2**32, 5000, dtype=np.uint32)
    taken = []
    for k, n in enumerate([1, 2, 620, 1, 0, 1, 1247, 3, 624, 2500, 1]):
        token = without.set(k % 2 == 0)
        taken.append(stream.words(n))
        without.reset(token)
    np.testing.assert_array_equal(np.concatenate(taken), expected)


def test_threads_share_a_stream():
    stream, parts = seeded(5), [[] for _ in range(4)]

    def draw(mine):
        mine.extend(stream.words(1000) for _ in range(50))

    threads = [threading.Thread(target=draw, args=(mine,)) for mine in parts]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    found = np.sort(np.concatenate([words for mine in parts for words in mine]))
    np.testing.assert_array_equal(found, np.sort(seeded(5).words(200_000)))
