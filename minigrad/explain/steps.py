"""The steps of an explanation as plain data: from the start of the derivation to the requested number.

In reverse mode, a step is a route of a gradient back through an operation; in forward mode, a route of a tangent through it. In
both cases, each of its numbers is a sum of products: an incoming derivative times a local partial.
"""

import dataclasses


@dataclasses.dataclass
class Term:
    """One product: the derivative at an element of `value`, times the local partial."""

    value: int
    index: tuple
    arrived: float
    partial: float
    product: float


@dataclasses.dataclass
class Part:
    """The contribution of a step to one element: the largest terms, and the sum of the others."""

    index: tuple
    gives: float
    terms: list[Term]
    others: int = 0  # number of smaller terms
    rest: float = 0.0  # their sum
    known: bool = True  # False if the local partials are unknown, as for a custom Function


@dataclasses.dataclass
class Step:
    """One operation on the way: the value that it contributes to, and the formula of the contribution."""

    op: int
    name: str
    function: str | None
    call: str  # the operation as code that can be pasted
    where: dict  # from the record: file, line, code, ...
    backward_at: tuple[str, int] | None  # the location of a custom Function's backward
    value: int
    sources: list[int]  # the values that the numbers come from
    formula: str  # from the record: of the gradient along the edge, in terms of g, or of the tangent
    parts: list[Part]


@dataclasses.dataclass
class Sum:
    """The contributions to one element of a value, in the order of the steps; `seed` is the part that starts there."""

    value: int
    index: tuple
    terms: list[float]
    seed: float
    total: float


@dataclasses.dataclass
class Path:
    """A route to the requested value: its operations from the start of the derivation on, and its contribution.

    If there are too many routes, or a custom Function does not distinguish them, one Path stands for `count` of them.
    """

    begins: int | None  # the value at the start; None for several paths
    ops: list[int]
    names: list[str]
    count: int
    gives: list[float]  # for each explained element
