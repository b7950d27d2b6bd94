"""A user's function with checks: its source, rewritten so that every read, call and store goes through `Checks`.

`x.scale` becomes `__checks.get(x, "scale")`, `f(x)` becomes `__checks.call(f, x)`, `table[k] = x` becomes
`__checks.target(table)[k] = x`. Names need no rewriting: the globals of the new function are a dictionary that
looks each name up when it is read (`Globals` in checks.py); variables of enclosing functions become such names as well.
"""

import ast
import copy
import linecache
import types
from functools import cache, lru_cache
from typing import Any

from ..places import Place
from .captured_steps import RETURN, Refused

CHECKS = "__checks"
FUNCTIONS = ast.FunctionDef, ast.Lambda
# the names of operators' methods, by their class in `ast`
OPERATORS = dict(
    Add="add", Sub="sub", Mult="mul", Div="truediv", FloorDiv="floordiv", Mod="mod", Pow="pow", MatMult="matmul",
    BitAnd="and", BitOr="or", BitXor="xor", LShift="lshift", RShift="rshift", USub="neg", UAdd="pos", Invert="invert",
    Eq="eq", NotEq="ne", Lt="lt", LtE="le", Gt="gt", GtE="ge", Subscript="getitem")  # fmt: skip
# what is compared, hashed or written as text, asked for its elements, or entered: the check of these parts of a node
CHECKED = {ast.Compare: ("operand", "left", "comparators"), ast.Set: ("operand", "elts"), ast.Dict: ("operand", "keys"),
           ast.SetComp: ("operand", "elt"), ast.DictComp: ("operand", "key"), ast.FormattedValue: ("operand", "value"),
           ast.Match: ("operand", "subject"), ast.For: ("over", "iter"), ast.comprehension: ("over", "iter"),
           ast.withitem: ("context", "context_expr")}  # fmt: skip

ASYNC = "it is asynchronous", "compile the functions that it calls"
REFUSED = {ast.Global: ("it assigns to {0.names[0]}, which outlives the call", RETURN),
           ast.ClassDef: ("it defines the class {0.name}", "define the class outside of the function"),
           ast.MatchClass: ("a `case` of it reads attributes", "compare them with `if`"),
           ast.AsyncFunctionDef: ASYNC, ast.Await: ASYNC, ast.AsyncFor: ASYNC, ast.AsyncWith: ASYNC}  # fmt: skip


@cache
def checked_code(code: types.CodeType, qualname: str) -> tuple[types.CodeType, frozenset[str]]:
    """Return the code of a function with checks, and the methods of its operators; raise Refused if that is impossible."""
    node = copy.deepcopy(syntax_of(code))
    rewriter, is_lambda = Rewriter(node, code.co_filename, mangled_by(qualname)), isinstance(node, ast.Lambda)
    node.args.defaults, node.args.kw_defaults = [], [None] * len(node.args.kwonlyargs)  # evaluated by the definition
    if not is_lambda:
        node.decorator_list = []
    tree, mode = rewriter.visit(node), "eval" if is_lambda else "exec"
    tree = ast.Expression(tree) if is_lambda else ast.Module([tree], [])
    try:
        whole = compile(ast.fix_missing_locations(tree), code.co_filename, mode, dont_inherit=True)
    except SyntaxError as e:  # such as nonlocal for a variable of an enclosing function
        raise refused(code, f"it assigns to a variable of an enclosing function ({e.msg})", RETURN) from None
    made = next(one for one in whole.co_consts if isinstance(one, types.CodeType))
    return made, frozenset(rewriter.operators)


def refused(
    code: types.CodeType, why: str, fix: str = "define it in a file or a notebook cell, with def or lambda"
) -> Refused:
    """Return the exception for a function that cannot be rewritten."""
    return Refused(why, Place(code.co_filename, code.co_firstlineno), True, fix)


def parameters(a: ast.arguments) -> list[ast.arg]:
    """Return all parameters of a function."""
    return [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]


# ---------------------------------------------------------------------- finding the source
def syntax_of(code: types.CodeType) -> Any:
    """Return the syntax tree of a function's definition, if the file is the one that it was compiled from."""
    linecache.checkcache(code.co_filename)
    text = "".join(linecache.getlines(code.co_filename))
    try:
        functions, known = parsed(text, code.co_filename)
    except (SyntaxError, ValueError):
        raise refused(code, "its source cannot be parsed") from None
    if meaning(code) not in known:
        raise refused(code, "its source is not the code that runs" if text else "its source is not at hand")
    places = [p for p in code.co_positions() if p[3]]
    found = functions.get((code.co_firstlineno, code.co_name), ())
    inside = [n for n in found if not isinstance(n, ast.Lambda) or all(holds(n.body, place) for place in places)]
    if not inside:
        raise refused(code, "its source is not at hand")
    return min(inside, key=lambda node: (node.end_lineno - node.lineno, node.end_col_offset - node.col_offset))


@lru_cache(64)
def parsed(text: str, file: str) -> tuple[dict, set]:
    """Return the functions in a text, by their first line and name, and the meanings of their code."""
    tree, found = ast.parse(text), {}
    whole = compile(tree, file, "exec", dont_inherit=True)
    for node in [one for one in ast.walk(tree) if isinstance(one, FUNCTIONS)]:
        first = min([one.lineno for one in (node, *getattr(node, "decorator_list", ()))])
        found.setdefault((first, getattr(node, "name", "<lambda>")), []).append(node)
    return found, set(map(meaning, codes(whole)))


