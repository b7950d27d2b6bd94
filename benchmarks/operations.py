"""Compare every operation of the table with PyTorch, forward and backward, at several sizes.

    python -m benchmarks.operations                      all of them, at 1,000, 100,000 and 10,000,000 elements
    python -m benchmarks.operations --sizes 1000 softmax sum
    python -m benchmarks.operations --save new.json --before old.json
    python -m benchmarks.operations --docs               also write the slow ones, of all sizes measured, to docs/performance.md

A sample is enlarged by multiplying each of its sizes except 1 by one factor, so that shapes still broadcast.  Operations whose
samples cannot be enlarged are named at the end.  Ratios saved at another commit are printed beside the new ones.
"""

import argparse
import functools
import json
import math
import time
import warnings
from dataclasses import replace
from pathlib import Path

import minigrad
from minigrad.ops.base.registry import TABLE
from minigrad.testing.samples import Maker

from . import measure, page, slow
from .environment import one_thread

SIZES = (1_000, 100_000, 10_000_000)
SETTINGS = measure.Settings(rounds=35, seconds=0.002)  # many short rounds: other programs disturb long ones
FEW = 7  # rounds of a call that takes longer than a round
LONGEST = 2.0  # seconds that one call may take
LARGEST = 5e7  # elements that a result may have


class Large(Maker):
    """A maker of larger tensors, in float32."""

    def __init__(self, module, entry, sample, factor):
        super().__init__(module, entry, sample, "float32")
        self.factor = factor

    def grown(self, shape):
        """Return the sizes times the factor; 1 stays 1."""
        return [n if n < 2 else max(2, round(n * self.factor)) for n in shape]

    def T(self, *shape):
        return super().T(*self.grown(shape))

    def P(self, *shape):
        return super().P(*self.grown(shape))

    def S(self, *shape):
        return super().S(*self.grown(shape))

    def I(self, *shape_and_high):  # noqa: E743
        *shape, high = shape_and_high
        return super().I(*self.grown(shape), high)

    def B(self, *shape):
        return super().B(*self.grown(shape))


def tensors(result):
    """Return the tensors in the result of an operation."""
    if isinstance(result, (tuple, list)):
        return [t for part in result for t in tensors(part)]
    return [result] if hasattr(result, "requires_grad") else []


def prepared(module, function, entry, sample, factor):
    """Return a function that runs the operation, and one that also differentiates it, or None if it is not differentiable."""
    maker = Large(module, entry, sample, factor)
    names = {n: getattr(maker, n) for n in "TPISB"}
    args, kwargs = eval(f"(lambda *args, **kwargs: (args, kwargs))({sample})", {"torch": module, **names})
    leaves = [t.requires_grad_() for t in maker.leaves]
    outs = [o for o in tensors(function(*args, **kwargs)) if o.requires_grad]
    gs = [module.ones_like(o) for o in outs]

    def forward():
        with module.no_grad():
            return function(*args, **kwargs)

    def both():
        found = [o for o in tensors(function(*args, **kwargs)) if o.requires_grad]
        return module.autograd.grad(found, leaves, gs, allow_unused=True)

    return forward, both if outs and entry.differentiable else None


def grown(entry, n):
    """Yield each sample of an operation with the factor that gives its largest tensor n elements."""
    for sample in entry.samples:
        maker = Maker(minigrad, entry, sample)
        names = {k: getattr(maker, k) for k in "TPISB"}
        try:
            eval(f"(lambda *args, **kwargs: None)({sample})", {"torch": minigrad, **names})
        except Exception:
            continue
        largest = max(maker.leaves, key=lambda t: t.numel(), default=None)
        if largest is not None and largest.ndim and largest.numel() > 1:
            yield sample, (n / largest.numel()) ** (1 / sum(k > 1 for k in largest.shape))


def seconds(f):
    """Return the seconds of one call."""
    start = time.perf_counter()
    f()
    return time.perf_counter() - start


