"""PyTorch with minigrad's random numbers, so that a program starts from the same weights and sees the same batches in both.

Whatever draws in PyTorch calls one of few functions in the end, or one of few methods that fill a tensor: layers fill
their weights by `uniform_` and `normal_`, loaders shuffle by `randperm`.  While `same_draws()` holds, each of them is
replaced by minigrad's of the same name, whose result is turned into a tensor of PyTorch's; both count from one seed,
minigrad's.  What PyTorch draws inside compiled code, as a dropout within nn.LSTM, is out of reach.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import torch

import minigrad
from minigrad.ops.incomplete_gamma import standard_gamma

FUNCTIONS = "rand randn randint randperm normal bernoulli poisson multinomial rand_like randn_like randint_like".split()
METHODS = "uniform_ normal_ bernoulli_ exponential_ random_".split()
DROPOUTS = "dropout dropout1d dropout2d dropout3d".split()


class Generator:
    """Stands for torch.Generator: only what is replaced here draws from it."""

    def __init__(self, device: Any = "cpu"):
        self.ours = minigrad.Generator()

    def manual_seed(self, seed: int) -> "Generator":
        self.ours.manual_seed(seed)
        return self


def ours(value: Any) -> Any:
    """Return an argument of PyTorch's as one of minigrad's."""
    if isinstance(value, torch.Tensor):
        return minigrad.from_numpy(value.detach().numpy())
    if isinstance(value, torch.dtype):
        return getattr(minigrad, str(value).removeprefix("torch."))
    if value is torch.default_generator:
        return None
    return value.ours if isinstance(value, Generator) else value


def drawn(function: Callable, args: tuple, keywords: dict) -> torch.Tensor:
    """Call a function of minigrad's with arguments of PyTorch's; the result as a tensor of PyTorch's."""
    minigrad.set_default_dtype(ours(torch.get_default_dtype()))
    keywords = {name: ours(value) for name, value in keywords.items() if name != "device"}
    return torch.from_numpy(function(*map(ours, args), **keywords).numpy().copy())


def instead(name: str) -> Callable:
    """Return the replacement of a function such as torch.randn."""

    def draw(*args: Any, requires_grad: bool = False, **keywords: Any) -> torch.Tensor:
        return drawn(getattr(minigrad, name), args, keywords).requires_grad_(requires_grad)

    return draw


def filling(name: str) -> Callable:
    """Return the replacement of a method such as Tensor.uniform_."""

    def fill(self: torch.Tensor, *args: Any, **keywords: Any) -> torch.Tensor:
        empty = minigrad.empty(tuple(self.shape), dtype=ours(self.dtype))
        with torch.no_grad():
            return self.copy_(drawn(getattr(empty, name), args, keywords))

    return fill


def dropping(name: str) -> Callable:
    """Return the replacement of a kind of dropout: minigrad's of ones, times the input."""

    def drop(input: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> torch.Tensor:
        ones = minigrad.ones(tuple(input.shape), dtype=ours(input.dtype))
        noise = drawn(getattr(minigrad.nn.functional, name), (ones, p, training), {})
        return input.mul_(noise) if inplace else input * noise

    return drop


class StandardGamma(torch.autograd.Function):
    """Stands for torch._standard_gamma, which torch.distributions draws from, with PyTorch's derivative."""

    @staticmethod
    def forward(ctx: Any, concentration: torch.Tensor) -> torch.Tensor:
        draw = drawn(standard_gamma, (concentration,), {})
        ctx.save_for_backward(concentration, draw)
        return draw

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return grad * torch._standard_gamma_grad(*ctx.saved_tensors)


def seeded(seed: int) -> Generator:
    """Stand for torch.manual_seed."""
    minigrad.manual_seed(seed)
    return Generator()


def state() -> torch.Tensor:
    """Stand for torch.get_rng_state."""
    return torch.from_numpy(minigrad.get_rng_state().numpy())


def put_state(new_state: torch.Tensor) -> None:
    """Stand for torch.set_rng_state; checkpoints draw once more what they drew."""
    minigrad.set_rng_state(ours(new_state))


@contextlib.contextmanager
def same_draws() -> Iterator[None]:
    """Let PyTorch draw minigrad's random numbers."""
    replaced = [(torch, name, instead(name)) for name in FUNCTIONS]
    replaced += [(torch.Tensor, name, filling(name)) for name in METHODS]
    replaced += [(torch.nn.functional, name, dropping(name)) for name in DROPOUTS]
    replaced += [(torch.utils.data.dataset, "randperm", instead("randperm"))]  # random_split has it by this name
    replaced += [(torch, "manual_seed", seeded), (torch, "Generator", Generator)]
    replaced += [(torch, "_standard_gamma", StandardGamma.apply)]
    replaced += [(torch, "get_rng_state", state), (torch, "set_rng_state", put_state)]
    dtype = minigrad.get_default_dtype()
    with contextlib.ExitStack() as stack:
        stack.callback(minigrad.set_default_dtype, dtype)
        for owner, name, function in replaced:
            stack.enter_context(patch.object(owner, name, function))
        yield
