"""Losses that are valid and not what was meant: broadcast values, terms without a gradient, gradients that are always 0.

They are found in the graph of a loss, at the first backwards of a line, and the user's program is read for the line.
"""

import ast
import builtins
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from types import ModuleType
from typing import Any, NamedTuple

from ..arrays.kinds import on_device
from ..arrays.meta import has_numbers
from ..core.engine import reachable
from ..core.graph import Leaf, producer
from ..core.saved import Saved, plain_tensor
from ..core.tensor import Tensor
from ..errors import warn
from ..ops.compare import ClampBetween
from ..ops.random import Draw
from ..places import Place, noted, parsed, user_place
from .cut_lines import line_of_call
from .histories import DRAWN, entered, returned, takes_history
from .modules import is_module, parameters_of
from .report import built_in, searches
from .saved_tensors import spent
from .users_program import (
    LinesLike,
    Scope,
    assigned,
    assignments,
    blocks,
    called_name,
    calls_in,
    differentiated,
    names_in,
    parts,
    position,
    resolved,
    running_line,
)


class Pairing(NamedTuple):
    """An operation between values that belong to the same examples, and the words for its operands and results."""

    operator: type[ast.operator]
    operation: str
    tracked: str
    other: str
    meaning: str
    results: str


DISTANCES = ("pow", "square", "abs", "mul")
DIFFERENCES = Pairing(
    ast.Sub, "sub", "predictions", "targets", "every target is compared with every prediction", "differences"
)
PRODUCTS = Pairing(ast.Mult, "mul", "losses", "weights", "every weight is multiplied with every loss", "products")
VIEWS = ("reshape", "unsqueeze", "index", "expand")  # they make a column of a row: x[:, None], x.unsqueeze(1)


def check_node(node: Any) -> None:
    """Warn if a mean or a sum has taken every prediction with every target, or every loss with every weight."""
    if (found := pairs(node)) is None or (begun := running_line()) is None:
        return
    shape, pairing = found
    call, scope = begun
    n, wanted = shape[0], (shape[0],) if len(shape) == 2 else (shape[0], 1)
    for part, code, other in operations(pairing.operator, differentiated(call, scope), scope, call.lineno):
        if tuple(other.shape) == wanted and other._edge is None and not on_purpose(code, scope, part.lineno):
            warn(
                "broadcast-loss",
                pairing.operation,
                f"broadcasts {pairing.tracked} of shape {shape} and {pairing.other} of shape {wanted}: {pairing.meaning}, "
                f"{n * n} {pairing.results} instead of {n}",
                f"give both the same shape: {code}.reshape({', '.join(map(str, shape))})",
                Place(scope.file, part.lineno),
            )
            return


def pairs(node: Any) -> tuple[tuple, Pairing] | None:
    """Return (n, 1) or (n,), the shape of the tracked operand behind a mean or sum of n * n results, and its kind; or None."""
    if built_in(node) not in ("mean", "sum") or len(node._edges[0]._shape) != 2:
        return None
    inner, kind = producer(node._edges[0]), PRODUCTS
    if not built_in(inner):
        return None
    if built_in(inner) != "mul" or all(e is not None for e in inner._edges[:2]):
        distance, inner, kind = inner, producer(inner._edges[0]), DIFFERENCES
        if built_in(distance) not in DISTANCES or built_in(inner) != "sub":
            return None
    tracked, (n, m) = [e for e in inner._edges if e is not None], inner._shape[:2] if len(inner._shape) == 2 else (0, 1)
    if len(tracked) != 1 or n != m or n < 2 or tracked[0]._shape not in ((n, 1), (n,)):
        return None
    made, shape = producer(tracked[0]), tracked[0]._shape
    if type(made) is Leaf:
        return None if kind is PRODUCTS else (shape, kind)
    column = built_in(made) in VIEWS and len(made._edges[0]._shape) < len(shape)
    return None if column else (shape, kind)


def on_purpose(code: str, scope: Scope, before: float) -> bool:
    """Return True for a variable that the program makes a column with x[:, None] or unsqueeze, to get all pairs."""
    made = [n for _, value in assignments(scope.tree, code, before)[:1] for n in ast.walk(value)]
    indices = [i for n in made if isinstance(n, ast.Subscript) for i in ast.walk(n.slice)]
    return bool(calls_in(made, "unsqueeze")) or any(getattr(i, "value", i) is None for i in indices)


