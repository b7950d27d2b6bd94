"""Features of PyTorch's first versions: tensor types by name, FloatTensor(2, 3), x.type("LongTensor")."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import config
from ..arrays import dtypes
from ..arrays.devices import CPU, CUDA, Size
from ..core.saved import memory
from ..core.tensor import Tensor, wrap
from ..errors import error, warn
from .copy import CALLED, to
from .create import sizes
from .from_data import SEQUENCES, made
from .from_data import array_of as array_of_data
from .storage import Storage


class TensorType(type):
    """The class of FloatTensor and the others: calling one makes a tensor, isinstance checks dtype and device."""

    dtype: dtypes.dtype
    is_cuda = False

    def __call__(cls, *data: Any, device: Any = None) -> Tensor:
        place = CUDA if cls.is_cuda and device is None else device
        return made(array_of(data, cls.dtype.dtype, cls.__name__), device=place)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype and instance.is_cuda == cls.is_cuda

    def __repr__(cls) -> str:
        return f"<class '{config.library_name}.{'cuda.' * cls.is_cuda}{cls.__name__}'>"


def tensor_type(dtype: dtypes.dtype, data: list) -> Any:
    """Return the type of the tensors of a dtype; its example makes one of `data`."""
    name = f"{CALLED[dtype]}Tensor"
    shown = "" if dtype in (dtypes.float32, dtypes.int64, dtypes.bool_) else f", dtype=minigrad.{dtype.name}"
    shown = f"tensor({'[1.]' if type(data[0]) is float else data}{shown})"
    doc = f"""The tensors of dtype {dtype.name}: a constructor, and a type for isinstance and `Tensor.type`.

    >>> import minigrad
    >>> minigrad.{name}({data})
    {shown}
    """
    return TensorType(name, (), {"dtype": dtype, "__doc__": doc, "__module__": __name__})


HalfTensor = tensor_type(dtypes.float16, [1.0])
"""The tensors of dtype float16: a constructor, and a type for isinstance and `Tensor.type`."""
BFloat16Tensor = tensor_type(dtypes.bfloat16, [1.0])
"""The tensors of dtype bfloat16: a constructor, and a type for isinstance and `Tensor.type`."""
FloatTensor = tensor_type(dtypes.float32, [1.0])
"""The tensors of dtype float32: a constructor, and a type for isinstance and `Tensor.type`."""
DoubleTensor = tensor_type(dtypes.float64, [1.0])
"""The tensors of dtype float64: a constructor, and a type for isinstance and `Tensor.type`."""
CharTensor = tensor_type(dtypes.int8, [1])
"""The tensors of dtype int8: a constructor, and a type for isinstance and `Tensor.type`."""
ShortTensor = tensor_type(dtypes.int16, [1])
"""The tensors of dtype int16: a constructor, and a type for isinstance and `Tensor.type`."""
IntTensor = tensor_type(dtypes.int32, [1])
"""The tensors of dtype int32: a constructor, and a type for isinstance and `Tensor.type`."""
LongTensor = tensor_type(dtypes.int64, [1])
"""The tensors of dtype int64: a constructor, and a type for isinstance and `Tensor.type`."""
ByteTensor = tensor_type(dtypes.uint8, [1])
"""The tensors of dtype uint8: a constructor, and a type for isinstance and `Tensor.type`."""
BoolTensor = tensor_type(dtypes.bool_, [True])
"""The tensors of dtype bool: a constructor, and a type for isinstance and `Tensor.type`."""


ON_GPU = {  # torch.cuda.FloatTensor and the others
    f"{name}Tensor": TensorType(f"{name}Tensor", (), {"dtype": dtype, "is_cuda": True, "__module__": __name__})
    for dtype, name in CALLED.items()
}


class VariableType(type):
    """The class of Variable: a call returns a tensor, and every tensor is an instance."""

    def __call__(cls, data: Any = None, requires_grad: bool = False, volatile: bool = False) -> Tensor:
        if data is not None and not isinstance(data, Tensor):
            what = f"Variable data has to be a tensor, but got {type(data).__name__}"
            raise error(TypeError, "Variable", what, "write minigrad.tensor(data, requires_grad=...)")
        if volatile:
            what = "volatile was removed and has no effect: operations are recorded as usual"
            warn("volatile", "Variable", what, "evaluate inside `with minigrad.no_grad():`")
        leaf = made(array_of((), dtypes.default(), "Variable")) if data is None else data.detach()
        return leaf.requires_grad_(bool(requires_grad))

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=VariableType):
    """A leaf on the memory of a tensor; a name from the time when only Variables had gradients.

    Raises TypeError for anything but a tensor, and RuntimeError for integers that are to require grad.

    >>> import minigrad
    >>> minigrad.autograd.Variable(minigrad.ones(2), requires_grad=True)
    tensor([1., 1.], requires_grad=True)
    """


def array_of(data: tuple, target: np.dtype, who: str) -> np.ndarray:
    """Return the array for a constructor's arguments: sizes, a Size, nested lists, an array, or a tensor, not copied."""
    if not data:
        return np.zeros(0, target)
    first = data[0]
    if len(data) > 1 or isinstance(first, (int, Size)) and not isinstance(first, bool):
        return np.zeros(sizes(data, None, who), target)
    if isinstance(first, Tensor):
        if who != "Tensor" and first._np_dtype != target:
            raise error(TypeError, who, f"expected a tensor of {target}, got one of {first.dtype}", "use x.to(dtype)")
        return first._a
    if isinstance(first, Storage):
        return first.row(target, who)
    if not isinstance(first, (*SEQUENCES, np.ndarray)):
        raise error(
            TypeError, who, f"data must be a sequence (got {type(first).__name__})", "use minigrad.tensor(value)"
        )
    return array_of_data(first, target, who)


def type_of(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """Return the name of the tensor's type, "minigrad.FloatTensor", or with `dtype` (or such a name) the converted tensor."""
    if dtype is None:
        return f"{config.library_name}.{'cuda.' * self.is_cuda}{CALLED[self.dtype]}Tensor"
    if isinstance(dtype, str):
        short = dtype.rpartition(".")[2].removesuffix("Tensor")
        found = [d for d, name in CALLED.items() if name == short]
        if not found:
            what = f"invalid type: {dtype!r}"
            raise error(ValueError, "type", what, f"use one of {', '.join(d.name for d in CALLED)} as a dtype")
        return to(self, found[0], device=CUDA if ".cuda." in dtype else CPU)
    if isinstance(dtype, TensorType):
        return to(self, dtype.dtype, device=CUDA if dtype.is_cuda else CPU)
    return to(self, dtypes.get_default_dtype() if dtype is Tensor else dtype)


def new(self: Tensor, *data: Any, device: Any = None) -> Tensor:
    """Return a tensor of this one's dtype from sizes or from data, as FloatTensor and the others do."""
    return made(array_of(data, self._np_dtype, "new"), device=self.device if device is None else device)


METHODS = {"type": type_of, "new": new}


def construct(self: Any, *data: Any, device: Any = None) -> None:
    """Tensor(...): make a tensor of the default dtype, as PyTorch's legacy constructor does."""
    a = array_of(data, dtypes.default(), "Tensor")
    self._a = a if device is None else to(wrap(a), device=device)._a
    self._edge = None
    self._ver = memory(data[0]) if data and isinstance(data[0], Tensor) else None
    self._view = None
    self._tan = None
    self._grad = None
