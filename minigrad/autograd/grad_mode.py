"""Switches for recording: no_grad, enable_grad, set_grad_enabled, inference_mode.

Each is a context manager and a decorator (also of generator functions), applies to the current thread or task only, and
acts on the whole chain of running transforms.
"""

from __future__ import annotations

import dis
import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any, Self, TypeVar, cast, overload

from ..core.frames import EAGER, OFF, ON, Frame, current, enter
from ..errors import error, warn
from ..places import Place

F = TypeVar("F", bound=Callable)


def restored(here: Frame, before: Frame) -> Frame:
    """Return the chain `here` with the gradient modes of the chain `before`."""
    if (here is ON or here is OFF) and (before is ON or before is OFF):
        return before
    parent = here.parent if here.parent is None or before.parent is None else restored(here.parent, before.parent)
    return here.but(grad=before.grad, asked=before.asked, inference=before.inference, parent=parent)


class Switch(type):
    """Metaclass of the modes; it raises if the parentheses are forgotten."""

    def __enter__(cls) -> None:
        name = cls.__name__
        what = f"uses the class itself: `with {name}:`"
        raise error(TypeError, name, what, f"call it: with minigrad.{name}():")

    def __exit__(cls, *_: object) -> None:
        """Do nothing; `with` looks it up before it calls __enter__."""


class ModeSwitch(metaclass=Switch):
    """A change of the current frame that can be entered, left and used as a decorator."""

    # __del__: warns about a mode that was never entered; after that a no-op in C, because Python drops a Ctrl-C during __del__
    # _first: the frame before a mode that acts at once | _olds: the frames before each `with`
    __slots__ = ("__del__", "__dict__", "_first", "_olds")
    _not_entered: Callable

    def __init_subclass__(cls) -> None:
        cls._not_entered = functools.partial(not_entered, cls.__name__)

    def __new__(cls, *_: object) -> Self:
        new: Any = super().__new__(cls)
        new.__del__, new._first, new._olds = cls._not_entered, None, []
        return new

    def change(self, frame: Any) -> Any:
        """Return the frame with this mode on."""
        raise NotImplementedError

    def __enter__(self) -> None:
        here = current()
        before, self._first, self.__del__ = self._first or here, None, tuple
        self._olds.append(before)
        try:
            enter(self.change(here))
        except BaseException:  # Ctrl-C may come between two instructions: here, before the body
            enter(before)
            raise

    def __exit__(self, *_: object) -> None:
        back = self._olds[-1]
        try:
            back = restored(current(), self._olds.pop())
        finally:
            enter(back)

    def run(self, f: Callable, *args: Any, **kwargs: Any) -> Any:
        """Call a function with the mode on.  Unlike in `with`, Ctrl-C cannot come between the function's end and the mode's."""
        back = here = current()
        try:
            enter(self.change(here))
            result = f(*args, **kwargs)
        finally:
            try:
                back = restored(current(), here)
            finally:
                enter(back)
        return result

    def __call__(self, f: F) -> F:
        if inspect.isclass(f):
            raise error(
                TypeError, type(self).__name__, f"cannot decorate the class {f.__name__}", "decorate its methods"
            )
        if inspect.isgeneratorfunction(f):
            return self._generator(f)

        @functools.wraps(f)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            return self.run(f, *args, **kwargs)

        return cast(F, wrapped)

    def _generator(self, f: Callable) -> Any:
        """Keep the mode on while the generator's own code runs, but not while its consumer's code runs."""

        @functools.wraps(f)
        def wrapped(*args: Any, **kwargs: Any):
            generator = self.run(f, *args, **kwargs)
            step, sent = generator.__next__, ()
            while True:
                try:
                    value = self.run(step, *sent)
                except StopIteration as stop:
                    return stop.value
                try:
                    step, sent = generator.send, ((yield value),)
                except GeneratorExit:
                    self.run(generator.close)
                    raise
                except BaseException as e:
                    step, sent = generator.throw, (e,)

        return wrapped


def not_entered(name: str) -> None:
    """Warn about a mode that is discarded before it acts."""
    if (frame := sys._getframe().f_back) is not None and discards_value(frame):
        warn(
            "mode-not-entered",
            name,
            "the switch is created but never entered, so it has no effect: use it in a `with` block or as a decorator",
            f"with minigrad.{name}():",
            Place(frame.f_code.co_filename, frame.f_lineno),
        )


