"""NumPy's functions that look at memory in another way, and those that ask for shapes: they run on the shadows of arrays."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .device_array import DeviceArray
from .functions import of_arrays


def on_shadow(function: Any, a: Any, *args: Any, **kwargs: Any) -> Any:
    """NumPy's function of views: the views of the first array that its views of the shadow describe."""
    found = function(a.shadow, *args, **kwargs)
    return [a.seen(f) for f in found] if isinstance(found, (list, tuple)) else a.seen(found)


VIEWS = (np.broadcast_to, np.transpose, np.swapaxes, np.moveaxis, np.expand_dims, np.squeeze, np.flip, np.split)
for function in VIEWS:
    of_arrays(function)(partial(on_shadow, function))


of_arrays(np.shape)(lambda a: a.shape)
of_arrays(np.ndim)(lambda a: a.ndim)
of_arrays(np.copy)(lambda a: a.copy("K"))
of_arrays(np.size)(lambda a, axis=None: a.size if axis is None else a.shape[axis])


@of_arrays(np.reshape)
def reshape(a: Any, shape: Any = None, order: str = "C", copy: bool | None = None) -> Any:
    """A view where the memory allows it; else a copy, or ValueError where none is wanted."""
    return a.reshape(shape, copy=copy)


@of_arrays(np.may_share_memory, np.shares_memory)
def may_share_memory(a: Any, b: Any, max_work: Any = None) -> bool:
    """Never true of arrays on different devices."""
    if type(a) is not DeviceArray or type(b) is not DeviceArray:
        return False
    return np.may_share_memory(a.shadow, b.shadow)
