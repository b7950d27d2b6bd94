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

import functools
import inspect
import itertools
import linecache
import sys
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import TYPE_CHECKING, Any

from ...arrays import dtypes
from ...core.frames import current
from ...core.inplace import inplace
from ...core.tensor import Tensor
from ...errors import error, raise_instead, warn
from ...events import events, services
from ...kernels import formula
from ..node_names import ending
from ..older_calls import reordered

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
# by the id of a function's code object: that object, which must live on, and the operation's name
CODES: dict[int, tuple[CodeType, str]] = {}


def named_code(code: CodeType, name: str) -> None:
    """Note that this code is the operation's function: a recording finds the user's call by it."""
    CODES[id(code)] = code, name


def operation_of(code: CodeType) -> str | None:
    """Return the operation's name if this code is the function of one."""
    found = CODES.get(id(code))
    return None if found is None else found[1]


def enter(name: str, function: Callable, samples: tuple, aliases: tuple = (), **settings: Any) -> Callable:
    """Enter a function into the table under its name and its aliases; the settings are fields of Entry."""
    for known in (name, *aliases):
        assert known not in TABLE, f"two operations are called {known}: the second would replace the first"
        TABLE[known] = Entry(known, function, samples, function.__module__, **settings)
    return function


def op(
    *samples: str, name: str | None = None, out: bool = False, node: Any = "", aliases: tuple = (), **settings: Any
) -> Callable:
    """Enter a function into the table.  `out` adds an `out=` argument, `inplace` a method `name_` that writes into self.

    `node` is PyTorch's name of the results' node, if one operation there corresponds to several here (see `ending`).
    """

    def decorate(f: Callable) -> Callable:
        key = name or f.__name__
        named_code(f.__code__, key)
        explained = hasattr(f, "__wrapped__")  # by the decorator that made it
        function = f if explained and unusual_call(f, key, out) is None else called(f, key, out)
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

        @functools.wraps(f)
        def function(*args: object, out: object = None, **kwargs: object) -> Any:
            try:
                chosen, operands, *write = f(*args, **kwargs)
                if any(write):
                    return inplace(chosen, *operands)
                result = chosen.apply(*operands)
            except Exception as e:
                return raise_explained(e, f, name, args, kwargs)
            return result if out is None else write_out(name, result, out)

        if in_formulas:
            formula.OPERATIONS.setdefault(name, cls)
        known = {"inplace": True, "out": True, "cls": cls, "choose": f} | settings
        shown = inspect.signature(f).replace(return_annotation="Tensor")
        return enter(name, declared(rename_code(function, name), f, with_out(shown)), samples, aliases, **known)

    return decorate


def rename_code(f: Callable, name: str) -> Callable:
    """Give a generated function, whose code object must be unique, the operation's name, so that a recording knows it."""
    f.__name__ = f.__qualname__ = name  # type: ignore[attr-defined]
    f.__code__ = f.__code__.replace(co_name=name)  # type: ignore[attr-defined]
    named_code(f.__code__, name)
    return f


def declared(f: Callable, by: Callable, signature: inspect.Signature) -> Callable:
    """Let `inspect.getsource` show another function for a generated one, and `inspect.signature` these parameters."""
    f.__wrapped__, f.__signature__ = by, signature  # type: ignore[attr-defined]
    if signature.return_annotation == "Tensor":
        f.__annotations__ = {"return": Tensor}  # completion in notebooks reads it
    return f


def source_of(cls: type) -> str:
    """Return the name of a file that consists of a class: `inspect.getsource` then shows it for a function of this file.

    `__wrapped__` would be simpler, but Jedi takes a call of a function that wraps a class for an instance of the class.
    """
    path = f"{sys.modules[cls.__module__].__file__}:{cls.__name__}"
    linecache.cache[path] = (lambda: inspect.getsource(cls),)  # type: ignore[assignment]  a loader, called at the first look
    return path


OUT = inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None)


def with_out(signature: inspect.Signature) -> inspect.Signature:
    """Return the signature with `out=None` at the end."""
    return signature.replace(parameters=[*signature.parameters.values(), OUT])


# other spellings of a parameter that PyTorch takes: NumPy's, and those of split, uniform_ and random_
SPELLINGS = {"dim": "axis", "keepdim": "keepdims", "dim0": "axis0", "dim1": "axis1",
             "split_size_or_sections": "split_size", "low": "from", "high": "to", "A": "input"}  # fmt: skip


