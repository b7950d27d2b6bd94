"""The text of a tensor is PyTorch's, apart from the module's name."""

import numpy as np
import pytest
import torch

import minigrad
from minigrad.tensors import printing

random = np.random.default_rng(0)
ARRAYS = {
    "whole": np.array([1.0, 2, -3]),
    "decimals": np.array([0.5, -1.25, 100.0]),
    "small": np.array([1e-5, 1.0]),
    "large": np.array([1e9, 1.0]),
    "ratio": np.array([0.001, 10.0, -4.0]),
    "whole ratio": np.array([1.0, 2000.0]),
    "nan inf": np.array([np.nan, np.inf, -np.inf, 1.0]),
    "nan and decimals": np.array([[np.nan, 0.5], [1.0, np.inf]]),
    "only nan": np.array([np.nan, np.nan]),
    "zeros": np.zeros((2, 2)),
    "negative zero": np.array([-0.0, 1.0]),
    "0-d": np.array(3.14159),
    "0-d whole": np.array(3.0),
    "0-d nan": np.array(np.nan),
    "0-d small": np.array(1e-7),
    "ints": np.array([[1, -20], [300, 4]]),
    "0-d int": np.array(7),
    "int32": np.array([1, 2], np.int32),
    "uint8": np.array([[1, 200]], np.uint8),
    "bools": np.array([[True, False], [False, False]]),
    "0-d bool": np.array(True),
    "all true": np.array([True, True]),
    "empty": np.zeros(0, np.float32),
    "empty 2-d": np.zeros((0, 3), np.float32),
    "empty int": np.zeros(0, np.int64),
    "empty 3-d int": np.zeros((2, 0, 3), np.int64),
    "empty bool": np.zeros((0, 2), bool),
    "3-d": np.arange(24.0, dtype=np.float32).reshape(2, 3, 4),
    "4-d": np.arange(24, dtype=np.int64).reshape(2, 1, 3, 4),
    "wraps": np.arange(60, dtype=np.float32) / 7,
    "wraps 2-d": random.standard_normal((3, 30)).astype(np.float32),
    "long ints": np.arange(100),
    "1000": np.arange(1000),
    "1001": np.arange(1001),
    "summarised": random.standard_normal(2000).astype(np.float32),
    "summarised 2-d": random.standard_normal((100, 200)).astype(np.float32),
    "summarised thin": random.standard_normal((2000, 2)).astype(np.float32),
    "summarised short": random.standard_normal((4, 500)).astype(np.float32),
    "summarised 3-d": random.standard_normal((20, 8, 30)).astype(np.float32),
    "summarised extremes": np.where(np.arange(3000) == 1500, 1e12, 1.0).astype(np.float32),
    "transposed": np.arange(6.0, dtype=np.float32).reshape(2, 3).T,
    "float64": random.standard_normal(3),
    "float64 2-d": random.standard_normal((2, 3)) * 1000,
    "1e8": np.array([1e8, 1.0], np.float32),
    "1e-4": np.array([1e-4, 0.1], np.float32),
}


def both(action):
    """Return the texts of the results of `action(module)`, ours with PyTorch's name for the module."""
    return repr(action(torch)), repr(action(minigrad)).replace("minigrad.", "torch.")


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize(
    "options",
    [{}, {"precision": 2}, {"sci_mode": True}, {"sci_mode": False}, {"linewidth": 40}, {"threshold": 5, "edgeitems": 1},
     {"edgeitems": 0}, {"profile": "short"}, {"profile": "full"}, {"precision": 8, "linewidth": 120}],
    ids=str,
)  # fmt: skip
def test_repr_of(name, options):
    try:
        torch.set_printoptions(**options)
        minigrad.set_printoptions(**options)
        theirs, ours = both(lambda module: module.tensor(ARRAYS[name]))
        if "dtype" in theirs:  # the longer name of the module may wrap the line earlier
            theirs, ours = " ".join(theirs.split()), " ".join(ours.split())
        assert ours == theirs
    finally:
        torch.set_printoptions(profile="default")
        minigrad.set_printoptions(profile="default")


PROGRAMS = {
    "leaf": lambda m: m.tensor([1.0, 2.0], requires_grad=True),
    "result": lambda m: m.tensor([1.0, 2.0], requires_grad=True) * 2,
    "long result": lambda m: m.ones(3, 10, requires_grad=True) * 1.5,
    "sum": lambda m: (m.ones(3, requires_grad=True) * 2).sum(),
    "empty result": lambda m: m.ones(0, 2, requires_grad=True) * 2,
    "default float64": lambda m: with_default(m, m.float64),
    "size": lambda m: m.ones(2, 3).shape,
    "dtype": lambda m: m.int64,
    "device": lambda m: m.device("cpu"),
    "list": lambda m: [m.ones(2), m.tensor(3)],
    "dual": lambda m: dual(m),
}


def with_default(m, dtype):
    m.set_default_dtype(dtype)
    try:
        return repr((m.tensor([1.5]), m.tensor([1.5], dtype=m.float32)))
    finally:
        m.set_default_dtype(m.float32)


def dual(m):
    with m.autograd.forward_ad.dual_level():
        return repr(m.autograd.forward_ad.make_dual(m.tensor([1.0]), m.tensor([2.0])))


@pytest.mark.parametrize("name", PROGRAMS)
def test_repr_of_program(name):
    theirs, ours = both(PROGRAMS[name])
    assert ours == theirs


def test_options_are_torchs():
    assert printing.get_printoptions() == torch._tensor_str.get_printoptions()


@pytest.mark.parametrize("spec", ["", ".3f", "8.2e"])
def test_format_of_numbers(spec):
    assert format(minigrad.tensor(2.5), spec) == format(torch.tensor(2.5), spec)
    if not spec:
        assert f"{minigrad.ones(2)}" == f"{torch.ones(2)}"
