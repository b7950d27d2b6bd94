"""The machine that runs kernels: a GPU, driven through cuda.core, or the simulator if NUMBA_ENABLE_CUDASIM=1 is set.

Both offer the same few operations: raw memory by address, copies, launches, and waiting. Everything goes through one stream,
in the order of the requests, so nothing else has to wait. While one thread captures, the others work as usual.

Addresses in the simulator are shifted by `SHIFT`, to where there is no memory. So a program that reads device memory as if it
were main memory fails in the simulator as it would with a GPU.
"""

import functools
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from operator import attrgetter
from typing import Any

import numpy as np

from ...arrays.meta import NOWHERE, inside
from ...config import install
from ...errors import error
from . import launcher, simulator
from .in_flight import Delayed, Events, Later

SHIFT = 1 << 47
WIDEST = 16  # bytes that a thread moves in one instruction
watchers: weakref.WeakSet = weakref.WeakSet()  # objects whose check() is called after each wait for the device


class Uncapturable(BaseException):
    """Signal that a request during a capture cannot be repeated when the captured graph runs; the message gives the reason.

    It is not an Exception, because those get explanations on their way to the user; launch_graph.py catches this one.
    """


class CapturedRequests:
    """The requests recorded during a capture: functions and their arguments."""

    def __init__(self):
        self.calls: list[tuple[Callable, tuple]] = []
        self.kept: list = []  # objects to keep alive as long

    def launch(self) -> None:
        """Run the recorded requests."""
        for function, args in self.calls:
            function(*args)


class Capturing(threading.local):
    """The capture of a thread, if any, and the stream that takes its work: also as the driver's handle, and as a number."""

    asked: CapturedRequests | None = None

    def __init__(self, queue: Any = None):  # called in each thread
        self.enter(queue)

    def enter(self, queue: Any) -> None:
        """Send the thread's work to a stream."""
        self.queue, self.handle = queue, getattr(queue, "handle", None)
        self.stream = int(self.handle or 0)


class Parameters(threading.local):
    """A thread's memory for the arguments of a launch."""

    def __init__(self):  # called in each thread
        self.arguments = launcher.Arguments(4096)  # the most a kernel takes


class Recorded(threading.local):
    """The recording of a thread's requests that are to be repeated (repeats.py), if any."""

    now: Any = None


recorded = Recorded()


def refuse_repeats() -> None:
    """Note a request that a recorded call cannot repeat."""
    if recorded.now is not None:
        recorded.now.refused = True


class Simulator:
    """Simulated device: its memory is main memory, and kernels run thread by thread in Python."""

    name = "simulator"
    arch = "sim"
    capability = (0, 0)
    processors = 2

    def __init__(self):
        self.blocks: dict[int, np.ndarray] = {}
        self.in_flight = Delayed()
        self.capturing = Capturing()

    asked = property(attrgetter("capturing.asked"))

    @contextmanager
    def capture(self) -> Iterator[CapturedRequests]:
        """Record requests instead of running them."""
        self.capturing.asked = asked = CapturedRequests()
        asked.calls.append((self.in_flight.make_all, ()))  # the recorded requests use device memory without host()
        try:
            yield asked
        finally:
            self.capturing.asked = None

    def do(self, function: Callable, *args: Any) -> None:
        """Run a request, or record it during a capture."""
        if (asked := self.asked) is None:
            function(*args)
        else:
            asked.calls.append((function, args))

    def enter(self) -> None:
        """Do nothing: the simulator needs no setup per thread."""

    def allocate(self, nbytes: int) -> int:
        """Return the address of `nbytes` bytes of memory, filled with garbage."""
        block = np.full(max(nbytes, 1), 0x7F, np.uint8)
        address = block.ctypes.data + SHIFT
        self.blocks[address] = block
        return address

    def free(self, address: int) -> None:
        """Free memory."""
        del self.blocks[address]

    def free_memory(self) -> tuple[int, int]:
        """Return the numbers of free bytes and of all bytes; here there is no limit."""
        return 1 << 40, 1 << 40

    def host(self, address: int, shape: tuple, dtype: np.dtype, strides: tuple) -> np.ndarray:
        """Return a part of device memory as an array."""
        self.in_flight.make_all()
        return self.seen(address, shape, dtype, strides)

    def seen(self, address: int, shape: tuple, dtype: np.dtype, strides: tuple) -> np.ndarray:
        """Return a part of device memory as an array, without the copies that are in flight."""
        found = np.asarray(Interface(address - SHIFT, shape, dtype.str, strides, self))
        return found.view(dtype)  # NumPy's text for bfloat16 gives only its size of 2 bytes

    def upload(self, address: int, a: np.ndarray) -> None:
        """Copy a contiguous array into device memory."""
        refuse_capturing(self.asked)
        self.host(address, a.shape, a.dtype, a.strides)[...] = a
        run_watchers()

    def download(self, address: int, a: np.ndarray) -> None:
        """Copy device memory into a contiguous array."""
        refuse_capturing(self.asked)
        a[...] = self.host(address, a.shape, a.dtype, a.strides)
        run_watchers()

    def send(self, address: int, a: np.ndarray) -> Later:
        """Begin to copy a contiguous array into device memory, and return the end of the copy."""
        refuse_capturing(self.asked)
        return self.in_flight.add(self.seen(address, a.shape, a.dtype, a.strides), a)

    def receive(self, address: int, a: np.ndarray) -> Later:
        """Begin to copy device memory into a contiguous array, and return the end of the copy."""
        refuse_capturing(self.asked)
        return self.in_flight.add(a, self.seen(address, a.shape, a.dtype, a.strides))

    def shared(self, nbytes: int) -> tuple[int, np.ndarray]:
        """Return memory that the processor sees as well: its address on the device, and its bytes."""
        refuse_repeats()
        address = self.allocate(nbytes)
        return address, bytes_at(address - SHIFT, nbytes, self.free, address)

    def copy(self, target: int, source: int, nbytes: int) -> None:
        """Copy bytes from one place in device memory to another."""
        refuse_repeats()
        bytes_ = np.dtype(np.uint8)
        self.do(np.copyto, self.host(target, (nbytes,), bytes_, (1,)), self.host(source, (nbytes,), bytes_, (1,)))

    def synchronize(self) -> None:
        """Complete the copies in flight, and run the watchers; kernels have already run."""
        refuse_capturing(self.asked)
        self.in_flight.make_all()
        run_watchers()

    def wait_for(self, stream: int) -> None:
        """Do nothing: there is only one stream."""

    stream = 0


