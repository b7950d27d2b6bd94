"""The GPU, as PyTorch's programs query it: its availability, memory and random numbers.

Tensors are on the first GPU, cuda:0, or on the processor.  The code that computes there is in minigrad/kernels/cuda, which is
loaded only when a GPU is used.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple

from .arrays.devices import CUDA
from .arrays.devices import device as _device
from .core.tensor import Tensor
from .errors import OutOfMemoryError, error
from .ops import generator, transfer
from .ops.copy import on_device

if TYPE_CHECKING:
    from .kernels.cuda.watch import KernelTrace

__all__ = [
    "DeviceProperties",
    "OutOfMemoryError",
    "current_device",
    "device_count",
    "empty_cache",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "initial_seed",
    "is_available",
    "is_bf16_supported",
    "jit",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "reset_peak_memory_stats",
    "seed",
    "set_device",
    "set_rng_state",
    "synchronize",
    "watch",
]


# ---------------------------------------------------------------------- which GPU
def is_available() -> bool:
    """Return True if tensors can be on a GPU.

    >>> import minigrad
    >>> place = minigrad.device("cuda" if minigrad.cuda.is_available() else "cpu")
    >>> minigrad.ones(2, device=place).device.type == place.type
    True
    """
    return transfer.count() > 0


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Return True if tensors of bfloat16 can be on a GPU: they always can, if there is one.

    >>> import minigrad
    >>> minigrad.cuda.is_bf16_supported() == minigrad.cuda.is_available()
    True
    """
    return is_available()


def device_count() -> int:
    """Return the number of GPUs.

    >>> import minigrad
    >>> minigrad.cuda.is_available() == (minigrad.cuda.device_count() > 0)
    True
    """
    return transfer.count()


def current_device() -> int:
    """Return the index of the GPU that "cuda" means.  Raises RuntimeError if there is none.

    >>> import minigrad
    >>> minigrad.cuda.current_device() if minigrad.cuda.is_available() else 0
    0
    """
    return gpu(None).index or 0


def set_device(device: Any) -> None:
    """Choose the GPU that "cuda" means: it must be the first one, the only one supported (else RuntimeError).

    >>> import minigrad
    >>> if minigrad.cuda.is_available():
    ...     minigrad.cuda.set_device(0)
    """
    gpu(device)


class DeviceProperties(NamedTuple):
    """Properties of a GPU.

    >>> import minigrad
    >>> minigrad.cuda.DeviceProperties("NVIDIA H200", 9, 0, 150_000_000_000, 132).multi_processor_count
    132
    """

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int


def get_device_properties(device: Any = None) -> DeviceProperties:
    """Return the name, compute capability, memory in bytes and number of multiprocessors of a GPU.

    >>> import minigrad
    >>> if minigrad.cuda.is_available():
    ...     assert minigrad.cuda.get_device_properties().total_memory > 0
    """
    gpu(device)
    place = transfer.current()
    return DeviceProperties(place.name, *place.capability, place.free_memory()[1], place.processors)


