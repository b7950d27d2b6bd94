"""Counts that must not grow: calls, kernels launched, bytes, loops.  benchmarks/counts.py says how they are counted.

Times depend on the machine and on what else it does; these do not.  Enter counts that have grown on purpose by
`python -m benchmarks.counts --write`.
"""

import pytest

from benchmarks import counts

TOLERANCE = 0.1  # counts repeat; a tenth leaves room for small features and for other versions of NumPy and Numba


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(counts.KINDS))
def test_counts_have_not_grown_by_more_than_a_tenth(kind):
    expected, found = counts.expected()[kind], counts.counted(kind)
    grown = [
        f"{name}: {count:,}, expected {expected[name]:,}"
        for name, count in found.items()
        if count > expected[name] * (1 + TOLERANCE)
    ]
    assert not grown, f"{kind}; if that is wanted: python -m benchmarks.counts --write\n" + "\n".join(grown)


@pytest.mark.slow
def test_every_count_has_an_expectation():
    assert {kind: set(c) for kind, c in counts.expected().items()} == {
        kind: set(counts.counted(kind)) for kind in counts.KINDS
    }


@pytest.mark.slow
def test_a_node_of_a_chain_keeps_few_bytes():
    assert counts.counted("bytes")["a node of a chain"] <= 250


def test_calls_are_counted_once_each():
    def g():
        return len("ab")

    assert counts.calls_of(lambda: g() + g()) == 5  # the lambda, g and len twice
