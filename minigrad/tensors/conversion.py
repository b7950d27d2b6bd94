"""Conversions of tensors to objects outside the graph: NumPy arrays, Python numbers and lists, text, pickles, deep copies.

These methods of Tensor leave minigrad; methods.py has the ones that describe a tensor.
"""

from __future__ import annotations

import copy
from math import prod
from typing import Any

import numpy as np

from ..arrays import dlpack
from ..arrays.dtypes import FLOATS, numpy_dtype, with_own_dtype
from ..arrays.kinds import laid_out, on_device
from ..arrays.memory import begin, copied, storage
from ..core.frames import current
from ..core.graph import Leaf, history, operation_of
from ..core.tensor import Tensor, wrap
from ..errors import error, warn
from ..events import events, intercept, services, unheard
from ..kernels import cuda_kernels
from .printing import text

# NumPy's function behind an operator -> the method that Python calls on a tensor to its right
OPERATORS = {
    np.add: "__radd__",
    np.subtract: "__rsub__",
    np.multiply: "__rmul__",
    np.true_divide: "__rtruediv__",
    np.floor_divide: "__rfloordiv__",
    np.remainder: "__rmod__",
    np.power: "__rpow__",
    np.matmul: "__rmatmul__",
    np.bitwise_and: "__rand__",
    np.bitwise_or: "__ror__",
    np.bitwise_xor: "__rxor__",
    np.left_shift: "__rlshift__",
    np.right_shift: "__rrshift__",
    np.less: "__gt__",
    np.less_equal: "__ge__",
    np.greater: "__lt__",
    np.greater_equal: "__le__",
    np.equal: "__eq__",
    np.not_equal: "__ne__",
}


def warn_tangent_lost(t: Tensor) -> None:
    """In forward mode, warn that a tensor with a tangent becomes an array: results computed from it have no tangent."""
    if current().dual.tangent(t) is not None:
        warn(
            "tangent-lost",
            "numpy",
            f"a tensor of shape {tuple(t.shape)} with a tangent becomes an array, which has no tangent: derivatives stop here",
            "compute with minigrad's operations; if you need only the numbers, write x.detach().numpy()",
        )


