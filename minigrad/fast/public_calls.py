"""Public functions of views, reductions, products and losses, for plain tensors: NumPy's call, or `impl`, and one tensor, in
the function that a user calls.

The function in ops/ is the definition: it takes every call that is not plain or is recorded, and those that fail, to explain
them.  In front of it goes generated code: NumPy's call, which checks the arguments, then the tensor and its history as in
`apply`.
"""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import Any

from ..arrays.dtypes import LARGEST, dtype
from ..arrays.kinds import strided
from ..core.tensor import Tensor
from ..kernels.cpu.index_cpu import in_range
from ..kernels.formula import compiled
from ..kernels.pointwise_calls import FUSE_FROM
from ..ops.base import registry
from ..ops.compare import NUMBER
from ..ops.dimensions import ALL, axes
from ..ops.index_parts import is_plain
from ..ops.nn.cross_entropy import expect_logits
from ..ops.nn.loss import expect_logarithms
from ..ops.nn.pool import sliding
from ..ops.public_functions import begin_with, operation_of, rename_code
from ..ops.reduce import count
from . import formula_text
from .text_plan import Plan, is_pointwise

CALL = """\
if type({x}) in PLAIN and type(a := {x}._a) is ndarray and (frame := current()).eager_ok and frame.on_op is None:
    try:
        {given}result = None
        if {plain}:
            {computed}
    except Exception:  # the function explains it
        result = None
    if type(result) is {kind}:
        {names} = {x}, {kept}
        {history}
        return {returned}
"""

METHOD = """\
def {name}(self{others}):
    {call}
    return definition_of_{name}(self{others})
"""


@dataclass
class Call:
    """A public function.  Its texts name the tensor's array `a` and the function's parameters."""

    array: str  # the result: a view by NumPy, which raises an error for impossible arguments, or `impl`
    kept: str  # the arguments of the operation as its history keeps them
    plain: str = "True"  # the condition for calls that this computes as PyTorch does
    given: str = ""  # statements before


def same_dtype(name: str, a: str = "b") -> str:
    """Return the condition for another operand that is a plain tensor of the first one's dtype; `a` names its array."""
    return f"type({name}) in PLAIN and type({a} := {name}._a) is ndarray and {a}.dtype is a.dtype"


ONE_OR_MANY = """\
{1} = {0}
if type({0}[0]) is not int:
    ({1},) = {0}
    if type({1}) is list:
        {1} = tuple({1})""".format
ROWS = "a.flags.c_contiguous"
KIND = "(a.dtype is F4 or a.dtype is F8)"
FLOATS = f"{KIND} and {ROWS}"
DIMS = "(dims := ALL[a.ndim] if dim is None else one(dim, a.ndim) if type(dim) is int else axes(input, dim, '')) is not None"
OVER = f"{FLOATS} and {formula_text.IS_BOOL} and {DIMS}"
ALONG = f"dtype is None and type(dim) is int and {FLOATS} and (dims := one(dim, a.ndim)) is not None"
SIZES = "(sizes in known or are_sizes(sizes))"
ROW = Call("impl(a, dims)", "dims", ALONG)
TOTAL = Call("impl(a, dims, keepdim)", "dims, keepdim", f"dtype is None and {OVER}")
WHOLE_OR_ONE = Call(TOTAL.array, TOTAL.kept, f"(dim is None or type(dim) is int) and {TOTAL.plain}")
TRUTH = Call(
    "impl(a, ALL[a.ndim], keepdim)",
    "ALL[a.ndim], keepdim",
    f"dim is None and a.dtype.char == '?' and {formula_text.IS_BOOL}",
)
TRIANGLE = Call("impl(a, diagonal)", "diagonal", f"type(diagonal) is int and a.ndim > 1 and {ROWS}")
SCAN = Call(
    "impl(a, d, False)",
    "d, False",
    f"dtype is None and {FLOATS} and type(dim) is int and 0 <= (d := dim if dim >= 0 else dim + a.ndim) < a.ndim",
)
SPREAD = Call(
    "impl(a, dims, keepdim, 1)",
    "dims, keepdim, 1",
    f"correction is None and unbiased is None and type(dim) is not bool and {OVER} and count(a.shape, dims) > 1",
)
CLASSES = (
    f"{FLOATS} and type(target) in PLAIN and type(b := target._a) is ndarray and b.dtype is I8 and a.ndim == 2 and a.size "
    "and b.shape == a.shape[:1] and type(ignore_index) is int and weight is size_average is reduce is None "
    "and reduction == 'mean'"
)

