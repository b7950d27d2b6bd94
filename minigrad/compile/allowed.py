"""List what compiled functions may call: minigrad's own code, `math`, and a table of builtins and methods without side effects.

Everything that is not listed here runs eagerly. User functions are not listed: their source decides (user_code.py).
"""

import builtins
import contextlib
import functools
import itertools
import math
import operator
import sys
import types
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..arrays.devices import device
from ..arrays.dtypes import dtype
from ..core.tensor import Tensor
from ..ops.generator import Generator
from ..ops.public_functions import operation_of
from ..places import home

# numbers, texts and other values that are compared as such
PLAIN = (int, float, complex, str, bytes, type(None), type(...), slice, range, dtype, np.dtype, np.generic, device)
CONTAINERS = (list, tuple, dict, set, frozenset)
# packages of minigrad whose functions and classes only compute, or change tensors, modules and optimizers
LIBRARY = set("""arrays autograd compile core distributed distributions fast func layers linalg nn ops optim tensors
                 utils""".split())  # fmt: skip
# those among them that read or change something else
EXCEPT = {"minigrad.autograd.profiler", "minigrad.autograd.anomaly", "minigrad.nn.parallel", "minigrad.utils.data",
          "minigrad.utils.benchmark", "minigrad.utils.cpp_extension"}  # fmt: skip
EXCEPT_NAMES = {"set_default_dtype", "set_default_device", "set_printoptions", "get_num_threads",
                "get_default_device", "default_device", "get_printoptions"}  # fmt: skip
BUILTINS = """abs all any bool bytes callable chr complex dict divmod enumerate filter float format frozenset hash int
           isinstance issubclass iter len list map max min next ord pow range repr reversed round set slice sorted str sum super
           tuple zip""".split()  # fmt: skip
ITERTOOLS = """accumulate chain combinations count islice pairwise permutations product repeat starmap takewhile
            zip_longest""".split()  # fmt: skip
OPERATORS = """abs add and_ concat contains eq floordiv ge getitem gt index invert is_ is_not le lshift lt matmul mod mul ne neg
            not_ or_ pos pow rshift sub truediv truth xor""".split()  # fmt: skip
FUNCTIONS = {
    *[getattr(builtins, name) for name in BUILTINS],
    *[getattr(itertools, name) for name in ITERTOOLS],
    *[getattr(operator, name) for name in OPERATORS],
    functools.reduce, itertools.chain.from_iterable, contextlib.suppress, contextlib.nullcontext,
}  # fmt: skip
# methods that change a list, dict or set
CHANGING = set("""append extend insert pop remove clear sort reverse popitem update setdefault add discard difference_update
               intersection_update symmetric_difference_update move_to_end""".split())  # fmt: skip
# methods that Python calls for operators, conditions, loops and entries
IMPLICIT = [f"__{name}__" for name in """add sub mul truediv floordiv mod pow matmul and or xor lshift rshift neg pos invert abs
            radd rsub rmul rtruediv rfloordiv rmod rpow rmatmul rand ror rxor rlshift rrshift iadd isub imul itruediv ifloordiv
            imod ipow imatmul iand ior ixor ilshift irshift lt le gt ge contains bool len iter next getitem index int float
            round""".split()]  # fmt: skip
COMPARED = ["__eq__", "__hash__", "__repr__", "__str__", "__format__"]  # and for comparisons and texts
# functions that never call one of these
BLIND = set("""all any callable enumerate filter isinstance issubclass iter len list map next range reversed slice super tuple
               zip accumulate chain from_iterable islice pairwise product repeat starmap takewhile zip_longest reduce append
               extend insert clear reverse copy keys values items""".split())  # fmt: skip
LISTED = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.MethodDescriptorType, types.ModuleType,
          types.WrapperDescriptorType, type, functools.partial, property, Generator)  # fmt: skip
SLOTS = (types.WrapperDescriptorType, types.MethodDescriptorType, types.ClassMethodDescriptorType, types.BuiltinFunctionType,
         type(None))  # fmt: skip
MUTABLE = 1 << 9  # the flag of a class whose attributes can be set, unless 1 << 8 is set as well
MISSING: Any = object()


def is_library(a: Any) -> bool:
    """Return True for an operation, and for what belongs to the part of minigrad that compiled functions may use."""
    if is_operation(a):
        return True
    module = home(a)
    if not module.startswith(PACKAGE) or getattr(a, "__name__", "") in EXCEPT_NAMES:
        return False
    part = module.partition(".")[2].partition(".")[0]
    return part in LIBRARY and module not in EXCEPT or module == PACKAGE