def operations(operator: type, node: ast.expr, scope: Scope, before: float) -> Iterator[tuple[ast.BinOp, str, Tensor]]:
    """Yield the operations in an expression and the lines that made its variables, with the code and value of an operand."""
    waiting, done = [(node, before)], set()
    while waiting:
        node, before = waiting.pop()
        for part in parts(node):
            if isinstance(part, ast.BinOp) and isinstance(part.op, operator):
                known = [(side, resolved(side, scope)) for side in (part.left, part.right)]
                yield from [(part, ast.unparse(side), t) for side, t in known if isinstance(t, Tensor)]
        for name in set(names_in(parts(node))) - done:
            done.add(name)
            waiting += [(value, s.lineno) for s, value in assignments(scope.tree, name, before)]


CUTS = LinesLike(r"\.data\b|\bdetach\(|\.item\(|\bfloat\(")
NUMBERS = ("item", "float", "tolist")
DEEPEST = 64  # terms


@searches()
def check_terms() -> None:
    """Warn about penalties without a gradient in the loss whose backward is running."""
    if (begun := running_line(like=CUTS)) is None:
        return
    call, scope = begun
    for term, of in terms(differentiated(call, scope), scope, position(call), set()):
        if (cut := cut_in(term, of)) is not None and not takes_history(term, of) and of_parameters(term, of):
            name = f".{cut.attr}" if isinstance(cut, ast.Attribute) else called_name(cut)
            warn(
                "penalty-without-gradient",
                name,
                f"gives numbers without a history, so this term of the loss, {ast.unparse(term)}, has no gradient and "
                "does not act on the parameters",
                f"compute it from the parameters themselves, without {name}",
                Place(of.file, cut.lineno),
                noted("backward was called", user_place()),
            )
            return


def terms(node: ast.expr, scope: Scope, before: float, seen: set) -> Iterator[tuple[ast.expr, Scope]]:
    """Yield the terms of a sum, without numbers as factors, each with its scope; variables stand for their values."""
    if len(seen) > DEEPEST:
        return
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        for side in (node.left, node.right):
            yield from terms(side, scope, before, seen)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)) and (left_out := factor(node, scope)):
        yield from terms(node.right if left_out is node.left else node.left, scope, before, seen)
    elif isinstance(node, ast.Name):
        for s, value, of in assigned(node.id, scope, before):
            if (s, node.id) not in seen and adds(s) and always_runs(s, of):
                seen.add((s, node.id))
                yield from terms(value, of, position(s), seen)
    elif (
        isinstance(node, ast.Call)
        and called_name(node) == "sum"
        and node.args
        and isinstance(node.args[0], ast.GeneratorExp)
    ):
        yield from terms(node.args[0].elt, inside(node.args[0], scope), before, seen)
    elif isinstance(node, ast.Call) and not is_module(resolved(node.func, scope)) and (body := entered(node, scope)):
        for s, value in returned(body[1]):
            yield from terms(value, body[1], position(s), seen)
    else:
        yield node, scope


def factor(node: ast.BinOp, scope: Scope) -> ast.expr | None:
    """Return the side of a product that is a number."""
    sides = [node.left, node.right] if isinstance(node.op, ast.Mult) else [node.right]
    return next((n for n in sides if isinstance(resolved(n, scope), (int, float))), None)


def adds(s: ast.stmt) -> bool:
    """Return True for a statement that assigns a value, or adds it."""
    return isinstance(s, ast.Assign) or isinstance(s, ast.AugAssign) and isinstance(s.op, (ast.Add, ast.Sub))


def always_runs(s: ast.stmt, scope: Scope) -> bool:
    """Return True unless a condition stands around a statement."""
    return not any(isinstance(outer, (ast.If, ast.Try, ast.Match)) for outer, _ in blocks(scope.tree).get(s, ()))


