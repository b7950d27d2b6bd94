"""A training step as people write it: p -= 0.1 * p.grad, one operation for each parameter.

An optimizer writes with methods such as lerp_ and addcdiv_.  Here these become arithmetic: results that are used once are
written out where they are used, and writes become statements in the order in which they ran.  So the text says what ran, for
any optimizer and for steps written by hand, and it can be executed.
"""

import ast
import math
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from minigrad.record.labels import as_expression

from .modules import tensors

MOST = 4  # more parameters with equal statements share an operation

Statement = tuple[str, ast.expr]  # the label of a tensor that is written, and its new content


def steps(record: dict, updates: list[dict]) -> list[dict]:
    """Return the operations of updates as one operation for each parameter, or for many that are updated alike."""
    values = {value["id"]: value for value in record["values"]}
    written = [op for op in updates if op["inplace"] and values[op["outputs"][0]]["kind"] == "parameter"]
    of: dict[str, list[dict]] = defaultdict(list)
    # a parameter's contents so far -> its key in `of`; those between two writes have no names
    home: dict[int, str] = {}
    for op in written:
        key = home.get(op["inputs"][0]) or name_of(op, values) or str(op["id"])
        home[op["outputs"][0]] = key
        of[key].append(op)
    made_by = {value: op for op in updates for value in op["outputs"]}
    found = [Step(values, updates, ends, made_by) for ends in of.values()]
    alike: dict[str, list[Step]] = defaultdict(list)
    for step in found:
        alike[step.pattern if len(found) > MOST else str(id(step))].append(step)
    return [together(steps, values) for steps in alike.values()]


class Untold(ValueError):
    """A training step has an operation that is no arithmetic, such as communication."""


class Step:
    """The update of one parameter: the statements, the values that they read, and the new contents."""

    def __init__(self, values: dict[int, dict], updates: list[dict], ends: list[dict], made_by: dict[int, dict]):
        self.values, self.last = values, ends[-1]
        wanted: set[int] = {value for op in ends for value in tensors(op)}
        needed = {op["id"] for op in ends}
        for op in reversed(updates):
            if op["id"] in needed or not wanted.isdisjoint(op["outputs"]):
                needed.add(op["id"])
                wanted.update(tensors(op))
        self.ops = [op for op in updates if op["id"] in needed]
        self.known: dict[int, ast.expr] = {}  # value -> its expression
        self.content: dict[str, int] = {}  # label of a written tensor -> its last content
        self.before: dict[str, int] = {}  # label of a written tensor -> its content before
        self.reads: list[int] = []
        self.statements: list[Statement] = []
        for op in self.ops:
            self.run(op)

    def run(self, op: dict) -> None:
        """Add an operation: as a statement if it writes to a tensor from outside, else as an expression."""
        if op["transfers"] or not op["call"] or len(op["outputs"]) != 1:
            raise Untold(f"{op['name']} is no arithmetic")
        statement: Any = ast.parse(op["call"]).body[0]
        if isinstance(statement, ast.Assign):
            raise Untold(f"{op['name']} writes a part of a tensor")
        names = {self.values[value]["label"]: self.expression(value) for value in tensors(op)}
        tree = Put(names).visit(statement.value)
        tree = arithmetic(tree)
        (made,) = op["outputs"]
        if not op["inplace"] or not isinstance(target := self.expression(op["inputs"][0]), ast.Name):
            self.known[made] = tree
            return
        if self.statements and self.statements[-1][0] == target.id:
            tree = Put({target.id: self.statements.pop()[1]}).visit(tree)
        self.statements.append((target.id, tree))
        self.content[target.id], self.known[made] = made, ast.Name(target.id)
        self.before.setdefault(target.id, op["inputs"][0])

    def expression(self, value: int) -> ast.expr:
        """Return the expression of a value; its label if it comes from outside."""
        if value not in self.known:
            self.reads.append(value)
            self.known[value] = ast.Name(self.values[value]["label"])
        return self.known[value]

    @property
    def lines(self) -> list[str]:
        """The statements as text."""
        return [as_statement(*statement) for statement in with_corrections(self.statements)]

    @property
    def pattern(self) -> str:
        """The statements without the names of the tensors."""
        places = {self.values[value]["label"]: f"v{i}" for i, value in enumerate(self.reads)}
        renamed = Put({label: ast.Name(place) for label, place in places.items()})
        return "; ".join(f"{places[label]} = {ast.unparse(renamed.visit(ast.parse(ast.unparse(tree), mode='eval').body))}"
                         for label, tree in self.statements)  # fmt: skip


