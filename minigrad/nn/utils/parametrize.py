"""Parameters that are computed from others, under torch.nn.utils.parametrize's names.

A parametrized tensor is no longer a parameter of its module: at each access, the modules of a ParametrizationList compute it
from the `original` that the list stores.  The module gets a subclass of its class that looks there first.
parametrizations.py has ready-made parametrizations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

from ...autograd.grad_mode import no_grad
from ...core.frames import current
from ...core.tensor import Tensor
from ...errors import error
from ...scopes import setting
from ..containers import ModuleDict, ModuleList
from ..module import Module
from ..parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "type_before_parametrizations",
]

KEPT: ContextVar[dict | None] = ContextVar("computed tensors that are kept", default=None)


@contextmanager
def cached() -> Iterator[None]:
    """Compute each parametrized tensor only once inside a `with` block, and once more in each other mode, such as no_grad.

    >>> import minigrad
    >>> from minigrad.nn.utils import parametrize, parametrizations
    >>> layer = parametrizations.weight_norm(minigrad.nn.Linear(2, 2))
    >>> with parametrize.cached():
    ...     layer.weight is layer.weight
    True
    """
    with setting(KEPT, {} if (kept := KEPT.get()) is None else kept):
        yield


class ParametrizationList(ModuleList):
    """The modules that compute a tensor; the first one starts from `original`, or from `original0`, `original1`, ...

    register_parametrization makes the list and puts it into module.parametrizations, a ModuleDict.

    >>> import minigrad
    >>> from minigrad.nn.utils import parametrizations
    >>> layer = parametrizations.weight_norm(minigrad.nn.Linear(2, 3))
    >>> [name for name, _ in layer.parametrizations.weight.named_parameters()]
    ['original0', 'original1']
    """

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False):
        if not modules:
            raise misfit_error("ParametrizationList requires at least one module", "pass [parametrization]")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        new: Any = original
        with no_grad():
            for module in reversed(modules):
                new = inverse(module, new)
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(sequence_of_tensors(new))
        if self.is_tensor:
            check_like(new, new.shape, original.dtype, "right_inverse")
            if new is not original:
                original.data = new.detach()
            register(self, "original", original)
        else:
            for i, t in enumerate(new):
                t = Parameter(t, original.requires_grad) if isinstance(original, Parameter) else t
                register(self, f"original{i}", t.requires_grad_(original.requires_grad))
        if not unsafe:
            check_like(self(), shape, dtype, "the parametrization")

    def _originals(self) -> list:
        """Return the tensors that the first module receives."""
        return [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def forward(self) -> Tensor:
        first, *others = self
        x = first(*self._originals())
        for module in others:
            x = module(x)
        return x

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals so that the tensor becomes `value`, through the modules' right_inverse.

        Raises RuntimeError for a module without one, ValueError if its result does not fit the originals.
        """
        new: Any = value
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    what = f"{type(module).__name__} has no right_inverse, so the parametrized tensor cannot be set"
                    fix = "define right_inverse(self, value), which returns the input for which forward returns value"
                    raise error(RuntimeError, "right_inverse", what, fix)
                new = module.right_inverse(new)
        new = [new] if self.is_tensor else sequence_of_tensors(new)
        if len(new) != self.ntensors:
            what = f"right_inverse has to return {self.ntensors} tensors, but returned {len(new)}"
            raise misfit_error(what, f"return {self.ntensors} tensors, as at the registration")
        for own, t in zip(self._originals(), new):
            check_like(t, t.shape if isinstance(t, Tensor) else (), own.dtype, "right_inverse")
            own.data = t.detach()


class Parametrized(Module):
    """Mixin for a module's class: getting a parametrized tensor computes it, setting it calls the inverse."""

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__.get("_modules", {}).get("parametrizations", ())
        if name not in found:
            return super().__getattr__(name)
        kept = KEPT.get()
        if kept is None:
            return found[name]()
        key = id(self), name, current()  # a tensor of no_grad, or of a transform, serves only there
        if key not in kept:
            kept[key] = found[name]()
        return kept[key]

    def __setattr__(self, name: str, value: Any) -> None:
        found = self.__dict__.get("_modules", {}).get("parametrizations", ())
        if name not in found:
            return super().__setattr__(name, value)
        found[name].right_inverse(value)
        if (kept := KEPT.get()) is not None:
            for key in [key for key in kept if key[:2] == (id(self), name)]:
                del kept[key]

    def __dir__(self) -> list:
        return sorted({*super().__dir__(), *self.parametrizations})

    def __reduce_ex__(self, protocol: Any) -> tuple:
        return blank, (type_before_parametrizations(self),), self.__dict__


@cache
def parametrized(cls: type) -> type:
    """Return the subclass that a parametrized module of this class gets."""
    return type(f"Parametrized{cls.__name__}", (Parametrized, cls), {"__module__": cls.__module__})