def get_device_name(device: Any = None) -> str:
    """Return the name of a GPU.

    >>> import minigrad
    >>> name = minigrad.cuda.get_device_name() if minigrad.cuda.is_available() else "none"
    """
    return get_device_properties(device).name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Return the compute capability of a GPU, such as (9, 0).

    >>> import minigrad
    >>> modern = minigrad.cuda.is_available() and minigrad.cuda.get_device_capability() >= (8, 0)
    """
    found = get_device_properties(device)
    return found.major, found.minor


def gpu(place: Any) -> _device:
    """Return the GPU to use.  Raises RuntimeError if it does not exist, ValueError for another kind of device."""
    found = on_device("cuda" if place is None else place)
    if found != CUDA:
        raise error(ValueError, "device", f"expected a cuda device, but got {found}", "write device='cuda'")
    return found


# ---------------------------------------------------------------------- order of execution
def synchronize(device: Any = None) -> None:
    """Wait until the GPU has finished all operations; they return before they have computed.

    >>> import minigrad
    >>> if minigrad.cuda.is_available():
    ...     minigrad.cuda.synchronize()
    """
    gpu(device)
    transfer.current().synchronize()


# ---------------------------------------------------------------------- user-defined kernels
def jit(function: Callable) -> Any:
    """Turn a function into a kernel, launched with tensors on the GPU: `kernel[blocks, threads](*args)`.

    The function must suit Numba's `cuda.jit`: it uses Numba's `cuda.grid`, `cuda.shared.array`, ... and may call Numba's
    device functions.  A tensor without dimensions arrives as an array of one element.  Autograd does not see a kernel's writes:
    launch it in the forward and the backward of a `Function`.

    >>> import minigrad
    >>> from numba import cuda
    >>> @minigrad.cuda.jit
    ... def double(x_, out_):
    ...     i = cuda.grid(1)
    ...     if i < out_.size:
    ...         out_[i] = 2 * x_[i]
    >>> if minigrad.cuda.is_available():
    ...     x = minigrad.arange(10.0, device="cuda")
    ...     out = minigrad.empty_like(x)
    ...     double[3, 4](x, out)
    """
    from .own_kernels import OwnKernel

    return OwnKernel(function)


def watch() -> AbstractContextManager[KernelTrace]:
    """Record the reads and writes of the threads of all kernels launched in the block, and the races among them.

    The result has them as `launches`; printed, it describes them all, and `viz.draw_threads` draws one of them.  It needs the
    simulator, and raises RuntimeError if the process was started without NUMBA_ENABLE_CUDASIM=1.

    >>> import minigrad
    >>> try:
    ...     with minigrad.cuda.watch() as trace:
    ...         y = minigrad.ones(40, device="cuda") + 1
    ...     print([len(launch.races) for launch in trace.launches])
    ... except RuntimeError:
    ...     print("start the program with NUMBA_ENABLE_CUDASIM=1")
    start the program with NUMBA_ENABLE_CUDASIM=1
    """
    from .kernels.cuda import simulator, watch

    if not simulator.SIMULATED:
        raise error(RuntimeError, "watch", "only the simulator records the threads of a kernel, and it is off",
                    "start the program with NUMBA_ENABLE_CUDASIM=1 in the environment")  # fmt: skip
    return watch.watch()


# ---------------------------------------------------------------------- memory
def memory_allocated(device: Any = None) -> int:
    """Return the bytes that tensors occupy on the GPU, in blocks of 512 bytes.

    >>> import minigrad
    >>> if minigrad.cuda.is_available():
    ...     x = minigrad.ones(3, device="cuda")
    ...     assert minigrad.cuda.memory_allocated() >= 512
    """
    return transfer.allocator().allocated


def max_memory_allocated(device: Any = None) -> int:
    """Return the peak of the bytes that tensors occupied, since the start or since reset_peak_memory_stats.

    >>> import minigrad
    >>> minigrad.cuda.max_memory_allocated() >= minigrad.cuda.memory_allocated()
    True
    """
    return transfer.allocator().most_allocated


def memory_reserved(device: Any = None) -> int:
    """Return the bytes reserved for tensors: those that tensors occupy, and those kept for further tensors.

    >>> import minigrad
    >>> minigrad.cuda.memory_reserved() >= minigrad.cuda.memory_allocated()
    True
    """
    return transfer.allocator().reserved


def max_memory_reserved(device: Any = None) -> int:
    """Return the peak of the reserved bytes, since the start or since reset_peak_memory_stats.

    >>> import minigrad
    >>> minigrad.cuda.max_memory_reserved() >= minigrad.cuda.memory_reserved()
    True
    """
    return transfer.allocator().most_reserved


def reset_peak_memory_stats(device: Any = None) -> None:
    """Reset both peaks to the memory in use now.

    >>> import minigrad
    >>> minigrad.cuda.reset_peak_memory_stats()
    >>> minigrad.cuda.max_memory_allocated() == minigrad.cuda.memory_allocated()
    True
    """
    transfer.allocator().reset_peaks()


def memory_stats(device: Any = None) -> dict[str, int]:
    """Return bytes in use and reserved, their peaks, and the number of allocations: by tensors, and from the driver.

    >>> import minigrad
    >>> stats = minigrad.cuda.memory_stats()
    >>> stats["allocated_bytes.all.peak"] >= stats["allocated_bytes.all.current"]
    True
    """
    found = transfer.allocator()
    return {
        "allocated_bytes.all.current": found.allocated,
        "allocated_bytes.all.peak": found.most_allocated,
        "reserved_bytes.all.current": found.reserved,
        "reserved_bytes.all.peak": found.most_reserved,
        "allocation.all.allocated": found.allocations,
        "num_device_alloc": found.allocations - found.reused,
    }


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """Return memory_stats as a readable table.

    >>> import minigrad
    >>> print(minigrad.cuda.memory_summary().splitlines()[0])
    memory of cuda:0 in bytes           now         peak
    """
    stats = memory_stats()
    rows = [f"{'memory of cuda:0 in bytes':25} {'now':>13} {'peak':>12}"]
    for what, key in (("of tensors", "allocated_bytes"), ("held for tensors", "reserved_bytes")):
        rows.append(f"{what:25} {stats[f'{key}.all.current']:>13} {stats[f'{key}.all.peak']:>12}")
    rows.append(f"{'blocks given to tensors':25} {stats['allocation.all.allocated']:>13}")
    rows.append(f"{'blocks taken from the GPU':25} {stats['num_device_alloc']:>13}")
    return "\n".join(rows)


def empty_cache() -> None:
    """Release the memory kept for further tensors, so that other programs can use it.

    >>> import minigrad
    >>> minigrad.cuda.empty_cache()
    """
    if is_available():
        transfer.empty_cache()


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Return the number of free bytes of the GPU, and of all bytes.

    >>> import minigrad
    >>> if minigrad.cuda.is_available():
    ...     free, total = minigrad.cuda.mem_get_info()
    """
    gpu(device)
    return transfer.current().free_memory()


