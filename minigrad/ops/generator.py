"""Generators of random numbers, and the default one, from which everything draws unless given another.

A seed gives PyTorch's numbers on the CPU (kernels/cpu/mt19937.py).  A generator on a GPU has a separate stream, which is
counter-based, so that each thread finds its numbers; there PyTorch's numbers differ by device, too.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from .. import config
from ..arrays.devices import CPU, CUDA, META, device
from ..arrays.kinds import on_device as is_on_device
from ..core.tensor import Tensor, wrap
from ..errors import error
from ..events import events
from ..kernels.cpu.mt19937 import Stream
from . import transfer as devices
from .copy import on_device

__all__ = [
    "Generator",
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]


READS = "reads the state of a generator, which changes from call to call"


class Generator:
    """A separate stream of random numbers.  Several threads may draw from it.

    >>> import minigrad
    >>> g = minigrad.Generator().manual_seed(5)
    >>> a = minigrad.rand(3, generator=g)
    >>> b = minigrad.rand(3, generator=g.manual_seed(5))
    >>> bool((a == b).all())
    True
    """

    def __init__(self, device: Any = "cpu"):
        self.device = on_device(device)
        self._kept = b""
        self._rng: Any = Stream() if self.device is CPU else devices.stream(self.device)
        self._start(67280421310721)

    def manual_seed(self, seed: int) -> Generator:
        """Restart the stream from a seed of at most 64 bits (else ValueError); return the generator."""
        seed = int(seed)
        if not -(2**63) <= seed < 2**64:
            what = f"overflow: the seed {seed} has more than 64 bits"
            raise error(ValueError, "manual_seed", what, "pass a number below 2**64")
        events.changes("seeds a generator, which outlives the call")
        return self._start(seed)

    def _start(self, seed: int) -> Generator:
        """Start the stream from a seed."""
        self._seed = seed % 2**64
        self._rng.seed(self._seed)
        return self

    def seed(self) -> int:
        """Restart the stream from a seed that the operating system provides, and return it."""
        return self.manual_seed(int.from_bytes(os.urandom(8), "little")).initial_seed()

    def initial_seed(self) -> int:
        """Return the seed that the stream started from."""
        events.changes(READS)
        return self._seed

    def get_state(self) -> Tensor:
        """Return the position in the stream, as a uint8 tensor for set_state."""
        return wrap(self._position()._a.copy())

    def _position(self) -> Tensor:
        """Return the same on memory that equal positions share: a program may hold many, in checkpoints."""
        events.changes(READS)
        return self._state()

    def _state(self) -> Tensor:
        """Return the same for a capture, which restores it."""
        state = self._rng.dump(self._seed)
        self._kept = state if state != self._kept else self._kept
        return wrap(np.frombuffer(self._kept, np.uint8))

    def set_state(self, new_state: Tensor) -> Generator:
        """Return to a position that get_state recorded.  Raises TypeError or RuntimeError for anything else."""
        who, fix = "set_state", "pass the result of generator.get_state()"
        if not isinstance(new_state, Tensor) or new_state._np_dtype != np.uint8 or is_on_device(new_state._a):
            raise error(TypeError, who, "expected a uint8 tensor on the CPU, as from get_state", fix)
        if new_state.numel() != (size := self._rng.SIZE):
            what = f"a state of a generator on {self.device} has {size} bytes, got {new_state.numel()}"
            raise error(RuntimeError, who, what, fix)
        events.changes("sets the state of a generator, which outlives the call")
        self._seed = self._rng.restore(np.ascontiguousarray(new_state._a).tobytes())
        return self

    def clone_state(self) -> Generator:
        """Return another generator at the same position of the stream."""
        return Generator(self.device).set_state(self.get_state())

    def __reduce__(self) -> tuple:
        return Generator, (self.device,), self.get_state()

    def __setstate__(self, state: Tensor) -> None:
        self.set_state(state)

    def __repr__(self) -> str:
        place = "" if self.device is CPU else f" device={self.device}"
        return f"<{config.library_name}.Generator seed={self._seed}{place}>"


default_generator = Generator()
default_generator.seed()
_on_gpu: list[Generator] = []  # the GPU's default generator, after its first draw


def on_gpu() -> Generator:
    """Return the default generator of the GPU.  It starts from the CPU generator's seed, unless it is seeded separately."""
    if not _on_gpu:
        _on_gpu.append(Generator(CUDA)._start(default_generator._seed))
    return _on_gpu[0]


@cache
def on_meta() -> Generator:
    """Return the generator for tensors without elements."""
    return Generator(META)


def generators() -> tuple[Generator, ...]:
    """Return the existing default generators: the CPU's and, after the first draw there, the GPU's."""
    return default_generator, *_on_gpu


def source(generator: Generator | None, place: device, who: str) -> Generator:
    """Return the generator to draw from: the given one, which must be on the same device, or the default one."""
    if place == META:
        return on_meta()
    if generator is None:
        return default_generator if place is CPU else on_gpu()
    if not isinstance(generator, Generator):
        what = f"generator= must be a minigrad.Generator, got {type(generator).__name__}"
        raise error(TypeError, who, what, "write generator=minigrad.Generator().manual_seed(0)")
    if generator.device != place:
        what = f"expected a generator on {place}, the device of the numbers, but found one on {generator.device}"
        raise error(RuntimeError, who, what, f"write generator=minigrad.Generator(device='{place.type}')")
    return generator


def manual_seed(seed: int) -> Generator:
    """Restart the default generators from this seed, so that a program draws the same random numbers in each run.

    >>> import minigrad
    >>> _ = minigrad.manual_seed(0)
    >>> first = minigrad.rand(2)
    >>> _ = minigrad.manual_seed(0)
    >>> minigrad.equal(first, minigrad.rand(2))
    True
    """
    for generator in _on_gpu:
        generator.manual_seed(seed)
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Restart the default generators from a seed that the operating system provides, and return it.

    >>> import minigrad
    >>> minigrad.seed() == minigrad.initial_seed()
    True
    """
    return manual_seed(int.from_bytes(os.urandom(8), "little")).initial_seed()


def initial_seed() -> int:
    """Return the seed that the default generator started from.

    >>> import minigrad
    >>> _ = minigrad.manual_seed(7)
    >>> minigrad.initial_seed()
    7
    """
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """Return the default generator's position in its stream.

    >>> import minigrad
    >>> state = minigrad.get_rng_state()
    >>> first = minigrad.rand(2)
    >>> minigrad.set_rng_state(state)
    >>> minigrad.equal(first, minigrad.rand(2))
    True
    """
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Return the default generator to a position that get_rng_state recorded.

    >>> import minigrad
    >>> state = minigrad.get_rng_state()
    >>> first = minigrad.rand(2)
    >>> minigrad.set_rng_state(state)
    >>> minigrad.equal(first, minigrad.rand(2))
    True
    """
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(devices: Any = (), enabled: bool = True):
    """Restore the default generators afterwards, so that draws inside leave no trace.

    >>> import minigrad
    >>> minigrad.manual_seed(0).initial_seed()
    0
    >>> with minigrad.fork_rng():
    ...     inside = minigrad.rand(2)
    >>> minigrad.equal(inside, minigrad.rand(2))
    True
    """
    states = [(g, g._position()) for g in generators()]
    try:
        yield
    finally:
        if enabled:
            del _on_gpu[len(states) - 1 :]  # one whose first draw was inside starts anew
            for generator, state in states:
                generator.set_state(state)
