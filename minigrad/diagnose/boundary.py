"""The boundary of the library: an error that Python raises inside a public function names that function and its argument.

`guard` puts a handler around the public functions of a module, and around the methods of its classes; the operations of
the table have their own (ops/public_functions.py).  The handler costs one call, and looks at nothing until one has failed.
Then the annotation of a parameter, or the expression that failed inside, tells which argument is wrong.
"""

import ast
import dis
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from types import CodeType, FunctionType, ModuleType, TracebackType
from typing import Any

from ..core.function import Function
from ..core.tensor import Tensor
from ..errors import FAMILY, InternalError, MinigradError, error, full_traceback, raise_instead
from ..ops.base.registry import TABLE
from ..ops.public_functions import CODES
from ..places import DRAWING, PACKAGE, chain, local_variables, parsed, through_users_code, whose
from .arguments import PASSED, describe, described, internal, no_tensor, out_of_memory, too_long, usage
from .modules import is_module
from .report import explains, searches
from .wrong_types import BY_ANNOTATION, BY_NAME, Kind, by_name

OWN = f"{__name__.partition('.')[0]}."  # how the names of minigrad's modules begin
SPECIAL = {"__init__", "__getitem__", "__setitem__", "__delitem__"}
# classes that serve every operation, and functions of every step, which check their own arguments
BUSY = tuple([OWN + name for name in ("record.", "arrays.", "autograd.grad_mode")])
HOT = {"backward", "grad", "Module.named_modules"}
guarded: dict[Any, Any] = {}  # functions and classes -> the function to call instead, if there is one


def guard(*modules: ModuleType | str) -> None:
    """Put the handler around the public functions of modules, some given by name, and the methods of their public classes."""
    for m in [sys.modules[m] if isinstance(m, str) else m for m in modules]:
        contents = hasattr(m, "__path__") or m.__name__.endswith((".functional", ".profiler"))  # of other modules
        home = OWN if contents else m.__name__
        for name in getattr(m, "__all__", None) or [name for name in vars(m) if name[0] != "_"]:
            value = vars(m).get(name)
            if type(value) is FunctionType and is_open(value) and value.__module__.startswith(home):
                guard_function(value, vars(m), name)
            elif isinstance(value, type) and value.__module__.startswith(home):
                guard_class(value)


def with_handler(f: FunctionType) -> Callable:
    """Return a function that calls f with the handler around it."""
    made: Any = FunctionType(handler(f), f.__globals__, f.__name__)
    made.__wrapped__, made.__doc__, made.__module__, made.__qualname__ = f, f.__doc__, f.__module__, f.__qualname__
    made.__annotations__ = f.__annotations__
    vars(made).update(vars(f))
    guarded[f] = guarded[made] = made
    return made


def guard_class(cls: type) -> None:
    """Put the handler around the constructor, the methods and the item access of a class and of its bases."""
    if issubclass(cls, (Function, BaseException)) or cls.__module__.startswith(BUSY):
        return
    for base in cls.__mro__:
        if not base.__module__.startswith(OWN) or base in guarded or base is Tensor:
            continue
        guarded[base] = base
        for name, f in list(vars(base).items()):
            each_step = hasattr(cls, "add_param_group") and name in ("step", "zero_grad", "update")
            public = name in SPECIAL or name[0] != "_" and name != "forward" and not each_step
            if public and type(f) is FunctionType and is_open(f):
                setattr(base, name, with_handler(f))


def guard_function(f: FunctionType, space: dict, name: str) -> None:
    """Put the handler into a function itself, which many tables hold: its code calls a function with the former code.

    A function with a closure keeps its code; another one replaces it in the module that is guarded, and in its own.
    """
    if f.__closure__:
        own = vars(sys.modules[f.__module__])
        space[name] = made = guarded.get(f) or with_handler(f)
        if own.get(f.__name__) is f:
            own[f.__name__] = made
    if f in guarded:
        return
    guarded[f] = f
    inner = FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__)
    inner.__kwdefaults__, inner.__module__, inner.__qualname__ = f.__kwdefaults__, f.__module__, f.__qualname__
    inner.__doc__, inner.__annotations__ = f.__doc__, f.__annotations__
    f.__code__, f.__defaults__, f.__kwdefaults__, f.__wrapped__ = handler(inner), None, None, inner  # type: ignore[attr-defined]


