"""The table of operations: the functions that a user can call, with their names and samples.

`@op(samples...)` enters a function; `functions(Class, ...)` generates the functions of Pointwise classes, whose arguments
follow from the declaration; `@choice(samples...)` enters a function that picks such a class by its arguments.
Tensor's methods, the in-place forms, the documentation's table, the parity tests against PyTorch, the finite-difference
tests and the vmap tests are all derived from this table.

A sample is the argument text of a call.  In it `T(2, 3)` is a random float tensor of that shape (within the operation's
domain), `P(2, 3)` a positive one, `I(2, 3, high)` integers below `high`, `B(2, 3)` booleans, `S(n, n)` symmetric positive
definite.
"""

from __future__ import annotations

import inspect
import linecache
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...arrays import dtypes
from ...core.frames import current
from ...core.inplace import inplace
from ...core.tensor import Tensor
from ...kernels import formula
from ...kernels.formula import compiled
from ..node_names import ending
from ..public_functions import (
    called,
    check_cast,
    declared,
    named_code,
    raise_explained,
    rename_code,
    unusual_call,
    with_out,
    write_out,
)

if TYPE_CHECKING:
    from .families import Pointwise


@dataclass
class Entry:
    """One operation of the table."""

    name: str
    function: Callable
    samples: tuple
    module: str
    cls: Any = None  # the class of a Pointwise operation
    method: Any = True  # also a method of Tensor: this function, or the given one
    inplace: bool = False  # also `name_`
    out: bool = False  # takes out=
    torch: str = ""  # its name in PyTorch, if not torch.<name>: "nn.functional.gelu"
    domain: tuple = (-2.0, 2.0)  # of the random numbers in samples
    differentiable: bool = True
    differs: str = ""  # its difference from PyTorch, in words; the tests then do not compare it
    shown: str = ""  # a sample with a derivative for the documentation, if the others have none
    vmap: bool = True  # the tests run it under vmap
    choose: Any = None  # the function that picks the class from the arguments


TABLE: dict[str, Entry] = {}


def enter(name: str, function: Callable, samples: tuple, aliases: tuple = (), **settings: Any) -> Callable:
    """Enter a function into the table under its name and its aliases; the settings are fields of Entry."""
    for known in (name, *aliases):
        assert known not in TABLE or TABLE[known].module == function.__module__, f"two operations are called {known}"
        TABLE[known] = Entry(known, function, samples, function.__module__, **settings)
    return function


def op(
    *samples: str,
    name: str | None = None,
    out: bool = False,
    node: str | Callable = "",
    aliases: tuple = (),
    **settings: Any,
) -> Callable:
    """Enter a function into the table.  `out` adds an `out=` argument, `inplace` a method `name_` that writes into self.

    `node` is PyTorch's name of the results' node, if one operation there corresponds to several here (see `ending`).
    """

    def decorate(f: Callable) -> Callable:
        key = name or f.__name__
        named_code(f.__code__, key)
        explained = hasattr(f, "__wrapped__")  # by the decorator that made it
        function = f if explained and unusual_call(f, inspect.signature(f), key, out) is None else called(f, key, out)
        function = rename_code(ending(function, node), key) if node else function
        return enter(key, function, samples, aliases, out=out, **settings)

    return decorate


def choice(
    *samples: str, cls: type[Pointwise], in_formulas: bool = True, aliases: tuple = (), **settings: Any
) -> Callable:
    """Enter a function that returns (class, arguments): the Pointwise operation that a call stands for.

    Users call a function that applies it; `name_` and `out=` follow.  An optional third member asks to write into the first
    argument (the `inplace=` of PyTorch's activations).  `cls` is the class behind the operator; with `in_formulas`, formulas
    may name the function, which then takes the arguments of cls.
    """

    def decorate(f: Callable) -> Callable:
        name = f.__name__
        function = called(f, name, out=True, finish=apply_chosen)
        if in_formulas:
            formula.OPERATIONS.setdefault(name, cls)
        known = {"inplace": True, "out": True, "cls": cls, "choose": f} | settings
        shown = inspect.signature(f).replace(return_annotation="Tensor")
        return enter(name, declared(function, f, with_out(shown)), samples, aliases, **known)

    return decorate


def apply_chosen(cls: type[Pointwise], operands: tuple, write: bool = False) -> Any:
    """Apply the operation that a call stands for, or write its result into the first operand."""
    return inplace(cls, *operands) if write else cls.apply(*operands)


def source_of(cls: type) -> str:
    """Return the name of a file that consists of a class: `inspect.getsource` then shows it for a function of this file.

    `__wrapped__` would be simpler, but Jedi takes a call of a function that wraps a class for an instance of the class.
    """
    path = f"{sys.modules[cls.__module__].__file__}:{cls.__name__}"
    linecache.cache[path] = (lambda: inspect.getsource(cls),)  # type: ignore[assignment]  a loader, called at the first look
    return path


def check_fits(name: str, x: object, *numbers: object) -> None:
    """Raise RuntimeError if numbers would change or become infinite in the dtype of the tensor that they are combined with."""
    unsure = [n for n in numbers if not (type(n) is float and -1e4 < n < 1e4 or type(n) is int and 0 <= n < 100)]
    if unsure and isinstance(x, Tensor):  # the others fit every dtype
        floats = x._np_dtype in dtypes.FLOATS
        dtypes.check_fits(name, x._np_dtype, *(unsure if floats else [n for n in unsure if isinstance(n, int)]))


