"""The operations' samples, of which many tests are made (minigrad/testing/samples.py calls them)."""

import minigrad
from minigrad.ops.base.registry import TABLE
from minigrad.testing.samples import Maker, call

__all__ = ["Maker", "call"]
CALLS = [(name, i) for name, entry in sorted(TABLE.items()) for i in range(len(entry.samples))]
NAMES = sorted(name for name, entry in TABLE.items() if entry.samples)
SMOOTH = [n for n in NAMES if TABLE[n].differentiable]


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
