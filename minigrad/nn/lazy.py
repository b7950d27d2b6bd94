"""Lazy modules: layers that read the number of their inputs from the first call, and are plain layers afterwards.

Until then, parameters and buffers are uninitialized: they have a dtype and a device, but no shape.  The first call makes a
plain layer that fits the input but has no numbers, gives the existing parameters its shapes (an optimizer may hold them
already) and draws their numbers, and gives the module the plain layer's class.
"""

from __future__ import annotations

import inspect
from typing import Any

from ..core.frames import OFF, use
from ..core.tensor import Tensor
from ..errors import error
from ..ops.create import zeros
from ..ops.nn.conv import check_rank
from .basic_layers import Linear
from .convolution import Conv1d, Conv2d, Convolution
from .module import Module
from .normalization import BatchNorm, BatchNorm1d, BatchNorm2d, ChannelNorm
from .parameter import UninitializedBuffer, UninitializedParameter, is_lazy


class LazyModuleMixin(Module):
    """Mixin that initializes parameters at the first call.  Your class defines `initialize_parameters` and `forward`.

    `cls_to_become`, if given, is the module's class after the first call.
    """

    cls_to_become: type[Module] | None = None

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give each uninitialized parameter its shape and its numbers, from the arguments of the first call."""
        what = f"initialize_parameters is not implemented for {type(self).__name__}"
        raise error(NotImplementedError, type(self).__name__, what, "define it, with the arguments of forward")

    def has_uninitialized_params(self) -> bool:
        """Return True if a parameter or a buffer has no shape yet."""
        return any(map(is_lazy, [*self._parameters.values(), *self._buffers.values()]))

    def _infer_parameters(self, module: Module, args: tuple, kwargs: dict | None = None) -> None:
        self.initialize_parameters(*args, **kwargs or {})
        if self.has_uninitialized_params():
            what = f"module {type(self).__name__} has not been fully initialized"
            raise error(RuntimeError, type(self).__name__, what, "materialize all parameters in initialize_parameters")
        self._initialize_hook.remove()
        self._load_hook.remove()
        del self._initialize_hook, self._load_hook
        for kind in [kind for kind, hooks in self._hooks_by_kind.items() if not hooks]:
            del self._hooks_by_kind[kind]  # calls without hooks are faster
        if self.cls_to_become is not None:
            self.__class__ = self.cls_to_become  # type: ignore[assignment]

    def _lazy_load_hook(self, state_dict: dict, prefix: str, *_: Any) -> None:
        for name, t in {**self._parameters, **self._buffers}.items():
            if is_lazy(t) and prefix + name in state_dict and not is_lazy(given := state_dict[prefix + name]):
                t.materialize(given.shape)


class Lazy(LazyModuleMixin):
    """A layer without its first argument: the number of inputs is the size of the input's dimension `_dim`."""

    _dim, _counts = 1, ""  # `_counts` is the attribute that stores the number
    _plain: type[Module]
    _given: dict  # the arguments, until the first call

    def __init_subclass__(cls, plain: Any = None, **kwargs: Any):
        """Note the plain class: the next base, or `plain` for norms, which as in PyTorch derive from a shared base."""
        super().__init_subclass__(**kwargs)
        if Lazy not in cls.__bases__:  # a class of users, which may have other arguments and become another class
            return
        cls._plain = cls.cls_to_become = plain = plain or cls.__mro__[cls.__mro__.index(LazyModuleMixin) + 1]
        if issubclass(cls, ChannelNorm):
            cls._ranks = plain._ranks
        given = inspect.signature(plain)
        cls._counts, *others = given.parameters
        cls.__signature__ = given.replace(parameters=[given.parameters[name] for name in others])  # type: ignore[attr-defined]

    def __init__(self, *args: Any, **kwargs: Any):
        given = inspect.signature(self._plain).bind(0, *args, **kwargs).arguments
        super().__init__(**given | {"device": "meta"})  # draws no numbers: a seed gives the same as in PyTorch
        object.__setattr__(self, "_given", given)
        for store, kind in ((self._parameters, UninitializedParameter), (self._buffers, UninitializedBuffer)):
            for name, t in store.items():
                if t is not None and (kind is UninitializedParameter or not t.numel()):
                    store[name] = kind(t.requires_grad, given.get("device"), t.dtype)
                elif t is not None:  # the number of batches, which has its shape
                    store[name] = zeros(t.shape, dtype=t.dtype, device=given.get("device"))

    def initialize_parameters(self, input: Tensor, *_: Any, **__: Any) -> None:
        """Give the parameters the shapes of a plain layer made for the input, and draw their numbers."""
        if isinstance(self, Convolution):
            check_rank(type(self).__name__, self._ndim, input)
        elif isinstance(self, ChannelNorm):
            self._check_input_dim(input)
        n, drawn = input.shape[self._dim], self.has_uninitialized_params()  # a loaded state has given them shapes
        with use(OFF):  # parameters do not belong to a transform that happens to run
            made = self._plain(**self._given | {self._counts: n, "device": "meta"})
            for mine, theirs in ((self._parameters, made._parameters), (self._buffers, made._buffers)):
                for name, t in mine.items():
                    if is_lazy(t):
                        t.materialize(theirs[name].shape)
            setattr(self, self._counts, n)
            del self._given
            if drawn:
                self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values, once the parameters have a shape."""
        if not self.has_uninitialized_params():
            super().reset_parameters()  # type: ignore[misc]


class LazyLinear(Lazy, Linear):
    """A Linear that learns `in_features` at its first call: the size of the input's last dimension.

    >>> import minigrad
    >>> layer = minigrad.nn.LazyLinear(2)
    >>> layer
    LazyLinear(in_features=0, out_features=2, bias=True)
    >>> layer(minigrad.ones(4, 3)).shape
    minigrad.Size([4, 2])
    >>> layer
    Linear(in_features=3, out_features=2, bias=True)
    """

    _dim = -1


class LazyConv1d(Lazy, Conv1d):
    """A Conv1d that learns `in_channels` at its first call.

    >>> import minigrad
    >>> minigrad.nn.LazyConv1d(2, kernel_size=2)(minigrad.ones(1, 3, 4)).shape
    minigrad.Size([1, 2, 3])
    """

    _dim = -2


class LazyConv2d(Lazy, Conv2d):
    """A Conv2d that learns `in_channels` at its first call.

    >>> import minigrad
    >>> minigrad.nn.LazyConv2d(2, kernel_size=2)(minigrad.ones(1, 3, 4, 4)).shape
    minigrad.Size([1, 2, 3, 3])
    """

    _dim = -3


class LazyBatchNorm1d(Lazy, BatchNorm, plain=BatchNorm1d):
    """A BatchNorm1d that learns `num_features` at its first call.

    >>> import minigrad
    >>> layer = minigrad.nn.LazyBatchNorm1d()
    >>> layer(minigrad.ones(2, 3, 4)).shape, layer.num_features
    (minigrad.Size([2, 3, 4]), 3)
    """


class LazyBatchNorm2d(Lazy, BatchNorm, plain=BatchNorm2d):
    """A BatchNorm2d that learns `num_features` at its first call.

    >>> import minigrad
    >>> layer = minigrad.nn.LazyBatchNorm2d()
    >>> layer(minigrad.ones(2, 3, 4, 4)).shape, layer.num_features
    (minigrad.Size([2, 3, 4, 4]), 3)
    """
