"""Tensors from data and from shapes: dtypes, values, shapes and refusals are PyTorch's."""

import itertools
import warnings

import numpy as np
import pytest
import torch

import minigrad
from minigrad.ops import transfer
from tests.parity.harness import related

CALLS = """
m.tensor([np.float64(1)])
m.tensor([np.float32(1), 1.0])
m.tensor([np.int32(1), 2])
m.tensor([np.int8(1), np.int16(2)])
m.tensor([m.tensor([1]), m.tensor([3])])
m.tensor([m.tensor(1), 2.5])
m.tensor([m.tensor(1, dtype=m.int8), m.tensor(2, dtype=m.int8)])
m.tensor([[m.tensor(1.), 2], [True, 4]])
m.tensor([np.array([1, 2]), np.array([3, 4])])
m.tensor([[1, 2], [3]])
m.tensor([[[1], [2]], [[3]]])
m.tensor('a')
m.tensor(['a'])
m.full((2,), 300, dtype=m.int8)
m.full((2,), -1, dtype=m.uint8)
m.full((2,), 2.7, dtype=m.int64)
m.full_like(m.ones(2, dtype=m.int8), 300)
m.ones(2, dtype=m.int8).new_full((1,), 300)
m.tensor(None)
m.tensor([None])
m.tensor([2**63])
m.tensor([300], dtype=m.uint8)
m.tensor([1.5], dtype=m.int64)
m.tensor([[], []])
m.tensor([[1, 2], 3])
m.tensor([1, [2, 3]])
m.tensor(range(3))
m.tensor(np.float64(2))
m.tensor(np.float32(2))
m.tensor(np.bool_(True))
m.tensor(np.arange(6).reshape(2, 3)[:, ::2])
m.tensor([float('nan')], dtype=m.int64)
m.tensor([-1], dtype=m.uint8)
m.tensor([0, 1, 2], dtype=m.bool)
m.tensor((1, (2)))
m.tensor([(1, 2), [3, 4]])
m.tensor({1: 2})
m.tensor(3, dtype=float)
m.tensor(3.7, dtype=int)
m.tensor([1, 2], dtype=bool)
m.ones(2).new_tensor([1, 2])
m.ones(2).new_tensor(np.array([1, 2]))
m.ones(2).new_tensor(m.tensor([1, 2]))
m.ones(2).new_tensor([1.5], dtype=m.int64)
m.ones(2).new_zeros(2, 3, dtype=int)
m.ones(2).new_full((2,), 1)
m.ones(2, dtype=m.int64).new_full((2,), 2.5)
m.zeros()
m.zeros(2.5)
m.zeros(-1)
m.zeros((2, m.tensor(3)))
m.zeros(size=(2,))
m.full((2,), True)
m.full((2,), m.tensor(3.))
m.full((2,), 3, dtype=m.float64)
m.full((), 3)
m.full_like(m.ones(2, dtype=m.int64), 2.5)
m.arange(m.tensor(3))
m.arange(True)
m.arange(0, 5, dtype=m.float64)
m.arange(0, 10, 2.5, dtype=m.int64)
m.arange(0.1, 1, 0.3)
m.arange(1, 2.5)
m.arange(-3, -10, -2)
m.arange(5, 1, -1.5)
m.arange(3, 1)
m.arange(0, 1, 0)
m.arange(0)
m.arange(2.0)
m.linspace(0, 1, -1)
m.linspace(m.tensor(0.), m.tensor(1.), 3)
m.linspace(5, -5, 7)
m.logspace(0, 2, 3)
m.logspace(0, 1, 4, base=2)
m.eye(-1)
m.eye(2, 0)
m.tril_indices(3, 4, -2)
m.triu_indices(4, 3, 2)
m.tril_indices(0, 3)
m.as_tensor([1, 2])
m.as_tensor(np.zeros(2, np.float32), dtype=m.float64)
m.asarray(3)
m.asarray([True])
m.scalar_tensor(3)
m.scalar_tensor(3, dtype=m.int64)
m.from_numpy([1])
m.from_numpy(np.zeros(3)[::-1])
m.from_dlpack(np.ones(2))
m.zeros(2, out=m.ones(2, dtype=m.int64))
m.arange(5, out=m.ones(5))
m.tensor([1, 2]).type(m.float64)
m.tensor([1, 2]).type('torch.DoubleTensor')
m.rand(2, dtype=m.int64)
m.randn(2, dtype=m.int64)
m.randint(3, 3, (2,))
m.randperm(-1)
m.bernoulli(m.tensor([2.]))
m.bernoulli(m.tensor([1]))
m.bernoulli(m.ones(3))
m.bernoulli(m.zeros(3, dtype=m.float64))
m.ones(3).bernoulli(0.0)
m.normal(0., -1., (2,))
m.normal(m.zeros(2), m.tensor([1., -1]))
m.normal(m.ones(2), m.zeros(2))
m.normal(m.ones(2), m.zeros(3, 1))
m.normal(2.0, m.zeros(2, dtype=m.float64))
m.ones(2).uniform_(1, 0)
m.ones(2).uniform_(3, 3)
m.ones(2, dtype=m.int64).uniform_()
m.ones(2).exponential_(-1)
m.ones(2).normal_(0, -1)
m.ones(2).normal_(1.5, 0)
m.multinomial(m.ones(3), 4)
m.multinomial(m.tensor([1., 0, 0]), 2, True)
m.multinomial(m.tensor([0., 0, 2]), 1)
m.multinomial(m.zeros(3), 2)
m.multinomial(m.tensor([-1., 0, 0]), 2)
m.multinomial(m.ones(3), 0)
m.multinomial(m.ones(3, dtype=m.int64), 1)
m.multinomial(m.ones(2, 2, 2), 1)
m.poisson(m.zeros(2))
m.manual_seed(2**64)
""".strip().splitlines()


