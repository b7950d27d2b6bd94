"""Element types and PyTorch's rules for mixing them.

Internally, arrays have NumPy's dtypes; users see the `dtype` objects below (`minigrad.float32`).  One idea explains the
promotion rules: a tensor with dimensions outweighs a 0-d tensor, which outweighs a Python number, unless the lighter one
is of a higher kind (bool < integer < float).  Source: PyTorch's note on tensor attributes, "Type promotion".

NumPy itself has no bfloat16.  It accepts ml_dtypes' bfloat16 as a dtype, but not as one of its kinds of numbers, so use FLOATS
from here, not NumPy, to test for floats.
"""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np

from .. import config
from ..errors import error


class dtype:
    """Type of a tensor's elements.

    >>> import minigrad
    >>> minigrad.float32, minigrad.float32.itemsize, minigrad.int8.is_floating_point
    (minigrad.float32, 4, False)
    """

    __slots__ = ("dtype", "is_floating_point", "is_signed", "itemsize", "name")
    is_complex = False

    def __init__(self, name: str):
        self.name = name
        self.dtype = np.dtype(name)  # NumPy reads this attribute: np.zeros(3, minigrad.float32) works
        self.is_floating_point = self.dtype in FLOATS
        self.is_signed = kind(self.dtype) in "fi"
        self.itemsize = self.dtype.itemsize

    def __repr__(self) -> str:
        return f"{config.library_name}.{self.name}"

    def __reduce__(self):
        return of_numpy, (self.name,)

    def to_numpy(self) -> np.dtype:
        """Return the NumPy dtype of the same elements."""
        return self.dtype


F2, F4, F8, I8, BOOL = np.dtype("f2"), np.dtype("f4"), np.dtype("f8"), np.dtype("i8"), np.dtype("?")
BF2 = np.dtype(ml_dtypes.bfloat16)
HALVES = frozenset({F2, BF2})  # storage dtypes: operations on them compute in float32 (arrays/halves.py)
FLOATS = frozenset({*HALVES, F4, F8})


def kind(d: np.dtype) -> str:
    """Return NumPy's letter for the kind of a dtype: b for bool, i and u for integers, f for floats, including bfloat16."""
    return "f" if d in FLOATS else d.kind


def is_half(a: Any) -> bool:
    """Return True if a is an array or NumPy scalar of float16 or bfloat16."""
    return isinstance(a, (np.ndarray, np.generic)) and a.dtype in HALVES


float16, bfloat16 = dtype("float16"), dtype("bfloat16")
float32, float64 = dtype("float32"), dtype("float64")
int8, int16, int32, int64 = dtype("int8"), dtype("int16"), dtype("int32"), dtype("int64")
uint8, bool_ = dtype("uint8"), dtype("bool")
ALL = (float16, bfloat16, float32, float64, int8, int16, int32, int64, uint8, bool_)
_BY_NUMPY = {d.dtype: d for d in ALL}
_default = float32.dtype


def of_numpy(kind: Any) -> dtype:
    """Return the minigrad dtype of a NumPy dtype.  Raises TypeError for dtypes that tensors cannot hold."""
    try:
        found = _BY_NUMPY.get(np.dtype(kind))
    except (TypeError, ValueError):
        what = f"argument 'dtype' must be a dtype, not {type(kind).__name__}"
        raise error(TypeError, "dtype", what, "write dtype=minigrad.float32, for example") from None
    if found is None:
        names = ", ".join(d.name for d in ALL)
        raise error(TypeError, "dtype", f"{np.dtype(kind)} is not a dtype of minigrad", f"convert to one of {names}")
    return found


def with_own_dtype(array: np.ndarray) -> np.ndarray:
    """Return the array with NumPy's own dtype object: one from a pickle is equal, but code that asks with `is` misses it."""
    own = of_numpy(array.dtype).dtype
    return array if array.dtype is own else array.view(own)


def numpy_dtype(kind: Any) -> np.dtype:
    """Return NumPy's dtype for a user's `dtype=`: a minigrad dtype, a NumPy dtype, or float, int, bool."""
    if isinstance(kind, dtype):
        return kind.dtype
    return of_numpy(kind).dtype


def get_default_dtype() -> dtype:
    """Return the dtype of floating-point numbers without an explicit dtype; float32 unless changed.

    >>> import minigrad
    >>> minigrad.get_default_dtype()
    minigrad.float32
    """
    return _BY_NUMPY[_default]


def set_default_dtype(d: dtype) -> None:
    """Make `d` (float16, bfloat16, float32 or float64) the default dtype of Python floats and factories.

    Raises TypeError for integer dtypes.

    >>> import minigrad
    >>> minigrad.set_default_dtype(minigrad.float64)
    >>> minigrad.tensor([1.]).dtype
    minigrad.float64
    >>> minigrad.set_default_dtype(minigrad.float32)
    """
    global _default
    if not isinstance(d, dtype) or not d.is_floating_point:
        what = f"only floating-point types can be the default, got {d!r}"
        fix = "pass minigrad.float16, minigrad.bfloat16, minigrad.float32 or minigrad.float64"
        raise error(TypeError, "set_default_dtype", what, fix)
    _default = d.dtype


