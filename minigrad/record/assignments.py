"""The variables of the program that results are assigned to, read from the lines that computed them.

A line binds names to expressions: `y = x * w`, `low, high = x.aminmax()`, `if (y := f(x)) > 0`, `self.h = x.tanh()`. A result
belongs to the expression in whose columns its operation ran. A value that no such line makes, such as the tensor of a `with`
statement or an entry of a dict, has the name by which later lines use it.
"""

import ast
import linecache
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby
from typing import NamedTuple

from .call_style import imported
from .labels import is_state
from .schema import Op, Value, Where

FOLDS = {"sum": "add", "prod": "mul"}  # functions of Python that run an operation repeatedly in one expression
OF_TENSORS = ("data", "grad", "saved_tensors")  # attributes whose contents have names already


class Target(NamedTuple):
    """The names that a line gives to the results of one of its expressions: "" for none, "*b" for a list of the rest."""

    names: tuple[str, ...]
    begin: int  # the expression's first column, from 0, without indentation
    width: int
    item: int | None = None  # the name belongs to this one of the results, as in `dx = grad(y, x)[0]`
    call: str = ""  # the function that the expression calls, if that is a plain name


class Handed(NamedTuple):
    """Values that a call returned without an operation: gradients, saved tensors."""

    where: Where
    outputs: Sequence[int | None]


def name_variables(values: Sequence[Value], ops: Sequence[Op], handed: Iterable[Handed] = ()) -> None:
    """Name values after the program's variables.

    Names that values have already stay, except that of a result if another variable of the outermost code gets it: after
    `z = double_(y)`, both variables are the same tensor.
    """
    assigned = assigned_names(ops, handed)
    outermost = {o for op in ops if op.phase == "forward" and not op.where.function for o in op.outputs}
    renamed = lambda v: v.id in outermost and not is_state(v)  # which a module's constructor fills
    named = [(v, assigned[v.id]) for v in values if v.id in assigned and (not v.name or renamed(v))]
    for v, name in named:
        v.name = name
    by_id = {v.id: v for v in values}
    for i, name in used_names(ops, {v.id: v.name for v in values if v.name}):
        by_id[i].name = by_id[i].name or name


def assigned_names(ops: Iterable[Op], handed: Iterable[Handed] = ()) -> dict[int, str]:
    """Return the variable that each result is assigned to: value -> name.

    The result of a line is the value of its whole right side or, without column information, the last value computed there.
    """
    found: dict[int, str] = {}
    forward = [op for op in ops if op.phase == "forward"]
    for _, of_line in groupby(forward, key=lambda op: (op.where.file, op.where.line)):
        run = list(of_line)
        named: list[tuple[int, str]] = []
        for target in targets(run[0].where.code):
            if target.item is None or not named:  # `y = x.exp()[0]` names an element, if that is an operation
                named = list(results(target, run))
                for value, name in named:
                    found.setdefault(value, name)
    for one in handed:
        for target in targets(one.where.code):
            if fits(target, one.where):
                outputs = one.outputs if target.item is None else one.outputs[target.item :][:1]
                for value, name in unpacked(target.names, outputs):
                    found.setdefault(value, name)
    return found


def fits(target: Target, where: Where) -> bool:
    """Return True if an operation ran in the columns of a target's expression; its width is enough if the file is lost."""
    if len(where.columns) != 2 or where.columns[1] - where.columns[0] + 1 != target.width:
        return False
    line = linecache.getline(where.file, where.line)
    indentation = len(line) - len(line.lstrip())
    return line.strip() != where.code or where.columns[0] - 1 - indentation == target.begin


