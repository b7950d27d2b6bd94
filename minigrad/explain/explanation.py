"""An explanation as plain data; it displays itself as text (blackboard.py) and in notebooks."""

import dataclasses

from ..record.labels import tangent, written
from ..record.schema import jsonable, mimebundle
from . import blackboard
from .steps import Path, Step, Sum


@dataclasses.dataclass
class Explanation:
    """The derivation of a derivative. `print` it, show it in a notebook, or `viz.draw` it.

    `steps` lead from the start of the derivation to the requested value; `paths` are the routes through them.
    """

    kind: str  # gradient | tangent
    of: int  # the requested value
    label: str  # its name in the program, such as x.grad; empty if it has none
    shape: tuple
    elements: list[tuple]  # the explained elements
    numbers: list[float]
    whole: bool  # True if these are all elements
    seeds: dict[int, dict]  # values where the derivation starts, with summaries of their derivatives as in a record
    steps: list[Step | Sum]
    paths: list[Path]
    notes: list[str]
    names: dict[int, str]  # the name of each value
    record: dict  # the part of the record that the paths go through (docs/record.md)
    special: list[str] = dataclasses.field(
        default_factory=list
    )  # where the first NaN and infinity were made, and of what

    @property
    def count(self) -> int:
        """The number of paths."""
        return sum(path.count for path in self.paths)

    def derivative(self, value: int) -> str:
        """Return the notation for a value's derivative."""
        if self.kind == "tangent":
            return tangent(written(self.names[value]))
        given = {step.value for step in self.steps}
        begins = [v for v in self.seeds if v not in given] or list(self.seeds)
        top = self.names[begins[0]] if len(begins) == 1 else "out"
        return f"∂{top}/∂{self.names[value]}"

    def to_dict(self) -> dict:
        """Return the explanation as plain, JSON-compatible data."""
        made = dataclasses.asdict(dataclasses.replace(self, label=self.label or self.derivative(self.of), record={}))
        return {**jsonable(made), "count": self.count, "record": self.record}

    def __str__(self) -> str:
        return blackboard.text(self)

    __repr__ = __str__
    _repr_mimebundle_ = mimebundle
