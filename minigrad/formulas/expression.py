"""Expressions: formulas as trees of Python's `ast`, built from pieces and tidied up as a person would write them.

Products get their numbers in front and no inner parentheses: `g / 6 * (2 * (x - y))` becomes `2 * g * (x - y) / 6`. Signs,
ones and zeros that change nothing are left out.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ..arrays.dtypes import dtype as DType

Tree, Attribute, Call, Constant, List, Subscript = (
    ast.expr, ast.Attribute, ast.Call, ast.Constant, ast.List, ast.Subscript
)  # fmt: skip
OPERATORS = {"+": ast.Add, "-": ast.Sub, "*": ast.Mult, "/": ast.Div, "//": ast.FloorDiv, "%": ast.Mod, "**": ast.Pow,
             "@": ast.MatMult, "&": ast.BitAnd, "|": ast.BitOr, "^": ast.BitXor, "<<": ast.LShift,
             ">>": ast.RShift}  # fmt: skip
COMPARISONS = {"==": ast.Eq, "!=": ast.NotEq, "<": ast.Lt, "<=": ast.LtE, ">": ast.Gt, ">=": ast.GtE}

# numbers with a well-known expression
KNOWN = {
    eval(text, {"pi": math.pi}): text
    for text in ("pi", "2 * pi", "pi / 2", "pi / 180", "180 / pi", "pi ** 2", "pi ** 0.5", "pi ** 0.5 / 2", "2 / pi ** 0.5",
                 "2 ** 0.5", "1 / 2 ** 0.5", "(2 * pi) ** 0.5", "1 / (2 * pi) ** 0.5", "(2 / pi) ** 0.5")
}  # fmt: skip
KNOWN[0.5**0.5] = KNOWN[1 / 2**0.5]  # they differ by rounding


def name(word: str) -> Tree:
    """Return a name."""
    return ast.Name(word)


def parsed(text: str) -> Tree:
    """Return the tree of an expression."""
    return ast.parse(text, mode="eval").body


def literal(value: Any) -> Tree:
    """Return the tree of a plain value: a number, a string, a slice, a dtype, or a sequence of these."""
    if isinstance(value, ast.expr):
        return value
    if isinstance(value, DType):
        return name(value.name)
    if isinstance(value, slice):
        parts = [None if part is None else literal(part) for part in (value.start, value.stop, value.step)]
        return ast.Slice(*parts)
    if isinstance(value, (tuple, list)):
        return (ast.Tuple if isinstance(value, tuple) else ast.List)([literal(v) for v in value])
    return number(value) if isinstance(value, float) else negated(value)


def negated(value: Any) -> Tree:
    """Return a constant; Python writes a negative one as a minus and a positive constant."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.copysign(1, value) < 0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)


def number(value: float) -> Tree:
    """Return a float as an exact expression (`pi / 180`) or an integer, if possible."""
    if math.isnan(value) or math.isinf(value):
        word = name("nan" if math.isnan(value) else "inf")
        return ast.UnaryOp(ast.USub(), word) if value < 0 else word
    if value in KNOWN:
        return parsed(KNOWN[value])
    if -value in KNOWN:
        return ast.UnaryOp(ast.USub(), parsed(KNOWN[-value]))
    if value.is_integer() and abs(value) < 1e16:
        return negated(int(value))
    ratio = Fraction(value).limit_denominator(1000)
    if len(repr(value)) > max(8, len(str(ratio))) and ratio.numerator / ratio.denominator == value:
        return ast.BinOp(negated(ratio.numerator), ast.Div(), ast.Constant(ratio.denominator))
    return negated(value)


def operator(symbol: str, left: Any, right: Any) -> Tree:
    """Return `left symbol right`."""
    if symbol in COMPARISONS:
        return ast.Compare(literal(left), [COMPARISONS[symbol]()], [literal(right)])
    return ast.BinOp(literal(left), OPERATORS[symbol](), literal(right))


def minus(tree: Any) -> Tree:
    """Return `-tree`."""
    return ast.UnaryOp(ast.USub(), literal(tree))


