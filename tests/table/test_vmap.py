"""vmap is a loop over the examples, batched in every tensor that a sample makes: floats, integers and masks."""

import itertools

import numpy as np

import minigrad
from minigrad import vmap
from minigrad.func import grad
from minigrad.ops.base.registry import TABLE
from tests.floats import some
from tests.table import NAMES, SMOOTH, determined, each_operation, run_on_all

SIZE = 3
BATCHED = [n for n in NAMES if TABLE[n].vmap and n != "empty_like"]
REFUSALS = ("vmap cannot batch it", "one for each of", "no memory for numpy", "randomness")


def examples(leaf, random):
    """Return SIZE examples that an operation accepts where it accepts this one."""
    a = leaf.numpy()
    if a.dtype.kind == "f":
        return [a * random.uniform(0.9, 1.1) for _ in range(SIZE)]
    return [random.permutation(a.reshape(-1)).reshape(a.shape) for _ in range(SIZE)]


def choices(n):
    """Return the sets of n tensors that are batched: all sets of up to three, else each one and all together."""
    if n < 4:
        return [chosen for chosen in itertools.product((False, True), repeat=n) if any(chosen)]
    return [*[tuple(i == j for j in range(n)) for i in range(n)], (True,) * n]


@each_operation(BATCHED)
def test_vmap_is_a_loop_over_the_examples(name, sample):
    leaves = run_on_all(name, sample)[1]
    must = name in SMOOTH and all(leaf.is_floating_point() for leaf in leaves)
    for turn, batched in enumerate(choices(len(leaves))):
        random = np.random.default_rng(turn)
        dims = [(turn + 1) % (leaf.ndim + 1) if b else None for leaf, b in zip(leaves, batched)]
        rows = [examples(leaf, random) if b else leaf for leaf, b in zip(leaves, batched)]
        args = [r if d is None else minigrad.tensor(np.stack(r, d)) for r, d in zip(rows, dims)]
        try:
            found = vmap(lambda *given: tuple(run_on_all(name, sample, given)[0]), tuple(dims))(*args)
        except RuntimeError as e:  # the shape of a result may depend on numbers, as with a mask
            assert not must and any(text in str(e) for text in REFUSALS), f"batched at {dims}: {e}"
            continue
        for k in range(SIZE):
            one = [r if d is None else minigrad.tensor(r[k]) for r, d in zip(rows, dims)]
            alone = determined(name, run_on_all(name, sample, one)[0])
            for f, o in zip(determined(name, [f[k] for f in found]), alone, strict=True):
                assert f.dtype == o.dtype and f.shape == o.shape, f"batched at {dims}"
                assert np.allclose(f.numpy(), o.numpy(), 1e-8, 1e-7, equal_nan=True), f"batched at {dims}:\n{f}\n{o}"


@each_operation([n for n in NAMES if not TABLE[n].differs])
def test_tensors_made_inside_a_transform_give_the_same_results(name, sample):
    """Index tensors and masks that a function under grad makes belong to the transform."""
    wanted, kept = run_on_all(name, sample)[0], []
    grad(lambda x: [kept.extend([t.detach() for t in run_on_all(name, sample)[0]]), x][1])(minigrad.tensor(1.0))
    for f, o in zip(kept, wanted, strict=True):
        assert f.shape == o.shape and f.dtype == o.dtype
        assert not o.numel() or np.allclose(f.tolist(), o.numpy(), equal_nan=True)


def flattens(shape, strides):
    """Say whether `flatten` is a view of memory that is laid out so."""
    step = None
    for n, s in zip(shape[::-1], strides[::-1]):
        if n > 1 and step is not None and s != step:
            return False
        step = s * n if n > 1 else step
    return True


@each_operation(some(BATCHED))
def test_an_example_can_be_flattened_without_a_copy_where_it_can_be_alone(name, sample):
    """Else what is written through `flatten` would be lost, where the batch dimensions of operands are not in front."""
    rows = [examples(leaf, np.random.default_rng(1)) for leaf in run_on_all(name, sample)[1]]
    for turn in range(3 if rows else 0):
        dims = [(r[0].ndim, 0, min(1, r[0].ndim))[(turn + i) % 3] for i, r in enumerate(rows)]
        args = [minigrad.tensor(np.ascontiguousarray(np.stack(r, d))) for r, d in zip(rows, dims)]
        seen = []

        def f(*given):
            found = run_on_all(name, sample, given)[0]
            seen.append([flattens(o.shape, o.stride()) for o in found])
            return tuple(found)

        try:
            vmap(f, tuple(dims))(*args)
        except RuntimeError:  # it refuses a batch there (test_vmap_is_a_loop_over_the_examples)
            continue
        alone = run_on_all(name, sample, [a.select(d, 0) for a, d in zip(args, dims)])[0]
        for o, flat in zip(alone, seen[0], strict=True):
            assert flat or not flattens(o.shape, o.stride()), f"in_dims={dims}"
