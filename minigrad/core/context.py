"""Ctx, the node of a user's Function: what forward writes on it, backward and jvp find there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .events import slots
from .graph import FullNode, next_number, save, unpack
from .tensor import Tensor

if TYPE_CHECKING:
    from .frames import Layer


class Ctx(FullNode):
    """The node of a user's Function, open to attributes; its methods are those of PyTorch's ctx.

    >>> import minigrad
    >>> x = minigrad.tensor(2., requires_grad=True)
    >>> class Square(minigrad.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         return g * 2 * ctx.saved_tensors[0]
    >>> Square.apply(x).grad_fn.saved_tensors
    (tensor(2., requires_grad=True),)
    """

    # _given (shape, dtype) of each argument, None for those that are no tensors | _needs per argument: is a gradient wanted?
    # _places for each saved tensor the number of the argument that it is, None for a result and for forward's own
    __slots__ = ("__dict__", "_dirty", "_forward", "_given", "_materialize", "_needs", "_nondiff", "_places")

    def __init__(self, layer: Layer | None, needs: tuple, edges: tuple = (), given: tuple = ()):
        self._layer, self._edges, self._seq = layer, edges, next_number()
        self._hooks = self._trace = self._forward = None
        self._saved = self._meta = self._places = self._dirty = self._nondiff = ()
        self._needs, self._given, self._materialize = needs, given, True

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for backward, where `ctx.saved_tensors` gives them back.  At most once.

        Raises TypeError for anything but tensors and None, RuntimeError when called twice.
        """
        self._check(tensors, "save_for_backward", self._saved)
        self._saved = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for jvp, where `ctx.saved_tensors` gives them back.  At most once."""
        self._check(tensors, "save_for_forward", self._forward)
        self._forward = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say which inputs forward has changed in place.  They have to be returned as well."""
        self._check(tensors, "mark_dirty")
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say which outputs have no derivative."""
        self._check(tensors, "mark_non_differentiable")
        self._nondiff = tensors

    def _check(self, tensors: tuple, method: str, before: tuple | None = None) -> None:
        for i, t in enumerate(tensors):
            if t is not None and not isinstance(t, Tensor):
                raise slots.problem("the ctx takes tensors", ctx=self, method=method, i=i, value=t)
        if before:
            raise slots.problem("tensors are saved in one call", ctx=self, method=method, before=before)

    def set_materialize_grads(self, value: bool) -> None:
        """Choose whether backward and jvp get zeros (True, the default) or None for what has no gradient."""
        self._materialize = bool(value)

    materialize_grads = property(lambda ctx: ctx._materialize, set_materialize_grads, doc="What was chosen.")

    @property
    def needs_input_grad(self) -> tuple:
        """Per argument of forward whether its gradient is wanted."""
        return self._needs

    @property
    def saved_tensors(self) -> tuple:
        """In backward what save_for_backward kept; in jvp what save_for_forward kept, if it was called."""
        if self._forward is not None:  # the call is not over: this is jvp
            return self._forward
        return tuple([unpack(s, self) for s in self._alive()])

    @saved_tensors.setter
    def saved_tensors(self, value: object) -> None:
        raise slots.problem("saved_tensors cannot be set", ctx=self)

    def get_saved_variables(self) -> list:
        """Return what save_for_backward kept, as a list (the C++ name)."""
        return list(self.saved_tensors)

    @property
    def saved_data(self) -> dict:
        """A dictionary for whatever else backward needs (the C++ name; attributes on ctx do the same)."""
        return self.__dict__.setdefault("_saved_data", {})

    def tensor_inputs(self) -> list:
        """Return the positions of the arguments that are tensors."""
        return [i for i, spec in enumerate(self._given) if spec is not None]

    def _forget(self) -> None:
        """Let go of what was only for the call: outputs, which hold the node, would be a cycle with it."""
        self._dirty = self._nondiff = ()
        self._forward = None

    def _keep(self, given: tuple, returned: tuple, outs: tuple, before: tuple) -> None:
        """Turn what the user saved into Saved entries: outputs as twins, inputs as they were before the call."""
        kept, places = [], []
        for s in self._saved:
            i = j = None
            if s is not None and (i := place_among(s, returned)) is None:
                j = place_among(s, given)
            kept.append(save(outs[i], i) if i is not None else save(s if j is None else before[j]))
            places.append(j)
        self._saved, self._places = tuple(kept), tuple(places)


def place_among(t: object, group: tuple) -> int | None:
    """Return where t itself stands among others."""
    for i, s in enumerate(group):
        if s is t:
            return i
    return None
