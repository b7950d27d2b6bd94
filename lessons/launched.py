"""Launch a learner's kernel, and raise Wrong if it writes too little, too much, or in a race: for the lessons on GPUs."""

from collections.abc import Iterable
from contextlib import nullcontext
from typing import Any

import numpy as np

import minigrad as torch

from .exercise import Wrong

__all__ = ["launched"]

UNWRITTEN, BEHIND = -77.0, 1e9  # what stands in the memory of a result beforehand, and behind every array
KINDS = {"f": np.float32, "i": np.int64}


def launched(
    kernel: Any, blocks: int, threads: int, inputs: Iterable[Any], size: int, start: float = UNWRITTEN
) -> np.ndarray:
    """Return the `size` numbers that a kernel writes to its last argument, which is filled with `start` first.

    >>> launched(print, 1, 4, [[1.0, 2.0]], 2)
    Traceback (most recent call last):
    lessons.exercise.Wrong: expected a kernel, got <built-in function print>: write @torch.cuda.jit above the function
    """
    from minigrad.kernels.cuda.simulator import SIMULATED
    from minigrad.own_kernels import OwnKernel

    if not isinstance(kernel, OwnKernel):
        raise Wrong(f"expected a kernel, got {kernel!r}: write @torch.cuda.jit above the function")
    given = [*map(np.asarray, inputs), np.full(size, start)]
    memory = [np.concatenate([a, np.full(64, BEHIND)]).astype(KINDS[a.dtype.kind]) for a in given]
    memory = [torch.as_tensor(a, device="cuda") for a in memory]
    launch = f"with {blocks} block{'s' * (blocks > 1)} of {threads} threads"
    with torch.cuda.watch() if SIMULATED else nullcontext() as trace:
        try:
            kernel[blocks, threads](*[m[: len(a)] for m, a in zip(memory, given)])
        except IndexError as e:
            raise Wrong(f"{launch} one without an element reads or writes: {e}") from None
    written = memory[-1].cpu().numpy()
    result = written[:size]
    if (written[size:] != np.float32(BEHIND)).any() or (result == np.float32(BEHIND)).any():
        raise Wrong(f"{launch} one without an element reads or writes behind an array")
    missed = np.flatnonzero(result == UNWRITTEN)
    if (result == start).all():
        raise Wrong("nothing was written to the last argument")
    if missed.size:
        raise Wrong(f"{launch} element {missed[0]} of the last argument was not written")
    for race in trace.launches[-1].races if trace else ():
        raise Wrong(f"{launch} two race for {race.first.element}: {race.first.place.code}")
    return result
