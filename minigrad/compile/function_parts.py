"""Compile a function in parts: a statement that cannot be compiled runs eagerly, the code before and after it is compiled.

The function is rewritten from its source. `driver` calls the first part, which returns the variables read later, runs the
statement, and calls the second part, which computes the function's result. If the statement is a loop or a branch, its body
becomes parts as well. If it calls the function or module that causes the trouble, that one is split in turn, and so is a part
that contains another such statement. Statements whose variables may be unset stay as they are. Inner functions are defined
again in each part that reads their name (variables.py says when that is safe); if one captures variables that change, the
function is not split.
"""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import itertools
import re
import textwrap
import types
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..places import chain, is_library_frame
from .captured_steps import Refused
from .guards import codes
from .variables import (
    LOOPS,
    Variables,
    definition_of,
    is_definition,
    leaves,
    maybe_read_first,
    names,
    needed,
    note_inner_functions,
    parameters,
    surely_set,
)

# captures variables, binds names in other ways, or leaves the function in another way
KEEPS = (ast.AsyncFunctionDef, ast.ClassDef, ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal, ast.Delete)
SEEING = {"locals", "vars", "dir", "eval", "exec", "super", "__class__"}  # these can read a function's variables
WORK = ast.Call, ast.BinOp
IMPORTS = ast.Import, ast.ImportFrom
INNER = "__inner"  # looks up the functions that are called


class Part(NamedTuple):
    """A function to be compiled: statements of another function, between two lines."""

    function: types.FunctionType
    tree: ast.FunctionDef
    lines: tuple[int, int]


class Parts(NamedTuple):
    """A split function: `make(compiled parts, inner)` returns a function that runs the parts and the statement between them.

    `inner` maps each function called in that statement to its replacement.
    """

    make: Any
    parts: list[Part]
    line: int


def split(f: Any, tree: ast.FunctionDef | None, refused: Refused) -> Parts | None:
    """Split a function at the refused statement; return None if that is impossible or gains nothing."""
    f, given = plain(f)
    tree = tree or text_of(f)
    nodes = [] if tree is None else [node for one in tree.body for node in ast.walk(one)]
    used = [one for node in nodes if isinstance(node, ast.Call) for one in node.args]  # generators in calls end there
    if tree is None or any(isinstance(node, KEEPS) for node in nodes) or SEEING & names(tree.body, ast.Load):
        return None
    if any(isinstance(node, ast.GeneratorExp) and node not in used for node in nodes):
        return None
    inner = note_inner_functions(tree)
    stop = Stop(f, given, refused, tree.body)
    if inner is None or not any(map(stop.meets, tree.body)):
        return None
    return Splitter(f, tree, inner, stop).split(given)


def plain(f: Any) -> tuple[Any, tuple]:
    """Return the function that a call of f runs, and the arguments that are bound to it."""
    if is_module(f):
        return type(f).forward, (f,)
    return (f.__func__, (f.__self__,)) if isinstance(f, types.MethodType) else (f, ())


def is_module(f: Any) -> bool:
    """Return True if calling an object only runs the `forward` of its class, without hooks."""
    return getattr(f, "_hooks", None) == {} and "forward" not in vars(f)


def text_of(f: Any) -> ast.FunctionDef | None:
    """Return a function's syntax tree, with the line numbers of its file; None unless it is a plain function of statements."""
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
        return None  # the file has changed since it was imported
    ast.increment_lineno(tree, first - 1)
    indent = len(lines[0]) - len(lines[0].lstrip())
    for node in ast.walk(tree):
        if isinstance(node, (ast.stmt, ast.expr)):  # match the columns of the file, as the bytecode has them
            node.col_offset += indent
            node.end_col_offset = (node.end_col_offset or 0) + indent
    return tree


def meaning(code: types.CodeType) -> tuple:
    """Return the effect of a code object, regardless of its position in the file."""
    constants = [meaning(a) if isinstance(a, types.CodeType) else repr(a) for a in code.co_consts]
    return code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, constants