def together(steps: list[Step], values: dict[int, dict]) -> dict:
    """Return the operation of steps that are alike."""
    first, *others = steps
    names = [name_of(step.last, values) or "another parameter" for step in others]
    note = f"the same for {', '.join(names)}" if others else ""
    inputs = list(dict.fromkeys(value for step in steps for value in step.reads))
    outputs = [value for step in steps for value in step.content.values()]
    name = name_of(first.last, values) or "a parameter"
    times = f" × {len(steps)}" if others else ""
    before = {step.content[label]: value for step in steps for label, value in step.before.items()}
    states = {value for value in before.values() if values[value]["kind"] != "parameter"}  # the card has their contents
    inputs = [value for value in inputs if value not in states]
    made = {**first.last, "name": f"update of {name}{times}", "call": "", "inputs": inputs, "outputs": outputs}
    return {**made, "before": before, "lines": first.lines, "inplace": False, "note": note}


def name_of(op: dict, values: dict[int, dict]) -> str:
    """Return the name of the parameter that an operation writes, which may have been noted before the write only."""
    after, before = values[op["outputs"][0]]["name"], values[op["inputs"][0]]["name"]
    return as_expression(after or before)


# ---------------------------------------------------------------------- methods as arithmetic
def arithmetic(tree: ast.expr) -> ast.expr:
    """Return a call of a method that writes as the new content in arithmetic; other expressions as they are.

    >>> for call in ("p.add_(g, alpha=-0.1)", "m.lerp_(g, 0.1)", "v.addcmul_(g, g, value=0.5)", "p.addcdiv_(m, u, value=-1)"):
    ...     print(ast.unparse(arithmetic(ast.parse(call, mode="eval").body)))
    p - 0.1 * g
    0.9 * m + 0.1 * g
    v + 0.5 * g ** 2
    p - m / u
    """
    if not isinstance(tree, ast.Call):
        return tree
    if isinstance(tree.func, ast.Name) and tree.func.id == "clone":
        return tree.args[0]
    if not isinstance(tree.func, ast.Attribute) or (rule := RULES.get(tree.func.attr)) is None:
        return tree
    given = {str(word.arg): word.value for word in tree.keywords}
    return rule(tree.func.value, *tree.args, **given)


def plus(x: ast.expr, y: ast.expr, alpha: ast.expr | None = None) -> ast.expr:
    """Return x + alpha * y, as a difference if alpha is negative."""
    factor = 1.0 if alpha is None else ast.literal_eval(alpha)
    return ast.BinOp(x, ast.Sub() if factor < 0 else ast.Add(), times(abs(factor), y))


def times(factor: float, y: ast.expr) -> ast.expr:
    """Return factor * y."""
    return y if abs(factor - 1) < 1e-12 else ast.BinOp(ast.Constant(factor), ast.Mult(), y)


def product(a: ast.expr, b: ast.expr) -> ast.expr:
    """Return a * b, or a ** 2 if they are the same."""
    same = ast.unparse(a) == ast.unparse(b)
    return ast.BinOp(a, ast.Pow(), ast.Constant(2)) if same else ast.BinOp(a, ast.Mult(), b)


def binary(sign: ast.operator) -> Callable:
    """Return the rule of a method that writes x with y combined by a sign, as x.mul_(y) does."""
    return lambda x, y: ast.BinOp(x, sign, y) if not isinstance(sign, ast.Mult) else ast.BinOp(y, sign, x)


def lerp(x: ast.expr, y: ast.expr, weight: ast.expr) -> ast.expr:
    """Return (1 - weight) * x + weight * y."""
    w = ast.literal_eval(weight)
    return ast.BinOp(times(1 - w, x), ast.Add(), times(w, y))


RULES: dict[str, Callable] = {
    "add_": plus,
    "sub_": lambda x, y, alpha=None: plus(x, y, ast.Constant(-(1.0 if alpha is None else ast.literal_eval(alpha)))),
    "mul_": binary(ast.Mult()),
    "div_": binary(ast.Div()),
    "lerp_": lerp,
    "addcmul_": lambda x, a, b, value=None: plus(x, product(a, b), value),
    "addcdiv_": lambda x, a, b, value=None: plus(x, ast.BinOp(a, ast.Div(), b), value),
    "copy_": lambda x, y: y,
}


def as_statement(label: str, tree: ast.expr) -> str:
    """Return the statement that gives a tensor its new content.

    >>> as_statement("p", ast.parse("p - 0.1 * g", mode="eval").body), as_statement("m", ast.parse("0.9 * m", mode="eval").body)
    ('p -= 0.1 * g', 'm = 0.9 * m')
    """
    signs = {ast.Add: "+", ast.Sub: "-"}
    if isinstance(tree, ast.BinOp) and type(tree.op) in signs and ast.unparse(tree.left) == label:
        return f"{label} {signs[type(tree.op)]}= {ast.unparse(tree.right)}"
    return f"{label} = {ast.unparse(tree)}"


