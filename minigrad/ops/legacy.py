"""Features of PyTorch's first versions: tensor types by name, FloatTensor(2, 3), x.type("LongTensor"); range; apply_, map_."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import config
from ..arrays import dtypes
from ..arrays.devices import Size
from ..arrays.kinds import on_device
from ..core.saved import memory
from ..core.tensor import Tensor, wrap
from ..errors import error
from .base.registry import named
from .copy import CALLED, to
from .create import factory, number, sizes
from .from_data import SEQUENCES, chosen, made
from .from_data import array_of as array_of_data


class TensorType(type):
    """The class of FloatTensor and the others: calling one makes a tensor, isinstance checks the dtype."""

    dtype: dtypes.dtype

    def __call__(cls, *data: Any, device: Any = None) -> Tensor:
        return made(array_of(data, cls.dtype.dtype, cls.__name__), device=device)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype

    def __repr__(cls) -> str:
        return f"<class '{config.library_name}.{cls.__name__}'>"


class HalfTensor(metaclass=TensorType):
    """The tensors of dtype float16: a constructor, and a type for isinstance and `Tensor.type`.

    >>> import minigrad
    >>> minigrad.HalfTensor([1.0])
    tensor([1.], dtype=minigrad.float16)
    """

    dtype = dtypes.float16


class BFloat16Tensor(metaclass=TensorType):
    """The tensors of dtype bfloat16: a constructor, and a type for isinstance and `Tensor.type`.

    >>> import minigrad
    >>> minigrad.BFloat16Tensor([1.0])
    tensor([1.], dtype=minigrad.bfloat16)
    """

    dtype = dtypes.bfloat16


class FloatTensor(metaclass=TensorType):
    """The tensors of dtype float32: a constructor, and a type for isinstance and `Tensor.type`.

    >>> import minigrad
    >>> minigrad.FloatTensor([1.0])
    tensor([1.])
    """

    dtype = dtypes.float32


class DoubleTensor(metaclass=TensorType):
    """The tensors of dtype float64: a constructor, and a type for isinstance and `Tensor.type`.

    >>> import minigrad
    >>> minigrad.DoubleTensor([1.0])
    tensor([1.], dtype=minigrad.float64)
    """

    dtype = dtypes.float64


class CharTensor(metaclass=TensorType):
    """The tensors of dtype int8: a constructor, and a type for isinstance and `Tensor.type`.

    >>> import minigrad
    >>> minigrad.CharTensor([1])
    tensor([1], dtype=minigrad.int8)
    """

    dtype = dtypes.int8


class ShortTensor(metaclass=TensorType):
    """The tensors of dtype int16: a constructor, and a type for isinstance and `Tensor.type`.

    >>> import minigrad
    >>> minigrad.ShortTensor([1])
    tensor([1], dtype=minigrad.int16)
    """

    dtype = dtypes.int16


class IntTensor(metaclass=TensorType):
    """The tensors of dtype int32: a constructor, and a type for isinstance and `Tensor.type`.

    >>> import minigrad
    >>> minigrad.IntTensor([1])
    tensor([1], dtype=minigrad.int32)
    """

    dtype = dtypes.int32


class LongTensor(metaclass=TensorType):
    """The tensors of dtype int64: a constructor, and a type for isinstance and `Tensor.type`.

    >>> import minigrad
    >>> minigrad.LongTensor([1])
    tensor([1])
    """

    dtype = dtypes.int64


class ByteTensor(metaclass=TensorType):
    """The tensors of dtype uint8: a constructor, and a type for isinstance and `Tensor.type`.

    >>> import minigrad
    >>> minigrad.ByteTensor([1])
    tensor([1], dtype=minigrad.uint8)
    """

    dtype = dtypes.uint8


class BoolTensor(metaclass=TensorType):
    """The tensors of dtype bool: a constructor, and a type for isinstance and `Tensor.type`.

    >>> import minigrad
    >>> minigrad.BoolTensor([True])
    tensor([True])
    """

    dtype = dtypes.bool_


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
    if not isinstance(first, (*SEQUENCES, np.ndarray)):
        raise error(
            TypeError, who, f"data must be a sequence (got {type(first).__name__})", "use minigrad.tensor(value)"
        )
    return array_of_data(first, target, who)


def type_of(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """Return the name of the tensor's type, "minigrad.FloatTensor", or with `dtype` (or such a name) the converted tensor."""
    if dtype is None:
        return f"{config.library_name}.{CALLED[self.dtype]}Tensor"
    if isinstance(dtype, str):
        short = dtype.rpartition(".")[2].removesuffix("Tensor")
        found = [d for d, name in CALLED.items() if name == short]
        if not found:
            raise error(
                ValueError,
                "type",
                f"invalid type: {dtype!r}",
                f"use one of {', '.join(d.name for d in CALLED)} as a dtype",
            )
        dtype = found[0]
    return to(self, dtype.dtype if isinstance(dtype, TensorType) else dtype)


