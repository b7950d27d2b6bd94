"""An explanation as plain data, which shows itself as text (blackboard.py) and in notebooks."""

from __future__ import annotations

import dataclasses

from ..record.schema import jsonable
from ..record.show import mimebundle
from . import blackboard
from .steps import Path, Step, Sum


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
        made = dataclasses.asdict(dataclasses.replace(self, label=self.label or self.derivative(self.of), record={}))
        return {**jsonable(made), "count": self.count, "record": self.record}

    def __str__(self) -> str:
        return blackboard.text(self)

    __repr__ = __str__
    _repr_mimebundle_ = mimebundle
