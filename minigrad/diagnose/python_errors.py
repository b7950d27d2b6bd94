"""Errors of Python itself that a mistake with tensors causes, explained by a note: one function reads the error.

`note` is called for an uncaught error, by the hook for tracebacks and by a notebook's shell.  It changes nothing but the
error's notes (PEP 678), and says nothing about errors that have nothing to do with tensors.
"""

import ast
import re
import sys
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

from ..core.context import Ctx
from ..core.tensor import Tensor
from ..errors import full_traceback
from ..ops.base.registry import TABLE
from ..places import chain, expression_at, is_library_frame, users_part
from .arguments import usage
from .report import searches

PLAIN = (float, int, bool)
LACKS = re.compile(r"'(\w+)' object has no attribute '(\w+)'")
OPERANDS = re.compile(
    r"unsupported operand type\(s\) for [^:]+: '(\w+)' and '(\w+)'|bad operand type for [^:]+: '(\w+)'"
    r"|not supported between instances of '(\w+)' and '(\w+)'|can only concatenate (\w+) \(not "
    r"|'(\w+)' object is not subscriptable|must be .*, not '(\w+)'"
)
REPEATED = re.compile(r"(\w+)\(\) got multiple values for argument '(\w+)'")
METHODS = "function", "method", "builtin_function_or_method"
RESULTS = "autograd.grad, func.jvp, func.vjp, x.max(dim) and x.sort() return several results"


def note(e: BaseException) -> bool:
    """Add a note to an error of Python itself if a mistake with tensors explains it, and return True."""
    if not isinstance(e, (AttributeError, TypeError)) or getattr(e, "__notes__", None) or not (words := explanation(e)):
        return False
    e.add_note(f"  minigrad: {words}")
    return True


@searches("")
def explanation(e: BaseException) -> str:
    """Return a sentence about an error, with the fix; "" if tensors are not the cause."""
    if words := repeated_argument(str(e)):  # a first call fails below the user's line, in what prepares the function
        return words
    *_, last = chain(e.__traceback__)
    if is_library_frame(last.tb_frame):  # the user's line did not fail itself: its values need not be the cause
        return ""
    parts = list(operands(last, str(e)))
    return next((words for rule in RULES for part in parts if (words := rule(str(e), *part))), "")


def repeated_argument(message: str) -> str:
    """Explain `x.sum(0, dim=1)`."""
    found = REPEATED.search(message)
    if found is None or found[1] not in TABLE:
        return ""
    name, parameter = found.groups()
    write = usage(TABLE[name].function, name)
    return f"{name} gets {parameter} twice, by its position and as {parameter}=. To fix: {write}, each argument once"


# expression -> the parts whose types can be the fault
PARTS: dict[type[ast.AST], Callable[[Any], list[ast.expr]]] = {
    ast.Attribute: lambda node: [node.value],
    ast.Subscript: lambda node: [node.value],
    ast.Call: lambda node: [node.func, *node.args],
    ast.UnaryOp: lambda node: [node.operand],
    ast.BinOp: lambda node: [node.left, node.right],
    ast.AugAssign: lambda node: [node.target, node.value],
    ast.Compare: lambda node: [node.left, *node.comparators],
}


def operands(tb: TracebackType, message: str) -> Iterator[tuple[ast.expr, Any, str]]:
    """Yield the operands of the expression that failed, with their values and text, if the error names their types.

    Other names of the line have no part in the error, whatever their values are.
    """
    failed = expression_at(tb.tb_frame.f_code, tb.tb_lasti, *PARTS)
    known = {**tb.tb_frame.f_globals, **tb.tb_frame.f_locals}
    named = set(re.findall(r"\w+", message)) - {"object"}
    for node in [] if failed is None else PARTS[type(failed)](failed):
        value = value_of(node, known)
        kinds = {kind.__name__ for kind in type(value).__mro__}
        kinds |= {type(getattr(value, "__func__", value)).__name__}  # a method asks its function for attributes
        if value is MISSING or named & kinds:
            yield node, value, ast.unparse(node)


MISSING = object()


def value_of(node: ast.expr, known: dict) -> Any:
    """Return the value of a name, attribute or element, or MISSING: code of the user's classes does not run again."""
    if isinstance(node, ast.Name):
        return known.get(node.id, MISSING)
    if not isinstance(node, (ast.Attribute, ast.Subscript)):
        return MISSING
    of = value_of(node.value, known)
    if isinstance(node, ast.Subscript):
        plain = type(of) in (list, tuple, dict) and isinstance(node.slice, (ast.Constant, ast.UnaryOp))
        return of[ast.literal_eval(node.slice)] if plain else MISSING
    if isinstance(of, Tensor):  # the gradient of a result warns when it is read, and stays None
        return getattr(of, node.attr, MISSING) if node.attr != "grad" or of.is_leaf else MISSING
    own = getattr(of, "__dict__", {})
    held = own, own.get("_parameters", {}), own.get("_modules", {})
    return next((names[node.attr] for names in held if node.attr in names), MISSING)


