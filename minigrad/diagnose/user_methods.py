"""Call the methods that users write: check what they return, and have a failed call explained (method_errors.py).

All explanations are made after a failure: a call that succeeds pays nothing.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ..core.frames import current
from ..core.function import Function
from ..core.graph import history
from ..core.saved import plain_tensor
from ..core.tensor import Tensor
from ..errors import MinigradError, error, warn
from ..events import intercept, unheard
from ..places import return_of, users_code
from ..tensors.nested import tensors_in
from . import debug, gradient_checks
from .ctx import PROTOCOL, checks
from .leaves import Foreign
from .method_errors import call_of, explained, foreign
from .missing_methods import METHODS
from .wording import counted, described


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
            raise error(
                AttributeError,
                who,
                f"is called directly, with {described(args[0])} instead of the ctx, and reads {e.name} from it",
                call_of(cls),
            ) from None

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
