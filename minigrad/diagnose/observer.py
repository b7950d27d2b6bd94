"""The observer of debug mode and anomaly detection: it takes the notes that are too expensive to take always."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays.memory import storage
from ..core.frames import Frame, current, enter
from ..core.saved import Saved, plain_tensor
from ..core.tensor import Tensor
from ..errors import warn
from ..events import Interceptor, Observer
from ..places import user_place
from . import debug, detached, first_backward, modules, nan, user_methods
from .debug import Lent, anomaly, mode
from .inplace_writes import DataVersion
from .report import Notes
from .saved_tensors import modified_unseen

OUTPUTS = ("affine", "linear", "matmul", "mm", "addmm", "add", "sigmoid", "tanh", "relu", "exp", "softplus", "prelu")


def check_operation(cls: Any, args: tuple, outs: tuple) -> None:
    """Check an operation that has just run on plain tensors."""
    if cls.function_name() in ("add", "sub", "mul"):
        overflow(cls, args, outs[0])
    if cls.function_name() == "sub" and all([isinstance(a, Tensor) for a in args]):
        column(args, outs[0])


def overflow(cls: Any, args: tuple, out: Tensor) -> None:
    """Warn if integers overflow their dtype."""
    if out._np_dtype.kind not in "iu" or out.itemsize == 8:
        return
    exact = cls.compute(*[a._a.astype(np.int64) if isinstance(a, Tensor) else a for a in args])
    wrong = int((exact != out._a).sum())
    if wrong:
        warn(
            "integer-overflow",
            cls.function_name(),
            f"{wrong} of {out.numel()} elements overflow {out.dtype} and wrap around",
            "convert before computing: x.int() or x.float()",
        )


def column(args: tuple, out: Tensor) -> None:
    """Warn if a model's output, a column, is subtracted from a row of data."""
    x, y = args if args[0].ndim == 2 else args[::-1]
    sizes = tuple(x.shape), tuple(y.shape)
    if sizes[0] != (*sizes[1], 1) or sizes[1] in ((), (1,)) or x._edge is None or y._edge is not None:
        return
    name = debug.made_by(x)
    if x._view is None and name in OUTPUTS:
        warn(
            "broadcast-column",
            "sub",
            f"broadcasts a column of shape {sizes[0]} (made by {name}) and a row of shape {sizes[1]} to {tuple(out.shape)}",
            f"give both the same shape: x.squeeze(1) or y.reshape({list(x.shape)})",
            notes=[f"the column: {debug.origin(x)}"],
        )


fingerprints = Notes()  # saved tensor -> its fingerprint


class Watcher(Observer):
    """Observer of every operation while debug mode or anomaly detection is on."""

    def op_done(self, frame: Frame, cls: Any, args: tuple, outs: tuple, node: Any) -> None:
        """Note the operation of each result and the ends of histories; warn about suspicious calls."""
        name = cls.function_name() if cls.primitive else cls.__name__
        if mode.on:
            debug.note_origin(name, outs)
            detached.note(name, args, outs, frame.grad, node)
            if cls.primitive:
                check_operation(cls, args, outs)
        if anomaly.on and anomaly.nan and cls.primitive:
            nan.watch(name, args, outs, cls.elementwise)

    def node_made(self, node: Any) -> None:
        """Note the user's line."""
        if anomaly.on:
            node._trace = user_place()

    def saved(self, saved: Saved) -> None:
        """Note the fingerprint of a saved tensor."""
        if mode.on:
            fingerprints[saved] = debug.fingerprint(plain_tensor(saved.tensor)._a)

    def unpacked(self, saved: Saved, node: Any) -> None:
        """Raise if the contents of a saved tensor no longer match its fingerprint."""
        mark = fingerprints.get(saved)
        if mark is not None and mark != debug.fingerprint(plain_tensor(saved.tensor)._a):
            raise modified_unseen(node, saved)

    def flowed(self, node: Any, outs: tuple) -> None:
        """Raise if a gradient is NaN and anomaly detection checks for it."""
        if node._trace is not None and anomaly.nan:
            nan.check_nan(node, outs)


WATCHER = Watcher()


def switch(debugging: bool, on: bool, check_nan: bool) -> None:
    """Set the modes of this thread; the observer is active while one of them is on."""
    mode.on, anomaly.on, anomaly.nan = debugging, on, check_nan
    frame = current()
    if (debugging or on) != (WATCHER in frame.observers):
        enter(frame.observed(WATCHER, debugging or on))


class Diagnosis(Interceptor):
    """Observer and interceptor of the whole process: checks that cost nothing until something is wrong."""

    def defined(self, cls: Any) -> None:
        """Guard a new Function's forward against direct calls."""
        user_methods.guard_forward(cls)

    def forward(self, run: Callable) -> Callable:
        """Return the function that watches the first forward of each Function."""
        return user_methods.run_forward

    def lent(self, memory: Any, how: str) -> None:
        """Note that the user gets a tensor's memory, or makes a tensor on an array."""
        if not isinstance(memory, Tensor):
            if mode.on and not debug.lent(memory):
                debug.lend(memory, how)
            return
        if type(memory._ver) is Lent:
            memory._ver.exposed = True
        if mode.on:
            debug.lend(storage(memory._a), how)

    def counter(self, t: Tensor) -> DataVersion:
        """Count the writes to what `.data` gives."""
        return DataVersion(t._a)

    def detached(self, how: str, t: Any, out: Any) -> None:
        """Note that the user detaches a tensor from its history."""
        if mode.on and t._edge is not None and out is not t and t._layer is None:
            detached.note_cut(how, t, out)

    def origins(self, tensors: dict) -> list[str]:
        """Return lines that tell how tensors were made, as far as it is known."""
        return debug.made(tensors)

    def backward_begins(self, who: str, edges: list, wanted: set | None, **facts: Any) -> None:
        """Look for mistakes in the graph of a loss."""
        first_backward.backward_begins(who, edges, wanted, **facts)

    def dropped(self, who: str) -> None:
        """Warn about functional dropout in eval mode, once a module has been in it."""
        if modules.switched:
            modules.warn_dropped(who)

    def not_finite(self, who: str, what: str) -> None:
        """Remember the first operations that made infinities and NaN."""
        nan.noticed(who, what)


DIAGNOSIS = Diagnosis()
