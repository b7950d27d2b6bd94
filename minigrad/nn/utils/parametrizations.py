"""Ready-made parametrizations under torch.nn.utils.parametrizations' names: weight and spectral normalization."""

from __future__ import annotations

from functools import partial
from typing import Any

from ...autograd.grad_mode import no_grad
from ...core.tensor import Tensor
from ...diagnose.missing_names import explained as _explained
from ...errors import error
from ...ops.matmul import dot, mv
from ...ops.nn.normalize import normalize
from ..convolution import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..module import Module
from .parametrize import register_parametrization

__all__ = ["spectral_norm", "weight_norm"]


# ---------------------------------------------------------------------- length and direction
def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Make a weight g * v / |v|: its length `original0` for each index of `dim`, and its direction `original1`.

    With dim=None or -1, the whole weight has one length.
    Source: Salimans, Kingma, "Weight normalization", 2016.

    >>> import minigrad
    >>> layer = minigrad.nn.utils.parametrizations.weight_norm(minigrad.nn.Linear(3, 2))
    >>> layer.parametrizations.weight.original0.shape
    minigrad.Size([2, 1])
    """
    register_parametrization(module, name, WeightNorm(dim), unsafe=True)
    module.register_load_state_dict_pre_hook(partial(from_older, name))
    return module


def from_older(name: str, module: Module, state: dict, prefix: str, *rest: Any) -> None:
    """Convert the state_dict names of the older nn.utils.weight_norm."""
    for key, number in (("g", 0), ("v", 1)):
        if (old := f"{prefix}{name}_{key}") in state:
            state[f"{prefix}parametrizations.{name}.original{number}"] = state.pop(old)


class WeightNorm(Module):
    """g * v / |v|."""

    def __init__(self, dim: int | None = 0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, g: Tensor, v: Tensor) -> Tensor:
        return v * (g / norm_except(v, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple:
        return norm_except(weight, self.dim), weight


def norm_except(v: Tensor, dim: int) -> Tensor:
    """Return the norm over all dimensions but `dim`, keeping them with size 1; over all for dim=-1, as in PyTorch."""
    if dim == -1:
        return v.norm()
    others = [d for d in range(v.ndim) if d != dim % v.ndim]
    return v.norm(2, others, keepdim=True) if others else v.abs()


# ---------------------------------------------------------------------- the largest singular value
def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a weight by its largest singular value, estimated by power iterations that continue across training steps.

    The weight becomes a matrix whose rows are the indices of `dim`: 0, or 1 for transposed convolutions.
    Raises ValueError for a name that is not a tensor and for fewer than 1 iteration, IndexError for a wrong `dim`.
    Source: Miyato et al., "Spectral normalization for generative adversarial networks", 2018.

    >>> import minigrad
    >>> layer = minigrad.nn.utils.parametrizations.spectral_norm(minigrad.nn.Linear(20, 40))
    >>> round(minigrad.linalg.matrix_norm(layer.weight, 2).item(), 1)
    1.0
    """
    weight = tensor_of(module, name, "spectral_norm")
    if dim is None:
        dim = int(isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)))
    return register_parametrization(module, name, SpectralNorm(weight, n_power_iterations, dim, eps))


class SpectralNorm(Module):
    """W / sigma with sigma = u' W v, where the buffers u and v are estimates of the singular vectors."""

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12):
        super().__init__()
        if not -weight.ndim <= dim < weight.ndim:
            what = f"dim={dim} is out of range for a weight with {weight.ndim} dimensions"
            raise error(IndexError, "spectral_norm", what, f"pass a dim from {-weight.ndim} to {weight.ndim - 1}")
        if n_power_iterations <= 0:
            what = f"expected n_power_iterations to be positive, but got {n_power_iterations}"
            raise error(ValueError, "spectral_norm", what, "write n_power_iterations=1")
        self.dim, self.eps, self.n_power_iterations = dim % weight.ndim, eps, n_power_iterations
        if weight.ndim > 1:
            with no_grad():
                matrix = self.matrix(weight)
                for key, size in zip(("_u", "_v"), matrix.shape):
                    self.register_buffer(key, normalize(matrix.new_empty(size).normal_(), dim=0, eps=eps))
                self.iterate(matrix, 15)

    def matrix(self, weight: Tensor) -> Tensor:
        """Return the weight as a matrix."""
        return weight.movedim(self.dim, 0).flatten(1)

    @no_grad()
    def iterate(self, matrix: Tensor, n: int) -> None:
        """Improve the estimates of the singular vectors by n power iterations."""
        for _ in range(n):
            self._u.copy_(normalize(mv(matrix, self._v), dim=0, eps=self.eps))
            self._v.copy_(normalize(mv(matrix.T, self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = self.matrix(weight)
        if self.training:
            self.iterate(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # a second forward before backward overwrites the buffers
        return weight / dot(u, mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def tensor_of(module: Module, name: str, who: str) -> Tensor:
    """Return the tensor to parametrize.  Raises ValueError if the module has none with this name."""
    found = getattr(module, name, None)
    if not isinstance(found, Tensor):
        what = f"{type(module).__name__} has no parameter or buffer with name {name!r}"
        raise error(ValueError, who, what, "look up the names in dict(module.named_parameters())")
    return found


__getattr__ = _explained(__name__)