def new(self: Tensor, *data: Any, device: Any = None) -> Tensor:
    """Return a tensor of this one's dtype from sizes or from data, as FloatTensor and the others do."""
    return made(array_of(data, self._np_dtype, "new"), device=self.device if device is None else device)


@factory("1, 4", "1, 2.5, 0.5", "5, -3, -2", "0, 5, 2, dtype=torch.int64", "2, 2")
def range(start: Any, end: Any, step: Any = 1, *, dtype: Any = None, device: Any = None) -> Any:
    """Return the numbers from `start` to `end`, including `end` if a step meets it; floats unless `dtype` is given.

    PyTorch's older form of `arange`, which excludes its end.  Raises RuntimeError for step 0 and for an end on the wrong side.

    >>> import minigrad
    >>> minigrad.range(1, 2, 0.5)
    tensor([1.0000, 1.5000, 2.0000])
    """
    start, end, step = [number(x, "range") for x in (start, end, step)]
    if not all(map(math.isfinite, (start, end, step))):
        what = f"unsupported range: {start} -> {end} in steps of {step}"
        raise error(RuntimeError, "range", what, "pass finite numbers")
    if step == 0:
        raise error(RuntimeError, "range", "step must be nonzero", f"write range({start}, {end}, 1)")
    if (end - start) * step < 0:
        what = f"upper bound {end} and lower bound {start} are inconsistent with the sign of step {step}"
        raise error(RuntimeError, "range", what, f"write range({start}, {end}, {-step})")
    return (start + step * np.arange(math.floor((end - start) / step) + 1, dtype=np.float64)).astype(chosen(dtype))


def mapping(name: str, others: int) -> Callable:
    """Return the method that replaces each element by a Python function of it and of other tensors' elements."""

    def method(self: Tensor, *given: Any) -> Tensor:
        *tensors, f = given if len(given) == others + 1 else (*given, None)
        if not callable(f) or not all([isinstance(t, Tensor) for t in tensors]):
            wanted = ", ".join([*["tensor"] * others, "function"])
            what = f"takes ({wanted}), got ({', '.join([type(g).__name__ for g in given])})"
            raise error(TypeError, name, what, f"write x.{name}({wanted})")
        if self.requires_grad:
            what = "cannot apply a Python function to a tensor that requires grad"
            raise error(RuntimeError, name, what, f"write x.detach().{name}(...), or a formula of operations")
        if on_device(self._a):
            raise error(TypeError, name, "works only for tensors on the CPU", "write x.cpu() first")
        odd = next((t for t in tensors if t.dtype != self.dtype), None)
        if odd is not None:
            what = f"expected {self.dtype.name} for the other tensors, got {odd.dtype.name}"
            raise error(TypeError, name, what, "write other.to(x.dtype)")
        rows = [t.expand(self.shape).flatten().tolist() for t in (self, *tensors)]
        values = [f(*numbers) for numbers in zip(*rows)]
        if not all([isinstance(v, (int, float, np.generic)) for v in values]):
            raise error(TypeError, name, "the function must return numbers", "return a float")
        return self.copy_(wrap(np.array(values).reshape(self._sizes)))

    method.__doc__ = (
        f"Replace each element by a Python function of it{', and of the elements of others' * bool(others)}."
    )
    return named(method, name)


METHODS = {"type": type_of, "new": new} | {n: mapping(n, k) for n, k in (("apply_", 0), ("map_", 1), ("map2_", 2))}


def construct(self: Any, *data: Any, device: Any = None) -> None:
    """Tensor(...): make a tensor of the default dtype, as PyTorch's legacy constructor does."""
    a = array_of(data, dtypes.default(), "Tensor")
    self._a = a if device is None else to(wrap(a), device=device)._a
    self._edge = None
    self._ver = memory(data[0]) if data and isinstance(data[0], Tensor) else None
    self._view = None
    self._tan = None
    self._grad = None