def codes(code: types.CodeType) -> list[types.CodeType]:
    """Return a code object and all code objects inside it."""
    inside = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return [code, *[found for one in inside for found in codes(one)]]


def meaning(code: types.CodeType) -> tuple:
    """Return the effect of a code object, and its line."""
    constants = tuple([meaning(a) if isinstance(a, types.CodeType) else repr(a) for a in code.co_consts])
    return code.co_name, code.co_firstlineno, code.co_code, code.co_names, code.co_varnames, code.co_freevars, constants


def holds(node: Any, place: tuple) -> bool:
    """Return True if a position in the bytecode lies inside an expression."""
    first, last, column, end = place
    return (node.lineno, node.col_offset) <= (first, column) and (last, end) <= (node.end_lineno, node.end_col_offset)


def mangled_by(qualname: str) -> str:
    """Return the name of the class that a method is defined in, which Python puts before names like `__x`; else ""."""
    parts = qualname.split(".")
    while len(parts) > 2 and parts[-2] == "<locals>":
        parts = parts[:-2]
    return parts[-2].lstrip("_") if len(parts) > 1 else ""


# ---------------------------------------------------------------------- rewriting
def at(node: Any, like: ast.AST) -> Any:
    """Return a new node at the position of another one."""
    return ast.copy_location(node, like)


def load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


class Rewriter(ast.NodeTransformer):
    """Rewrites one function and the functions in it. Each method handles one kind of syntax."""

    def __init__(self, function: Any, file: str, owner: str):
        self.function, self.file, self.owner = function, file, owner
        found = {type(node).__name__ for node in ast.walk(function)}
        forms = ("", "r", "i") if "AugAssign" in found else ("", "r")
        self.operators = {f"__{form}{OPERATORS[one]}__" for one in found & {*OPERATORS} for form in forms}

    def check(self, method: str, node: ast.AST, *arguments: Any) -> ast.Call:
        """Return a call of one of the methods of `Checks`."""
        given = [a if isinstance(a, ast.AST) else ast.Constant(a) for a in arguments]
        return at(ast.Call(ast.Attribute(load(CHECKS), method, ast.Load()), given, []), node)

    def checked(self, method: str, node: Any) -> Any:
        """Return a rewritten expression whose value a method of `Checks` looks at."""
        return node if node is None or isinstance(node, ast.Constant) else self.check(method, node, node)

    def generic_visit(self, node: Any) -> Any:
        """Rewrite what is in a node, and let `Checks` look at the parts that it depends on."""
        super().generic_visit(node)
        method, *fields = CHECKED.get(type(node), ("",))
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):  # may write a text
            method, fields = "operand", ["right"]
        if isinstance(node, ast.Compare) and any(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops):
            fields = []
        for name in fields:
            part = getattr(node, name)
            new = [self.checked(method, one) for one in part] if isinstance(part, list) else self.checked(method, part)
            setattr(node, name, new)
        return node

    def visit(self, node: Any) -> Any:
        attribute = isinstance(node, ast.MatchValue) and isinstance(node.value, ast.Attribute)
        why, fix = REFUSED.get(ast.MatchClass if attribute else type(node), ("", ""))
        if why:
            raise Refused(why.format(node), Place(self.file, node.lineno), True, fix)
        return super().visit(node)

    # ------------------------------------------------------------------ reads and calls
    def visit_Attribute(self, node: ast.Attribute) -> Any:
        value, node.attr = self.visit(node.value), self.mangled(node.attr)
        if isinstance(node.ctx, ast.Load):
            return self.check("get", node, value, node.attr)
        node.value = self.check("target", node, value)
        return node

    def mangled(self, name: str) -> str:
        """Return an attribute's name as Python sees it."""
        return f"_{self.owner}{name}" if self.owner and name.startswith("__") and not name.endswith("__") else name

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        value, node.slice = self.visit(node.value), self.visit(node.slice)
        if isinstance(node.ctx, ast.Load):
            return self.check("item", node, value, node.slice)
        node.value = self.check("target", node, value)
        return node

    def visit_Slice(self, node: ast.Slice) -> Any:
        return self.check("slice", node, *[one and self.visit(one) for one in (node.lower, node.upper, node.step)])

    def visit_Call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
            first = next(iter(parameters(self.function.args)), None)
            node.args = [load("__class__"), load(first.arg)] if first is not None else []
        made = self.check("call", node, self.visit(node.func), *[self.visit(one) for one in node.args])
        made.keywords = [ast.keyword(one.arg, self.visit(one.value)) for one in node.keywords]
        return made

    # ------------------------------------------------------------------ stores
    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node
        return [at(ast.Expr(self.check("updated", node, load(node.target.id))), node), node]

    # ------------------------------------------------------------------ definitions and imports
    def visit_FunctionDef(self, node: Any) -> Any:
        for one in parameters(node.args):
            one.annotation = None
        around, self.function, node.returns = self.function, node, None
        self.generic_visit(node)
        self.function = around
        if not isinstance(node, ast.Lambda):
            node.decorator_list = [self.check("decorated", one, one) for one in node.decorator_list]
        return node

    visit_Lambda = visit_FunctionDef

    def visit_Import(self, node: Any) -> Any:
        names, attributes = [one.name for one in node.names], []
        if isinstance(node, ast.ImportFrom):
            names, attributes = [node.module or "."], names
        return [at(ast.Expr(self.check("imports", node, tuple(names), tuple(attributes))), node), node]

    visit_ImportFrom = visit_Import
