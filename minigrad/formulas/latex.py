r"""LaTeX: an expression in textbook notation, \bar{x} = \bar{y} \odot (1 - y^{2}).

Gradients have a bar, tangents a dot; \odot multiplies tensors elementwise, and matrix products have no sign.
"""

import ast
import re
from collections.abc import Collection, Mapping
from typing import Any

from .expression import Tree, without_minus

SUM, MINUS, TERM, POWER, ATOM = range(1, 6)  # binding strengths of an expression
FUNCTIONS = {"sin": r"\sin", "cos": r"\cos", "tan": r"\tan", "sinh": r"\sinh", "cosh": r"\cosh", "tanh": r"\tanh",
             "log": r"\ln", "sigmoid": r"\sigma", "asin": r"\arcsin", "acos": r"\arccos", "atan": r"\arctan",
             "sign": r"\operatorname{sgn}", "lgamma": r"\ln\Gamma", "digamma": r"\psi", "det": r"\det"}  # fmt: skip
CONSTANTS = {"pi": r"\pi", "inf": r"\infty", "nan": r"\mathrm{NaN}"}
COMPARED = {ast.Eq: "=", ast.NotEq: r"\ne", ast.Lt: "<", ast.LtE: r"\le", ast.Gt: ">", ast.GtE: r"\ge"}
BITWISE = {ast.BitAnd: r"\land", ast.BitOr: r"\lor", ast.BitXor: r"\oplus", ast.LShift: r"\ll", ast.RShift: r"\gg"}
OVER = {"sum": r"\sum", "prod": r"\prod", "amax": r"\max", "amin": r"\min", "max": r"\max", "min": r"\min"}
STATISTICS = ("mean", "var", "std")  # their other settings are left out, like those of a sum
NUMBER = re.compile(r"_?(\d+|\[\d+\])$|_$")  # at the end of a name
PLAIN_DIGITS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
LN2, LN10 = 0.6931471805599453, 2.302585092994046


def latex(tree: Tree, names: Mapping[str, str] | None = None, numbers: Collection[str] = ()) -> str:
    """Return an expression in LaTeX; `names` gives the LaTeX of special names, `numbers` the names of 0-d tensors."""
    return Setting(names or {}, numbers).of(tree)


def symbol(name: str) -> str:
    r"""Return the LaTeX symbol of a name, as people write it; of the gradient or the tangent of a value, its accent.

    >>> symbol("x"), symbol("v3"), symbol("scores"), symbol("hidden_size")
    ('x', 'v_{3}', '\\mathrm{scores}', '\\mathrm{hidden\\_size}')
    >>> symbol("h[2]"), symbol("x₂"), symbol("net[0].weight"), symbol("grad of x"), symbol("tangent of h[2]")
    ('h_{2}', 'x_{2}', '\\mathrm{net[0].weight}', '\\bar{x}', '\\dot{h_{2}}')
    """
    for words, accent in (("grad of ", "bar"), ("tangent of ", "dot")):
        if name.startswith(words):
            return rf"\{accent}{{{symbol(name.removeprefix(words))}}}"
    name = name.translate(PLAIN_DIGITS)
    stem = NUMBER.sub("", name)
    digits = name[len(stem) :].strip("_[]")
    set_stem = stem if len(stem) == 1 else rf"\mathrm{{{stem}}}".replace("_", r"\_")
    return f"{set_stem}_{{{digits}}}" if digits else set_stem