def call(function: str, *args: Any, **keywords: Any) -> Tree:
    """Return `function(*args, **keywords)`, without keywords whose value is None."""
    given = [ast.keyword(k, literal(v)) for k, v in keywords.items() if v is not None]
    return ast.Call(parsed(function), [literal(a) for a in args], given)


def method(x: Tree, function: str, *args: Any, **keywords: Any) -> Tree:
    """Return `x.function(*args, **keywords)`."""
    made = call(function, *args, **keywords)
    made.func = ast.Attribute(x, function)
    return made


def attribute(x: Tree, word: str) -> Tree:
    """Return `x.word`."""
    return ast.Attribute(x, word)


def subscript(x: Tree, index: Any) -> Tree:
    """Return `x[index]`."""
    return ast.Subscript(x, literal(index))


def assignment(target: Tree, value: Any) -> ast.Assign:
    """Return `target = value`."""
    return ast.Assign([target], literal(value), lineno=0)


EXPONENT = re.compile(r"(\d)e\+?(-?)0?(?=\d)")


def text(tree: ast.AST) -> str:
    """Return the source of an expression or assignment, with exponents as people write them: 1e-5."""
    return EXPONENT.sub(r"\1e\2", ast.unparse(tree))


def same(one: Tree, other: Tree) -> bool:
    """Return True if two expressions are the same."""
    return ast.dump(one) == ast.dump(other)


# ---------------------------------------------------------------------- tidying
def tidy(tree: Tree) -> Tree:
    """Return an expression as a person would write it."""
    return Tidy().visit(tree)


class Tidy(ast.NodeTransformer):
    """Rebuilds products and sums, innermost first."""

    def visit_BinOp(self, node: ast.BinOp) -> Tree:
        self.generic_visit(node)
        if isinstance(node.op, (ast.Mult, ast.Div)):
            return Product.of(node).tree()
        if isinstance(node.op, (ast.Add, ast.Sub)):
            return total(node)
        if isinstance(node.op, ast.Pow):
            return power(node)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Tree:
        self.generic_visit(node)
        if isinstance(node.op, ast.USub):
            return Product.of(node).tree()
        return node

    def visit_Call(self, node: ast.Call) -> Tree:
        self.generic_visit(node)
        if text(node.func) == "einsum":
            return matrix_product(node)
        if (twice := without_call(node, "flip")) is not None and (once := without_call(twice, "flip")) is not None:
            return once if same(node.args[0], twice.args[0]) else node
        return without_kept(node)


def without_call(tree: Tree, word: str, *args: Any) -> Any:
    """Return x of `x.word(*args)`, or of a call with any single argument; None for other expressions."""
    if not (
        isinstance(tree, Call) and isinstance(tree.func, Attribute) and tree.func.attr == word and not tree.keywords
    ):
        return None
    given = [getattr(a, "value", None) for a in tree.args]
    return tree.func.value if len(given) == 1 and (not args or given == list(args)) else None


def without_kept(node: Call) -> Tree:
    """Return `x.sum(d)` for `x.sum(d, keepdim=True).squeeze(d)`, also for several dimensions."""
    squeezed, inner = [], node
    while (
        isinstance(below := without_call(inner, "squeeze"), Call)
        and type(d := getattr(inner.args[0], "value", None)) is int
    ):
        squeezed.append(d)
        inner = below
    keeps = inner.keywords and inner.keywords[-1].arg == "keepdim" and isinstance(inner.func, Attribute)
    if not squeezed or not keeps or not inner.args:
        return node
    dims = [getattr(d, "value", -1) for d in getattr(inner.args[0], "elts", inner.args[:1])]
    left = list(range(max(squeezed) + len(squeezed) + 1))
    gone = sorted(left.pop(d) for d in reversed(squeezed))
    return Call(inner.func, inner.args, inner.keywords[:-1]) if gone == sorted(dims) else node


PRODUCTS = {"ij,jk->ik": ("x", "y"), "ij,kj->ik": ("x", "y.T"), "ij,ik->jk": ("x.T", "y"), "ij,ik->kj": ("y.T", "x"),
            "ij,j->i": ("x", "y"), "ij,i->j": ("y", "x"), "i,ij->j": ("x", "y"), "i,i->": ("x", "y")}  # fmt: skip


