"""Name nodes as PyTorch does where minigrad splits operations differently, so that programs find these names in a graph.

An operation with `number_nodes` has another node if an operand is a number, which then is no input (x ** 2).  A function of
several operations that is one operation in PyTorch gives its last node that name (`ending`; mse_loss).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..core.graph import Node, OutputEdge, name_of
from ..core.saved import Saved, next_number, unpack
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
        if type(result) is Tensor and result._edge is None:
            return result
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


def under_its_name(node: Any) -> Any:
    """Return a node whose class has the node's name, too: programs read `type(node).__name__`."""
    if (name := name_of(node)) != type(node).__name__:
        node.__class__ = renamed(type(node), name)
    return node


# ---------------------------------------------------------------------- saved tensors
def saved_as(name: str) -> property:
    """Return the attribute that is a node's saved tensor of one of PyTorch's names; AttributeError if it has none."""

    def read(node: Any) -> Tensor:
        if name not in (found := saved_by_name(node, node._alive())):
            raise AttributeError(f"{type(node).__name__!r} object has no attribute {name!r}", name=name, obj=node)
        return unpack(found[name], node)

    return property(read)


def saved_by_name(node: Any, saved: tuple) -> dict:
    """Return PyTorch's name -> saved tensor: of the first and the second operand with a formula, and of the result."""
    names = ("_saved_result", "_saved_self", "_saved_other") if node._fn.formulas else ()
    places = zip(names, (len(node._edges), *sorted(node._fn.formulas)))
    return {name: saved[i] for name, i in places if type(saved[i]) is Saved}


def attributes(self: Any) -> list:
    """Return the names of a node's attributes, with those of saved tensors that it has."""
    found = saved_by_name(self, self._saved) if type(self._saved) is tuple else {}
    return [n for n in object.__dir__(self) if n in found or not n.startswith("_saved_")]
