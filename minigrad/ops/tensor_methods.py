"""Tensor's methods and operators, from the table of operations."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.dtypes import FLOATS
from ..core.inplace import inplace
from ..core.tensor import Tensor
from ..errors import error
from ..events import services
from ..tensors import methods as face
from . import (
    copy,
    create,
    diagonal,
    index,
    inverses,
    legacy,
    masks,
    pin,
    predicates,
    random,
    shape,
    shape_inplace,
    storage,
)
from .base import registry
from .base.families import Pointwise
from .public_functions import named_code, operation_of, rename_code

# operator -> the operation's name in the table; the binary ones have a reflected form, and some an in-place one
BINARY = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "div",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "pow",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}
OPERAND = (Tensor, int, float, np.ndarray, np.generic)  # the right operands of `x + y`
COMPARE = {"eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}
UNARY = {"neg": "neg", "abs": "abs"}


def not_implemented(name: str, x: Tensor, other: object) -> Any:
    """Return NotImplemented, so that Python asks `other`; raise an error for a tuple or list of tensors, which has no answer.

    For an integer tensor Python goes on: it may be the number of repetitions of the list.
    """
    listed = isinstance(other, (tuple, list)) and any(isinstance(t, Tensor) for t in other)
    if listed and x._np_dtype in FLOATS:
        raise services.problem("an operand is a tensor or a number", name=name, x=x, other=other)
    return NotImplemented


COMMUTATIVE = {"add", "mul", "and", "or", "xor"}  # here `2 * x` is `x * 2`, in the graph too


def binary(cls: type[Pointwise], swap: bool) -> Any:
    """Return the method of `x + y`, or of `y + x` if Python asks the right operand."""

    def method(self: Tensor, other: Any) -> Any:
        if not isinstance(other, OPERAND):
            return not_implemented(cls.function_name(), self, other)
        return cls.apply(other, self) if swap else cls.apply(self, other)

    return rename_code(method, cls.function_name())


def comparison(cls: type[Pointwise]) -> Any:
    """Return the method of `x == y`, which accepts any two objects."""

    def method(self: Tensor, other: Any) -> Any:
        return cls.apply(self, other) if isinstance(other, OPERAND) else NotImplemented

    return rename_code(method, cls.function_name())


def in_place(cls: type[Pointwise]) -> Any:
    """Return the method of `x += y`, which writes into x."""

    def method(self: Tensor, other: Any) -> Tensor:
        return inplace(cls, self, other)

    return rename_code(method, cls.function_name() + "_")


def invert(self: Tensor) -> Tensor:
    """Compute `~x`: all bits inverted, for bools logical not."""
    if self._np_dtype in FLOATS:
        raise error(
            TypeError, "~", f"only works on integer and bool tensors, not {self.dtype}", "compare first: ~(x > 0)"
        )
    return registry.TABLE["bitwise_not"].function(self)


def matmul(self: Tensor, other: Any) -> Any:
    """Compute `x @ y`."""
    if not isinstance(other, OPERAND):
        return not_implemented("matmul", self, other)
    return registry.TABLE["matmul"].function(self, other)


def rmatmul(self: Tensor, other: Any) -> Any:
    """Compute `y @ x` if Python asks the right operand."""
    if not isinstance(other, OPERAND):
        return not_implemented("matmul", self, other)
    return registry.TABLE["matmul"].function(other, self)


def rtruediv(self: Tensor, other: Any) -> Any:
    """Compute `2 / x` as PyTorch does, x.reciprocal() * 2: x is not saved, so it may be modified afterwards."""
    if not isinstance(other, OPERAND):
        return not_implemented("div", self, other)
    return registry.TABLE["reciprocal"].function(self) * other


def install_operators(T: Any) -> None:
    """Give Tensor Python's operators."""
    table = registry.TABLE
    for name, op in BINARY.items():
        cls = table[op].cls
        setattr(T, f"__{name}__", binary(cls, False))
        cls.operator = f"__{name}__"
        setattr(T, f"__r{name}__", binary(cls, name not in COMMUTATIVE))
        setattr(T, f"__i{name}__", in_place(cls))
    T.__rtruediv__ = rtruediv  # two operations, which pictures show
    for name, op in COMPARE.items():
        setattr(T, f"__{name}__", comparison(table[op].cls))
    for name, op in UNARY.items():
        setattr(T, f"__{name}__", table[op].function)
    T.__pos__, T.__invert__ = table["positive"].function, invert
    T.__matmul__, T.__rmatmul__ = rename_code(matmul, "matmul"), rename_code(rmatmul, "matmul")
    T.__hash__ = object.__hash__  # by identity, although == compares values


def install() -> None:
    """Give Tensor all methods of the table, and those that are not operations."""
    T: Any = Tensor
    face.install()
    T.__init__ = legacy.construct
    install_operators(T)
    T.copy_, T.fill_, T.zero_, T.cpu, T.cuda = copy.copy_, copy.fill_, copy.zero_, copy.cpu, copy.cuda
    T.pin_memory = pin.pin_memory
    for f in (copy.copy_, copy.fill_, copy.zero_):
        named_code(f.__code__, f.__name__)
    for name, method in copy.casts().items():
        setattr(T, name, method)
    for module in (predicates, create, diagonal, index, inverses, legacy, masks, random, shape, shape_inplace, storage):
        for name, method in module.METHODS.items():
            setattr(T, name, method)
            if hasattr(method, "__code__") and operation_of(method.__code__) is None:
                named_code(method.__code__, name)
    registry.attach(T)
