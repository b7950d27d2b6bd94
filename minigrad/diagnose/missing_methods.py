"""Methods that a user's Function lacks, or has under a misspelt name."""

from __future__ import annotations

import difflib

from ..core.function import Function
from ..errors import error, warn
from ..places import defined_at, noted
from .report import explains

METHODS = ("forward", "setup_context", "backward", "jvp", "vmap")


def misspelt(cls: type[Function], name: str) -> tuple[str, list[str]] | None:
    """Return a method of the class whose name is almost `name`, and a note with its line; None if there is none."""
    found = [m for m in vars(cls) if m not in METHODS and callable(getattr(cls, m)) and not m.startswith("_")]
    near = difflib.get_close_matches(name, found, 1, 0.85)
    return (near[0], noted(f"`{near[0]}` is", defined_at(getattr(cls, near[0])))) if near else None


@explains("the Function has no backward")
def no_backward(cls: type[Function]) -> Exception:
    """Return the error for differentiating a Function without backward."""
    what = "you must implement either the backward or vjp method for your custom autograd.Function to use it with "
    return missing(cls, "backward", what + "backward mode AD")


@explains("the Function has no jvp")
def no_jvp(cls: type[Function]) -> Exception:
    """Return the error for passing tangents to a Function without jvp."""
    what = "you must implement the jvp function for custom autograd.Function to use it with forward mode AD"
    return missing(cls, "jvp", what)


def missing(cls: type[Function], name: str, what: str) -> Exception:
    """Return the error for a missing method."""
    fix = f"add a @staticmethod def {name}(ctx, {'*args)' if name == 'forward' else WRITTEN[name]}"
    if (near := misspelt(cls, name)) is None:
        return error(
            NotImplementedError, cls.__name__, what, fix, notes=noted("its forward is", defined_at(cls.forward))
        )
    return error(
        NotImplementedError,
        cls.__name__,
        f"{what}; the class has a method `{near[0]}`",
        f"rename {near[0]} to {name}",
        notes=near[1],
    )


WRITTEN = {
    "backward": "grad_output)",
    "jvp": "*tangents) that returns a tangent for each output; for second derivatives without jvp use jacrev(jacrev(f)) "
    "instead of hessian(f)",
}


def check_names(cls: type[Function]) -> None:
    """Check at a Function's first call that it has a forward and no misspelt setup_context."""
    if cls.forward is Function.forward:
        raise missing(cls, "forward", "you must implement the forward function for custom autograd.Function")
    if cls.combined and (near := misspelt(cls, "setup_context")) is not None:
        warn(
            "misspelt-method",
            cls.__name__,
            f"has a method `{near[0]}` but no setup_context: minigrad never calls it",
            f"rename {near[0]} to setup_context",
            notes=near[1],
        )
