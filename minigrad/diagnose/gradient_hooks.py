"""Mistakes about hooks: their arguments and results, and when and how often they are registered."""

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from ..core.graph import name_of, operation_of
from ..core.saved import Freed
from ..core.tensor import Tensor
from ..errors import MinigradError, error, warn
from ..places import Place, defined_at, noted, returned_at
from . import debug
from .report import EXPLAINED, counted, explains

OFTEN = 3  # this many equal hooks on one tensor come from a loop
BRANCHES = (ast.Return, ast.For, ast.While, ast.Yield, ast.Lambda, ast.FunctionDef)  # a name may be read later in these
EFFECTS = ("backward", "register_", "retain_")  # methods of tensors that are called for their effect


def named(hook: Any) -> str:
    """Return the name of a hook for messages."""
    return getattr(hook, "__name__", type(hook).__name__)


EXPLAINED |= {
    "a hook is a function": lambda who, hook: error(
        TypeError,
        who,
        f"a hook is a function, but got {type(hook).__name__}",
        f"pass the function itself: {who}(f), not {who}(f(...))",
    ),
    "callbacks are queued during backward": lambda callback: error(
        RuntimeError,
        "queue_callback",
        f"no backward is running that could call {named(callback)} at its end",
        "call it in a hook, or in a Function's backward",
    ),
    "a tensor without history gets no gradient": lambda t, who: error(
        RuntimeError,
        who,
        f"a tensor of shape {tuple(t.shape)} that doesn't require gradient (requires_grad=False) never gets one",
        "call x.requires_grad_() first, or compute the tensor without no_grad() and detach()",
    ),
    "only leaves accumulate gradients": lambda t, node: error(
        RuntimeError,
        "register_post_accumulate_grad_hook",
        "post accumulate grad hooks cannot be registered on non-leaf tensors: this one of shape "
        f"{tuple(t.shape)} is the result of {operation_of(node)}, and backward does not fill its .grad",
        "use register_hook",
    ),
    "a post-accumulate hook returns None": lambda hook, t, got: error(
        RuntimeError,
        f"hook {named(hook)}",
        f"post accumulate grad hooks should return None, but this one on a tensor of shape {tuple(t.shape)} returns "
        f"{type(got).__name__}, which would be lost",
        "modify the gradient in place, tensor.grad.clamp_(-1, 1), or assign tensor.grad, and return nothing",
        defined_at(hook),
    ),
}


@explains("hook registered")
def registered(hooks: dict, hook: Callable, who: str) -> None:
    """Warn about a hook that is registered in a loop."""
    if len(hooks) >= OFTEN - 1 and (n := sum([same(hook, other) for other in hooks.values()])) >= OFTEN - 1:
        warn(
            "repeated-hook",
            who,
            f"the hook {named(hook)} is registered on this tensor {n + 1} times, and each backward calls it {n + 1} times",
            "register it once, before the loop, or remove the old one: handle.remove()",
        )


@explains("tensor hook registered")
def tensor_hook(node: Any, t: Tensor, hook: Callable) -> None:
    """Warn about a hook that comes too late, and in debug mode about one that drops its result."""
    warn_if_late("register_hook", node, t)
    if debug.mode.on:
        find_missing_return(hook)


@explains("retain_grad called")
def retain_grad(node: Any, t: Tensor) -> None:
    """Warn about a retain_grad that comes too late."""
    warn_if_late("retain_grad", node, t)


def warn_if_late(who: str, node: Any, t: Tensor) -> None:
    """Warn if a backward has already freed the node, so that no other backward can pass through it."""
    if type(freed := node._saved) is Freed:
        warn(
            "late-hook",
            who,
            f"backward has already freed the graph of this result of {operation_of(node)}, of shape {tuple(t.shape)}, so it "
            "gets no gradient",
            f"call {who} before backward",
            notes=noted("freed by backward", freed.place),
        )


@explains("a hook takes gradients")
def failed(hook: Callable, parameters: str, args: tuple, cause: TypeError) -> Exception:
    """Return the error for a hook that cannot take its arguments; any other exception unchanged."""
    try:
        signature = inspect.signature(hook)
    except ValueError:  # not written in Python
        return cause
    try:
        signature.bind(*args)
    except TypeError as wrong:
        return error(
            TypeError,
            f"hook {named(hook)}",
            f"{wrong}: it receives {len(args)} argument{'s' * (len(args) > 1)}, but is defined with {signature}",
            f"define it as hook({parameters})",
            defined_at(hook),
        )
    return cause


def check_arguments(hook: Callable, names: tuple) -> None:
    """Raise for a module's hook that cannot take these arguments."""
    wrong = failed(hook, ", ".join(names), names, TypeError())
    try:
        if isinstance(wrong, MinigradError):
            raise wrong
    finally:
        del wrong  # as in raise_instead


