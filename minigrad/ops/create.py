"""Tensors from a shape: zeros, ones, full, arange and the like, those like another tensor, and the methods new_*.

Each function makes an array, which `made` turns into a leaf.  Tensors from data are in from_data.py, random ones in
random.py.
"""

from __future__ import annotations

import functools
import inspect
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arrays import dtypes
from ..arrays.devices import CPU, META, default_device, row_major
from ..arrays.kinds import strided
from ..arrays.meta import is_meta
from ..core.frames import OFF, ON, current
from ..core.tensor import Box, Tensor, wrap
from ..errors import error, no_room
from ..events import events
from ..layers.transform import layers_of
from . import transfer
from .base.registry import TABLE, op
from .copy import fitting, on_device
from .from_data import array_of, chosen, copied, leaf, made, plain_numbers, warn_copy
from .pin import pinned
from .public_functions import raise_explained, rename_code, write_out

ADDED = (
    inspect.Parameter("layout", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="Any"),
    inspect.Parameter("requires_grad", inspect.Parameter.KEYWORD_ONLY, default=False, annotation="bool"),
)


def factory(
    *samples: str, out: bool = True, plain: Callable | None = None, given: Callable | None = None, **options: Any
) -> Callable:
    """Enter a function that creates tensors: it returns a tensor, or an array, which becomes a leaf.

    It receives the keywords `layout` and `requires_grad`, and `out`, a tensor to write into, which also decides the dtype.
    Plain calls give no keyword but a dtype. For them, `plain` is NumPy's function of a shape and a dtype, or `given` is a
    function of the call's arguments, such as `of_tensor(plain)`; both may return None, to leave a call to f.
    """

    def enter(f: Callable) -> Callable:
        name, quick = f.__name__, given if plain is None else plain

        @functools.wraps(f)
        def function(
            *args: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, **kwargs: Any
        ) -> Tensor:
            target, pin = None, False
            if quick is not None and device is None and not kwargs and is_plain_mode():
                try:
                    if plain is None:
                        a = quick(*args, dtype=dtype and dtypes.numpy_dtype(dtype))
                    else:
                        a = plain(args if type(args[0]) is int else sizes(args, None, name), chosen(dtype))
                    if a is not None:
                        t = wrap(a)
                        return t.requires_grad_() if requires_grad else t
                except Exception:  # explained below
                    pass
            try:
                if kwargs:
                    kwargs.pop("layout", None)  # all are strided
                    pin = kwargs.pop("pin_memory", False)
                    target = kwargs.pop("out", None) if out else None
                    dtype = dtype if target is None else dtype_of(target, dtype, name)
                found = f(*args, dtype=dtype, device=device, **kwargs)
                t = found if isinstance(found, Tensor) else leaf(found, False, device)
                if pin:
                    t = pinned(t, name)
                if requires_grad:
                    t.requires_grad_()
            except Exception as e:
                raise_explained(e, f, name, args, kwargs)
            return t if target is None else write_out(name, t, target)

        own = inspect.signature(f)
        shown = [*own.parameters.values(), *ADDED]
        f.__signature__ = own.replace(parameters=shown, return_annotation="Tensor")  # type: ignore[attr-defined]
        entered = op(*samples, method=False, differentiable=False, **options)(rename_code(function, name))
        TABLE[name].out = out
        return entered

    return enter


def of_tensor(plain: Callable) -> Callable:
    """Return plain(shape, dtype) as a function of a row-major tensor in the computer's memory; it is None for any other."""

    def given(input: Tensor, *others: Any, dtype: np.dtype | None) -> np.ndarray | None:
        if type(input) is not Tensor or type(a := input._a) is not np.ndarray or not a.flags.c_contiguous:
            return None
        return plain(a.shape, *others, a.dtype if dtype is None else dtype)

    return given


def dtype_of(out: Tensor, dtype: Any, who: str) -> Any:
    """Return the dtype of the tensor to write into; raise RuntimeError if another is requested."""
    if dtype is not None and chosen(dtype) != out._np_dtype:
        what = f"dtype {dtype} does not match dtype of out parameter ({out.dtype})"
        raise error(RuntimeError, who, what, f"leave dtype= out, or pass out=empty(0, dtype={dtype})")
    return out.dtype


