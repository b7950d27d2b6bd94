"""Who sees the calls of a PyTorch program: a TorchFunctionMode those of functions and methods, a patch those of Functions.

`Function.apply` does not go through the mode.  While anything is recorded, its base class has an `apply` that asks first
whether this thread is recording; so it does not matter if a program has bound `f = MyFunction.apply` long ago.
"""

# pyright: reportMissingImports=false, reportAttributeAccessIssue=false, reportPrivateImportUsage=false

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch.autograd.function import _SingleLevelFunction
from torch.overrides import TorchFunctionMode


class Running(threading.local):
    """The recordings of each thread, the innermost last: it alone sees the calls."""

    def __init__(self):
        self.recorders: list[Any] = []


RUNNING = Running()
LOCK = threading.Lock()
REPLACED: list[tuple] = []  # while there are any: (class, name of a method, what the class itself had there)
everywhere = 0  # recordings, in all threads


class Calls(TorchFunctionMode):
    """Hands each call to the recorder."""

    def __init__(self, recorder: Any):
        super().__init__()
        self.recorder = recorder

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        return self.recorder.asked(func, args, kwargs or {}) if sees(self.recorder) else func(*args, **(kwargs or {}))


def sees(recorder: Any) -> bool:
    """Whether a call belongs to this recording: not if it is made inside another call, or by an inner recording."""
    return RUNNING.recorders[-1:] == [recorder] and not recorder.passes_by()


def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """What `Function.apply` comes to where no transform is."""

    def run(*args: Any, **kwargs: Any) -> Any:
        return super(_SingleLevelFunction, cls).apply(*args, **kwargs)

    recorder = RUNNING.recorders[-1] if RUNNING.recorders else None
    if recorder is None or recorder.passes_by():
        return run(*args, **kwargs)
    return recorder.call(run, cls.__name__, args, kwargs, cls)


@contextmanager
def watching(recorder: Any) -> Iterator[None]:
    """Hand what this thread calls to the recorder."""
    global everywhere
    with LOCK:
        everywhere += 1
        _SingleLevelFunction.apply = classmethod(apply)
    RUNNING.recorders.append(recorder)
    try:
        with uncompiled(), Calls(recorder):
            yield
    finally:
        RUNNING.recorders.remove(recorder)
        with LOCK:
            everywhere -= 1
            if not everywhere:
                del _SingleLevelFunction.apply
                put_back()


def put_back() -> None:
    """Give classes the methods that they had."""
    while REPLACED:
        cls, name, before = REPLACED.pop()
        if before is None:
            delattr(cls, name)
        else:
            setattr(cls, name, before)


def uncompiled() -> AbstractContextManager:
    """What torch.compile has made runs as it was written, or nothing of it could be seen."""
    return torch.compiler.set_stance("force_eager") if "torch._dynamo" in sys.modules else nullcontext()