def outcome(call, m):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            t = eval(call, {"m": m, "np": np})
        except Exception as e:
            return type(e)
    return str(t.dtype).split(".")[-1], tuple(t.shape), t.tolist()


def same(theirs, ours):
    if isinstance(theirs, type) or isinstance(ours, type):
        return isinstance(theirs, type) and isinstance(ours, type) and related(theirs, ours)
    return theirs[:2] == ours[:2] and np.allclose(theirs[2], ours[2], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("call", CALLS)
def test_call(call):
    theirs, ours = outcome(call, torch), outcome(call, minigrad)
    assert same(theirs, ours), f"{call}: {ours}, torch {theirs}"


LEAVES = {
    "bool": [True, False],
    "int": [1, 2],
    "float": [0.5, 2.0],
    "np.float64": list(np.ones(2)),
    "np.int32": list(np.ones(2, "i4")),
}


@pytest.mark.parametrize("kinds", list(itertools.combinations_with_replacement(LEAVES, 3)), ids="-".join)
def test_dtype_of_mixed_lists(kinds):
    data = [LEAVES[k] for k in kinds]
    assert str(minigrad.tensor(data).dtype).split(".")[-1] == str(torch.tensor(data).dtype).split(".")[-1]


def test_strides_of_tensors_like_others():
    for make in (
        lambda m: m.ones(3, 2).t(),
        lambda m: m.ones(2, 3, 4).permute(1, 2, 0),
        lambda m: m.ones(2, 6)[:, ::2],
    ):
        assert minigrad.zeros_like(make(minigrad)).stride() == torch.zeros_like(make(torch)).stride()


PINNED = """
m.ones(2).pin_memory()
m.ones(2, pin_memory=True)
m.tensor([1], pin_memory=True)
m.rand(2, pin_memory=True)
m.empty_like(m.ones(2), pin_memory=True)
m.ones(2).new_ones(3, pin_memory=True)
m.ones(2).new_full((3,), 2., pin_memory=True)
m.empty(3, device='meta').pin_memory()
m.zeros(2, pin_memory=False)
m.zeros(3, device='meta', pin_memory=True).cpu()
m.tensor(m.ones(2).is_pinned())
m.tensor(m.empty(2, device='meta').is_pinned())
""".strip().splitlines()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU to pin memory for")
@pytest.mark.parametrize("call", PINNED)
def test_pinned_memory_without_a_gpu(call, monkeypatch):
    monkeypatch.setattr(transfer, "count", lambda: 0)
    assert same(outcome(call, torch), outcome(call, minigrad))
