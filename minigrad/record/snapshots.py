"""What memory held before it was written: copies of all of it, of which each array there has its view."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.kinds import laid_out, on_device
from ..arrays.memory import begin, storage
from ..arrays.nowhere import is_meta


def memory_key(a: np.ndarray) -> int:
    """Arrays of different keys share no memory, unless one of these is 0: then it is somebody else's."""
    whole = storage(a)
    return id(whole) if ours(whole) else 0


def ours(whole: Any) -> bool:
    """Whether nobody else knows this memory."""
    return whole.block.owner is None or is_meta(whole) if on_device(whole) else whole.flags.owndata


def owned(a: np.ndarray) -> bool:
    """Whether an array of ours has a's memory to itself, without gaps, so that a copy of it has room for all its views."""
    whole = storage(a)
    return ours(whole) and whole.flags.forc


def copied(a: np.ndarray) -> np.ndarray | None:
    """A copy of the whole memory in which a lies, if a is all of it."""
    whole = storage(a)
    return whole.copy("K") if whole.nbytes == a.nbytes and ours(whole) and whole.flags.forc else None


def as_before(a: np.ndarray, held: list) -> np.ndarray:
    """A copy of the memory in which a lies, with what some of the arrays there held before: pairs of array and content."""
    whole = storage(a)
    copy = whole.copy("K")
    for other, content in held:
        if storage(other) is whole:
            same_view(other, whole, copy)[...] = content
    return copy


def same_view(a: np.ndarray, whole: np.ndarray, copy: np.ndarray) -> np.ndarray:
    """What a, which lies in `whole`, is of a copy of that."""
    buffer = copy if copy.flags.c_contiguous else copy.T
    return laid_out(buffer, a.shape, a.dtype, begin(a, whole) if a.size else 0, a.strides)
