"""Runs kernels without a GPU, thread by thread, and says which of them reads or writes where it must not.

It takes over from Numba's simulator where the process was started with NUMBA_ENABLE_CUDASIM=1, whose fake module it keeps.
Numba's starts a thread of the operating system for every thread of a grid; here (block.py) one loop runs them all.
Arrays are NumPy's, and the kernels' text is run as it is: what a kernel computes is what it would compute on a GPU, in
another order.
"""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import linecache
import math
import os
import textwrap
import threading
from collections.abc import Callable
from types import ModuleType, TracebackType
from typing import Any

import numpy as np

from ...errors import error
from .block import Block, Divergence
from .generators import waiting

SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")
MOST_THREADS = 1024  # of a block
_one_at_a_time = threading.Lock()  # the fake module speaks for one launch


@functools.cache
def fake() -> Any:
    """The module that kernels see as `cuda`."""
    from .fake import FakeCuda

    return FakeCuda()


def prepare(module: ModuleType, source: str | None = None) -> None:
    """Make the kernels and device functions of a module that has been executed plain functions over the fake `cuda`.

    Those that wait at barriers become generators, for which the text is needed: it is read from `module.__file__`.
    """
    from numba import cuda
    from numba.cuda.simulator.kernel import FakeCUDAKernel

    from .fake import Math, ieee

    file, names = getattr(module, "__file__", None) or module.__name__, vars(module)
    source = source or "".join(linecache.getlines(file))
    if not source:
        raise error(
            ValueError, "prepare", f"the text of {module.__name__} is not in {file}", "pass it as the second argument"
        )
    linecache.cache.setdefault(file, (len(source), None, source.splitlines(True), file))  # errors quote it
    exec(compile(waiting(source, names), file, "exec"), names)
    for name, value in list(names.items()):
        if isinstance(value, FakeCUDAKernel):
            names[name] = value.fn
        elif value is cuda:
            names[name] = fake()
        elif value is math:
            names[name] = Math()
        elif inspect.isbuiltin(value) and value.__module__ == "math":
            names[name] = ieee(value.__name__)


def run(function: Callable, grid: Any, block: Any, args: Any) -> None:
    """Run a kernel of a prepared module for every thread of a grid, block after block."""
    who = f"kernel {function.__name__}"
    grid, block = three(who, "grid", grid), three(who, "block", block)
    if math.prod(block) > MOST_THREADS:
        raise error(ValueError, who, f"a block of {block} has {math.prod(block)} threads, and may have {MOST_THREADS}",
                    "launch smaller blocks, and more of them")  # fmt: skip
    from .fake import indices

    cuda, size = fake(), math.prod(block)
    with _one_at_a_time, np.errstate(all="ignore"):
        cuda.configure(grid, block)
        try:
            for cuda.blockIdx in indices(grid):
                cuda.block = Block(size, function, tuple(args), cuda.become)
                cuda.block.run()
        except Exception as e:
            raise explained(e, function, args, tuple(cuda.threadIdx), tuple(cuda.blockIdx)) from None
        finally:
            cuda.block = None  # holds the arrays


def three(who: str, what: str, sizes: Any) -> tuple[int, int, int]:
    """The three sizes of a grid or a block, of which the last may be left out."""
    given = tuple(sizes) if isinstance(sizes, (tuple, list)) else (sizes,)
    if not 1 <= len(given) <= 3 or not all(isinstance(n, (int, np.integer)) and n > 0 for n in given):
        raise error(ValueError, who, f"a {what} of {sizes!r} is no size", "pass one to three positive ints")
    return (*map(int, given), 1, 1)[:3]  # type: ignore[return-value]


# ---------------------------------------------------------------------- what went wrong
def explained(e: BaseException, function: Callable, args: Any, thread: tuple, block: tuple) -> BaseException:
    """The error to raise for what a thread has raised."""
    who, at = f"kernel {function.__name__}", f"thread {thread} of block {block}"
    if isinstance(e, Divergence):
        return error(RuntimeError, who, f"the threads of block {block} wait for each other for ever: {e}",
                     "let all threads of a block, or all that a mask names, reach the same barrier")  # fmt: skip
    found = outside(e) if isinstance(e, IndexError) else None
    if found is None:
        e.add_note(f"{who}: {at}")
        return e
    does, array, index, name = found
    named = dict(zip(inspect.signature(function).parameters, args))
    name = next((own for own, arg in named.items() if arg is array), name)
    inside = index if isinstance(index, tuple) else (index,)
    shown = f"{name}[{', '.join(map(str, inside))}]"
    has = f"which has {array.size} elements (0 to {array.size - 1})" if array.ndim == 1 else f"of shape {array.shape}"
    return error(IndexError, who, f"{at} {does} {shown}, {has}", "let threads beyond the end return, or launch fewer")


def outside(e: BaseException) -> tuple[str, Any, Any, str] | None:
    """What an IndexError is about: what was done, the array, the index, and the text of the array."""
    from .fake import Outside

    if isinstance(e, Outside):
        return e.does, e.array, e.index, "an array"
    at = innermost(e.__traceback__)
    code, instruction = at.tb_frame.f_code, at.tb_lasti
    line, end_line, column, end = list(code.co_positions())[instruction // 2]
    text = linecache.getline(code.co_filename, line or 0)
    if not text or line != end_line:
        return None
    try:
        node = ast.parse(textwrap.dedent(text.encode()[column:end].decode()), mode="eval").body
    except SyntaxError:
        return None
    if not isinstance(node, ast.Subscript):
        return None
    names = {**at.tb_frame.f_globals, **at.tb_frame.f_locals}
    array, index = eval(ast.unparse(node.value), names), eval(f"({ast.unparse(node.slice)})", names)
    does = "writes" if dis.opname[code.co_code[instruction]].startswith("STORE") else "reads"
    return (does, array, index, ast.unparse(node.value)) if isinstance(array, np.ndarray) else None


def innermost(tb: TracebackType | None) -> TracebackType:
    """Where an exception was raised."""
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    assert tb is not None
    return tb
