"""Read a pickle of tensors and plain values without running it.

A pickle is a program: it names functions, calls them, and sets attributes.  Here its instructions are read one by one.  Only
those that `minigrad.save` writes for numbers, texts, containers, arrays and tensors are followed; a name is never looked up,
but stands for a function of the table `made` below, which looks at what it is given.  Whatever a file holds, it is read
right or refused.
"""

from __future__ import annotations

import io
import pickletools
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .arrays import dtypes, kinds
from .arrays.devices import Size, device
from .core.tensor import Tensor
from .nn.parameter import Parameter

NUMPY = "numpy._core.multiarray"
EMPTY = {"EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_SET": set, "EMPTY_TUPLE": tuple}
CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
VALUES = set(
    "BININT BININT1 BININT2 LONG1 LONG4 BINFLOAT SHORT_BINUNICODE BINUNICODE BINUNICODE8 SHORT_BINBYTES BINBYTES BINBYTES8"
    " BYTEARRAY8".split()
)
TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
PASSED_OVER = {"PROTO", "FRAME"}


class Damaged(ValueError):
    """Raised for a file that has what `save` never writes: `str` of it names that."""


class Unknown(Damaged):
    """Raised for a name that files of tensors and plain values do not need."""


class Name(NamedTuple):
    """A function or class that a file names."""

    module: str
    name: str

    def __repr__(self) -> str:
        return f"{self.module}.{self.name}"


class Unfinished:
    """An array, dtype or device of which the file has still to say what it is."""

    def __init__(self, finish: Callable):
        self.finish = finish  # the state -> the value
        self.keys: list[int] = []  # where the file remembers it


CLASSES = {
    Name("minigrad.core.tensor", "Tensor"): Tensor,
    Name("minigrad.nn.parameter", "Parameter"): Parameter,
}
KINDS: dict[Any, np.dtype] = {
    **{name: np.dtype(name) for name in "b1 u1 u2 u4 u8 i1 i2 i4 i8 f2 f4 f8".split()},
    Name("ml_dtypes", "bfloat16"): dtypes.BF2,
}
DTYPES = {d.name: d for d in dtypes.ALL}
ARGUMENTS = {Name("numpy", "ndarray"), Name("ml_dtypes", "bfloat16")}  # that are only named


def need(condition: object, what: str) -> None:
    """Raise Damaged where something does not hold."""
    if not condition:
        raise Damaged(what)


def as_key(value: Any) -> Any:
    """Return a key of a dictionary, or a member of a set, that Python can hash: not too deep for it, nor too large."""
    parts = [(value, 0)]
    for part, depth in parts:
        if type(part) is not Name and isinstance(part, (tuple, frozenset)):
            need(depth < 32 and len(parts) + len(part) < 10_000, "a key of very many tuples")
            parts += [(inner, depth + 1) for inner in part]
        else:
            need(isinstance(part, (str, bytes, int, float, np.generic, dtypes.dtype, device, type(None))), "an odd key")
    return value


def without_names(value: Any) -> Any:
    """Return what a file holds, in which no name is left: they are for calls alone."""
    parts, seen = [value], set()
    while parts:
        part = parts.pop()
        need(type(part) is not Name, f"the name {part} as a value")
        if isinstance(part, (list, tuple, dict, Tensor)) and id(part) not in seen:
            seen.add(id(part))
            inner = vars(part) if isinstance(part, Tensor) else part
            parts.extend(inner.values() if isinstance(inner, dict) else inner)
    return value


# ---------------------------------------------------------------------- what stands behind the names
def unfinished_array(cls: Name, shape: tuple, letter: bytes) -> Unfinished:
    """Stand for an array whose elements follow."""
    need(cls == Name("numpy", "ndarray"), f"an array of the class {cls}")
    return Unfinished(array)


def array(version: int, shape: tuple, kind: np.dtype, by_columns: bool, content: bytes) -> np.ndarray:
    """Make an array of its bytes."""
    need(isinstance(kind, np.dtype) and isinstance(content, (bytes, bytearray)), "an array that holds no numbers")
    flat = np.frombuffer(bytearray(content), kind)
    need(kind.kind != "b" or not (flat.view("u1") > 1).any(), "a bool that is neither 0 nor 1")
    return flat.reshape(shape, order="F" if by_columns else "C")


def unfinished_dtype(name: object, align: bool, copy: bool) -> Any:
    """Stand for a dtype of which the order of bytes follows."""
    need(name in KINDS, f"an array of the dtype {name!r}")
    kind = KINDS[name]

    def finish(version: int, order: str, *rest: object) -> np.dtype:
        need(order in ("<", ">", "|", "="), f"the order of bytes {order!r}")
        return kind.newbyteorder(order) if order in "<>" and kind is not dtypes.BF2 else kind

    return Unfinished(finish)


