"""The methods of a custom Function: each runs under a separate recording, which becomes a part of the outer one.

The outer recording sees a custom Function as one operation. Calls of forward, setup_context, backward and jvp are noted here,
and connected to the operation by their ctx (build.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..core.graph import Node
from ..tensors.nested import tensors_in

if TYPE_CHECKING:
    from .recorder import Record


@dataclass
class Inside:
    """One call of a method."""

    name: str  # forward | setup_context | backward | jvp | vmap
    ctx: Any  # None for a forward without ctx
    record: Record


def watched(outer: Record, record: Record, name: str, method: Any, args: tuple) -> Any:
    """Run a method under `record`, and add that to the outer recording."""
    outer.insides.append(Inside(name, args[0] if args and isinstance(args[0], Node) else None, record))
    with record:
        record.name_arguments(parameters(method), args)
        result = method(*args)
        record.outputs = [record.ref(o, "computed") for o in tensors_in(result)]
    return result


def parameters(method: Any) -> tuple[str, ...]:
    """Return the names of a plain function's positional parameters; nothing for other callables."""
    code = getattr(method, "__code__", None)
    return () if code is None else code.co_varnames[: code.co_argcount]
