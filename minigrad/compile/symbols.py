"""Symbols for the numbers among a captured function's arguments: a SymbolicFloat for a float, a SymbolicInt for an int.

A symbol knows the expression of the arguments that computes it. As an operand, it becomes a parameter of the program;
arithmetic and the functions of `math` return new symbols. If a symbol decides something (`if`, `int()`, `range()`), each call
checks the decision; if its digits are read, each call checks its value. Symbols are no subclasses of float and int, because C
code would read such a number unnoticed, but isinstance treats them as numbers.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

from ..core.tensor import Tensor


class Reads:
    """Everything that a capture learns about the numbers among its arguments, which are identified by position."""

    def __init__(self, names: list[str], refuse: Callable):
        self.names, self.refuse = names, refuse
        self.types: dict[str, type] = {}  # by expression
        self.results: set[int] = set()  # numbers that the program computes itself, so that it must not depend on them
        self.touched: set[int] = set()  # read in a way that no expression describes
        self.decided: dict[str, tuple[Any, frozenset]] = {}  # expression -> its result, and the numbers in it

    def look(self, sources: frozenset[int]) -> None:
        """Raise Refused if the program would depend on a number that it computes itself."""
        if sources & self.results:
            raise self.refuse()

    def touch(self, sources: frozenset[int]) -> None:
        """Record that digits were read."""
        self.look(sources)
        self.touched |= sources

    def decide(self, name: str, value: Any, sources: frozenset[int]) -> None:
        """Record the decision that an expression made."""
        self.look(sources)
        self.decided[name] = value, sources


class SymbolicNumber:
    """A number among the arguments, or one computed from symbols; `name` is the expression in terms of `leaves`."""

    kind: type

    def __init__(self, value: Any, name: str, sources: frozenset[int], reads: Reads):
        self.value, self.name, self.sources, self.reads = value, name, sources, reads
        reads.types[name] = self.kind

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.value, name)
        self.reads.touch(self.sources)
        return found

    def __round__(self, digits: int | None = None) -> Any:
        """Round: with `digits` this is arithmetic, without it the result is an int."""
        given = "" if digits is None else f", {digits}"
        return result(round(plain(self), digits), f"round({self.name}{given})", (self,))

    @property
    def expression(self) -> str:
        """The expression in terms of the arguments' names."""
        return in_names(self.name, self.reads.names)


class SymbolicFloat(SymbolicNumber):
    """A float."""

    kind = float
    __class__ = property(lambda self: float)  # for isinstance


class SymbolicInt(SymbolicNumber):
    """An int."""

    kind = int
    __class__ = property(lambda self: int)


SYMBOLIC = (SymbolicFloat, SymbolicInt)
LEAF = re.compile(r"leaves\[(\d+)\]")
LONGEST = 1000  # characters of an expression; the learning rate of RAdam has 550
EXACT = 2**53  # below this, every int has an exact float


def may_vary(a: Any) -> bool:
    """Return True if a number may be a parameter of a program."""
    return type(a) is float and math.isfinite(a) and a != 0 or type(a) is int and abs(a) < EXACT


def in_leaves(name: str, leaves: list[str]) -> str:
    """Return an expression with variables for its leaves."""
    return LEAF.sub(lambda m: leaves[int(m[1])], name)


def in_names(name: str, names: list[str]) -> str:
    """Return an expression with the users' names for its leaves."""
    return ast.unparse(ast.parse(in_leaves(name, [n if n.isidentifier() else f"v_{n}" for n in names]), mode="eval"))


def is_symbolic(a: Any) -> bool:
    """Return True if an argument is a symbol."""
    return type(a) in SYMBOLIC


def result(value: Any, name: str, operands: tuple, decides: bool = False) -> Any:
    """Return the result of an operation on symbols as a symbol, or record a decision or a read of digits."""
    symbols = [a for a in operands if is_symbolic(a)]
    sources, reads = frozenset().union(*[a.sources for a in symbols]), symbols[0].reads
    if len(name) > LONGEST:  # a loop makes it longer and longer
        reads.touch(sources)
        return value
    if type(value) is float and not decides:
        return SymbolicFloat(value, name, sources, reads)
    if type(value) is int and abs(value) < EXACT and not decides:
        return SymbolicInt(value, name, sources, reads)
    if isinstance(value, int):
        reads.decide(name, value, sources)
    else:
        reads.touch(sources)
    return value


