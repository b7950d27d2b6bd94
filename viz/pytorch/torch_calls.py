"""Interception of a PyTorch program's calls: functions and methods by a TorchFunctionMode, custom Functions by a patch.

`Function.apply` bypasses the mode.  While a recording is active, its base class has an `apply` that first checks whether this
thread is recording; so even a program that bound `f = MyFunction.apply` long ago is recorded.  `torch.from_numpy` bypasses
it as well, and is replaced.  What a DataLoader does to make a batch is no part of the model, and is not recorded.
"""

# pyright: reportMissingImports=false, reportAttributeAccessIssue=false, reportPrivateImportUsage=false

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch.autograd.function import _SingleLevelFunction
from torch.overrides import TorchFunctionMode
from torch.utils.data.dataloader import _BaseDataLoaderIter

from .torch_words import tensors_in, where


class Running(threading.local):
    """The recordings of each thread, innermost last; only the innermost sees the calls."""

    def __init__(self):
        self.recorders: list[Any] = []
        self.fetching = False  # True while a DataLoader makes a batch

    @property
    def innermost(self) -> Any:
        """The recording that sees the calls, or None."""
        return self.recorders[-1] if self.recorders else None


RUNNING = Running()
LOCK = threading.Lock()
FROM_NUMPY, NEXT_BATCH = torch.from_numpy, _BaseDataLoaderIter.__next__
ENGINE = torch.autograd._engine_run_backward
REPLACED: list[tuple] = []  # patched methods: (class, name of a method, the class's own attribute before)
everywhere = 0  # number of active recordings, in all threads


class Calls(TorchFunctionMode):
    """Passes each call to the recorder."""

    def __init__(self, recorder: Any):
        super().__init__()
        self.recorder = recorder

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        if sees(self.recorder, (args, kwargs)):
            return self.recorder.asked(func, args, kwargs or {})
        out = func(*args, **(kwargs or {}))
        if self.recorder.paused and self.recorder.passed is not None and isinstance(out, torch.Tensor):
            self.recorder.passed()
        return out


def sees(recorder: Any, given: Any) -> bool:
    """Return True if a call belongs to this recording, not to another call, an inner recording or the making of a batch."""
    if RUNNING.fetching and not any(t.requires_grad for t in tensors_in(given)):
        return False
    return RUNNING.recorders[-1:] == [recorder] and not recorder.is_paused()


def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """Replace `Function.apply` outside all transforms: record the call if this thread is recording."""

    def run(*args: Any, **kwargs: Any) -> Any:
        return super(_SingleLevelFunction, cls).apply(*args, **kwargs)

    recorder = RUNNING.innermost
    if recorder is None or recorder.is_paused():
        return run(*args, **kwargs)
    return recorder.call(run, cls.__name__, args, kwargs, cls)


def from_numpy(*args: Any) -> Any:
    """Replace `torch.from_numpy`, which no mode sees: record the call if this thread is recording."""
    recorder = RUNNING.innermost
    if recorder is None or not sees(recorder, args):
        return FROM_NUMPY(*args)
    return recorder.asked(FROM_NUMPY, args, {})


def run_engine(roots: Any, grads: Any, keep: bool, create: bool, *more: Any, **others: Any) -> Any:
    """Replace the function through which PyTorch runs every backward: tell this thread's recording where it begins."""
    recorder = RUNNING.innermost
    if recorder is None or recorder.paused:
        return ENGINE(roots, grads, keep, create, *more, **others)
    with recorder.begins(roots, where(sys._getframe(1)), keep, create):
        return ENGINE(roots, grads, keep, create, *more, **others)


def next_batch(iterator: Any) -> Any:
    """Replace the method that returns the next batch: a recording does not see how it is made."""
    RUNNING.fetching = True
    try:
        return NEXT_BATCH(iterator)
    finally:
        RUNNING.fetching = False


PATCHES: tuple[tuple[Any, str, Callable], ...] = (
    (torch, "from_numpy", from_numpy),
    (torch.autograd, "_engine_run_backward", run_engine),
    (_BaseDataLoaderIter, "__next__", next_batch),
)


@contextmanager
def watching(recorder: Any) -> Iterator[None]:
    """Pass this thread's calls to the recorder."""
    global everywhere
    with LOCK:
        everywhere += 1
        for owner, name, instead in PATCHES if everywhere == 1 else ():
            REPLACED.append((owner, name, getattr(owner, name)))
            setattr(owner, name, instead)
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
                restore_methods()


def restore_methods() -> None:
    """Restore the patched methods of classes."""
    while REPLACED:
        cls, name, before = REPLACED.pop()
        if before is None:
            delattr(cls, name)
        else:
            setattr(cls, name, before)


def uncompiled() -> AbstractContextManager:
    """Run functions under torch.compile uncompiled: calls in compiled code are invisible."""
    return torch.compiler.set_stance("force_eager") if "torch._dynamo" in sys.modules else nullcontext()