def results(target: Target, run: list[Op]) -> Iterator[tuple[int, str]]:
    """Yield the names of the results of one target, of all rounds of a loop over its line."""
    whole = [fits(target, op.where) for op in run]
    whole[-1] = whole[-1] or not any(op.where.columns for op in run)
    if target.names[0][-1:].isdigit() and "." in target.names[0] and run[-1].inplace:  # y[0] = ... writes to a tensor
        return
    if len(target.names) > 1 and run[-1].name == "unbind":  # Python unpacks a tensor
        if not any(name.startswith("*") for name in target.names):  # the record has only results that are used
            yield from (pair for op in run if op.name == "unbind" for pair in unpacked(target.names, op.outputs))
        return
    rounds = len({op.name for op in run}) == 1 and not any(op.module for op in run)  # h = h.tanh() in a loop
    rounds = rounds and FOLDS.get(target.call) != run[0].name
    goes_on = [is_whole and not rounds for is_whole in whole[1:]]
    ended = [op for op, is_whole, more in zip(run, whole, [*goes_on, False]) if is_whole and not more]
    if len(target.names) == 1:
        yield from ((op.outputs[0], target.names[0]) for op in ended if len(op.outputs) == 1 and target.names[0])
    elif named := [pair for op in ended for pair in unpacked(target.names, op.outputs)]:
        yield from named
    elif len(run) == len(target.names) and all(len(op.outputs) == 1 for op in run):
        yield from unpacked(target.names, [op.outputs[0] for op in run])  # of one operation for each


def unpacked(names: Sequence[str], values: Sequence[int | None]) -> Iterator[tuple[int, str]]:
    """Yield values with their names, if there is one for each.

    >>> list(unpacked(["a", "*b"], [7, 8, 9])), list(unpacked(["a", "b"], [7]))
    ([(7, 'a'), (8, 'b.0'), (9, 'b.1')], [])
    """
    stars = [k for k, name in enumerate(names) if name.startswith("*")]
    if stars and len(values) >= len(names) - 1:
        k, rest = stars[0], len(values) - len(names) + 1
        names = [*names[:k], *[f"{names[k][1:]}.{i}" for i in range(rest)], *names[k + 1 :]]
    if len(names) == len(values):
        yield from ((value, name) for value, name in zip(values, names) if name and value is not None)


def assigned(code: str) -> str:
    """Return the variable that a line assigns its whole result to, or ""."""
    tree = parsed(code.strip())
    found = [] if tree is None else [target for target in bound(tree) if target.item is None]
    return found[0].names[0] if len(found) == 1 and len(found[0].names) == 1 else ""


@cache
def targets(code: str) -> tuple[Target, ...]:
    """Return the names that a line binds to expressions.

    >>> targets("a, (b, *c) = f(x)")
    (Target(names=('a', 'b', '*c'), begin=13, width=4, item=None, call='f'),)
    >>> targets("if (y := x * w) > 0:")
    (Target(names=('y',), begin=9, width=5, item=None, call=''),)
    """
    tree = parsed(code.strip())
    return () if tree is None else tuple(target for node in ast.walk(tree) for target in bound(node))


@cache
def parsed(code: str) -> ast.AST | None:
    """Return the syntax tree of a line, which may begin a compound statement; None if it is a part of a statement."""
    for text in (code, f"{code} pass", f"if True: pass\n{code} pass"):
        try:
            return ast.parse(text).body[-1]
        except (SyntaxError, ValueError, IndexError):  # IndexError: no line
            continue
    return None


@cache
def computing(code: str) -> list[ast.BinOp | ast.Call]:
    """Return the parts of a line that may run an operation."""
    tree = parsed(code)
    return [node for node in ast.walk(tree) if isinstance(node, ast.BinOp | ast.Call)] if tree is not None else []


def bound(node: ast.AST) -> Iterator[Target]:
    """Yield the targets of one node of a syntax tree."""
    if isinstance(node, ast.Assign):
        yield from paired(node.targets[0], node.value)
    elif isinstance(node, ast.NamedExpr | ast.AnnAssign) and node.value is not None:
        yield from paired(node.target, node.value)
    elif isinstance(node, ast.AugAssign):
        yield from paired(node.target, node)
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield from paired(node.optional_vars, node.context_expr)


def paired(target: ast.expr, value: ast.expr | ast.stmt) -> Iterator[Target]:
    """Yield the targets of an assignment; a tuple of expressions has one for each."""
    names = list(names_in(target))
    if isinstance(target, ast.Tuple | ast.List):
        given = value.elts if isinstance(value, ast.Tuple | ast.List) else []
        if len(given) == len(target.elts) and not any(isinstance(one, ast.Starred) for one in (*target.elts, *given)):
            for one, other in zip(target.elts, given):
                yield from paired(one, other)
            return
    if names:
        call = value.func.id if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) else ""
        yield Target(tuple(names), *extent(value), call=call)
    item = value.slice.value if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant) else None
    if isinstance(target, ast.Name) and isinstance(value, ast.Subscript) and isinstance(item, int):
        yield Target(tuple(names), *extent(value.value), item)