def default() -> np.dtype:
    """Return NumPy's dtype of the current default."""
    return _default


def promote_types(type1: Any, type2: Any) -> dtype:
    """Return the smallest dtype to which both convert when they meet as tensors with dimensions.

    >>> import minigrad
    >>> promote_types(minigrad.int64, minigrad.float32)
    minigrad.float32
    """
    return _BY_NUMPY[_join(numpy_dtype(type1), numpy_dtype(type2))]


def can_cast(from_: Any, to: Any) -> bool:
    """Return True if one dtype may be written into the other: never float into integer, nor a number into bool.

    >>> import minigrad
    >>> minigrad.can_cast(minigrad.int64, minigrad.float32), minigrad.can_cast(minigrad.float32, minigrad.int64)
    (True, False)
    """
    return _rank(numpy_dtype(from_)) <= _rank(numpy_dtype(to))


def _rank(d: np.dtype) -> int:
    return {"b": 0, "i": 1, "u": 1, "f": 2}[kind(d)]


def _join(a: np.dtype, b: np.dtype) -> np.dtype:
    if a is b:
        return a
    if a in FLOATS and b not in FLOATS:  # NumPy would widen int64 with float32 to float64
        return a
    if b in FLOATS and a not in FLOATS:
        return b
    return F4 if {a, b} == HALVES else np.promote_types(a, b)  # neither holds all numbers of the other


LARGEST = {d: float(ml_dtypes.finfo(d).max) for d in FLOATS}


def check_fits(who: str, d: np.dtype, *numbers: Any) -> None:
    """Raise RuntimeError for a number that would change its value, or become infinite, in an array of this dtype."""
    if d.kind == "b":
        return
    for n in numbers:
        if d in FLOATS:
            wrong = isinstance(n, (int, float)) and abs(n) > LARGEST[d] and n not in (math.inf, -math.inf)
        else:
            wrong = isinstance(n, (int, float)) and not np.iinfo(d).min <= n <= np.iinfo(d).max
        if wrong:
            what = f"the number {n} cannot be converted to {of_numpy(d)} without overflow"
            wider = "x.double(), or pass float('inf') if you mean infinity" if d in FLOATS else "x.long()"
            raise error(RuntimeError, who, what, f"convert the tensor first, for example {wider}")


def number_dtype(x: Any) -> np.dtype:
    """Return the dtype of a Python number."""
    if isinstance(x, (bool, np.bool_)):
        return BOOL
    return I8 if isinstance(x, (int, np.integer)) else _default


def common(args: Any) -> np.dtype:
    """Return the dtype in which one operation computes with these arrays and Python numbers."""
    dims = zero = number = None
    for a in args:
        if isinstance(a, np.ndarray):
            if a.ndim:
                dims = a.dtype if dims is None else _join(dims, a.dtype)
            else:
                zero = a.dtype if zero is None else _join(zero, a.dtype)
        else:
            d = number_dtype(a)
            number = d if number is None else _join(number, d)
    return _heavier(dims, _heavier(zero, number))


def _heavier(a: np.dtype | None, b: np.dtype | None) -> np.dtype:
    """Return `a`, from the weightier operands, unless `b` is of a higher kind."""
    if a is None or b is None:
        return b if a is None else a
    return _join(a, b) if _rank(b) > _rank(a) or a.kind == "b" else a


class finfo:
    """Limits of a floating-point dtype: eps, max, min, tiny, resolution, bits.

    >>> import minigrad
    >>> minigrad.finfo(minigrad.float32).eps, minigrad.finfo(minigrad.float32).max
    (1.1920928955078125e-07, 3.4028234663852886e+38)
    """

    def __init__(self, type: dtype | None = None):
        asked = numpy_dtype(type or get_default_dtype())
        if asked not in FLOATS:
            raise error(TypeError, "finfo", f"requires a floating-point dtype, not {type}", "use minigrad.iinfo")
        info = ml_dtypes.finfo(asked)
        self.bits, self.dtype = info.bits, str(info.dtype)
        self.eps, self.max, self.min, self.tiny = (float(v) for v in (info.eps, info.max, info.min, info.tiny))
        self.smallest_normal, self.resolution = self.tiny, 10.0**-info.precision

    def __repr__(self) -> str:
        names = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        fields = ", ".join(f"{n}={getattr(self, n):.6g}" for n in names)
        return f"finfo({fields}, dtype={self.dtype})"


class iinfo:
    """Limits of an integer dtype: max, min, bits.

    >>> import minigrad
    >>> minigrad.iinfo(minigrad.int8).min, minigrad.iinfo(minigrad.int8).max
    (-128, 127)
    """

    def __init__(self, type: dtype):
        asked = numpy_dtype(type)
        if asked.kind not in "iu":
            raise error(TypeError, "iinfo", f"requires an integer dtype, not {type}", "use minigrad.finfo")
        info = np.iinfo(asked)
        self.bits, self.max, self.min, self.dtype = info.bits, int(info.max), int(info.min), str(info.dtype)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
