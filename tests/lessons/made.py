"""Make answers from a solution: wrong ones of common kinds, such as another sign, and right ones in other forms."""

import ast
from collections.abc import Callable, Iterator

__all__ = ["forms", "made"]

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


def forms(name: str, solution: str) -> Iterator[str]:
    """Yield a solution in other forms, each as right: names of one's own, vjp for backward, gradients in a list.

    >>> [*forms("double", "def double(x):\\n    y = 2 * x\\n    return y")]
    ['def double(x):\\n    own_y = 2 * x\\n    return own_y']
    """
    trees = [ast.parse(solution) for _ in range(4)]
    for change, tree in zip((renamed, by_vjp, in_a_list, with_vmap), trees):
        for node in tree.body:
            if getattr(node, "name", "") == name:
                change(node)
        text = ast.unparse(ast.fix_missing_locations(tree))
        if text != ast.unparse(ast.parse(solution)):
            yield text


def renamed(top: ast.AST) -> None:
    """Rename the variables of a function or class that are not arguments."""
    nodes = [*ast.walk(top)]
    kept = {a.arg for a in nodes if isinstance(a, ast.arg)}
    kept |= {n for node in nodes if isinstance(node, ast.Global | ast.Nonlocal) for n in node.names}
    inside = [n for f in nodes if isinstance(f, ast.FunctionDef) for s in f.body for n in ast.walk(s)]
    own = {n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)} - kept
    for node in inside:
        if isinstance(node, ast.Name) and node.id in own:
            node.id = f"own_{node.id}".replace("own_own_", "own_")


def methods(top: ast.AST) -> dict[str, ast.FunctionDef]:
    """Return the methods of a class; none of anything else."""
    return {
        f.name: f for f in getattr(top, "body", []) if isinstance(top, ast.ClassDef) and isinstance(f, ast.FunctionDef)
    }


def by_vjp(top: ast.AST) -> None:
    """Call the backward of a Function by its other name."""
    if "backward" in methods(top) and "forward" in methods(top):
        methods(top)["backward"].name = "vjp"


def in_a_list(top: ast.AST) -> None:
    """Return the gradients of a Function in a list."""
    for node in ast.walk(methods(top).get("backward", ast.Pass())):
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
            node.value = ast.List(node.value.elts, ast.Load())


def with_vmap(top: ast.AST) -> None:
    """Let the rule for vmap be made, which needs a setup_context."""
    if isinstance(top, ast.ClassDef) and "setup_context" in methods(top) and "vmap" not in ast.unparse(top):
        top.body.insert(0, ast.parse("generate_vmap_rule = True").body[0])