def matrix_product(node: Call) -> Tree:
    """Return an einsum of two matrices, or of a matrix and a vector, as a product with `@`."""
    if len(node.args) != 3 or (sides := PRODUCTS.get(getattr(node.args[0], "value", ""))) is None:
        return node
    given = dict(zip("xy", node.args[1:]))
    left, right = (attribute(given[s[0]], "T") if s.endswith(".T") else given[s] for s in sides)
    return operator("@", left, right)


class Product:
    """A product: its sign, its numbers and its other factors, above and below the fraction line."""

    def __init__(self):
        self.sign, self.numbers, self.factors = 1, ([], []), ([], [])

    @classmethod
    def of(cls, tree: Tree) -> Product:
        """Return an expression split into factors."""
        made = cls()
        made.take(tree, 0)
        return made

    def take(self, tree: Tree, below: int) -> None:
        """Add a factor, above or below the line."""
        if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
            self.sign = -self.sign
            self.take(tree.operand, below)
        elif isinstance(tree, ast.BinOp) and isinstance(tree.op, (ast.Mult, ast.Div)):
            self.take(tree.left, below)
            self.take(tree.right, below ^ isinstance(tree.op, ast.Div))
        elif isinstance(tree, ast.Constant) and type(tree.value) in (int, float):
            self.numbers[below].append(tree.value)
        elif (root := one_over_root(tree)) is not None:
            self.factors[1 - below].append(root)
        else:
            self.factors[below].append(tree)

    def tree(self) -> Tree:
        """Return the product as an expression."""
        above, below = [math.prod(numbers) for numbers in self.numbers]
        if type(above) is float and type(below) is int and below > 1 and (exact := Fraction(above)).denominator <= 8:
            above, below = exact.numerator, exact.denominator * below
        if type(above) is int and type(below) is int and below:
            divisor = math.gcd(above, below)
            above, below = above // divisor, below // divisor
        top, bottom = [sorted(powers(factors), key=place_in_product) for factors in self.factors]
        if above != 1 or not top:
            top = [number(float(above)) if type(above) is float else literal(above), *top]
        if below != 1:
            bottom = [literal(below), *bottom]
        made = chain(top, ast.Mult)
        if len(bottom) == 1:
            made = ast.BinOp(made, ast.Div(), bottom[0])
        elif bottom:
            made = ast.BinOp(made, ast.Div(), chain(bottom, ast.Mult))
        return made if self.sign > 0 else with_minus(made)


def coefficient(formula: str, word: str) -> str:
    """Return the coefficient of a name in a product; "" if the formula is not a product with this name as a factor.

    >>> coefficient("2 * g * x / 3", "g"), coefficient("-g", "g"), coefficient("g @ w.T", "g"), coefficient("g * g.sum()", "g")
    ('2 * x / 3', '-1', '', '')
    """
    product = Product.of(parsed(formula))
    above, below = product.factors
    reads = [tree for tree in (*above, *below) if any(getattr(n, "id", "") == word for n in ast.walk(tree))]
    if len(reads) != 1 or not any(tree is reads[0] for tree in above) or not isinstance(reads[0], ast.Name):
        return ""
    above.remove(reads[0])
    return text(product.tree())


def one_over_root(tree: Tree) -> Tree | None:
    """Return the divisor that corresponds to `rsqrt(x)`, or to a power of it; None for other expressions."""
    base, exponent = split_power(tree)
    if not (isinstance(base, Call) and text(base.func) == "rsqrt"):
        return None
    root = call("sqrt", *base.args)
    return root if exponent == 1 else operator("**", root, exponent)


def place_in_product(tree: Tree) -> int:
    """Return a sort key for a factor: g first, sums last."""
    return (
        0 if is_gradient(tree) else 2 if isinstance(tree, ast.BinOp) and isinstance(tree.op, (ast.Add, ast.Sub)) else 1
    )


