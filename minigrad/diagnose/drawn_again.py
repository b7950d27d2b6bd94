"""A Function whose backward draws a new random mask instead of the one by which forward multiplied.

The gradient then belongs to another function than the output.  Only masks are judged, of zeros and ones: some methods of
regularization draw new factors for backward on purpose.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from ..errors import warn
from ..places import Place
from .cut_functions import calls_in, named, tree_of
from .program_tree import called_name, names_in, statements
from .report import searches

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
    calls = [call for call, _ in calls_in(cls, "forward", "setup_context", "backward")]
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
        a for call, _ in calls_in(cls, "setup_context") if called_name(call).startswith("save_for") for a in call.args
    ]
    return any(not isinstance(a, ast.Name) or a.id not in arguments for a in saved) and bool(named(cls))
