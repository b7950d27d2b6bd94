"""Random operations as expressions in the numbers that were drawn: the noise stays, what is computed from it follows."""

import ast
import re
from typing import Any

from minigrad.formulas import expression as e

DROPPED = "input * ((noise < 1 - p).to(input.dtype) * (0 if p == 1 else 1 / (1 - p)))"
LIMIT = "1.7580993408473766"  # of SELU, below zero
SCALE = f"(1 / ((1 - p) * (1 + p * {LIMIT} ** 2)) ** 0.5)"
TO_LIMIT = f"where(noise < 1 - p, input, -{LIMIT}) * {SCALE} + {SCALE} * p * {LIMIT}"
# the parameters of each function, as in its signature, and its result in terms of the noise
DRAWS = {
    **{f"dropout{k}(input, p=0.5, training=True, inplace=False)": DROPPED for k in ("", "1d", "2d", "3d")},
    "feature_dropout(input, p, train)": DROPPED,
    "alpha_dropout(input, p=0.5, training=False, inplace=False)": TO_LIMIT,
    "feature_alpha_dropout(input, p=0.5, training=False, inplace=False)": TO_LIMIT,
    "rrelu(input, lower=1 / 8, upper=1 / 3, training=False, inplace=False)": "input * noise",
    "gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1)": (
        "drawn_class(softmax((logits - log(noise.to(logits.dtype))) / tau, dim), hard, dim)"
    ),
    "bernoulli(input, p=None)": "(noise < (input if p is None else p)).to(input.dtype)",
    "bernoulli_(self, p=0.5)": "(noise < p).to(self.dtype)",
    "normal(mean=0.0, std=1.0, size=None, dtype=None)": "noise * std + mean",
    "normal_(self, mean=0.0, std=1.0)": "noise",
    "uniform_(self, low=0.0, high=1.0)": "noise",
    "exponential_(self, lambd=1.0)": "noise.to(self.dtype)",
    "cauchy_(self, median=0.0, sigma=1.0)": "noise.to(self.dtype)",
    "log_normal_(self, mean=1.0, std=2.0)": "noise.to(self.dtype)",
    "geometric_(self, p)": "noise.to(self.dtype)",
    "random_(self, low=0, high=None)": "noise",
}
WORDS = {f"drawn_{head[:-1]}, noise=None)": text for head, text in DRAWS.items()}
PARAMETERS = {head.partition("(")[0]: re.findall(r"[(,] ?(\w+)", head) for head in WORDS}


def drawn(op: dict, noise: str) -> str:
    """Return the call of a random operation with its noise, whose label is given; nothing for all other operations."""
    tree: Any = parsed(op["call"]) if noise else None
    if not isinstance(tree, ast.Call):
        return ""
    func, args = e.text(tree.func), tree.args
    if isinstance(tree.func, ast.Attribute):
        func, args = tree.func.attr, [tree.func.value, *tree.args]
    if (known := PARAMETERS.get(f"drawn_{func}")) is None:
        return ""
    keywords = [k for k in tree.keywords if k.arg in known] + [ast.keyword("noise", e.name(noise))]
    return e.text(ast.Call(e.name(f"drawn_{func}"), args, keywords))


def parsed(text: str) -> Any:
    """Return the tree of an expression; None if Python cannot parse it."""
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        return None
