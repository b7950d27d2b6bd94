"""Read the user's program: the running line, the values of its variables, and the statements that gave them their values.

A file is parsed once, and what is found in a function is kept.  Nothing is noted while a program runs.  Once there is
something to report, the running functions hold the values, and the text shows where a variable was bound: the mistake is
often there, while the error comes at a later line.  No code of the user runs.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import math
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import CodeType, FrameType, ModuleType
from typing import Any, NamedTuple

from ..core.engine import reachable
from ..core.tensor import Tensor
from ..places import (
    Place,
    caller_of,
    cell_name,
    defined_at,
    noted,
    parsed,
    returns,
    running,
    user_frame,
    users_code,
    variables,
)
from .modules import is_module, table, used_parameters
from .report import searches

DEEPEST = 8  # calls of the user's functions within each other
SWITCHES = {"no_grad", "inference_mode"}
LOOPS = (ast.For, ast.While)
COLUMNS = 1e6  # more than a line has
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class LinesLike:
    """Tells if a file has a line that matches one of some patterns; the answer is kept while linecache keeps the lines."""

    def __init__(self, *patterns: str | re.Pattern):
        self.patterns, self.scanned = [re.compile(p) for p in patterns], {}  # file -> its lines, and the answer

    def found_in(self, file: str) -> bool:
        """Return True if a line of the file matches."""
        lines = linecache.getlines(file)
        if self.scanned.get(file, (None, False))[0] is not lines:
            self.scanned[file] = lines, any([p.search(line) for line in lines for p in self.patterns])
        return self.scanned[file][1]


def body_of(code: CodeType, tree: ast.Module) -> ast.AST:
    """Return the definition with this code; the whole module if there is none, or if a line has several lambdas."""
    lambdas = [n for n in functions(tree) if isinstance(n, ast.Lambda) and n.lineno == code.co_firstlineno]
    if code.co_name == "<lambda>" and len(lambdas) == 1:
        return lambdas[0]
    named = [n for n in functions(tree) if isinstance(n, ast.FunctionDef) and n.name == code.co_name]
    first = lambda n: min([n.lineno, *[d.lineno for d in n.decorator_list]])  # decorators come first
    return next((n for n in named if first(n) == code.co_firstlineno), tree)


@lru_cache(64)
def functions(tree: ast.AST) -> list[ast.FunctionDef | ast.Lambda]:
    """Return the functions in a tree: a search asks for them at every call that it follows."""
    return [n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.Lambda))]


@lru_cache(64)
def statements(tree: ast.AST) -> list[ast.stmt]:
    """Return the statements of a scope in order, without those of functions and classes in it."""
    return [s for s in blocks(tree) if isinstance(s, ast.stmt)]


@lru_cache(64)
def blocks(tree: ast.AST) -> dict[ast.AST, list[tuple[ast.AST, list]]]:
    """Return what is around each statement of a scope, from the outside to the inside, each with the block that it is in."""
    found: dict[ast.AST, list] = {}

    def enter(outer: ast.AST, around: list) -> None:
        for _, block in ast.iter_fields(outer):
            for inner in block if isinstance(block, list) else ():
                if isinstance(inner, (ast.stmt, ast.ExceptHandler, ast.match_case)) and not isinstance(inner, SCOPES):
                    found[inner] = around if outer is tree else [*around, (outer, block)]
                    enter(inner, found[inner])

    enter(tree, [])
    return found


@lru_cache(64)
def written(tree: ast.AST) -> dict[str, list[tuple[ast.stmt, ast.expr]]]:
    """Return the statements of a scope that give each variable a value, or put something into it, with this value."""
    found: dict[str, list[tuple[ast.stmt, ast.expr]]] = {}
    for s in statements(tree):
        targets = getattr(s, "targets", None) or [getattr(s, "target", None)]
        value = getattr(s, "iter", None) or getattr(s, "value", None)
        if isinstance(s, ast.Expr) and isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            targets, value = [value.func.value], ast.Tuple(value.args)  # losses.append(loss.item()), x.copy_(y)
        if value is not None:
            for name in {name for t in targets if t is not None for name in names_in(parts(t))}:
                found.setdefault(name, []).append((s, value))
    return found


def assignments(tree: ast.AST, name: str, before: float) -> list[tuple[ast.stmt, ast.expr]]:
    """Return the statements whose value a variable may have at a position, with this value; the last one first.

    One that binds it anew, on every path to the position, hides those above it.  In a loop, later lines of its body come
    last: they belong to the round before.
    """
    loops = [s for s in statements(tree) if isinstance(s, LOOPS) and s.lineno < before and holds([s], before)]
    found, later, hidden = [], [], 0.0
    for s, value in written(tree).get(name, ()):
        if not (path := reaches(s, tree, before, loops)):
            continue
        if end_of(s) <= before:
            found, hidden = ([], s.lineno) if path == "always" and assigns(s, [name]) else (found, hidden)
            found.append((s, value))
        elif any(loop.lineno > hidden and holds([loop], s.lineno) for loop in loops):
            later.append((s, value))  # the variable lives on from the round before
    return found[::-1] + later[::-1]


def position(node: ast.expr | ast.stmt) -> float:
    """Return where a node begins: its line, and its column as a fraction."""
    return node.lineno + node.col_offset / COLUMNS


def end_of(s: ast.stmt) -> float:
    """Return where a statement ends, or where the header of a loop does."""
    last = s.iter if isinstance(s, ast.For) else s
    return (last.end_lineno or 0) + (last.end_col_offset or 0) / COLUMNS


def holds(block: list[ast.stmt], at: float) -> bool:
    """Return True if a position is on the lines of a block."""
    return block[0].lineno <= at < (block[-1].end_lineno or 0) + 1


def reaches(s: ast.stmt, tree: ast.AST, before: float, loops: list) -> str:
    """Return "always" if a position is reached only after a statement has run, "" if never, else "perhaps"."""
    if end_of(s) > before and not any(holds([loop], s.lineno) for loop in loops):
        return ""
    path = "always"
    for outer, block in blocks(tree).get(s, ()):
        inside = holds(block, before)
        if not inside and not loops and isinstance(outer, ast.If) and holds([outer], before):
            return ""  # in the other branch
        if not inside and not isinstance(outer, ast.With):
            path = "perhaps"
    return path


def assigns(s: ast.stmt, names: list[str]) -> bool:
    """Return True if a statement binds one of these names anew, which is not a write in place."""
    targets = s.targets if isinstance(s, ast.Assign) else [s.target] if isinstance(s, (ast.AnnAssign, ast.For)) else []
    inner = [n for t in targets for n in (t.elts if isinstance(t, (ast.Tuple, ast.List)) else [t])]
    return any(isinstance(n, ast.Name) and n.id in names for n in inner)


def begins(node: ast.AST) -> bool:
    """Return True if an expression makes a tensor that requires grad."""
    for n in ast.walk(node):
        if isinstance(n, ast.Call):
            if called_name(n) in ("Parameter", "requires_grad_"):
                return True
            if any(k.arg == "requires_grad" and getattr(k.value, "value", True) for k in n.keywords):
                return True
    return False


def parts(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of an expression from whose values its value comes: no condition, no index, nothing but a shape."""
    yield node
    for child in children(node):
        yield from parts(child)


