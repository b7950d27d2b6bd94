"""Runs kernels without a GPU, thread by thread, and reports threads that read or write outside of arrays.

It replaces Numba's simulator if the process was started with NUMBA_ENABLE_CUDASIM=1, but keeps its fake module. Numba's
starts an operating system thread for every thread of a grid; here one loop runs them all (block.py). Arrays are NumPy's, and
the kernels' text runs unchanged: a kernel computes the same as on a GPU, in another order.
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
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import error
from . import watch
from .barriers import waiting
from .block import Divergence, ThreadBlock

if TYPE_CHECKING:
    from .fake import OutsideAccess

SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")
# blocks of few threads, because each thread costs time
SMALL = SIMULATED and os.environ.get("MINIGRAD_CUDA_BLOCKS") != "full"
MOST_THREADS = 1024  # of a block
_one_at_a_time = threading.Lock()  # the fake module represents one launch


@functools.cache
def fake() -> Any:
    """Return the module that kernels see as `cuda`."""
    from .fake import FakeCuda

    return FakeCuda()


def prepare(module: ModuleType, source: str | None = None) -> None:
    """Turn the kernels and device functions of an executed module into plain functions over the fake `cuda`.

    Functions that wait at barriers become generators, which needs the text: it is read from `module.__file__`.
    """
    file, names = getattr(module, "__file__", None) or module.__name__, vars(module)
    source = source or "".join(linecache.getlines(file))
    if not source:
        raise error(
            ValueError, "prepare", f"the text of {module.__name__} is not in {file}", "pass it as the second argument"
        )
    linecache.cache.setdefault(file, (len(source), None, source.splitlines(True), file))  # errors quote it
    exec(compile(waiting(source, names), file, "exec"), names)
    for name, value in list(names.items()):
        names[name] = stand_in(value, lambda function: function)


def simulated(function: Callable) -> Callable:
    """Return a program's function as a kernel of the simulator: its text, with the current values of its names."""
    lines, first = inspect.getsourcelines(function)
    used = inspect.getclosurevars(function)
    names = {**function.__globals__, **used.nonlocals}
    names |= {name: stand_in(value, simulated) for name, value in {**used.globals, **used.nonlocals}.items()}
    tree = waiting("\n" * (first - 1) + textwrap.dedent("".join(lines)), names)
    tree.body[0].decorator_list = []  # type: ignore[attr-defined]
    indent = len(lines[0]) - len(lines[0].lstrip())
    for node in ast.walk(tree):  # errors quote the lines as they are in the program
        if indent and isinstance(node, (ast.stmt, ast.expr)):
            node.col_offset, node.end_col_offset = node.col_offset + indent, (node.end_col_offset or 0) + indent
    exec(compile(tree, function.__code__.co_filename, "exec"), names)
    return names[function.__name__]


def stand_in(value: Any, own: Callable) -> Any:
    """Return a name's value in a simulated kernel from its value outside; `own` turns Numba's kernels into functions."""
    from numba import cuda
    from numba.cuda.simulator.kernel import FakeCUDAKernel

    from .fake import gpu_math

    if isinstance(value, FakeCUDAKernel):
        return own(value.fn)
    if value is cuda:
        return fake()
    if value is math:
        return gpu_math()
    known = inspect.isbuiltin(value) and value.__module__ == "math"
    return getattr(gpu_math(), value.__name__) if known else value


