"""Types by which editors know users' classes: a call has the parameters and the result of the class's `forward`.

`Function.apply` and `Module.__call__` take their first argument as one of these protocols; they have no effect at run time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Protocol, TypeVar, overload

if TYPE_CHECKING:
    from .core.context import Ctx

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


def overridable(method: Callable[..., R_co]) -> Callable[..., R_co]:
    """Return the method: for type checkers, one that a subclass may define with other parameters."""
    return method


# names that a ctx does not have: users may set any attribute, so only these can be known to be mistakes
Misspelt = Literal[
    "mark_nondifferentiable", "need_input_grad", "needs_input_grads", "save_for_backwards", "save_for_forwards", "save_tensors",
    "saved_for_backward", "saved_tensor", "set_materialise_grads", "set_materialize_grad",
]  # fmt: skip


class NoSuchName:
    """The type of a misspelt attribute of a ctx: every use of it is an error."""


class OpenAttributes:
    """Base class of the ctx, on which users may set any attribute."""

    __slots__ = ()

    if TYPE_CHECKING:

        @overload
        def __getattr__(self, name: Misspelt) -> NoSuchName: ...
        @overload
        def __getattr__(self, name: str) -> Any: ...
        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...


class Getter(Protocol[R_co]):
    """A property without a setter, with a type."""

    def __get__(self, instance: Any, owner: type) -> R_co: ...


def getter(kind: Callable[..., R_co], get: Callable, doc: str) -> Getter[R_co]:
    """Return a property of this type: for type checkers, which do not know the result of a lambda in `property`."""
    return property(get, doc=doc)  # type: ignore[return-value]


class WithCtx(Protocol[P, R_co]):
    """A Function whose forward takes the ctx first; apply takes the other arguments."""

    @staticmethod
    def forward(ctx: Ctx, /, *args: P.args, **kwargs: P.kwargs) -> R_co: ...


class WithoutCtx(Protocol[P, R_co]):
    """A Function with a setup_context."""

    @staticmethod
    def forward(*args: P.args, **kwargs: P.kwargs) -> R_co: ...


class CallsForward(Protocol[P, R_co]):
    """A module."""

    @property
    def forward(self) -> Callable[P, R_co]: ...
