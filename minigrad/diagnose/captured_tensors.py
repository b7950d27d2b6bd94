"""The CaptureGuard: a transparent layer around a user's forward that warns about captured tensors.

forward runs with gradients and tangents off, so those of a tracked tensor that is not an input would be lost silently.
A forward that uses no_grad itself, as for checkpointing, loses them on purpose.  In debug mode the CaptureGuard also follows
the tensors that forward computes from its inputs: if one is saved, second derivatives miss the part that goes through it.
"""

from __future__ import annotations

import inspect
from functools import partial
from types import FunctionType
from typing import Any

from ..arrays.dtypes import FLOATS
from ..arrays.memory import storage
from ..core.context import Ctx, contains_identical, index_of_identical
from ..core.frames import OFF, ON, Frame, Layer, apply_at, current, use
from ..core.function import Function, as_tuple
from ..core.function import run_forward as run_plain
from ..core.graph import history, producer
from ..core.inplace import inplace_at
from ..core.saved import next_number, plain_tensor
from ..core.tensor import Tensor
from ..errors import error, warn
from ..places import Place, user_place
from . import debug
from .ctx import check_before_backward, check_class, unmarked
from .cut_functions import note_dtypes
from .missing_methods import check_names


class CaptureGuard(Layer):
    """Layer that watches one call of a Function's forward."""

    name = "forward"

    def __init__(self, cls: type, inputs: tuple, needs: tuple, level: Any):
        self.cls, self.inputs, self.warned, self.start = cls, inputs, False, next_number()
        self.level = level  # the dual level around the call
        self.frame_id = 0  # of forward's frame outside any no_grad; a reference to the frame would be a cycle
        # tensors that depend on inputs that require grad, each with its operation and line (None for an input)
        self.derived: list[tuple[Tensor, str | None, Place | None]] = [
            (a, None, None) for a, n in zip(inputs, needs) if n
        ]

    def handles(self, fn: type, args: tuple) -> bool:
        """Return True: a guard sees every operation."""
        return True

    def process(self, frame: Frame, cls: Any, args: tuple) -> Any:
        """Check the arguments and pass the operation on."""
        self.check_arguments(frame, args)
        out = apply_at(frame.below(), cls, args)
        if debug.mode.on and has_slope(cls) and any([t is a for t, _, _ in self.derived for a in args]):
            outs = out if isinstance(out, tuple) else (out,)
            place = user_place()
            self.derived += [(o, cls.function_name(), place) for o in outs if o._np_dtype in FLOATS]
        return out

    def look_back(self, ctx: Ctx, outs: tuple, first: bool) -> None:
        """Check the class after its first forward; in debug mode check the saved tensors.

        A backward that is itself differentiated then warns about saved tensors that forward computed.
        """
        if first:
            check_class(self.cls, self.inputs, outs)
            note_dtypes(self.cls, outs)
        if not debug.mode.on:
            return
        for i, s in enumerate(ctx._saved):
            for t, name, place in self.derived:
                if s is t and name is not None and index_of_identical(s, outs) is None:
                    check = partial(missed, self.cls.__name__, i, tuple(t.shape), f"{name} at {place}")
                    check_before_backward(ctx, check)

    def inplace(self, frame: Frame, fn: Any, x: Tensor, others: tuple) -> Tensor:
        """Check the arguments of an in-place operation and pass it on."""
        self.check_arguments(frame, (x, *others))
        return inplace_at(frame.below(), fn, x, others)

    def check_arguments(self, frame: Frame, args: tuple) -> None:
        """Raise for tensors of a transform; warn about tracked tensors that are not inputs."""
        for a in args:
            if isinstance(a, Tensor) and a._layer is not None:
                raise error(
                    RuntimeError,
                    f"{self.cls.__name__}.forward",
                    f"uses a tensor of shape {tuple(a.shape)} of the running `{a._layer.name}` transform that is not one of "
                    "its inputs: its derivative would be lost",
                    f"pass it as an argument of {self.cls.__name__}.apply",
                )
        if not self.warned:
            for a in args:
                if isinstance(a, Tensor) and a._layer is None and not any(a is i for i in self.inputs):
                    self.check_tensor(frame, a)

    def check_tensor(self, frame: Frame, a: Tensor) -> None:
        """Warn if a, which is not an input, is tracked in eager mode; forward's own no_grad marks it as a constant."""
        edge = None if frame.grad or id(frame) != self.frame_id else history(a)
        if edge is not None and producer(edge)._seq < self.start:  # not made in this forward, under enable_grad
            self.warn(a, "requires grad", "gradient")
        elif self.level is not None and a._tan is not None and a._tan[0] is self.level and a._tan[1] is not None:
            self.warn(a, "has a tangent", "tangent")

    def warn(self, a: Tensor, tracked: str, lost: str) -> None:
        """Warn once for each call of forward."""
        self.warned = True
        warn(
            "captured-tensor",
            f"{self.cls.__name__}.forward",
            f"uses a tensor of shape {tuple(a.shape)} that {tracked} but is not one of its inputs: its {lost} is lost",
            f"pass it as an argument of {self.cls.__name__}.apply, or use its .detach()",
        )


