"""Modules that are not used as modules are: the errors and warnings for it."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any
from weakref import ref

from ..core.tensor import Tensor
from ..errors import error, warn
from ..places import user_frame, user_place


def no_forward(module: Any) -> Exception:
    """The error for a module that is called and has no forward."""
    near = get_close_matches("forward", [n for n in vars(type(module)) if n != "forward" and n[0] != "_"], 1)
    return error(
        NotImplementedError,
        type(module).__name__,
        f'Module [{type(module).__name__}] is missing the required "forward" function'
        + (f"; did you mean it by {near[0]}?" if near else ""),
        "def forward(self, input): ... in the class, spelt so",
    )


def not_initialised(module: Any, what: str) -> Exception:
    """The error for a module whose own __init__ was not called."""
    return error(AttributeError, type(module).__name__, what, "call super().__init__() first in its __init__")


def made_of(module: Any, t: Tensor, inputs: str, kind: type) -> Exception:
    """The error for a module that was given its input in the place of a setting."""
    name = type(module).__name__
    what = f"was given a tensor of shape {tuple(t.shape)} in the place of a setting"
    return error(kind, name, what, f"make it first, then call it: {name}(){inputs}")


def note_replaced(old: Any, new: Any) -> None:
    """Note on parameters that another one, or a module with others, has taken their place; an optimizer may ask."""
    place = user_place()
    for p in [old] if isinstance(old, Tensor) else [p for _, p in old.named_parameters()]:
        p._replaced = ref(new), place


def inside(module: Any) -> bool:
    """Whether the user's code that runs is a method of the module, which may set attributes of its own."""
    frame = user_frame(2)
    return frame is not None and hasattr(type(module), frame.f_code.co_name)


def warn_requires_grad(module: Any, value: Any) -> None:
    """Modules have no requires_grad: what was set is a new attribute, that nobody reads."""
    n = len(list(module.parameters()))
    warn(
        "requires-grad-of-module",
        type(module).__name__,
        f"requires_grad was set on a module, where nobody reads it: its {n} parameters are as before",
        f"model.requires_grad_({value!r})",
    )