def children(node: ast.AST) -> list[ast.AST]:
    """Return the direct parts of an expression from which its value comes."""
    if isinstance(node, ast.Lambda) or isinstance(node, ast.Attribute) and node.attr in OF_LAYOUT:
        return []
    if isinstance(node, ast.Call) and called_name(node) in LAYOUT_CALLS:
        return []
    left_out = conditions(node)
    return [child for child in ast.iter_child_nodes(node) if child not in left_out]


def conditions(node: ast.AST) -> list[ast.expr]:
    """Return the parts of an expression that only choose: an index, the condition of a where, the test of an `if`."""
    if isinstance(node, ast.Subscript):
        return [node.slice]
    if isinstance(node, ast.Call) and called_name(node) == "where":
        return node.args[:1]
    return [node.test] if isinstance(node, ast.IfExp) else node.ifs if isinstance(node, ast.comprehension) else []


OF_LAYOUT = frozenset("shape dtype device ndim layout requires_grad is_leaf grad_fn itemsize nbytes".split())
LAYOUT_CALLS = frozenset(
    "size dim numel len stride isinstance type id hasattr is_floating_point zeros_like ones_like empty_like full_like "
    "rand_like randn_like randint_like new_zeros new_ones new_empty new_full".split()
)  # their results depend on shape and dtype of a tensor alone