def raise_explained(cause: Exception, f: Callable, name: str, args: Sequence, kwargs: dict) -> Any:
    """Raise an explained error for f(*args, **kwargs), which failed with `cause`, or run the call if it has an older order."""
    if isinstance(cause, TypeError) and (call := reordered(name, args, kwargs)):
        return getattr(Tensor, name)(*call[0], **call[1])
    problem = "the function cannot be called like this"
    try:
        raise_instead(services.problem(problem, cause=cause, f=f, name=name, args=args, kwargs=kwargs), cause)
    finally:
        del cause  # as in raise_instead


@functools.cache
def compiled(text: str) -> CodeType:
    """Compile the source of a function; operations with the same parameters share the result."""
    return compile(text, __file__, "exec")


ABSENT = inspect.Parameter.empty  # an argument that was not given


def called(f: Callable, name: str, out: bool = False) -> Callable:
    """Return the function as users call it: with explained errors, other spellings, the name of `*rest`, and `out=`.

    It is generated with the real parameters, which cost less than `*args, **kwargs`.
    """
    signature, unusual = inspect.signature(f), unusual_call(f, name, out)
    of_kind: dict = {p.kind: {} for p in signature.parameters.values()}
    for p in signature.parameters.values():
        of_kind[p.kind][p.name] = p.default
    plain, words = of_kind.get(PLAIN, {}), of_kind.get(inspect.Parameter.KEYWORD_ONLY, {})
    text = call_text(plain, next(iter(of_kind.get(REST, ())), ""), words, lenient=unusual is not None)
    scope: dict = {"f": f, "refuse": raise_explained, "name": name, "unusual": unusual, "ABSENT": ABSENT, "text": text}
    exec(compiled(text), scope)
    function: Any = functools.wraps(f)(scope["function"])
    function.__defaults__ = tuple([d for d in plain.values() if unusual is not None or d is not ABSENT])
    function.__kwdefaults__ = {k: d for k, d in words.items() if d is not ABSENT}
    rename_code(function, name)
    return function if unusual is None else declared(function, f, with_out(signature) if out else signature)


def begin_with(function: Any, lines: str, names: dict) -> None:
    """Let a function that `called` has returned begin with lines that use these names."""
    scope, name = function.__globals__, function.__name__
    head, attempt, body = scope["text"].partition("    try:")
    scope |= names | scope
    exec(compiled(f"{head}{textwrap.indent(lines, '    ')}{attempt}{body}"), scope)
    function.__code__ = scope["function"].__code__
    rename_code(function, name)


PLAIN, REST = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.VAR_POSITIONAL


def call_text(plain: dict, rest: str, words: dict, lenient: bool) -> str:
    """Return the source of a call of f with explained errors; a lenient one passes what f does not take to `unusual`.

    `plain` and `words` hold the defaults of the positional parameters and of the keywords, `rest` is the name of `*rest`.
    """
    given, keywords = ", ".join([*plain, *["*" + rest] * bool(rest)]), ", ".join([f"{k}={k}" for k in words])
    optional = {k for k, d in (plain | words).items() if d is not ABSENT or lenient and k in plain}
    more = ["*" + (rest or "more")] if lenient or rest else ["*"] * bool(words)
    head = [*plain, *more, *words, *["**others"] * lenient]
    odd = ["others", *["more"] * (not rest), *[f"{k} is ABSENT" for k, d in plain.items() if d is ABSENT]]
    unusual = f"unusual([{', '.join([*plain, *more])}], dict({', '.join(filter(None, (keywords, '**others')))}))"
    check = [f"    if {' or '.join(odd)}:", f"        return {unusual}"] if lenient else []
    lines = [
        f"def function({', '.join([k + '=ABSENT' * (k in optional) for k in head])}):",
        *check,
        "    try:",
        f"        return f({', '.join(filter(None, (given, keywords)))})",
        "    except Exception as e:",
        f"        return refuse(e, f, name, [{given}], dict({keywords}))",
    ]
    return "\n".join(lines)


