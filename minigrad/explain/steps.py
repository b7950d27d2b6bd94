"""The steps of an explanation as plain data: from where a derivative begins to the number that was asked for.

In reverse mode a step is one way in which a gradient goes back through an operation, in forward mode one way in which a
tangent goes on through it.  Either way each of its numbers is a sum of products: what arrived, times a local partial.
"""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass
class Term:
    """One product: what arrived at an element of `value`, times the local partial."""

    value: int
    index: tuple
    arrived: float
    partial: float
    product: float


@dataclasses.dataclass
class Part:
    """What one step gives to one element: the largest terms, and the sum of the others."""

    index: tuple
    gives: float
    terms: list[Term]
    others: int = 0  # how many smaller terms there are
    rest: float = 0.0  # and what they add up to
    known: bool = True  # whether the local partials are; a custom Function's are not


@dataclasses.dataclass
class Step:
    """One operation on the way: the value that its contribution goes to, and the formula of the contribution."""

    op: int
    name: str
    function: str | None
    call: str  # the operation as it is typed in
    where: dict  # of the record: file, line, code, ...
    backward_at: tuple[str, int] | None  # where a custom Function's backward stands
    value: int
    sources: list[int]  # the values that the numbers come from
    formula: str  # of the record: of what goes back along the edge, in g, or of the tangent
    parts: list[Part]


@dataclasses.dataclass
class Sum:
    """What meets at one element of a value, in the order of the steps; `seed` is what begins there."""

    value: int
    index: tuple
    terms: list[float]
    seed: float
    total: float


@dataclasses.dataclass
class Path:
    """A way to the asked value: its operations from where the derivative begins on, and what it contributes.

    Where the ways are too many, or a custom Function does not tell them apart, `count` of them stand together.
    """

    begins: int | None  # the value there; None where paths stand together
    ops: list[int]
    names: list[str]
    count: int
    gives: list[float]  # for each of the elements that are explained