def inside(generator: ast.GeneratorExp, scope: Scope) -> Scope:
    """Return the scope of a generator over parameters, with the first parameter as the value of its variable."""
    values = dict(scope.values)
    for loop in generator.generators:
        first = first_of(loop.iter, scope)
        targets = [n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)]
        values.update({name: first for name in targets[-1:] if first is not None})
    return replace(scope, values=values)


def first_of(node: ast.expr, scope: Scope) -> Any:
    """Return the first parameter of `net.parameters()` or `net.named_parameters()`, or the first item of a list."""
    if isinstance(node, ast.Call) and called_name(node) in ("parameters", "named_parameters"):
        of = resolved(getattr(node.func, "value", node), scope)
        return next(parameters_of(of), None) if is_module(of) else None
    held = resolved(node, scope)
    return held[0] if isinstance(held, (list, tuple)) and held else None


def cut_in(term: ast.expr, scope: Scope) -> Any:
    """Return the part of a term that takes the numbers of a parameter, or of a result whose graph is unused; or None."""
    for n in parts(term):
        if isinstance(n, ast.Attribute) and n.attr == "data" and is_parameter(n.value, scope):
            return n
        if isinstance(n, ast.Call) and called_name(n) == "detach":
            of = n.func.value if isinstance(n.func, ast.Attribute) and not n.args else next(iter(n.args), n)
            if is_parameter(of, scope):
                return n
        if isinstance(n, ast.Call) and called_name(n) in NUMBERS:
            of = n.args[0] if n.args else getattr(n.func, "value", n)
            value = resolved(of, scope)
            if (
                takes_history(of, scope)
                and not (isinstance(value, Tensor) and spent(value._edge))
                and not differs(of, scope)
            ):
                return n
    return None


def differs(node: ast.expr, scope: Scope) -> bool:
    """Return True if the program also differentiates a value by a call: its gradient comes from there."""
    calls = calls_in(parsed(scope.file) or scope.tree, "backward", "grad")
    of = [n.func.value for n in calls if isinstance(n.func, ast.Attribute) and n.func.attr == "backward"]
    of += [n.args[0] for n in calls if called_name(n) == "grad" and n.args]
    return ast.unparse(node) in map(ast.unparse, of)


def is_parameter(node: ast.expr, scope: Scope) -> bool:
    """Return True for a leaf that requires grad."""
    value = resolved(node, scope)
    return isinstance(value, Tensor) and value._layer is None and type(value._edge) is Leaf


def of_parameters(term: ast.expr, scope: Scope, depth: int = 8) -> bool:
    """Return True if all that a term is computed from are parameters, modules, numbers and functions, and no data."""
    for name in set(names_in(parts(term))):
        value = scope.values.get(name, getattr(builtins, name, None))
        if isinstance(value, Tensor) and type(value._edge) is not Leaf:
            lines = assigned(name, scope, position(term))
            if (
                value._edge is None
                or not depth
                or len(lines) != 1
                or not of_parameters(lines[0][1], lines[0][2], depth - 1)
            ):
                return False
        elif not (isinstance(value, (Tensor, ModuleType, int, float)) or is_module(value) or callable(value)):
            return False
    return not any(isinstance(n, ast.Call) and is_module(resolved(n.func, scope)) for n in parts(term))


THROUGH = "compute the loss without {name}; or pass the gradient straight through: y + (y.{name}() - y).detach()"
SMOOTH = {
    **{name: THROUGH.format(name=name) for name in ("round", "floor", "ceil", "trunc")},
    "sign": "use a smooth function instead: tanh(x)",
    **dict.fromkeys(("bernoulli", "poisson"), DRAWN[1]),
    "normal": "draw noise and transform it: mean + std * minigrad.randn_like(std)",
    "clamp": "begin inside the bounds, or use a function that is never flat: lo + (hi - lo) * sigmoid(x)",
    "floor_divide": "divide without rounding: x / y",
    "softmax": "use sigmoid for one score, or give the dimension more than one element",
    "log_softmax": "use sigmoid for one score, or give the dimension more than one element",
}


