"""Explain a failed call of a method that a user wrote.

Python's own errors name neither the Function nor the fix.  An error that breaks the protocol (a method with the wrong
parameters, a tuple used like the tensor in it) is raised again with both, as the same type.
"""

import inspect
import re
from typing import Any

import numpy as np

from ..core.context import Ctx
from ..core.frames import Frame
from ..core.function import Function
from ..core.graph import history
from ..core.tensor import Tensor
from ..errors import error, warn
from ..places import Place, defined_at, noted, raised_at, user_place, users_code, users_part
from ..tensors.nested import tensors_in
from .ctx import PROTOCOL, misspelt, no_attribute, where
from .function_text import calls_of
from .leaves import Foreign
from .report import EXPLAINED, argument_names, counted, described, explains
from .users_program import called_name


def explained(cls: type[Function], name: str, method: Any, args: tuple, e: Exception) -> Any:
    """Return the error that explains one of Python's in a user's method; None if it is not about the protocol."""
    if type(e) is TypeError and not takes(method, args):
        return miscalled(cls, name, args)
    rest = users_part(e.__traceback__)
    while rest is not None and rest.tb_next is not None:
        rest = rest.tb_next
    if rest is None:
        return None
    place = Place(rest.tb_frame.f_code.co_filename, rest.tb_lineno)
    if type(e) is AttributeError and isinstance(e.obj, Ctx) and not e.name.startswith("_"):
        return no_attribute(e.obj, e.name, place)
    if rest.tb_frame.f_code is not users_code(method):
        return None
    for explain in (a_missing_ctx, a_tuple, a_gradient_of_none, an_array, a_variable_without_value):
        if (found := explain(cls, name, args, e, place.code)) is not None:
            kind = NameError if type(e) is UnboundLocalError else type(e)
            notes = saving(cls) if "ctx.saved_tensors" in found[0] else []
            notes += noted("it is applied", user_place()) if explain is an_array else []
            return error(kind, f"{cls.__name__}.{name}", *found, place, notes)
    return None


def takes(method: Any, args: tuple) -> bool:
    """Return True if a method can be called with these arguments."""
    try:
        inspect.signature(method).bind(*args)
    except TypeError:
        return False
    except ValueError:  # not written in Python: no signature
        return True
    return True


# ---------------------------------------------------------------------- the wrong arguments
def miscalled(cls: type[Function], name: str, args: tuple) -> Exception:
    """Return the error for a user's method that cannot take its arguments."""
    method, n = getattr(cls, name), len(args)
    signature = inspect.signature(method)
    names = list(signature.parameters)
    notes, why = noted("it is defined", defined_at(method)), ""
    try:
        signature.bind(*args)
    except TypeError as e:
        why = f": {e}"
    says = (
        f"is called with {counted(n, 'argument')} ({given_to(cls, name, n)}), but is defined as {name}{signature}{why}"
    )
    if inspect.ismethod(method):
        more, fix = "", "write @staticmethod instead of @classmethod"
    elif name != "forward":
        more, fix = "", f"write def {name}({', '.join(parameters_for(cls, name, n))}), as a @staticmethod"
    elif near := misspelt(cls, "setup_context"):
        more, fix = f"; the class has no setup_context, but has `{near[0]}`", f"rename {near[0]} to setup_context"
        notes += near[1]
    else:
        more, fix = fault_of_forward(cls, method, names, args)
    return error(TypeError, f"{cls.__name__}.{name}", says + more, fix, notes=notes)


