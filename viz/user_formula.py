"""Formulas and names in the user's words: `x * y` of w and h is shown as `w * h`, a result as what it is assigned to.

An operation states its formulas in its own parameters, with `out` for the result and `g` for the upstream gradient.
Where a formula uses other names besides, it is left as it stands.
"""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


@dataclass(frozen=True)
class Terms:
    """What the formulas of one operation call its operands, and what the picture calls them.

    >>> mul = Terms.of({"name": "mul", "formula": "x * y"}, ["w", "h"], "v3")
    >>> mul.words("x * y"), mul.words("1 - out * out"), mul.words("x * scale")
    ('w * h', '1 - v3 * v3', 'x * scale')
    """

    formula: str
    own: list[str]  # the parameter for each operand
    operands: list[str]
    out: str

    @classmethod
    def of(cls, op: dict, operands: list[str], out: str) -> Terms:
        """A formula that is a call lists the parameters in order; others say x for the first operand, y for the second.

        >>> Terms.of({"name": "linear", "formula": "linear(x, weight)"}, ["h", "W"], "v3").own
        ['x', 'weight']
        """
        formula = op.get("formula") or ""
        return cls(formula, _parameters(formula, op["name"], len(operands)), operands, out)

    def words(self, formula: str, /, **others: str) -> str:
        """A formula with the names of the operands and the result; unchanged where it has names of its own.

        What numbers among the operands decide is not shown.

        >>> Terms("x * y", ["x", "y"], ["w", "h"], "v3").words("g * y", g="0.5")
        '0.5 * h'
        >>> Terms("x**y", ["x", "y"], ["w", "3"], "v3").words("where(y == 0, 0.0, g * (y * x ** (y - 1)))")
        'g * (3 * w ** 2)'
        """
        from minigrad.kernels.folding import folded  # whoever has a record has loaded minigrad

        new = {"g": "g", **dict(zip(self.own, self.operands)), "out": self.out, **others}
        if not mentioned(formula) <= {*new, "shape", "index"}:
            return formula
        return folded("".join(new.get(piece, piece) if i % 2 else piece for i, piece in enumerate(_pieces(formula))))


@lru_cache(maxsize=4096)
def _parameters(formula: str, name: str, count: int) -> list[str]:
    """What a formula calls so many operands of the operation `name`."""
    call = _parsed(formula)
    if isinstance(call, ast.Call) and ast.unparse(call.func) == name:
        tensors = [ast.unparse(arg) for arg in call.args]
        listed = tensors + [keyword.arg or "" for keyword in call.keywords]
        for names in (listed, tensors):
            if len(names) == count:
                return names
    return ["x", "y", *[""] * count][:count]


def mentioned(formula: str) -> set[str]:
    """The names that a formula reads; a rule in words counts as one name.

    >>> sorted(mentioned("where(x > 0, g, 0.0)")), mentioned("Exp.backward of x")
    (['g', 'x'], {'Exp.backward of x'})
    """
    return set(_pieces(formula)[1::2])


@lru_cache(maxsize=4096)
def _pieces(formula: str) -> list[str]:
    """A formula in pieces, of which every second is a name that it reads; a rule in words is one name."""
    tree = _parsed(formula)
    if tree is None:
        return ["", formula]
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and id(node) not in called:
            node.id = f"\0{node.id}\0"
    return ast.unparse(tree).split("\0")


def _parsed(formula: str) -> ast.expr | None:
    try:
        return ast.parse(formula, mode="eval").body
    except (SyntaxError, ValueError):
        return None


