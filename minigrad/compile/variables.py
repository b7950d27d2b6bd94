"""Variables in the source of a function: the names that statements read and set, and the inner functions defined in it."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Set
from typing import Any, NamedTuple

COMPREHENSION = ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp
FUNCTIONS = ast.FunctionDef, ast.Lambda
LOOPS = ast.For, ast.While


def names(body: Iterable[ast.AST], kind: type) -> set[str]:
    """Return the names that statements read (Load) or set (Store); `x += 1` does both, and nested scopes keep their own names.

    A name read by an inner function counts as read at its definition, and wherever its name is used.
    """
    found: set[str] = set()
    for node in body:
        if isinstance(node, ast.Name):
            found |= {node.id} if isinstance(node.ctx, kind) else set()
            found |= names([definition], kind) - {node.id} if (definition := definition_of(node)) else set()
        elif isinstance(node, COMPREHENSION):
            first, *others = node.generators
            inner = [one for one in ast.iter_child_nodes(node) if not isinstance(one, ast.comprehension)]
            inner += [part for one in others for part in (one.iter, *one.ifs)] + first.ifs
            own = names([one.target for one in node.generators], ast.Store)
            found |= names([first.iter], kind) | (names(inner, kind) - own)
        elif isinstance(node, FUNCTIONS):
            found |= read_around(node) if kind is ast.Load else bound(node)
        else:
            found |= names(ast.iter_child_nodes(node), kind) | (bound(node) if kind is ast.Store else set())
            found |= names([node.target], ast.Store) if isinstance(node, ast.AugAssign) else set()
    return found


def bound(node: ast.AST) -> set[str]:
    """Return the names that a node itself sets, other than through ast.Name."""
    if isinstance(node, ast.alias):
        return {node.asname or node.name.partition(".")[0]}
    name = node.rest if isinstance(node, ast.MatchMapping) else getattr(node, "name", None)
    return {name} if isinstance(node, BINDING) and name else set()


BINDING = ast.FunctionDef, ast.MatchAs, ast.MatchStar, ast.MatchMapping


def read_around(f: Any) -> set[str]:
    """Return the names that a function or lambda reads from enclosing scopes."""
    body = f.body if isinstance(f, ast.FunctionDef) else [f.body]
    own = names(body, ast.Store) | {one.arg for one in parameters(f.args)} | bound(f)
    return names(body, ast.Load) - own | names(filter(None, [f.args, getattr(f, "returns", None)]), ast.Load)


def parameters(a: ast.arguments) -> list[ast.arg]:
    """Return all parameters of a function."""
    return [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]


def surely_set(body: Iterable[ast.AST]) -> set[str]:
    """Return the names that statements and expressions set in every case."""
    found: set[str] = set()
    for one in body:
        if isinstance(one, (ast.Assign, ast.AugAssign)) or isinstance(one, ast.AnnAssign) and one.value is not None:
            found |= names(one.targets if isinstance(one, ast.Assign) else [one.target], ast.Store)
        elif isinstance(one, (ast.FunctionDef, ast.Import, ast.ImportFrom)):
            found |= names([one], ast.Store)
        found |= {one.target.id} if isinstance(one, ast.NamedExpr) else set()
        found |= surely_set(surely_run(one))
    return found


def surely_run(one: Any) -> Iterable[ast.AST]:
    """Return the parts of a statement or expression that always run when it does."""
    match one:
        case ast.If() | ast.While() | ast.IfExp():
            return [one.test]
        case ast.For():
            return [one.iter]
        case ast.Match():
            return [one.subject]
        case ast.BoolOp():
            return one.values[:1]
        case ast.Compare():
            return [one.left, one.comparators[0]]
        case ast.FunctionDef() | ast.Lambda() | ast.Try() | ast.TryStar():
            return []
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return [one.generators[0].iter]
    return ast.iter_child_nodes(one)


def maybe_read_first(body: Iterable[ast.stmt], known: set[str]) -> set[str]:
    """Return the names that statements may read before setting them; `known` are already set."""
    found: set[str] = set()
    for one in body:
        if isinstance(one, (*LOOPS, ast.If)):
            head = one.iter if isinstance(one, ast.For) else one.test
            found |= names([head], ast.Load) - known
            inner = known | surely_set([head])
            own = names([one.target], ast.Store) if isinstance(one, ast.For) else set()
            found |= maybe_read_first(one.body, inner | own) | maybe_read_first(one.orelse, inner)
        else:
            found |= names([one], ast.Load) - known
        known = known | surely_set(one.items if isinstance(one, ast.With) else [one])  # `with suppress(...)`
    return found


def needed(body: list[ast.stmt], later: set[str], left: Set[str] = frozenset()) -> set[str]:
    """Return the names that are read from these statements on.

    `later` are read after them; `left` are read if they leave the enclosing loop or start its next round.
    """
    left_at = next((k for k, one in enumerate(body) if leaves(one)), None)
    ends = (k for k, one in enumerate(body) if k == left_at or isinstance(one, ast.With))
    found = maybe_read_first(body, set()) | later - surely_set(body[: next(ends, None)])
    return found if left_at is None else found | left - surely_set(body[:left_at])


def leaves(one: ast.AST) -> bool:
    """Return True if a statement may end the function, or the enclosing loop."""
    if isinstance(one, (ast.Return, ast.Break, ast.Continue)):
        return True
    if isinstance(one, FUNCTIONS):
        return False
    if isinstance(one, LOOPS):
        return any(isinstance(node, ast.Return) for node in own_nodes(one)) or any(map(leaves, one.orelse))
    return any(map(leaves, ast.iter_child_nodes(one)))


def own_nodes(one: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and its descendants, without the bodies of functions."""
    yield one
    for node in () if isinstance(one, FUNCTIONS) else ast.iter_child_nodes(one):
        yield from own_nodes(node)


