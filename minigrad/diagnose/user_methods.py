"""Call the methods that users write: check what they return, and have a failed call explained (method_errors.py).

All explanations are made after a failure: a call that succeeds pays nothing.  The first forward of a Function runs in a
CaptureGuard, a transparent layer that warns about captured tensors: forward runs with gradients and tangents off, so those of
a tracked tensor that is not an input would be lost silently.  A forward that uses no_grad itself, as for checkpointing, loses
them on purpose.  In debug mode the guard also follows the tensors that forward computes from its inputs: if one is saved,
second derivatives miss the part that goes through it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from enum import Enum
from functools import partial
from types import CodeType, FunctionType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

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
from ..errors import MinigradError, error, warn
from ..events import intercept, unheard
from ..places import Place, return_of, user_place, users_code
from ..tensors.nested import tensors_in
from . import debug, gradient_checks
from .ctx import METHODS, PROTOCOL, check_before_backward, check_class, check_names, checks, unmarked
from .function_text import note_dtypes
from .leaves import Foreign
from .method_errors import call_of, explained, foreign
from .report import counted, described


def call_method(cls: type[Function], name: str, *args: Any) -> Any:
    """Call one of the user's methods, and explain its errors with the Function's name, numbers and a fix."""
    method = getattr(cls, name)
    if name == "forward" and getattr(method, "guard", None) is method:
        method = method.plain
    run = method if intercept.method is unheard else intercept.method(cls, name, method)
    checked = CHECKED_CALLS.get(name)
    try:
        return run(*args) if checked is None else checked(cls, run, args)
    except Foreign as e:
        raise foreign(cls, name, e) from None
    except (TypeError, AttributeError, ValueError, IndexError, NameError) as e:
        if isinstance(e, MinigradError) or (better := explained(cls, name, method, args, e)) is None:
            raise
        try:
            raise better.with_traceback(e.__traceback__) from None
        finally:
            del better  # as in raise_instead


def call_backward(cls: type[Function], run: Callable, args: tuple) -> Any:
    """Call a backward, and check its results and its incoming gradients."""
    node, *gs = args
    if checks.table:
        for check in checks.get(node) or ():
            check()
    marks = [debug.fingerprint(plain_tensor(g)._a) if g is not None else 0 for g in gs] if debug.mode.on else ()
    outs = run(*args)
    gradient_checks.check_gradients(node, gs, outs)
    for i, (g, mark) in enumerate(zip(gs, marks)):
        if g is not None and debug.fingerprint(plain_tensor(g)._a) != mark:
            raise gradient_checks.written(node, i, g)
    return outs


def call_setup_context(cls: type[Function], run: Callable, args: tuple) -> Any:
    """Call a setup_context, and warn if it returns tensors or the ctx."""
    value = run(*args)
    if value is not None and (value is args[0] or next(tensors_in(value), None) is not None):
        warn(
            "setup-context-returns",
            f"{cls.__name__}.setup_context",
            f"returns a {type(value).__name__}, which is ignored: setup_context only stores values for backward on the ctx",
            "omit the return; save tensors with ctx.save_for_backward(...), and other values as attributes: ctx.n = n",
            notes=return_of(cls.setup_context),
        )


def call_jvp(cls: type[Function], run: Callable, args: tuple) -> Any:
    """Call a jvp, and check its results."""
    result = run(*args)
    gradient_checks.check_tangents(cls, args[0], args[1:], result)
    return result


CHECKED_CALLS = {"backward": call_backward, "setup_context": call_setup_context, "jvp": call_jvp}


def name_of_running_method() -> str:
    """Return the name of the running user's method, as "Square.forward"; "" outside of all."""
    codes, classes = {}, [Function]
    for cls in classes:  # grows while it is iterated over
        classes += cls.__subclasses__()
        codes |= {users_code(vars(cls)[name]): f"{cls.__name__}.{name}" for name in METHODS if name in vars(cls)}
    frame = inspect.currentframe()
    while frame is not None and frame.f_code not in codes:
        frame = frame.f_back
    return "" if frame is None else codes[frame.f_code]