# ---------------------------------------------------------------------- Adam's corrections
CORRECTED = ("m_hat", "v_hat")  # torch's documentation writes them so, with hats


def with_corrections(statements: list[Statement]) -> list[Statement]:
    """Return statements in which the corrected means of Adam are separate, as its documentation writes them.

    >>> m, v, p = "0.9 * m + 0.1 * g", "0.75 * v + 0.25 * g ** 2", "p - 2.0 * (m / (sqrt(v) / 0.5 + 1e-08))"
    >>> means = [(label, ast.parse(text, mode="eval").body) for label, text in (("m", m), ("v", v), ("p", p))]
    >>> print(*[as_statement(*one) for one in with_corrections(means)[2:]], sep=chr(10))
    m_hat = m / (1 - 0.9 ** 1)
    v_hat = v / (1 - 0.75 ** 1)
    p -= 0.2 * m_hat / (sqrt(v_hat) + 1e-08)
    """
    corrections = Corrections({label: weight for label, tree in statements if (weight := weight_of(label, tree))})
    written: list[Statement] = []
    for label, tree in statements:
        tree = corrections.visit(tree)
        written += [*corrections.found, (label, tree)]
        corrections.found = []
    return written


def weight_of(label: str, tree: ast.expr) -> float:
    """Return the weight b of a running mean `m = b * m + ...`, or 0 for other statements."""
    match tree:
        case ast.BinOp(ast.BinOp(ast.Constant(float(weight)), ast.Mult(), ast.Name(name)), ast.Add()) if name == label:
            return rounded(weight) if 0 < weight < 1 else 0.0
    return 0.0


class Corrections(ast.NodeTransformer):
    """Takes the corrections of running means out of the numbers of `c * m / (sqrt(v) / d + eps)`.

    An optimizer multiplies them into its learning rate and the root: c = lr / (1 - b1 ** t), d = sqrt(1 - b2 ** t).  The
    weights b1 and b2 are known, so d gives the number of the step t, and c the learning rate.
    """

    def __init__(self, weights: dict[str, float]):
        self.weights = weights
        self.found: list[Statement] = []  # the means as corrected

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Replace the quotient, or look further inside."""
        match node:
            case ast.BinOp(ast.Constant(float(rate)), ast.Mult(), ast.BinOp(op=ast.Div()) as quotient):
                made = self.corrected(rate, quotient)
            case _:
                made = self.corrected(1.0, node)
        return made or self.generic_visit(node)

    def corrected(self, rate: float, quotient: ast.BinOp) -> ast.expr | None:
        """Return the quotient in the corrected means, or None if it is not of this form."""
        match quotient:
            case ast.BinOp(
                ast.Name(m) as mean,
                ast.Div(),
                ast.BinOp(
                    ast.BinOp(ast.Call(root, [ast.Name(v) as square]), ast.Div(), ast.Constant(float(divisor))),
                    ast.Add(),
                    eps,
                ),
            ) if m in self.weights and v in self.weights and 0 < divisor < 1:
                step = math.log(1 - divisor**2) / math.log(self.weights[v])
            case _:
                return None
        if abs(step - round(step)) > 1e-3:
            return None
        for name, of in zip(CORRECTED, (mean, square)):
            text = f"{of.id} / (1 - {self.weights[of.id]!r} ** {round(step)})"
            self.found.append((name, ast.parse(text, mode="eval").body))
        m_hat, v_hat = map(ast.Name, CORRECTED)
        rate = rounded(rate * (1 - self.weights[m] ** round(step)))
        return ast.BinOp(times(rate, m_hat), ast.Div(), ast.BinOp(ast.Call(root, [v_hat], []), ast.Add(), eps))


def rounded(number: float) -> float:
    """Return a number without the error of the arithmetic that led to it.

    >>> rounded(0.1 / (1 - 0.9) * (1 - 0.9)), rounded(1 - (1 - 0.999))
    (0.1, 0.999)
    """
    return float(f"{number:.12g}")


class Put(ast.NodeTransformer):
    """Replaces names in a formula, also `g[0]`, by other expressions."""

    def __init__(self, instead: dict[str, ast.expr]):
        self.instead = instead

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Replace a name."""
        return self.instead.get(node.id, node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Replace a name with an index."""
        return self.instead.get(ast.unparse(node)) or self.generic_visit(node)
