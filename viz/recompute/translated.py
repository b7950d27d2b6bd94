"""Functions for pages, translated from the Python that states an operation: its public function, its program or definition.

The result is one expression, as parser.js reads it. An assignment is `(name := value)`, the next element of a tuple whose last
one is the result; `if` is a conditional expression; what only raises or warns goes. An operation within a function is its
kernel, its program or definition, or else the function of its name, which has to be one by hand.
"""

import ast
import builtins
import functools
import inspect
import math
import operator
import textwrap
from typing import Any

import numpy as np

from minigrad.arrays import dtypes
from minigrad.kernels import formula
from minigrad.ops.base.families import Pointwise
from minigrad.ops.dimensions import axes, axis

from .kernels import IGNORED, public, signature

# functions of Python, by their names on pages; attributes that have another name there, or no value
NAMES: dict[Any, str] = {len: "length", int: "int", float: "real", max: "most", min: "least", range: "span", any: "some",
    bool: "truth", enumerate: "numbered", operator.index: "int", math.prod: "size", math.sqrt: "root", axis: "axis",
    axes: "axes"}  # fmt: skip
ATTRIBUTES = {"_sizes": "shape", "_np_dtype": "dtype"}
UNSAID = {*IGNORED, "names", "notes"}  # keywords of checks, and those that change no number
WITHOUT = ("_edge", "_layer", "device", "requires_grad")
UNKNOWN = (ast.Lambda, ast.Dict, ast.Set, ast.DictComp, ast.SetComp)


class Functions:
    """The functions that are translated when a page needs them; they join the tables."""

    def __init__(self, made: dict[str, dict[str, Any]], by_hand: set[str]):
        self.made, self.by_hand = made, by_hand
        self.public: dict[Any, str] = {}  # by the function, its name on pages
        self.sources: dict[str, tuple] = {}  # by that name: the function, what it ignores, True if it chooses a class
        for name, entry in public():
            f, choose = entry.function, entry.choose
            self.sources[name] = choose or inspect.unwrap(f), IGNORED, choose is not None
            while f is not None:
                self.public.setdefault(f, name)
                f = getattr(f, "__wrapped__", None)

    def translated(self, name: str) -> dict | None:
        """Return a function's entry in the table of definitions, which it joins; None if it cannot be translated."""
        if name in self.sources and name not in self.by_hand:
            f, ignored, chooses = self.sources.pop(name)
            try:
                known, text = signature(f, ignored), Writer(self, f, ignored, chooses).text()
            except Exception:  # of any kind: the source may be any
                return None
            self.made["signatures"].setdefault(name, known)
            self.made["definitions"][name] = {"parameters": [p["parameter"] for p in known], "text": text}
        return self.made["definitions"].get(name)

    def need(self, name: str, f: Any) -> str:
        """Return the name of a further function, which is translated too."""
        if name not in self.by_hand and name not in self.made["definitions"] and name not in self.sources:
            self.sources[name] = f, (), False
            if self.translated(name) is None:
                raise NotImplementedError(name)
        return name