class Stop:
    """The place where a function was refused: a position, or a name or attribute; `inside` if a callee was refused."""

    def __init__(self, f: types.FunctionType, given: tuple, refused: Refused, body: list[ast.stmt]):
        self.name, self.inside = "", bool(refused.culprit) and not refused.is_own
        self.line, self.column = 0, -1
        if refused.culprit:
            self.name = mentioned(refused.culprit, f.__code__.co_varnames[0] if given else "self", body)
            return
        for step in chain(refused.__traceback__):
            code = step.tb_frame.f_code
            if code is f.__code__:
                _, _, column, _ = next(itertools.islice(code.co_positions(), step.tb_lasti // 2, None))
                self.line, self.column, self.inside = step.tb_lineno, -1 if column is None else column, False
            elif not is_library_frame(step.tb_frame) or code.co_name == "forward":  # of a module of minigrad
                self.inside = True

    def meets(self, one: ast.stmt) -> bool:
        """Return True if a statement is the refused one, or contains it."""
        if is_definition(one):  # it stops where it is called
            return False
        if self.name:
            return self.name in texts(one)
        first, last = (one.lineno, one.col_offset), (one.end_lineno or 0, one.end_col_offset or 0)
        if self.column < 0:  # Python runs without column positions
            return first[0] <= self.line <= last[0]
        return first <= (self.line, self.column) <= last


def mentioned(path: str, self_: str, body: list[ast.stmt]) -> str:
    """Return the longest prefix of a path, from the function's variables to an object, that its source mentions."""
    path = re.sub(r"\._modules\['(\w+)'\]", r".\1", re.sub(r"^self\b", self_, path))
    parts = re.split(r"[.\[]", path)
    found = set().union(*map(texts, body))
    return next((text for k in range(len(parts), 0, -1) if (text := ".".join(parts[:k])) in found), path)


def texts(one: ast.stmt) -> set[str]:
    """Return the names and attributes that a statement reads, including those in inner functions it mentions."""
    named = [definition for node in ast.walk(one) if (definition := definition_of(node))]
    own = {ast.unparse(node) for node in ast.walk(one) if isinstance(node, ast.Attribute)}
    return names([one], ast.Load) | own.union(*map(texts, named))


class Splitter:
    """Rewrites a function as parts and a driver."""

    def __init__(self, f: types.FunctionType, tree: ast.FunctionDef, inner: dict[str, ast.stmt], stop: Stop):
        self.f, self.tree, self.inner, self.stop = f, tree, inner, stop
        self.given = {one.arg for one in parameters(tree.args)}
        self.locals = self.given | names(tree.body, ast.Store)
        self.parts: list[Part] = []
        self.line = 0

    def split(self, given: tuple) -> Parts | None:
        """Return the parts; None if there are none and no callee to compile either."""
        body = self.block(self.tree.body, Variables(self.given, set(), None))
        return Parts(self.driver(body, given), self.parts, self.line) if self.parts or self.stop.inside else None

    def block(self, body: list[ast.stmt], at: Variables) -> list[ast.stmt]:
        """Return rewritten statements: the refused one as it is, those around it as parts."""
        k = next((i for i, one in enumerate(body) if self.stop.meets(one)), None)
        if k is None:
            return self.segment(body, at)
        before, one, after = body[:k], body[k], body[k + 1 :]
        first = self.segment(before, at.before([one, *after]))
        at = at.after(before)
        stopped = self.stopped(one, at.before(after))
        return [*first, stopped, *self.segment(after, at.after([one]))]

    def segment(self, body: list[ast.stmt], at: Variables) -> list[ast.stmt]:
        """Return calls of parts for statements; those that leave a loop, or have unsure variables, stay as they are."""
        unsure = [self.is_unsure(one, at.after(body[:k]).before(body[k + 1 :])) for k, one in enumerate(body)]
        if at.later is None:  # the last part computes the result
            end = 1 + max([k for k, found in enumerate(unsure) if found], default=-1)
            return [*self.segment(body[:end], at.before(body[end:])), *self.called(body[end:], at.after(body[:end]))]
        found: list[ast.stmt] = []
        done = 0
        for stays, group in itertools.groupby(range(len(body)), lambda k: unsure[k] or leaves(body[k])):
            some = [body[k] for k in group]
            done += len(some)
            found += some if stays else self.called(some, at.before(body[done:]))
            at = at.after(some)
        return found

    def is_unsure(self, one: ast.stmt, at: Variables) -> bool:
        """Return True if a statement reads a variable that may be unset, or may fail to set one for later statements."""
        read = maybe_read_first([one], at.known) & at.maybe
        unset = names([one], ast.Store) & (at.later or set()) - surely_set([one]) - at.known
        return bool(read | unset) or isinstance(one, IMPORTS)

    def stopped(self, one: ast.stmt, at: Variables) -> ast.stmt:
        """Return the refused statement; statements nested in it become parts."""
        self.line = one.lineno
        made: Any = copy.copy(one)
        if isinstance(one, LOOPS):  # after the body of a loop comes its next round, or the code that follows
            after = at.later or set()
            at = at.before([one])._replace(maybe=at.maybe | names([one], ast.Store))
            at = at._replace(later=(at.later or set()) | after, left=(at.later or set()) | after)
        heads = [name for name in ("iter", "test", "subject") if hasattr(one, name)]
        for name in heads:
            setattr(made, name, self.with_inner(getattr(one, name)))
        at = at.after([getattr(one, name) for name in heads])
        if isinstance(one, (*LOOPS, ast.If)) or isinstance(one, ast.With) and all(map(self.raises_on, one.items)):
            own = [one.target] if isinstance(one, ast.For) else one.items if isinstance(one, ast.With) else []
            made.body = self.block(one.body, at._replace(known=at.known | names(own, ast.Store)))
            if not isinstance(one, ast.With):
                made.orelse = self.block(one.orelse, at)
            return made
        if isinstance(one, ast.Match):
            made.cases = [self.case(case, at) for case in one.cases]
            return made
        return self.with_inner(made)

    def raises_on(self, item: ast.withitem) -> bool:
        """Return True if a context lets errors through, as minigrad's contexts do.

        After a context that swallows errors, the function may read variables set before the error, which a part would lose.
        """
        named = item.context_expr.func if isinstance(item.context_expr, ast.Call) else item.context_expr
        cells = inspect.getclosurevars(self.f)
        scope = {**cells.globals, **cells.nonlocals}
        try:
            found = eval(compile(ast.Expression(named), "", "eval"), {}, scope) if is_dotted(named) else None
        except (NameError, AttributeError):
            return False
        return getattr(found, "__module__", "").partition(".")[0] == "minigrad"

    def case(self, one: ast.match_case, at: Variables) -> ast.match_case:
        """Return a case of the refused match statement."""
        at = at._replace(maybe=at.maybe | names([one], ast.Store))  # also set by patterns and guards that do not match
        own = names([one.pattern], ast.Store) | surely_set(filter(None, [one.guard]))
        return ast.match_case(one.pattern, one.guard, self.block(one.body, at._replace(known=at.known | own)))

    def with_inner(self, node: Any) -> Any:
        """Return a statement or expression whose calls go through `inner`."""
        return InnerCalls().visit(copy.deepcopy(node))

    def called(self, body: list[ast.stmt], at: Variables) -> list[ast.stmt]:
        """Return a call of a new part for statements, with inner functions, if compiling them gains something."""
        work = [one for one in body if not is_definition(one)]
        if not any(isinstance(node, WORK) for one in work for node in ast.walk(one)):
            return body
        read, set_, inner = names(body, ast.Load), names(body, ast.Store), self.inner.keys()
        outs = None if at.later is None else sorted(set_ & at.later - inner)
        inputs = sorted(needed(body, set(outs or ())) & self.locals & at.known - inner)
        lines = work[0].lineno, work[-1].end_lineno or work[-1].lineno
        name = f"{self.tree.name}_lines_{lines[0]}_to_{lines[1]}"
        names_of = lambda some, kind: [ast.Name(one, kind()) for one in some or ()]
        tuple_of = lambda kind: ast.Tuple(names_of(outs, kind), kind())
        arguments = ast.arguments([], [ast.arg(one) for one in inputs], None, [], [], None, [])
        end = [] if outs is None else [ast.Return(tuple_of(ast.Load))]
        tree = placed(defined(name, arguments, [*self.definitions(read - set_), *body, *end]), body[-1])
        self.parts.append(Part(function(tree, self.f), tree, lines))
        call = ast.Call(ast.Name(part_name(len(self.parts) - 1), ast.Load()), names_of(inputs, ast.Load), [])
        made = ast.Return(call) if outs is None else ast.Assign([tuple_of(ast.Store)], call) if outs else ast.Expr(call)
        return [placed(made, body[0]), *self.definitions(set_ & (at.later or set()))]

    def definitions(self, wanted: set[str]) -> list[ast.stmt]:
        """Return the statements that define the inner functions of the given names."""
        return [one for name, one in self.inner.items() if name in wanted]

    def driver(self, body: list[ast.stmt], given: tuple) -> Any:
        """Return a function that builds the driver from the compiled parts."""
        tree = placed(defined(self.tree.name, self.tree.args, body), self.tree)

        def make(compiled: list, inner: Callable) -> Callable:
            made = function(tree, self.f, {INNER: inner, **{part_name(i): part for i, part in enumerate(compiled)}})
            made.__defaults__, made.__kwdefaults__ = self.f.__defaults__, self.f.__kwdefaults__
            return functools.partial(made, *given) if given else made

        return make


class InnerCalls(ast.NodeTransformer):
    """Wraps each called function in a lookup, except inner functions, which are new objects in each call."""

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if definition_of(node.func):
            return node
        node.func = placed(ast.Call(ast.Name(INNER, ast.Load()), [node.func], []), node.func)
        return node


def is_dotted(node: ast.AST) -> bool:
    """Return True if an expression is a name, or an attribute of one."""
    return isinstance(node, ast.Name) or isinstance(node, ast.Attribute) and is_dotted(node.value)


def part_name(i: int) -> str:
    """Return the name of a part in the function that calls it."""
    return f"__part_{i}"


def placed(node: Any, like: ast.AST) -> Any:
    """Return a new syntax node at the line of another one."""
    return ast.fix_missing_locations(ast.copy_location(node, like))


def function(tree: ast.FunctionDef, like: types.FunctionType, more: dict[str, Any] | None = None) -> types.FunctionType:
    """Return a function compiled from its tree, with the globals and cells of `like`; `more` are extra enclosing variables."""
    cells = dict(zip(like.__code__.co_freevars, like.__closure__ or ()))
    cells |= {name: types.CellType(value) for name, value in (more or {}).items()}
    bare = defined(tree.name, without_defaults(tree.args), tree.body)
    around = ast.arguments([], [ast.arg(name) for name in cells], None, [], [], None, [])
    outer = placed(defined("around", around, [placed(bare, tree)]), tree)
    module = compile(ast.Module([outer], []), like.__code__.co_filename, "exec", dont_inherit=True)
    _, _, code, *_ = codes(module)
    closure = tuple([cells[name] for name in code.co_freevars])
    return types.FunctionType(code, like.__globals__, tree.name, None, closure)


def defined(name: str, arguments: ast.arguments, body: Sequence[ast.stmt]) -> ast.FunctionDef:
    """Return the definition of a function."""
    newer = {"type_params": []} if "type_params" in ast.FunctionDef._fields else {}  # Python 3.12 and later
    return ast.FunctionDef(name=name, args=arguments, body=list(body), decorator_list=[], **newer)


def without_defaults(a: ast.arguments) -> ast.arguments:
    """Return parameters without defaults and annotations, which are evaluated at definition."""
    bare = copy.deepcopy(a)
    bare.defaults, bare.kw_defaults = [], [None] * len(a.kwonlyargs)
    for one in parameters(bare):
        one.annotation = None
    return bare
