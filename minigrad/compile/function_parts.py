"""Compile a function in parts: a statement that cannot be compiled runs as it is, what stands before and after it is compiled.

The function is written anew from its own text.  `driver` calls one part, which returns the variables that are read later, runs
the statement, and calls the other part, whose result is the function's.  A part that has such a statement itself is taken
apart in turn.  Where a variable may not be there yet, or an inner function has a hold on variables, nothing is taken apart.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from .captured_steps import Refused
from .guards import codes

# what keeps variables, binds names in other ways, or leaves the function in another way
KEEPS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await,
         ast.Global, ast.Nonlocal, ast.Delete, ast.Import, ast.ImportFrom, ast.Match)  # fmt: skip
COMPREHENSION = ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp
SEEING = {"locals", "vars", "dir", "eval", "exec", "super", "__class__"}  # what sees the variables of a function
WORK = ast.Call, ast.BinOp


class Part(NamedTuple):
    """Hold a function that is to be compiled: statements of another one, between two lines."""

    function: types.FunctionType
    tree: ast.FunctionDef
    lines: tuple[int, int]


class Parts(NamedTuple):
    """Hold what a function has become: `make(compiled parts)` gives one that runs them and the statement between."""

    make: Any
    parts: list[Part]
    line: int


def split(f: Any, tree: ast.FunctionDef | None, refused: Refused) -> Parts | None:
    """Take a function apart at the statement that was refused; None where that cannot be, or gains nothing."""
    tree = tree or text_of(f)
    nodes = [] if tree is None else [node for one in tree.body for node in ast.walk(one)]
    used = [one for node in nodes if isinstance(node, ast.Call) for one in node.args]  # generators among them end there
    if tree is None or any(isinstance(node, KEEPS) for node in nodes):
        return None
    if any(isinstance(node, ast.GeneratorExp) and node not in used for node in nodes):
        return None
    at = statement(f, tree.body, refused)
    if at is None or SEEING & names(tree.body, ast.Load):
        return None
    before, stop, after = tree.body[:at], tree.body[at], tree.body[at + 1 :]
    if any(isinstance(node, ast.Return) for one in before for node in ast.walk(one)):
        return None
    return Splitter(f, tree).split(before, stop, after)


def text_of(f: Any) -> ast.FunctionDef | None:
    """Return the text of a function, with the lines of its file; None for what is no plain function of some statements."""
    if type(f) is not types.FunctionType or f.__code__.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE):
        return None
    try:
        lines, first = inspect.getsourcelines(f)
        (tree,) = ast.parse(textwrap.dedent("".join(lines))).body
        whole = compile("".join(inspect.findsource(f)[0]), "", "exec", dont_inherit=True)
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    if not isinstance(tree, ast.FunctionDef) or tree.name != f.__name__:
        return None
    if all(meaning(code) != meaning(f.__code__) for code in codes(whole) if code.co_firstlineno == first):
        return None  # the file has changed since it was read
    ast.increment_lineno(tree, first - 1)
    return tree


def meaning(code: types.CodeType) -> tuple:
    """Return what a code object does, leaving aside where it stands."""
    constants = [meaning(a) if isinstance(a, types.CodeType) else repr(a) for a in code.co_consts]
    return code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, constants


def statement(f: types.FunctionType, body: list[ast.stmt], refused: Refused) -> int | None:
    """Return which statement was refused: the one that was running, or the first that uses a name."""
    if refused.culprit:
        return next((i for i, one in enumerate(body) if refused.culprit in names([one], ast.Load)), None)
    step, line = refused.__traceback__, None
    while step is not None:
        if step.tb_frame.f_code is f.__code__:
            line = step.tb_lineno
        step = step.tb_next
    return next((i for i, one in enumerate(body) if line and one.lineno <= line <= (one.end_lineno or 0)), None)


def names(body: Iterable[ast.AST], kind: type) -> set[str]:
    """Return the names that statements read (Load) or set (Store); `x += 1` does both, a comprehension has its own."""
    found: set[str] = set()
    for node in body:
        if isinstance(node, ast.Name):
            found |= {node.id} if isinstance(node.ctx, kind) else set()
        elif isinstance(node, COMPREHENSION):
            first, *others = node.generators
            inner = [one for one in ast.iter_child_nodes(node) if not isinstance(one, ast.comprehension)]
            inner += [part for one in others for part in (one.iter, *one.ifs)] + first.ifs
            own = names([one.target for one in node.generators], ast.Store)
            found |= names([first.iter], kind) | (names(inner, kind) - own)
        else:
            found |= names(ast.iter_child_nodes(node), kind)
            found |= names([node.target], ast.Store) if isinstance(node, ast.AugAssign) else set()
    return found


def surely_set(body: Iterable[ast.stmt]) -> set[str]:
    """Return the names that statements set, whatever happens."""
    found: set[str] = set()
    for one in body:
        if isinstance(one, ast.With):
            found |= surely_set(one.body)
        elif isinstance(one, (ast.Assign, ast.AugAssign)) or isinstance(one, ast.AnnAssign) and one.value is not None:
            found |= names([one], ast.Store)
    return found


class Splitter:
    """Write a function's parts."""

    def __init__(self, f: types.FunctionType, tree: ast.FunctionDef):
        self.f, self.tree = f, tree
        a = tree.args
        given = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
        self.given = {one.arg for one in given}
        self.locals = self.given | names(tree.body, ast.Store)
        self.parts: list[Part] = []

    def split(self, before: list[ast.stmt], stop: ast.stmt, after: list[ast.stmt]) -> Parts | None:
        """Return the parts, or None where a variable that one has to be given may not be there."""
        known = self.given | surely_set(before)
        later = names([stop, *after], ast.Load)
        outs = sorted(names(before, ast.Store) & later)
        open_ = names([stop], ast.Store) - surely_set([stop])  # set in a loop or a branch
        if set(outs) - known or names(after, ast.Load) & open_ - known:
            return None
        known |= surely_set([stop])
        body = [*self.called(before, self.given, outs), stop, *self.called(after, known, None)]
        if not self.parts:
            return None
        return Parts(self.driver(body), self.parts, stop.lineno)

    def called(self, body: list[ast.stmt], known: set[str], outs: Sequence[str] | None) -> list[ast.stmt]:
        """Return a call of a part in place of statements; `outs` are the variables that it gives, None for the result."""
        if not any(isinstance(node, WORK) for one in body for node in ast.walk(one)):
            return body
        inputs = sorted(names(body, ast.Load) & self.locals & known)
        lines = body[0].lineno, body[-1].end_lineno or body[-1].lineno
        name = f"{self.tree.name}_lines_{lines[0]}_to_{lines[1]}"
        tuple_of = lambda kind: ast.Tuple([ast.Name(one, kind()) for one in outs or ()], kind())
        arguments = ast.arguments([], [ast.arg(one) for one in inputs], None, [], [], None, [])
        end = [] if outs is None else [ast.Return(tuple_of(ast.Load))]
        tree = placed(defined(name, arguments, [*body, *end]), body[-1])
        self.parts.append(Part(function(tree, self.f), tree, lines))
        call = ast.Call(
            ast.Name(part_name(len(self.parts) - 1), ast.Load()), [ast.Name(x, ast.Load()) for x in inputs], []
        )
        made = ast.Return(call) if outs is None else ast.Assign([tuple_of(ast.Store)], call) if outs else ast.Expr(call)
        return [placed(made, body[0])]

    def driver(self, body: list[ast.stmt]) -> Any:
        """Return what makes the function that runs the parts, once they are compiled."""
        tree = placed(defined(self.tree.name, self.tree.args, body), self.tree)

        def make(compiled: list) -> types.FunctionType:
            made = function(tree, self.f, {part_name(i): part for i, part in enumerate(compiled)})
            made.__defaults__, made.__kwdefaults__ = self.f.__defaults__, self.f.__kwdefaults__
            return made

        return make


