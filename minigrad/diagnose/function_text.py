"""Find in the text of a user's Function why its output or its gradients have no history, and a mask that is drawn twice.

A backward is differentiable if it computes with tensors from the incoming gradient and from saved inputs or outputs.  Numbers,
and tensors that forward has computed, have no history.
"""

import ast
import inspect
from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from ..core.function import Function
from ..core.tensor import Tensor, is_float
from ..errors import warn
from ..places import Place, parsed, users_code
from .report import searches
from .users_program import body_of, called_name, calls_in, names_in, statements

_whole: WeakKeyDictionary[type, tuple[dict, int]] = WeakKeyDictionary()  # Function -> dtypes by output, their number
READS_NUMBERS = ("item", "tolist", "numpy", "detach")
ONCE = ", so its gradient cannot be differentiated again"
AGAIN = "save the inputs and compute {} again in backward"


def without_derivative(cls: Any) -> tuple[Place | None, str, str] | None:
    """Return the line where forward returns an output that has no derivative, with the reason and the fix; or None."""
    return whole(cls) or marked(cls)


def note_dtypes(cls: type, returned: tuple) -> None:
    """Note which outputs of a Function's first call are bools or integers."""
    dtypes = {i: o.dtype for i, o in enumerate(returned) if isinstance(o, Tensor) and not is_float(o)}
    if dtypes:
        _whole[cls] = dtypes, len(returned)


def whole(cls: Any) -> tuple[Place | None, str, str] | None:
    """Return the line where forward returns bools or integers, with the reason and the fix; None if it does not."""
    if cls not in _whole:
        return None
    dtypes, n = _whole[cls]
    i, dtype = next(iter(dtypes.items()))
    lines = [(s, file) for tree, file in tree_of(cls, "forward") for s in statements(tree) if isinstance(s, ast.Return)]
    place = Place(lines[-1][1], lines[-1][0].lineno) if lines else None
    value = lines[-1][0].value if lines else None
    parts = getattr(value, "elts", [value])
    value = parts[i] if len(parts) == n else value
    code = "them" if value is None else ast.unparse(value)
    code = code if isinstance(value, (ast.Name, ast.Call)) else f"({code})"
    why = f"returns {f'output {i} as ' * (n > 1)}{dtype}, which has no derivative, so its backward is never called"
    fix = f"return floats, {code}.float(); its backward then defines the slope, such as a smooth surrogate's"
    return place, why, fix


def marked(cls: Any) -> tuple[Place, str, str] | None:
    """Return the line where forward marks an output as non-differentiable, with the reason and the fix; None if it does not."""
    for call, file in calls_of(cls, "forward", "setup_context"):
        if called_name(call) == "mark_non_differentiable":
            code = ", ".join(map(ast.unparse, call.args))
            why = f"marks its output {code} as non-differentiable, so it has no history"
            return Place(file, call.lineno), why, f"differentiate another output, or remove {ast.unparse(call)}"
    return None


def constant_backward(cls: Any) -> tuple[Place, str, str] | None:
    """Return the line that makes a Function's gradients constant, with the reason and the fix; None if it is not found."""
    found = (check(cls) for check in (numbers_in_backward, computed_on_ctx, saved_intermediate))
    return next((cut for cut in found if cut is not None), None)


def numbers_in_backward(cls: Any) -> tuple[Place, str, str] | None:
    """Return the line of a backward that turns a tensor into numbers, with the reason and the fix; or None."""
    for call, file in calls_of(cls, "backward", "vjp"):
        if isinstance(call.func, ast.Attribute) and call.func.attr in READS_NUMBERS:
            why = f"computes its gradient with {ast.unparse(call)}, which has no history"
            return (
                Place(file, call.lineno),
                why + ONCE,
                f"compute with the tensor itself: {ast.unparse(call.func.value)}",
            )
    return None


def computed_on_ctx(cls: Any) -> tuple[Place, str, str] | None:
    """Return the line of a forward that stores a computed value on the ctx, with the reason and the fix; or None."""
    known = named(cls)
    for s, file in [(s, file) for tree, file in tree_of(cls, "forward") for s in statements(tree)]:
        computes = isinstance(s, ast.Assign) and isinstance(s.value, (ast.BinOp, ast.Call))
        if not computes or not known & set(names_in(ast.walk(s.value))):
            continue
        for t in s.targets:
            if isinstance(t, ast.Attribute) and isinstance(t.value, ast.Name) and t.value.id == "ctx":
                why = f"computes ctx.{t.attr} in forward without recording"
                return Place(file, s.lineno), why + ONCE, AGAIN.format(ast.unparse(s.value))
    return None


def saved_intermediate(cls: Any) -> tuple[Place, str, str] | None:
    """Return the line that saves a tensor that is neither an input nor an output, with the reason and the fix; or None."""
    known = named(cls)
    for call, file in calls_of(cls, "forward", "setup_context"):
        for a in call.args if called_name(call) == "save_for_backward" else ():
            if isinstance(a, ast.Name) and a.id not in known:
                why = f"saves {a.id}, which forward has computed without recording"
                return Place(file, call.lineno), why + ONCE, AGAIN.format(a.id)
    return None


def inside_forward(place: Place | None) -> bool:
    """Return True if a line belongs to the forward of a user's Function."""
    classes = [Function]
    for cls in classes:  # grows while it is iterated over
        classes += cls.__subclasses__()
        code = users_code(vars(cls).get("forward"))
        if place is not None and code is not None and code.co_filename == place.file:
            last = max(line for _, _, line in code.co_lines() if line is not None)
            if code.co_firstlineno <= place.line <= last:
                return True
    return False