# ---------------------------------------------------------------------- random numbers
def manual_seed(seed: int) -> None:
    """Seed the GPU's default generator; without a GPU, do nothing.

    minigrad.manual_seed does the same.  A GPU has a separate stream: a seed gives other numbers there than on the processor.

    >>> import minigrad
    >>> minigrad.cuda.manual_seed(0)
    """
    if is_available():
        generator.on_gpu().manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Seed the default generators of all GPUs, as manual_seed does.

    >>> import minigrad
    >>> minigrad.cuda.manual_seed_all(0)
    """
    manual_seed(seed)


def seed() -> None:
    """Seed the GPU's default generator with a number from the operating system.

    >>> import minigrad
    >>> minigrad.cuda.seed()
    """
    manual_seed(int.from_bytes(os.urandom(8), "little"))


def initial_seed() -> int:
    """Return the seed with which the GPU's default generator started.

    >>> import minigrad
    >>> minigrad.cuda.manual_seed(7)
    >>> minigrad.cuda.initial_seed() if minigrad.cuda.is_available() else 7
    7
    """
    gpu(None)
    return generator.on_gpu().initial_seed()


def get_rng_state(device: Any = "cuda") -> Tensor:
    """Return the state of the GPU's default generator, as a tensor on the processor.

    >>> import minigrad
    >>> if minigrad.cuda.is_available():
    ...     minigrad.cuda.set_rng_state(minigrad.cuda.get_rng_state())
    """
    gpu(device)
    return generator.on_gpu().get_state()


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Set the state of the GPU's default generator to one from get_rng_state.

    >>> import minigrad
    >>> if minigrad.cuda.is_available():
    ...     minigrad.cuda.set_rng_state(minigrad.cuda.get_rng_state())
    """
    gpu(device)
    generator.on_gpu().set_state(new_state)
