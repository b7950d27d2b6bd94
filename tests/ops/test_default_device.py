"""Tensors that an operation or module makes for itself are on its arguments' device, wherever new tensors are made.

The default device here is meta, whose tensors have no numbers and cannot be computed with beside others.
"""

import pytest

import minigrad
from minigrad import nn, optim
from minigrad.nn.utils import rnn
from minigrad.ops.base.registry import TABLE
from minigrad.utils import data
from tests.table import NAMES, call, floats, tensors

IN_MEMORY = minigrad.device("cpu")


def elsewhere(f):
    """Return f as a function that runs where new tensors are made on another device."""

    def run(*args, **kwargs):
        with minigrad.device("meta"):
            return f(*args, **kwargs)

    return run


@pytest.mark.parametrize("name", NAMES)
def test_results_and_gradients_are_where_the_arguments_are(name):
    entry = TABLE[name]
    for sample in entry.samples:
        result, leaves = call(minigrad, elsewhere(entry.function), entry, sample)
        if not any(letter + "(" in sample for letter in "TPISB"):
            continue  # a new tensor
        assert {t.device for t in tensors(result)} <= {IN_MEMORY}, f"{name}({sample})"
        with minigrad.device("cpu"):
            leaves = [leaf.requires_grad_() for leaf in leaves]