def has_slope(cls: Any) -> bool:
    """Return True if a built-in operation has a derivative that is not always zero (sign and round do not)."""
    return cls.primitive and any([cls.reads[i] or f() != 0 for i, f in cls.formulas.items()])


def missed(who: str, i: int, shape: tuple, maker: str) -> None:
    """Warn about a saved tensor without history, before a backward that is itself differentiated."""
    if current().grad:
        warn(
            "saved-intermediate",
            f"{who}.backward",
            f"is being differentiated, but treats saved tensor {i} of shape {shape} as a constant: forward computed it from "
            f"the inputs without recording (made by {maker})",
            "save the inputs and recompute it in backward, or return it from forward as an output",
        )


def run_forward(frame: Frame, ctx: Ctx, args: tuple) -> Any:
    """Run a user's forward, under a CaptureGuard the first time, inside transforms and in debug mode."""
    cls: Any = ctx._fn
    new, plain = not cls._checked, frame is ON or frame is OFF
    if new and (code := code_of(cls)) is not None:
        cls._checked = code in checked
        checked.add(code)
    first = not cls._checked
    if not first and (plain or current() is frame and not debug.mode.on):
        returned = run_plain(frame, ctx, args)
        if new:
            note_dtypes(cls, as_tuple(returned))
        return returned
    if first:
        check_names(cls)
        cls._checked = True
    guard = CaptureGuard(cls, args, ctx._needs, frame.dual)
    watched = zip(args, ctx._needs) if debug.mode.on else ()
    marks = [debug.fingerprint(plain_tensor(a)._a) if need else None for a, need in watched]
    inside = Frame(guard, False, None, frame.inference, frame.but(grad=False, dual=None))
    guard.frame_id = id(inside)
    with use(frame):
        returned = run_plain(inside, ctx, args)
    guard.look_back(ctx, as_tuple(returned), first)
    for a, mark in zip(args, marks):
        if mark is not None and debug.fingerprint(plain_tensor(a)._a) != mark and not contains_identical(a, ctx._dirty):
            raise unmarked(ctx, args, a, "through NumPy or .data,", None, debug.lent(storage(plain_tensor(a)._a)))
    return returned


checked: set[tuple] = set()  # the code of classes that were checked: some programs make a class for each call


def code_of(cls: type) -> tuple | None:
    """Return what identifies a class that is made again by the same lines; None if it needs its own checks.

    It does if its methods close over a tensor that requires grad, whose gradient would be lost.
    """
    if cls.__bases__ != (Function,):
        return None
    methods = {n: inspect.unwrap(getattr(f, "__func__", f)) for n, f in vars(cls).items() if callable(f)}
    plain = {n: f for n, f in methods.items() if isinstance(f, FunctionType)}
    for f in plain.values():
        for cell in f.__closure__ or ():
            try:
                value = cell.cell_contents
            except ValueError:  # not yet assigned
                continue
            if isinstance(value, Tensor) and value.requires_grad:
                return None
    return tuple([(n, f.__code__) for n, f in plain.items()])
