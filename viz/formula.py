"""Formulas and names in the user's words: `x * y` of w and h is shown as `w * h`, a result as what it is assigned to.

An operation states its formulas in its own parameters: x for the first operand, y for the second, `out` for the result,
`g` for the upstream gradient.  Where a formula uses other names besides, it is left as it stands.
"""

from __future__ import annotations

import ast
from collections import Counter

SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def renamed(formula: str, operands: list[str], out: str) -> str:
    """A formula with the names of its operands and result; unchanged where it has names of its own.

    >>> renamed("x * y", ["w", "h"], "v3"), renamed("g * (1 - out * out)", ["v3"], "h")
    ('w * h', 'g * (1 - h * h)')
    >>> renamed("x @ weight.T", ["images", "W"], "v3")
    'x @ weight.T'
    """
    new = {**dict(zip("xy", operands)), "out": out, "g": "g"}
    if not mentioned(formula) <= set(new):
        return formula
    tree = ast.parse(formula, mode="eval")
    for node in _free(tree):
        node.id = new[node.id]
    return ast.unparse(tree)


def mentioned(formula: str) -> set[str]:
    """The names that a formula reads; a rule in words counts as one name.

    >>> sorted(mentioned("where(x > 0, g, 0.0)")), mentioned("Exp.backward of x")
    (['g', 'x'], {'Exp.backward of x'})
    """
    try:
        return {node.id for node in _free(ast.parse(formula, mode="eval"))}
    except (SyntaxError, ValueError):
        return {formula}


def _free(tree: ast.AST) -> list[ast.Name]:
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return [node for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in called]


def tangent_rule(op: dict, partials: list[str], operands: list[str], moving: list[int], out: str, sums: bool) -> str:
    """How the tangents of the operands `moving` give the tangent of the result, or "" where the partials do not tell.

    A partial without `g` multiplies its tangent, and a reduction `sums` the products.  A rule with `g` that reads
    neither its own operand nor the result belongs to an operation that is linear in this operand: together with the
    others (reshape, cat), or one by one (matmul).

    >>> tangent_rule({"name": "mul", "formula": "x * y"}, ["y", "x"], ["w", "h"], [0, 1], "v3", False)
    'h · dw + w · dh'
    >>> tangent_rule({"name": "matmul", "formula": "x @ y"}, ["g @ y.mT", "x.mT @ g"], ["h", "W"], [0, 1], "v3", False)
    'dh @ W + h @ dW'
    >>> tangent_rule({"name": "mean", "formula": "mean(x)"}, ["1 / n"], ["h"], [0], "v3", True)
    'sum((1 / n) · dh)'
    """
    moved = ["d" + name for name in operands]
    if any(partial.endswith(".backward") for partial in partials):  # of a custom Function
        return f"{op['name']}.jvp({', '.join(moved[i] for i in moving)})"
    if not any(uses_upstream(partial) for partial in partials):
        factors = {i: factor(renamed(partials[i], operands, out)) for i in moving}
        rule = " + ".join(moved[i] if factors[i] == "1" else f"{factors[i]} · {moved[i]}" for i in moving)
        return f"sum({rule})" if sums else rule
    read = [mentioned(partial) & {"x", "y", "out"} for partial in partials]
    if not any(read):
        return f"{op['name']}({', '.join(moved[i] for i in moving)})"
    if read == [{"y"}, {"x"}] and mentioned(op["formula"]) == {"x", "y"}:
        both = [[moved[0], operands[1]], [operands[0], moved[1]]]
        return " + ".join(renamed(op["formula"], both[i], out) for i in moving)
    return ""


def factor(formula: str) -> str:
    """A formula as one factor of a product: in brackets where it is a sum or a quotient.

    >>> factor("1 - out * out"), factor("x / y"), factor("2 * cos(x)")
    ('(1 - out * out)', '(x / y)', '2 * cos(x)')
    """
    try:
        tree = ast.parse(formula, mode="eval").body
    except (SyntaxError, ValueError):
        return formula
    loose = isinstance(tree, ast.UnaryOp | ast.IfExp | ast.Compare | ast.BoolOp | ast.Lambda)
    sums = isinstance(tree, ast.BinOp) and not isinstance(tree.op, ast.Mult | ast.Pow)
    return f"({formula})" if loose or sums else formula


def uses_upstream(formula: str) -> bool:
    """Whether a rule already names the upstream gradient `g`, so that it is no factor but the whole product.

    >>> uses_upstream("g @ w.T"), uses_upstream("sign(x)")
    (True, False)
    """
    return "g" in mentioned(formula)


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
        where = op.get("where") or {}
        name = target(where.get("code") or "") if where != following.get("where") and len(op["outputs"]) == 1 else ""
        if name and op["outputs"][0] not in found:
            seen[name] += 1
            again = str(seen[name]).translate(SUBSCRIPTS) if seen[name] > 1 else ""
            found[op["outputs"][0]] = name + again
    return {value["id"]: found.get(value["id"]) or f"v{value['id']}" for value in record["values"]}