def fault_of_forward(cls: type[Function], forward: Any, names: list, args: tuple) -> tuple[str, str]:
    """Return the problem and the fix for forward's parameters, judged by a call with or without the ctx; or for the call."""
    if names[:2] == ["self", "ctx"]:
        return "", f"remove self, and write @staticmethod above def forward({', '.join(names[1:])}):"
    if cls.combined and not names:  # no call fits: it does not even take the ctx
        given = ["ctx"] + (["x"] if len(args) == 2 else [f"x{i}" for i in range(len(args) - 1)])
        return "; without a setup_context in the class, the ctx comes first", f"write def forward({', '.join(given)})"
    if cls.combined and names[:1] not in (["ctx"], ["self"]) and takes(forward, args[1:]):
        return (
            "; without a setup_context in the class, the ctx comes first",
            f"write def forward(ctx, {', '.join(names)}), or add a @staticmethod def setup_context(ctx, inputs, output), "
            "which receives the ctx instead",
        )
    if not cls.combined and names[:1] in (["ctx"], ["self"]) and takes(forward, (None, *args)):
        return "; the class has a setup_context, which receives the ctx", f"write def forward({', '.join(names[1:])})"
    return "", f"{call_of(cls)}{', which adds the ctx itself' if cls.combined else ''}"


def call_of(cls: type[Function]) -> str:
    """Return the fix: a call of apply with forward's names for the arguments."""
    found = list(inspect.signature(cls.forward).parameters.values())
    names = [f"*{p.name}" if p.kind is p.VAR_POSITIONAL else p.name for p in found]
    row = names[1:] if cls.combined and not names[0].startswith("*") else names
    return f"call {cls.__name__}.apply({', '.join(row)})"


def given_to(cls: type[Function], name: str, n: int) -> str:
    """Return a description of the arguments with which minigrad calls a method."""
    if name == "forward":
        return "the ctx and the arguments of apply" if cls.combined else "the arguments of apply"
    if name == "backward":
        return "the ctx and " + (
            "the gradient of the output" if n == 2 else f"a gradient for each of the {n - 1} outputs"
        )
    return {
        "setup_context": "the ctx, the tuple of inputs and the output",
        "jvp": "the ctx and one tangent for each argument of forward",
        "vmap": "info, in_dims and the arguments of forward",
    }[name]


def parameters_for(cls: type[Function], name: str, n: int) -> list[str]:
    """Return the n parameters that a method other than forward should have."""
    if name == "setup_context":
        return ["ctx", "inputs", "output"]
    if name == "backward":
        return ["ctx", "grad_output"] if n == 2 else ["ctx", *[f"grad_{i}" for i in range(n - 1)]]
    first = ["ctx"] if name == "jvp" else ["info", "in_dims"]
    return [*first, *argument_names(cls, n - len(first))]


# ---------------------------------------------------------------------- Python's errors inside a method
def a_missing_ctx(cls: type[Function], name: str, args: tuple, e: Any, code: str) -> tuple | None:
    """Explain a forward without ctx, or an argument that is mistaken for it."""
    if type(e) is NameError and e.name == "ctx" and name == "forward" and not cls.combined:
        return (
            "uses ctx, which it does not have: the class has a setup_context, which receives it",
            "move the code that uses ctx to setup_context(ctx, inputs, output), or remove setup_context and take the ctx "
            "first, forward(ctx, ...)",
        )
    if (
        type(e) is AttributeError
        and e.name in PROTOCOL
        and not isinstance(e.obj, Ctx)
        and any(e.obj is a for a in args)
    ):
        names = list(inspect.signature(getattr(cls, name)).parameters)
        return (
            f"reads {e.name} from {described(e.obj)}, which is not the ctx: the ctx is always the first argument, and the "
            f"method is defined as {name}({', '.join(names)})",
            "put the ctx first"
            if name == "forward"
            else f"write def {name}({', '.join(parameters_for(cls, name, len(args)))})",
        )
    return None