def discards_value(frame: Any) -> bool:
    """Return True if a frame is just dropping the value of an expression statement."""
    code = frame.f_code.co_code
    return 0 <= frame.f_lasti < len(code) and dis.opname[code[frame.f_lasti]] == "POP_TOP"


class NoParentheses(ModeSwitch):
    """A mode that also works as a decorator without parentheses, `@no_grad`, as in PyTorch."""

    @overload
    def __new__(cls, f: None = None) -> Self: ...
    @overload
    def __new__(cls, f: F) -> F: ...
    def __new__(cls, f: Callable | None = None) -> Any:
        return super().__new__(cls) if f is None else cls()(f)


class no_grad(NoParentheses):
    """Record nothing: results do not require grad.

    >>> import minigrad
    >>> x = minigrad.ones(2, requires_grad=True)
    >>> with minigrad.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def change(self, frame: Any) -> Any:
        return frame.all_grad(False)


class enable_grad(NoParentheses):
    """Record again inside no_grad.  Inside inference_mode nothing is recorded, although is_grad_enabled() returns True.

    >>> import minigrad
    >>> x = minigrad.tensor(2., requires_grad=True)
    >>> with minigrad.no_grad(), minigrad.enable_grad():
    ...     y = x * x
    >>> y.requires_grad
    True
    """

    def change(self, frame: Any) -> Any:
        return frame.all_grad(True)


class set_grad_enabled(ModeSwitch):
    """Turn recording on or off by a flag; acts at once when called as a function.

    >>> import minigrad
    >>> x = minigrad.tensor(2., requires_grad=True)
    >>> with minigrad.set_grad_enabled(False):
    ...     y = x * x
    >>> y.requires_grad
    False
    """

    def __init__(self, mode: bool):
        if callable(mode):
            what = f"expected True or False, but got the function {getattr(mode, '__name__', mode)}"
            raise error(TypeError, "set_grad_enabled", what, "pass the flag: @minigrad.set_grad_enabled(False)")
        self.mode, self._first, self.__del__ = bool(mode), current(), tuple
        enter(self.change(self._first))

    def change(self, frame: Any) -> Any:
        return frame.all_grad(self.mode)

    def __call__(self, f: F) -> F:
        if self._first is not None:  # it acted when created; as a decorator it must act only inside f
            enter(restored(current(), self._first))
            self._first = None
        return super().__call__(f)


class inference_mode(ModeSwitch):
    """Record nothing, and create tensors that can never be recorded.  Cheaper than no_grad, and checked.

    Inside it, `inference_mode(False)` turns it off, and gradients on.

    >>> import minigrad
    >>> with minigrad.inference_mode():
    ...     y = minigrad.ones(2) * 2
    >>> y.is_inference()
    True
    """

    @overload
    def __new__(cls, mode: bool = True) -> Self: ...
    @overload
    def __new__(cls, mode: F) -> F: ...
    def __new__(cls, mode: Any = True) -> Any:
        new: Any = super().__new__(cls)
        if not isinstance(mode, bool):
            new.mode = True
            return new(mode)
        return new

    def __init__(self, mode: bool = True):
        self.mode = mode

    def change(self, frame: Any) -> Any:
        return frame.but(grad=not self.mode, asked=False, inference=self.mode)


def is_grad_enabled() -> bool:
    """Return True if operations are recorded here; under inference_mode, True if enable_grad is inside it, as in PyTorch.

    >>> import minigrad
    >>> with minigrad.no_grad():
    ...     print(minigrad.is_grad_enabled())
    False
    """
    return current().grad or current().asked


def is_inference_mode_enabled() -> bool:
    """Return True if inference_mode is on here.

    >>> import minigrad
    >>> minigrad.is_inference_mode_enabled()
    False
    """
    return current().inference


def without_layer(frame: Frame, name: str) -> Frame:
    """Return a chain of frames without the layers of that name."""
    if frame.layer is EAGER:
        return frame
    rest = frame.but(parent=without_layer(frame.parent, name))
    return rest.below() if rest.layer.name == name else rest