def expected(entry, sample, n):
    """Return the result's size and the seconds for n elements, extrapolated from 100 and 400 elements."""
    found = []
    for few in (100, 400):
        factor = next(factor for text, factor in grown(entry, few) if text == sample)
        forward, _ = prepared(minigrad, entry.function, entry, sample, factor)
        found.append((sum([t.numel() for t in tensors(forward())], 1), min(seconds(forward) for _ in range(3))))
    (less, quick), (more, slow) = found
    growth = math.log(max(more / less, slow / quick, 4)) / math.log(4)
    return more * (n / 400) ** growth, slow * (n / 400) ** growth


def timed(torch, entry, n):
    """Return {"forward": (ours, theirs), "backward": ...} in seconds for the first sample that can be enlarged, or None."""
    theirs = functools.reduce(getattr, (entry.torch or entry.name).split("."), torch)
    for sample, factor in grown(entry, n):
        try:
            if any(found > most for found, most in zip(expected(entry, sample, n), (LARGEST, 50 * LONGEST))):
                return {}
            runs = [prepared(m, f, entry, sample, factor) for m, f in ((minigrad, entry.function), (torch, theirs))]
            shapes = [[tuple(t.shape) for t in tensors(forward())] for forward, _ in runs]
            if shapes[0] == shapes[1] and shapes[0]:
                return {what: pair for what, *both in zip(("forward", "backward"), *runs) if (pair := times_of(*both))}
        except Exception:  # one of the two does not accept these shapes
            continue
    return None


def times_of(ours, theirs):
    """Return the best times of both; None if one cannot run it or takes too long."""
    if ours is None or theirs is None or (longer := max(seconds(ours), seconds(theirs))) > LONGEST:
        return None
    rounds = SETTINGS.rounds if longer < SETTINGS.seconds else min(FEW, SETTINGS.rounds)
    times = measure.interleaved({"ours": ours, "theirs": theirs}, replace(SETTINGS, rounds=rounds))
    return times["ours"]["best"], times["theirs"]["best"]


def restrict_to_one_core(torch):
    """Restrict both to one core and one thread."""
    one_thread()
    minigrad.set_num_threads(1)
    torch.set_num_threads(1)


def main():
    """Measure, print all rows, and save the times."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="operations, all by default")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--save", help="write all times to this file, as JSON")
    parser.add_argument("--before", help="compare with a file saved at another commit")
    parser.add_argument("--docs", action="store_true", help="write the slow operations to docs/performance.md")
    args = parser.parse_args()
    if args.docs and args.names:
        parser.error("the page counts all operations: use --docs without names")
    import torch

    restrict_to_one_core(torch)
    warnings.simplefilter("ignore")
    before = json.loads(Path(args.before).read_text(encoding="utf-8")) if args.before else {}
    names = args.names or [n for n, entry in TABLE.items() if entry.samples and not entry.differs]
    times, left = {}, set()
    for name in names:
        for n in args.sizes:
            found = timed(torch, TABLE[name], n)
            left.update([name] if found is None else [])
            for what, pair in (found or {}).items():
                times[key := f"{name} {what} {n}"] = pair
                show(key, pair, before.get(key))
    print(f"\nNot enlarged: {', '.join(sorted(left)) or 'none'}")
    if args.save:
        Path(args.save).write_text(json.dumps(times, indent=0), encoding="utf-8")
    if args.docs:
        document(times)


def document(times):
    """Write the slow operations of the sizes measured to the page; those of other sizes stay."""
    page.save(slow.saved() | slow.summary(times), slow.FILE)
    figures = json.loads((page.DOCS / "performance.json").read_text(encoding="utf-8"))
    (page.DOCS / "performance.md").write_text(page.text(figures), encoding="utf-8")


def show(key, pair, before):
    """Print one row, and mark it if it is slower than PyTorch or than before."""
    ratio, old = pair[0] / pair[1], before and before[0] / before[1]
    marks = "slow " * (ratio > slow.SLOW) + "slower" * bool(old and ratio > 1.15 * old)
    previous = f"{old:>9.2f}" if old else " " * 9
    print(f"{key:<44}{pair[0] * 1e6:>12.1f}{pair[1] * 1e6:>12.1f}{ratio:>9.2f}{previous}  {marks}".rstrip(), flush=True)


if __name__ == "__main__":
    main()
