"""Kernels as small readable modules: their text, their compiled form for a GPU, and their launch.

The text of a module is Python with `@cuda.jit` functions, as a person would write them. On a GPU each is compiled once for
the types of its arguments, through PTX to a cubin, which is stored in the cache folder next to the text. In the simulator
the functions run unchanged.
"""

from __future__ import annotations

import functools
import hashlib
import pathlib
import re
import struct
import sys
import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ...arrays.dtypes import BF2
from ...arrays.meta import inside
from .. import cache
from . import machine, simulator
from .device_array import DeviceArray

# kernels are compiled to PTX for this capability, from which newer GPUs get native machine code
OLDEST = (7, 5)
NUMBERS = {bool: "boolean", int: "int64", float: "float64"}
_modules: dict[str, types.ModuleType] = {}
launched: dict[tuple, Launched] | None = None  # all kernels that were launched, for `cuda-build` to compile


class Launched(NamedTuple):
    """A kernel, and the types of the arguments of its launch."""

    module: str
    source: str
    function: str
    signature: tuple


def load(name: str, source: str) -> Any:
    """Return the module with this text; those of its `@cuda.jit` functions that are kernels become CudaKernel objects."""
    key = f"minigrad_cuda_{name}_{hashlib.sha256((source + stamp()).encode()).hexdigest()[:16]}"
    if key not in _modules:
        _modules[key] = build(key, source)
    return _modules[key]


def build(key: str, source: str) -> types.ModuleType:
    """Return the text run as a module, with kernels that can be launched."""
    module = cache.executed(key, source)
    if simulator.SIMULATED:
        simulator.prepare(module, source)
    for name in re.findall(r"^@cuda\.jit\ndef (\w+)", source, re.M):
        setattr(module, name, CudaKernel(key, source, name, getattr(module, name)))
    return module


@functools.cache
def stamp() -> str:
    """Return all that machine code depends on besides a module's text: our functions, and the versions of the compilers."""
    from importlib.metadata import PackageNotFoundError, version

    def found(package: str) -> str:
        try:
            return version(package)
        except PackageNotFoundError:
            return ""

    functions = pathlib.Path(__file__).with_name("device_functions.py").read_bytes()
    cuda12 = "nvidia-cuda-nvcc-cu12", "nvidia-nvjitlink-cu12"
    cuda13 = "nvidia-nvvm", "nvidia-cuda-nvrtc", "nvidia-nvjitlink"
    versions = [found(p) for p in ("numba", "numba-cuda", "numpy", *cuda12, *cuda13)]
    return f"{hashlib.sha256(functions).hexdigest()} {OLDEST} {versions} {sys.version_info[:2]}"


class Ready(NamedTuple):
    """A kernel in the device's memory: its handle, the layout of its arguments, and the object that keeps it there."""

    handle: int
    arguments: struct.Struct
    loaded: Any


class CudaKernel:
    """A kernel: `kernel[grid, block](*args)`, as in Numba.

    Array arguments are DeviceArrays, which a kernel sees as Numba arrays: in C order if they are, else in any order. A 0-d
    array becomes an array of one element. Numbers keep their type: NumPy's are unchanged, Python's ints become int64 and
    floats float64.
    """

    def __init__(self, module: str, source: str, name: str, function: Any):
        self.module, self.source, self.name, self.function = module, source, name, function
        self.compiled: dict[tuple, Ready] = {}

    def __getitem__(self, shape: tuple) -> Any:
        return functools.partial(self.launch, *shape)

    def launch(self, grid: Any, block: Any, *args: Any) -> None:
        """Run it in `grid` blocks of `block` threads."""
        if inside.active:
            return
        if launched is not None:
            self.note(described(args)[0])
        if machine.recorded.now is not None:
            machine.recorded.now.launches.append((self, grid, block, args))
        if simulator.SIMULATED:
            self.simulate(grid, block, args)
            return
        place = machine.current()
        signature, fields = described(args)
        place.launch(self.compiled.get(signature) or self.ready(signature, place), grid, block, fields)

    def simulate(self, grid: Any, block: Any, args: Sequence) -> None:
        """Run it in the simulator, which sees the device's memory as NumPy arrays."""
        args = [a.reshape(1) if type(a) is DeviceArray and not a.ndim else a for a in args]
        hosts = [a.host() if type(a) is DeviceArray else a for a in args]
        machine.current().do(simulator.run, self.function, grid, block, hosts)

    def note(self, signature: tuple) -> None:
        """Note a launch with arguments of these types."""
        assert launched is not None
        launched[self.module, self.name, signature] = Launched(self.module, self.source, self.name, signature)

    def ready(self, signature: tuple, place: Any) -> Ready:
        """Return the kernel for these types, loaded into the device."""
        entry, cubin = self.machine_code(signature, place.arch)
        loaded = core().ObjectCode.from_cubin(cubin).get_kernel(entry)
        made = Ready(int(loaded.handle), struct.Struct("".join(map(packing, signature))), loaded)
        return self.compiled.setdefault(signature, made)

    def machine_code(self, signature: tuple, arch: str) -> tuple[str, bytes]:
        """Return the entry's name and the cubin for these types, from the cache folder if possible."""
        name = f"{self.module}.{self.name}.{arch}.{hashlib.sha256(repr(signature).encode()).hexdigest()[:16]}.cubin"
        kept = cache.stored(name)
        if kept is None:
            entry, cubin, _ = machine_code(self.function, signature, arch)
            cache.store(name, f"{entry}\0".encode() + cubin)
        else:
            text, _, cubin = kept.partition(b"\0")
            entry = text.decode()
        return entry, cubin