# ---------------------------------------------------------------------- inner functions
def definition_of(name: ast.AST) -> Any:
    """Return the statement that defines the inner function with this name; None for other names."""
    return getattr(name, "definition", None)


def is_definition(one: ast.AST) -> bool:
    """Return True if a statement names a function or lambda."""
    if isinstance(one, ast.Assign) and isinstance(one.value, ast.Lambda):
        return len(one.targets) == 1 and isinstance(one.targets[0], ast.Name)
    return isinstance(one, ast.FunctionDef)


def note_inner_functions(tree: ast.FunctionDef) -> dict[str, Any] | None:
    """Return the statements that define inner functions, by name, and attach them to each use of the name.

    Return None unless each inner function means the same wherever it is defined again: the function's variables that it reads
    must be set once, before it and in no loop, and so must its own name.
    """
    found = {}
    given, places = {one.arg for one in parameters(tree.args)}, places_of_setting(tree)
    for one in [node for statement in tree.body for node in own_nodes(statement)]:
        if isinstance(one, FUNCTIONS):
            read = read_around(one)
            set_before = [places[name] < (one.lineno, one.col_offset) for name in read & places.keys() - given]
            if not has_plain_head(one) or read & given & places.keys() or not all(set_before):
                return None
        if is_definition(one):
            (name,) = names([one], ast.Store)
            if name in given or places[name] == OFTEN:
                return None
            found[name] = one
    within = {name: set(ast.walk(one)) for name, one in found.items()}
    for node in [node for statement in tree.body for node in ast.walk(statement)]:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node not in within.get(node.id, [node]):
            node.definition = found[node.id]  # type: ignore[attr-defined]
    return found


def has_plain_head(f: Any) -> bool:
    """Return True if defining a function evaluates nothing."""
    defaults = [*f.args.defaults, *filter(None, f.args.kw_defaults)]
    return not getattr(f, "decorator_list", ()) and all(isinstance(one, (ast.Constant, ast.Name)) for one in defaults)


OFTEN = sys.maxsize, 0


def places_of_setting(tree: ast.FunctionDef) -> dict[str, tuple[int, int]]:
    """Return the line and column where each variable is set; OFTEN if that is in a loop or in several places."""
    found: dict[str, tuple[int, int]] = {}

    def visit(node: Any, is_repeated: bool) -> None:
        for name in bound(node) | (
            {node.id} if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else set()
        ):
            found[name] = OFTEN if is_repeated or name in found else (node.lineno, node.col_offset)
        for one in () if isinstance(node, FUNCTIONS) else ast.iter_child_nodes(node):
            visit(one, is_repeated or isinstance(node, (*LOOPS, *COMPREHENSION)))

    for one in tree.body:
        visit(one, False)
    return found


class Variables(NamedTuple):
    """Knowledge about variables at one point: those surely set, those maybe set, and those that are read later.

    At the end of a function, where its result is computed, `later` is None. `left` are read where a round of a loop ends early.
    """

    known: set[str]
    maybe: set[str]
    later: set[str] | None
    left: Set[str] = frozenset()

    def after(self, body: list[ast.stmt]) -> Variables:
        """Return the knowledge after some statements."""
        return self._replace(known=self.known | surely_set(body), maybe=self.maybe | names(body, ast.Store))

    def before(self, body: list[ast.stmt]) -> Variables:
        """Return the knowledge before some statements."""
        return self._replace(later=needed(body, self.later or set(), self.left))
