"""Read a pickle of tensors and plain values without running it.

A pickle is a program: it names functions, calls them, and sets attributes. Here its instructions are read one by one, and only
those that `minigrad.save` and `torch.save` write for numbers, strings, containers, arrays and tensors are accepted. A name is
never looked up. It stands for an entry of the tables in rebuild.py and below, which checks its arguments, or for an object
that the user passed to `add_safe_globals`. Any file is either read correctly or rejected.
"""

from __future__ import annotations

import pickletools
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from typing import IO, Any

import numpy as np

from ..arrays import dtypes
from ..arrays.devices import device
from ..core.tensor import Tensor
from .allowlist import safe_names
from .rebuild import (
    CLASSES,
    DTYPES,
    MADE,
    UNLIKE,
    Damaged,
    Name,
    NotHere,
    Storages,
    Unknown,
    need,
    storage_dtype,
)

EMPTY = {"EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_SET": set, "EMPTY_TUPLE": tuple}
CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
VALUES = set(
    "BININT BININT1 BININT2 LONG1 LONG4 BINFLOAT SHORT_BINUNICODE BINUNICODE BINUNICODE8 SHORT_BINBYTES BINBYTES BINBYTES8"
    " BYTEARRAY8 SHORT_BINSTRING BINSTRING".split()
)
TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
PASSED_OVER = {"PROTO", "FRAME"}
RENAMED = {
    "__builtin__": "builtins",
    "numpy.core.multiarray": "numpy._core.multiarray",
    "numpy.core.numeric": "numpy._core.numeric",
}
DICTS = (dict, OrderedDict, Counter)
KEYS = (str, bytes, int, float, complex, np.generic, dtypes.dtype, device, Tensor, type(None))  # what keys consist of


class Unfinished:
    """An array or dtype whose state has not been read yet."""

    def __init__(self, finish: Callable):
        self.finish = finish  # the state -> the value
        self.keys: list[int] = []  # memo entries that refer to it


KINDS: dict[Any, np.dtype] = {
    **{name: np.dtype(name) for name in "b1 u1 u2 u4 u8 i1 i2 i4 i8 f2 f4 f8".split()},
    Name("ml_dtypes", "bfloat16"): dtypes.BF2,
}
ARGUMENTS = {Name("numpy", "ndarray"), Name("ml_dtypes", "bfloat16")}  # allowed as arguments only


# ---------------------------------------------------------------------- functions for the names of Python and NumPy
def unfinished_array(cls: Name, shape: tuple, letter: bytes) -> Unfinished:
    """Return a placeholder for an array whose elements follow."""
    need(cls == Name("numpy", "ndarray"), "an array of the class {}", cls)
    return Unfinished(array)


def array(version: int, shape: tuple, kind: np.dtype, by_columns: bool, content: bytes) -> np.ndarray:
    """Return the array with these bytes."""
    need(isinstance(kind, np.dtype) and isinstance(content, (bytes, bytearray)), "an array without numbers")
    flat = np.frombuffer(bytearray(content), kind)
    need(kind.kind != "b" or not (flat.view("u1") > 1).any(), "a bool that is neither 0 nor 1")
    return flat.reshape(shape, order="F" if by_columns else "C")


def array_on_buffer(content: bytes, kind: np.dtype, shape: tuple, order: str) -> np.ndarray:
    """Return the array with these bytes, as protocol 5 writes it."""
    need(order in ("C", "F"), "the order {}", order)
    return array(1, shape, kind, order == "F", content)


def unfinished_dtype(name: object, align: bool, copy: bool) -> Any:
    """Return a placeholder for a dtype whose byte order follows."""
    need(type(name) in (str, Name) and name in KINDS, "an array of the dtype {}", name)
    kind = KINDS[name]

    def finish(version: int, order: Any, *rest: object) -> np.dtype:
        need(order in ("<", ">", "|", "="), "the byte order {}", order)
        return kind.newbyteorder(order) if order in "<>" and kind is not dtypes.BF2 else kind

    return Unfinished(finish)


