"""The Batch layer: vmap.  A box hides one dimension of its value; an operation on boxes runs the operation's vmap rule.

Built-in operations get their rule from their family (ops/base/families.py).  A user's Function has a static method `vmap`, or
requests a generated rule with `generate_vmap_rule = True`, which runs each of its methods under a separate vmap (generated.py).
"""

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..core.frames import Frame, call_in, push, use
from ..core.function import Function
from ..core.inplace import inplace_at
from ..core.saved import version
from ..core.tensor import Box, Tensor
from ..errors import MinigradError
from ..events import intercept, services, unheard
from .batching import batch_in_front, lift, without_gaps
from .generated import generated_rule
from .transform import Transform


class Batch(Transform):
    """One running vmap over `size` examples.  A box's `_extra` is the hidden dimension of its value."""

    name = "vmap"

    def __init__(self, size: int, randomness: str = "error"):
        self.size, self.randomness = size, randomness
        self.title = f"vmap (a batch of {size})"
        self.infos: dict[Any, SimpleNamespace] = {}

    def handles(self, fn: type, args: tuple) -> bool:
        """Return True if an argument differs between the examples."""
        for a in args:  # noqa: SIM110 (all operations come through here: any() is three times slower)
            if type(a) is Box and a._layer is self:
                return True
        return False

    def adopt(self, value: Tensor) -> Any:
        """Return the tensor unboxed: it is the same for all examples."""
        return value

    def shape(self, t: Box) -> tuple:
        """Return the shape of one example: the value's shape without the batch dimension."""
        sizes, d = t._value._sizes, t._extra
        return sizes[:d] + sizes[d + 1 :]

    def detach(self, t: Box) -> Box:
        """Detach from enclosing derivatives."""
        return Box(self, t._value.detach(), t._extra)

    def readable(self, t: Box) -> Any:
        """Raise RuntimeError: a box has one value per example, so Python cannot read a single one."""
        raise services.problem("a batched tensor has no single value", size=self.size)

    def dim(self, a: object) -> int | None:
        """Return the batch dimension of a value, or None if it is the same for all examples."""
        return a._extra if self.owns(a) else None

    def process(self, frame: Frame, cls: Any, args: tuple) -> Any:
        """Run the operation's vmap rule one layer down."""
        values, dims = [], []
        for a in args:
            mine = type(a) is Box and a._layer is self
            values.append(a._value if mine else a)
            dims.append(a._extra if mine else None)
        if cls.primitive:
            try:
                return call_in(frame.parent, self.built_in, cls, values, tuple(dims))
            except MinigradError:
                self.refuse_example(cls, args)
                raise
        rule, versions = self.rule(cls), [version(v) if isinstance(v, Tensor) else None for v in values]
        out, out_dims = checked_pair(cls, call_in(frame.parent, rule, self.info(cls), tuple(dims), *values))
        written = [a for a, v, n in zip(args, values, versions) if n is not None and version(v) != n]
        for i, o in enumerate(out):
            services.notice("output is a structure", cls=cls, o=o, i=i, kind=lambda t: True)
        boxes = tuple([self.returned(cls, o, d, written) for o, d in zip(out, out_dims)])
        return boxes if type(out) is tuple else boxes[0]

    def built_in(self, cls: Any, values: list, dims: tuple) -> Any:
        """Run a built-in operation on values of the layer below, which is the current one."""
        if cls.elementwise and {*dims} == {0} and len({a._spec for a in values}) == 1:  # aligned
            return Box(self, without_gaps(cls.apply(*values), 0), 0)
        out, out_dims = cls.vmap(self.info(cls), dims, *values)
        if type(out) is not tuple:
            return Box(self, out if cls.view else without_gaps(out, out_dims), out_dims)
        return tuple([Box(self, o if cls.view else without_gaps(o, d), d) for o, d in zip(out, out_dims)])

    def refuse_example(self, cls: Any, args: tuple) -> None:
        """Raise the operation's error for a single example, if there is one, with the shapes that the user sees."""
        cls.compute(*[np.zeros(a._sizes, a._np_dtype) if isinstance(a, Tensor) else a for a in args])

    def elementwise(self, frame: Frame, f: Callable, *groups: tuple) -> Any:
        """Move all batch dimensions to the front, give the tensors equal ranks, and run f once, one layer down.

        Tensors of several dtypes use the rules of the individual operations, and so does everything during a recording.
        """
        tensors = [a for group in groups for a in group if isinstance(a, Tensor)]
        mine = any([type(a) is Box and a._layer is self for a in tensors])
        if not mine or intercept.layer_process is not unheard or len({a._np_dtype for a in tensors}) > 1:
            return f(*groups)
        rank = max([len(a._sizes) for a in tensors])
        lowered = [tuple([self.lifted(a, rank) for a in group]) for group in groups]
        out = call_in(frame.parent, f, *lowered)
        return tuple([self.boxed(o, rank) for o in out]) if type(out) is tuple else self.boxed(out, rank)

    def lifted(self, a: object, rank: int) -> Any:
        """Return a tensor one layer down, with its batch dimension in front of `rank` others."""
        return lift(a._value, a._extra, rank) if type(a) is Box and a._layer is self else a

    def boxed(self, value: Tensor | None, rank: int) -> Any:
        """Box a result; its batch dimension is in front if one of the tensors was batched."""
        return value if value is None or len(value._sizes) <= rank else Box(self, value, 0)

    def info(self, cls: type[Function]) -> SimpleNamespace:
        """Return the information that a rule receives besides the arguments."""
        if (info := self.infos.get(cls)) is None:
            info = self.infos[cls] = SimpleNamespace(batch_size=self.size, randomness=self.randomness, function=cls)
        return info

    def rule(self, cls: type[Function]) -> Callable:
        """Return the function that runs this user's Function on batches."""
        if cls.vmap is None:  # with its own rule it may have the combined form: its ctx is made below
            self.separate(cls)
        if cls.generate_vmap_rule and cls.vmap is not None:
            raise services.problem("a Function has one vmap rule", cls=cls)
        if cls.generate_vmap_rule:
            return partial(generated_rule, Batch)
        if cls.vmap is None:
            raise services.problem("a Function under vmap has a vmap rule", cls=cls, size=self.size)
        return lambda *args: services.call_method(cls, "vmap", *args)

    def returned(self, cls: type[Function], value: object, dim: object, written: list) -> Any:
        """Return an output of a rule, checked: the modified argument itself, or a new box with the batch dimension."""
        if dim is None or not isinstance(value, Tensor):
            return value
        if type(dim) is not int or not -value.ndim <= dim < value.ndim or value.shape[dim] != self.size:
            raise services.problem("out_dims name the batch dimensions", cls=cls, value=value, dim=dim, size=self.size)
        dim %= value.ndim
        same = [a for a in written if self.owns(a) and a._value is value and a._extra == dim]
        return same[0] if same else Box(self, value, dim)

    def inplace(self, frame: Frame, fn: type, x: Tensor, others: tuple) -> Tensor:
        """Write one layer down, on the value with its batch dimension."""
        if not self.owns(x):
            raise services.problem("only a batched tensor can store a batch", fn=fn, x=x, size=self.size)
        x_dim, value = x._extra, x._value
        with use(frame.parent):
            if fn.elementwise:
                low = tuple([align_batch_dim(self.inner(o), self.dim(o), x_dim, value.ndim - 1) for o in others])
                inplace_at(frame.parent, fn, value, low)
            else:  # the operation's own rule determines the change to a batch
                dims = (x_dim, *[self.dim(o) for o in others])
                out, dim = fn.vmap(self.info(fn), dims, value, *[self.inner(o) for o in others])
                value.copy_(out.movedim(dim, x_dim))
        return x