def is_gradient(tree: Tree) -> bool:
    """Return True if a factor is g, or a part or another shape of it, which goes first in a product."""
    while isinstance(tree, (ast.Subscript, ast.Attribute, ast.Call)):
        tree = tree.func if isinstance(tree, ast.Call) else tree.value
    return isinstance(tree, ast.Name) and tree.id == "g"


def with_minus(tree: Tree) -> Tree:
    """Return a tidied product with a minus at its first factor."""
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, (ast.Mult, ast.Div)):
        return ast.BinOp(with_minus(tree.left), tree.op, tree.right)
    return ast.UnaryOp(ast.USub(), tree)


def powers(factors: Sequence[Tree]) -> list[Tree]:
    """Return factors with repeated ones as powers: x * x becomes x ** 2."""
    seen: dict[str, list] = {}
    for tree in factors:
        base, exponent = split_power(tree)
        at = seen.setdefault(ast.dump(base), [base, 0])
        at[1] += exponent
    return [base if n == 1 else ast.BinOp(base, ast.Pow(), literal(n)) for base, n in seen.values()]


def split_power(tree: Tree) -> tuple[Tree, int]:
    """Return base and exponent if the exponent is a positive integer; else the expression itself and 1."""
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Pow):
        exponent = getattr(tree.right, "value", None)
        if type(exponent) is int and exponent > 0:
            return tree.left, exponent
    return tree, 1


def power(node: ast.BinOp) -> Tree:
    """Return a power; for exponent 1, the base alone."""
    if isinstance(node.right, ast.Constant) and node.right.value == 1:
        return node.left
    return node


def total(node: ast.BinOp) -> Tree:
    """Return a sum or difference of tidied terms, without zeros, and with `a - b` for `a + -b`."""
    left, right, minus = node.left, node.right, isinstance(node.op, ast.Sub)
    if isinstance(right, ast.BinOp) and isinstance(right.op, (ast.Add, ast.Sub)) and not minus:
        return total(ast.BinOp(total(ast.BinOp(left, ast.Add(), right.left)), right.op, right.right))
    if (known := difference(left, right)) is not None and minus:
        return known
    if not minus and (both := either(left, right)) is not None:
        return both
    if is_zero(right):
        return left
    if is_zero(left):
        return with_minus(right) if minus else right
    if (positive := without_minus(right)) is not None:
        right, minus = positive, not minus
    if not minus and (positive := without_minus(left)) is not None:
        left, right, minus = right, positive, True
    return ast.BinOp(left, ast.Sub() if minus else ast.Add(), right)


def difference(left: Tree, right: Tree) -> Tree | None:
    """Return the difference of two numbers if it is short, else None."""
    a, b = [getattr(side, "value", None) for side in (left, right)]
    if type(a) not in (int, float) or type(b) not in (int, float) or len(repr(a - b)) > 8:
        return None
    return literal(a - b)


def either(left: Tree, right: Tree) -> Tree | None:
    """Return `where(c, x, y)` for `where(c, x, 0) + where(c, 0, y)`; None for other terms."""
    for one, other in ((left, right), (right, left)):
        calls = all(
            isinstance(side, Call) and text(side.func) == "where" and len(side.args) == 3 for side in (one, other)
        )
        if calls and same(one.args[0], other.args[0]) and is_zero(one.args[2]) and is_zero(other.args[1]):
            return call("where", one.args[0], one.args[1], other.args[2])
    return None


def is_zero(tree: Tree) -> bool:
    """Return True if the expression is the number 0."""
    return isinstance(tree, ast.Constant) and type(tree.value) in (int, float) and tree.value == 0


def without_minus(tree: Tree) -> Tree | None:
    """Return a tidied product without its leading minus; None if it has none."""
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        return tree.operand
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, (ast.Mult, ast.Div)):
        left = without_minus(tree.left)
        if left is not None:
            if isinstance(left, ast.Constant) and left.value == 1 and isinstance(tree.op, ast.Mult):
                return tree.right
            return ast.BinOp(left, tree.op, tree.right)
    return None


def chain(trees: Sequence[Tree], kind: type[ast.operator]) -> Tree:
    """Return the expressions joined by one operator."""
    made = trees[0]
    for tree in trees[1:]:
        made = ast.BinOp(made, kind(), tree)
    return made
