"""Making tensors."""
from typing import Any
import numpy as np
from ..core import dtypes
from ..core.tensor import Tensor, wrap


def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    a = np.array(data._a if isinstance(data, Tensor) else data, dtype=None if dtype is None else dtypes.numpy_dtype(dtype))
    if dtype is None and a.dtype == "f8" and not isinstance(data, (np.ndarray, np.generic)):
        a = a.astype(dtypes.default())
    return wrap(a).requires_grad_(requires_grad)


def ones(*size, dtype=None, requires_grad=False):
    return wrap(np.ones(size, dtype or dtypes.default())).requires_grad_(requires_grad)


Tensor.new_zeros = lambda self, *s: wrap(np.zeros(s[0] if isinstance(s[0], tuple) else s, self._np_dtype))