def functions(*classes: type[Pointwise]) -> tuple:
    """Return the public functions of Pointwise classes, in order, and enter each into the table."""
    return tuple([function_of(cls) for cls in classes])


def function_of(cls: type[Pointwise]) -> Callable:
    """Return `sin(input, *, out=None)` for `class Sin(Pointwise)`: the operands under PyTorch's names, then the settings."""
    name, n = cls.function_name(), len(cls.names) - cls.n_settings
    settings = [f"{p}={v!r}" for p, v in zip(cls.names[n:], cls.defaults)]
    taken, given = ", ".join((*cls.known_as()[:n], *settings)), ", ".join(cls.known_as())
    if cls.takes_inplace:
        head, first = f"{taken}, inplace=False", f"write(cls, {given}) if inplace"
    else:
        head, first = f"{taken}, *, out=None", f"write_out(name, apply({given}), out) if out is not None"
    check = f"    check_fits(name, {given})\n" if settings else ""
    text = f"def function({head}):\n{check}    return {first} else apply({given})\n"
    scope = {"apply": cls.apply, "write_out": write_out, "write": inplace, "check_fits": check_fits, "cls": cls}
    scope["name"] = name
    cls.namespaces.append(scope)
    exec(compiled(text), scope)
    f = scope["function"]
    f.__code__ = f.__code__.replace(co_filename=source_of(cls))
    f = rename_code(f, name)
    f.__doc__, f.__module__ = cls.__doc__, cls.__module__
    f.__signature__ = inspect.signature(f).replace(return_annotation="Tensor")  # type: ignore[attr-defined]
    f.__annotations__ = {"return": Tensor}
    formula.OPERATIONS[name] = cls
    properties = {k: getattr(cls, k) for k in ("method", "inplace", "torch", "domain", "differs")}
    properties |= {"out": not cls.takes_inplace, "differentiable": cls.differentiable and bool(cls.formulas)}
    return enter(name, f, cls.samples or SAMPLES[n], cls.aliases, cls=cls, **properties)


SAMPLES = {  # by the number of operands: shapes that cover all cases of broadcasting
    1: ("T(3, 4)", "T()", "T(0, 2)", "T(1)", "T(4, 3).mT", "T(6)[1::2]"),
    2: ("T(3, 4), T(3, 4)", "T(3, 1), T(4)", "T(2, 3), T()", "T(), T()", "T(3), 1.5", "T(0, 2), T(2)",
        "T(4, 3).mT, T(1, 4)"),
    3: ("T(3, 4), T(3, 4), T(3, 4)", "T(3, 1), T(4), T(4)", "T(), T(), T()"),
}  # fmt: skip


def attach(tensor: type) -> None:
    """Give Tensor its methods: every table entry with `method`, and the in-place forms."""
    for name, entry in TABLE.items():
        if not entry.method or "." in name:  # matrix_exp is also linalg.matrix_exp
            continue
        if not hasattr(tensor, name):
            setattr(tensor, name, entry.function if entry.method is True else entry.method)
        if entry.inplace and not hasattr(tensor, name + "_"):
            setattr(tensor, name + "_", in_place(name, entry))


def may_save(a: object) -> bool:
    """Return True if an operation on a may be recorded, here or in a layer below, and then save its operands."""
    return isinstance(a, Tensor) and (a._layer is not None or a.requires_grad)


def in_place(name: str, entry: Entry) -> Callable:
    """Return the method `name_`: the same operation, with the result written into self."""
    shown = inspect.signature(entry.function)
    if entry.choose is not None:

        def method(self: Tensor, *args: object, **kwargs: object) -> Tensor:
            try:
                fn, operands = entry.choose(self, *args, **kwargs)[:2]
                return inplace(fn, *operands)
            except Exception as e:
                return raise_explained(e, entry.choose, name + "_", (self, *args), kwargs)
    elif entry.cls is None or entry.cls.kind == "bool":

        def method(self: Tensor, *args: object, **kwargs: object) -> Tensor:
            # the operation may save its input for backward, and the write must not change that
            x = self.clone() if current().grad and any(map(may_save, (self, *args, *kwargs.values()))) else self
            result = entry.function(x, *args, **kwargs)
            check_cast(name + "_", result, self)
            return self.copy_(result)
    else:
        n = len(entry.cls.names)

        def method(self: Tensor, *args: object, **kwargs: object) -> Tensor:
            if kwargs or len(args) != n - 1:
                bound = shown.bind(self, *args, **kwargs)
                bound.apply_defaults()
                args = tuple(bound.arguments.values())[1:n]
            return inplace(entry.cls, self, *args)

    method.__doc__ = f"In-place form of {name}."
    return declared(rename_code(method, name + "_"), entry.function, in_place_signature(shown))


def in_place_signature(signature: inspect.Signature) -> inspect.Signature:
    """Return the signature of `name_`: the operation's, with self for the first argument and without out= and inplace=."""
    first, *others = signature.parameters.values()
    kept = [p for p in others if p.name not in ("out", "inplace")]
    return inspect.Signature([first.replace(name="self"), *kept], return_annotation="Tensor")
