"""Every operation of the table under vmap, batched in every tensor that its samples make: floats, integers and masks.

The results equal those of a loop over the examples; where the shape of a result depends on values, an error names the
reason.  Samples of differentiable operations that make floats alone are left to tests/ops/test_table.py, which has every
combination of them.
"""

import numpy as np
import pytest

import minigrad as torch
from minigrad import vmap
from minigrad.func import grad
from minigrad.ops.base.registry import TABLE
from tests.floats import some
from tests.table import NAMES, SMOOTH, Maker, tensors

SIZE = 3


class Everything(Maker):
    """Makes integers and booleans leaves as well.  Leaf number i of example k is a little different from the others."""

    def __init__(self, entry, sample, given=None):
        super().__init__(torch, entry, sample, leaves=given)

    def leaf(self, array):
        if self.given is not None:
            t = self.given[len(self.leaves)]
        else:
            t = torch.tensor(np.asarray(array))
        self.leaves.append(t)
        return t

    def I(self, *shape_and_high):  # noqa: E743
        *shape, high = shape_and_high
        return self.leaf(np.asarray(self.random.integers(0, high, shape)))

    def B(self, *shape):
        return self.leaf(np.asarray(self.random.random(shape) < 0.5))


def call(name, sample, given=None):
    """(the tensors in the result, the leaves)"""
    entry = TABLE[name]
    maker = Everything(entry, sample, given)
    names = {n: getattr(maker, n) for n in "TPISB"}
    return tensors(eval(f"function({sample})", {"function": entry.function, "torch": torch, **names})), maker.leaves


def variants(leaf, random):
    """Return SIZE examples that an operation accepts where it accepts this one."""
    a = leaf.numpy()
    if a.dtype.kind == "f":
        return [a * random.uniform(0.9, 1.1) for _ in range(SIZE)]
    return [random.permutation(a.reshape(-1)).reshape(a.shape) for _ in range(SIZE)]


@pytest.mark.parametrize("name", [n for n in NAMES if TABLE[n].vmap])
def test_vmap_is_a_loop_for_each_tensor(name):
    for sample in TABLE[name].samples if name != "empty_like" else ():
        _, leaves = call(name, sample)
        if name in SMOOTH and len(leaves) < 4 and all(leaf.is_floating_point() for leaf in leaves):
            continue
        singles = [[i == j for j in range(len(leaves))] for i in range(len(leaves))]
        for batched in [*singles, [True] * len(leaves)] if len(leaves) > 1 else singles:
            random = np.random.default_rng(len(sample))
            rows = [variants(leaf, random) if b else leaf for leaf, b in zip(leaves, batched)]
            args = [torch.tensor(np.stack(r, r[0].ndim)) if b else r for r, b in zip(rows, batched)]
            try:
                found = vmap(
                    lambda *given: tuple(call(name, sample, given)[0]), tuple([-1 if b else None for b in batched])
                )(*args)
            except RuntimeError as e:
                refused = ("vmap cannot batch it", "one for each of", "no memory for numpy", "randomness")
                assert any(text in str(e) for text in refused), f"{name}({sample}), batched {batched}: {e}"
                continue
            for k in range(SIZE):
                one = [torch.tensor(r[k]) if b else r for r, b in zip(rows, batched)]
                for f, o in zip(found, call(name, sample, one)[0], strict=True):
                    assert f[k].dtype == o.dtype and f[k].shape == o.shape, f"{name}({sample}), batched {batched}"
                    assert np.allclose(f[k].numpy(), o.numpy(), 1e-8, 1e-8, equal_nan=True), f"{name}({sample})"


@pytest.mark.parametrize("name", NAMES)
def test_tensors_made_inside_a_transform_are_as_good_as_others(name):
    """Index tensors and masks that a function under grad makes belong to the transform."""
    if TABLE[name].differs:
        pytest.skip("random or not set")
    for sample in TABLE[name].samples:
        wanted, kept = call(name, sample)[0], []
        grad(lambda x: [kept.append([t.detach() for t in call(name, sample)[0]]), x][1])(torch.tensor(1.0))
        for f, o in zip(kept[0], wanted, strict=True):
            assert f.shape == o.shape and f.dtype == o.dtype, f"{name}({sample})"
            assert not o.numel() or np.allclose(f.tolist(), o.numpy(), equal_nan=True), f"{name}({sample})"


def flattens(shape, strides):
    """Say whether `flatten` is a view of memory that is laid out so."""
    step = None
    for n, s in zip(shape[::-1], strides[::-1]):
        if n > 1 and step is not None and s != step:
            return False
        step = s * n if n > 1 else step
    return True


@pytest.mark.parametrize("name", some([n for n in NAMES if TABLE[n].vmap and n != "empty_like"]))
def test_an_example_can_be_flattened_without_a_copy_where_it_can_be_alone(name):
    """Else what is written through `flatten` would be lost, where the batch dimensions of operands are not in front."""
    for sample in TABLE[name].samples:
        rows = [variants(leaf, np.random.default_rng(1)) for leaf in call(name, sample)[1]]
        for turn in range(3 if rows else 0):
            dims = [(r[0].ndim, 0, min(1, r[0].ndim))[(turn + i) % 3] for i, r in enumerate(rows)]
            args = [torch.tensor(np.ascontiguousarray(np.stack(r, d))) for r, d in zip(rows, dims)]
            seen = []

            def f(*given):
                found = call(name, sample, given)[0]
                seen.append([flattens(o.shape, o.stride()) for o in found])
                return tuple(found)

            try:
                vmap(f, tuple(dims))(*args)
            except RuntimeError:  # it refuses a batch there (test_vmap_is_a_loop_for_each_tensor)
                continue
            alone = call(name, sample, [a.select(d, 0) for a, d in zip(args, dims)])[0]
            for o, flat in zip(alone, seen[0], strict=True):
                assert flat or not flattens(o.shape, o.stride()), f"{name}({sample}), in_dims={dims}"
