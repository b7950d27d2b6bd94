"""Read a pickle of tensors and plain values without running it.

A pickle is a program: it names functions, calls them, and sets attributes.  Here its instructions are read one by one.  Only
those that `minigrad.save` and `torch.save` write for numbers, texts, containers, arrays and tensors are followed; a name is
never looked up, but stands for a function of the tables in rebuild.py and below, which looks at what it is given, or for one
of the user's that `add_safe_globals` was told of.  Whatever a file holds, it is read right or refused.
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
from .rebuild import CLASSES, DTYPES, MADE, UNLIKE, Damaged, Name, NotHere, Storages, Unknown, need, said, storage_dtype

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


class Unfinished:
    """An array or dtype of which the file has still to say what it is."""

    def __init__(self, finish: Callable):
        self.finish = finish  # the state -> the value
        self.keys: list[int] = []  # where the file remembers it


KINDS: dict[Any, np.dtype] = {
    **{name: np.dtype(name) for name in "b1 u1 u2 u4 u8 i1 i2 i4 i8 f2 f4 f8".split()},
    Name("ml_dtypes", "bfloat16"): dtypes.BF2,
}
ARGUMENTS = {Name("numpy", "ndarray"), Name("ml_dtypes", "bfloat16")}  # that are only named


# ---------------------------------------------------------------------- what stands behind the names of Python and NumPy
def unfinished_array(cls: Name, shape: tuple, letter: bytes) -> Unfinished:
    """Stand for an array whose elements follow."""
    need(cls == Name("numpy", "ndarray"), f"an array of the class {said(cls)}")
    return Unfinished(array)


def array(version: int, shape: tuple, kind: np.dtype, by_columns: bool, content: bytes) -> np.ndarray:
    """Make an array of its bytes."""
    need(isinstance(kind, np.dtype) and isinstance(content, (bytes, bytearray)), "an array that holds no numbers")
    flat = np.frombuffer(bytearray(content), kind)
    need(kind.kind != "b" or not (flat.view("u1") > 1).any(), "a bool that is neither 0 nor 1")
    return flat.reshape(shape, order="F" if by_columns else "C")


def array_on_buffer(content: bytes, kind: np.dtype, shape: tuple, order: str) -> np.ndarray:
    """Make an array of its bytes, as protocol 5 says it."""
    need(order in ("C", "F"), f"the order {said(order)}")
    return array(1, shape, kind, order == "F", content)


def unfinished_dtype(name: object, align: bool, copy: bool) -> Any:
    """Stand for a dtype of which the order of bytes follows."""
    need(name in KINDS, f"an array of the dtype {said(name)}")
    kind = KINDS[name]

    def finish(version: int, order: Any, *rest: object) -> np.dtype:
        need(order in ("<", ">", "|", "="), f"the order of bytes {said(order)}")
        return kind.newbyteorder(order) if order in "<>" and kind is not dtypes.BF2 else kind

    return Unfinished(finish)


def number(kind: np.dtype, content: bytes) -> Any:
    """Make one of NumPy's numbers."""
    need(isinstance(kind, np.dtype) and len(content) == kind.itemsize, "a number of the wrong size")
    return array(1, (), kind, False, content)[()]


def encoded(text: str, how: str) -> bytes:
    """Make bytes of a text, as protocol 2 says them."""
    need(type(text) is str and how == "latin1", "bytes that are none")
    return text.encode("latin1")


def counter(counts: Any = ()) -> Counter:
    """Make a Counter of a dictionary."""
    need(type(counts) is dict or counts == (), "a Counter of no dictionary")
    return Counter(counts)