def blank(cls: type) -> Module:
    """Return an empty parametrized module, to be filled by a copy or from a file."""
    return Module.__new__(parametrized(cls))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Replace a parameter or buffer by parametrization(original); the original starts as the present value.

    If the parametrization has a method right_inverse, the original is right_inverse(value), one tensor or several, and you
    can assign to the tensor.  A second parametrization is applied to the result of the first.
    Raises ValueError for a name that is not a tensor of the module, or if dtype or shape change without `unsafe`.

    >>> import minigrad
    >>> from minigrad import nn
    >>> class Symmetric(nn.Module):
    ...     def forward(self, X):
    ...         return X.triu() + X.triu(1).T
    >>> layer = nn.utils.parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
    >>> minigrad.equal(layer.weight, layer.weight.T), [name for name, _ in layer.named_parameters()]
    (True, ['bias', 'parametrizations.weight.original'])
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        steps = module.parametrizations[tensor_name]
        if not unsafe:
            now = getattr(module, tensor_name)
            then = parametrization(now)
            check_like(then, now.shape, now.dtype, "the parametrization")
            check_like(inverse(parametrization, then), now.shape, now.dtype, "right_inverse")
        steps.append(parametrization)
        steps.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        steps = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            module.__class__ = parametrized(type(module))
            module.parametrizations = ModuleDict()
        module.parametrizations[tensor_name] = steps
    else:
        raise misfit_error(
            f"{type(module).__name__} has no parameter, buffer or parametrized tensor {tensor_name!r}",
            "look up the names in dict(module.named_parameters()) and dict(module.named_buffers())",
        )
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Return True if a module has a parametrized tensor, or one with this name.

    >>> import minigrad
    >>> from minigrad.nn.utils import parametrize, parametrizations
    >>> layer = parametrizations.weight_norm(minigrad.nn.Linear(2, 2))
    >>> parametrize.is_parametrized(layer), parametrize.is_parametrized(layer, "bias")
    (True, False)
    """
    found = getattr(module, "parametrizations", None)
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Turn a parametrized tensor back into a parameter or buffer, with its present value or its original's.

    Raises ValueError for a tensor that is not parametrized, and for leave_parametrized=False with several originals.

    >>> import minigrad
    >>> from minigrad.nn.utils import parametrize, parametrizations
    >>> layer = parametrizations.weight_norm(minigrad.nn.Linear(2, 2))
    >>> parametrize.remove_parametrizations(layer, "weight")
    Linear(in_features=2, out_features=2, bias=True)
    """
    if not is_parametrized(module, tensor_name):
        raise misfit_error(
            f"{type(module).__name__} has no parametrization on {tensor_name!r}",
            "choose one of list(module.parametrizations)",
        )
    steps = module.parametrizations[tensor_name]
    if not steps.is_tensor and not leave_parametrized:
        raise misfit_error(
            f"{tensor_name!r} is computed from {steps.ntensors} tensors, none of which can replace it",
            "pass leave_parametrized=True",
        )
    tensor: Tensor = getattr(module, tensor_name)
    if steps.is_tensor:
        if leave_parametrized:
            steps.original.data = tensor.detach()
        tensor = steps.original
    elif tensor.requires_grad:
        tensor = Parameter(tensor.detach())
    del module.parametrizations[tensor_name]
    register(module, tensor_name, tensor)
    if not is_parametrized(module):
        cls = type_before_parametrizations(module)
        del module.parametrizations
        module.__class__ = cls
    return module


def type_before_parametrizations(module: Module) -> type:
    """Return the class that a module had before it was parametrized, or its class if it is not.

    >>> import minigrad
    >>> from minigrad.nn.utils import parametrize, parametrizations
    >>> layer = parametrizations.weight_norm(minigrad.nn.Linear(2, 2))
    >>> type(layer).__name__, parametrize.type_before_parametrizations(layer).__name__
    ('ParametrizedLinear', 'Linear')
    """
    return type(module).__bases__[1] if isinstance(module, Parametrized) else type(module)


# ---------------------------------------------------------------------- helpers
def inverse(module: Module, value: Any) -> Any:
    """Return the input for which a parametrization returns the value, or the value itself if it has no inverse."""
    try:
        return module.right_inverse(value) if hasattr(module, "right_inverse") else value
    except NotImplementedError:
        return value


def register(module: Module, name: str, tensor: Tensor) -> None:
    """Register a tensor as a parameter or a buffer of a module."""
    (module.register_parameter if isinstance(tensor, Parameter) else module.register_buffer)(name, tensor)  # type: ignore[arg-type]


def check_like(made: Any, shape: tuple, dtype: Any, who: str) -> None:
    """Raise ValueError unless `made` is a tensor of this shape and dtype."""
    if not isinstance(made, Tensor):
        raise misfit_error(f"{who} must return a tensor, but returned {type(made).__name__}", "return a tensor")
    if made.dtype != dtype or tuple(made.shape) != tuple(shape):
        raise misfit_error(
            f"{who} may not change dtype and shape, which were {dtype} and {tuple(shape)}, but returned {made.dtype} and "
            f"{tuple(made.shape)}",
            "return a tensor of the same dtype and shape, or pass unsafe=True",
        )


def sequence_of_tensors(value: Any) -> Sequence:
    """Return the tensors from a right_inverse.  Raises ValueError for anything else."""
    if not isinstance(value, Sequence) or not all(isinstance(t, Tensor) for t in value):
        raise misfit_error(
            f"right_inverse must return a tensor or a tuple of tensors, but returned {type(value).__name__}",
            "return the arguments of forward",
        )
    return value


def misfit_error(what: str, fix: str) -> Exception:
    """Return the ValueError for a parametrization that does not fit."""
    return error(ValueError, "parametrize", what, fix)