class Writer(ast.NodeTransformer):
    """Translates one function."""

    def __init__(self, functions: Functions, f: Any, ignored: Any, chooses: bool):
        self.functions, self.f, self.chooses = functions, f, chooses
        code, parameters = f.__code__, inspect.signature(f).parameters
        cells = zip(code.co_freevars, [c.cell_contents for c in f.__closure__ or ()])
        self.scope = {**vars(builtins), **f.__globals__, **dict(cells)}
        self.local = {*code.co_varnames, *code.co_cellvars}
        self.absent = {p.name: p.default for p in parameters.values() if p.name in ignored}
        self.given, self.doubtful, self.tests = set(parameters), {}, 0  # doubtful: without a value in some branch

    def text(self) -> str:
        """Return the function as an expression."""
        text = formula.text(self.f)
        source = textwrap.dedent(inspect.getsource(self.f)) if text is None else f"def f(): return ({text})"
        tree: Any = ast.parse(source).body[0]
        found = self.block(tree.body)
        found = within([bind(name, constant(None)) for name in self.doubtful], found)
        return ast.unparse(ast.fix_missing_locations(found))

    # ------------------------------------------------------------------ statements
    def block(self, body: list) -> Any:
        """Return the value of a function with these statements."""
        steps: list = []
        for k, statement in enumerate(body):
            if isinstance(statement, ast.Return):
                return within(steps, self.result(statement.value))
            if isinstance(statement, ast.Try) and all(isinstance(h.body[-1], ast.Raise) for h in statement.handlers):
                return within(steps, self.block([*statement.body, *body[k + 1 :]]))  # what remains explains errors
            if isinstance(statement, ast.If) and any(isinstance(n, ast.Return) for n in ast.walk(statement)):
                test, rest = self.visit(statement.test), body[k + 1 :]
                parts = [self.block([*branch, *rest]) for branch in (statement.body, statement.orelse)]
                return within(steps, ast.IfExp(test, *parts))
            steps += self.steps(statement)
        return within(steps, constant(None))

    def steps(self, statement: Any) -> list:
        """Return the assignments of a statement."""
        if self.is_check(statement):
            return []
        if isinstance(statement, ast.Assign):
            return self.assigned(statement.targets[0], self.visit(statement.value))
        if not isinstance(statement, ast.If):
            raise NotImplementedError(ast.unparse(statement))
        self.tests += 1
        name = f"test{self.tests}_"
        steps = [bind(name, self.visit(statement.test))]
        for branch, order in ((statement.body, 1), (statement.orelse, -1)):
            for step in [s for one in branch for s in self.steps(one)]:
                self.doubtful |= dict.fromkeys({step.target.id} - self.given)
                steps.append(bind(step.target.id, ast.IfExp(ast.Name(name), *[step.value, step.target][::order])))
        return steps

    def assigned(self, target: Any, value: Any) -> list:
        """Return the assignments of a value to a name, or of its elements to several."""
        if isinstance(target, ast.Name):
            return [bind(target.id, value)]
        steps = [bind("values_", value)]
        for k, one in enumerate(target.elts):
            starred = isinstance(one, ast.Starred)
            part: Any = ast.Slice(constant(k), None) if starred else constant(k)
            steps += self.assigned(one.value if starred else one, ast.Subscript(ast.Name("values_"), part))
        return steps

    def result(self, value: Any) -> Any:
        """Return a result; of a function that chooses a class and its operands, what the class computes."""
        if self.chooses and isinstance(value, ast.IfExp):
            return ast.IfExp(self.visit(value.test), self.result(value.body), self.result(value.orelse))
        if self.chooses and isinstance(value, ast.Tuple):
            return called("pointwise", self.visit(value.elts[0]), ast.Starred(self.visit(value.elts[1])))
        return self.visit(value)

    # ------------------------------------------------------------------ expressions
    def visit(self, node: Any) -> Any:
        """Return an expression of the page."""
        if isinstance(node, UNKNOWN):
            raise NotImplementedError(ast.unparse(node))
        return super().visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> Any:
        """Return no text: only errors say it."""
        return constant("")

    def visit_Name(self, node: ast.Name) -> Any:
        """Return a local name, or the value of a global one."""
        if node.id in self.absent:
            return constant(self.absent[node.id])
        return node if node.id in self.local else constant(self.value(node))

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """Return an attribute of a tensor, or the value of a global one."""
        if self.is_global(node):
            return constant(self.value(node))
        if node.attr in WITHOUT:
            return constant(None)
        of = self.visit(node.value)
        return called("kind", of) if node.attr == "kind" else ast.Attribute(of, ATTRIBUTES.get(node.attr, node.attr))

    def visit_Compare(self, node: ast.Compare) -> Any:
        """Return a comparison, of a chain the conjunction; `type(x) is int` asks as isinstance does."""
        if getattr(getattr(node.left, "func", None), "id", "") == "type" and isinstance(node.ops[0], ast.Is):
            return self.instance(node.left.args[0], node.comparators[0])  # type: ignore[attr-defined]
        operands = [self.visit(x) for x in (node.left, *node.comparators)]
        parts: list = [ast.Compare(x, [o], [y]) for x, o, y in zip(operands, node.ops, operands[1:])]
        if isinstance(node.ops[0], ast.NotIn):
            return ast.UnaryOp(ast.Not(), ast.Compare(operands[0], [ast.In()], [operands[1]]))
        return parts[0] if len(parts) == 1 else ast.BoolOp(ast.And(), parts)

    def visit_Tuple(self, node: Any) -> Any:
        """Return a list; a starred element is a list that is joined to the others."""
        parts = [self.visit(x.value) if isinstance(x, ast.Starred) else ast.List([self.visit(x)]) for x in node.elts]
        if not any(isinstance(x, ast.Starred) for x in node.elts):
            return ast.List([part.elts[0] for part in parts])
        return functools.reduce(lambda x, y: ast.BinOp(x, ast.Add(), y), parts)

    visit_List = visit_Tuple

    def visit_Subscript(self, node: Any) -> Any:
        """Return elements: an index of several parts stays a tuple."""
        index, of = node.slice, self.visit(node.value)
        plain = isinstance(index, ast.Tuple) and not any(isinstance(x, ast.Starred) for x in index.elts)
        return ast.Subscript(of, ast.Tuple([self.visit(x) for x in index.elts]) if plain else self.visit(index))

    def visit_GeneratorExp(self, node: Any) -> Any:
        """Return a list made of another one."""
        (one,) = node.generators
        self.local |= words(one.target)
        given = self.visit_Tuple(one.target) if isinstance(one.target, ast.Tuple) else one.target
        made = ast.comprehension(given, self.visit(one.iter), [self.visit(test) for test in one.ifs], 0)
        return ast.ListComp(self.visit(node.elt), [made])

    visit_ListComp = visit_GeneratorExp

    def visit_Call(self, node: ast.Call) -> Any:
        """Return the call of a function or a method, or what an operation computes."""
        func: Any = node.func
        if getattr(func, "attr", "") == "apply":
            return self.applied(func.value, [self.visit(a) for a in node.args])
        if any(k.arg is None for k in node.keywords):
            raise NotImplementedError("**")
        keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords if k.arg not in UNSAID]
        if not self.is_global(func):
            of = ast.Attribute(self.visit(func.value), func.attr)
            return ast.Call(of, [self.visit(a) for a in node.args], keywords)
        f = self.value(func)
        if f is isinstance:
            return self.instance(*node.args)
        if f.__module__ in ("math", dtypes.__name__) and not self.local & words(node):
            return constant(self.value(node))
        if isinstance(f, type) and issubclass(f, (tuple, list)):  # of named results, too
            one = len(node.args) == 1 and not isinstance(node.args[0], ast.Starred)
            return self.visit(node.args[0] if one else ast.List(node.args))
        return ast.Call(named(self.name_of(f)), [self.visit(a) for a in node.args], keywords)

    def instance(self, value: Any, kinds: Any) -> Any:
        """Return the question whether a value is of one of these kinds."""
        found = self.value(kinds)
        names = ["list" if k is tuple else k.__name__ for k in (found if isinstance(found, tuple) else (found,))]
        return called("is_a", self.visit(value), *map(constant, names))

    def applied(self, of: Any, args: list) -> Any:
        """Return what an operation computes."""
        if isinstance(of, ast.IfExp):
            return ast.IfExp(self.visit(of.test), self.applied(of.body, args), self.applied(of.orelse, args))
        cls = self.value(of)
        if cls.__name__ in self.functions.by_hand:
            return called(cls.__name__, *args)
        if issubclass(cls, Pointwise):
            return called("pointwise", constant(cls), *args)
        stated = getattr(cls, "program", None) or cls.definition
        if stated is not None:
            return called(self.functions.need(cls.__name__, stated), *args)
        name = cls.function_name()
        if name not in self.functions.by_hand:
            raise NotImplementedError(cls.__name__)
        known = {p["parameter"] for p in self.functions.made["signatures"].get(name, ())}
        words = ["dim" if p == "dims" else p for p in cls.names[1 : len(args)]]
        if not known.issuperset(words):
            return called(name, *args)
        return ast.Call(named(name), args[:1], [ast.keyword(word, a) for word, a in zip(words, args[1:])])

    def name_of(self, f: Any) -> str:
        """Return the name of a function on pages."""
        name = self.functions.public.get(f) or NAMES.get(f)
        return name or self.functions.need(f"{f.__module__.rpartition('.')[2]}_{f.__name__}", f)

    def is_check(self, statement: Any) -> bool:
        """Return True if a statement only raises, warns or explains: a method of a value, or a name with _, may write."""
        if isinstance(statement, (ast.If, ast.For)) and not statement.orelse:
            return all(map(self.is_check, statement.body)) or isinstance(statement.body[-1], ast.Raise)
        said: Any = statement.value if isinstance(statement, ast.Expr) else None
        asked = isinstance(said, ast.Call) and self.is_global(said.func) and not ast.unparse(said.func).endswith("_")
        return asked or isinstance(said, ast.Constant) or isinstance(statement, (ast.Raise, ast.Pass))

    def is_global(self, node: Any) -> bool:
        """Return True for a name that is not local, and for its attributes."""
        return ast.unparse(node).replace(".", "").isidentifier() and not self.local & words(node)

    def value(self, node: Any) -> Any:
        """Return the value of an expression of global names."""
        return eval(ast.unparse(node), self.scope)


def constant(value: Any) -> Any:
    """Return the expression of a value; a dtype or a class is its name."""
    if isinstance(value, (np.dtype, dtypes.dtype, type)):
        return ast.Constant(value.name if not isinstance(value, type) else value.__name__)
    if isinstance(value, (tuple, list, set, frozenset, dict)):
        return ast.List(
            [constant(v) for v in (sorted(value, key=str) if isinstance(value, (set, frozenset)) else value)]
        )
    if type(value) not in (bool, int, float, str, type(None)):
        raise NotImplementedError(repr(value))
    return ast.parse(repr(value), mode="eval").body


def words(node: Any) -> set[str]:
    """Return the names in an expression."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def bind(name: str, value: Any) -> Any:
    """Return the expression that gives a value a name."""
    return ast.NamedExpr(ast.Name(name), value)


def within(steps: list, result: Any) -> Any:
    """Return a result after some steps."""
    return ast.Subscript(ast.List([*steps, result]), constant(-1)) if steps else result


def called(name: str, *args: Any) -> ast.Call:
    """Return the call of a function."""
    return ast.Call(named(name), list(args), [])


def named(name: str) -> Any:
    """Return the expression of a name, such as linalg.inv."""
    return ast.parse(name, mode="eval").body
