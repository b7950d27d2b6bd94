"""The machine that kernels run on: a GPU, driven through cuda.core, or the simulator where NUMBA_ENABLE_CUDASIM=1 is set.

Both offer the same few things: raw memory by address, copies, launches, and waiting.  Everything goes through one stream, in
the order in which it was asked for, so nothing else has to wait.  While a thread captures, the others go on as before.

Addresses in the simulator are moved by `SHIFT`, to where no memory is.  So a program that reads device memory as if it were
the computer's own fails there as it would with a GPU.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from operator import attrgetter
from typing import Any

import numpy as np

from ...arrays.nowhere import NOWHERE, inside
from ...errors import error
from . import simulator

SHIFT = 1 << 47
watchers: weakref.WeakSet = weakref.WeakSet()  # objects whose look() is called when the device has been waited for


class Uncapturable(BaseException):
    """Signal that a request during a capture cannot be repeated when the captured graph runs; the message says why.

    It is no Exception, since those are explained on their way to the user; launch_graph.py catches this one.
    """


class Asked:
    """What was asked of the simulator during a capture: functions and their arguments."""

    def __init__(self):
        self.calls: list[tuple[Callable, tuple]] = []
        self.kept: list = []  # what lives as long

    def launch(self) -> None:
        """Do it."""
        for function, args in self.calls:
            function(*args)


class Capturing(threading.local):
    """Hold what a thread captures, if it does, and the stream that takes its work, also as the driver knows it."""

    asked: Asked | None = None

    def __init__(self, queue: Any = None, stream: int = 0):  # called in each thread
        self.queue, self.stream = queue, stream


class Simulator:
    """Device memory is the computer's own, and kernels run thread by thread in Python."""

    name = "simulator"
    arch = "sim"
    capability = (0, 0)
    processors = 2

    def __init__(self):
        self.blocks: dict[int, np.ndarray] = {}
        self.capturing = Capturing()

    asked = property(attrgetter("capturing.asked"))

    @contextmanager
    def capture(self) -> Iterator[Asked]:
        """Only note what is asked for."""
        self.capturing.asked = asked = Asked()
        try:
            yield asked
        finally:
            self.capturing.asked = None

    def do(self, function: Callable, *args: Any) -> None:
        """Do something, or note it."""
        if (asked := self.asked) is None:
            function(*args)
        else:
            asked.calls.append((function, args))

    def enter(self) -> None:
        """There is nothing that a thread has to say."""

    def allocate(self, nbytes: int) -> int:
        """Memory of so many bytes, filled with what no program should rely on; its address."""
        block = np.full(max(nbytes, 1), 0x7F, np.uint8)
        address = block.ctypes.data + SHIFT
        self.blocks[address] = block
        return address

    def free(self, address: int) -> None:
        """Give memory back."""
        del self.blocks[address]

    def free_memory(self) -> tuple[int, int]:
        """Bytes that are free, and bytes in all; there is no limit here."""
        return 1 << 40, 1 << 40

    def host(self, address: int, shape: tuple, dtype: np.dtype, strides: tuple) -> np.ndarray:
        """The array that stands for a part of device memory."""
        found = np.asarray(Interface(address - SHIFT, shape, dtype.str, strides, self))
        return found.view(dtype)  # NumPy's text for bfloat16 says only that it has 2 bytes

    def upload(self, address: int, a: np.ndarray) -> None:
        """Copy a contiguous array into device memory."""
        refuse_capturing(self.asked)
        self.host(address, a.shape, a.dtype, a.strides)[...] = a

    def download(self, address: int, a: np.ndarray) -> None:
        """Copy device memory into a contiguous array."""
        refuse_capturing(self.asked)
        a[...] = self.host(address, a.shape, a.dtype, a.strides)
        look()

    def shared(self, nbytes: int) -> tuple[int, np.ndarray]:
        """Memory that the processor sees as well: its address on the device, and its bytes."""
        address = self.allocate(nbytes)
        return address, bytes_at(address - SHIFT, nbytes, self.free, address)

    def copy(self, target: int, source: int, nbytes: int) -> None:
        """Copy bytes from one place in device memory to another."""
        bytes_ = np.dtype(np.uint8)
        self.do(np.copyto, self.host(target, (nbytes,), bytes_, (1,)), self.host(source, (nbytes,), bytes_, (1,)))

    def synchronize(self) -> None:
        """Nothing to wait for."""
        refuse_capturing(self.asked)
        look()

    def wait_for(self, stream: int) -> None:
        """Nothing to wait for."""

    stream = 0


class Interface:
    """An array by its address, as NumPy asks for it, which believes what it is told; `owner` lives as long."""

    def __init__(
        self, address: int, shape: tuple, typestr: str = "|u1", strides: tuple | None = None, owner: Any = None
    ):
        self.owner = owner
        self.__array_interface__ = {"data": (address, False), "shape": shape, "typestr": typestr, "strides": strides,
                                    "version": 3}  # fmt: skip


def bytes_at(address: int, nbytes: int, free: Callable, *args: Any) -> np.ndarray:
    """Bytes of the computer's memory, given back by free(*args) when nobody sees them any more."""
    seen = Interface(address, (nbytes,))
    weakref.finalize(seen, free, *args).atexit = False
    return np.asarray(seen)