def called_name(call: ast.Call) -> str:
    """Return the last part of the name of the function that is called."""
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def calls_in(nodes: ast.AST | Iterable[ast.AST], *names: str) -> list[ast.Call]:
    """Return the calls in a tree or in several, in order of their levels; with names, those of functions called like this."""
    trees = [nodes] if isinstance(nodes, ast.AST) else nodes
    every = [n for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Call)]
    return [call for call in every if not names or called_name(call) in names]


def calls(name: str, node: ast.AST) -> bool:
    """Return True if a node calls an operation: x.floor(), torch.floor(x), self.softmax(x), or an operator, x // y."""
    if isinstance(node, ast.BinOp):
        return OPERATORS.get(type(node.op)) == name
    called = called_name(node).lower().strip("_") if isinstance(node, ast.Call) else None
    return called is not None and ALIASES.get(called, called) in (name, name.replace("_", ""))


ALIASES = {"clip": "clamp"}
OPERATORS: dict[type[ast.operator], str] = {ast.FloorDiv: "floor_divide", ast.Pow: "pow", ast.Div: "div"}


def names_in(nodes: Iterator[ast.AST]) -> list[str]:
    """Return the names among nodes."""
    return [n.id for n in nodes if isinstance(n, ast.Name)]


def switched_off(s: ast.stmt, tree: ast.AST) -> bool:
    """Return True if a statement is in a block that switches recording off, and in none inside of it that switches it on."""
    around = [outer for outer, _ in reversed(blocks(tree).get(s, ())) if isinstance(outer, ast.With)]
    switches = [item.context_expr for w in around for item in w.items]
    return next((names_switch(e) for e in switches if names_switch(e) or "enable_grad" in named_in(e)), False)


def names_switch(node: ast.expr) -> bool:
    """Return True if an expression, of a block or a decorator, switches recording off."""
    args = node.args if isinstance(node, ast.Call) else []
    given = args[0].value if args and isinstance(args[0], ast.Constant) else None
    return (
        "set_grad_enabled" in named_in(node)
        and given is False
        or bool(SWITCHES & named_in(node))
        and given is not False
    )


def named_in(node: ast.AST) -> set[str]:
    """Return the names and attributes in an expression."""
    return {getattr(n, "id", getattr(n, "attr", "")) for n in ast.walk(node)}


def around(scope: ast.AST, file: str) -> Iterator[tuple[ast.AST, str]]:
    """Yield the functions around a function's definition, its module, and the notebook cells before it, each with its file."""
    tree = parsed(file)
    if tree is not None and isinstance(scope, SCOPES):
        named = [n for n in functions(tree) if isinstance(n, ast.FunctionDef) and n is not scope]
        outer = [n for n in named if holds([n], scope.lineno)]
        yield from [(n, file) for n in [*outer[::-1], tree]]
    for cell in cells_before(file):
        if (tree := parsed(cell)) is not None:
            yield tree, cell


def cells_before(file: str) -> list[str]:
    """Return the files of the cells that a notebook has run before one, the last one first; [] for other files."""
    shell = sys.modules["IPython"].get_ipython() if cell_name(file) and "IPython" in sys.modules else None
    texts = [] if shell is None else list(shell.history_manager.input_hist_parsed)
    files = {"".join(linecache.getlines(name)).rstrip(): name for name in list(linecache.cache) if cell_name(name)}
    ran = [name for text in reversed(texts) if (name := files.get(text.rstrip())) is not None]
    return list(dict.fromkeys(ran[1:] if ran[:1] == [file] else ran))


