"""Hooks: functions that the engine calls with the gradients as they pass.

A node has one Hooks object, made at the first registration: on the gradient of each output (tensor hooks, in order, then
retain_grad), before the node's backward (pre), after it (post), and for a leaf after its `.grad` was filled (accumulated).
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import weakref
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import numpy as np

from ..arrays.kinds import KINDS
from ..diagnose import debug
from ..errors import error, warn
from ..places import Place, defined_at
from .edges import Leaf, name_of, place_of, producer
from .frames import current
from .saved import Freed
from .tensor import Tensor, bottom, history, version

_handle = count().__next__
OFTEN = 3  # the same hook so many times on one tensor was registered in a loop
BRANCHES = (ast.Return, ast.For, ast.While, ast.Yield, ast.Lambda, ast.FunctionDef)  # where a name may be read later on
EFFECTS = ("backward", "register_", "retain_")  # methods of tensors that are called for what they do


class Handle:
    """What registering a hook returns; `.remove()` takes the hook off.  Also a context manager that does so at its end."""

    __slots__ = ("_hooks", "id")

    def __init__(self, hooks: dict, hook: Callable, who: str = "register_hook"):
        if not callable(hook):
            raise error(
                TypeError,
                who,
                f"a hook is a function, but got {type(hook).__name__}",
                f"pass the function itself, {who}(f) and not {who}(f(...))",
            )
        if len(hooks) >= OFTEN - 1 and (n := sum([same(hook, other) for other in hooks.values()])) >= OFTEN - 1:
            warn(
                "repeated-hook",
                who,
                f"the hook {named(hook)} is registered here {n + 1} times: each backward calls it as often",
                "register it once, before the loop, or take the old one off: handle.remove()",
            )
        self.id, self._hooks = _handle(), hooks
        hooks[self.id] = hook

    def remove(self) -> None:
        """Take the hook off; doing it twice is harmless."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


class Hooks:
    """The hooks of one node: tensor hooks and retained tensors by output number, pre and post hooks."""

    __slots__ = ("accumulated", "post", "pre", "retained", "tensor")

    def __init__(self):
        self.tensor: dict[int, dict] = {}
        self.retained: dict[int, weakref.ref] = {}
        self.pre: dict[int, Callable] = {}
        self.post: dict[int, Callable] = {}
        self.accumulated: dict[int, Callable] = {}  # of a leaf, after its `.grad` was filled


def hooks_of(node: Any) -> Hooks:
    """The node's hooks, made when first asked for."""
    if node._hooks is None:
        node._hooks = Hooks()
        if node._layer is not None:
            node._layer.opaque = True
    return node._hooks


def register_hook(t: Tensor, hook: Callable) -> Handle:
    """Call `hook(grad)` with t's gradient in each backward; a tensor that it returns takes the gradient's place.

    Raises RuntimeError for a tensor that does not require grad, TypeError for what cannot be called.
    """
    edge = history(t)
    if edge is None:
        raise untracked("register_hook", t)
    warn_if_late("register_hook", producer(edge), t)
    if debug.mode.on:
        find_missing_return(hook)
    return Handle(hooks_of(producer(edge)).tensor.setdefault(place_of(edge), {}), hook)


def register_post_accumulate_grad_hook(t: Tensor, hook: Callable) -> Handle:
    """Call `hook(t)` after each time t's `.grad` was filled.  Leaves only."""
    edge, who = history(t), "register_post_accumulate_grad_hook"
    if edge is None:
        raise untracked(who, t)
    if type(edge) is not Leaf:
        raise error(
            RuntimeError,
            who,
            "post accumulate grad hooks cannot be registered on non-leaf tensors: this one of shape "
            f"{tuple(t.shape)} is the result of {name_of(producer(edge))}, and backward does not fill its .grad",
            "use register_hook",
        )
    return Handle(hooks_of(edge).accumulated, hook, who)


def retain_grad(t: Tensor) -> None:
    """Fill `.grad` of this tensor in backward though it is the result of an operation.  No effect on leaves."""
    edge = history(t)
    if edge is None:
        raise untracked("retain_grad", t)
    if type(edge) is Leaf:
        return
    retained = hooks_of(producer(edge)).retained
    if place_of(edge) not in retained:
        warn_if_late("retain_grad", producer(edge), t)
        retained[place_of(edge)] = weakref.ref(t)


def untracked(who: str, t: Tensor) -> Exception:
    """The error for waiting for a gradient that never comes."""
    return error(
        RuntimeError,
        who,
        f"a tensor of shape {tuple(t.shape)} that doesn't require gradient (requires_grad=False) never gets one",
        "call x.requires_grad_() first, or take a result that was not made under no_grad() or by detach()",
    )