def number(kind: np.dtype, content: bytes) -> np.generic:
    """Make one of NumPy's numbers."""
    need(isinstance(kind, np.dtype) and len(content) == kind.itemsize, "a number of the wrong size")
    return array(1, (), kind, False, content)[()]


def unfinished_device() -> Unfinished:
    """Stand for a device whose name follows."""

    def finish(nothing: None, names: dict) -> device:
        kind, index = names["type"], names["index"]
        need(kind in ("cpu", "cuda") and (index is None or type(index) is int and index >= 0), f"the device {kind!r}")
        return device(kind) if index is None else device(kind, index)

    return Unfinished(finish)


def dtype_called(name: str) -> dtypes.dtype:
    """Return one of minigrad's dtypes."""
    need(name in DTYPES, f"the dtype {name!r}")
    return DTYPES[name]


def size(sizes: tuple) -> Size:
    """Make a shape."""
    need(all(type(n) is int and n >= 0 for n in sizes), "sizes that are no numbers")
    return Size(sizes)


def tensor_of(restore: Callable) -> Callable:
    """Return a function that makes a tensor on an array of its own."""

    def made(cls: Name, memory: Any, tracked: bool, grad: None) -> Tensor:
        need(cls in CLASSES, f"a tensor of the class {cls}")
        need(grad is None, "a gradient, which is not saved")
        return looked_at(restore(CLASSES[cls], numbers(memory), tracked, None), tracked)

    return made


def view_of(restore_view: Callable) -> Callable:
    """Return a function that makes a tensor on a part of an array; NumPy looks whether it is one."""

    def made(cls: Name, whole: Any, shape: tuple, kind: np.dtype, offset: int, strides: tuple, tracked: bool) -> Tensor:
        need(cls in CLASSES and isinstance(kind, np.dtype), f"a tensor of the class {cls}")
        return looked_at(restore_view(CLASSES[cls], numbers(whole), shape, kind, offset, strides, tracked), tracked)

    return made


def numbers(memory: Any) -> Any:
    """Return an array."""
    need(type(memory) in kinds.KINDS, "a tensor without numbers")
    return memory


def looked_at(t: Tensor, tracked: object) -> Tensor:
    """Return a tensor as minigrad makes them: of its dtypes, and of floats where it requires grad."""
    need(any([t._a.dtype == d.dtype for d in dtypes.ALL]) and t._a.dtype.isnative, f"a tensor of {t._a.dtype}")
    need(
        tracked is False or tracked is True and t._a.dtype in dtypes.FLOATS,
        f"a tensor of {t._a.dtype} that requires grad",
    )
    need(all([step % t._a.itemsize == 0 for step in t._a.strides]), "numbers that lie across each other")
    need(t._a.dtype != dtypes.BOOL or not (kinds.host(t._a).view("u1") > 1).any(), "a bool that is neither 0 nor 1")
    return t


def note(t: Tensor, notes: dict) -> Tensor:
    """Give a tensor the user's notes; none takes the place of a method."""
    for name in notes:
        need(isinstance(name, str) and not hasattr(type(t), name), f"a tensor's attribute {name!r}")
    t.__dict__.update(notes)
    return t