def check_zeros(roots: Sequence, limit: float = float("inf"), first: bool = False) -> None:
    """Warn about leaves that only flat operations lead to; a larger graph than `limit` nodes in front of them is left out.

    At a line's `first` backward, also warn if nothing but clamped elements leads to the leaves.
    """
    reached, ends, stack = set(), [], [producer(e) for e in roots]
    while stack:
        node = stack.pop()
        if node in reached:
            continue
        reached.add(node)
        if len(reached) > limit:
            return
        for i, e in enumerate(node._edges):
            if e is not None and (flat(node, i) or first and clamped(node, i)):
                ends.append((node, e))
            elif e is not None:
                stack.append(producer(e))
    found: dict[Any, set] = {}
    others = any([type(node) is Leaf for node in reached])
    for node, e in ends:
        if others and not flat(node, 0):  # a bound that holds now
            continue
        if others and issubclass(node._fn, Draw):  # data for the others, such as actions for a critic
            continue
        if leaves := reachable([e])[1] - reached:
            found.setdefault(node, set()).update(leaves)
    for node, leaves in found.items():
        warn_zero(node, sorted(leaves, key=lambda leaf: leaf._seq))


def warn_zero(node: Any, leaves: list) -> None:
    """Warn about leaves whose gradient is 0 because of a node."""
    name = node._fn.function_name()
    shapes = ", ".join(map(str, dict.fromkeys(leaf._shape for leaf in leaves)))
    which = (
        f"gradient of a leaf of shape {shapes} is"
        if len(leaves) == 1
        else f"gradients of {len(leaves)} leaves, {shapes}, are"
    )
    always = "" if clamped(node, 0) else "always "
    tracked = next(edge for edge in node._edges if edge is not None)
    warn(
        "zero-gradient",
        name,
        f"{why(node)}, so no gradient passes to its input of shape {tracked._shape}: the {which} {always}0",
        SMOOTH.get(name, "use a smooth function instead"),
        node._trace or line_of_call(name, leaves[0]),
    )


def why(node: Any) -> str:
    """Return the reason why a node's derivative is 0."""
    if alone(node):
        return "has a dimension of size 1, where its result is always the same"
    if clamped(node, 0):
        x, (lo, hi) = values(node, 0), node._saved[1:3]
        return f"all {x.size} elements of its input, {x.min():g} to {x.max():g}, are outside of the bounds {lo:g} and {hi:g}"
    if issubclass(node._fn, Draw):
        return "draws random numbers, which have no derivative with respect to its parameters"
    return "has derivative 0 everywhere"


def flat(node: Any, i: int) -> bool:
    """Return True if the derivative with respect to argument number i is 0 for all values."""
    if type(node) is Leaf or not node._fn.primitive or node._edges[i] is None:
        return False
    return flat_formula(node._fn, i) or alone(node)


@lru_cache(1024)
def flat_formula(fn: Any, i: int) -> bool:
    """Return True if an operation draws random numbers, or its formula for argument number i is the number 0."""
    f = fn.formulas.get(fn.parameter(i))
    return issubclass(fn, Draw) or f is not None and not fn.reads[fn.parameter(i)] and f() == 0


def alone(node: Any) -> bool:
    """Return True for a softmax of one score, from a layer, for each of several examples: its result is always 1.

    Attention to a single token is a softmax of size 1, too, but its scores are products.
    """
    if built_in(node) not in ("softmax", "log_softmax") or node._shape[1:] != (1,) or node._shape[0] < 2:
        return False
    dims = next((d for d in node._saved if type(d) is tuple), ()) if type(node._saved) is tuple else ()
    return dims in ((1,), (-1,)) and built_in(producer(node._edges[0])) in ("linear", "addmm", "affine")


def clamped(node: Any, i: int) -> bool:
    """Return True for a clamp between two numbers if all elements of its input are outside of them."""
    x = values(node, 0) if node._fn is ClampBetween else None
    if x is None:
        return False
    lo, hi = node._saved[1:3]
    return bool(((x < lo) | (x > hi)).all())


def values(node: Any, i: int) -> Any:
    """Return the array of a node's saved tensor number i, if its numbers can be read without waiting; else None."""
    saved = node._saved[i] if type(node._saved) is tuple and len(node._saved) > i else None
    if type(saved) is not Saved or saved.unpack is not None:
        return None
    a = plain_tensor(saved.tensor)._a
    return a if a.size and has_numbers(a) and not on_device(a) else None
