"""The text of formulas. A formula is written once, as a lambda, and used in three ways.

On Tensors it is simply called. On arrays the same code runs with NumPy's functions instead of the operations, and `impl`
instead of `apply` (`on_arrays`).
For Numba its source text goes into a generated module (`prelude`).
"""

import ast
import linecache
import math
import re
from collections.abc import Callable
from functools import cache
from types import CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from ..arrays.memory import sum_down
from . import fallback


@cache
def compiled(source: str) -> CodeType:
    """Compile the source of a generated function; equal sources share the code."""
    return compile(source, __file__, "exec")


# Functions that formulas may call on scalars, and the module that a generated module imports them from.
VECMATH = ("acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh erf erfc erfinv exp exp2 expm1 floor floor_divide "
           "fmod hypot lgamma log log10 log1p log2 pow remainder rsqrt sigmoid sin sinh sqrt tan tanh trigamma trunc "
           "where")  # fmt: skip
SCALARS = dict.fromkeys(VECMATH.split(), "minigrad.kernels.vecmath")
SCALARS |= dict.fromkeys(("isfinite", "isinf", "isnan", "e", "inf", "nan", "pi", "tau"), "math")
SCALARS |= dict.fromkeys(("float32", "uint8", "int8", "int16", "int32", "int64"), "numpy")
DIVISIONS = {ast.FloorDiv: "floor_divide", ast.Mod: "remainder"}  # exact for floats, and faster than Numba's
F64 = np.dtype(np.float64)
BUILTINS = ("abs", "round")


class Target(NamedTuple):
    """The target of a generated module: its import from Numba, the source of its functions, the decorator of its helpers."""

    imported: str
    functions: str
    helper: str
    more: tuple = ()  # scalar functions that only this target has

    def import_of(self, module: str) -> str:
        """Return the module from which to import a scalar function."""
        return self.functions if module in (CPU.functions, "math") and self is not CPU else module


HELPER = "\n\n@{mark}\ndef {{name}}({{args}}):\n    return {{body}}"
CPU = Target("njit", "minigrad.kernels.vecmath", HELPER.format(mark='njit(error_model="numpy", forceinline=True)'))
CUDA = Target(
    "cuda",
    "minigrad.kernels.cuda.device_functions",
    HELPER.format(mark="cuda.jit(device=True)"),
    ("digamma", "erfinv", "round", "zeta"),  # Python's round returns ints and fails for NaN and infinity
)

# The same names for arrays; each Pointwise class adds its own.
ARRAYS: dict[str, Any] = {
    "where": lambda c, x, y: (x if c else y) if type(c) is bool else np.where(c, x, y),
    "abs": np.abs,
    # NumPy's elementwise functions; the rest, such as prod, concerns shapes and stays as it is
    "math": SimpleNamespace(**{**vars(math), **{k: f for k, f in vars(np).items() if isinstance(f, np.ufunc)}}),
    "sum_to": sum_down,
}
OPERATIONS: dict[str, Any] = {}  # name -> Pointwise class
MADE: dict[Callable, Callable] = {}  # formula -> the same on arrays


def parameters(f: Callable) -> tuple:
    """Return the names of a function's positional parameters."""
    return f.__code__.co_varnames[: f.__code__.co_argcount]


@cache
def text(f: Callable) -> str | None:
    """Return the source of a lambda's body, from the positions in its code object; None without source or for a def."""
    positions = [p for p in f.__code__.co_positions() if p[0] and p[3] is not None]
    spans = [p for p in positions if (p[0], p[2]) != (p[1], p[3])]
    lines = linecache.getlines(f.__code__.co_filename)
    if not lines or not positions or f.__name__ != "<lambda>":
        return None
    if not spans:  # Python 3.12 gives no position to a constant
        return repr(f(*parameters(f)))
    (row0, col0), (row1, col1) = min((p[0], p[2]) for p in spans), max((p[1], p[3]) for p in spans)
    body = lines[row0 - 1 : row1]
    body[-1] = body[-1].encode()[:col1].decode()
    body[0] = body[0].encode()[col0:].decode()
    return " ".join(s.split("#")[0].strip() for s in body)


def is_operator(text: str, names: tuple) -> bool:
    """Return True if an expression is one operator on all of these names: x + y, -x, but not x * x or 1 / x."""
    match = ast.parse(text, mode="eval").body if text else None
    operands = (
        [match.left, match.right] if isinstance(match, ast.BinOp)
        else [match.left, *match.comparators] if isinstance(match, ast.Compare)
        else [match.operand] if isinstance(match, ast.UnaryOp) else []
    )  # fmt: skip
    return bool(operands) and [getattr(x, "id", None) for x in operands] == list(names)


def display_text(f: Callable) -> str:
    """Return a formula for display, with other operations by their names, as in sum(g * out, dims, True).

    >>> from minigrad.ops.nn.softmax import LogSoftmax
    >>> display_text(LogSoftmax.dx)
    'g - exp(out) * sum(g, dims, True)'
    """
    words = (text(f) or "").replace("math.", "")
    words = re.sub(r"(\w+)\.apply\(", lambda m: getattr(f.__globals__.get(m[1]), "name", m[1]) + "(", words)
    return re.sub(r"(?<=\()\s+|\s+(?=\))", "", words)


def on_arrays(f: Callable) -> Callable:
    """Return the formula as a function of arrays: the same code, with NumPy's functions instead of the operations.

    Functions of the formula's own module that it calls run on arrays, too.
    """
    if f not in MADE:
        MADE.update(converted(f, {}))
    return MADE[f]