def named(cls: Any) -> set[str]:
    """Return the names of a Function's inputs and outputs."""
    found: set[str] = set()
    for name in ("forward", "setup_context"):
        for tree, _ in tree_of(cls, name):
            found |= {a.arg for a in ast.walk(tree) if isinstance(a, ast.arg)}
            for s in statements(tree):
                if isinstance(s, ast.Return) and isinstance(s.value, (ast.Name, ast.Tuple)):
                    found |= {n.id for n in getattr(s.value, "elts", [s.value]) if isinstance(n, ast.Name)}
                elif isinstance(s, ast.Assign) and names_in(ast.walk(s.value)) in (["inputs"], ["output"]):
                    found |= {n for t in s.targets for n in names_in(ast.walk(t))}  # x, y = inputs
    return found


def calls_of(cls: Any, *methods: str) -> Iterator[tuple[ast.Call, str]]:
    """Yield the calls in a Function's methods, with the file."""
    for name in methods:
        for tree, file in tree_of(cls, name):
            yield from [(n, file) for n in calls_in(tree)]


def tree_of(cls: Any, name: str) -> Iterator[tuple[ast.AST, str]]:
    """Yield the tree of a method that the user wrote, and its file."""
    method = inspect.getattr_static(cls, name, None)
    code = users_code(getattr(method, "__func__", method)) if method is not None else None
    tree = None if code is None else parsed(code.co_filename)
    if code is not None and tree is not None and isinstance(body := body_of(code, tree), ast.FunctionDef):
        yield body, code.co_filename


DRAWS = frozenset("rand rand_like randn randn_like uniform uniform_ normal normal_ random randint randint_like".split())
MASKS = frozenset("bernoulli bernoulli_ binomial dropout".split())
SEEDS = frozenset("manual_seed seed default_rng Generator set_rng_state get_rng_state fork_rng RandomState".split())
# the code of backward -> that of forward: of Functions that have been looked at, which a program may define in each step
checked: WeakKeyDictionary = WeakKeyDictionary()


def check_function(cls: Any) -> None:
    """Look at a Function of the user at the first backward through it."""
    forward, backward = (getattr(getattr(cls, name), "__code__", None) for name in ("forward", "backward"))
    if cls.primitive or forward is None or backward is None:
        return
    if forward not in (known := checked.setdefault(backward, WeakSet())):
        known.add(forward)
        warn_drawn_again(cls)


@searches()
def warn_drawn_again(cls: Any) -> None:
    """Warn if forward and backward each draw a mask and multiply by it, and forward saves nothing of it."""
    calls = [call for call, _ in calls_of(cls, "forward", "setup_context", "backward")]
    if any(called_name(c) in SEEDS or any(k.arg == "generator" for k in c.keywords) for c in calls):
        return
    masks = {name: drawn for name in ("forward", "backward") for drawn in drawn_masks(cls, name)}
    if len(masks) < 2 or keeps(cls, masks["forward"][1]):
        return
    place, _ = masks["backward"]
    warn(
        "mask-drawn-again",
        f"{cls.__name__}.backward",
        "draws a new random mask, but the output is the input times the mask that forward drew: the gradient passes through "
        "elements that were dropped, and misses others",
        "draw it in forward alone, and keep it: ctx.save_for_backward(mask)",
        place,
    )


def drawn_masks(cls: Any, method: str) -> Iterator[tuple[Place, set[str]]]:
    """Yield the line of a method that draws a mask, with the names of what is computed from it, if it is multiplied by it."""
    for tree, file in tree_of(cls, method):
        drawn: set[str] = set()
        lines = [n.lineno for n in ast.walk(tree) if isinstance(n, ast.expr) and is_mask(n)]
        for s in statements(tree):
            if isinstance(s, ast.Assign) and is_drawn(s.value, drawn):
                drawn |= {n for t in s.targets for n in names_in(ast.walk(t))}
        products = [n for n in ast.walk(tree) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mult)]
        if lines and any(is_drawn(n.left, drawn) != is_drawn(n.right, drawn) for n in products):
            yield Place(file, lines[0]), drawn


def is_mask(node: ast.AST) -> bool:
    """Return True for a comparison of random numbers, or a call that draws zeros and ones."""
    if isinstance(node, ast.Call) and called_name(node) in MASKS:
        return True
    return isinstance(node, ast.Compare) and any(
        isinstance(n, ast.Call) and called_name(n) in DRAWS for n in ast.walk(node)
    )


def is_drawn(value: ast.expr, drawn: set[str]) -> bool:
    """Return True if an expression has a mask, or a name of one, in it."""
    return any(is_mask(n) or isinstance(n, ast.Name) and n.id in drawn for n in ast.walk(value))


def keeps(cls: Any, drawn: set[str]) -> bool:
    """Return True if a Function saves something that is computed from its mask, or may do so in setup_context."""
    for tree, _ in tree_of(cls, "forward"):
        stored = [
            s.value for s in statements(tree) if isinstance(s, ast.Assign) and not isinstance(s.targets[0], ast.Name)
        ]
        saved = [
            a
            for n in ast.walk(tree)
            if isinstance(n, ast.Call) and called_name(n).startswith("save_for")
            for a in n.args
        ]
        if any(is_drawn(value, drawn) for value in [*stored, *saved]):
            return True
    arguments = {a.arg for tree, _ in tree_of(cls, "forward") for a in ast.walk(tree) if isinstance(a, ast.arg)}
    saved = [
        a for call, _ in calls_of(cls, "setup_context") if called_name(call).startswith("save_for") for a in call.args
    ]
    return any(not isinstance(a, ast.Name) or a.id not in arguments for a in saved) and bool(named(cls))