PYTHON: dict[Any, Callable] = {
    Name("collections", "OrderedDict"): lambda: OrderedDict(),
    Name("collections", "Counter"): counter,
    Name("builtins", "set"): lambda values=(): set(map(as_key, values)),
    Name("builtins", "frozenset"): lambda values=(): frozenset(map(as_key, values)),
    Name("builtins", "bytearray"): lambda content=b"": bytearray(as_bytes(content)),
    Name("builtins", "complex"): lambda re, im: complex(as_float(re), as_float(im)),
    Name("_codecs", "encode"): encoded,
    Name("numpy._core.multiarray", "_reconstruct"): unfinished_array,
    Name("numpy._core.multiarray", "scalar"): number,
    Name("numpy._core.numeric", "_frombuffer"): array_on_buffer,
    Name("numpy", "dtype"): unfinished_dtype,
}


def as_bytes(value: Any) -> bytes:
    """Return bytes that are some."""
    need(isinstance(value, bytes), "bytes that are none")
    return value


def as_float(value: Any) -> float:
    """Return a float that is one."""
    need(type(value) is float, "a number that is none")
    return value


def as_key(value: Any) -> Any:
    """Return a key of a dictionary, or a member of a set, that Python can hash: not too deep for it, nor too large."""
    parts = [(value, 0)]
    for part, depth in parts:
        if type(part) is not Name and isinstance(part, (tuple, frozenset)):
            need(depth < 32 and len(parts) + len(part) < 10_000, "a key of very many tuples")
            parts += [(inner, depth + 1) for inner in part]
        else:
            plain = (str, bytes, int, float, complex, np.generic, dtypes.dtype, device, Tensor, type(None))
            need(isinstance(part, plain) or type(part) in safe_names().values(), "an odd key")
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
            parts.extend(vars(part).values() if isinstance(part, OrderedDict) else ())
    return value