def is_number(a: Any) -> bool:
    """Return True if an operand may be part of an expression."""
    return type(a) in (int, bool, *SYMBOLIC) or type(a) is float and math.isfinite(a)


def touch(numbers: Iterable) -> None:
    """Record that the digits of all symbols among `numbers` are read."""
    for a in filter(is_symbolic, numbers):
        a.reads.touch(a.sources)


def arithmetic(
    f: Callable, text: str, decides: bool = False, others: tuple = (Tensor, str, bytes, list, tuple)
) -> Callable:
    """Return a function of numbers that also takes symbols; `text` is the expression.

    An operator leaves `others` to their own methods; a function of `math`, for which there are none, joins its arguments.
    """

    def run(*args: Any, **kwargs: Any) -> Any:
        if kwargs or not all(map(is_number, args)):
            if any(isinstance(a, others) for a in args):
                return NotImplemented
            touch(args)
            return f(*map(plain, args), **kwargs)
        if not any(map(is_symbolic, args)):
            return f(*args)
        words = [a.name if is_symbolic(a) else repr(a) for a in args]
        return result(f(*map(plain, args)), text.format(*(words if others else [", ".join(words)])), args, decides)

    return run


def deciding(f: Callable, text: str) -> Callable:
    """Return the method that gives a truth or an int: it decides; the int of an int argument is that argument's value."""
    decide = arithmetic(f, text, True)

    def run(self: Any) -> Any:
        if f is int and type(self) is SymbolicInt and LEAF.fullmatch(self.name):
            self.reads.touch(self.sources)
            return self.value
        return decide(self)

    return run


def reflected(method: Callable) -> Callable:
    """Return the method of the second operand."""
    return lambda self, other: method(other, self)


def read(f: Callable) -> Callable:
    """Return a method that reads the digits."""

    def run(self: Any, *args: Any) -> Any:
        self.reads.touch(self.sources)
        return f(plain(self), *map(plain, args))

    return run


SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "lshift": "<<",
           "rshift": ">>", "and_": "&", "or_": "|", "xor": "^"}  # fmt: skip
COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
CALLS = {"neg": "(-{})", "pos": "(+{})", "invert": "(~{})", "abs": "abs({})"}
DECISIONS = {"bool": bool, "int": int, "index": int}
READS = {"divmod": divmod, "rdivmod": lambda a, b: divmod(b, a), "float": float, "hash": hash, "repr": repr, "str": str,
         "format": format}  # fmt: skip
for _kind in SYMBOLIC:
    for _name, _symbol in SYMBOLS.items():
        _method, _name = arithmetic(getattr(operator, _name), f"({{}} {_symbol} {{}})"), _name.rstrip("_")
        setattr(_kind, f"__{_name}__", _method)
        setattr(_kind, f"__r{_name}__", reflected(_method))
    for _name, _symbol in COMPARISONS.items():
        setattr(_kind, f"__{_name}__", arithmetic(getattr(operator, _name), f"({{}} {_symbol} {{}})", True))
    for _name, _text in CALLS.items():
        setattr(_kind, f"__{_name}__", arithmetic(getattr(operator, _name), _text))
    for _name, _function in DECISIONS.items():
        if _kind is SymbolicInt or _name != "index":
            setattr(_kind, f"__{_name}__", deciding(_function, f"{_function.__name__}({{}})"))
    for _name in ("trunc", "floor", "ceil"):
        setattr(_kind, f"__{_name}__", arithmetic(getattr(math, _name), f"math.{_name}({{}})"))
    for _name, _function in READS.items():
        setattr(_kind, f"__{_name}__", read(_function))


# replaces the module, which stays unchanged: other threads read it, and may be compiling
MATH = SimpleNamespace(
    **{
        name: arithmetic(f, f"math.{name}({{}})", others=()) if callable(f) else f
        for name, f in vars(math).items()
        if name[0] != "_"
    }
)


def settled(a: Any) -> Any:
    """Return an operation's setting with plain ints: a SymbolicInt decides there, alone or in a tuple."""
    if not isinstance(a, (tuple, list)):
        return int(a) if type(a) is SymbolicInt else a
    plainer = list(map(settled, a))
    same = all(old is new for old, new in zip(a, plainer))
    return a if same else getattr(type(a), "_make", type(a))(plainer)


def plain(a: Any) -> Any:
    """Return the number that a symbol stands for."""
    return a.value if type(a) in SYMBOLIC else a