def warn_if_late(who: str, node: Any, t: Tensor) -> None:
    """Warn if a backward has gone through the node and freed it: no other one can follow."""
    if type(freed := node._saved) is Freed:
        warn(
            "late-hook",
            who,
            f"backward has gone through the graph of this result of {name_of(node)}, of shape {tuple(t.shape)}, and freed it, "
            "so no gradient will come here",
            f"call {who} before backward",
            notes=[f"freed by backward at {freed.place}"] if freed.place else [],
        )


def move_retained(old: Any, new: Any) -> None:
    """A tensor was written in place: retain_grad follows it from its old history to the new one."""
    hooks = None if old is None else producer(old)._hooks
    ref = None if hooks is None else hooks.retained.pop(place_of(old), None)
    if ref is not None:
        hooks_of(producer(new)).retained[place_of(new)] = ref


def before(node: Any, grads: list) -> list:
    """Run what stands before a node's backward on the gradients of its outputs."""
    hooks = node._hooks
    for i, fs in hooks.tensor.items():
        if grads[i] is not None:
            grads[i] = chain(fs, grads[i])
    for i, ref in hooks.retained.items():
        t = ref()
        if t is not None and grads[i] is not None:
            retain(t, grads[i])
    return grads


def retain(t: Tensor, g: Tensor) -> None:
    """Add a gradient to the `.grad` of a tensor that is no leaf."""
    t._grad = (g if current().grad else g.clone()) if t._grad is None else t._grad + g


def pre(node: Any, grads: list) -> list:
    """Run the node's own pre-hooks, which see all gradients as a tuple."""
    for hook in list(node._hooks.pre.values()):
        given = lent(grads)
        result = call(hook, "grad_outputs", tuple(given))
        grads = returned(given, grads)
        if result is not None:
            grads = replaced(node, hook, "pre-hook", result, grads)
    return grads


def post(node: Any, inputs: tuple, outputs: list) -> tuple:
    """Run the node's hooks with the gradients of its inputs and outputs; a returned tuple replaces those of the inputs."""
    places = node.tensor_inputs()
    grads = [inputs[i] for i in places]
    for hook in list(node._hooks.post.values()):
        given = lent(grads)
        result = call(hook, "grad_inputs, grad_outputs", tuple(given), tuple(lent(outputs)))
        grads = returned(given, grads)
        if result is not None:
            grads = replaced(node, hook, "hook", result, grads)
    found = dict(zip(places, grads))
    return tuple([found.get(i) for i in range(len(inputs))])


def accumulated(leaf: Leaf, t: Tensor) -> None:
    """Run a leaf's post-accumulate hooks."""
    for hook in list(leaf._hooks.accumulated.values()):
        if (result := call(hook, "tensor", t)) is not None:
            raise error(
                RuntimeError,
                f"hook {named(hook)}",
                f"post accumulate grad hooks should return None, but this one of a tensor of shape {tuple(t.shape)} returned "
                f"{type(result).__name__}, which would be lost",
                "change the gradient there in place, tensor.grad.clamp_(-1, 1), or set tensor.grad, and return nothing",
                defined_at(hook),
            )


def lent(grads: Sequence) -> list:
    """Gradients as a hook may see them: copies, for it may write to them, and others read the same memory."""
    return [None if g is None else g.clone() for g in grads]


def returned(given: list, grads: Sequence) -> list:
    """The gradients after a hook: its copies where it has written to them."""
    return [g if own is None or unchanged(own, g) else own for own, g in zip(given, grads, strict=True)]


def unchanged(own: Tensor, g: Tensor) -> bool:
    """Whether a hook has left its copy of a gradient alone; it may have written through .data or NumPy, too."""
    return not version(own) and (own._layer is not None or np.array_equal(own._a, bottom(g)._a, equal_nan=True))


def chain(hooks: dict, g: Tensor) -> Tensor:
    """Pass a gradient through hooks, each of which may replace it."""
    for hook in list(hooks.values()):
        given = lent([g])
        result = call(hook, "grad", *given)
        (g,) = returned(given, [g])
        if result is not None and result is not given[0]:
            check(hook, result, g, "; to leave the gradient as it is, return nothing")
            g = result
    return g