def a_tuple(cls: type[Function], name: str, args: tuple, e: Any, code: str) -> tuple | None:
    """Explain a tuple of the protocol that is called, has another length, or is used like its only element."""
    misused = "'tuple' object is not callable" in str(e) or "tuple index out" in str(e) or "to unpack" in str(e)
    asked = e.obj if type(e) is AttributeError and type(e.obj) is tuple else None
    if name == "setup_context" and (asked is args[1] or misused and "inputs" in code):
        names, n = argument_names(cls, len(args[1])), len(args[1])
        row = f"({', '.join(names)}{',' * (n == 1)})"
        return (
            f"inputs is the tuple of the {counted(n, 'argument')} of forward, {row}; {e}",
            f"unpack it: {row} = inputs",
        )
    if not (args and isinstance(args[0], Ctx)) or not misused and asked is None:
        return None
    if misused and "needs_input_grad" in code:
        n = len(args[0].needs_input_grad)
        return (
            f"ctx.needs_input_grad is a tuple of {counted(n, 'entry')}, one for each argument of forward, "
            f"({', '.join(argument_names(cls, n))}), and none for the ctx; {e}",
            "write ctx.needs_input_grad[0] for the first",
        )
    kept = args[0].saved_tensors
    if misused and "saved_tensors" in code:
        fix = f"unpack exactly the tensors that {where(args[0])} saves with ctx.save_for_backward(...), in order"
        if "callable" in str(e):
            fix = f"omit the parentheses: {'(x,)' if len(kept) == 1 else 'a, b'} = ctx.saved_tensors"
        return f"ctx.saved_tensors is a tuple of {counted(len(kept), 'tensor')}, from save_for_backward; {e}", fix
    if asked is not None and len(asked) == len(kept) and any(isinstance(t, Tensor) for t in asked):
        fix = f"unpack it first: {'(x,)' if len(kept) == 1 else 'a, b'} = ctx.saved_tensors"
        return f"reads {e.name} from a tuple of {counted(len(kept), 'tensor')}, as ctx.saved_tensors is", fix
    return None


def saving(cls: type[Function]) -> list[str]:
    """Return a note with the line that saves the tensors of a Function, if exactly one does."""
    found = [
        Place(file, call.lineno)
        for call, file in calls_of(cls, "forward", "setup_context")
        if called_name(call) in SAVES
    ]
    return noted("they are saved", found[0]) if len(found) == 1 else []


SAVES = "save_for_backward", "save_for_forward"


def an_array(cls: type[Function], name: str, args: tuple, e: Any, code: str) -> tuple | None:
    """Explain a method of tensors that is called on a NumPy array or a number."""
    if name != "forward" or type(e) is not AttributeError or isinstance(e.obj, Tensor) or not hasattr(Tensor, e.name):
        return None
    given = args[cls.combined :]
    i = next((i for i, a in enumerate(given) if a is e.obj), None)
    if i is None:
        return None
    x = argument_names(cls, len(given))[i]
    return (
        f"calls {e.name} of argument {i} ({x}), which is not a tensor but {a_kind(e.obj)}",
        f"convert it before {cls.__name__}.apply: minigrad.tensor({x})",
    )


def a_kind(x: Any) -> str:
    """Return a description of a value that is not a tensor."""
    return f"a NumPy array of shape {x.shape}" if isinstance(x, np.ndarray) else described(x)


def a_variable_without_value(cls: type[Function], name: str, args: tuple, e: Any, code: str) -> tuple | None:
    """Explain a variable of backward that only a test of the ctx gives a value."""
    found = re.search("local variable '(.+?)'", str(e)) if type(e) is UnboundLocalError else None
    if found is None or name != "backward":
        return None
    needs = ", ".join(f"{n} {'requires' if need else 'does not require'} grad" for n, need in needs_of(cls, args[0]))
    return (
        f"returns {found[1]}, which has no value in this call: {needs}",
        f"give it a value first: {found[1]} = None",
    )


def needs_of(cls: type[Function], ctx: Any) -> list[tuple[str, bool]]:
    """Return the names of forward's arguments, each with True if its gradient is needed."""
    needs = ctx.needs_input_grad
    return list(zip(argument_names(cls, len(needs)), needs))


def a_gradient_of_none(cls: type[Function], name: str, args: tuple, e: Any, code: str) -> tuple | None:
    """Explain a backward that computes with a gradient that is None, or a jvp with such a tangent."""
    lacking = [i for i, g in enumerate(args) if g is None]
    if name not in ("backward", "jvp") or "NoneType" not in str(e) or not lacking:
        return None
    i, names = lacking[0], list(inspect.signature(getattr(cls, name)).parameters)
    it = names[i] if i < len(names) else f"the one at position {i - 1}"
    kind, why = "gradient", "its output is not used"
    if name == "jvp":
        kind, why = "tangent", "its argument has none"
    if not args[0]._materialize:
        why += ", and ctx.set_materialize_grads(False) requests None instead of zeros"
    return (
        f"computes with {it}, {kind} {i - 1}, which is None: {why} ({e})",
        f"compute that part only `if {it} is not None`"
        + ("" if args[0]._materialize else ", or omit set_materialize_grads(False)"),
    )


