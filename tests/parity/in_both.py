"""A test that runs in PyTorch and in minigrad, and compares what it returns."""

import functools
import inspect

import torch

import minigrad


def same_in_both(test):
    """Run a test with each library as its first argument; both have to return the same."""

    @functools.wraps(test)
    def both(**given):
        theirs, ours = (test(library, **given) for library in (torch, minigrad))
        assert ours == theirs

    both.__signature__ = inspect.Signature([*inspect.signature(test).parameters.values()][1:])
    return both
