"""A function as bytes, with everything that it needs to run in another process: `distributed.run` sends it to its ranks.

Pickle writes a function or class as the name of a module, which other processes cannot import if it is a notebook's cell or the
program itself. cloudpickle, a part of Numba, writes these by value: their code, and what their global names stand for. The
text of code that is in no file goes with them, so that messages and tracebacks of the ranks show its lines.
"""

from __future__ import annotations

import inspect
import io
import linecache
import os
import pickle
import sys
from types import CodeType, FunctionType
from typing import Any

from ..errors import error
from ..places import cell_name

WHO = "distributed.run"


def packed(function: Any, args: tuple) -> bytes:
    """Return a function and its arguments as bytes.  Raises TypeError for objects that cannot be sent."""
    try:
        content, classes, texts = dumped((function, args))
    except Exception as e:
        raise refusal(e, function, args) from e
    return pickle.dumps((sys.path, texts)) + content + classes


def unpacked(content: bytes) -> tuple[Any, tuple]:
    """Return the function and its arguments; results may be objects of its classes, which pickle looks up in `__main__`."""
    stream = io.BytesIO(content)
    sys.path[:], texts = pickle.load(stream)
    for file, lines in texts.items():
        linecache.cache[file] = (sum(map(len, lines)), None, lines, file)
    unpickler = pickle.Unpickler(stream)
    found = unpickler.load()
    vars(sys.modules["__main__"]).update(unpickler.load())
    return found


def dumped(obj: Any) -> tuple[bytes, bytes, dict[str, list[str]]]:
    """Return an object as bytes, the classes of `__main__` in it by name, also as bytes, and the lines of code in no file."""
    from numba import cloudpickle  # takes as long to import as Numba itself

    classes: dict[str, type] = {}
    texts: dict[str, list[str]] = {}

    class Packer(cloudpickle.CloudPickler):
        def reducer_override(self, obj: Any) -> Any:
            if isinstance(obj, CodeType):
                cell = cell_name(file := obj.co_filename)
                if cell or not os.path.exists(file):
                    texts[cell or file] = linecache.getlines(file)
                    return self.dispatch_table[CodeType](obj.replace(co_filename=cell or file))
            if isinstance(obj, type) and obj.__module__ == "__main__":
                classes[obj.__qualname__] = obj
            return super().reducer_override(obj)

    stream = io.BytesIO()
    packer = Packer(stream)
    packer.dump(obj)
    end = stream.tell()
    packer.dump(dict(classes))
    return stream.getvalue()[:end], stream.getvalue()[end:], texts


def refusal(e: Exception, function: Any, args: tuple) -> Exception:
    """Return the error for an object that cannot be sent, with the name that the function uses for it."""
    called, plain = getattr(function, "__name__", str(function)), inspect.unwrap(function)
    candidates = [(f"argument {i} of {called} is {type(a).__name__}", a) for i, a in enumerate(args)]
    if isinstance(plain, FunctionType):
        names = inspect.getclosurevars(plain)
        candidates += [(f"{called} uses {name}", value) for name, value in {**names.nonlocals, **names.globals}.items()]
    for words, value in candidates:
        try:
            dumped(value)
        except Exception as why:
            fix = "make it inside the function, or pass numbers, strings, tensors or modules to make it from"
            return error(TypeError, WHO, f"{words}, which cannot be sent to other processes: {first(why)}", fix)
    return error(TypeError, WHO, f"{called} cannot be sent to other processes: {first(e)}", "define it by def")


def first(e: BaseException) -> str:
    """Return the first line of an exception's message."""
    return f"{e}".partition("\n")[0]