def part_name(i: int) -> str:
    """Return the name of a part in the function that calls it."""
    return f"__part_{i}"


def placed(node: Any, like: ast.AST) -> Any:
    """Return a new piece of a program with the line of another one."""
    return ast.fix_missing_locations(ast.copy_location(node, like))


def function(tree: ast.FunctionDef, like: types.FunctionType, more: dict[str, Any] | None = None) -> types.FunctionType:
    """Return a function written from its text, with the globals and cells of another one; `more` are variables around it."""
    cells = dict(zip(like.__code__.co_freevars, like.__closure__ or ()))
    cells |= {name: types.CellType(value) for name, value in (more or {}).items()}
    bare = defined(tree.name, without_defaults(tree.args), tree.body)
    around = ast.arguments([], [ast.arg(name) for name in cells], None, [], [], None, [])
    outer = placed(defined("around", around, [placed(bare, tree)]), tree)
    module = compile(ast.Module([outer], []), like.__code__.co_filename, "exec", dont_inherit=True)
    (whole,) = [c for c in module.co_consts if isinstance(c, types.CodeType)]
    (code,) = [c for c in whole.co_consts if isinstance(c, types.CodeType)]
    return types.FunctionType(
        code, like.__globals__, tree.name, None, tuple([cells[name] for name in code.co_freevars])
    )


def defined(name: str, arguments: ast.arguments, body: Sequence[ast.stmt]) -> ast.FunctionDef:
    """Return the definition of a function."""
    newer = {"type_params": []} if "type_params" in ast.FunctionDef._fields else {}  # from Python 3.12 on
    return ast.FunctionDef(name=name, args=arguments, body=list(body), decorator_list=[], **newer)


def without_defaults(a: ast.arguments) -> ast.arguments:
    """Return parameters without defaults and annotations, which are evaluated where a function is defined."""
    bare = lambda one: one and ast.arg(one.arg)
    return ast.arguments(
        [bare(one) for one in a.posonlyargs],
        [bare(one) for one in a.args],
        bare(a.vararg),
        [bare(one) for one in a.kwonlyargs],
        [None] * len(a.kwonlyargs),
        bare(a.kwarg),
        [],
    )
