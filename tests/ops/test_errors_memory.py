"""Sizes that no computer has room for: each call ends at once, and says how many bytes it would have taken."""

import numpy as np
import pytest

import minigrad
from minigrad.errors import OutOfMemoryError
from tests.refusals import check, raised

pytestmark = pytest.mark.cpu("is about the computer's memory; a GPU's: tests/kernels/cuda/test_allocator.py")

# (text, who, words that have to be said)
# fmt: off
CASES = [
    *[(f'torch.{name}(10**15)', name, ' 4000000000000000 bytes (3.6 PiB)', 'use smaller sizes')
      for name in ('zeros', 'ones', 'empty', 'rand', 'randn')],
    ('torch.ones(10**15)', 'ones', 'shape (1000000000000000,) of float32 has 1000000000000000 elements, 4'),
    ('torch.zeros(2**40, 2**40)', 'zeros', '4835703278458516698824704 bytes'),
    ('torch.zeros(2**63)', 'zeros', '36893488147419103232 bytes (32.0 EiB)'),
    ('torch.zeros(2**64, dtype=torch.float64)', 'zeros', '18446744073709551616 elements, 147573952589676412928 bytes'),
    ('torch.full((10**15,), 1.0)', 'full', '4000000000000000 bytes'),
    ('torch.full((10**15,), True)', 'full', '1000000000000000 bytes'),
    ('torch.zeros_like(T(1).expand(10**15))', 'zeros_like', '4000000000000000 bytes'),
    ('torch.empty_strided((10**15,), (1,))', 'empty_strided', '4000000000000000 bytes'),
    ('T(1).new_ones(10**15)', 'new_ones', '4000000000000000 bytes'),
    ('torch.arange(10**15)', 'arange', '8000000000000000 bytes'),
    ('torch.arange(1e15)', 'arange', '4000000000000000 bytes'),
    ('torch.arange(1e300)', 'arange', 'more than 9223372036854775807 bytes'),
    ('torch.linspace(0, 1, 10**15)', 'linspace', '8000000000000000 bytes'),
    ('torch.logspace(0, 1, 10**15)', 'logspace', '8000000000000000 bytes'),
    ('torch.linspace(0, 1, 2**70)', 'linspace', 'steps 1180591620717411303424 would have more than 9223372036854775807 bytes'),
    ('torch.eye(10**8)', 'eye', 'shape (100000000, 100000000) of float32', '40000000000000000 bytes (35.5 PiB)'),
    ('torch.tril_indices(10**8, 10**8)', 'tril_indices', '10000000000000000 bytes'),
    ('torch.randperm(10**15)', 'randperm', '8000000000000000 bytes'),
    ('torch.randint(0, 5, (10**15,))', 'randint', '8000000000000000 bytes'),
    ('T(1, 1).expand(10**8, 10**8).contiguous()', 'contiguous', '40000000000000000 bytes'),
    ('T(1).expand(10**15).clone()', 'clone', '4000000000000000 bytes'),
    ('T(1).expand(10**8)[:, None] + T(1).expand(10**8)', 'add', '40000000000000000 bytes'),
    ('T(1).expand(10**15).exp()', 'exp', '4000000000000000 bytes'),
    ('T(1, 1).expand(10**7, 1) @ T(1, 1).expand(1, 10**7)', 'matmul', '400000000000000 bytes'),
    ('torch.outer(T(1).expand(10**8), T(1).expand(10**8))', 'outer', '40000000000000000 bytes'),
    ('T(2).repeat(10**15)', 'repeat', '8000000000000000 bytes'),
    ('T(3).repeat_interleave(10**15)', 'repeat_interleave', '12000000000000000 bytes'),
    ('torch.cat([T(1).expand(10**15)] * 2)', 'cat', '8000000000000000 bytes'),
    ('torch.stack([T(1).expand(10**15)] * 2)', 'stack', '8000000000000000 bytes'),
    ('torch.bincount(torch.tensor([10**15]))', 'bincount', '8000000000000008 bytes'),
    ('torch.histc(T(3), 2**50)', 'histc', '4503599627370496 bytes'),
    ('F.one_hot(torch.tensor([10**15]))', 'one_hot', '8000000000000008 bytes'),
    ('F.pad(T(2), (10**15, 0))', 'pad', '4000000000000008 bytes'),
    ('torch.diag_embed(T(1).expand(10**8))', 'diag_embed', '40000000000000000 bytes'),
    ('torch.diag_embed(T(4), offset=2**62)', 'diag_embed', 'more than 9223372036854775807 bytes'),
    ('torch.kron(T(1).expand(10**8), T(1).expand(10**8))', 'kron', '40000000000000000 bytes'),
    ('torch.cdist(T(1, 1).expand(10**7, 1), T(1, 1).expand(10**7, 1))', 'cdist', '400000000000000 bytes'),
    ('torch.cartesian_prod(*[T(4)] * 40)', 'cartesian_prod', 'more than 9223372036854775807 bytes'),
    ('F.conv1d(T(1, 1, 8), T(1, 1, 2), padding=2**50)', 'conv1d', 'not enough memory', ' bytes'),
    ('F.interpolate(T(1, 1, 8), 2**50)', 'interpolate', '9007199254740992 bytes'),
    ('nn.Linear(2, 10**15)', 'empty', '8000000000000000 bytes'),
    ('torch.combinations(torch.arange(100000), 4)', 'combinations', '(4166416671249975000, 4)'),
    ('torch.combinations(torch.arange(100000), 50000)', 'combinations', 'not enough memory'),
    ('torch.combinations(torch.arange(5), 2**31, True)', 'combinations', 'not enough memory'),
    ('torch.tensor_split(T(4), 2**31)', 'tensor_split', '2147483648 tensors take about 1073741824000 bytes'),
    ('T(0).chunk(2**31)', 'chunk', '2147483648 tensors take about'),
    ('T(1).expand(2**31).split(1)', 'split', '2147483648 tensors take about'),
    ('T(1).expand(2**31).unbind()', 'unbind', '2147483648 tensors take about'),
    ('nn.LSTM(2, 2, num_layers=2**31)', 'LSTM', '2147483648 layers take about 1073741824000 bytes'),
    ('nn.TransformerEncoder(nn.Linear(2, 2), 2**31)', 'TransformerEncoder', '2147483648 layers take about'),
]
# fmt: on
ENDLESS = "tensor_split", "chunk", "split", "unbind", "combinations", "LSTM", "TransformerEncoder"
# what PyTorch begins to make, and where it finds an int too long before it thinks of memory
NOT_IN_PYTORCH = {
    text for text, who, *_ in CASES if who in ENDLESS or "2**6" in text and "2**62" not in text or "2**70" in text
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_the_error_is_out_of_memory_and_no_internal_failure(case):
    check(*case)
    e = raised(minigrad, case[0])
    assert isinstance(e, OutOfMemoryError) and isinstance(e, RuntimeError) and isinstance(e, MemoryError)
    assert "cannot be called" not in str(e)


def test_a_number_of_many_digits_is_shown_no_longer_than_python_shows_it():
    assert "not enough memory" in str(raised(minigrad, "torch.zeros(10**6000)"))


@pytest.mark.parametrize("text", ["torch.zeros(*[1] * 70)", "torch.meshgrid(*[T(2)] * 70)", "T(1)[(None,) * 70]"])
def test_too_many_dimensions_are_an_error_and_no_lack_of_memory(text):
    e = raised(minigrad, text)
    assert isinstance(e, RuntimeError) and not isinstance(e, MemoryError)
    assert "a tensor has at most" in str(e), e


@pytest.mark.parametrize("n", [2**20, 2**31, 2**62])
def test_polygamma_of_a_large_order_is_infinite_at_once(n):
    assert minigrad.polygamma(n, minigrad.tensor([0.5, 1.0])).tolist() == [-np.inf] * 2
    assert minigrad.polygamma(n + 1, minigrad.tensor([0.5, 1.0])).tolist() == [np.inf] * 2


def test_polygamma_has_all_digits_up_to_order_170():
    x = minigrad.tensor([1.5], dtype=minigrad.float64)
    assert minigrad.polygamma(170, x).item() == pytest.approx(-5.612762894906341e276)


def test_combinations_equal_itertools_combinations():
    rows = minigrad.combinations(minigrad.arange(4), 2).tolist()
    assert rows == [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    assert minigrad.combinations(minigrad.arange(2), 3, True).tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]]
    assert minigrad.combinations(minigrad.arange(3), 0).shape == (1, 0)
    assert minigrad.combinations(minigrad.arange(3), 2**31).shape == (0, 2**31)
    assert minigrad.combinations(minigrad.arange(0), 2, True).shape == (0, 2)