# ---------------------------------------------------------------------- the running program
class End(NamedTuple):
    """End of a history: the operation, the user's line, the reason, and the fix."""

    name: str
    place: Place | None
    why: str
    fix: str


def with_line(fix: str, line: int) -> str:
    """Return a fix that names the line to change."""
    return fix.replace("{line}", str(line))


class Tracked:
    """Stand for a value that is not known but has a history."""


@dataclass(eq=False)
class Scope:
    """A function of the user or a module: its tree, its file, and the values of its variables as far as they are known."""

    tree: ast.AST
    file: str
    values: dict[str, Any]
    frame: FrameType | None = None  # while it runs
    leaf: Any = None  # the tensor whose history is searched for its end; None for the history of any tensor
    sought: str = ""  # the operation whose call is searched for; "" for the end of a history
    depth: int = 0
    entered: set = field(default_factory=set)  # functions that were read, with the arguments that have a history
    giving: dict = field(default_factory=dict)  # the same -> True if a result has a history
    followed: set = field(default_factory=set)  # assignments that were read
    reached: set = field(default_factory=set)  # variables that were read
    taking: dict[tuple, bool] = field(default_factory=dict)  # statement and variable -> True if a history goes in
    rebound: dict[str, int] = field(default_factory=dict)  # variables -> the last line that binds them again, or 0

    def has_history(self, value: Any, depth: int = 0) -> bool:
        """Return True if a value is tracked, holds something tracked, or is a module that uses parameters that require grad."""
        if isinstance(value, Tensor):
            edge = value._edge if value._layer is None else None
            return edge is not None and (self.leaf is None or self.leaf in reachable([edge])[1])
        if isinstance(value, (list, tuple, dict)):
            held = list(value.values() if isinstance(value, dict) else value)[:16]
            return depth < DEEPEST and any(self.has_history(v, depth + 1) for v in held)
        if hasattr(type(value), "rsample"):  # a distribution, whose parameters are attributes
            return depth < DEEPEST and any(self.has_history(v, depth + 1) for v in vars(value).values())
        return isinstance(value, Tracked) or is_module(value) and any(map(self.has_history, used_parameters(value)))

    def end(self, node: ast.expr | ast.stmt, name: str, why: str, fix: str) -> End:
        """Return the end of a history at a node."""
        return End(name, Place(self.file, node.lineno), why, with_line(fix, node.lineno))


def resolved(node: ast.AST, scope: Scope) -> Any:
    """Return the value of a name, or of attributes of it, such as self.net; else None.  No property of the user runs."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return scope.values.get(node.id)
    if isinstance(node, ast.Attribute) and (of := resolved(node.value, scope)) is not None:
        for known in (table(of, "_parameters"), table(of, "_modules")):
            if node.attr in known:
                return known[node.attr]
        return inspect.getattr_static(of, node.attr, None)
    return None


def is_users(f: Any) -> bool:
    """Return True for a function of the user."""
    return inspect.isfunction(f) and users_code(f) is not None


def running_line(
    leaf: Any = None, frame: FrameType | None = None, like: LinesLike | None = None
) -> tuple[ast.Call, Scope] | None:
    """Return the call that the user's line, or another frame of the user, is running, and the scope that it runs in."""
    scope = scope_of(frame or user_frame(), leaf, like)
    call = None if scope is None else running(scope.frame, ast.Call)
    return None if scope is None or call is None else (call, scope)


def scope_of(frame: FrameType | None, leaf: Any = None, like: LinesLike | None = None) -> Scope | None:
    """Return the scope that a frame runs in; None without its text, or if its file has no line `like` some pattern."""
    file = "" if frame is None else frame.f_code.co_filename
    if frame is None or like is not None and not like.found_in(file) or (tree := parsed(file)) is None:
        return None
    return Scope(body_of(frame.f_code, tree), file, variables(frame), frame, leaf)


def differentiated(call: ast.Call, scope: Scope) -> ast.expr:
    """Return the expression that a call differentiates."""
    if isinstance(call.func, ast.Attribute) and not isinstance(resolved(call.func.value, scope), ModuleType):
        return call.func.value  # loss.backward()
    if isinstance(getattr(resolved(call.func, scope), "__self__", None), Tensor):
        return call.func  # f = loss.backward; f()
    return next(iter([*call.args, *[k.value for k in call.keywords]]), call.func)  # autograd.grad(loss, w)


