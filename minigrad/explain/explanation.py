"""An explanation as plain data: the steps from where a derivative begins to the number that was asked for.

In reverse mode a step is one way in which a gradient goes back through an operation, in forward mode one way in which a
tangent goes on through it.  Either way each of its numbers is a sum of products: what arrived, times a local partial.
"""

from __future__ import annotations

import dataclasses

from ..record.show import mimebundle


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
    """One operation on the way: the value that its contribution goes to, and the formula of the local partial."""

    op: int
    name: str
    function: str | None
    asked: str  # the operation as the program has it; empty where its line is not known
    where: dict  # of the record: file, line, code, ...
    backward_at: tuple[str, int] | None  # where a custom Function's backward stands
    value: int
    sources: list[int]  # the values that the numbers come from
    partials: list[str]  # the formula of the local partial; in forward mode one for each source
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


@dataclasses.dataclass
class Explanation:
    """How a derivative came about.  `print` it, show it in a notebook, or `viz.draw` it.

    `steps` lead from where the derivative begins to the asked value; `paths` are the ways that they take together.
    """

    kind: str  # gradient | tangent
    of: int  # the asked value
    label: str  # what the program calls it, such as x.grad; empty where it has no name
    shape: tuple
    elements: list[tuple]  # those that are explained
    numbers: list[float]
    whole: bool  # whether these are all elements
    seeds: dict[int, dict]  # where the derivative begins, and with what: a summary as in a record
    steps: list[Step | Sum]
    paths: list[Path]
    notes: list[str]
    names: dict[int, str]  # what each value is called
    record: dict  # the part of the record that the paths go through (docs/record.md)

    @property
    def count(self) -> int:
        """How many paths there are."""
        return sum(path.count for path in self.paths)

    def derivative(self, value: int) -> str:
        """What is written for a value's derivative."""
        if self.kind == "tangent":
            return f"d{self.names[value]}"
        given = {step.value for step in self.steps}
        begins = [v for v in self.seeds if v not in given] or list(self.seeds)
        top = self.names[begins[0]] if len(begins) == 1 else "out"
        return f"∂{top}/∂{self.names[value]}"

    def to_dict(self) -> dict:
        """The explanation as plain data, which JSON can hold."""
        from ..record.schema import jsonable

        made = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name not in ("steps", "record")}
        made["label"] = self.label or self.derivative(self.of)
        made["paths"] = [vars(path) for path in self.paths]
        made["steps"] = [dataclasses.asdict(step) for step in self.steps]
        return {**jsonable(made), "count": self.count, "record": self.record}

    def __str__(self) -> str:
        from .blackboard import text

        return text(self)

    __repr__ = __str__
    _repr_mimebundle_ = mimebundle