def number(kind: np.dtype, content: bytes) -> Any:
    """Return a NumPy number."""
    need(isinstance(kind, np.dtype) and len(content) == kind.itemsize, "a number of the wrong size")
    return array(1, (), kind, False, content)[()]


def encoded(text: str, how: str) -> bytes:
    """Return the bytes that protocol 2 writes as text."""
    need(type(text) is str and how == "latin1", "bytes that are not a latin1 string")
    return text.encode("latin1")


def counter(counts: Any = ()) -> Counter:
    """Return the Counter of a dictionary."""
    need(type(counts) is dict or counts == (), "a Counter without a dictionary")
    return Counter(counts)


PYTHON: dict[Any, Callable] = {
    Name("collections", "OrderedDict"): lambda: OrderedDict(),
    Name("collections", "Counter"): counter,
    Name("builtins", "set"): set,
    Name("builtins", "frozenset"): frozenset,
    Name("builtins", "bytearray"): lambda content=b"": bytearray(as_bytes(content)),
    Name("builtins", "complex"): lambda re, im: complex(as_float(re), as_float(im)),
    Name("_codecs", "encode"): encoded,
    Name("numpy._core.multiarray", "_reconstruct"): unfinished_array,
    Name("numpy._core.multiarray", "scalar"): number,
    Name("numpy._core.numeric", "_frombuffer"): array_on_buffer,
    Name("numpy", "dtype"): unfinished_dtype,
}


def as_bytes(value: Any) -> bytes:
    """Return the value, if it is bytes."""
    need(isinstance(value, bytes), "a value that is not bytes")
    return value


def as_float(value: Any) -> float:
    """Return the value, if it is a float."""
    need(type(value) is float, "a value that is not a float")
    return value


def parts_of_key(value: Any) -> int:
    """Return the number of parts of a dictionary key or set member; Python must be able to hash it soon."""
    parts = [(value, 0)]
    for part, depth in parts:
        if type(part) is not Name and isinstance(part, (tuple, frozenset)):
            need(depth < 32 and len(parts) + len(part) < 10_000, "a key of too many tuples")
            parts += [(inner, depth + 1) for inner in part]
        else:
            need(isinstance(part, KEYS) or type(part) in safe_names().values(), "an invalid key")
    return len(parts)


def without_names(value: Any) -> Any:
    """Return the content of a file, if no name is left in it: names may only be called."""
    parts, seen = [value], set()
    while parts:
        part = parts.pop()
        need(type(part) is not Name, "the name {} as a value", part)
        if isinstance(part, (list, tuple, dict, Tensor)) and id(part) not in seen:
            seen.add(id(part))
            inner = vars(part) if isinstance(part, Tensor) else part
            parts.extend(inner.values() if isinstance(inner, dict) else inner)
            parts.extend(vars(part).values() if isinstance(part, OrderedDict) else ())
    return value


