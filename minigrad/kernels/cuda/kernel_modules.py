"""Kernels as small readable modules: their text, their compiled form for a GPU, and their launch.

The text of a module is Python with `@cuda.jit` functions, as a reader would write them.  On a GPU each is compiled once for
the types of its arguments, through PTX to a cubin, which is kept in the cache folder beside the text.  In the simulator the
functions run as they stand.
"""

from __future__ import annotations

import functools
import hashlib
import pathlib
import re
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ...arrays.dtypes import BF2
from ...arrays.nowhere import inside
from .. import cache
from . import machine, simulator
from .device_array import DeviceArray

# kernels are compiled to the PTX of this capability, from which newer GPUs get machine code of their own
OLDEST = (7, 5)
NUMBERS = {bool: "boolean", int: "int64", float: "float64"}
_modules: dict[str, types.ModuleType] = {}
launched: dict[tuple, Launched] | None = None  # what `cuda-build` compiles: all that was launched, in the simulator


class Launched(NamedTuple):
    """A kernel, and the types of the arguments that it was launched with."""

    module: str
    source: str
    function: str
    signature: tuple


def load(name: str, source: str) -> Any:
    """The module with this text: its `@cuda.jit` functions that are kernels are objects of Kernel."""
    key = f"minigrad_cuda_{name}_{hashlib.sha256((source + stamp()).encode()).hexdigest()[:16]}"
    if key not in _modules:
        _modules[key] = build(key, source)
    return _modules[key]


def build(key: str, source: str) -> types.ModuleType:
    """Run the text as a module, whose kernels can be launched."""
    module = cache.executed(key, source)
    if simulator.SIMULATED:
        simulator.prepare(module, source)
    for name in re.findall(r"^@cuda\.jit\ndef (\w+)", source, re.M):
        setattr(module, name, Kernel(key, source, name, getattr(module, name)))
    return module


@functools.cache
def stamp() -> str:
    """What besides a module's text decides about its machine code: our functions, and the versions of what compiles them."""
    from importlib.metadata import PackageNotFoundError, version

    def found(package: str) -> str:
        try:
            return version(package)
        except PackageNotFoundError:
            return ""

    functions = pathlib.Path(__file__).with_name("device_functions.py").read_bytes()
    versions = [found(p) for p in ("numba", "numba-cuda", "nvidia-cuda-nvcc-cu12", "nvidia-nvjitlink-cu12", "numpy")]
    return f"{hashlib.sha256(functions).hexdigest()} {OLDEST} {versions} {sys.version_info[:2]}"


class Kernel:
    """A kernel: `kernel[grid, block](*args)`, as in Numba.

    Arrays among the arguments are DeviceArrays, which a kernel sees as Numba's arrays: of C order where they lie so, else of
    any.  A 0-d one comes as an array of one element.  Numbers keep their type: NumPy's as they are, Python's ints are int64 and
    floats float64.
    """

    def __init__(self, module: str, source: str, name: str, function: Any):
        self.module, self.source, self.name, self.function = module, source, name, function
        self.compiled: dict[tuple, Any] = {}

    def __getitem__(self, shape: tuple) -> Any:
        return functools.partial(self.launch, *shape)

    def launch(self, grid: Any, block: Any, *args: Any) -> None:
        """Run it in so many blocks of so many threads."""
        if inside.yes:
            return
        args = tuple([a.reshape(1) if isinstance(a, DeviceArray) and not a.ndim else a for a in args])
        signature = tuple([type_name(a) for a in args])
        if launched is not None:
            launched[self.module, self.name, signature] = Launched(self.module, self.source, self.name, signature)
        if simulator.SIMULATED:
            hosts = [a.host() if isinstance(a, DeviceArray) else a for a in args]
            machine.current().do(simulator.run, self.function, grid, block, hosts)
            return
        place = machine.current()
        if signature not in self.compiled:
            entry, cubin = self.machine_code(signature, place.arch)
            self.compiled[signature] = core().ObjectCode.from_cubin(cubin).get_kernel(entry)
        core().launch(place.queue, shape_of_launch(grid, block), self.compiled[signature], *fields(args))

    def machine_code(self, signature: tuple, arch: str) -> tuple[str, bytes]:
        """The entry's name and the cubin for these types; they are kept in the cache folder."""
        name = f"{self.module}.{self.name}.{arch}.{hashlib.sha256(repr(signature).encode()).hexdigest()[:16]}.cubin"
        kept = cache.kept(name)
        if kept is None:
            entry, cubin, _ = machine_code(self.function, signature, arch)
            cache.keep(name, f"{entry}\0".encode() + cubin)
        else:
            text, _, cubin = kept.partition(b"\0")
            entry = text.decode()
        return entry, cubin


