"""What a compiled function may call: minigrad's own code, `math`, and a table of builtins and methods without side effects.

Everything that is not listed here runs eagerly. User functions are not listed: their source decides (user_code.py).
"""

from __future__ import annotations

import _operator
import builtins
import collections
import contextlib
import functools
import itertools
import math
import types
from typing import Any

import numpy as np

from ..arrays.devices import Size, device
from ..arrays.dtypes import dtype
from ..core.tensor import Tensor
from .symbols import Number, Whole

# numbers, texts and other values that are compared as such
PLAIN = (int, float, complex, str, bytes, type(None), type(...), slice, range, dtype, np.dtype, np.generic, device)
CONTAINERS = (list, tuple, dict, set, frozenset)
# packages of minigrad whose functions and classes only compute, or change tensors, modules and optimizers
LIBRARY = set("""arrays autograd compile core distributions fast fft func layers linalg nn ops optim special tensors utils""".split())
# those among them that read or change something else
EXCEPT = {"minigrad.autograd.profiler", "minigrad.autograd.anomaly", "minigrad.nn.parallel", "minigrad.utils.data",
          "minigrad.utils.benchmark", "minigrad.utils.cpp_extension"}  # fmt: skip
EXCEPT_NAMES = {"set_default_dtype", "set_default_device", "set_printoptions", "get_num_threads"}
BUILTINS = {getattr(builtins, name) for name in
            """abs all any bool bytes callable chr complex dict divmod enumerate filter float format frozenset int isinstance
            issubclass len list map max min ord pow range reversed round set slice sorted str sum super tuple zip""".split()}  # fmt: skip
OTHERS = {functools.reduce, functools.partial, contextlib.suppress, contextlib.nullcontext, types.SimpleNamespace}
ITERTOOLS = {getattr(itertools, name) for name in
             "accumulate chain combinations islice pairwise permutations product repeat starmap takewhile zip_longest".split()}  # fmt: skip
OPERATORS = {f for name, f in vars(_operator).items()
             if callable(f) and not name.startswith(("i", "set", "del", "_", "attr", "item", "method", "call"))}  # fmt: skip
# builtins that take a container apart, and do not call the methods of its elements
STRUCTURAL = {len, list, tuple, dict, zip, enumerate, reversed, map, filter, isinstance, issubclass, callable, bool, slice, super}
FUNCTIONS = BUILTINS | ITERTOOLS | OPERATORS | (OTHERS - {types.SimpleNamespace, functools.partial}) | {
    itertools.chain.from_iterable, dict.fromkeys
}  # fmt: skip
# methods of lists, dicts and sets that change them
CHANGING = set("""append extend insert pop remove clear sort reverse popitem update setdefault add discard difference_update
               intersection_update symmetric_difference_update move_to_end""".split())  # fmt: skip
# methods that Python calls for operators, conditions and texts
DUNDERS = [f"__{name}__" for name in """add sub mul truediv floordiv mod pow matmul and or xor lshift rshift neg pos invert abs
           radd rsub rmul rtruediv rfloordiv rmod rpow rmatmul rand ror rxor rlshift rrshift iadd isub imul itruediv
           ifloordiv imod ipow imatmul iand ior ixor ilshift irshift eq ne lt le gt ge contains hash bool len format str repr
           index int float""".split()]  # fmt: skip
TRUTH = ["__bool__", "__len__"]
ITERATION = ["__iter__", "__next__", "__getitem__"]
PURE_TYPES = (str, bytes, int, float, complex, bool, range, slice, tuple, frozenset, types.GenericAlias)
COLLECTIONS = {list, dict, set, collections.OrderedDict, collections.defaultdict}
MISSING: Any = object()


def is_library(a: Any) -> bool:
    """Return True if a function or class belongs to the part of minigrad that compiled functions may use."""
    module = getattr(a, "__module__", None)
    if not isinstance(module, str) or not module.startswith(PACKAGE) or getattr(a, "__name__", "") in EXCEPT_NAMES:
        return False
    return module.split(".")[1:2] and module.split(".")[1] in LIBRARY and module not in EXCEPT or module == PACKAGE


PACKAGE = __name__.partition(".")[0]


def is_user_function(a: Any) -> bool:
    """Return True for a function in Python that does not belong to minigrad."""
    return isinstance(a, types.FunctionType) and not str(a.__module__).startswith(PACKAGE + ".")


def attribute_of(cls: type, name: str) -> Any:
    """Return what a class or a base class defines under a name, without calling anything; MISSING if nothing does."""
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), MISSING)


def runs_users_code(cls: type, names: list[str]) -> bool:
    """Return True if an operation on an object of a class may run code that is neither listed nor Python's default."""
    if cls in (Number, Whole) or issubclass(cls, (Tensor, Size)) or cls.__module__ in ("builtins", "types"):
        return cls in UNKNOWN_STATE
    if issubclass(cls, PLAIN) or is_library(cls) or issubclass(cls, CONTAINERS):
        return any(is_user_function(attribute_of(cls, name)) for name in names)
    return any(attribute_of(cls, name) not in (MISSING, None, getattr(object, name, None)) for name in names)


UNKNOWN_STATE = {bytearray, memoryview, types.MappingProxyType, types.CoroutineType}


def is_pure_method(receiver: Any, name: str, is_outside: bool) -> bool:
    """Return True if a method of a builtin type changes nothing that outlives the call."""
    kind = type(receiver)
    if kind in PURE_TYPES or isinstance(receiver, (*PLAIN, Size)):
        return True
    if isinstance(receiver, type):  # int.from_bytes, dict.fromkeys
        return receiver in BUILTINS
    return kind in COLLECTIONS and not (is_outside and name in CHANGING)


def is_math(a: Any) -> bool:
    """Return True for a function of `math`."""
    return isinstance(a, types.BuiltinFunctionType) and a.__module__ == math.__name__