# ---------------------------------------------------------------------- forward called instead of apply
def guarded(cls: type[Function], forward: Any) -> Any:
    """Return a forward that explains direct calls; `apply` calls `plain`, the user's own."""

    @functools.wraps(forward)
    def direct(*args: Any, **kwargs: Any) -> Any:
        who = f"{cls.__name__}.forward"
        if not cls.combined:
            note_bypass(cls, args)
            return forward(*args, **kwargs)
        if args and isinstance(args[0], Tensor):
            raise error(
                TypeError,
                who,
                f"is called directly, with {counted(len(args), 'argument')}, and gets a tensor of shape "
                f"{tuple(args[0].shape)} instead of the ctx, which apply makes",
                call_of(cls),
            )
        try:
            return forward(*args, **kwargs)
        except AttributeError as e:
            if isinstance(e, MinigradError) or not args or e.obj is not args[0] or e.name not in PROTOCOL:
                raise
            what = f"is called directly, with {described(args[0])} instead of the ctx, and reads {e.name} from it"
            raise error(AttributeError, who, what, call_of(cls)) from None

    direct.plain, direct.guard = forward, direct  # type: ignore[attr-defined]
    return direct


def guard_forward(cls: Any) -> None:
    """Guard a class's forward against direct calls; one that is not a plain or static method stays unchanged."""
    own = next(vars(base)["forward"] for base in cls.__mro__ if "forward" in vars(base))
    f = own.__func__ if isinstance(own, staticmethod) else own
    if inspect.isfunction(f) and f is not Function.__dict__["forward"].__func__:
        direct = guarded(cls, own_forward(f))
        cls.forward = staticmethod(direct) if isinstance(own, staticmethod) else direct


def own_forward(forward: Any) -> Any:
    """Return the user's own forward; a user's decorator may have copied the attributes of `direct` to its wrapper."""
    return forward.plain if getattr(forward, "guard", None) is forward else forward


def note_bypass(cls: type[Function], args: tuple) -> None:
    """Warn in debug mode about a direct call of forward with arguments that require grad."""
    if debug.mode.on and current().grad and any(isinstance(a, Tensor) and history(a) is not None for a in args):
        warn(
            "forward-called",
            f"{cls.__name__}.forward",
            "is called directly on a tensor that requires grad: minigrad records its operations one by one and never calls "
            "the class's backward",
            call_of(cls),
        )


MADE = ("Node", "combined")  # attributes that a class gets when it is defined
CONSTANTS = (bool, int, float, complex, str, bytes, type(None), type, ModuleType, Enum)
# by the code of forward: the methods' names and codes, of classes that have run
checked: WeakKeyDictionary[CodeType, set[frozenset]] = WeakKeyDictionary()


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


def is_repeated(cls: Any) -> bool:
    """Return True if a class with the same methods has run before: a function may define the class at each call.

    Methods that close over something that can hold a tensor are not the same.
    """
    own = {name: getattr(f, "__func__", f) for name, f in vars(cls).items() if name[0] != "_" and name not in MADE}
    methods = {name: own_forward(f) for name, f in own.items() if isinstance(f, FunctionType)}
    held = [value for f in methods.values() for value in held_by(f)]
    held += [value for name, value in own.items() if name not in methods]
    if cls.__bases__ != (Function,) or "forward" not in methods or not all(map(is_plain, held)):
        return False
    codes = frozenset([(name, f.__code__) for name, f in methods.items()])
    known = checked.setdefault(methods["forward"].__code__, set())
    repeated = codes in known
    known.add(codes)
    return repeated


def held_by(f: FunctionType) -> list:
    """Return the values in which a function can differ from others with its code."""
    try:
        cells = [cell.cell_contents for cell in f.__closure__ or ()]
    except ValueError:  # a name without a value yet
        return [f]
    return [*cells, *(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()]


def is_plain(value: Any) -> bool:
    """Return True if no tensor can be reached through a value."""
    if type(value) is tuple:
        return all(map(is_plain, value))
    alone = isinstance(value, FunctionType) and not (value.__closure__ or value.__defaults__ or value.__kwdefaults__)
    return alone or isinstance(value, CONSTANTS)


def run_forward(frame: Frame, ctx: Ctx, args: tuple) -> Any:
    """Run a user's forward, under a CaptureGuard the first time, inside transforms and in debug mode."""
    cls: Any = ctx._fn
    first, plain = not cls._checked, frame is ON or frame is OFF
    if not first and (plain or current() is frame and not debug.mode.on):
        return run_plain(frame, ctx, args)
    if first:
        cls._checked = True
        if plain and not debug.mode.on and is_repeated(cls):
            returned = run_plain(frame, ctx, args)
            note_dtypes(cls, as_tuple(returned))
            return returned
        check_names(cls)
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
