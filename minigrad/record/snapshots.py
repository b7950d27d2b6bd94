"""The content of memory before a write: copies of the whole memory, and the view of the copy for each array.

NumPy writes unseen. So memory that the program has as an array is copied beforehand, and compared later (`Lent`).
"""

from typing import Any

import numpy as np

from ..arrays.kinds import laid_out, on_device
from ..arrays.memory import begin, storage
from ..arrays.meta import is_meta

WATCHED = 2**24  # bytes of memory whose writes by NumPy are seen


def memory_key(a: np.ndarray) -> int:
    """Return a key such that arrays with different keys share no memory, unless one key is 0, for foreign memory."""
    whole = storage(a)
    return id(whole) if is_private(whole) else 0


def is_private(whole: Any) -> bool:
    """Return True if no code outside minigrad refers to this memory."""
    return whole.block.owner is None or is_meta(whole) if on_device(whole) else whole.flags.owndata


def is_sole_owner(a: np.ndarray) -> bool:
    """Return True if a's memory belongs to a single array of minigrad without gaps, so that a copy has room for all views."""
    whole = storage(a)
    return is_private(whole) and whole.flags.forc


class Lent:
    """Memory that the program has as a NumPy array, and a copy of its content; None from a write on, until the next look."""

    def __init__(self, whole: np.ndarray):
        self.whole = whole
        self.copy: np.ndarray | None = whole.copy("K")

    def is_changed(self) -> bool:
        """Return True if the program has written there since: other bits, so that NaN equals NaN."""
        if self.copy is None:
            self.copy = self.whole.copy("K")
        now, before = (a.ravel("K").view(np.uint8) for a in (self.whole, self.copy))
        return not np.array_equal(now, before)


def lendable(a: np.ndarray) -> np.ndarray | None:
    """Return the memory of an array if it is small enough to be copied and compared."""
    whole = storage(a)
    return whole if whole.nbytes <= WATCHED and whole.flags.forc and type(whole) is np.ndarray else None


def copied(a: np.ndarray) -> np.ndarray | None:
    """Return a copy of a's whole memory, if a covers all of it; else None."""
    whole = storage(a)
    return whole.copy("K") if whole.nbytes == a.nbytes and is_private(whole) and whole.flags.forc else None


def restored_copy(a: np.ndarray, held: list) -> np.ndarray:
    """Return a copy of a's memory with old contents restored; `held` has pairs of an array and its content."""
    whole = storage(a)
    copy = whole.copy("K")
    for other, content in held:
        if storage(other) is whole:
            same_view(other, whole, copy)[...] = content
    return copy


def same_view(a: np.ndarray, whole: np.ndarray, copy: np.ndarray) -> np.ndarray:
    """Return the view of `copy` that corresponds to a, which is a view of `whole`."""
    buffer = copy if copy.flags.c_contiguous else copy.T
    return laid_out(buffer, a.shape, a.dtype, begin(a, whole) if a.size else 0, a.strides)
