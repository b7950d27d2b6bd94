"""NumPy's functions that return views or only need shapes: they run on the shadows of arrays."""

from functools import partial
from typing import Any

import numpy as np

from .device_array import DeviceArray
from .functions import of_arrays


def on_shadow(function: Any, a: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the views of the first array that NumPy's function gives for its shadow."""
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
    """Return a view if the memory allows it; else a copy, or ValueError if copy is False."""
    return a.reshape(shape, copy=copy)


@of_arrays(np.may_share_memory, np.shares_memory)
def may_share_memory(a: Any, b: Any, max_work: Any = None) -> bool:
    """Return True if arrays share memory; arrays on different devices never do."""
    if type(a) is not DeviceArray or type(b) is not DeviceArray:
        return False
    return np.may_share_memory(a.shadow, b.shadow)