# operation -> name of the function -> its call
CALLS = {
    "Reshape": {
        "reshape": Call("a.reshape(sizes)", "result.shape", f"{ROWS} and {SIZES}", ONE_OR_MANY("shape", "sizes")),
        "view": Call(
            "a.reshape(sizes)", "result.shape", f"dtype is None and {ROWS} and {SIZES}", ONE_OR_MANY("size", "sizes")
        ),
        "flatten": Call(
            "a.reshape((*a.shape[:start_dim], -1))",
            "result.shape",
            f"type(start_dim) is int and end_dim == -1 and 0 <= start_dim < a.ndim - 1 and {ROWS}",
            "if 0 <= start_dim == a.ndim - 1 and end_dim == -1 and type(start_dim) is int:\n    return input",
        ),
    },
    "Expand": {
        "expand": Call(
            f"ndarray(found[0], a.dtype, a, 0, found[1]) if {ROWS} and {KIND} else strided(a, *found)",
            "found[0]",
            f"{SIZES} and (found := repeated(a.shape, a.strides, sizes)) is not None",
            ONE_OR_MANY("size", "sizes"),
        )
    },
    "Unsqueeze": {
        "unsqueeze": Call(
            "a[new_axis(d)]",
            "result.shape",
            "type(dim) is int and 0 <= (d := dim if dim >= 0 else dim + a.ndim + 1) <= a.ndim",
        )
    },
    "SqueezeDims": {
        "squeeze": Call("a.squeeze(dim) if a.shape[dim] == 1 else a[:]", "result.shape", "type(dim) is int")
    },
    "Permute": {
        "permute": Call(
            "a.transpose(sizes)", "known[sizes]", f"{SIZES} and -1 not in sizes", ONE_OR_MANY("dims", "sizes")
        ),
        "T": Call("a.T", "swapped(a.ndim)"),
        "movedim": Call(
            "a.transpose(order)",
            "order",
            "type(source) is type(destination) is int and (order := moved(a.ndim, source, destination))",
        ),
    },
    "Flip": {
        "flip": Call(
            "impl(a, found)",
            "found",
            f"len(dims) == 1 and type(dims[0]) is int and {FLOATS} and (found := one(dims[0], a.ndim)) is not None",
        )
    },
    "Transpose": {
        "transpose": Call(
            "a.swapaxes(dim0, dim1)", "swapped(a.ndim, dim0, dim1)", "type(dim0) is int and type(dim1) is int"
        ),
        "mT": Call("a.mT", "swapped(a.ndim, -1, -2)"),
    },
    "Index": {
        "__getitem__": Call(
            "a[index + (...,)] if type(index) is tuple else a[index, ...]",
            "index if type(index) is tuple else (index,)",
            "type(index) is int or type(index) not in PLAIN and is_plain(index)",
        )
    },
    "Diagonal": {
        "diagonal": Call(
            "ndarray((min(a.shape),), a.dtype, a, 0, (sum(a.strides),))",
            "0, 0, 1",
            f"type(offset) is int and offset == 0 == dim1 and dim2 == 1 and a.ndim == 2 and {FLOATS} and a.size",
        )
    },
    "Tril": {"tril": TRIANGLE},
    "Triu": {"triu": TRIANGLE},
    "Mm": {"mm": Call("impl(a, b)", "mat2", f"{KIND} and {same_dtype('mat2')} and b.ndim == a.ndim == 2")},
    "Bmm": {
        "bmm": Call(
            "impl(a, b)", "mat2", f"{KIND} and {same_dtype('mat2')} and b.ndim == a.ndim == 3 and len(a) == len(b)"
        )
    },
    "MatMul": {"matmul": Call("impl(a, b)", "other", f"{KIND} and {same_dtype('other')} and b.ndim == a.ndim == 2")},
    "Outer": {"outer": Call("impl(a, b)", "vec2", f"{KIND} and {same_dtype('vec2')} and a.ndim == b.ndim == 1")},
    "Affine": {
        "linear": Call(
            "impl(a, b, c)",
            "weight, bias",
            f"{KIND} and {same_dtype('weight')} and {same_dtype('bias', 'c')} and b.ndim == 2 and c.ndim == 1 and a.ndim",
        )
    },
    "Softmax": {"softmax": ROW},
    "LogSoftmax": {"log_softmax": ROW},
    "MaxOfAll": {
        "max": Call(
            "impl(a, ALL[a.ndim], False)",
            "ALL[a.ndim], False",
            f"dim is None and other is None and keepdim is False and {FLOATS} and a.size",
        )
    },
    "Var": {"var": SPREAD},
    "Std": {"std": SPREAD},
    "Sum": {"sum": TOTAL},
    "Mean": {"mean": TOTAL},
    "Prod": {"prod": WHOLE_OR_ONE},
    "AllOf": {"all": TRUTH},
    "AnyOf": {"any": TRUTH},
    "MeanCrossEntropy": {
        "cross_entropy": Call(
            "impl(a, b, 1, ignore_index, 0)",
            "target, 1, ignore_index, 0",
            f"{CLASSES} and not label_smoothing and (input._edge is None or expect_logits(input, target, a.shape[1]) is None)",
        )
    },
    "MeanNLL": {
        "nll_loss": Call(
            "impl(a, b, 1, ignore_index, 0)",
            "target, 1, ignore_index, 0",
            f"{CLASSES} and (input._edge is None or expect_logarithms('nll_loss', input) is None)",
        )
    },
    "LayerNorm": {
        "layer_norm": Call(
            "impl(a, b, c, dims, eps)",
            "weight, bias, dims, eps",
            f"{FLOATS} and {same_dtype('weight')} and {same_dtype('bias', 'c')} and b.shape == c.shape == normalized_shape "
            "and type(eps) is float and a.shape[(k := a.ndim - b.ndim) :] == b.shape and (dims := ALL[a.ndim][k:])",
        )
    },
    "Gather": {
        "gather": Call(
            "impl(a, d, b)",
            "d, index",
            "type(dim) is int and 0 <= (d := dim if dim >= 0 else dim + a.ndim) < a.ndim and a.itemsize != 2 "
            "and type(index) in PLAIN and type(b := index._a) is ndarray and b.dtype is I8 and b.ndim == a.ndim and b.size "
            "and b.shape[:d] == a.shape[:d] and b.shape[d + 1 :] == a.shape[d + 1 :] and in_range(b, a.shape[d])",
        )
    },
    "Cumsum": {"cumsum": SCAN},
    "Cumprod": {"cumprod": SCAN},
    "MaxPool": {
        "max_pool2d": Call(
            "impl(a, windows)",
            "windows",
            f"{FLOATS} and return_indices is False and type(kernel_size) is int "
            "and tuple not in (type(stride), type(padding), type(dilation)) "
            "and (windows := windows_of(a.shape, kernel_size, stride, padding, dilation, ceil_mode))",
        )
    },
    "AvgPool": {
        "avg_pool2d": Call(
            "impl(a, windows, count_include_pad, None)",
            "windows, count_include_pad, None",
            f"{FLOATS} and divisor_override is None and type(count_include_pad) is bool and type(kernel_size) is int "
            "and tuple not in (type(stride), type(padding)) "
            "and (windows := windows_of(a.shape, kernel_size, stride, padding, 1, ceil_mode))",
        )
    },
    "ClampBetween": {
        "clamp": Call(
            "compute(a, min, max)",
            "min, max",
            f"{KIND} and a.size < {FUSE_FROM} and type(min) in NUMBER and type(max) in NUMBER "
            "and abs(min) <= (most := LARGEST[a.dtype]) and abs(max) <= most",
        )
    },
    "To": {
        "to": Call(
            "impl(a, kind)",
            "kind",
            "len(args) == 1 and type(args[0]) is DTYPE and dtype is device is memory_format is None and copy is False "
            "and (kind := args[0].dtype) is not a.dtype",
        )
    },
    "Norm": {
        "norm": Call("impl(a, dims, keepdim, 2.0)", "dims, keepdim, 2.0", f"dtype is None and p == 'fro' and {OVER}")
    },
}