def checked_pair(cls: type[Function], result: object) -> tuple:
    """Check that a user's rule returned (outputs, batch dimensions); wrap a single output in a list."""
    if not (type(result) is tuple and len(result) == 2):
        raise services.problem("a vmap rule returns output, out_dims", cls=cls, result=result)
    out, dims = result
    several, listed = isinstance(out, (tuple, list)), isinstance(dims, (tuple, list))
    if several is not listed or several and len(dims) != len(out):
        raise services.problem("a vmap rule returns one out_dim per output", cls=cls, out=out, dims=dims)
    return (tuple(out), tuple(dims)) if several else ([out], [dims])


def align_batch_dim(o: object, dim: int | None, x_dim: int, rank: int) -> Any:
    """Return an operand of an in-place write with its batch dimension at the position of the modified tensor's."""
    if not isinstance(o, Tensor):
        return o
    if dim is None:
        return o if o.ndim <= rank - x_dim else o.unsqueeze(o.ndim - (rank - x_dim))
    t = lift(o, dim, rank)
    return t.movedim(0, x_dim) if x_dim else t


def batched(f: Callable, args: tuple, dims: tuple, size: int, randomness: str = "error") -> Any:
    """Run f over a batch: split arguments along their dimensions in `dims`, and stack the results in front."""
    with push(Batch(size, randomness)) as layer:
        out = f(*[a if d is None else Box(layer, a, d) for a, d in zip(args, dims)])
        outs = out if isinstance(out, tuple) else (out,)
    lowered = tuple([batch_in_front(layer, o) for o in outs])
    return lowered if isinstance(out, tuple) else lowered[0]
