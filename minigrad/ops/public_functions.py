"""Functions as users call them, generated around the functions of the table: with explained errors, other spellings and `out=`.

`called` generates such a function with its real parameters, which cost less than `*args, **kwargs`.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType
from typing import Any

from ..arrays import dtypes
from ..core.tensor import Tensor
from ..errors import error, raise_instead, warn
from ..events import intercept, services
from ..kernels.formula import compiled
from .older_calls import reordered

# by the id of a function's code object: that object, which must live on, and the operation's name
CODES: dict[int, tuple[CodeType, str]] = {}


def named_code(code: CodeType, name: str) -> None:
    """Note that this code is the operation's function: a recording finds the user's call by it."""
    CODES[id(code)] = code, name


def operation_of(code: CodeType) -> str | None:
    """Return the operation's name if this code is the function of one."""
    found = CODES.get(id(code))
    return None if found is None else found[1]


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


ABSENT = inspect.Parameter.empty  # an argument that was not given


def called(f: Callable, name: str, out: bool = False, finish: Callable | None = None) -> Callable:
    """Return the function as users call it: with explained errors, other spellings, the name of `*rest`, and `out=`.

    It is generated at the first call, with the real parameters, which cost less than `*args, **kwargs`.  `finish` takes what f
    returns, a tuple, as its arguments, and returns the result.
    """

    def first_call(*args: object, **kwargs: object) -> Any:
        generate(function)
        return function(*args, **kwargs)

    scope: dict = {"f": f, "refuse": raise_explained, "name": name, "ABSENT": ABSENT, "out": out, "finish": finish}
    function: Any = functools.wraps(f)(FunctionType(first.__code__, scope | {"first_call": first_call}))
    rename_code(function, name)
    return declared(function, f, with_out(inspect.signature(f))) if out else function


def first(*args: object, **kwargs: object) -> Any:
    """Stand for a function of `called` until it is generated."""
    return first_call(*args, **kwargs)  # type: ignore[name-defined]  # noqa: F821  in the function's scope


def generate(function: Any) -> dict:
    """Generate the code of a function of `called`, unless it is there; return its scope, where `text` is its source."""
    scope = function.__globals__
    if "text" in scope:
        return scope
    f, name, out, finish = scope["f"], scope["name"], scope["out"], scope["finish"]
    signature = inspect.signature(f)
    of_kind: dict = {p.kind: {} for p in signature.parameters.values()}
    for p in signature.parameters.values():
        of_kind[p.kind][p.name] = p.default
    plain, words = of_kind.get(PLAIN, {}), of_kind.get(inspect.Parameter.KEYWORD_ONLY, {})
    unusual = unusual_call(f, signature, name, out, finish)
    result = "f({})" if finish is None else "finish(*f({}))"
    text = call_text(plain, next(iter(of_kind.get(REST, ())), ""), words, unusual is not None, result)
    scope["unusual"] = unusual
    exec(compiled(text), scope)
    function.__defaults__ = tuple([d for d in plain.values() if unusual is not None or d is not ABSENT])
    function.__kwdefaults__ = {k: d for k, d in words.items() if unusual is not None or d is not ABSENT}
    scope["text"] = text
    CODES.pop(id(function.__code__), None)  # a recording shall find the call with its parameters, not the one around it
    function.__code__ = scope["function"].__code__
    rename_code(function, function.__name__)
    return scope


PLAIN, REST = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.VAR_POSITIONAL


def call_text(plain: dict, rest: str, words: dict, lenient: bool, result: str) -> str:
    """Return the source of a call of f with explained errors; a lenient one passes what f does not take to `unusual`.

    `plain` and `words` hold the defaults of the positional parameters and of the keywords, `rest` is the name of `*rest`,
    `result` the template of the call.
    """
    given, keywords = ", ".join([*plain, *["*" + rest] * bool(rest)]), ", ".join([f"{k}={k}" for k in words])
    optional = {k for k, d in (plain | words).items() if d is not ABSENT or lenient}
    more = ["*" + (rest or "more")] if lenient or rest else ["*"] * bool(words)
    head = [*plain, *more, *words, *["**others"] * lenient]
    odd = ["others", *["more"] * (not rest), *[f"{k} is ABSENT" for k, d in (plain | words).items() if d is ABSENT]]
    unusual = f"unusual([{', '.join([*plain, *more])}], dict({', '.join(filter(None, (keywords, '**others')))}))"
    check = [f"    if {' or '.join(odd)}:", f"        return {unusual}"] if lenient else []
    lines = [
        f"def function({', '.join([k + '=ABSENT' * (k in optional) for k in head])}):",
        *check,
        "    try:",
        f"        return {result.format(', '.join(filter(None, (given, keywords))))}",
        "    except Exception as e:",
        f"        return refuse(e, f, name, [{given}], dict({keywords}))",
    ]
    return "\n".join(lines)


def unusual_call(
    f: Callable, signature: inspect.Signature, name: str, out: bool, finish: Callable | None = None
) -> Callable | None:
    """Return a call of f by what it does not take itself: other spellings, the name of `*rest`, and `out=`; None without these.

    It takes the arguments of the function of `call_text`, where a default means that an argument was not given.
    """
    parameters = signature.parameters
    other = {SPELLINGS[p]: p for p in parameters if p in SPELLINGS and SPELLINGS[p] not in parameters}
    rest = next((p.name for p in parameters.values() if p.kind is REST and p.name != "args"), None)
    before = list(parameters)[: list(parameters).index(rest)] if rest else []
    if not (other or out or before):
        return None
    plain = [p for p in parameters.values() if p.kind is PLAIN]

    def unusual(given: list, kwargs: dict) -> Any:
        n = len(plain) if len(given) > len(plain) else sum(1 for _ in itertools.takewhile(was_given, zip(plain, given)))
        kwargs = {k: a for k, a in kwargs.items() if k not in parameters or was_given((parameters[k], a))}
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
            result = result if finish is None else finish(*result)
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
            notes = intercept.origins({"out": out}) or ()
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