@explains("node hooks return tuples")
def wrong_result(node: Any, hook: Callable, kind: str, got: Any, grads: list) -> Exception:
    """Return the error for a result that is not a tuple with one gradient for each."""
    fix = "return a tuple with one gradient, or None, for each: (g1, g2)"
    if not isinstance(got, tuple):
        what = (
            f"returns {type(got).__name__}, expected a tuple of {counted(len(grads), 'gradient')} for {name_of(node)}"
        )
        return error(TypeError, f"{kind} {named(hook)}", what, fix, returned_at(hook))
    what = f"returns {counted(len(got), 'gradient')} for {name_of(node)}, expected {len(grads)}"
    return error(RuntimeError, f"{kind} {named(hook)}", what, fix, returned_at(hook))


@explains("a hook keeps the gradient's shape, dtype and device")
def wrong_gradient(hook: Callable, got: Any, g: Any, node: Any) -> Exception:
    """Return the error for a result that cannot replace the gradient."""
    kind: type[Exception] = RuntimeError
    whose = "" if node is None else f" of {name_of(node)}"
    if not isinstance(got, Tensor):
        kind, what, fix = TypeError, f"returns {type(got).__name__}, expected a tensor or None", "return a tensor"
    elif got._sizes != g._sizes:
        what = f"has changed the size of the gradient{whose} from {tuple(g.shape)} to {tuple(got.shape)}"
        fix = "return a tensor of the gradient's shape"
    elif got._np_dtype != g._np_dtype:
        what = f"has changed the type of the gradient{whose} from {g.dtype} to {got.dtype}"
        fix = "return result.to(grad.dtype)"
    else:
        what = f"has moved the gradient{whose} of shape {tuple(g.shape)} from {g.device} to {got.device}"
        fix = "return result.to(grad.device)"
    also = ", or return nothing to keep the gradient" if node is None else ""
    return error(kind, f"hook {named(hook)}", what, fix + also, returned_at(hook))


def same(f: Any, g: Any) -> bool:
    """Return True if two hooks do the same: one function, or one `def` run twice with equal defaults and variables."""
    if f == g:
        return True
    a, b = getattr(f, "__code__", None), getattr(g, "__code__", None)
    if a is None or a is not b:
        return False
    try:
        pairs = zip(*[[*(h.__defaults__ or ()), *[c.cell_contents for c in h.__closure__ or ()]] for h in (f, g)])
        return all([x is y for x, y in pairs])
    except ValueError:  # a variable without a value yet
        return False


def find_missing_return(hook: Callable) -> None:
    """Warn if a hook computes a new gradient from its parameter but neither uses nor returns it."""
    try:
        lines, first = inspect.getsourcelines(hook)
        f = ast.parse(textwrap.dedent("".join(lines))).body[0]
    except (OSError, TypeError, SyntaxError):  # no source, or a lambda in the middle of a line
        return
    inside = list(ast.walk(f))[1:]
    if not isinstance(f, ast.FunctionDef) or not f.args.args or any(isinstance(n, BRANCHES) for n in inside):
        return
    name = f.args.args[0].arg
    uses = {n for n in inside if isinstance(n, ast.Name) and n.id == name}
    for s in inside:
        if isinstance(s, ast.Assign) and lost(s, uses) or isinstance(s, ast.Expr) and without_effect(s.value, uses):
            result = name if isinstance(s, ast.Assign) else ast.unparse(s.value)
            warn(
                "hook-without-return",
                f"hook {named(hook)}",
                f"computes a new {name} but does not return it, so the gradient does not change",
                f"end the function with `return {result}`",
                Place(inspect.getsourcefile(hook) or "", first + s.lineno - 1),
            )
            return


def lost(s: ast.Assign, uses: set) -> bool:
    """Return True if a statement computes a new value of the name from the old one, and nothing uses it later."""
    end: Any = (s.end_lineno, s.end_col_offset)
    made_of_it = uses & {*s.targets} and uses & {*ast.walk(s.value)}
    return bool(made_of_it) and not any((n.lineno, n.col_offset) > end for n in uses)


def without_effect(value: ast.expr, uses: set) -> bool:
    """Return True if an expression statement computes something from the name, by an operator or an operation."""
    if isinstance(value, (ast.BinOp, ast.UnaryOp)):
        return bool(uses & {*ast.walk(value)})
    method = value.func if isinstance(value, ast.Call) else None
    if not isinstance(method, ast.Attribute) or method.value not in uses:
        return False
    return hasattr(Tensor, method.attr) and not method.attr.endswith("_") and not method.attr.startswith(EFFECTS)