def assigned(name: str, scope: Scope, before: float) -> list[tuple[ast.stmt, ast.expr, Scope]]:
    """Return the statements that may have given a variable its value, with the value and the scope: this or an outer one."""
    if found := assignments(scope.tree, name, before):
        return [(s, value, scope) for s, value in found]
    parameters = ast.walk(scope.tree.args) if isinstance(scope.tree, (ast.FunctionDef, ast.Lambda)) else ()
    if any(isinstance(a, ast.arg) and a.arg == name for a in parameters):
        return []
    for tree, file in around(scope.tree, scope.file):
        if found := assignments(tree, name, math.inf):
            own = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
            local = own if isinstance(tree, ast.FunctionDef) else set()  # whose values are gone
            values = {key: value for key, value in scope.values.items() if key not in local}
            outer = replace(scope, tree=tree, file=file, values=values, frame=None, rebound={})
            return [(s, value, outer) for s, value in found]
    return []


# ---------------------------------------------------------------------- the line that made a value
@searches()
def made_line(value: Any) -> Place | None:
    """Return the line that bound the variable which holds a value, or the tensor with this edge; None if it is unknown."""
    frame = user_frame()
    for _ in range(DEEPEST):
        if frame is None or value is None:
            return None
        if lines := lines_of(value, frame):
            return Place(frame.f_code.co_filename, lines.pop()) if len(lines) == 1 else None
        frame = caller_of(frame)
    return None


def lines_of(value: Any, frame: FrameType) -> set[int]:
    """Return the lines before the running one that may have bound the variables with a value.

    Another name for the same value, `y = x`, and the items of a loop are not made there.
    """
    if (tree := parsed(frame.f_code.co_filename)) is None:
        return set()
    held = {name: v for name, v in variables(frame).items() if v is value or isinstance(v, Tensor) and v._edge is value}
    scope, found = body_of(frame.f_code, tree), set()
    if not held or held.keys() & bound_in_other_ways(scope):
        return set()
    for name, v in held.items():
        of_result = isinstance(v, Tensor) and not v.is_leaf
        for s, code in assignments(scope, name, frame.f_lineno):
            made = assigns(s, [name]) and not isinstance(s, ast.For) and not isinstance(code, ast.Name)
            if made and not (of_result and begins_at(code)):
                found.add(s.lineno)
    return found


def bound_in_other_ways(scope: ast.AST) -> set[str]:
    """Return the names that a scope binds by `:=`, `with`, or from a function inside, where no assignment shows it."""
    nodes = list(ast.walk(scope))
    targets = [n.target for n in nodes if isinstance(n, ast.NamedExpr)]
    targets += [n.optional_vars for n in nodes if isinstance(n, ast.withitem) and n.optional_vars is not None]
    outer = [name for n in nodes if isinstance(n, (ast.Global, ast.Nonlocal)) for name in n.names]
    return {*outer, *[n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]}


def begins_at(value: ast.expr) -> bool:
    """Return True for an expression whose own call makes a leaf: torch.ones(3, requires_grad=True), x.requires_grad_()."""
    inner = ast.Call(value.func, [], value.keywords) if isinstance(value, ast.Call) else None
    return inner is not None and begins(inner)


@searches(())
def without_return() -> list[str]:
    """Return a note with the user's function that has no `return`, whose call is an argument of the running call."""
    if (begun := running_line()) is None:
        return []
    call, scope = begun
    for node in call.args:
        called = resolved(node.func, scope) if isinstance(node, ast.Call) else None
        if inspect.isfunction(called) and users_code(called) is not None and not returns(called):
            return noted(f"{called.__name__} has no return", defined_at(called))
    return []


def made_at(value: Any, what: str = "it is made") -> list[str]:
    """Return a note with the line that bound the variable which holds a value, if it is known."""
    return noted(what, made_line(value))