def replaced(node: Any, hook: Callable, kind: str, result: Any, grads: list) -> list:
    """The gradients that a node's hook has returned in place of these, checked."""
    if not isinstance(result, tuple):
        raise error(
            TypeError,
            f"{kind} {named(hook)}",
            f"returned {type(result).__name__}, expected a tuple of {counted(len(grads))} for {name_of(node)}",
            "return a tuple with one gradient, or None, for each: (g1, g2)",
            defined_at(hook),
        )
    if len(result) != len(grads):
        raise error(
            RuntimeError,
            f"{kind} {named(hook)}",
            f"returned {counted(len(result))} for {name_of(node)}, expected {len(grads)}",
            "return a tuple with one gradient, or None, for each: (g1, g2)",
            defined_at(hook),
        )
    for r, g in zip(result, grads):
        if r is not None:
            check(hook, r, g, "", f" of {name_of(node)}")
    return list(result)


def counted(n: int) -> str:
    """So many gradients, in words."""
    return f"{n} gradient{'' if n == 1 else 's'}"


def check(hook: Callable, result: Any, g: Tensor | None, also: str, whose: str = "") -> None:
    """Refuse what a hook has returned if it cannot take the place of this gradient."""
    kind: type[Exception] = RuntimeError
    if not isinstance(result, Tensor):
        kind, what, fix = TypeError, f"returned {type(result).__name__}, expected a tensor or None", "return a tensor"
    elif g is not None and result._sizes != g._sizes:
        what = f"has changed the size of the gradient{whose} from {tuple(g.shape)} to {tuple(result.shape)}"
        fix = "return a tensor of the gradient's shape"
    elif g is not None and result._np_dtype != g._np_dtype:
        what = f"has changed the type of the gradient{whose} from {g.dtype} to {result.dtype}"
        fix = "return result.to(grad.dtype)"
    elif g is not None and len(KINDS) > 1 and result.device != g.device:
        what = f"has moved the gradient{whose} of shape {tuple(g.shape)} from {g.device} to {result.device}"
        fix = "return result.to(grad.device)"
    else:
        return
    raise error(kind, f"hook {named(hook)}", what, fix + also, defined_at(hook))


def call(hook: Callable, parameters: str, *args: Any) -> Any:
    """Call a hook; if it does not take what hooks of its kind are given, say so."""
    try:
        return hook(*args)
    except TypeError:
        try:
            signature = inspect.signature(hook)
        except ValueError:  # not written in Python
            signature = None
        try:
            if signature is not None:
                signature.bind(*args)
        except TypeError as wrong:
            raise error(
                TypeError,
                f"hook {named(hook)}",
                f"{wrong}: it is called with {len(args)} argument{'s' * (len(args) > 1)}, but is defined with {signature}",
                f"define it as hook({parameters})",
                defined_at(hook),
            ) from None
        raise


def named(hook: Any) -> str:
    """What a hook is called in messages."""
    return getattr(hook, "__name__", type(hook).__name__)


def same(f: Any, g: Any) -> bool:
    """Whether two hooks do the same: one function, or one `def` or lambda run again with the same defaults and variables."""
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
    """Warn if a hook computes a new gradient from its parameter, and neither uses nor returns it."""
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
                f"computes a new {name} and does not return it, so the gradient stays as it is",
                f"end the function with `return {result}`",
                Place(inspect.getsourcefile(hook) or "", first + s.lineno - 1),
            )
            return


def lost(s: ast.Assign, uses: set) -> bool:
    """Whether a statement gives the name a new value made of the old, and nothing uses it later on."""
    end: Any = (s.end_lineno, s.end_col_offset)
    made_of_it = uses & {*s.targets} and uses & {*ast.walk(s.value)}
    return bool(made_of_it) and not any((n.lineno, n.col_offset) > end for n in uses)


def without_effect(value: ast.expr, uses: set) -> bool:
    """Whether an expression that stands alone computes something of the name, by an operator or an operation."""
    if isinstance(value, (ast.BinOp, ast.UnaryOp)):
        return bool(uses & {*ast.walk(value)})
    method = value.func if isinstance(value, ast.Call) else None
    if not isinstance(method, ast.Attribute) or method.value not in uses:
        return False
    return hasattr(Tensor, method.attr) and not method.attr.endswith("_") and not method.attr.startswith(EFFECTS)


def warn_non_leaf_grad(t: Any) -> None:
    """Reading .grad of a result: it is never filled, which is seldom what was meant."""
    made = t.grad_fn._trace
    warn(
        "grad-of-non-leaf",
        "grad",
        f"the .grad of a tensor that is not a leaf is being read (it is the result of {type(t.grad_fn).__name__}); "
        "backward does not fill it",
        "read the .grad of the leaf, or call .retain_grad() on the result before backward. A parameter is updated by "
        "`with minigrad.no_grad(): w -= lr * w.grad`, and made from other tensors by (a / b).requires_grad_()",
        notes=[] if made is None else [f"the operation was at {made}"],
    )