# ---------------------------------------------------------------------- the instructions
class PickleReader:
    """Reads one pickle; `storages` gives the memory of its tensors."""

    def __init__(self, storages: Storages):
        self.storages = storages
        self.safe = safe_names()
        self.stack: list[Any] = []
        self.marks: list[int] = []  # earlier lengths of the stack
        self.memo: dict[int, Any] = {}
        self.copied = 0  # amount of values copied so far: the file may use one many times

    def read(self, file: IO[bytes]) -> Any:
        """Return the object; raise Damaged or another ValueError if the file, an in-memory one, is not from `save`."""
        begin = file.tell()
        while code := file.read(1):
            op = INSTRUCTIONS.get(code)
            if op is None:
                raise Damaged(f"the instruction {code!r}, which no file of tensors needs")
            value = two_lines(file) if op.name == "GLOBAL" else op.arg.reader(file) if op.arg else None
            if op.name == "STOP":
                need(len(self.stack) == 1 and not self.marks, "an end with values left over")
                return without_names(self.finished(self.stack[0]))
            self.follow(op.name, value)
            if self.copied > 1_000_000:
                need(self.copied <= 16 * (file.tell() - begin) + 1_000_000, "a value that is copied over and over")
        raise Damaged("no end")

    def follow(self, op: str, value: Any) -> None:
        """Execute one instruction."""
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
        """Pop the last n values, which must be finished."""
        need(len(self.stack) - n >= (self.marks[-1] if self.marks else 0), "too few values")
        found = self.stack[len(self.stack) - n :]
        del self.stack[len(self.stack) - n :]
        return [self.finished(v) for v in found]

    def pop_mark(self) -> list:
        """Pop all values since the last mark."""
        need(self.marks, "no mark")
        n = len(self.stack) - self.marks[-1]
        found = self.popped(n)
        self.marks.pop()
        return found

    def finished(self, value: Any) -> Any:
        """Return the value, if the file has completed it."""
        need(not isinstance(value, Unfinished), "an array without its numbers")
        return value

    def last(self, kind: type) -> Any:
        """Return the container on top of the stack."""
        need(self.stack and type(self.stack[-1]) is kind, "no {} to extend", kind)
        return self.stack[-1]

    # ------------------------------------------------------------------ containers
    def do_tuple(self) -> None:
        """Make a tuple."""
        self.stack.append(tuple(self.pop_mark()))

    def do_frozenset(self) -> None:
        """Make a frozenset."""
        self.stack.append(frozenset(self.hashed(self.pop_mark())))

    def do_append(self) -> None:
        """Add one value to a list."""
        (value,) = self.popped(1)
        self.last(list).append(value)

    def do_appends(self) -> None:
        """Add values to a list."""
        values = self.pop_mark()
        self.last(list).extend(values)

    def do_additems(self) -> None:
        """Add values to a set."""
        values = self.pop_mark()
        self.last(set).update(self.hashed(values))

    def do_setitem(self) -> None:
        """Add one pair to a dictionary."""
        self.put(self.popped(2))

    def do_setitems(self) -> None:
        """Add pairs to a dictionary."""
        self.put(self.pop_mark())

    def put(self, values: list) -> None:
        """Add keys and values, in turn, to a dictionary."""
        need(self.stack and type(self.stack[-1]) in DICTS and len(values) % 2 == 0, "no dictionary to extend")
        self.stack[-1].update(dict(zip(self.hashed(values[::2]), values[1::2], strict=True)))

    def hashed(self, values: Any) -> Any:
        """Return keys or set members, checked and counted: Python hashes every part of each."""
        self.copied += sum(map(parts_of_key, values))
        return values

    # ------------------------------------------------------------------ memo
    def do_memoize(self) -> None:
        """Store the last value in the memo."""
        self.do_binput(len(self.memo))

    def do_binput(self, key: int) -> None:
        """Store the last value in the memo under a number."""
        need(self.stack and not (self.marks and self.marks[-1] == len(self.stack)), "nothing to remember")
        self.memo[key] = value = self.stack[-1]
        if isinstance(value, Unfinished):
            value.keys.append(key)

    do_long_binput = do_binput

    def do_binget(self, key: int) -> None:
        """Push a value from the memo."""
        self.stack.append(self.memo[key])

    do_long_binget = do_binget

    # ------------------------------------------------------------------ names, calls, states
    def do_global(self, parts: list) -> None:
        """Push the name of a function or class that is in the instruction."""
        self.name(*parts)

    def do_stack_global(self) -> None:
        """Push the name of a function or class given by the last two strings."""
        self.name(*self.popped(2))

    def name(self, *parts: Any) -> None:
        """Push a function or class: as a name, unless the user has allowed it."""
        for part in parts:
            need(isinstance(part, str) and part.replace(".", "_").isidentifier(), "a name that is not an identifier")
        name = current_name(*parts)
        if name in UNLIKE:
            raise NotHere(UNLIKE[name])
        if not is_known(name) and name not in self.safe:
            raise Unknown(f"the name {name}, which is neither a tensor nor a plain container")
        self.stack.append(DTYPES.get(name) or (name if is_known(name) else self.safe[name]))

    def is_safe(self, value: Any) -> bool:
        """Return True if a value is a function or class that the user has allowed."""
        return any([value is known for known in self.safe.values()])

    def do_binpersid(self) -> None:
        """Push memory stored next to the pickle."""
        self.stack.append(self.storages.of(*self.popped(1)))

    def do_reduce(self) -> None:
        """Call a function with its arguments."""
        name, args = self.popped(2)
        made = PYTHON.get(name) or MADE.get(name) if type(name) is Name else None
        function: Any = name if self.is_safe(name) else made
        need(function is not None, "a call of {}", name)
        need(type(args) is tuple, "arguments that are not a tuple")
        self.copied += sum([len(a) for a in args if isinstance(a, (tuple, list, dict, bytes, str))])
        if function is set or function is frozenset:
            self.hashed(*args or [()])
        self.stack.append(function(*args))

    def do_newobj(self) -> None:
        """Create an object of a class that the user has allowed."""
        cls, args = self.popped(2)
        need(self.is_safe(cls) and isinstance(cls, type) and type(args) is tuple, "an object of {}", cls)
        self.stack.append(cls.__new__(cls, *args))

    def do_build(self) -> None:
        """Finish a value: an array with its numbers, a dictionary with its attributes, an object of an allowed class."""
        (state,) = self.popped(1)
        need(self.stack, "nothing to finish")
        value = self.stack[-1]
        if isinstance(value, Unfinished):
            need(type(state) is tuple, "an array without its numbers")
            self.copied += sum([len(part) for part in state if isinstance(part, (tuple, bytes))])
            self.stack[-1] = made = value.finish(*state)
            self.memo.update(dict.fromkeys(value.keys, made))
        elif type(value) is OrderedDict:
            need(type(state) is dict, "dictionary attributes that are not a dict")
            self.copied += len(state)
            for name in state:
                need(type(name) is str and not hasattr(OrderedDict, name), "a dictionary's attribute {}", name)
            vars(value).update(state)
        else:
            need(self.is_safe(type(value)), "a state for an object that has none")
            set_state(value, state)