def bare(f: Any) -> Any:
    """Return the function inside the handler, or f itself if it has none."""
    return f.__wrapped__ if f in guarded else f


def is_open(f: FunctionType) -> bool:
    """Return True if a function takes arguments, does not look for its caller's frame, and explains no errors already."""
    code, varies = f.__code__, inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
    takes = code.co_argcount + code.co_kwonlyargcount > ("self" in code.co_varnames[:1]) or code.co_flags & varies
    if not takes or f.__qualname__ in HOT or "_getframe" in code.co_names:
        return False
    return not (id(code) in CODES and (hasattr(f, "__wrapped__") or f in operations()))


@cache
def operations() -> set[Callable]:
    """Return the functions of the table."""
    return {entry.function for entry in TABLE.values()}


def handler(f: Callable) -> CodeType:
    """Return the code of a function that calls f, and explains the errors of Python that come out of it."""
    constants = tuple([f if c == "F" else refuse if c == "REFUSE" else c for c in TEMPLATE.co_consts])
    return TEMPLATE.replace(co_consts=constants, co_name=f.__name__)


def template(*args: Any, **kwargs: Any) -> Any:
    """Call F, which `handler` replaces, as it replaces REFUSE."""
    f: Any = "F"
    try:
        return f(*args, **kwargs)
    except Exception as e:
        refuse: Any = "REFUSE"
        return refuse(e, f, args, kwargs)


def refuse(cause: Exception, f: Callable, args: tuple, kwargs: dict) -> Any:
    """Raise the explained error for f(*args, **kwargs), if the user's own line has called it."""
    by_user = whose(sys._getframe(2).f_code.co_filename) == "user"
    try:
        raise_instead(explained(cause, f, args, kwargs) if by_user else cause, cause)
    finally:
        del cause  # as in raise_instead


# ---------------------------------------------------------------------- after a failure
def refuse_call(module: Any, args: tuple, kwargs: dict, cause: Exception) -> None:
    """Raise the explained error for a call of one of minigrad's modules, if the user's own line has called it."""
    forward = getattr(type(module), "forward", None)
    clear = isinstance(cause, MinigradError) and not isinstance(cause, InternalError)
    if isinstance(forward, FunctionType) and forward.__module__.startswith(OWN) and not clear:
        by_user = whose(sys._getframe(2).f_code.co_filename) == "user"
        if by_user and (found := explained(cause, forward, (module, *args), kwargs)) is not cause:
            raise_instead(found, cause)


def called_name(f: Callable, args: tuple) -> str:
    """Return the name of a function as users write it: the class for a constructor and for [], Class.name for a method."""
    if "." not in f.__qualname__ or not args:
        return f.__name__
    owner = args[0].__name__ if isinstance(args[0], type) else type(args[0]).__name__
    return owner if f.__name__ in SPECIAL else f"{owner}.{f.__name__}"


@explains("a public function cannot be called like this")
def explained(cause: Exception, f: Callable, args: tuple, kwargs: dict) -> Exception:
    """Return the exception to raise after f(*args, **kwargs) has raised `cause`: the cause itself if it is clear."""
    if isinstance(cause, PASSED) or through_users_code(cause) or full_traceback() or PICKLES.match(str(cause)):
        return cause
    below = cause.__cause__ if isinstance(cause, InternalError) else cause
    if not isinstance(below, Exception) or not isinstance(below, MinigradError) and raised_on_purpose(below):
        return cause
    if type(below).__module__.partition(".")[0] not in ("builtins", "numpy", "minigrad"):
        return cause  # of another library, whose callers catch its own types
    name, named = called_name(f, args), {k: v for k, v in by_name(f, args, kwargs).items() if k != "self"}
    rest = next((p.name for p in inspect.signature(f).parameters.values() if p.kind is p.VAR_KEYWORD), "")
    named |= named.pop(rest, {})
    wrong = (
        misfit(f, named) or is_module(args[0] if args else None) and misfit(type(args[0]).__init__, settings(args[0]))
    )
    if isinstance(below, MinigradError) and not (wrong and isinstance(below, TypeError) and below.operation in TABLE):
        return cause
    if isinstance(below, TypeError) and (misbound := unbound(below, f, args, kwargs)):
        return error(TypeError, name, misbound, usage(f, name))
    if isinstance(below, (NameError, AssertionError)):  # no argument causes these
        return internal(name, below, described(named))
    if not named:
        return cause  # the fault is in the object's state
    if found := wrong or failing((below, cause), named):
        parameter, given, kind = found
        if kind == KINDS["Tensor"].words:
            return error(as_kind(below), name, *no_tensor(parameter, given))
        what = f"must be {kind}, not {describe(given)}" if kind else f"cannot be {describe(given)}"
        return error(as_kind(below), name, f"argument {parameter!r} {what}", usage(f, name))
    return out_of_memory(name, below, named) or too_long(name, named, below) or internal(name, below, described(named))


