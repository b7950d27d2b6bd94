"""The sweep over the table of operations: a test for each operation and property, over all samples of the operation.

A file has the tests of a group of properties, tests/parity/test_table.py those that need PyTorch. A new operation is tested by
its declaration alone. `each_operation` makes the tests; minigrad/testing/samples.py calls the samples.
"""

import functools
import inspect

import numpy as np
import pytest

import minigrad
from minigrad.ops.base.registry import TABLE
from minigrad.testing.samples import Maker, call

__all__ = ["Maker", "call"]
NAMES = sorted(name for name, entry in TABLE.items() if entry.samples)
SMOOTH = [n for n in NAMES if TABLE[n].differentiable]
RANDOM = "bernoulli binomial gumbel_softmax multinomial normal poisson rand randint randn randperm"
DRAWN = [*RANDOM.split(), "rand_like", "randint_like", "randn_like"]


def each_operation(names):
    """Make a check of one sample, `check(name, sample)`, a test for each operation; its failure names the sample."""

    def decorate(check):
        @functools.wraps(check)
        def test(name, **others):
            for sample in TABLE[name].samples:
                try:
                    check(name=name, sample=sample, **others)
                except Exception as e:
                    e.add_note(f"the sample is {name}({sample})")
                    raise

        signature = inspect.signature(check)  # pytest looks there for what a test needs
        kept = [p for p in signature.parameters.values() if p.name != "sample"]
        test.__signature__ = signature.replace(parameters=kept)
        return pytest.mark.parametrize("name", names)(test)

    return decorate


def run(name, sample, **options):
    """Return a sample of minigrad's own operation."""
    return call(minigrad, TABLE[name].function, TABLE[name], sample, **options)


def tensors(result):
    """Return the tensors in what an operation returned."""
    if isinstance(result, (tuple, list)):
        return [t for r in result for t in tensors(r)]
    return [result] if hasattr(result, "requires_grad") else []


def floats(result):
    """Return the tensors that can have derivatives."""
    return [t for t in tensors(result) if t.is_floating_point()]


def tracked(result):
    """Return the tensors that have derivatives."""
    return [t for t in floats(result) if t.requires_grad]


class Everything(Maker):
    """A maker whose leaves are all tensors of the sample, integers and booleans as well."""

    def __init__(self, entry, sample, given=None):
        super().__init__(minigrad, entry, sample, leaves=given)

    def leaf(self, array):
        self.leaves.append(minigrad.tensor(np.asarray(array)) if self.given is None else self.given[len(self.leaves)])
        return self.leaves[-1]

    def I(self, *shape_and_high):  # noqa: E743
        *shape, high = shape_and_high
        return self.leaf(self.random.integers(0, high, shape))

    def B(self, *shape):
        return self.leaf(self.random.random(shape) < 0.5)


def run_on_all(name, sample, given=None):
    """Return the tensors in a sample's result, and all tensors that it was called with.  Draws begin at the same seed."""
    minigrad.manual_seed(0)
    maker = Everything(TABLE[name], sample, given)
    names = {n: getattr(maker, n) for n in "TPISB"}
    return tensors(
        eval(f"function({sample})", {"function": TABLE[name].function, "torch": minigrad, **names})
    ), maker.leaves


# results that are vectors, by their number, and the dimension along them: libraries choose their signs
VECTORS = {"linalg.eigh": {1: -2}, "linalg.svd": {0: -2, 2: -1}, "svd": {0: -2, 2: -2}}


def determined(name, results):
    """Return the results with signs that make the largest element of each first vector positive, for comparisons."""
    along = VECTORS.get(name, {})
    if not along or not all([r.numel() for r in results]):
        return results
    first = results[min(along)].detach()
    signs = first.gather(-2, first.abs().argmax(-2, keepdim=True)).sign()
    turned = {-2: signs, -1: signs.mT}
    return [r * turned[along[k]] if k in along else r for k, r in enumerate(results)]