def converted(f: Callable, made: dict) -> dict:
    """Return `made` with the formula on arrays and all functions that it needs, which may call each other."""
    scope = dict(f.__globals__)
    made[f] = FunctionType(f.__code__, scope, f.__name__, f.__defaults__, f.__closure__)
    for name in f.__code__.co_names:
        found, given = array_function(name), scope.get(name)
        if found is not None:
            scope[name] = found
        elif isinstance(given, ModuleType) and given.__name__.partition(".")[0] == "minigrad":
            scope[name] = OnArrays(given)
        elif isinstance(given, type) and getattr(given, "primitive", False):
            scope[name] = SimpleNamespace(apply=fallback.retried(given.impl))
        elif isinstance(given, FunctionType) and given.__module__ == f.__module__:
            scope[name] = made.get(given) or converted(given, made)[given]
    return made


class OnArrays:
    """A module of operations, such as `torch` in torch.sqrt(x), with NumPy's functions instead of the operations."""

    def __init__(self, module: ModuleType):
        self.module = module

    def __getattr__(self, name: str) -> Any:
        found = array_function(name)
        return getattr(self.module, name) if found is None else found


def runs_on_arrays(f: Callable) -> bool:
    """Return True if every function that the formula calls has an array version."""
    scope, names = f.__globals__, f.__code__.co_names
    return all(not callable(scope.get(n)) or array_function(n) is not None for n in names)


def array_function(name: str) -> Any:
    """Return the array version of a name in a formula."""
    if name in ARRAYS:
        return ARRAYS[name]
    op = OPERATIONS.get(name)
    return None if op is None else op.ufunc or on_arrays(op.kernel)


@cache
def scalar_text(f: Callable, dtype: np.dtype) -> str | None:
    """Return the source of a formula for scalars of a dtype; None if part of it has no scalar version."""
    body = text(f)
    if body is None:
        return None
    tree = Scalar(dtype).visit(ast.parse(body.strip(), mode="eval"))
    return ast.unparse(tree)


class Scalar(ast.NodeTransformer):
    """Rewrite a formula for scalars: constants get the dtype, functions their bare names, powers become pow."""

    def __init__(self, dtype: np.dtype):
        self.dtype = dtype

    def typed(self, node: Any) -> Any:
        """Return a constant in the dtype of the kernel; Python's floats are float64."""
        return call("float32", node) if self.dtype == np.float32 else node

    def visit_Constant(self, node: ast.Constant) -> Any:
        return self.typed(node) if type(node.value) in (int, float) else node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """Return the name alone: math.pi is a constant, math.exp a function."""
        name = ast.Name(node.attr)
        return self.typed(name) if isinstance(getattr(math, node.attr, None), float) else name

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        x, y = node.left, node.right
        if type(node.op) in DIVISIONS and self.dtype.kind == "f":
            return call(DIVISIONS[type(node.op)], self.visit(x), self.visit(y))
        if not isinstance(node.op, ast.Pow) or self.dtype.kind != "f":
            return self.generic_visit(node)
        if isinstance(y, ast.Constant) and type(y.value) is int:
            return ast.BinOp(self.visit(x), node.op, y)  # Numba multiplies
        if isinstance(x, ast.Constant) and x.value == 2:
            return call("exp2", self.visit(y))
        return call("pow", self.visit(x), self.visit(y))


def call(name: str, *args: Any) -> ast.Call:
    """Return the syntax tree of a call."""
    return ast.Call(ast.Name(name), list(args), [])


def prelude(formulas: list, dtype: np.dtype = F64, target: Target = CPU) -> str | None:
    """Return imports, constants and helpers for the names in the formulas; None if one has no scalar version."""
    found = needs(formulas, dtype, target)
    if found is None:
        return None
    imports: dict[str, list] = {"numba": [target.imported]}
    for module, name in sorted(k for k in found if isinstance(k, tuple)):
        imports.setdefault(target.import_of(module), []).append(name)
    lines = [f"from {module} import {', '.join(names)}" for module, names in sorted(imports.items())]
    constants = [k for k in found if isinstance(k, str)]
    return "\n".join([*lines, *[""] * bool(constants), *constants])


def needs(formulas: list, dtype: np.dtype, target: Target = CPU) -> dict | None:
    """Return the definitions of the names in formulas, in order: (module, name) to import, or the text of a definition."""
    found: dict[Any, None] = {}
    for f in formulas:
        body = scalar_text(f, dtype)
        if body is None:
            return None
        for node in ast.walk(ast.parse(body)):
            if isinstance(node, ast.Name) and node.id not in parameters(f):
                more = definition(node.id, f.__globals__, dtype, target)
                if more is None:
                    return None
                found.update(dict.fromkeys(more))
    return found


def definition(name: str, scope: dict, dtype: np.dtype, target: Target) -> list | None:
    """Return the definition of one name in a generated module, preceded by the definitions it needs."""
    value, op = scope.get(name), OPERATIONS.get(name)
    if isinstance(value, (int, float)):
        constant = repr(value) if math.isfinite(value) else f"float('{value}')"
        if dtype != np.float32:
            return [f"{name} = {constant}"]
        return [("numpy", "float32"), f"{name} = float32({constant})"]
    if name in target.more:
        return [(target.functions, name)]
    if name in BUILTINS:
        return []
    if name in SCALARS:
        return [(SCALARS[name], name)]
    if op is None or (inner := needs([op.kernel], dtype, target)) is None:
        return None
    args, body = ", ".join(parameters(op.kernel)), scalar_text(op.kernel, dtype)
    return [*inner, target.helper.format(name=name, args=args, body=body)]