def sizes(args: tuple, size: Any, who: str) -> tuple:
    """Return the shape in `f(2, 3)`, `f((2, 3))` and `f(size=(2, 3))`."""
    if size is not None:
        args = (size,)
    elif not args:
        raise error(TypeError, who, "missing the argument size", f"write {who}(()) for a 0-d tensor")
    if len(args) == 1 and isinstance(args[0], (tuple, list)):
        args = tuple(args[0])
    try:
        shape = tuple(map(operator.index, args))
    except TypeError:
        raise error(TypeError, who, f"sizes must be integers, got {args}", f"write {who}(2, 3)") from None
    if shape and min(shape) < 0:
        what = f"dimension sizes must be non-negative, got {shape}"
        raise error(RuntimeError, who, what, f"write {who}({', '.join(str(abs(n)) for n in shape)})")
    return shape


def blank(shape: tuple, value: Any, dtype: np.dtype, device: Any, who: str = "empty") -> Any:
    """Return an array of one value, on the requested device; None leaves its elements unset."""
    device = default_device() if device is None else device
    if value is None and any([layer.compares for layer in current().layers()]):
        value = 0
    if device is not None and (place := on_device(device)) is not CPU:
        return transfer.blank(shape, value, dtype, place)
    try:
        if value is None:
            return np.empty(shape, dtype)
        zero = not value and math.copysign(1, value) > 0  # the operating system has zeroed memory at hand
        array = np.zeros(shape, dtype) if zero else np.empty(shape, dtype)
    except (MemoryError, ValueError, OverflowError):
        if len(shape) > 32:  # NumPy 1 allows at most this many dimensions; below, the size is too large
            raise
        raise no_room(who, shape, dtype, below=True) from None
    if not zero:
        array.fill(value)
    return array


def is_plain_mode() -> bool:
    """Return True if new tensors belong to no transform, and to the computer's own memory."""
    return (current() is ON or current() is OFF) and default_device() is None


@factory("2, 3", "(2, 3)", "()", "0, 2", "3, dtype=torch.int64", plain=np.zeros)
def zeros(*args: Any, size: Any = None, dtype: Any = None, device: Any = None) -> Any:
    """Return a tensor of zeros of the given size."""
    return blank(sizes(args, size, "zeros"), 0, chosen(dtype), device)


def ones_in_memory(shape: tuple, dtype: np.dtype) -> np.ndarray:
    """Return an array of ones, in half the time of np.ones."""
    out = np.empty(shape, dtype)
    out.fill(1)
    return out


@factory("2, 3", "(2, 3)", "()", "3, dtype=torch.bool", plain=ones_in_memory)
def ones(*args: Any, size: Any = None, dtype: Any = None, device: Any = None) -> Any:
    """Return a tensor of ones of the given size."""
    return blank(sizes(args, size, "ones"), 1, chosen(dtype), device)


UNSET = "the contents of uninitialized memory"


@factory("2, 3", differs=UNSET, plain=np.empty)
def empty(*args: Any, size: Any = None, dtype: Any = None, device: Any = None, memory_format: Any = None) -> Any:
    """Return a tensor of the given size with unset elements."""
    return blank(sizes(args, size, "empty"), None, chosen(dtype), device)


def full_in_memory(shape: tuple, value: Any, dtype: np.dtype | None) -> np.ndarray | None:
    """Return an array of one Python number; None if it must be checked whether the dtype holds the number."""
    if dtype is None:
        dtype = dtypes.default() if type(value) is float else dtypes.I8
    kinds = (float, int) if dtype is dtypes.F4 or dtype is dtypes.F8 else (int,) if dtype is dtypes.I8 else ()
    if type(shape) is not tuple or type(value) not in kinds or abs(value) > dtypes.LARGEST[dtypes.F4]:
        return None
    out = np.empty(shape, dtype)
    out.fill(value)
    return out