class GPU:
    """The first GPU, in the context that other libraries use as well."""

    def __init__(self):
        from cuda.bindings import driver
        from cuda.core import Device, StreamOptions

        self.driver = driver
        self.device = Device(0)
        self.device.set_current()
        self.name = self.device.name
        self.arch = f"sm_{self.device.arch}"
        self.capability = tuple(self.device.compute_capability)
        self.processors = self.device.properties.multiprocessor_count
        # a stream that waits for the default stream and is waited for: other libraries' is that
        self.main = self.device.create_stream(options=StreamOptions(nonblocking=False))
        self.capturing = Capturing(self.main, int(self.main.handle))

    asked, queue, stream = [property(attrgetter(f"capturing.{name}")) for name in ("asked", "queue", "stream")]

    def enter(self) -> None:
        """Make this the GPU of the thread that asks."""
        self.device.set_current()

    def call(self, name: str, *args: Any) -> Any:
        """A function of the driver; its results, or RuntimeError with what it says."""
        status, *results = getattr(self.driver, name)(*args)
        if status != self.driver.CUresult.CUDA_SUCCESS:
            kind = MemoryError if status == self.driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY else RuntimeError
            raise error(
                kind, "cuda", f"{name} says {status.name}", "minigrad.cuda.memory_summary() shows what is in use"
            )
        return results[0] if len(results) == 1 else results

    def allocate(self, nbytes: int) -> int:
        """Memory of so many bytes; its address."""
        return int(self.call("cuMemAlloc", max(nbytes, 1)))

    def free(self, address: int) -> None:
        """Give memory back."""
        self.call("cuMemFree", address)

    def free_memory(self) -> tuple[int, int]:
        """Bytes that are free, and bytes in all."""
        return tuple(self.call("cuMemGetInfo"))

    def upload(self, address: int, a: np.ndarray) -> None:
        """Copy a contiguous array into device memory."""
        refuse_capturing(self.asked)
        self.call("cuMemcpyHtoDAsync", address, a.ctypes.data, a.nbytes, self.stream)
        self.synchronize()  # the array may be changed as soon as this returns

    def download(self, address: int, a: np.ndarray) -> None:
        """Copy device memory into a contiguous array."""
        refuse_capturing(self.asked)
        self.call("cuMemcpyDtoHAsync", a.ctypes.data, address, a.nbytes, self.stream)
        self.synchronize()

    def shared(self, nbytes: int) -> tuple[int, np.ndarray]:
        """Memory of the computer that kernels write to as they do to the device's: its address, and its bytes."""
        address = int(self.call("cuMemAllocHost", nbytes))
        return address, bytes_at(address, nbytes, self.call, "cuMemFreeHost", address)

    def copy(self, target: int, source: int, nbytes: int) -> None:
        """Copy bytes from one place in device memory to another."""
        self.call("cuMemcpyDtoDAsync", target, source, nbytes, self.stream)

    def synchronize(self) -> None:
        """Wait until all that was asked for is done."""
        refuse_capturing(self.asked)
        self.queue.sync()
        look()

    def wait_for(self, stream: int) -> None:
        """Wait until what another library has asked for in a stream of its own is done."""
        self.call("cuStreamSynchronize", stream)

    @contextmanager
    def capture(self) -> Iterator[Asked]:
        """Have the driver note what is asked of a stream; launch() of what is yielded asks for all of it at once."""
        from cuda.core import StreamOptions

        own, asked = self.capturing, Asked()
        before = own.asked, own.queue, own.stream
        queue = self.device.create_stream(options=StreamOptions(nonblocking=True))
        builder = queue.create_graph_builder().begin_building("relaxed")
        own.asked, own.queue, own.stream = asked, queue, int(queue.handle)
        try:
            yield asked
        except BaseException:
            with suppress(Exception):  # the capture may have broken off, and says so again
                builder.end_building()
            raise
        finally:
            own.asked, own.queue, own.stream = before
        graph = builder.end_building().complete()
        asked.calls.append((graph.launch, (self.main,)))


def look() -> None:
    """Have those look who want to know what kernels have left."""
    for watcher in list(watchers):
        watcher.look()


def refuse_capturing(asked: Asked | None) -> None:
    """Numbers do not come from the computer's memory, or go there, in what is to be asked for again."""
    if asked is not None:
        raise Uncapturable("it moves numbers between the device and the computer's memory")


@functools.cache
def count() -> int:
    """How many devices there are: GPUs that can be driven, or the one that is simulated."""
    if simulator.SIMULATED:
        return 1
    try:
        import numba_cuda  # noqa: F401
        from cuda.bindings import driver

        (status,) = driver.cuInit(0)
        status, found = driver.cuDeviceGetCount() if int(status) == 0 else (status, 0)
    except (ImportError, RuntimeError):  # not installed, or no driver library
        return 0
    return found if int(status) == 0 else 0


def current() -> Any:
    """The device, for this thread: the driver asks each thread which GPU it means.  Raises RuntimeError where there is none."""
    if inside.yes:
        return NOWHERE
    place = found()
    if not getattr(_entered, "yes", False):
        place.enter()
        _entered.yes = True
    return place


_entered = threading.local()


@functools.cache
def found() -> Any:
    """The device."""
    if not count():
        raise error(
            RuntimeError,
            "device",
            "there is no CUDA device: no GPU was found, or the package that drives one is not installed",
            "pip install 'minigrad-viz[cuda12]' on a machine with an NVIDIA driver, set NUMBA_ENABLE_CUDASIM=1 to simulate "
            "one, or use device='cpu'",
        )
    return Simulator() if simulator.SIMULATED else GPU()