def unbound(cause: Exception, f: Callable, args: tuple, kwargs: dict) -> str:
    """Return Python's words about arguments that f does not take; "" if it takes them."""
    try:
        inspect.signature(f).bind(*args, **kwargs)
    except TypeError as e:
        return str(e)
    *_, last = chain(cause.__traceback__)
    return (
        str(cause) if last.tb_frame.f_code.co_filename == inspect.__file__ else ""
    )  # it binds them to another signature


def raised_on_purpose(cause: BaseException) -> bool:
    """Return True if minigrad's own `raise` made an error."""
    *_, last = chain(cause.__traceback__)
    code = last.tb_frame.f_code
    if isinstance(cause, AttributeError) and LACKS.search(str(cause)):  # a tensor's own message for an unknown name
        return False
    return code.co_filename.startswith((PACKAGE, DRAWING)) and code.co_code[last.tb_lasti] == dis.opmap["RAISE_VARARGS"]


def as_kind(cause: BaseException) -> type[Exception]:
    """Return the type of the error: what Python calls an attribute that lacks is an argument of the wrong type."""
    if isinstance(cause, AttributeError):
        return TypeError
    return next((kind for kind in type(cause).__mro__ if kind in FAMILY), RuntimeError)


# ---------------------------------------------------------------------- the argument that is wrong
def sequence(a: Any) -> bool:
    """Return True for anything with members in order."""
    return hasattr(a, "__getitem__") and hasattr(a, "__len__") and not isinstance(a, (str, Mapping, type))


KINDS = BY_ANNOTATION | {
    "Sequence": Kind("a tuple or list", sequence),
    "Callable": Kind("a function", callable),
    "Module": Kind("a module", is_module),
    "Optimizer": Kind("an optimizer", lambda a: hasattr(a, "param_groups")),
    "Iterable": Kind("an iterable, such as a list", lambda a: isinstance(a, Iterable) and not isinstance(a, str)),
    "Mapping": Kind("a dictionary", lambda a: isinstance(a, Mapping)),
    "dict": Kind("a dictionary", lambda a: isinstance(a, Mapping)),
    "list": Kind("a list", lambda a: isinstance(a, list)),
    "tuple": Kind("a tuple", lambda a: isinstance(a, (tuple, list))),
    "type": Kind("a class", lambda a: isinstance(a, type)),
}
KINDS["tensors"] = Kind("a list of tensors", lambda a: isinstance(a, Iterable) and tensors_or_unknown(a))
KINDS["Parameter"] = KINDS["Tensor"]


def tensors_or_unknown(a: Any) -> bool:
    """Return False for a collection with a member that is no tensor; an iterator is not run."""
    return not isinstance(a, (list, tuple, set, Mapping, str)) or all(isinstance(t, Tensor) for t in a)


def settings(module: Any) -> dict[str, Any]:
    """Return the attributes of a module with the names of its constructor's parameters."""
    return {name: value for name, value in vars(module).items() if name[0] != "_"}


INDEXED = re.compile(r"\[[^\[\]]*\]")