def unusual_call(f: Callable, name: str, out: bool) -> Callable | None:
    """Return a call of f by what it does not take itself: other spellings, the name of `*rest`, and `out=`; None without these.

    It takes the arguments of the function of `call_text`, where a default means that an argument was not given.
    """
    parameters = inspect.signature(f).parameters
    other = {SPELLINGS[p]: p for p in parameters if p in SPELLINGS and SPELLINGS[p] not in parameters}
    rest = next((p.name for p in parameters.values() if p.kind is REST and p.name != "args"), None)
    before = list(parameters)[: list(parameters).index(rest)] if rest else []
    if not (other or out or before):
        return None
    plain = [p for p in parameters.values() if p.kind is PLAIN]

    def unusual(given: list, kwargs: dict) -> Any:
        n = len(plain) if len(given) > len(plain) else sum(1 for _ in itertools.takewhile(was_given, zip(plain, given)))
        kwargs |= {p.name: a for p, a in filter(was_given, zip(plain[n:], given[n:]))}
        args, target = given[:n] if n < len(plain) else given, None
        try:
            target = kwargs.pop("out", None) if out else None
            for spelling in other.keys() & kwargs.keys():
                if other[spelling] in kwargs or other[spelling] in list(parameters)[: len(args)]:
                    what = f"got the argument {other[spelling]!r} twice, once as {spelling!r}"
                    raise error(TypeError, name, what, f"leave {spelling}= out")
                kwargs[other[spelling]] = kwargs.pop(spelling)
            if rest in kwargs and len(args) <= len(before):
                args = (*args, *[kwargs.pop(p) for p in before[len(args) :] if p in kwargs], kwargs.pop(rest))
            result = f(*args, **kwargs)
        except Exception as e:
            return raise_explained(e, f, name, args, kwargs)
        return result if target is None else write_out(name, result, target)

    return rename_code(unusual, name)


def was_given(pair: tuple) -> bool:
    """Return True if an argument is not its parameter's default."""
    return pair[1] is not pair[0].default


def write_out(name: str, result: Tensor | tuple, out: object) -> Any:
    """Write a result, or several, into the tensors given as `out=`, and resize these if their shapes differ."""
    if isinstance(result, tuple) and isinstance(out, (tuple, list)) and len(out) == len(result):
        return tuple([write_out(name, r, o) for r, o in zip(result, out)])
    if isinstance(result, tuple) or not isinstance(out, Tensor):
        wanted = len(result) if isinstance(result, tuple) else 1
        raise services.problem("out= takes one tensor for each result", name=name, wanted=wanted, out=out)
    if result.requires_grad or out.requires_grad:
        what = "functions with out=... arguments don't support automatic differentiation, but one of the arguments"
        fix = f"call it without out=, y = {name}(...), or inside `with minigrad.no_grad():`"
        raise error(RuntimeError, name, f"{what} requires grad", fix)
    check_cast(name, result, out)
    if out.shape != result.shape:
        if out.numel():
            what = f"resizes out= from shape {tuple(out.shape)} to {tuple(result.shape)}: views of it do not follow"
            notes = events.origins({"out": out}) or ()
            warn("resized-out", name, what, "pass a tensor of that shape, or empty(0)", notes=notes)
        out.data = result.to(out.dtype)
        return out
    return out.copy_(result)


def check_cast(name: str, result: Tensor, target: Tensor) -> None:
    """Raise RuntimeError if a result cannot be written into a dtype: floats into integers, or numbers into bools."""
    if not dtypes.can_cast(result.dtype, target.dtype):
        what = f"result type {result.dtype} can't be cast to the desired output type {target.dtype}"
        fix = f"use the form that returns a new tensor, {name.rstrip('_')}(...), or x.to(minigrad.{result.dtype.name})"
        raise error(RuntimeError, name, what, fix)


def check_fits(name: str, x: object, *numbers: object) -> None:
    """Raise RuntimeError if numbers would change or become infinite in the dtype of the tensor that they are combined with."""
    if isinstance(x, Tensor):
        floats = x._np_dtype in dtypes.FLOATS
        dtypes.check_fits(name, x._np_dtype, *[n for n in numbers if floats or isinstance(n, int)])


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
        signature, n = inspect.signature(entry.function), len(entry.cls.names)

        def method(self: Tensor, *args: object, **kwargs: object) -> Tensor:
            if kwargs or len(args) != n - 1:
                bound = signature.bind(self, *args, **kwargs)
                bound.apply_defaults()
                args = tuple(bound.arguments.values())[1:n]
            return inplace(entry.cls, self, *args)

    method.__doc__ = f"In-place form of {name}."
    shown = inspect.signature(entry.function)
    return declared(rename_code(method, name + "_"), entry.function, in_place_signature(shown))


def in_place_signature(signature: inspect.Signature) -> inspect.Signature:
    """Return the signature of `name_`: the operation's, with self for the first argument and without out= and inplace=."""
    first, *others = signature.parameters.values()
    kept = [p for p in others if p.name not in ("out", "inplace")]
    return inspect.Signature([first.replace(name="self"), *kept], return_annotation="Tensor")
