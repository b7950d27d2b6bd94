"""Name nodes as PyTorch does where minigrad splits operations differently, so that programs find these names in a graph.

An operation with `number_nodes` has another node if an operand is a number, which then is no input (x ** 2).  A function of
several operations that is one operation in PyTorch gives its last node that name (`ending`; mse_loss).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..core.graph import Node, OutputEdge
from ..core.saved import next_number
from ..core.tensor import Tensor


def numbers_among(node: Any) -> list:
    """Return the positions of the operands that are numbers, if PyTorch has another node for them."""
    fn = node._fn
    return [i for i in fn.number_nodes if i in node._constants] if fn.number_nodes else []


@functools.cache
def alphabetical(cls: Any, n: int) -> tuple:
    """Return the positions of n arguments in alphabetical order of PyTorch's names, the order of saving."""
    names = [cls.known_as()[cls.parameter(i)] for i in range(n)]
    return tuple(sorted(range(n), key=lambda i: {"input": "self", "x": "self", "y": "other"}.get(names[i], names[i])))


def ending(f: Callable, node: str | Callable) -> Callable:
    """Return the function with the node of each result called `node`; the nodes behind it keep their names.

    A callable computes the name from the arguments; "" keeps the node's name.
    """

    @functools.wraps(f)
    def function(*args: object, **kwargs: object) -> Any:
        begun = next_number()
        result = f(*args, **kwargs)
        called = node if type(node) is str else None
        for t in result if isinstance(result, tuple) else (result,):
            edge = t._edge if isinstance(t, Tensor) else None
            if edge is None:
                continue
            made = edge.node if type(edge) is OutputEdge else edge
            if isinstance(made, Node) and made._seq > begun:
                called = node(*args, **kwargs) if called is None else called
                if called:
                    made.__class__ = renamed(type(made), called if "Backward" in called else f"{called}Backward0")
        return result

    return function


@functools.cache
def renamed(kind: type, name: str) -> type:
    """Return the class of nodes of one kind under another name."""
    return type(name, (kind,), {"__slots__": (), "__module__": kind.__module__, "name": lambda node: name})