class Interface:
    """An array at an address, which NumPy accepts unchecked; it keeps `owner` alive."""

    pinned = False  # pinned.py sets it

    def __init__(
        self, address: int, shape: tuple, typestr: str = "|u1", strides: tuple | None = None, owner: Any = None
    ):
        self.owner = owner
        self.__array_interface__ = {"data": (address, False), "shape": shape, "typestr": typestr, "strides": strides,
                                    "version": 3}  # fmt: skip


def bytes_of(address: int, nbytes: int) -> np.ndarray:
    """Return device memory as an array whose layout NumPy knows; its elements must not be read (device_array.py)."""
    return np.asarray(Interface(address, (nbytes,)))


def bytes_at(address: int, nbytes: int, free: Callable, *args: Any) -> np.ndarray:
    """Return bytes of main memory, which free(*args) releases after their last use."""
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
        # a stream that waits for the default stream, which other libraries use, and vice versa
        self.main = self.device.create_stream(options=StreamOptions(nonblocking=False))
        self.in_flight = Events()
        self.capturing = Capturing(self.main)
        self.parameters = Parameters()

    asked, queue, stream = [property(attrgetter(f"capturing.{name}")) for name in ("asked", "queue", "stream")]

    def enter(self) -> None:
        """Make this the GPU of the calling thread."""
        self.device.set_current()

    def call(self, name: str, *args: Any) -> Any:
        """Return the results of a driver function, or raise RuntimeError with the driver's status."""
        status, *results = getattr(self.driver, name)(*args)
        if status:
            raise self.failure(name, status)
        return results[0] if len(results) == 1 else results

    def failure(self, name: str, status: Any) -> Exception:
        """Return the error for a driver function's status."""
        kind = MemoryError if status == self.driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY else RuntimeError
        fix = "minigrad.cuda.memory_summary() shows the memory in use"
        return error(kind, "cuda", f"{name} returned {status.name}", fix)

    def launch(self, kernel: Any, grid: Any, block: Any, fields: list) -> None:
        """Launch a kernel (kernel_modules.Ready) with the fields of its arguments."""
        arguments = self.parameters.arguments
        arguments.pack(kernel.arguments, fields)
        self.check_launch(launcher.launch(kernel, (*three(grid), *three(block)), self.stream, arguments))

    def repeat(self, launches: Sequence, addresses: list[int]) -> None:
        """Repeat prepared launches (launcher.Prepared) with arrays at these addresses."""
        stream = self.stream
        for prepared in launches:
            self.check_launch(prepared(addresses, stream))

    def check_launch(self, status: int) -> None:
        """Raise RuntimeError if a launch failed."""
        if status:
            raise self.failure("cuLaunchKernel", self.driver.CUresult(status))

    def allocate(self, nbytes: int) -> int:
        """Return the address of `nbytes` bytes of memory."""
        return int(self.call("cuMemAlloc", max(nbytes, 1)))

    def free(self, address: int) -> None:
        """Free memory."""
        self.call("cuMemFree", address)

    def free_memory(self) -> tuple[int, int]:
        """Return the numbers of free bytes and of all bytes."""
        return tuple(self.call("cuMemGetInfo"))

    def upload(self, address: int, a: np.ndarray) -> None:
        """Copy a contiguous array into device memory."""
        refuse_capturing(self.asked)
        self.call("cuMemcpyHtoDAsync", address, a.ctypes.data, a.nbytes, self.stream)
        self.synchronize()  # the caller may change the array as soon as this returns

    def download(self, address: int, a: np.ndarray) -> None:
        """Copy device memory into a contiguous array."""
        refuse_capturing(self.asked)
        self.call("cuMemcpyDtoHAsync", a.ctypes.data, address, a.nbytes, self.stream)
        self.synchronize()

    def send(self, address: int, a: np.ndarray) -> Any:
        """Begin to copy a contiguous array in pinned memory into device memory, and return the event after the copy."""
        refuse_capturing(self.asked)
        self.call("cuMemcpyHtoDAsync", address, a.ctypes.data, a.nbytes, self.stream)
        return self.in_flight.add(self.queue.record(), a)

    def receive(self, address: int, a: np.ndarray) -> Any:
        """Begin to copy device memory into a contiguous array in pinned memory, and return the event after the copy."""
        refuse_capturing(self.asked)
        self.call("cuMemcpyDtoHAsync", a.ctypes.data, address, a.nbytes, self.stream)
        return self.in_flight.add(self.queue.record(), a)

    def shared(self, nbytes: int) -> tuple[int, np.ndarray]:
        """Return pinned main memory that kernels can write to: its address, and its bytes."""
        refuse_repeats()
        address = int(self.call("cuMemAllocHost", nbytes))
        return address, bytes_at(address, nbytes, self.call, "cuMemFreeHost", address)

    def copy(self, target: int, source: int, nbytes: int) -> None:
        """Copy bytes from one place in device memory to another."""
        refuse_repeats()
        self.call("cuMemcpyDtoDAsync", target, source, nbytes, self.stream)

    def synchronize(self) -> None:
        """Wait until all requests are done."""
        refuse_capturing(self.asked)
        self.queue.sync()
        self.in_flight.drop_done()
        run_watchers()

    def wait_for(self, stream: int) -> None:
        """Wait for the requests that another library made in its stream."""
        self.call("cuStreamSynchronize", stream)

    @contextmanager
    def capture(self) -> Iterator[CapturedRequests]:
        """Record the requests to a stream; launch() of the yielded object repeats them all at once."""
        from cuda.core import StreamOptions

        own, asked = self.capturing, CapturedRequests()
        before = own.queue
        queue = self.device.create_stream(options=StreamOptions(nonblocking=True))
        builder = queue.create_graph_builder().begin_building("relaxed")
        own.asked = asked
        own.enter(queue)
        try:
            yield asked
        except BaseException:
            with suppress(Exception):  # the capture may be broken, and would raise again
                builder.end_building()
            raise
        finally:
            own.asked = None
            own.enter(before)
        graph = builder.end_building().complete()
        asked.calls.append((graph.launch, (self.main,)))