# ---------------------------------------------------------------------- the instructions
class PickleReader:
    """Reads one pickle; `storages` give the memory of its tensors."""

    def __init__(self, storages: Storages):
        self.storages = storages
        self.safe = safe_names()
        self.stack: list[Any] = []
        self.marks: list[int] = []  # how long the stack was
        self.memo: dict[int, Any] = {}
        self.copied = 0  # how much of the file's values has been copied: one of them may be used many times

    def read(self, file: IO[bytes]) -> Any:
        """Return the object; Damaged, or another ValueError, where the file, which is in memory, is not what `save` writes."""
        begin = file.tell()
        while code := file.read(1):
            op = INSTRUCTIONS.get(code.decode("latin-1"))
            if op is None:
                raise Damaged(f"the instruction {code!r}, which has no place in a file of tensors")
            value = two_lines(file) if op.name == "GLOBAL" else op.arg.reader(file) if op.arg else None
            if op.name == "STOP":
                need(len(self.stack) == 1 and not self.marks, "an end with something left over")
                return without_names(self.finished(self.stack[0]))
            self.follow(op.name, value)
            need(self.copied <= 16 * (file.tell() - begin) + 1_000_000, "a value that is copied over and over")
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
        need(self.stack and type(self.stack[-1]) in DICTS and len(values) % 2 == 0, "no dictionary to add to")
        self.stack[-1].update(dict(zip(map(as_key, values[::2]), values[1::2], strict=True)))

    # ------------------------------------------------------------------ what is remembered
    def do_memoize(self) -> None:
        """Remember the last value."""
        self.do_binput(len(self.memo))

    def do_binput(self, key: int) -> None:
        """Remember the last value under a number."""
        need(self.stack and not (self.marks and self.marks[-1] == len(self.stack)), "nothing to remember")
        self.memo[key] = value = self.stack[-1]
        if isinstance(value, Unfinished):
            value.keys.append(key)

    do_long_binput = do_binput

    def do_binget(self, key: int) -> None:
        """Use a value once more."""
        self.stack.append(self.memo[key])

    do_long_binget = do_binget

    # ------------------------------------------------------------------ names, calls, states
    def do_global(self, parts: list) -> None:
        """Name a function or class, which stands in the instruction."""
        self.name(*parts)

    def do_stack_global(self) -> None:
        """Name a function or class by the last two texts."""
        self.name(*self.popped(2))

    def name(self, *parts: Any) -> None:
        """Put a function or class on the stack: a name, if it is not one of the user's."""
        for part in parts:
            need(isinstance(part, str) and part.replace(".", "_").isidentifier(), "a name that is no identifier")
        name = current_name(*parts)
        if name in UNLIKE:
            raise NotHere(UNLIKE[name])
        if not is_known(name) and name not in self.safe:
            raise Unknown(f"the name {name}, which stands for neither a tensor nor a plain container")
        self.stack.append(DTYPES.get(name) or (name if is_known(name) else self.safe[name]))

    def is_safe(self, value: Any) -> bool:
        """Return whether a value is a function or class that the user has called safe."""
        return any([value is known for known in self.safe.values()])

    def do_binpersid(self) -> None:
        """Use memory that is beside the pickle."""
        self.stack.append(self.storages.of(*self.popped(1)))

    def do_reduce(self) -> None:
        """Make a value of arguments."""
        name, args = self.popped(2)
        made = PYTHON.get(name) or MADE.get(name) if type(name) is Name else None
        function: Any = name if self.is_safe(name) else made
        need(function is not None, f"a call of {said(name)}")
        need(type(args) is tuple, "arguments that are none")
        self.copied += sum([len(a) for a in args if isinstance(a, (tuple, list, dict, bytes, str))])
        self.stack.append(function(*args))

    def do_newobj(self) -> None:
        """Make an object of a class that the user has called safe."""
        cls, args = self.popped(2)
        need(self.is_safe(cls) and isinstance(cls, type) and type(args) is tuple, f"an object of {said(cls)}")
        self.stack.append(cls.__new__(cls, *args))

    def do_build(self) -> None:
        """Finish a value: an array with its numbers, a dictionary with its attributes, an object of a safe class."""
        (state,) = self.popped(1)
        need(self.stack, "nothing to finish")
        value = self.stack[-1]
        if isinstance(value, Unfinished):
            need(type(state) is tuple, "an array without its numbers")
            self.copied += sum([len(part) for part in state if isinstance(part, (tuple, bytes))])
            self.stack[-1] = made = value.finish(*state)
            self.memo.update(dict.fromkeys(value.keys, made))
        elif type(value) is OrderedDict:
            need(type(state) is dict, "attributes of a dictionary that are none")
            for name in state:
                need(type(name) is str and not hasattr(OrderedDict, name), f"a dictionary's attribute {said(name)}")
            vars(value).update(state)
        else:
            need(self.is_safe(type(value)), "a state of something that has none")
            set_state(value, state)


def two_lines(file: IO[bytes]) -> list[str]:
    """Return what the instruction GLOBAL says; pickletools would look for escapes in it."""
    return [file.readline().removesuffix(b"\n").decode() for _ in range(2)]


def current_name(module: str, name: str) -> Name:
    """Return the name that a function or class has in this version of Python and NumPy."""
    return Name(RENAMED.get(module, module), name)


def is_known(name: Name) -> bool:
    """Return whether a file may have this name without anybody's leave."""
    return (
        any([name in table for table in (PYTHON, MADE, CLASSES, DTYPES, ARGUMENTS)]) or storage_dtype(name) is not None
    )


def set_state(value: Any, state: Any) -> None:
    """Give an object of a safe class its state, as pickle does."""
    if hasattr(value, "__setstate__"):
        value.__setstate__(state)
        return
    attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    vars(value).update(attributes or {})
    for name, held in (slots or {}).items():
        setattr(value, name, held)


def names_in(content: bytes) -> Iterator[Name]:
    """Give the names of functions and classes in a pickle, of which nothing is done."""
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
    op.code: op
    for op in pickletools.opcodes
    if op.name in {*VALUES, *CONSTANTS, *EMPTY, *TUPLES, *PASSED_OVER, "MARK", "STOP"}
    or hasattr(PickleReader, "do_" + op.name.lower())
}
