"""The generated part of the library for pages: the pointwise kernels as JavaScript, and the signatures of public functions.

JavaScript is a third target of the kernels' lambdas, beside Numba for processors and for GPUs (minigrad/kernels/formula.py).
A kernel takes the rounding of its dtype first, and rounds after each operation: `x * sigmoid(x)` becomes
`fit(x * kernels.Sigmoid.compute(fit, x))`. scalars.js has the functions that JavaScript lacks.
"""

import ast
import inspect
import math
import re
from collections.abc import Collection, Hashable, Iterator
from typing import Any

from minigrad import tensor
from minigrad.kernels import formula
from minigrad.ops.base.families import Pointwise
from minigrad.ops.base.registry import TABLE

from .definitions import PUBLIC, WORDS

# The functions of scalars.js that kernels use by name; other names are kernels themselves.
SCALARS = {name for name in formula.VECMATH.split() if name not in ("where", "sigmoid")}
SCALARS |= {"isfinite", "isinf", "isnan", "abs", "round"}
# functions of other libraries that scalars.js does not have
ABSENT = set("gcd lcm lgamma psi trigamma zeta i0 i0e i1 i1e".split())
OPERATORS: dict[type, str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
FUNCTIONS: dict[type, str] = {ast.FloorDiv: "floor_divide", ast.Mod: "remainder", ast.Pow: "pow", ast.BitAnd: "bit_and",
                              ast.BitOr: "bit_or", ast.BitXor: "bit_xor"}  # fmt: skip
LOGICAL: dict[type, str] = {ast.BitAnd: "&&", ast.BitOr: "||"}
COMPARISONS: dict[type, str] = {ast.Eq: "===", ast.NotEq: "!==", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
# parameters that change no number
IGNORED = {"out", "device", "layout", "requires_grad", "memory_format", "generator", "inplace", "size_average",
           "non_blocking", "copy", "sparse_grad", "sparse", "scale_grad_by_freq", "check_errors"}  # fmt: skip


def tables() -> dict[str, dict[str, Any]]:
    """Return the tables of the script: kernels in JavaScript, functions that are one kernel, signatures, definitions."""
    single = {n: e.cls.__name__ for n, e in public() if e.cls is not None and e.choose is None and e.cls in pointwise()}
    known = {name: signature(entry.function) for name, entry in public()} | {"tensor": signature(tensor)}
    for name, _, parameters in [head[:-1].partition("(") for head in WORDS if "=" in head]:
        known[name] = signature(eval(f"lambda {parameters}: 0"), ())
    return {"kernels": written_kernels(), "pointwiseFunctions": single, "signatures": known, "aliases": aliases(),
            "definitions": defined(known)}  # fmt: skip


def operations() -> Hashable:
    """Return what changes with every declaration of an operation."""
    return len(pointwise()), frozenset(TABLE)


def defined(known: dict[str, list]) -> dict[str, dict]:
    """Return the functions that are expressions; a word whose name a declared operation has gets another one."""
    taken = "|".join({head.partition("(")[0] for head in WORDS} & {name for name, _ in public()})
    own = lambda text: re.sub(rf"(?<![\w.])({taken})(?=[('])", r"\1_", text) if taken else text
    found = {n: {"parameters": [p["parameter"] for p in known[n]], "text": own(text)} for n, text in PUBLIC.items()}
    for head, text in WORDS.items():
        name, _, parameters = own(head).rstrip(")").partition("(")
        found[name] = {"parameters": [p.partition("=")[0] for p in parameters.split(", ")], "text": own(text)}
    return found


def aliases() -> dict[str, str]:
    """Return the further names of functions, and the first name of each."""
    first: dict[Any, str] = {}
    return {name: known for name, entry in public() if (known := first.setdefault(entry.function, name)) != name}


def public() -> Iterator[tuple[str, Any]]:
    """Yield the operations by the names that labels use; the method is `Tensor.unfold` if there is a function `unfold`."""
    functions = {entry.torch.removeprefix("nn.functional.") for entry in TABLE.values()}
    for name, entry in TABLE.items():
        path = entry.torch.removeprefix("nn.functional.") or name
        method = path.removeprefix("Tensor.")
        yield (path if path != method and method in functions else method), entry


def pointwise() -> dict[Any, None]:
    """Return the classes of elementwise operations, in the order of their definition, minigrad's before those of others."""
    found, waiting = [], [Pointwise]
    while waiting:
        cls = waiting.pop(0)
        if cls.kernel is not None:
            found.append(cls)
        waiting += cls.__subclasses__()
    return dict.fromkeys(sorted(found, key=lambda cls: not cls.__module__.startswith("minigrad.")))


def written_kernels() -> dict[str, str]:
    """Return the kernels in JavaScript, by the names of their classes; without those that call other libraries."""
    made: dict[str, str] = {}
    for cls in pointwise():
        try:
            body = expression(cls.kernel)
        except NotImplementedError:
            continue
        names = ", ".join(["fit", *formula.parameters(cls.kernel)])
        facts = f'kind: "{cls.kind}", conditions: {cls.n_conditions}, settings: {cls.n_settings}'
        made.setdefault(cls.__name__, f"{{ {facts}, compute: ({names}) => {body} }}")
    return made


def expression(kernel: Any) -> str:
    """Return the body of a kernel in JavaScript."""
    text = formula.text(kernel)
    if text is None:
        raise NotImplementedError("a kernel without a text")
    return Writer(kernel).write(ast.parse(text.strip(), mode="eval").body)


class Writer:
    """Writes one kernel in JavaScript."""

    def __init__(self, kernel: Any):
        self.names, self.scope = formula.parameters(kernel), kernel.__globals__

    def write(self, node: Any) -> str:
        """Return an expression; NotImplementedError if JavaScript has no equivalent."""
        rule = getattr(self, type(node).__name__, None)
        if rule is None:
            raise NotImplementedError(ast.unparse(node))
        return rule(node)

    def Constant(self, node: ast.Constant) -> str:  # noqa: N802
        return number(node.value)

    def Name(self, node: ast.Name) -> str:  # noqa: N802
        return node.id if node.id in self.names else number(self.scope.get(node.id))

    def Attribute(self, node: ast.Attribute) -> str:  # noqa: N802
        return number(getattr(math, node.attr, None))

    def UnaryOp(self, node: ast.UnaryOp) -> str:  # noqa: N802
        value = self.write(node.operand)
        return f"m.bit_not({value})" if isinstance(node.op, ast.Invert) else f"(-{value})"

    def BinOp(self, node: ast.BinOp) -> str:  # noqa: N802
        x, y, kind = self.write(node.left), self.write(node.right), type(node.op)
        if kind in OPERATORS:
            return f"fit({x} {OPERATORS[kind]} {y})"
        if kind in LOGICAL and not isinstance(node.left, ast.Name):
            return f"({x} {LOGICAL[kind]} {y})"
        if kind not in FUNCTIONS:
            raise NotImplementedError(ast.unparse(node))
        return f"fit(m.{FUNCTIONS[kind]}({x}, {y}))"

    def Compare(self, node: ast.Compare) -> str:  # noqa: N802
        return f"({self.write(node.left)} {COMPARISONS[type(node.ops[0])]} {self.write(node.comparators[0])})"

    def IfExp(self, node: ast.IfExp) -> str:  # noqa: N802
        return f"({self.write(node.test)} ? {self.write(node.body)} : {self.write(node.orelse)})"

    def Call(self, node: ast.Call) -> str:  # noqa: N802
        name, args = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", ""), node.args
        library = name in ("by_scipy", "on_host") or isinstance(node.func, ast.Call)  # special("psi")(x)
        if isinstance(node.func, ast.Call):
            name = ast.literal_eval(node.func.args[0])
        elif library:
            name, args = ast.unparse(args[0]).rpartition(".")[2].strip("'\""), args[1:]
        if name in ABSENT:
            raise NotImplementedError(name)
        given = [self.write(a) for a in args]
        if name == "where":
            return f"({given[0]} ? {given[1]} : {given[2]})"
        if library or name in SCALARS:
            return f"fit(m.{name}({', '.join(given)}))"
        return f"kernels.{formula.OPERATIONS[name].__name__}.compute({', '.join(['fit', *given])})"


def number(value: Any) -> str:
    """Return a constant; one that float32 cannot hold is rounded where it is used."""
    if type(value) not in (int, float, bool):
        raise NotImplementedError(repr(value))
    if not math.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    return repr(value) if value == round(value) else f"fit({value!r})"


def signature(function: Any, ignored: Collection = IGNORED) -> list[dict]:
    """Return the parameters of a function: their names, kinds and defaults."""
    found = []
    for p in inspect.signature(function).parameters.values():
        if p.name in ignored:
            continue
        entry: dict[str, Any] = {"parameter": p.name}
        if p.kind is p.VAR_POSITIONAL:
            entry["several"] = True
        if p.kind is p.KEYWORD_ONLY:
            entry["only"] = True
        if p.default is not p.empty:
            entry["value"] = default(p.default)
        found.append(entry)
    return found


def default(value: Any) -> Any:
    """Return a default as JSON; a float by its text, a dtype by its name."""
    if isinstance(value, float):
        return {"float": str(value)}
    return value if isinstance(value, (int, str, bool, tuple, type(None))) else value.name