def three(sizes: Any) -> tuple:
    """Return the size of a grid or a block in three dimensions.

    >>> three(4), three((4, 2))
    ((4, 1, 1), (4, 2, 1))
    """
    sizes = sizes if isinstance(sizes, tuple) else (sizes,)
    return (*map(int, sizes), 1, 1)[:3]


def run_watchers() -> None:
    """Call all watchers, which check for errors that kernels stored."""
    for watcher in list(watchers):
        watcher.check()


def refuse_capturing(asked: CapturedRequests | None) -> None:
    """Raise Uncapturable during a capture: a replay cannot copy between the device and main memory. Nor can a repeated call."""
    refuse_repeats()
    if asked is not None:
        raise Uncapturable("it copies numbers between the device and main memory")


@functools.cache
def count() -> int:
    """Return the number of devices: usable GPUs, or the simulated one."""
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
    """Return the device, set up for this thread: the driver asks each thread for its GPU. Raises RuntimeError without one."""
    if inside.active:
        return NOWHERE
    place = find_device()
    if not getattr(_entered, "active", False):
        place.enter()
        _entered.active = True
    return place


_entered = threading.local()


@functools.cache
def find_device() -> Any:
    """Return the device."""
    if not count():
        raise error(
            RuntimeError,
            "device",
            "there is no CUDA device: either no GPU was found, or the package that drives it is not installed",
            f"{install('cuda13')}, on a machine with an NVIDIA driver (older than 580: cuda12), set "
            "NUMBA_ENABLE_CUDASIM=1 to simulate one, or use device='cpu'",
        )
    return Simulator() if simulator.SIMULATED else GPU()
