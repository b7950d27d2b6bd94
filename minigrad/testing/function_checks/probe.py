"""A subclass of the Function whose methods note their arguments, their results, and the tensors that they modify."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...arrays.dtypes import FLOATS
from .case import Case
from .library import Library
from .source_lines import METHODS


class MethodCall:
    """One call of a method: `args` without ctx, its result, and the tensors that it modified.

    `written` are the positions of modified arguments, `spoilt` those of modified saved tensors.
    """

    def __init__(self, library: Library, method: str, ctx: Any, args: tuple):
        self.library, self.method, self.ctx, self.args = library, method, ctx, args
        self.before = [self.state(a) for a in args]
        self.saved = list(ctx.saved_tensors) if method in ("backward", "vjp", "jvp") else []
        self.kept = [self.state(t) for t in self.saved]
        self.written: list[int] = []
        self.spoilt: list[int] = []
        self.returned: Any = None
        self.dirty: tuple = ()

    def state(self, value: Any) -> tuple | None:
        """Return a tensor's numbers and version."""
        if not isinstance(value, self.library.Tensor):
            return None
        return self.library.array(value), value._version

    def compare_arguments(self) -> None:
        """Compare numbers and versions with those before the call."""
        self.written = [k for k, v in enumerate(self.args) if changed(self.state(v), self.before[k])]
        self.spoilt = [k for k, t in enumerate(self.saved) if changed(self.state(t), self.kept[k])]


def changed(new: Any, old: Any) -> bool:
    """Return True if a tensor was modified."""
    return old is not None and (
        new[1] != old[1] or not np.array_equal(new[0], old[0], equal_nan=new[0].dtype in FLOATS)
    )


def probed(case: Case) -> tuple[Any, list[MethodCall]]:
    """Return the subclass, and the list that collects its calls."""
    calls: list[MethodCall] = []
    library, function = case.library, case.function

    def watched(name: str, method: Callable, has_ctx: bool) -> Callable:
        @functools.wraps(method)
        def run(*args: Any) -> Any:
            ctx, given = (args[0], args[1:]) if has_ctx else (None, args)
            call = MethodCall(library, name, ctx, given)
            calls.append(call)
            try:
                call.returned = method(*args)
            finally:
                call.compare_arguments()
            call.dirty = library.dirty(ctx) if name in ("forward", "setup_context") and ctx is not None else ()
            return call.returned

        return run

    names = [name for name in METHODS if name != "vmap" and library.owns(function, name)]
    names = [name for name in names if name != "vjp" or "backward" not in names]  # two names for one method
    own = {n: staticmethod(watched(n, getattr(function, n), n != "forward" or not case.separate)) for n in names}
    return type(function.__name__, (function,), own), calls