class Setting:
    """Converts expressions to LaTeX; each `set_*` returns the text and its binding strength."""

    def __init__(self, names: Mapping[str, str], numbers: Collection[str]):
        self.names, self.numbers = names, numbers

    def of(self, tree: Tree, least: int = 0) -> str:
        """Return an expression, in parentheses if it binds less strongly than `least`."""
        text, strength = getattr(self, f"set_{type(tree).__name__}", self.set_other)(tree)
        return rf"\left({text}\right)" if strength < least else text

    def is_number(self, tree: Tree) -> bool:
        """Return True if an expression is a scalar."""
        if isinstance(tree, ast.Name):
            return tree.id in self.numbers or tree.id in CONSTANTS
        if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Attribute):
            whole = tree.func.attr in ("sum", "mean", "numel", "item", "max", "min", "prod") and not tree.args
            return whole and not tree.keywords
        inner = [n for n in ast.iter_child_nodes(tree) if isinstance(n, ast.expr)]
        return isinstance(tree, (ast.BinOp, ast.UnaryOp, ast.Constant)) and all(map(self.is_number, inner))

    def set_Name(self, tree: Any) -> tuple[str, int]:
        return self.names.get(tree.id) or CONSTANTS.get(tree.id) or symbol(tree.id), ATOM

    def set_Constant(self, tree: Any) -> tuple[str, int]:
        if tree.value in (LN2, LN10):
            return (r"\ln 2" if tree.value == LN2 else r"\ln 10"), TERM
        if isinstance(tree.value, float) and "e" in (text := repr(tree.value)):
            mantissa, _, exponent = text.partition("e")
            power = f"10^{{{int(exponent)}}}"
            return (power, POWER) if mantissa == "1" else (rf"{mantissa} \cdot {power}", TERM)
        if isinstance(tree.value, str):
            return rf"\text{{{escaped(tree.value)}}}", ATOM
        if isinstance(tree.value, (int, float)) and not isinstance(tree.value, bool):
            return f"{tree.value:.6g}" if isinstance(tree.value, float) else str(tree.value), ATOM
        return rf"\mathrm{{{escaped(str(tree.value))}}}", ATOM

    def set_UnaryOp(self, tree: Any) -> tuple[str, int]:
        if isinstance(tree.op, ast.USub):
            return f"-{self.of(tree.operand, TERM)}", MINUS
        return rf"\lnot {self.of(tree.operand, ATOM)}", TERM

    def set_BinOp(self, tree: Any) -> tuple[str, int]:
        if (positive := without_minus(tree)) is not None:
            return f"-{self.of(positive, TERM)}", MINUS
        left, right, kind = tree.left, tree.right, type(tree.op)
        if kind in (ast.Add, ast.Sub):
            sign = "+" if kind is ast.Add else "-"
            return f"{self.of(left, SUM)} {sign} {self.of(right, SUM if kind is ast.Add else TERM)}", SUM
        if kind is ast.Div:
            return rf"\frac{{{self.of(left)}}}{{{self.of(right)}}}", TERM
        if kind is ast.Pow:
            if isinstance(right, ast.Constant) and right.value == 0.5:
                return rf"\sqrt{{{self.of(left)}}}", ATOM
            return f"{self.of(left, ATOM)}^{{{self.of(right)}}}", POWER
        if kind in (ast.Mult, ast.MatMult):
            sign = r"\," if kind is ast.MatMult or self.is_number(left) or self.is_number(right) else r"\odot"
            if kind is ast.Mult and isinstance(right, ast.Constant):
                sign = r"\cdot"
            return f"{self.of(left, MINUS)} {sign} {self.of(right, TERM)}", TERM
        if kind is ast.FloorDiv:
            return rf"\left\lfloor \frac{{{self.of(left)}}}{{{self.of(right)}}} \right\rfloor", ATOM
        sign = r"\bmod" if kind is ast.Mod else BITWISE[kind]
        return f"{self.of(left, TERM)} {sign} {self.of(right, TERM)}", SUM

    def set_Compare(self, tree: Any) -> tuple[str, int]:
        return f"{self.of(tree.left, SUM)} {COMPARED[type(tree.ops[0])]} {self.of(tree.comparators[0], SUM)}", SUM

    def set_Attribute(self, tree: Any) -> tuple[str, int]:
        if tree.attr in ("T", "mT"):
            return rf"{self.of(tree.value, ATOM)}^{{\top}}", POWER
        return rf"{{{self.of(tree.value, ATOM)}}}_{{\mathrm{{{escaped(tree.attr)}}}}}", POWER

    def set_Subscript(self, tree: Any) -> tuple[str, int]:
        if isinstance(tree.value, ast.Name) and (whole := self.names.get(ast.unparse(tree))):
            return whole, ATOM
        index = tree.slice.elts if isinstance(tree.slice, ast.Tuple) else [tree.slice]
        return f"{{{self.of(tree.value, ATOM)}}}_{{[{', '.join(map(self.of, index))}]}}", POWER

    def set_Slice(self, tree: Any) -> tuple[str, int]:
        parts = ["" if p is None else self.of(p) for p in (tree.lower, tree.upper)]
        return "{:}".join([*parts, *([] if tree.step is None else [self.of(tree.step)])]), ATOM

    def set_Tuple(self, tree: Any) -> tuple[str, int]:
        return rf"\left({', '.join(map(self.of, tree.elts))}\right)", ATOM

    def set_List(self, tree: Any) -> tuple[str, int]:
        return rf"\left[{', '.join(map(self.of, tree.elts))}\right]", ATOM

    def set_Call(self, tree: Any) -> tuple[str, int]:
        name, args = ast.unparse(tree.func), tree.args
        if isinstance(tree.func, ast.Attribute) and not name.startswith("linalg."):
            return self.set_method(tree.func.attr, tree.func.value, args, tree.keywords)
        if name == "exp":
            return f"e^{{{self.of(args[0])}}}", POWER
        if name in ("sqrt", "rsqrt"):
            root = rf"\sqrt{{{self.of(args[0])}}}"
            return (root, ATOM) if name == "sqrt" else (rf"\frac{{1}}{{{root}}}", TERM)
        if name == "abs":
            return rf"\left\lvert {self.of(args[0])} \right\rvert", ATOM
        if name == "outer":
            return rf"{self.of(args[0], POWER)} \, {self.of(args[1], ATOM)}^{{\top}}", TERM
        if name == "linalg.vector_norm" and len(args) == 1:
            return rf"\left\lVert {self.of(args[0])} \right\rVert", ATOM
        if name == "where":
            condition, yes, no = map(self.of, args)
            return rf"\begin{{cases}} {yes} & {condition} \\ {no} & \text{{else}} \end{{cases}}", SUM
        if name in ("zeros_like", "zeros", "ones_like", "ones"):
            return (r"\mathbf{0}" if name[0] == "z" else r"\mathbf{1}"), ATOM
        if name == "linalg.inv":
            return f"{self.of(args[0], ATOM)}^{{-1}}", POWER
        return self.named(FUNCTIONS.get(name) or rf"\operatorname{{{escaped(name)}}}", args, tree.keywords)

    def set_method(self, name: str, x: Tree, args: list, keywords: list) -> tuple[str, int]:
        """Return the LaTeX of `x.name(...)`."""
        if name in OVER:
            below = f"_{{{', '.join(map(self.of, args))}}}" if args else ""
            return f"{OVER[name]}{below} {self.of(x, TERM)}", TERM
        if name in STATISTICS:
            below = f"_{{{self.of(args[0])}}}" if args else ""
            return rf"\operatorname{{{name}}}{below}\left({self.of(x)}\right)", POWER
        if name == "expand":
            return rf"{self.of(x, TERM)} \, \mathbf{{1}}", TERM
        if name in ("unsqueeze", "squeeze", "to"):
            return self.of(x, ATOM), ATOM
        if name == "numel":
            return rf"\left\lvert {self.of(x)} \right\rvert", ATOM
        return self.named(rf"\operatorname{{{escaped(name)}}}", [x, *args], keywords)

    def named(self, function: str, args: list, keywords: list) -> tuple[str, int]:
        """Return the LaTeX of a call."""
        given = [self.of(a) for a in args] + [rf"\mathrm{{{escaped(k.arg)}}}{{=}}{self.of(k.value)}" for k in keywords]
        return rf"{function}\left({', '.join(given)}\right)", POWER

    def set_other(self, tree: Any) -> tuple[str, int]:
        return rf"\mathtt{{{escaped(ast.unparse(tree))}}}", ATOM


def escaped(text: str) -> str:
    """Return a text escaped for LaTeX."""
    for mark in "\\{}$&#%_^~":
        text = text.replace(
            mark, r"\textbackslash " if mark == "\\" else rf"\{mark}" if mark not in "^~" else rf"\{mark}{{}}"
        )
    return text