def run(function: Callable, grid: Any, block: Any, args: Any) -> None:
    """Run a kernel of a prepared module for every thread of a grid, block after block."""
    who = f"kernel {function.__name__}"
    grid, block = three(who, "grid", grid), three(who, "block", block)
    most, *_ = function.__globals__.get("LAUNCH_BOUNDS", {}).get(function.__name__, (MOST_THREADS,))
    if math.prod(block) > most:
        raise error(ValueError, who, f"a block of {block} has {math.prod(block)} threads, the limit is {most}",
                    "launch smaller blocks, and more of them")  # fmt: skip
    from .fake import indices

    cuda, size = fake(), math.prod(block)
    with _one_at_a_time, np.errstate(all="ignore"):
        cuda.configure(grid, block)
        cuda.launch = launch = watch.begun(function.__name__, grid, block, cuda)
        given = args if launch is None else watched(launch, function, args)
        try:
            for cuda.blockIdx in indices(grid):
                if launch is not None:
                    launch.enter()
                cuda.block = ThreadBlock(size, function, tuple(given), cuda.act_as, launch and launch.met)
                cuda.block.run()
        except Exception as e:
            raise explained(e, function, args, cuda) from None
        finally:
            cuda.block = cuda.launch = None  # they hold the arrays


def watched(launch: watch.Launch, function: Callable, args: Any) -> list:
    """Return the arguments of a launch, with arrays that record accesses."""
    named = zip(inspect.signature(function).parameters, args)
    return [launch.watched(name, arg) if isinstance(arg, np.ndarray) else arg for name, arg in named]


def three(who: str, what: str, sizes: Any) -> tuple[int, int, int]:
    """Return the three sizes of a grid or a block; missing ones are 1."""
    given = tuple(sizes) if isinstance(sizes, (tuple, list)) else (sizes,)
    if not 1 <= len(given) <= 3 or not all(isinstance(n, (int, np.integer)) and n > 0 for n in given):
        raise error(ValueError, who, f"a {what} of {sizes!r} is not a size", "pass one to three positive ints")
    return (*map(int, given), 1, 1)[:3]  # type: ignore[return-value]


# ---------------------------------------------------------------------- errors
def explained(e: BaseException, function: Callable, args: Any, cuda: Any) -> BaseException:
    """Return the error to raise for an exception of the current thread."""
    who, block, thread = f"kernel {function.__name__}", tuple(cuda.blockIdx), tuple(cuda.threadIdx)
    if isinstance(e, Divergence):
        return error(RuntimeError, who, f"the threads of block {block} wait for each other forever: {e}",
                     "let all threads of a block, or all in a mask, reach the same barrier")  # fmt: skip
    found = outside(e) if isinstance(e, IndexError) else None
    if found is None:
        e.add_note(f"{who}: thread {thread} of block {block}")
        return e
    named = zip(inspect.signature(function).parameters, args)
    name = next((own for own, arg in named if arg is found.array), found.name)
    given = found.index if isinstance(found.index, tuple) else (found.index,)
    index = tuple(i if isinstance(i, slice) else int(i) for i in given)
    miss = watch.Miss(found.does, name, index, found.array.shape, block, thread)
    if cuda.launch is not None:
        cuda.launch.outside.append(miss)
    return error(IndexError, who, str(miss), "let threads beyond the end return, or launch fewer")


def outside(e: BaseException) -> OutsideAccess | None:
    """Return the access behind an IndexError; NumPy names neither array nor index, so both come from the line that raised."""
    from .fake import OutsideAccess

    if isinstance(e, OutsideAccess):
        return e
    at = e.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    assert at is not None
    code, instruction = at.tb_frame.f_code, at.tb_lasti
    line, end_line, column, end = list(code.co_positions())[instruction // 2]
    text = linecache.getline(code.co_filename, line or 0)
    if not text or line != end_line:
        return None
    node = ast.parse(text.encode()[column:end].decode().strip(), mode="eval").body
    if not isinstance(node, ast.Subscript):
        return None
    names = {**at.tb_frame.f_globals, **at.tb_frame.f_locals}
    array, index = eval(ast.unparse(node.value), names), eval(f"({ast.unparse(node.slice)})", names)
    does = "writes" if dis.opname[code.co_code[instruction]].startswith("STORE") else "reads"
    return OutsideAccess(does, array, index, ast.unparse(node.value)) if isinstance(array, np.ndarray) else None
