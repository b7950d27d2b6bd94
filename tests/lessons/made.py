"""Make wrong answers of common kinds from a solution: no return, another sign, exchanged arguments, an endless loop."""

import ast
from collections.abc import Callable, Iterator

__all__ = ["made"]

RESULTS = {  # what a return statement becomes, with X for its value
    "no return": "X",
    "None": "return None",
    "the wrong sign": "return -X",
    "a constant": "return 1.0",
    "a list": "return [X]",
    "another shape": "return np.asarray(X)[None]",
    "a wrong number of results": "return X, X, X",
    "text": "return 'text'",
}
BEGINNINGS = {  # a first statement
    "raises ValueError": "raise ValueError('no')",
    "raises TypeError": "raise TypeError('no')",
    "endless": "while True: pass",
    "endless, with except": "while True:\n    try: [].x\n    except Exception: pass",
    "exits": "raise SystemExit",
}
VALUES = {"None": "None", "a number": "3.0", "a list": "[1.0]", "an empty class": "type('A', (), {})"}


def made(name: str, solution: str) -> Iterator[tuple[str, str]]:
    """Yield wrong answers to an exercise: the kind in words, and the text.

    >>> dict(made("double", "def double(x):\\n    return 2 * x"))["double: the wrong sign"]
    'def double(x):\\n    return -(2 * x)'
    """
    yield from ((f"is {kind}", f"{name} = {value}") for kind, value in VALUES.items())
    top = ast.parse(solution).body[0]
    for method in (
        [f.name for f in top.body if isinstance(f, ast.FunctionDef)] if isinstance(top, ast.ClassDef) else [name]
    ):
        for kind, change in changes().items():
            tree = ast.parse(solution)
            change(next(f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) and f.name == method))
            if (text := ast.unparse(ast.fix_missing_locations(tree))) != ast.unparse(ast.parse(solution)):
                yield f"{method}: {kind}", text


def changes() -> dict[str, Callable[[ast.FunctionDef], None]]:
    """Return functions that change a function."""
    found: dict[str, Callable] = {kind: lambda f, text=text: returned(f, text) for kind, text in RESULTS.items()}
    found |= {kind: lambda f, text=text: f.body.insert(0, ast.parse(text).body[0]) for kind, text in BEGINNINGS.items()}
    return found | {"exchanged arguments": exchanged, "an argument too few": shortened}


def returned(f: ast.FunctionDef, text: str) -> None:
    """Replace each return statement of a function, but not those of functions inside it."""

    class Returns(ast.NodeTransformer):
        def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
            return node

        def visit_Return(self, node: ast.Return) -> ast.stmt:
            value = f"({ast.unparse(node.value)})" if node.value else "None"
            return ast.parse(f"def _(): {text.replace('X', value)}").body[0].body[0]  # type: ignore[attr-defined]

    f.body = [Returns().visit(statement) for statement in f.body]


def exchanged(f: ast.FunctionDef) -> None:
    """Exchange the first two arguments of a function, except self, cls and ctx."""
    named = [a for a in f.args.args if a.arg not in ("self", "cls", "ctx")]
    if len(named) > 1:
        named[0].arg, named[1].arg = named[1].arg, named[0].arg


def shortened(f: ast.FunctionDef) -> None:
    """Drop the last argument of a function."""
    f.args.args, f.args.defaults = f.args.args[:-1], []