def tangent_rule(name: str, terms: Terms, partials: dict[int, str], moving: list[int], sums: bool) -> str:
    """How the tangents of the operands `moving` give the tangent of the result, or "" where the partials do not tell.

    A partial without `g` multiplies its tangent, and a reduction `sums` the products.  A rule with `g` that reads
    neither its own operand nor the result belongs to an operation that is linear in this operand: in all of them
    together (reshape, cat), or in each of two (matmul).

    >>> tangent_rule("mul", Terms("x * y", ["x", "y"], ["w", "h"], "v3"), {0: "y", 1: "x"}, [0, 1], False)
    'h · dw + w · dh'
    >>> product = Terms("x @ y", ["x", "y"], ["h", "W"], "v3")
    >>> tangent_rule("matmul", product, {0: "g @ y.mT", 1: "x.mT @ g"}, [0, 1], False)
    'dh @ W + h @ dW'
    >>> tangent_rule("mean", Terms("mean(x)", ["x"], ["h"], "v3"), {0: "1 / n"}, [0], True)
    'sum((1 / n) · dh)'
    """
    moved = {i: "d" + terms.operands[i] for i in moving}
    rules = [partials[i] for i in moving]
    if any(rule.endswith(".backward") for rule in rules):  # of a custom Function
        return f"{name}.jvp({', '.join(moved.values())})"
    if not any(uses_upstream(rule) for rule in rules):
        factors = {i: factor(terms.words(partials[i])) for i in moving}
        rule = " + ".join(moved[i] if factors[i] == "1" else f"{factors[i]} · {moved[i]}" for i in moving)
        return f"sum({rule})" if sums and "∂" not in rule else rule
    tensors = {terms.own[i] for i in partials}
    reads = {i: mentioned(partials[i]) & {*tensors, "out"} for i in moving}
    if not any(reads.values()):
        return f"{name}({', '.join(moved.values())})" if len(moving) == len(tensors) else ""
    if len(tensors) == 2 and all(reads[i] == tensors - {terms.own[i]} for i in moving):
        return " + ".join(terms.words(terms.formula, **{terms.own[i]: moved[i]}) for i in moving)
    return ""


@lru_cache(maxsize=4096)
def factor(formula: str) -> str:
    """A formula as one factor of a product: in brackets where it is a sum or a quotient.

    >>> factor("1 - out * out"), factor("x / y"), factor("2 * cos(x)")
    ('(1 - out * out)', '(x / y)', '2 * cos(x)')
    """
    tree = _parsed(formula)
    loose = isinstance(tree, ast.UnaryOp | ast.IfExp | ast.Compare | ast.BoolOp | ast.Lambda)
    sums = isinstance(tree, ast.BinOp) and not isinstance(tree.op, ast.Mult | ast.Pow)
    return f"({formula})" if loose or sums else formula


def uses_upstream(formula: str) -> bool:
    """Whether a rule already names the upstream gradient (`g`; `g0`, `g1` of several results): it is the whole product.

    >>> uses_upstream("g @ w.T"), uses_upstream("put(g0, shape)"), uses_upstream("sign(x)")
    (True, True, False)
    """
    return any(name[0] == "g" and name[1:].isdigit() or name == "g" for name in mentioned(formula) if name)


@lru_cache(maxsize=4096)
def target(code: str) -> str:
    """The variable that a line assigns its result to, or "".

    >>> target("h = tanh(w * x)"), target("h += 1"), target("a, b = f(x)"), target("return h")
    ('h', 'h', '', '')
    """
    try:
        [line] = ast.parse(code.strip()).body
    except (SyntaxError, ValueError):
        return ""
    targets = line.targets if isinstance(line, ast.Assign) else [line.target] if isinstance(line, ast.AugAssign) else []
    return targets[0].id if len(targets) == 1 and isinstance(targets[0], ast.Name) else ""


def names(record: dict) -> dict[int, str]:
    """What each value is called: by the record, else by the line that computes it, else v and its id.

    The last operation of a line makes what the line assigns; a name that comes again gets a number.

    >>> where = {"file": "f.py", "line": 1, "code": "h = w * x + b"}
    >>> ops = [{"phase": "forward", "where": where, "outputs": [i]} for i in (0, 1)]
    >>> names({"values": [{"id": 0, "name": ""}, {"id": 1, "name": ""}], "ops": ops})
    {0: 'v0', 1: 'h'}
    """
    found = {value["id"]: value["name"] for value in record["values"] if value.get("name")}
    seen = Counter(found.values())
    lines = [op for op in record["ops"] if op["phase"] == "forward"]
    for op, following in zip(lines, [*lines[1:], {}]):
        last = line_of(op) != line_of(following)
        name = target(op.get("where", {}).get("code") or "") if last and len(op["outputs"]) == 1 else ""
        if name and op["outputs"][0] not in found:
            seen[name] += 1
            again = str(seen[name]).translate(SUBSCRIPTS) if seen[name] > 1 else ""
            found[op["outputs"][0]] = name + again
    return {value["id"]: found.get(value["id"]) or f"v{value['id']}" for value in record["values"]}


def line_of(op: dict) -> tuple:
    """The file and the line that asked for an operation."""
    where = op.get("where") or {}
    return where.get("file"), where.get("line")
