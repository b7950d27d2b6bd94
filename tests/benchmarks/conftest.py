"""The benchmarks set the number of threads; the other tests keep theirs."""

import pytest

import minigrad


@pytest.fixture(autouse=True)
def threads():
    """Put minigrad's number of threads back."""
    n = minigrad.get_num_threads()
    yield
    minigrad.set_num_threads(n)
