"""The older nn.utils.weight_norm and nn.utils.spectral_norm, which compute a weight in a hook before forward.

New programs should use nn.utils.parametrizations, whose weight is never out of date.  The names in the state_dict are
PyTorch's: weight_g and weight_v; weight_orig, weight_u and weight_v.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...autograd.grad_mode import no_grad
from ...core.tensor import Tensor
from ...errors import error
from ...ops.matmul import dot, mv
from ...ops.nn.normalize import normalize
from ..convolution import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..module import Module
from ..parameter import Parameter
from .parametrizations import norm_except


class WeightHook:
    """A forward pre-hook of a module that computes a weight from its `parts`."""

    what = ""  # the function's name
    parts: tuple[str, ...] = ()  # the suffixes of the tensors' names

    def __init__(self, name: str, compute: Callable):
        self.name, self.compute = name, compute

    def __call__(self, module: Module, args: Any) -> None:
        setattr(module, self.name, self.compute(module, module.training))


class WeightNormHook(WeightHook):
    """g * v / |v|."""

    what, parts = "weight_norm", ("_g", "_v")


class SpectralNormHook(WeightHook):
    """W / sigma."""

    what, parts = "spectral_norm", ("_orig", "_u", "_v")


def installed(module: Module, kind: type[WeightHook], name: str) -> list:
    """Return the id of this kind's hook for this weight, in a list, or an empty list."""
    found = module._hooks.get("forward_pre", {}).items()
    return [key for key, hook in found if isinstance(hook, kind) and hook.name == name]


def install(module: Module, hook: WeightHook, tensors: Mapping[str, Tensor]) -> Module:
    """Replace a weight by tensors, given by the suffixes of their names, and install the hook."""
    delattr(module, hook.name)
    for end, t in tensors.items():
        (module.register_parameter if isinstance(t, Parameter) else module.register_buffer)(hook.name + end, t)  # type: ignore[arg-type]
    hook(module, None)
    module.register_forward_pre_hook(hook)
    return module


def removed(module: Module, kind: type[WeightHook], name: str) -> Module:
    """Make the weight a parameter again, with its present value."""
    if not (found := installed(module, kind, name)):
        raise error(
            ValueError,
            f"remove_{kind.what}",
            f"{kind.what} of {name!r} was not found in {type(module).__name__}",
            f"pass the name that you passed to nn.utils.{kind.what}",
        )
    hook = module._hooks["forward_pre"].pop(found[0])
    with no_grad():
        weight = hook.compute(module, False)  # type: ignore[attr-defined]
    for end in ("", *kind.parts):
        delattr(module, name + end)
    module.register_parameter(name, Parameter(weight.detach()))
    return module


def weight_of(module: Module, kind: type[WeightHook], name: str) -> Parameter:
    """Return the weight to replace.  Raises RuntimeError if it has this hook already, AttributeError if it is missing."""
    if installed(module, kind, name):
        raise error(
            RuntimeError,
            kind.what,
            f"cannot register two {kind.what} hooks on the same parameter {name!r}",
            f"call remove_{kind.what} first",
        )
    weight = module._parameters.get(name)
    if weight is None:
        raise error(
            AttributeError,
            kind.what,
            f"{type(module).__name__} has no parameter {name!r}",
            "look up the names in dict(module.named_parameters())",
        )
    return weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Make a weight g * v / |v|, recomputed before each forward; the parametrization recomputes it at each access.

    >>> import minigrad
    >>> layer = minigrad.nn.utils.weight_norm(minigrad.nn.Linear(3, 2))
    >>> layer.weight_g.shape, layer.weight_v.shape
    (minigrad.Size([2, 1]), minigrad.Size([2, 3]))
    """
    weight, axis = weight_of(module, WeightNormHook, name), -1 if dim is None else dim

    def compute(module: Module, training: bool) -> Tensor:
        v = getattr(module, name + "_v")
        return v * (getattr(module, name + "_g") / norm_except(v, axis))

    with no_grad():
        parts = {"_g": Parameter(norm_except(weight, axis)), "_v": Parameter(weight.detach())}
    return install(module, WeightNormHook(name, compute), parts)


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Undo nn.utils.weight_norm.  Raises ValueError if it was not applied.

    >>> import minigrad
    >>> nn = minigrad.nn
    >>> [name for name, _ in nn.utils.remove_weight_norm(nn.utils.weight_norm(nn.Linear(3, 2))).named_parameters()]
    ['bias', 'weight']
    """
    return removed(module, WeightNormHook, name)


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a weight by its largest singular value before each forward; nn.utils.parametrizations has the newer version.

    >>> import minigrad
    >>> layer = minigrad.nn.utils.spectral_norm(minigrad.nn.Linear(3, 2))
    >>> [name for name, _ in layer.named_buffers()]
    ['weight_u', 'weight_v']
    """
    if n_power_iterations <= 0:
        raise error(
            ValueError,
            "spectral_norm",
            f"expected n_power_iterations to be positive, but got {n_power_iterations}",
            "write n_power_iterations=1",
        )
    weight = weight_of(module, SpectralNormHook, name)
    if dim is None:
        dim = int(isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)))

    def compute(module: Module, training: bool) -> Tensor:
        weight, u, v = [getattr(module, name + end) for end in SpectralNormHook.parts]
        matrix = weight.movedim(dim, 0).flatten(1)
        if training:
            with no_grad():
                for _ in range(n_power_iterations):
                    v.copy_(normalize(mv(matrix.T, u), dim=0, eps=eps))
                    u.copy_(normalize(mv(matrix, v), dim=0, eps=eps))
                u, v = u.clone(), v.clone()  # a second forward before backward overwrites the buffers
        return weight / dot(u, mv(matrix, v))

    with no_grad():
        sizes = weight.movedim(dim, 0).flatten(1).shape
        u, v = [normalize(weight.new_empty(n).normal_(), dim=0, eps=eps) for n in sizes]
    hook = SpectralNormHook(name, compute)
    training, module.training = module.training, False  # the first power iteration belongs to the first forward
    try:
        return install(module, hook, {"_orig": weight, "_u": u, "_v": v})
    finally:
        module.training = training


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Undo nn.utils.spectral_norm.  Raises ValueError if it was not applied.

    >>> import minigrad
    >>> nn = minigrad.nn
    >>> [name for name, _ in nn.utils.remove_spectral_norm(nn.utils.spectral_norm(nn.Linear(3, 2))).named_parameters()]
    ['bias', 'weight']
    """
    return removed(module, SpectralNormHook, name)