@functools.cache
def core() -> Any:
    """What launches kernels; without a GPU it need not be there."""
    import cuda.core

    return cuda.core


@functools.lru_cache(4096)
def shape_of_launch(grid: Any, block: Any) -> Any:
    """So many blocks of so many threads, as the driver is told: the same at each call of a program."""
    return core().LaunchConfig(grid=grid, block=block)


def type_name(a: Any) -> str:
    """The type of an argument in Numba's notation: float32[::1] is in C order, float32[:] need not be."""
    if isinstance(a, DeviceArray):
        shadow = a.shadow
        return array_type(shadow.dtype, shadow.ndim, shadow.flags.c_contiguous)
    return number_type(type(a))


@functools.cache
def array_type(dtype: np.dtype, ndim: int, whole: bool) -> str:
    """The type of an array; NumPy takes as long to spell a dtype's name as the driver to launch a kernel."""
    assert dtype is not BF2, "kernels know the elements of bfloat16 by their bits: array.plain"
    row = ", ".join([":"] * (ndim - 1) + ["::1" if whole else ":"])
    return f"{element(dtype)}[{row}]"


@functools.cache
def number_type(kind: type) -> str:
    """The type of a number."""
    return NUMBERS.get(kind) or element(np.dtype(kind))


def element(dtype: np.dtype) -> str:
    """What kernels have in arrays of a dtype, in Numba's notation."""
    return {"bool": "boolean", "bfloat16": "uint16"}.get(dtype.name, dtype.name)


def fields(args: tuple) -> list:
    """The arguments as compiled code takes them; of an array: two pointers for Numba itself, its size, and where it lies."""
    found: list = []
    for a in args:
        if isinstance(a, DeviceArray):
            shadow = a.shadow
            found += (0, 0, shadow.size, shadow.itemsize, a.address, *shadow.shape, *shadow.strides)
        else:
            found.append(a)
    return found


def widths(signature: tuple) -> list[int]:
    """The bytes of each field that `fields` makes of arguments of these types."""
    found = []
    for name in signature:
        dims = name.count(":") - name.count("::")
        found += [8] * (5 + 2 * dims) if dims else [np.dtype(name.replace("boolean", "bool")).itemsize]
    return found


class Code(NamedTuple):
    """What the compiler makes of a kernel."""

    entry: str
    cubin: bytes
    log: str  # which registers and how much memory it takes


def machine_code(function: Any, signature: tuple, arch: str) -> Code:
    """The machine code of a `@cuda.jit` function for these types; this needs the compiler, but no GPU."""
    return linked(assembly(function, signature), signature, arch)


def assembly(function: Any, signature: tuple) -> str:
    """The PTX of a `@cuda.jit` function for these types: the same for all GPUs, as Numba uses nothing that newer ones add."""
    from numba import cuda
    from numba.core import sigutils

    args, _ = sigutils.normalize_signature(f"void({', '.join(signature)})")
    with compiling_for(OLDEST):
        text, _ = cuda.compile(
            getattr(function, "py_func", function), args, cc=OLDEST, device=False, abi="numba", output="ptx"
        )
    return text


def linked(ptx: str, signature: tuple, arch: str) -> Code:
    """The machine code that a GPU of this architecture gets from PTX."""
    from cuda.core import Linker, LinkerOptions, ObjectCode

    entry = re.search(r"\.visible \.entry (\w+)\((.*?)\)", ptx, re.S)
    assert entry is not None
    taken = [int(bits) // 8 for bits in re.findall(r"\.param \.\w(\d+)", entry[2])]
    assert taken == widths(signature), f"{entry[1]} takes {taken}, and is given {widths(signature)}"
    linker = Linker(ObjectCode.from_ptx(ptx.encode()), options=LinkerOptions(arch=arch, verbose=True))
    return Code(entry[1], bytes(linker.link("cubin").code), linker.get_info_log())


@contextmanager
def compiling_for(capability: tuple[int, int]) -> Iterator[None]:
    """Numba asks the driver for a GPU to compile what kernels call for; here it is told which, as none may be there."""
    from numba.cuda import dispatcher

    found = dispatcher.get_current_device
    dispatcher.get_current_device = lambda: types.SimpleNamespace(compute_capability=capability)
    try:
        yield
    finally:
        dispatcher.get_current_device = found


def threads(size: int, block: int = 256) -> tuple[int, int]:
    """Blocks and threads for a kernel that gives each thread one element after another.

    Fewer blocks than elements need: a thread goes on to further ones.  In the simulator, where each costs time, as few as show
    the same: blocks of a warp.
    """
    if simulator.SIMULATED:
        return min(-(-size // 32), 2) or 1, 32
    return min(-(-size // block), 32 * machine.current().processors) or 1, block
