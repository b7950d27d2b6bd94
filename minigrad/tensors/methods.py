"""The methods of Tensor that are neither operations nor about the graph: shape, dtype, memory, conversion.

`install` adds them to the class, whose core (core/tensor.py) consists of slots and the graph.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ..arrays import dtypes
from ..arrays.devices import Size, layout, strided
from ..arrays.kinds import Array
from ..arrays.memory import address, begin, is_pinned, storage
from ..arrays.meta import is_meta
from ..core.graph import Leaf, Node
from ..core.inplace import layout_of_example
from ..core.saved import INFERENCE, Version, memory, plain_tensor, version
from ..core.tensor import Box, Tensor, wrap
from ..errors import error
from ..events import events, intercept, services
from .conversion import Conversions
from .hooks import NodeMethods, TensorMethods

if TYPE_CHECKING:
    from ..ops.tensor_methods import Operations  # in the stub: the operations, which `install` there attaches
else:
    Operations = object


class Methods(Conversions, TensorMethods, Operations):
    """The methods of tensors that report shape, strides, dtype and memory."""

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self._np_dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.numel() * self.itemsize

    @property
    def layout(self) -> layout:
        """Tensors are strided; there is no other layout."""
        return strided

    @property
    def is_cuda(self) -> bool:
        """True if the memory is a GPU's."""
        return self.device.type == "cuda"

    @property
    def is_cpu(self) -> bool:
        """True if the memory is the computer's own."""
        return self.device.type == "cpu"

    @property
    def is_meta(self) -> bool:
        """True if the tensor has a shape but no memory."""
        return self.device.type == "meta"

    is_sparse = is_quantized = is_nested = is_mkldnn = is_mps = is_xpu = is_mtia = is_xla = property(
        lambda t: False, doc="False: minigrad has none of these tensors."
    )

    @property
    def real(self) -> Tensor:
        """The tensor itself: minigrad has no complex tensors."""
        return self

    @overload
    def size(self, dim: None = None) -> Size: ...
    @overload
    def size(self, dim: int) -> int: ...
    def size(self, dim: int | None = None) -> Any:
        """Return the shape, or the size of one dimension."""
        return self.shape if dim is None else self._sizes[dim]

    def dim(self) -> int:
        """Return the number of dimensions."""
        return self.ndim

    ndimension = dim

    def numel(self) -> int:
        """Return the number of elements."""
        return math.prod(self._sizes)

    nelement = numel

    def element_size(self) -> int:
        """Return the size of one element in bytes."""
        return self.itemsize

    @overload
    def stride(self, dim: None = None) -> tuple[int, ...]: ...
    @overload
    def stride(self, dim: int) -> int: ...
    def stride(self, dim: int | None = None) -> Any:
        """Return the distance in memory, in elements, between neighbours along each dimension, or along one."""
        a = layout_of_example(self)
        if a.size:
            steps = [s // a.itemsize for s in a.strides]
            for d in range(a.ndim - 1, -1, -1):  # NumPy has 0 along a dimension made by None, unlike PyTorch
                if steps[d] == 0 and a.shape[d] == 1:
                    steps[d] = steps[d + 1] * a.shape[d + 1] if d + 1 < a.ndim else 1
        else:  # NumPy has zeros for empty arrays
            steps = [math.prod([max(n, 1) for n in self.shape[d + 1 :]]) for d in range(self.ndim)]
        if dim is not None and (not hasattr(dim, "__index__") or not -self.ndim <= dim < self.ndim):
            kind, got = (IndexError, dim) if hasattr(dim, "__index__") else (TypeError, type(dim).__name__)
            raise error(kind, "stride", f"dim must be an integer below {self.ndim}, got {got}", "write dim=0 or dim=-1")
        return tuple(steps) if dim is None else steps[dim]

    def storage_offset(self) -> int:
        """Return the offset of the tensor in its storage, in elements."""
        return begin(self._a, storage(self._a)) // self._a.itemsize

    def data_ptr(self) -> int:
        """Return the address of the first element; 0 on the device meta."""
        events.read(self, "data_ptr")
        return 0 if is_meta(self._a) else address(self._a)

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Return True if the elements are in row-major order, or in the order of a memory format, without gaps."""
        a, dims = layout_of_example(self), getattr(memory_format, "dims", ())
        if not dims:
            return a.flags.c_contiguous
        return len(dims) == a.ndim and a.transpose(dims).flags.c_contiguous

    def is_floating_point(self) -> bool:
        """Return True if the dtype is float16, bfloat16, float32 or float64."""
        return self._np_dtype in dtypes.FLOATS

    def is_complex(self) -> bool:
        """Return False: minigrad has no complex tensors."""
        return False

    def is_signed(self) -> bool:
        """Return True if the dtype can hold negative numbers."""
        return dtypes.kind(self._np_dtype) in "fi"

    def is_inference(self) -> bool:
        """Return True if the tensor was made under inference_mode."""
        return self._ver is INFERENCE

    def is_pinned(self, device: Any = None) -> bool:
        """Return True if the memory is pinned: `pin_memory` made it, for fast copies to and from a GPU."""
        a = layout_of_example(self)
        return type(a) is np.ndarray and is_pinned(a)

    def is_shared(self) -> bool:
        """Return False: processes never share memory."""
        return False

    def share_memory_(self) -> Tensor:
        """Return the tensor itself: tensors are copied to other processes."""
        return self

    def _is_view(self) -> bool:
        return self._view is not None

    @property
    def data(self) -> Tensor:
        """Untracked tensor on the same memory.  Its writes do not count as writes to this tensor."""
        t = wrap(self._a)
        events.lent(self, ".data")
        t._ver = intercept.counter(self)
        events.detached("data", self, t)
        return t

    @data.setter
    def data(self, other: Tensor) -> None:
        if not isinstance(other, Tensor) or other._np_dtype not in dtypes.FLOATS and self.requires_grad:
            raise services.problem("data is a tensor, and floating-point if it requires grad", t=self, other=other)
        if type(other) is not Box and other._a is self._a:  # x.data *= ...: the write to x.data has been handled
            return
        events.changes("replaces the memory of a tensor (.data =), which outlives the call", self)
        events.replaces()
        shape = self._a.shape
        put_memory(self, other._a)
        events.lent(self, ".data =")
        if self._a.shape != shape:  # nodes that saved this tensor cannot use it
            memory(self).bump(".data =")
        renew_leaf(self)

    def __len__(self) -> int:
        if not self.shape:
            notes = intercept.origins({"tensor": self}) or ()
            raise error(TypeError, "len", "a 0-d tensor has no length", "use .item() for its value", notes=notes)
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self.shape:
            notes = intercept.origins({"tensor": self}) or ()
            raise error(TypeError, "iter", "iteration over a 0-d tensor", "use .item() for its value", notes=notes)
        return iter(self.unbind(0))


class BoxMethods:
    """The methods that differ for a transform's tensors: the layer decides which numbers can be read."""

    def item(self):
        events.read(self, "item")
        symbol = intercept.item(self)
        return self._layer.readable(self).item() if symbol is None else symbol

    def tolist(self):
        return self._layer.readable(self).tolist()

    @property
    def data(self) -> Tensor:
        t = self._layer.detach(self)
        events.detached("data", self, t)
        return t

    @data.setter
    def data(self, other: Tensor) -> None:
        if plain_tensor(other)._a is not plain_tensor(self)._a:  # it is the same after x.data -= ...
            raise services.problem("a tensor inside a transform has no memory", box=self)

    def _number(self, who: str) -> Any:
        services.notice("number of a tensor inside a transform", box=self)
        return Tensor._number(self, who)

    def __repr__(self) -> str:
        return f"{self._layer.name.capitalize()}Tensor({self._value!r})"


def install() -> None:
    """Add these methods to Tensor, Box and the nodes of the graph."""
    of_tensors = (Conversions, TensorMethods, Methods)
    owners = ((Tensor, of_tensors), (Box, (BoxMethods,)), (Node, (NodeMethods,)), (Leaf, (NodeMethods,)))
    for owner, classes in owners:
        for name, method in [pair for cls in classes for pair in vars(cls).items()]:
            if callable(method) or isinstance(method, property):
                setattr(owner, name, method)


def put_memory(t: Tensor, array: Array) -> None:
    """Give t another memory, whose writes are counted from here on; nodes that saved t read the new numbers."""
    now, t._ver = version(t), Version()
    t._ver.n, t._a = now, array


def renew_leaf(t: Tensor) -> None:
    """Give a leaf whose shape or dtype has been changed another end of its edges: gradients of earlier uses have the former."""
    leaf = t._edge
    if type(leaf) is Leaf and (leaf._shape, leaf._dtype) != t._spec:
        t._edge = Leaf(t)
        t._edge._hooks, leaf._replaced = leaf._hooks, True