def foreign(cls: type[Function], name: str, e: Foreign) -> Exception:
    """Return the error for a user's method that reads the memory of a transform's tensor."""
    shape, layer = tuple(e.box.shape), e.box._layer.name
    if e.runs:
        fix = (
            "use only minigrad operations, and Functions with their own vmap staticmethod; or write a vmap staticmethod "
            "instead of generate_vmap_rule=True"
            if layer == "vmap"
            else "use only minigrad operations; put other computations into the forward of a Function with its own backward"
        )
        return error(
            RuntimeError,
            f"{cls.__name__}.{name}",
            f"runs under `{layer}`, where a tensor (of shape {shape}) has no memory for numpy() and the like",
            fix,
            raised_at(e),
        )
    return error(
        RuntimeError,
        f"{cls.__name__}.{name}",
        f"uses a tensor of shape {shape} of the `{layer}` transform around it that is not one of its inputs: its derivative "
        "would be lost",
        f"pass it as an argument of {cls.__name__}.apply, and save it with ctx.save_for_backward",
        raised_at(e),
    )


# ---------------------------------------------------------------------- apply
@explains("apply takes forward's arguments")
def called_wrongly(cls: type[Function], args: tuple, kwargs: dict, cause: TypeError) -> Exception:
    """Return the error for arguments that forward does not take."""
    if not kwargs:
        return miscalled(cls, "forward", (None, *args) if cls.combined else args)
    signature = inspect.signature(cls.forward)
    names = list(signature.parameters)[cls.combined :]
    what = f"{cause}; forward is defined as forward{signature}"
    return error(TypeError, f"{cls.__name__}.apply", what, f"use the names of forward's arguments: {', '.join(names)}")


EXPLAINED |= {
    "gradients are returned by position": lambda cls, names: error(
        TypeError,
        f"{cls.__name__}.apply",
        f"keyword-only arguments {', '.join(names)} cannot be tracked: backward returns gradients by position",
        f"let forward take them by position: def forward({', '.join(inspect.signature(cls.forward).parameters)})",
        notes=noted("it is defined", defined_at(cls.forward)),
    ),
    "backward and vjp are two names of one method": lambda cls: error(
        RuntimeError,
        cls.__name__,
        "implementing both 'backward' and 'vjp' for a custom Function is not allowed",
        "keep one of them: they are two names of the same method",
        notes=[
            *noted("backward is defined", defined_at(cls.backward)),
            *noted("vjp is defined", defined_at(cls.vjp)),
        ],
    ),
    "a Function gets an instance": lambda cls: warn(
        "function-instance",
        cls.__name__,
        STATIC,
        f"call {cls.__name__}.apply(...) on the class, and pass settings as arguments of forward",
    ),
    "an instance of a Function is called": lambda cls: error(
        RuntimeError,
        cls.__name__,
        f"{STATIC}, and cannot be called",
        f"call {cls.__name__}.apply(...), and pass settings as arguments of forward",
    ),
}


STATIC = "a Function's methods are static, so an instance of it holds no data"


@explains("argument is a structure")
def structure_among_arguments(cls: type[Function], frame: Frame, i: int, a: Any) -> None:
    """Raise for a structure with tracked tensors, which would silently lose their gradients."""
    for t in tensors_in(a):
        if t._layer is None and not (frame.grad and history(t) is not None):
            continue
        why = "requires grad" if t._layer is None else f"belongs to a running `{t._layer.name}` transform"
        raise error(
            TypeError,
            cls.__name__,
            f"argument {i} is a {type(a).__name__} that contains a tensor of shape {tuple(t.shape)} which {why}; "
            "apply does not look into data structures, so its gradient would be lost",
            f"pass the tensors one by one, {cls.__name__}.apply(*tensors), or use NestedIOFunction",
        )