class Conversions:
    """The methods of Tensor that return something other than tensors."""

    __slots__ = ()

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """Return the memory as a NumPy array that shares it with the tensor; bfloat16 has the dtype of ml_dtypes.

        Raises RuntimeError for a tensor that requires grad, unless `force` is set or grad mode is off, as it is inside the
        forward of a Function.  Warns about a tangent in forward mode, because NumPy does not propagate it.
        """
        events.read(self, "numpy")
        if not force and current().grad and self._layer is None and self.requires_grad:
            raise error(
                RuntimeError,
                "numpy",
                f"can't call numpy() on a tensor that requires grad, of shape {tuple(self.shape)}",
                "use tensor.detach().numpy(); "
                + (
                    "keep losses as numbers: loss.item()"
                    if self.numel() == 1
                    else "mark a backward that computes in NumPy with @once_differentiable"
                ),
                notes=intercept.origins({"tensor": self}) or (),
            )
        if type(self._a) is not np.ndarray:
            if force:
                return self._a.to_host()
            raise error(
                TypeError,
                "numpy",
                f"can't convert a tensor on {self.device} of shape {tuple(self.shape)} to numpy, which cannot access it there",
                "copy it to the computer's memory first: x.cpu().numpy()",
            )
        events.lent(self, "numpy()")
        if current().dual is not None and not force:
            warn_tangent_lost(self)
        return self._a

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        a = self.numpy()
        if copy is False and dtype is not None and a.dtype != dtype:
            raise ValueError("cannot convert the dtype of a tensor without a copy")
        return a.astype(dtype, copy=bool(copy)) if dtype is not None else a.copy() if copy else a

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Apply NumPy's functions to tensors: `array * tensor` uses Tensor's own operator, others compute on the memory.

        Their result is an untracked tensor, so they raise RuntimeError for a tensor that requires grad.
        """
        name = OPERATORS.get(ufunc)
        if (
            name is not None
            and method == "__call__"
            and not options
            and isinstance(inputs[0], (np.ndarray, np.generic))
        ):
            return getattr(inputs[1], name)(inputs[0])
        tracked = next((x for x in inputs if isinstance(x, Tensor) and current().grad and x.requires_grad), None)
        if tracked is not None:
            raise error(
                RuntimeError,
                ufunc.__name__,
                f"NumPy's function cannot track a tensor that requires grad, of shape {tuple(tracked.shape)}: its "
                "result would have no history",
                f"use minigrad's function, minigrad.{ufunc.__name__}, or x.detach()",
            )
        arrays = [x.numpy() if isinstance(x, Tensor) else x for x in inputs]
        out = options.get("out", ())
        if out:
            options["out"] = tuple([x.numpy() if isinstance(x, Tensor) else x for x in out])
        results = getattr(ufunc, method)(*arrays, **options)
        if out:
            return out[0] if len(out) == 1 else out
        several = results if isinstance(results, tuple) else (results,)
        made = tuple([wrap(with_own_dtype(np.asarray(r))) for r in several])
        for t in made:
            events.built(t)
        return made if isinstance(results, tuple) else made[0]

    def __dlpack__(self, **options: Any):
        events.read(self, "__dlpack__")
        if self.requires_grad:
            raise error(BufferError, "dlpack", "can't export a tensor that requires grad", "use tensor.detach()")
        return (
            cuda_kernels("exchange").capsule(self._a, **options)
            if on_device(self._a)
            else dlpack.as_capsule(self._a, **options)
        )

    def __dlpack_device__(self):
        return self._a.__dlpack_device__()

    @property
    def __cuda_array_interface__(self) -> dict:
        """Description of the memory for other libraries on the same GPU.  Raises AttributeError for a tensor elsewhere."""
        if not on_device(self._a):
            what = f"a tensor of shape {tuple(self.shape)} on {self.device} has no memory on a GPU"
            raise error(AttributeError, "__cuda_array_interface__", what, "use x.cuda(), or np.asarray(x)")
        if self.requires_grad:
            what = f"can't export a tensor that requires grad, of shape {tuple(self.shape)}"
            raise error(RuntimeError, "__cuda_array_interface__", what, "use tensor.detach()")
        return cuda_kernels("exchange").interface(self._a)

    def item(self) -> Any:
        """Return the value of a tensor with one element as a Python number.  Raises RuntimeError for more elements."""
        if events.read is not unheard:
            events.read(self, "item")
            if (symbol := intercept.item(self)) is not None:
                return symbol
        if self._a.size != 1:
            raise error(
                RuntimeError,
                "item",
                f"a tensor of shape {tuple(self.shape)} has {self._a.size} elements, not 1",
                "index one element first, or use .tolist()",
                notes=intercept.origins({"tensor": self}) or (),
            )
        return self._a.item()

    def tolist(self) -> Any:
        """Return all values as nested lists of Python numbers."""
        if events.read is not unheard:
            events.read(self, "tolist")
        return self._a.tolist()

    def __bool__(self) -> bool:
        if (self._a.size if self._layer is None else self.numel()) != 1:
            raise services.problem("the truth value of several elements is ambiguous", x=self)
        return bool(self.item())

    def _number(self, who: str) -> Any:
        if (self._a.size if self._layer is None else prod(self._sizes)) != 1:
            raise error(
                ValueError,
                who,
                f"only one element tensors can be converted to Python scalars; this one has shape {tuple(self.shape)}",
                "index one element first, or use .tolist()",
                notes=intercept.origins({"tensor": self}) or (),
            )
        return self.item()

    def __float__(self) -> float:
        if self._edge is self._view is self._layer is None and events.read is unheard and self._a.size == 1:
            return float(self._a.item())  # one call instead of four: losses are read in loops
        if history(self) is not None:
            services.notice("a tensor that requires grad becomes a number", x=self)
        return float(self._number("float"))

    def __int__(self) -> int:
        return int(self._number("int"))

    def __index__(self) -> int:
        if self._np_dtype in FLOATS or self.numel() != 1:
            raise error(
                TypeError,
                "index",
                "only integer tensors of a single element can be converted to an index; "
                f"this one has shape {tuple(self.shape)} and dtype {self.dtype}",
                "convert with int(x)",
                notes=intercept.origins({"tensor": self}) or (),
            )
        return int(self.item())

    def __complex__(self) -> complex:
        return complex(self._number("complex"))

    def __contains__(self, value: Any) -> bool:
        if not isinstance(value, (int, float, np.generic)) and not hasattr(value, "_edge"):
            what = f"only a number or a tensor can be in a tensor, got a {type(value).__name__}"
            raise error(RuntimeError, "in", what, "write `in tensor.tolist()` for other values")
        return bool((self == value).any())

    def __reversed__(self) -> Tensor:
        return self.flip(0) if self.ndim else self

    def __repr__(self) -> str:
        return text(self)

    def __format__(self, spec: str) -> str:
        whole = self.shape or self._layer is not None and not spec  # a transform's box prints itself
        return object.__format__(self, spec) if whole else format(self.item(), spec)

    def __reduce__(self):
        if not self.is_leaf:
            what = f"only leaf tensors can be pickled: this one is the result of {type(self.grad_fn).__name__}"
            raise error(RuntimeError, "pickle", what, "use .detach() first")
        events.read(self, "pickle")
        a, whole, notes = self._a, storage(self._a), self.__dict__ or None
        if not whole.flags.c_contiguous:
            return restore_array, (type(self), a, self.requires_grad), notes
        place = (a.shape, a.dtype, begin(a, whole), a.strides)
        return restore_view, (type(self), whole, *place, self.requires_grad), notes

    def __deepcopy__(self, memo: dict) -> Tensor:
        if not self.is_leaf:
            raise error(
                RuntimeError,
                "deepcopy",
                "only leaf tensors can be deep-copied: this one of shape "
                f"{tuple(self.shape)} is the result of {operation_of(self.grad_fn)}",
                "use x.detach().clone()",
                notes=intercept.origins({"tensor": self}) or (),
            )
        if id(self) not in memo:
            events.read(self, "deepcopy")
            grad = None if self._grad is None else self._grad.__deepcopy__(memo)
            memo[id(self)] = t = restore(type(self), copied(self._a, memo), self.requires_grad, grad)
            t.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return memo[id(self)]


def restore(cls: type, array: np.ndarray, requires_grad: bool, grad: Tensor | None) -> Tensor:
    """Return a leaf, as pickle and deepcopy rebuild it."""
    t = object.__new__(cls)
    t._a = array
    t._edge = t._ver = t._view = t._tan = None
    t._grad = grad
    if requires_grad:
        t._edge = Leaf(t)
    return t


def restore_array(cls: type, array: np.ndarray, requires_grad: bool) -> Tensor:
    """Return a leaf, as pickle rebuilds it."""
    return restore(cls, with_own_dtype(array), requires_grad, None)


def restore_view(
    cls: type, whole: np.ndarray, shape: tuple, dtype: np.dtype, offset: int, strides: tuple, requires_grad: bool
) -> Tensor:
    """Return a leaf, as pickle rebuilds it: leaves that shared memory in one pickle share it again."""
    return restore(cls, laid_out(whole, shape, numpy_dtype(dtype), offset, strides), requires_grad, None)