@functools.cache
def core() -> Any:
    """Return the module that loads kernels; without a GPU it may be missing."""
    import cuda.core

    return cuda.core


def described(args: Sequence) -> tuple[tuple, list]:
    """Return the types of arguments, and the fields that compiled code gets for them."""
    types, fields = [], []
    for a in args:
        if type(a) is DeviceArray:
            shadow = a.shadow
            itemsize, shape = shadow.itemsize, shadow.shape
            types.append(array_type(shadow.dtype, len(shape) or 1, shadow.flags.c_contiguous))
            # of Numba's array: two pointers that kernels do not use, size, itemsize, address, and the layout
            fields += (0, 0, shadow.size, itemsize, a.address, *(shape or (1,)), *(shadow.strides or (itemsize,)))
        else:
            types.append("int64" if type(a) is int else number_type(type(a)))
            fields.append(a)
    return tuple(types), fields


@functools.cache
def array_type(dtype: np.dtype, ndim: int, whole: bool) -> str:
    """Return an array's type in Numba's notation: float32[::1] is in C order, float32[:] in any.

    Cached, because NumPy takes as long for a dtype's name as the driver for a launch.
    """
    assert dtype is not BF2, "kernels see bfloat16 as its bits: use device_array.plain"
    row = ", ".join([":"] * (ndim - 1) + ["::1" if whole else ":"])
    return f"{element(dtype)}[{row}]"


@functools.cache
def number_type(kind: type) -> str:
    """Return the type of a number."""
    return NUMBERS.get(kind) or element(np.dtype(kind))


def element(dtype: np.dtype) -> str:
    """Return the type of elements of a dtype in kernels, in Numba's notation."""
    return {"bool": "boolean", "bfloat16": "uint16"}.get(dtype.name, dtype.name)


def packing(name: str) -> str:
    """Return the fields of an argument of this type, in the notation of `struct`: an array has seven, or more, of 8 bytes.

    >>> packing("float32[:, ::1]"), packing("float32")
    ('qqqqqqqqq', 'f')
    """
    dims = name.count(":") - name.count("::")
    return "q" * (5 + 2 * dims) if dims else np.dtype(name.replace("boolean", "bool")).char.replace("l", "q")


def address_words(signature: tuple) -> list[int]:
    """Return the places of arrays' addresses among the packed arguments, in words of 8 bytes; -1 for numbers.

    >>> address_words(("float32[::1]", "float32", "float32[:, ::1]"))
    [4, -1, 12]
    """
    packed = [packing(name) for name in signature]
    begins = [struct.calcsize("".join(packed[:k]) + "0q") // 8 for k in range(len(packed))]
    return [begin + 4 if len(p) > 1 else -1 for begin, p in zip(begins, packed)]


class MachineCode(NamedTuple):
    """The compiler's output for a kernel."""

    entry: str
    cubin: bytes
    log: str  # its use of registers and memory


def machine_code(function: Any, signature: tuple, arch: str) -> MachineCode:
    """Return the machine code of a `@cuda.jit` function for these types; this needs the compiler, but no GPU."""
    return linked(assembly(function, signature), signature, arch)


def assembly(function: Any, signature: tuple) -> str:
    """Return a function's PTX for these types: the same for all GPUs, because Numba uses no newer features."""
    from numba import cuda
    from numba.core import sigutils

    args, _ = sigutils.normalize_signature(f"void({', '.join(signature)})")
    function = getattr(function, "py_func", function)
    bounds = function.__globals__.get("LAUNCH_BOUNDS", {}).get(function.__name__)  # a module may limit registers
    with compiling_for(OLDEST):
        text, _ = cuda.compile(function, args, cc=OLDEST, device=False, abi="numba", output="ptx", launch_bounds=bounds)
    return text


def linked(ptx: str, signature: tuple, arch: str) -> MachineCode:
    """Return the machine code for a GPU of this architecture, linked from PTX."""
    from cuda.core import Linker, LinkerOptions, ObjectCode

    entry = re.search(r"\.visible \.entry (\w+)\((.*?)\)", ptx, re.S)
    assert entry is not None
    taken = [int(bits) // 8 for bits in re.findall(r"\.param \.\w(\d+)", entry[2])]
    given = [struct.calcsize(field) for field in "".join(map(packing, signature))]
    assert taken == given, f"{entry[1]} takes {taken}, but gets {given}"
    linker = Linker(ObjectCode.from_ptx(ptx.encode()), options=LinkerOptions(arch=arch, verbose=True))
    return MachineCode(entry[1], bytes(linker.link("cubin").code), linker.get_info_log())


@contextmanager
def compiling_for(capability: tuple[int, int]) -> Iterator[None]:
    """Set the GPU for which Numba compiles, which it otherwise asks the driver for; there may be none."""
    from numba.cuda import dispatcher

    found = dispatcher.get_current_device
    dispatcher.get_current_device = lambda: types.SimpleNamespace(compute_capability=capability)
    try:
        yield
    finally:
        dispatcher.get_current_device = found


def threads(size: int, block: int = 256) -> tuple[int, int]:
    """Return blocks and threads for a kernel whose threads each process one element after another.

    There may be fewer threads than elements: a thread continues with further ones. The simulator, where each thread costs time,
    gets as few as show the same behaviour: blocks of a warp.
    """
    if simulator.SIMULATED:
        return min(-(-size // 32), 2) or 1, 32
    return min(-(-size // block), 32 * machine.current().processors) or 1, block