def names_in(target: ast.expr) -> Iterator[str]:
    """Yield the names in a target of an assignment, with "" for `_` and what is no name."""
    if isinstance(target, ast.Tuple | ast.List):
        for one in target.elts:
            yield from names_in(one)
    elif isinstance(target, ast.Starred):
        yield from (f"*{name}" for name in names_in(target.value))
    else:
        yield path(target)


def path(node: ast.expr) -> str:
    """Return the name of a variable, its attribute or its element as a record writes it; "" for `_` and other expressions.

    >>> [path(ast.parse(text).body[0].value) for text in ("x", "self.h", "hs[0]", "params['w'][1]", "hs[i]", "w.grad")]
    ['x', 'self.h', 'hs.0', 'params["w"].1', '', '']
    """
    if isinstance(node, ast.Name):
        return node.id if node.id != "_" else ""
    if not isinstance(node, ast.Attribute | ast.Subscript) or not (owner := path(node.value)):
        return ""
    if isinstance(node, ast.Attribute):
        return f"{owner}.{node.attr}" if node.attr not in OF_TENSORS else ""
    key = node.slice.value if isinstance(node.slice, ast.Constant) else None
    if isinstance(key, str) and key.isidentifier():
        return f'{owner}["{key}"]'
    return f"{owner}.{key}" if type(key) is int and key >= 0 else ""


def extent(node: ast.expr | ast.stmt) -> tuple[int, int]:
    """Return the first column of a node, and its width."""
    return node.col_offset, (node.end_col_offset or node.col_offset) - node.col_offset


# ---------------------------------------------------------------------- names by which values are used
def used_names(ops: Iterable[Op], known: dict[int, str]) -> Iterator[tuple[int, str]]:
    """Yield the names by which expressions use values that have none, unless others have the name.

    A value from outside, `h` in `h = torch.zeros(3)`, may share its name with the values that its function assigns to it.
    """
    ops = [op for op in ops if op.phase == "forward"]
    made = {value: op.where for op in ops for value in op.outputs}
    homes: dict[str, set[str]] = {}  # the functions that assign a name
    for value, name in known.items():
        homes.setdefault(name, set()).add(made[value].function if value in made else "")
    for op in ops:
        for node in computing(op.where.code):
            if fits(Target((), *extent(node)), op.where):
                for value, operand in operands(node, op):
                    name, home, here = path(operand), made.get(value), op.where
                    outside = home is None or not name.isidentifier()  # or it is an attribute, which keeps its value
                    free = name not in homes or outside and here.function in homes[name]
                    made_here = home is not None and (home.file, home.line) == (here.file, here.line)  # x.T in x.T @ x
                    if name and free and value not in known and not made_here:
                        yield value, name


def operands(node: ast.BinOp | ast.Call, op: Op) -> Iterator[tuple[int, ast.expr]]:
    """Yield the inputs of an operation with their expressions: `w * x`, `w.exp()`, `torch.exp(w)`, `F.linear(x, w)`.

    An operator with a number is certain only if the line shows the number; so is a call with other arguments.
    """
    tensors = [i for i in op.inputs if isinstance(i, int)]
    if isinstance(node, ast.BinOp):
        given = [one for one in (node.left, node.right) if not is_number(one)]
        given = given if len(given) == len(tensors) else [one for one in given if not is_arithmetic(one)]
    else:
        given = [one for one in node.args if not is_number(one)]
        function = node.func
        if isinstance(function, ast.Attribute) and not is_module(function.value, op.where.file):
            given = [function.value] if not given else []
        if (function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")) != op.name:
            return
    if len(given) == len(tensors):
        yield from zip(tensors, given)


def is_module(node: ast.expr, file: str) -> bool:
    """Return True if an expression is a module that a file imports, or is in one: `torch.nn.functional`."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in imported(file)


def is_arithmetic(node: ast.expr) -> bool:
    """Return True for arithmetic with a number, such as `i + 1`; it is a number too unless an operation computed it."""
    if isinstance(node, ast.BinOp):
        return (is_number(node.right) and isinstance(node.left, ast.Name)) or is_number(node.left)
    return is_number(node)


def is_number(node: ast.expr) -> bool:
    """Return True for a number in the program."""
    node = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(node, ast.Constant)