@factory("(2, 3), 1.5", "(2,), 7", "(2,), True", "(), 2", given=full_in_memory)
def full(size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """Return a tensor of the given size filled with `fill_value`, whose kind (bool, int, float) decides the dtype."""
    if dtype is None:
        dtype = fill_value.dtype if isinstance(fill_value, Tensor) else dtypes.of_numpy(dtypes.number_dtype(fill_value))
    value = fitting(plain_numbers(number(fill_value, "full")), chosen(dtype), "full")
    return blank(whole_size(size, "full"), value, value.dtype, device)


def whole_size(size: Any, who: str) -> tuple:
    """Return the shape, which only a tuple or a list can give here."""
    if not isinstance(size, (tuple, list)):
        what = f"size must be a tuple of integers, got {type(size).__name__}"
        raise error(TypeError, who, what, f"write {who}((2, 3), 1.0)")
    return sizes((size,), None, who)


def number(x: Any, who: str) -> Any:
    """Return a Python number, from a number or a 0-d tensor; raise RuntimeError for other tensors, else TypeError."""
    value = x.item() if isinstance(x, np.generic) or isinstance(x, Tensor) and not x.ndim else x
    if not isinstance(value, (int, float)):
        of_shape = f"a tensor of shape {tuple(x.shape)}" if isinstance(x, Tensor) else ""
        what = f"expected a number, got {of_shape or f'{type(x).__name__}, {x!r}'}"
        raise error(RuntimeError if of_shape else TypeError, who, what, "pass an int, a float or a 0-d tensor")
    return value


@factory("5", "1, 4", "1, 2.5, 0.5", "0, 10, 3", "5, -3, -2", "4, dtype=torch.float64")
def arange(start: Any = None, end: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None) -> Any:
    """Return the numbers from `start` (0) up to but not including `end`, `step` apart; integers give int64.

    Raises RuntimeError for step 0 and for an end on the wrong side.
    """
    if end is None is dtype and type(start) is type(step) is int and step == 1 and start >= 0:
        return np.arange(start, dtype=dtypes.I8)
    if end is None:
        start, end = 0, start
    if end is None:
        raise error(TypeError, "arange", "missing the argument end", "write arange(end) or arange(start, end, step)")
    start, end, step = [
        x if type(x) is int else number(x, "arange") for x in (0 if start is None else start, end, step)
    ]
    whole = isinstance(start, int) and isinstance(end, int) and isinstance(step, int)
    if not whole:
        check_finite("arange", start, end, step)
    if dtype is not None and dtypes.numpy_dtype(dtype) == dtypes.BOOL:
        raise error(NotImplementedError, "arange", "not implemented for bool", "leave dtype out, then compare")
    if dtype is not None and dtypes.numpy_dtype(dtype) == dtypes.I8:
        start, end, step = int(start), int(end), int(step)
    check_direction("arange", start, end, step)
    n = -((start - end) // step) if whole else math.ceil((end - start) / step)
    target = dtypes.numpy_dtype(dtype) if dtype is not None else dtypes.I8 if whole else dtypes.default()
    if target.kind in "iu":
        start, step = int(start), int(step)
    return steps_from(start, step, n, target)


@factory("0, 4", "1, 2.6, 0.5", "5, -3, -2", "0, 3, dtype=torch.int64")
def range(start: Any, end: Any, step: Any = 1, *, dtype: Any = None, device: Any = None) -> Any:
    """Return the numbers from `start` up to and including `end`, `step` apart: an older arange, of the default float dtype.

    Raises RuntimeError for step 0 and for an end on the wrong side.
    """
    start, end, step = [number(x, "range") for x in (start, end, step)]
    check_finite("range", start, end, step)
    check_direction("range", start, end, step)
    target = dtypes.default() if dtype is None else dtypes.numpy_dtype(dtype)
    return steps_from(start, step, math.floor((end - start) / step) + 1, target)


def check_finite(who: str, start: Any, end: Any, step: Any) -> None:
    """Raise RuntimeError for numbers between which there are no steps."""
    if not all([math.isfinite(x) for x in (start, end, step)]):
        what = f"unsupported range: {start} -> {end} in steps of {step}"
        raise error(RuntimeError, who, what, "pass finite numbers")


def check_direction(who: str, start: Any, end: Any, step: Any) -> None:
    """Raise RuntimeError unless steps lead from the start to the end."""
    if step == 0:
        raise error(RuntimeError, who, "step must be nonzero", f"write {who}({start}, {end}, 1)")
    if (end - start) * step < 0:
        what = f"upper bound {end} and lower bound {start} are inconsistent with the sign of step {step}"
        raise error(RuntimeError, who, what, f"write {who}({start}, {end}, {-step})")


def steps_from(start: Any, step: Any, n: int, target: np.dtype) -> np.ndarray:
    """Return start, start + step, start + 2 * step, ..., n of them; computed in int64, or in float64."""
    if start == 0 and step == 1 and target in dtypes.FLOATS:
        return np.arange(n, dtype=target)  # each one is rounded once here, too
    values = np.arange(n, dtype=np.float64 if isinstance(start, float) or isinstance(step, float) else np.int64)
    if step != 1:
        values *= step
    if start != 0:
        values += start
    return values.astype(target, copy=False)


@factory("0, 1, 5", "3, 10, 1", "0, 1, 0", "0, 10, 4, dtype=torch.int64")
def linspace(start: Any, end: Any, steps: int, *, dtype: Any = None, device: Any = None) -> Any:
    """Return `steps` numbers from `start` to `end`, both included, equally spaced."""
    dtypes.check_fits("linspace", chosen(dtype), start, end)
    return spaced(start, end, steps, "linspace").astype(chosen(dtype), copy=False)


@factory("0, 2, 3", "-1, 1, 4, 2.0")
def logspace(start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: Any = None, device: Any = None) -> Any:
    """Return `steps` numbers from `base**start` to `base**end`, with equal ratios."""
    return (float(number(base, "logspace")) ** spaced(start, end, steps, "logspace")).astype(chosen(dtype))


def spaced(start: Any, end: Any, steps: int, who: str) -> np.ndarray:
    """Compute from both ends towards the middle, so that the last number is exactly `end`."""
    if steps < 0:
        raise error(
            RuntimeError, who, f"number of steps must be non-negative, got {steps}", f"write steps={abs(steps)}"
        )
    start, end, values = float(number(start, who)), float(number(end, who)), np.arange(steps, dtype=np.float64)
    step = (end - start) / max(steps - 1, 1)
    first, second = values[: (steps + 1) // 2], values[(steps + 1) // 2 :]
    first *= step
    first += start
    np.subtract(steps - 1, second, out=second)
    second *= step
    np.subtract(end, second, out=second)
    return values


@factory("3", "2, 3", "0", "3, dtype=torch.int64")
def eye(n: int, m: int | None = None, *, dtype: Any = None, device: Any = None) -> Any:
    """Return the matrix of n rows and m columns (default: n) with ones on the diagonal."""
    if n < 0 or m is not None and m < 0:
        what = f"n and m must be greater or equal to 0, got {n} and {m}"
        raise error(RuntimeError, "eye", what, "write eye(n) with n of at least 0")
    return np.eye(n, m, dtype=chosen(dtype))


def triangle(name: str, what: str, shift: int) -> Any:
    """Return the function `name`: the indices where a triangle of ones, moved by `shift`, is `shift == 0`."""

    def make(
        row: int, col: int, offset: int = 0, *, dtype: Any = dtypes.int64, layout: Any = None, device: Any = None
    ) -> Tensor:
        if row < 0 or col < 0:
            raise error(
                RuntimeError, name, f"row and col must be non-negative, got {row} and {col}", "pass sizes of at least 0"
            )
        if chosen(dtype).kind not in "iu":
            raise error(NotImplementedError, name, f"not implemented for {dtype}", "use an integer dtype")
        ones = np.empty((row, col), np.bool_)  # first, because there may be no memory for it
        np.greater_equal.outer(np.arange(row) + (offset + shift), np.arange(col), out=ones)
        return leaf(np.stack(np.nonzero(~ones if shift else ones)).astype(chosen(dtype)), False, device)

    make.__doc__ = f"Return row and column indices of the {what} triangle of a (row, col) matrix: a (2, n) tensor."
    return op("3, 3", "2, 4, 1", "3, 2, -1", "0, 3", method=False, differentiable=False)(rename_code(make, name))


tril_indices = triangle("tril_indices", "lower", 0)
triu_indices = triangle("triu_indices", "upper", -1)


@factory("(2, 3), (1, 2)", out=False, differs=UNSET)
def empty_strided(size: Sequence, stride: Sequence, *, dtype: Any = None, device: Any = None) -> Any:
    """Return a tensor of the given size and strides (in elements) with unset elements."""
    shape, steps, kind = whole_size(size, "empty_strided"), tuple(stride), chosen(dtype)
    if len(shape) != len(steps) or any(n < 0 for n in steps):
        what = f"needs as many strides as sizes, none negative, got {steps} for {shape}"
        raise error(RuntimeError, "empty_strided", what, "write empty_strided((2, 3), (3, 1))")
    size = 0 if 0 in shape else 1 + sum([(n - 1) * k for n, k in zip(shape, steps)])
    return strided(blank((size,), None, kind, device), shape, tuple([k * kind.itemsize for k in steps]))


# ---------------------------------------------------------------------- like another tensor
def settings(input: Tensor, dtype: Any, device: Any) -> tuple[np.dtype, Any]:
    """Return the requested dtype and device, defaulting to the tensor's."""
    kind = input._np_dtype if dtype is None else dtypes.numpy_dtype(dtype)
    return kind, input.device if device is None else device


def new_filled(input: Tensor, shape: tuple, value: Any, dtype: Any, device: Any, who: str) -> Tensor:
    """Return a tensor of `value` with input's dtype; if vmap batches input, the result has a batch dimension too."""
    batches: list = []
    if type(input) is Box:
        own = layers_of(input)
        batches = [layer for layer in current().layers() if layer in own and hasattr(layer, "size")]
        shape = (*[layer.size for layer in batches], *shape)
    kind, place = settings(input, dtype, device)
    return made(blank(shape, fitting(value, kind, "full") if value else value, kind, place, who), batches=batches)


def filled_like(input: Tensor, value: Any, dtype: Any, device: Any, memory_format: Any, who: str) -> Tensor:
    """Return a tensor of `value` with input's shape, dtype and memory order."""
    if type(input) is Box:
        return new_filled(input, tuple(input.shape), value, dtype, device, who)
    a, kind = input._a, input._np_dtype if dtype is None else dtypes.numpy_dtype(dtype)
    value = fitting(value, kind, who) if value else value
    if is_meta(a) and device is not None and on_device(device) != META:
        return made(blank(a.shape, value, kind, device, who))
    rows = memory_format is not None and row_major(memory_format, who) or 0 in a.strides
    if type(a) is np.ndarray and (rows or a.flags.c_contiguous):
        return made(blank(a.shape, value, kind, CPU, who), device=device)
    array = np.empty_like(a, kind, "C" if rows else "K")
    if value is not None:
        array.fill(value)
    return made(array, device=device)


def like(name: str, value: Any, meaning: str, plain: Callable) -> Any:
    """Return the function `name`: a tensor of another's shape and dtype, filled with `value`."""

    def make(input: Tensor, *, dtype: Any = None, device: Any = None, memory_format: Any = None) -> Tensor:
        return filled_like(input, value, dtype, device, memory_format, name)

    make.__doc__ = f"Return a tensor {meaning}, with the shape, dtype and memory order of `input`; not tracked."
    samples = ("T(2, 3)", "T(3, 2).mT", "T()", "I(3, 4)", "T(2), dtype=torch.int64")
    enter = factory(*samples, out=False, given=of_tensor(plain), differs="" if value is not None else UNSET)
    return enter(rename_code(make, name))


zeros_like = like("zeros_like", 0, "of zeros", np.zeros)
ones_like = like("ones_like", 1, "of ones", ones_in_memory)
empty_like = like("empty_like", None, "with unset elements", np.empty)


@factory("T(2, 3), 1.5", "I(3, 4), 2", "T(2), 3, dtype=torch.int64", out=False, given=of_tensor(full_in_memory))
def full_like(
    input: Tensor, fill_value: Any, *, dtype: Any = None, device: Any = None, memory_format: Any = None
) -> Tensor:
    """Return a tensor filled with `fill_value`, with the shape, dtype and memory order of `input`; not tracked."""
    value = plain_numbers(number(fill_value, "full_like"))
    return filled_like(input, value, dtype, device, memory_format, "full_like")


def new_tensor(
    self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Return a new leaf with a copy of `data`, of this tensor's dtype unless another is given."""
    kind, place = settings(self, dtype, device)
    if isinstance(data, Tensor):
        warn_copy("new_tensor(t)")
        return copied(data, kind, requires_grad, place)
    t = made(array_of(data, kind, "new_tensor"), requires_grad, device=place)
    if isinstance(data, np.ndarray):
        events.built(t)
    return t


def new(name: str, value: Any, meaning: str) -> Any:
    """Return the method `name`: a tensor of any size, with self's dtype, filled with `value`."""

    def make(
        self: Tensor, *args: Any, size: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False,
        pin_memory: bool = False,
    ) -> Tensor:  # fmt: skip
        t = new_filled(self, sizes(args, size, name), value, dtype, device, name)
        t = pinned(t, name) if pin_memory else t
        return t.requires_grad_() if requires_grad else t

    make.__doc__ = f"Return a tensor of the given size {meaning}, of this tensor's dtype unless another is given."
    return rename_code(make, name)


def new_full(
    self: Tensor, size: Sequence, fill_value: Any, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Return a tensor of the given size filled with `fill_value`, of this tensor's dtype unless another is given."""
    value = plain_numbers(number(fill_value, "new_full"))
    t = new_filled(self, whole_size(size, "new_full"), value, dtype, device, "new_full")
    t = pinned(t, "new_full") if pin_memory else t
    return t.requires_grad_() if requires_grad else t


FILLED = (
    new("new_zeros", 0, "with zeros"),
    new("new_ones", 1, "with ones"),
    new("new_empty", None, "with unset elements"),
)
METHODS = {f.__name__: f for f in (new_tensor, *FILLED, new_full)}
