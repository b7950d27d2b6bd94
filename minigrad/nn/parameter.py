"""Parameter, a tensor that registers itself with its Module, and the shapeless tensors of lazy modules (lazy.py)."""

from __future__ import annotations

from typing import Any

from ..core.saved import memory
from ..core.tensor import Tensor, wrap
from ..errors import error
from ..fast import PLAIN
from ..ops.create import empty, zeros

__all__ = ["Parameter", "UninitializedBuffer", "UninitializedParameter", "is_lazy"]


class Parameter(Tensor):
    """A leaf that requires grad; assigned to an attribute of a Module, it becomes one of the module's parameters.

    `Parameter(tensor)` shares the tensor's memory.

    >>> import minigrad
    >>> minigrad.nn.Parameter(minigrad.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    # _path: its name in the module whose parameters() yielded it | _replaced: the value that replaced it there, and the line
    __slots__ = ("_path", "_replaced")
    _is_param = True

    def __init__(self, data: Tensor | None = None, requires_grad: bool = True):
        held: Any = zeros(0) if data is None else data
        self._a = held._a
        self._edge = self._view = self._tan = self._grad = None
        self._ver = memory(held)
        if requires_grad:
            self.requires_grad_()

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"


PLAIN.add(Parameter)


FIX = "call the model once on an example input: model(x)"


# ---------------------------------------------------------------------- tensors without a shape
class Uninitialized(Tensor):
    """A tensor with a dtype and a device, but no shape and no numbers until `materialize`."""

    __slots__ = ()
    cls_to_become: type[Tensor] = Tensor
    _held: Any = Tensor._a  # the slot, holding an empty array

    @property
    def _a(self) -> Any:  # type: ignore[override]  every computation with a tensor reads its array
        what = "has no shape and no numbers before the first call of its lazy module"
        raise error(ValueError, type(self).__name__, what, FIX)

    @property
    def data(self) -> Tensor:
        """The empty tensor that stands in for the numbers."""
        return wrap(Uninitialized._held.__get__(self))

    @data.setter
    def data(self, other: Tensor) -> None:
        Uninitialized._held.__set__(self, other._a)

    dtype = property(lambda t: t.data.dtype)  # type: ignore[assignment]
    device = property(lambda t: t.data.device)  # type: ignore[assignment]
    _np_dtype = property(lambda t: t.data._np_dtype)

    @property
    def shape(self) -> Any:
        raise error(
            RuntimeError, type(self).__name__, "can't access the shape of an uninitialized parameter or buffer", FIX
        )

    def is_floating_point(self) -> bool:
        """Return True if the dtype is a floating-point one."""
        return self.data.is_floating_point()

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Change the dtype or device, in place."""
        self.data = self.data.to(*args, **kwargs)
        return self

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become a tensor of this shape, with uninitialized memory."""
        made = empty(*shape, device=device or self.device, dtype=dtype or self.dtype)
        self.__class__ = self.cls_to_become  # type: ignore[assignment]
        self.data = made

    def detach(self) -> Any:
        """Return the tensor itself, since it has no numbers to share."""
        return self

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __deepcopy__(self, memo: dict) -> Any:
        return memo.setdefault(id(self), self.__reduce_ex__(2)[0](*self.__reduce_ex__(2)[1]))

    def __reduce_ex__(self, protocol: Any) -> tuple:
        return type(self), (self.requires_grad, self.device, self.dtype)


class UninitializedParameter(Uninitialized, Parameter):  # type: ignore[misc]
    """A parameter whose shape is not known yet.

    >>> import minigrad
    >>> p = minigrad.nn.UninitializedParameter()
    >>> p.materialize((2, 3))
    >>> type(p), p.shape
    (<class 'minigrad.nn.parameter.Parameter'>, minigrad.Size([2, 3]))
    """

    __slots__ = ()
    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        made = Parameter(empty(0, device=device, dtype=dtype), requires_grad)
        made.__class__ = cls
        return made

    def __init__(self, requires_grad: bool = True, device: Any = None, dtype: Any = None):
        pass


class UninitializedBuffer(Uninitialized):
    """A buffer whose shape is not known yet.

    >>> import minigrad
    >>> minigrad.nn.UninitializedBuffer()
    <UninitializedBuffer>
    """

    __slots__ = ()

    def __new__(cls, requires_grad: bool = False, device: Any = None, dtype: Any = None) -> Any:
        made = empty(0, device=device, dtype=dtype)
        made.__class__ = cls
        return made

    def __init__(self, requires_grad: bool = False, device: Any = None, dtype: Any = None):
        pass


def is_lazy(t: Any) -> bool:
    """Return True if a parameter or buffer has no shape yet."""
    return isinstance(t, Uninitialized)
