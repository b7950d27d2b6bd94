"""The table of operations: what a user can call, under which name, with which samples.

`@op(samples...)` enters a function; `functions(Class, ...)` makes the functions of Pointwise classes, whose arguments
follow from the declaration; `@choice(samples...)` enters a function whose arguments decide between such classes.
Tensor's methods, the in-place forms, the documentation's table, the parity tests against PyTorch, the finite-difference
tests and the vmap tests are all derived from this table.

A sample is the text of a call's arguments.  In it `T(2, 3)` is a random float tensor of that shape (within the operation's
domain), `P(2, 3)` a positive one, `I(2, 3, high)` integers below `high`, `B(2, 3)` booleans, `S(n, n)` symmetric positive
definite.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ... import errors
from ...arrays import dtypes
from ...core.events import slots
from ...core.frames import current
from ...core.inplace import inplace
from ...core.tensor import Tensor
from ...errors import MinigradError, error, warn
from ...kernels import formula
from . import argument_errors

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
    torch: str = ""  # where PyTorch has it, if not torch.<name>: "nn.functional.gelu"
    domain: tuple = (-2.0, 2.0)
    differentiable: bool = True
    differs: str = ""  # in what from PyTorch's, in words; the tests then do not compare it
    options: dict = field(default_factory=dict)  # for tests: {"vmap": False}
    choose: Any = None  # the function that says which class its arguments mean


TABLE: dict[str, Entry] = {}
CODES: dict[
    Any, str
] = {}  # code object of an operation's function -> its name: how a recording knows what the user called


def op(
    *samples: str,
    name: str | None = None,
    method: bool | Callable = True,
    inplace: bool = False,
    out: bool = False,
    torch: str = "",
    domain: tuple = (-2.0, 2.0),
    differentiable: bool = True,
    differs: str = "",
    aliases: tuple = (),
    **options: object,
) -> Callable:
    """Enter a function into the table.  `out` adds an `out=` argument, `inplace` a method `name_` that writes into self."""

    def enter(f: Callable) -> Callable:
        key = name or f.__name__
        CODES[f.__code__] = key
        function = with_keywords(f, key, out)
        if function is f and not hasattr(f, "__wrapped__"):
            function = checking(f, key)
        entry = Entry(
            key,
            function,
            samples,
            f.__module__,
            None,
            method,
            inplace,
            out,
            torch,
            domain,
            differentiable,
            differs,
            options,
        )
        TABLE[key] = entry
        for alias in aliases:
            TABLE[alias] = Entry(**{**entry.__dict__, "name": alias})
        return function

    return enter


def choice(
    *samples: str,
    cls: type[Pointwise],
    inplace: bool = True,
    in_formulas: bool = True,
    aliases: tuple = (),
    **settings: Any,
) -> Callable:
    """Enter a function that returns (class, arguments): the Pointwise operation that a call means.

    What users call applies it; `name_` and `out=` follow.  A third member of the tuple, where there is one, says whether to
    write into the first argument (the `inplace=` of PyTorch's activations).  `cls` is the class behind the operator;
    `in_formulas` says that formulas may name the function, which then takes the arguments of cls.
    """

    def enter(f: Callable) -> Callable:
        @functools.wraps(f)
        def function(*args: object, out: object = None, **kwargs: object) -> Any:
            try:
                chosen, operands, *write = f(*args, **kwargs)
                if any(write):
                    return write_choice((chosen, operands))
                result = chosen.apply(*operands)
            except Exception as e:
                raise explained(e, f, f.__name__, args, kwargs) from None
            return result if out is None else write_out(f.__name__, result, out)

        named(function, f.__name__)
        if in_formulas:
            formula.OPERATIONS.setdefault(f.__name__, cls)
        entered = op(*samples, inplace=inplace, aliases=aliases, **settings)(function)
        for name in (f.__name__, *aliases):
            TABLE[name].cls, TABLE[name].choose, TABLE[name].out = cls, f, True
        return entered

    return enter


def write_choice(chosen: tuple) -> Tensor:
    """Apply a chosen operation and write its result into its first argument."""
    return inplace(chosen[0], *chosen[1])


def named(f: Callable, name: str) -> Callable:
    """A function made by a factory, with code of its own under the operation's name, so that a recording can tell it."""
    f.__name__ = f.__qualname__ = name  # type: ignore[attr-defined]
    f.__code__ = f.__code__.replace(co_name=name)  # type: ignore[attr-defined]
    CODES[f.__code__] = name
    return f


# other words for a parameter that PyTorch takes: NumPy's, that of the method split, and those of uniform_ and random_
SPELLINGS = {
    "dim": "axis",
    "keepdim": "keepdims",
    "dim0": "axis0",
    "dim1": "axis1",
    "split_size_or_sections": "split_size",
    "low": "from",
    "high": "to",
    "A": "input",
}


CONVERSIONS = (
    "float",
    "int",
    "complex",
    "index",
    "bool",
    "item",
    "len",
    "iter",
)  # what Python asks of a tensor by itself


def tensor_parameters(f: Callable) -> list[tuple[int, str]]:
    """The parameters of a function that have to be tensors, by position and name."""
    parameters = inspect.signature(f).parameters.values()
    return [
        (i, p.name)
        for i, p in enumerate(parameters)
        if p.annotation in ("Tensor", Tensor) and p.kind is not p.VAR_POSITIONAL
    ]


def explained(e: Exception, f: Callable, name: str, args: tuple, kwargs: dict) -> Exception:
    """What to raise where f(*args, **kwargs) has raised e: another error where arguments are not of the kind they should be.

    Asked only where a call has failed, so that checks of types cost nothing.
    """
    if isinstance(e, Warning):  # one that has been turned into an error
        return e
    for i, p in tensor_parameters(f):
        given = args[i] if i < len(args) else kwargs.get(p, kwargs.get(SPELLINGS.get(p)))
        if not isinstance(given, Tensor) and (i < len(args) or given is not None):
            return error(TypeError, name, *argument_errors.no_tensor(p, given))
    if isinstance(e, MinigradError) and not unclear(e):
        # what was called, not what it is made of; but linalg.inv, which is also called inverse, has given its name
        if hasattr(e, "below") or e.operation in TABLE and "." not in e.operation:
            e.operation = name
        return e
    if errors.full_traceback():
        return e
    if e.__traceback__ is not None and e.__traceback__.tb_next is None:  # Python itself could not bind the arguments
        return error(TypeError, name, str(e).partition("() ")[2] or str(e), usage(f, name))
    parameters = list(inspect.signature(f).parameters)
    what = argument_errors.described(dict(zip(parameters, args)) | kwargs)
    kind = TypeError if isinstance(e, (TypeError, AttributeError, ValueError)) else RuntimeError
    return error(kind, name, f"cannot be called with {what}", usage(f, name))


def unclear(e: MinigradError) -> bool:
    """Whether an error names only what is below the operation: a tensor where a number should be, an array's trouble.

    Under a transform, which has no numbers, it says so.
    """
    return hasattr(e, "unclear") or e.operation in CONVERSIONS and not isinstance(e, IndexError) and not e.transforms


def usage(f: Callable, name: str) -> str:
    """What a function takes, as it is written."""
    parameters = inspect.signature(f).parameters.values()
    shown = [p.replace(annotation=p.empty) for p in parameters]
    return f"write {name}{inspect.Signature(shown)}"


def checking(f: Callable, name: str) -> Callable:
    """The function, whose errors are explained: written out with its own parameters, which cost less than `*args`."""
    parameters, kinds = inspect.signature(f).parameters.values(), inspect.Parameter
    stars = {kinds.VAR_POSITIONAL: "*", kinds.VAR_KEYWORD: "**"}
    taken, given, keywords = [], [], []
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY:
            if not any(t.startswith("*") for t in taken):
                taken.append("*")
            keywords.append(f"{p.name}={p.name}")
        else:
            given.append(stars.get(p.kind, "") + p.name)
        taken.append(stars.get(p.kind, "") + p.name)
    text = f"""\
def function({", ".join(taken)}):
    try:
        return f({", ".join([*given, *keywords])})
    except Exception as e:
        raise explained(e, f, {name!r}, ({"".join(g + ", " for g in given)}), dict({", ".join(keywords)})) from None
"""
    scope: dict = {"f": f, "explained": explained}
    exec(compile(text, __file__, "exec"), scope)
    function: Any = functools.wraps(f)(scope["function"])
    function.__defaults__, function.__kwdefaults__ = f.__defaults__, f.__kwdefaults__  # type: ignore[attr-defined]
    return named(function, name)


def with_keywords(f: Callable, name: str, out: bool) -> Callable:
    """The function with the keywords that its parameters do not offer: other spellings, that of `*rest`, and `out=`."""
    parameters = inspect.signature(f).parameters
    other = {SPELLINGS[p]: p for p in parameters if p in SPELLINGS and SPELLINGS[p] not in parameters}
    before = list(parameters)  # of `*rest`
    rest = next(
        (p for p, it in parameters.items() if it.kind is inspect.Parameter.VAR_POSITIONAL and p != "args"), None
    )
    if rest is not None:
        before = before[: before.index(rest)]
    if not (other or out or rest is not None and before):
        return f

    @functools.wraps(f)
    def function(*args: object, **kwargs: object) -> Any:
        target = None
        try:
            if not kwargs:
                return f(*args)
            target = kwargs.pop("out", None) if out else None
            for spelling in other.keys() & kwargs.keys():
                if other[spelling] in kwargs:
                    what = f"got the argument {other[spelling]!r} twice, once as {spelling!r}"
                    raise error(TypeError, name, what, f"leave {spelling}= out")
                kwargs[other[spelling]] = kwargs.pop(spelling)
            if rest in kwargs and len(args) <= len(before):
                args = (*args, *[kwargs.pop(p) for p in before[len(args) :] if p in kwargs], kwargs.pop(rest))
            result = f(*args, **kwargs)
        except Exception as e:
            raise explained(e, f, name, args, kwargs) from None
        return result if target is None else write_out(name, result, target)

    return named(function, name)


def write_out(name: str, result: Tensor | tuple, out: object) -> Any:
    """Write a result, or several, into the tensors given as `out=`; they are resized where they have another shape."""
    if isinstance(result, tuple):
        if not isinstance(out, (tuple, list)) or len(out) != len(result):
            got = f"one of {len(out)}" if isinstance(out, (tuple, list)) else argument_errors.describe(out)
            fix = f"pass out=({', '.join('abc'[: len(result)])})"
            raise error(TypeError, name, f"out= needs a tuple of {len(result)} tensors, got {got}", fix)
        return tuple([write_out(name, r, o) for r, o in zip(result, out)])
    if not isinstance(out, Tensor):
        what = f"out= has to be a tensor, got {type(out).__name__}"
        raise error(TypeError, name, what, "pass out=minigrad.empty(0), or leave out= away for a new tensor")
    if result.requires_grad or out.requires_grad:
        raise error(
            RuntimeError,
            name,
            "functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad",
            f"call it without out=, y = {name}(...), or inside `with minigrad.no_grad():`",
        )
    check_cast(name, result, out)
    if out.shape != result.shape:
        if out.numel():
            what = f"out= had shape {tuple(out.shape)} and was resized to {tuple(result.shape)}"
            warn(
                "resized-out",
                name,
                f"{what}: what shared its memory does not see the result",
                "pass one of that shape, or empty(0)",
            )
        slots.replacing()
        out._a = result._a.astype(out._a.dtype)
        return out
    return out.copy_(result)


def check_cast(name: str, result: Tensor, target: Tensor) -> None:
    """Whether a result may be written into a tensor of another dtype: not floats into integers, nor numbers into bools."""
    if not dtypes.can_cast(result.dtype, target.dtype):
        raise error(
            RuntimeError,
            name,
            f"result type {result.dtype} can't be cast to the desired output type {target.dtype}",
            f"use the form that returns a new tensor, {name.rstrip('_')}(...), or x.to(minigrad.{result.dtype.name})",
        )


def functions(*classes: type[Pointwise]) -> tuple:
    """The public functions of Pointwise classes, in order, each entered into the table."""
    return tuple([function_of(cls) for cls in classes])


def function_of(cls: type[Pointwise]) -> Callable:
    """`sin(input, *, out=None)` from `class Sin(Pointwise)`: the operands under PyTorch's names, the settings as declared."""
    n = len(cls.names) - cls.n_settings
    operands = cls.known_as()[:n]
    settings = [f"{p}={v!r}" for p, v in zip(cls.names[n:], cls.defaults)]
    name = cls.function_name()
    given = ", ".join(cls.known_as())
    tail = ", inplace=False" if cls.takes_inplace else ", *, out=None"
    ending = (
        f"write(cls, {given}) if inplace"
        if cls.takes_inplace
        else f"write_out({name!r}, apply({given}), out) if out is not None"
    )
    text = f"def {name}({', '.join((*operands, *settings))}{tail}):\n    return {ending} else apply({given})\n"
    scope = {"apply": cls.apply, "write_out": write_out, "write": inplace, "cls": cls}
    cls.namespaces.append(scope)
    exec(compile(text, __file__, "exec"), scope)
    f = scope[name]
    f.__doc__, f.__module__, f.__qualname__ = cls.__doc__, cls.__module__, name
    formula.OPERATIONS[name] = cls
    CODES[f.__code__] = name
    samples = cls.samples or default_samples(n)
    differentiable = cls.differentiable and bool(cls.formulas)
    TABLE[name] = Entry(
        name,
        f,
        samples,
        cls.__module__,
        cls,
        cls.method,
        cls.inplace,
        not cls.takes_inplace,
        cls.torch,
        cls.domain,
        differentiable,
        cls.differs,
    )
    for alias in cls.aliases:
        TABLE[alias] = Entry(**{**TABLE[name].__dict__, "name": alias})
    return f


def default_samples(n: int) -> tuple:
    """Shapes that meet in every way that broadcasting knows."""
    if n == 1:
        return ("T(3, 4)", "T()", "T(0, 2)", "T(1)", "T(4, 3).mT", "T(6)[1::2]")
    if n == 2:
        return (
            "T(3, 4), T(3, 4)",
            "T(3, 1), T(4)",
            "T(2, 3), T()",
            "T(), T()",
            "T(3), 1.5",
            "T(0, 2), T(2)",
            "T(4, 3).mT, T(1, 4)",
        )
    return (", ".join(["T(3, 4)"] * n), ", ".join(["T(3, 1)"] + ["T(4)"] * (n - 1)), ", ".join(["T()"] * n))


def attach(tensor: type) -> None:
    """Give Tensor its methods: every operation of the table that is one, and the in-place forms."""
    for name, entry in TABLE.items():
        if not entry.method:
            continue
        if not hasattr(tensor, name):
            setattr(tensor, name, entry.function if entry.method is True else entry.method)
        if entry.inplace and not hasattr(tensor, name + "_"):
            setattr(tensor, name + "_", in_place(name, entry))


def in_place(name: str, entry: Entry) -> Callable:
    """The method `name_`: the same operation, its result written into self."""
    if entry.choose is not None:

        def method(self: Tensor, *args: object, **kwargs: object) -> Tensor:
            fn, operands = entry.choose(self, *args, **kwargs)[:2]
            return inplace(fn, *operands)
    elif entry.cls is None or entry.cls.kind == "bool":

        def method(self: Tensor, *args: object, **kwargs: object) -> Tensor:
            # the operation may keep its input for backward, which the write must not change
            x = self.clone() if current().grad and self.requires_grad else self
            result = entry.function(x, *args, **kwargs)
            check_cast(name + "_", result, self)
            return self.copy_(result)
    else:
        signature, n = inspect.signature(entry.function), len(entry.cls.names)

        def method(self: Tensor, *args: object, **kwargs: object) -> Tensor:
            if kwargs or len(args) != n - 1:
                bound = signature.bind(self, *args, **kwargs)
                bound.apply_defaults()
                args = tuple(bound.arguments.values())[1:n]
            return inplace(entry.cls, self, *args)

    method.__doc__ = f"In-place form of {name}."
    return named(method, name + "_")
