"""Random operations as expressions in the numbers that were drawn: the noise stays, what is computed from it follows."""

from __future__ import annotations

import ast
import copy
from typing import Any

from minigrad.formulas import expression as e

DROPPED = "input * ((noise >= p).to(input.dtype) * (0 if p == 1 else 1 / (1 - p)))"
LIMIT = "1.7580993408473766"  # of SELU, below zero
SCALE = f"(1 / ((1 - p) * (1 + p * {LIMIT} ** 2)) ** 0.5)"
TO_LIMIT = f"where(noise >= p, input, -{LIMIT}) * {SCALE} + {SCALE} * p * {LIMIT}"
# the parameters of each function, as in its signature, and its result in terms of the noise
DRAWS = {
    "dropout(input, p=0.5, training=True, inplace=False)": DROPPED,
    "dropout1d(input, p=0.5, training=True, inplace=False)": DROPPED,
    "dropout2d(input, p=0.5, training=True, inplace=False)": DROPPED,
    "dropout3d(input, p=0.5, training=True, inplace=False)": DROPPED,
    "feature_dropout(input, p, train)": DROPPED,
    "alpha_dropout(input, p=0.5, training=False, inplace=False)": TO_LIMIT,
    "feature_alpha_dropout(input, p=0.5, training=False, inplace=False)": TO_LIMIT,
    "rrelu(input, lower=1 / 8, upper=1 / 3, training=False, inplace=False)": (
        "input * where(input > 0, 1.0, lower + (upper - lower) * noise).to(input.dtype)"
    ),
    "gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1)": (
        "drawn_class(softmax((logits - log(-log(1 - noise)).to(logits.dtype)) / tau, dim), hard, dim)"
    ),
    "bernoulli(input, p=None)": "(noise < (input if p is None else p)).to(noise.dtype)",
    "bernoulli_(self, p=0.5)": "(noise < p).to(self.dtype)",
    "normal(mean=0.0, std=1.0, size=None, dtype=None)": "noise * std + mean",
    "normal_(self, mean=0.0, std=1.0)": "noise * std + mean",
    "uniform_(self, low=0.0, high=1.0)": "noise * (high - low) + low",
    "exponential_(self, lambd=1.0)": "noise / lambd",
    "random_(self, low=0, high=None)": "noise",
}
HEADS: dict[str, tuple[Any, str]] = {
    head.partition("(")[0]: (ast.parse(f"lambda {head[head.index('(') + 1 : -1]}: 0", mode="eval").body, text)
    for head, text in DRAWS.items()
}


def drawn(op: dict, noise: str) -> str:
    """Return a random operation as an expression in its noise, whose label is given; nothing for all other operations."""
    tree: Any = parsed(op["call"]) if noise else None
    if not isinstance(tree, ast.Call):
        return ""
    name = tree.func.attr if isinstance(tree.func, ast.Attribute) else getattr(tree.func, "id", "")
    if name not in HEADS:
        return ""
    function, text = HEADS[name]
    parameters = function.args.args
    values = dict(zip([p.arg for p in reversed(parameters)], reversed(function.args.defaults)))
    given = [tree.func.value, *tree.args] if isinstance(tree.func, ast.Attribute) else tree.args
    values |= dict(zip([p.arg for p in parameters], given)) | {k.arg: k.value for k in tree.keywords if k.arg}
    return e.text(Instead({**values, "noise": e.name(noise)}).visit(parsed(text)))


class Instead(ast.NodeTransformer):
    """Replaces names by expressions."""

    def __init__(self, values: dict[str, Any]):
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return the expression for a name."""
        return copy.deepcopy(self.values.get(node.id, node))


def parsed(text: str) -> Any:
    """Return the tree of an expression; None if Python cannot parse it."""
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        return None
