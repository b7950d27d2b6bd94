"""The cases of benchmarks/ compute the same in PyTorch."""

import pytest
import torch

import minigrad
from benchmarks import measure, peers
from benchmarks.cases import CASES
from tests.floats import some

BOTH = [peers.BY_NAME[name] for name in ("minigrad", "torch")]


@pytest.fixture(autouse=True)
def threads():
    """Put the numbers of threads back, which the benchmarks set to 1."""
    n = minigrad.get_num_threads(), torch.get_num_threads()
    yield
    minigrad.set_num_threads(n[0])
    torch.set_num_threads(n[1])


@pytest.mark.parametrize("case", some(CASES, 4, pytest.mark.nightly), ids=lambda c: c.name)
def test_torch_computes_the_same(case):
    figures, failures = measure.measured(case, BOTH, measure.QUICK)
    assert not failures
    assert {"minigrad", "torch"} <= set(figures)