known: dict = {}  # tuples of integers from -1 on; finding one here reads no 0-d tensor


def are_sizes(sizes: tuple) -> bool:
    """Return True for a tuple of integers from -1 on, and remember it; NumPy would take any negative one for -1."""
    if not isinstance(sizes, tuple) or {*map(type, sizes)} != {int} or min(sizes) < -1:
        return False
    if len(known) >= 4096:
        known.clear()
    known[sizes] = tuple(sizes)
    return True


@lru_cache(256)
def one_dim(dim: int, n: int) -> tuple | None:
    """Return one of n dimensions, counted from the front, as a tuple; None if it does not exist."""
    return (dim % n,) if -n <= dim < n else None


windows_of = lru_cache(1024, typed=True)(partial(sliding, 2, "max_pool2d"))


@cache
def new_axis(d: int) -> tuple:
    """Return the index that adds a dimension at position d."""
    return (slice(None),) * d + (None,)


@cache
def swapped(n: int, *dims: int) -> tuple:
    """Return the order of n dimensions after two of them are swapped; without these, the reverse order."""
    order = list(range(n))
    for i, j in [dims] if dims else zip(range(n // 2), range(n - 1, 0, -1)):
        order[i], order[j] = order[j], order[i]
    return tuple(order)


@lru_cache(256)
def moved(n: int, source: int, place: int) -> tuple | None:
    """Return the order of n dimensions after one of them is moved; None if there is no such dimension or place."""
    if not (-n <= source < n and -n <= place < n):
        return None
    order = [d for d in range(n) if d != source % n]
    order.insert(place % n, source % n)
    return tuple(order)


@lru_cache(4096)
def repeated(shape: tuple, strides: tuple, sizes: tuple) -> tuple | None:
    """Return the shape and the strides of an array with these sizes, 0 along repeated dimensions; None if they do not fit."""
    lead = len(sizes) - len(shape)
    now, steps = list(sizes), [0] * len(sizes)
    for d, (m, stride) in enumerate(zip(shape, strides), lead):
        if sizes[d] == m or sizes[d] == -1:
            now[d], steps[d] = m, stride
        elif m != 1:
            return None
    return (tuple(now), tuple(steps)) if lead >= 0 else None


def install(cls: Any, plan: Plan, scope: dict) -> None:
    """Put the operation's generated code in front of its public functions."""
    scope |= {
        "new_axis": new_axis,
        "swapped": swapped,
        "is_plain": is_plain,
        "repeated": repeated,
        "moved": moved,
        "strided": strided,
    }
    scope |= {"known": known, "are_sizes": are_sizes, "axes": axes, "one": one_dim, "count": count, "ALL": ALL}
    scope |= {"DTYPE": dtype, "windows_of": windows_of, "NUMBER": NUMBER, "LARGEST": LARGEST}
    scope |= {"expect_logits": expect_logits, "expect_logarithms": expect_logarithms, "in_range": in_range}
    for name, call in CALLS.get(cls.__name__, {}).items():
        entry = registry.TABLE.get(name)
        lines = text(call, plan, "self" if entry is None else "input")
        if entry is None:
            install_method(name, lines, scope)
        else:
            begin_with(entry.function, lines, scope)
        cls.dispatch_source += f"\n# {name} begins with\n{lines}"


def text(call: Call, plan: Plan, x: str) -> str:
    """Return the generated code of a function whose first parameter is x."""
    lines = f"result = {call.array}"  # a pointwise `compute` raises an error for NumPy's warnings
    return CALL.format(
        x=x,
        given=formula_text.indented(call.given + "\n", 8) if call.given else "",
        plain=call.plain,
        computed=formula_text.indented(lines if is_pointwise(plan.cls) else formula_text.quietly(plan.cls, lines), 12),
        names=", ".join(plan.names),
        kept=call.kept,
        kind="ndarray" if len(plan.outs) == 1 else "tuple",
        history=formula_text.indented(new_with_history(plan), 8),
        returned=plan.outs[0],
    )


def new_with_history(plan: Plan) -> str:
    """Return lines that make the tensors of the result, or of a tuple of results, and give them their history."""
    made = formula_text.NEW
    if len(plan.outs) > 1:
        lines = [f"{k} = as_tensor(a{i})" for i, k in enumerate(plan.outs)]
        made = "\n".join([f"{', '.join(f'a{i}' for i in range(len(lines)))} = result", *lines])
    return f"{made}\n{formula_text.with_history(plan)}"


def install_method(name: str, call: str, scope: dict) -> None:
    """Give Tensor a method, or a property, that begins with these lines."""
    attribute: Any = getattr(Tensor, name)
    definition = attribute.fget if isinstance(attribute, property) else attribute
    others = "".join([f", {p}" for p in list(inspect.signature(definition).parameters)[1:]])
    scope[f"definition_of_{name}"] = definition
    exec(compiled(METHOD.format(name=name, others=others, call=formula_text.indented(call, 4))), scope)
    f = functools.wraps(definition)(scope[name])
    if (operation := operation_of(definition.__code__)) is not None:
        f = rename_code(f, operation)
    setattr(Tensor, name, property(f, doc=attribute.__doc__) if isinstance(attribute, property) else f)