def two_lines(file: IO[bytes]) -> list[str]:
    """Return the operands of the instruction GLOBAL; pickletools would interpret escapes in them."""
    return [file.readline().removesuffix(b"\n").decode() for _ in range(2)]


def current_name(module: str, name: str) -> Name:
    """Return the name of a function or class in current versions of Python and NumPy."""
    return Name(RENAMED.get(module, module), name)


def is_known(name: Name) -> bool:
    """Return True if a file may use this name without the user's permission."""
    return (
        any([name in table for table in (PYTHON, MADE, CLASSES, DTYPES, ARGUMENTS)]) or storage_dtype(name) is not None
    )


def set_state(value: Any, state: Any) -> None:
    """Set the state of an object of an allowed class, as pickle does."""
    if hasattr(value, "__setstate__"):
        value.__setstate__(state)
        return
    attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    vars(value).update(attributes or {})
    for name, held in (slots or {}).items():
        setattr(value, name, held)


def names_in(content: bytes) -> Iterator[Name]:
    """Yield the names of functions and classes in a pickle without executing it."""
    texts: list[str] = []
    memo: dict[int, str] = {}
    for op, value, _ in pickletools.genops(content):
        if op.name in ("GLOBAL", "STACK_GLOBAL"):
            yield current_name(*(value.split(" ", 1) if value else texts[-2:]))
        elif op.name in ("BINGET", "LONG_BINGET") and value in memo:
            texts.append(memo[value])
        elif op.name in ("BINPUT", "LONG_BINPUT", "MEMOIZE"):
            memo[len(memo) if value is None else value] = texts[-1] if texts else ""
        elif isinstance(value, str):
            texts.append(value)


INSTRUCTIONS = {
    op.code.encode("latin-1"): op
    for op in pickletools.opcodes
    if op.name in {*VALUES, *CONSTANTS, *EMPTY, *TUPLES, *PASSED_OVER, "MARK", "STOP"}
    or hasattr(PickleReader, "do_" + op.name.lower())
}