# ---------------------------------------------------------------------- the instructions
class PickleReader:
    """Reads one pickle.  `restore`, `restore_view` and `uploaded` make the tensors, and put their memory where it is wanted."""

    def __init__(self, content: bytes, restore: Callable, restore_view: Callable, uploaded: Callable):
        self.content = content
        self.stack: list[Any] = []
        self.marks: list[int] = []  # how long the stack was
        self.memo: dict[int, Any] = {}
        self.made: dict[Any, Callable] = {
            Name("collections", "OrderedDict"): lambda: OrderedDict(),
            Name(NUMPY, "_reconstruct"): unfinished_array,
            Name(NUMPY, "scalar"): number,
            Name("numpy", "dtype"): unfinished_dtype,
            Name("minigrad.arrays.devices", "Size"): size,
            Name("minigrad.arrays.devices", "device"): unfinished_device,
            Name("minigrad.arrays.dtypes", "of_numpy"): dtype_called,
            Name("minigrad.tensors.conversion", "restore"): tensor_of(restore),
            Name("minigrad.tensors.conversion", "restore_view"): view_of(restore_view),
            Name("minigrad.kernels.cuda.device_array", "uploaded"): lambda memory: uploaded(numbers(memory)),
        }

    def read(self) -> Any:
        """Return the object; Damaged, or another ValueError, where the file is not what `save` writes."""
        file = io.BytesIO(self.content)
        while code := file.read(1):
            op = INSTRUCTIONS.get(code.decode("latin-1"))
            if op is None:
                raise Damaged(f"the instruction {code!r}, which has no place in a file of tensors")
            value = op.arg.reader(file) if op.arg else None
            if op.name == "STOP":
                need(len(self.stack) == 1 and not self.marks, "an end with something left over")
                return without_names(self.finished(self.stack[0]))
            self.follow(op.name, value)
        raise Damaged("no end")

    def follow(self, op: str, value: Any) -> None:
        """Do what one instruction says."""
        stack = self.stack
        if op in VALUES:
            stack.append(value)
        elif op in CONSTANTS:
            stack.append(CONSTANTS[op])
        elif op in EMPTY:
            stack.append(EMPTY[op]())
        elif op in TUPLES:
            stack.append(tuple(self.popped(TUPLES[op])))
        elif op == "MARK":
            self.marks.append(len(stack))
        elif op not in PASSED_OVER:
            method = getattr(self, "do_" + op.lower())
            method() if value is None else method(value)

    def popped(self, n: int) -> list:
        """Take the last n values from the stack; they are finished now."""
        need(len(self.stack) - n >= (self.marks[-1] if self.marks else 0), "too few values")
        found = self.stack[len(self.stack) - n :]
        del self.stack[len(self.stack) - n :]
        return [self.finished(v) for v in found]

    def since_mark(self) -> list:
        """Take all values since the last mark."""
        need(self.marks, "no beginning")
        n = len(self.stack) - self.marks[-1]
        found = self.popped(n)
        self.marks.pop()
        return found

    def finished(self, value: Any) -> Any:
        """Return a value that the file has said all of."""
        need(not isinstance(value, Unfinished), "an array without its numbers")
        return value

    def last(self, kind: type) -> Any:
        """Return the container on top of the stack."""
        need(self.stack and type(self.stack[-1]) is kind, f"no {kind.__name__} to add to")
        return self.stack[-1]

    # ------------------------------------------------------------------ containers
    def do_tuple(self) -> None:
        """Make a tuple."""
        self.stack.append(tuple(self.since_mark()))

    def do_frozenset(self) -> None:
        """Make a frozenset."""
        self.stack.append(frozenset(map(as_key, self.since_mark())))

    def do_append(self) -> None:
        """Add one value to a list."""
        (value,) = self.popped(1)
        self.last(list).append(value)

    def do_appends(self) -> None:
        """Add values to a list."""
        values = self.since_mark()
        self.last(list).extend(values)

    def do_additems(self) -> None:
        """Add values to a set."""
        values = self.since_mark()
        self.last(set).update(map(as_key, values))

    def do_setitem(self) -> None:
        """Add one pair to a dictionary."""
        self.put(self.popped(2))

    def do_setitems(self) -> None:
        """Add pairs to a dictionary."""
        self.put(self.since_mark())

    def put(self, values: list) -> None:
        """Add keys and values, in turn, to a dictionary."""
        need(self.stack and isinstance(self.stack[-1], dict) and len(values) % 2 == 0, "no dictionary to add to")
        self.stack[-1].update(zip(map(as_key, values[::2]), values[1::2], strict=True))

    # ------------------------------------------------------------------ what is remembered
    def do_memoize(self) -> None:
        """Remember the last value."""
        need(self.stack and not (self.marks and self.marks[-1] == len(self.stack)), "nothing to remember")
        value, key = self.stack[-1], len(self.memo)
        self.memo[key] = value
        if isinstance(value, Unfinished):
            value.keys.append(key)

    def do_binget(self, key: int) -> None:
        """Use a value once more."""
        self.stack.append(self.memo[key])

    do_long_binget = do_binget

    # ------------------------------------------------------------------ names, calls, states
    def do_stack_global(self) -> None:
        """Name a function or class."""
        name = Name(*self.popped(2))
        for part in name:
            need(isinstance(part, str) and part.replace(".", "_").isidentifier(), "a name that is no identifier")
        if name not in self.made and name not in CLASSES and name not in ARGUMENTS:
            raise Unknown(f"the name {name}, which stands for neither a tensor nor a plain container")
        self.stack.append(name)

    def do_reduce(self) -> None:
        """Make a value of arguments."""
        name, args = self.popped(2)
        need(name in self.made and type(args) is tuple, f"a call of {name!r}")
        self.stack.append(self.made[name](*args))

    do_newobj = do_reduce

    def do_build(self) -> None:
        """Finish a value: an array with its numbers, a tensor with the user's notes."""
        (state,) = self.popped(1)
        need(self.stack, "nothing to finish")
        value = self.stack[-1]
        if isinstance(value, Tensor):
            note(value, state)
            return
        need(isinstance(value, Unfinished) and type(state) is tuple, "a state of something that has none")
        self.stack[-1] = made = value.finish(*state)
        for key in value.keys:
            self.memo[key] = made


INSTRUCTIONS = {
    op.code: op
    for op in pickletools.opcodes
    if op.name in {*VALUES, *CONSTANTS, *EMPTY, *TUPLES, *PASSED_OVER, "MARK", "STOP"}
    or hasattr(PickleReader, "do_" + op.name.lower())
}