def misfit(f: Callable, named: dict[str, Any]) -> tuple[str, Any, str] | None:
    """Return the first argument that is not of its annotated kind: its parameter, its value, and the kind in words."""
    for name, p in inspect.signature(f).parameters.items():
        given = named.get(name, p.default)
        kinds = [BY_NAME[name]] if p.annotation in ("Any", Any) and name in BY_NAME else kinds_of(p.annotation)
        if given is p.default or p.kind is p.VAR_KEYWORD or not kinds:
            continue
        for member in given if p.kind is p.VAR_POSITIONAL else (given,):
            if not any(kind.fits(member) for kind in kinds):
                return name, member, " or ".join(dict.fromkeys(kind.words for kind in kinds))
    return None


def kinds_of(annotation: Any) -> list[Kind]:
    """Return the kinds that an annotation names; an empty list if one of them is unknown."""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    text = re.sub(r"(Iterable|Sequence|list)\[Tensor\]", "tensors", text)
    while INDEXED.search(text):
        text = INDEXED.sub("", text)
    parts = [part.strip().rpartition(".")[2] for part in text.split("|")]
    return [KINDS[part] for part in parts] if all(part in KINDS for part in parts) else []


@searches()
def failing(causes: Sequence[BaseException], named: dict[str, Any]) -> tuple[str, Any, str] | None:
    """Return the argument in the expression that failed: its parameter, its value, and the kind that Python's words ask for."""
    given = [(name, v) for name, a in named.items() for v in (a, *(a if type(a) in (tuple, list) else ()))]
    for tb in [tb for cause in causes for tb in reversed(list(chain(cause.__traceback__))[1:])]:
        for value in values_at(tb):
            for name, v in given:
                if v is value:
                    return name, value, kind_in(str(causes[0]), value)
    return None


def values_at(tb: TracebackType) -> Iterator[Any]:
    """Yield the values of the variables, and of attributes, in the expression that a part of a traceback was running."""
    code, frame = tb.tb_frame.f_code, tb.tb_frame
    if (tree := parsed(code.co_filename)) is None or not code.co_filename.startswith((PACKAGE, DRAWING)):
        return
    line, end, column, last = next(islice(code.co_positions(), tb.tb_lasti // 2, None), (None,) * 4)
    inside = lambda n: (line, column) <= (n.lineno, n.col_offset) and (n.end_lineno, n.end_col_offset) <= (end, last)
    known = local_variables(frame)
    for node in ast.walk(tree) if last is not None else ():
        if isinstance(node, ast.Name) and inside(node) and node.id in known:
            yield known[node.id]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and inside(node):
            yield from (v for k, v in getattr(known.get(node.value.id), "__dict__", {}).items() if k == node.attr)


PICKLES = re.compile(r"(can't|cannot) (get|pickle)", re.IGNORECASE)  # which names the object
# Python's words for a value of the wrong kind -> the kind that is needed
WORDS = (
    (r"not iterable|not an iterator|unpack|iteration over", "an iterable, such as a list"),
    (r"not callable", "a function"),
    (r"no len\(\)|not subscriptable|indices must be", "a sequence or a dictionary"),
    (r"real number|unsupported operand|not supported between|could not convert string|bad operand", "a number"),
    (r"as an integer|integer is required|invalid literal", "an int"),
    (r"os.PathLike", "a path"),
    (r"expected str|must be str|must be a string", "a string"),
    (r"context manager", "a context manager"),
    (r"not a mapping|dictionary update", "a dictionary"),
    (r"unhashable", "a value that can be a key of a dictionary"),
    (r"must be a class|must be a type", "a class"),
)
LACKS = re.compile(r"object has no attribute '(\w+)'")


def kind_in(message: str, given: Any) -> str:
    """Return the kind of value that Python's words about a wrong one ask for; "" if they do not tell."""
    if lacks := LACKS.search(message):
        name = lacks[1]
        if hasattr(Tensor, name) and not isinstance(given, Tensor):
            return "a tensor"
        if name in ("param_groups", "add_param_group"):
            return "an optimizer"
        if name in ("named_parameters", "parameters", "modules", "named_modules", "children"):
            return "a module"
        return "" if name.startswith("_") else f"an object with {name}"
    return next((kind for words, kind in WORDS if re.search(words, message)), "")


TEMPLATE = template.__code__