def no_gradient_yet(message: str, node: ast.expr, value: Any, text: str) -> str:
    """Explain `x.grad.zero_()` before the first backward."""
    if value is not None or not isinstance(node, ast.Attribute) or node.attr != "grad":
        return ""
    of = ast.unparse(node.value)
    return f"{text} is None until a backward pass has reached {of}. To fix: call backward() first, or test for None"


def not_called(message: str, node: ast.expr, value: Any, text: str) -> str:
    """Explain `(x * x).mean` and `x.sum - 1` without parentheses."""
    lacks, used, kind = LACKS.search(message), OPERANDS.search(message), type(value).__name__
    of_result = lacks and lacks[1] in METHODS and hasattr(Tensor, lacks[2])
    of_tensor = used and kind in used.groups() and isinstance(getattr(value, "__self__", None), Tensor)
    if value is MISSING:  # as in (x * x).mean.backward()
        of_result = of_result and isinstance(node, ast.Attribute) and hasattr(Tensor, node.attr)
    elif kind not in METHODS:
        return ""
    if not (of_result or of_tensor):
        return ""
    name = getattr(value, "__name__", node.attr if isinstance(node, ast.Attribute) else text)
    call = name if name.isidentifier() else text  # a lambda has no name
    return f"{text} is the function {name}, which was not called. To fix: write the parentheses, {call}()"


def plain_number(message: str, node: ast.expr, value: Any, text: str) -> str:
    """Explain `loss.backward()` of a number."""
    lacks = LACKS.search(message)
    if lacks is None or not isinstance(value, PLAIN) or not hasattr(Tensor, lacks[2]):
        return ""
    return (
        f"{text} is a plain number, without a graph: item(), float() and tolist() take it out of the tensor. "
        f"To fix: keep the tensor for {lacks[2]}, and call item() where it is printed"
    )


def several_results(message: str, node: ast.expr, value: Any, text: str) -> str:
    """Explain a tuple of tensors that is used as a tensor."""
    if not isinstance(value, (tuple, list)) or not any(isinstance(one, Tensor) for one in value):
        return ""
    lacks = LACKS.search(message)
    if not (lacks and hasattr(Tensor, lacks[2]) or OPERANDS.search(message) or "not callable" in message):
        return ""
    if isinstance(value, list):
        return f"{text} is a list of {len(value)} tensors. To fix: stack({text}) makes one of them"
    names = ", ".join("abcd"[: len(value)]) + "," * (len(value) == 1)
    return f"{text} is a tuple of {len(value)}: {RESULTS}. To fix: unpack it, as in {names} = ..."


def list_plus_tensor(message: str, node: ast.expr, value: Any, text: str) -> str:
    """Explain `[1.0, 2.0] + x`."""
    if not isinstance(value, Tensor) or 'can only concatenate list (not "Tensor")' not in message:
        return ""
    return (
        f"+ joins lists, and {text} is a tensor. To fix: make a tensor of the list to add them; append [{text}] to join"
    )


def called_shape(message: str, node: ast.expr, value: Any, text: str) -> str:
    """Explain `x.shape()`, and a tensor that is called."""
    if "'Size' object is not callable" in message and isinstance(value, tuple):
        return f"{text} is a tuple, not a method. To fix: write {text}[0], or {text.removesuffix('.shape')}.size(0)"
    if "'Tensor' object is not callable" in message and isinstance(value, Tensor):
        return f"{text} is a tensor, not a function. To fix: index it with square brackets, or rename one of them"
    return ""


def context_as_dict(message: str, node: ast.expr, value: Any, text: str) -> str:
    """Explain `ctx["n"] = n`."""
    if not isinstance(value, Ctx) or not re.search("item assignment|not subscriptable|item deletion", message):
        return ""
    return f"{text} is no dict. To fix: save tensors with {text}.save_for_backward, other values as attributes, {text}.n = n"


RULES: tuple[Callable[[str, ast.expr, Any, str], str], ...] = (
    no_gradient_yet,
    not_called,
    plain_number,
    several_results,
    list_plus_tensor,
    called_shape,
    context_as_dict,
)


def notebook_error(shell: Any, kind: type, e: BaseException, tb: Any, tb_offset: int | None = None) -> None:
    """Show an error in a notebook; with a note, only the user's own lines."""
    shown = users_part(tb) if note(e) and not full_traceback() else tb
    shell.showtraceback((kind, e, shown), tb_offset=tb_offset)


def install() -> None:
    """Explain errors in the notebook that runs, unless the notebook already has its own way."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None and not getattr(shell, "custom_exceptions", True):
        shell.set_custom_exc((AttributeError, TypeError), notebook_error)