PACKAGE = __name__.partition(".")[0]


def is_operation(a: Any) -> bool:
    """Return True for the function of an operation, wherever it is declared."""
    return isinstance(a, types.FunctionType) and operation_of(a.__code__) is not None


def is_user_function(a: Any) -> bool:
    """Return True for a function in Python that does not belong to minigrad."""
    return (
        isinstance(a, types.FunctionType) and not (a.__module__ or "").startswith(PACKAGE + ".") and not is_operation(a)
    )


def is_users(cls: type) -> bool:
    """Return True for a class that a program can change: it is neither minigrad's nor NumPy's, and not built in."""
    return cls.__flags__ & (MUTABLE | 1 << 8) == MUTABLE and home(cls).partition(".")[0] not in (PACKAGE, "numpy")


def is_plain(a: Any) -> bool:
    """Return True for a number, text or other value that nothing but its type and its value describes."""
    return isinstance(a, PLAIN) and not is_users(type(a))


def attribute_of(cls: type, name: str) -> Any:
    """Return what a class or a base class defines under a name, without calling anything; MISSING if nothing does."""
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), MISSING)


def runs_python(cls: type, names: Iterable[str]) -> bool:
    """Return True if one of a class's methods is neither written in C nor minigrad's, nor that of named tuples."""
    found = [raw for name in names if (raw := attribute_of(cls, name)) is not MISSING]
    return any(type(raw) not in SLOTS and home(raw).partition(".")[0] not in (PACKAGE, "collections") for raw in found)


def is_module(a: Any) -> bool:
    """Return True for a module."""
    return "_modules" in getattr(a, "__dict__", ())


def names_in(f: Any) -> tuple[str, ...]:
    """Return the names of attributes and globals that a function uses."""
    return f.__code__.co_names if isinstance(f, types.FunctionType) else ()


def is_of_library(a: Any) -> bool:
    """Return True for a function written in C that belongs to a module or a class, not to an object."""
    return isinstance(a, types.BuiltinFunctionType) and isinstance(a.__self__, (types.ModuleType, type, type(None)))


def methods(cls: type) -> list[str]:
    """Return the methods that minigrad's code calls and a user can replace: `forward`, and overridden ones."""
    own = [base for base in cls.__mro__[:-1] if is_library(base)]
    names = {
        name for base in cls.__mro__[:-1] if base not in own for name, f in vars(base).items() if is_user_function(f)
    }
    found = {name for name in names if not name.startswith("__") and any(name in vars(base) for base in own)}
    return sorted(found | ({"forward"} if hasattr(cls, "forward") else set()))


def has_state(a: Any) -> bool:
    """Return True for an object with attributes whose class, or a base of it, is minigrad's: a module, an optimizer."""
    if isinstance(a, (Tensor, *LISTED, *PLAIN)) or not hasattr(a, "__dict__"):
        return False
    return any(is_library(cls) for cls in type(a).__mro__)


def may_be_read(a: Any) -> bool:
    """Return True for an object that a function may read: no operator, loop or condition runs methods that hide a state."""
    kind = type(a)
    if isinstance(a, (*LISTED, np.ufunc)) or is_library(kind):
        return (
            not is_users(kind)
            or home(kind).partition(".")[0] in sys.stdlib_module_names
            or not runs_python(kind, IMPLICIT)
        )
    if isinstance(a, (*CONTAINERS, *PLAIN)) or has_state(a):
        return not runs_python(kind, IMPLICIT)
    return all(attribute_of(kind, name) in (MISSING, None, getattr(object, name, None)) for name in IMPLICIT)


def is_pure_method(receiver: Any, name: str, may_change: bool) -> bool:
    """Return True if a method of a builtin type changes nothing that outlives the call."""
    if isinstance(receiver, type):
        return receiver in FUNCTIONS  # int.from_bytes, dict.fromkeys
    if isinstance(receiver, (list, dict, set)):
        return (may_change or name not in CHANGING) and name[:2] != "__"
    return isinstance(receiver, (tuple, frozenset, *PLAIN))


def is_math(a: Any) -> bool:
    """Return True for a function of `math`."""
    return isinstance(a, types.BuiltinFunctionType) and a.__module__ == math.__name__
