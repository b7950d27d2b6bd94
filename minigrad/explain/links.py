"""A recording as links: the routes of a derivative through operations, with the numbers at both ends.

In reverse mode, a link leads from the results of an operation back to one of its arguments; in forward mode, from the arguments
to a result. A value's derivative is the sum of its links' contributions, plus the part that starts at the value.
"""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from ..arrays import dtypes
from ..record.build import consumed, ends
from ..record.gradient_flow import Run
from ..record.recorder import Record
from ..record.values import OpEntry
from . import local_partials


@dataclass(eq=False)
class Link:
    """A route through an operation to the derivative of `value`."""

    group: OpEntry
    value: int
    sources: list[tuple[int, int | None]]  # the values it comes from, in forward mode with their positions
    position: int | None  # in reverse mode, of the argument; None if the operation consists of several steps
    gives: np.ndarray  # its total contribution
    kept: bool = True  # False if its numbers are lost


class Links:
    """The derivatives of one kind in a recording: the tangents, or the gradients in some backward passes."""

    def __init__(self, rec: Record, kind: str, runs: list[Run]):
        self.rec, self.kind, self.runs = rec, kind, runs
        self.number: dict[int, np.ndarray] = {}  # value -> its derivative, as recorded: NaN if it is lost
        self.lost: set[int] = set()  # values whose derivative is lost
        self.into: dict[int, list[Link]] = defaultdict(list)
        self.gradients() if kind == "gradient" else self.tangents()

    def gradients(self) -> None:
        """Collect links from results back to arguments."""
        rec, runs = self.rec, {run.number for run in self.runs}
        self.number = {v: self.held(v, g) for v, g in rec.gradients_in(self.runs).items()}
        groups = [g for g in rec.groups if g.events]
        used = consumed(groups, rec.outputs)
        for group in groups:
            sources: list = [(o, None) for o in ends(group, used)[1] if o in self.number]
            by_input: dict[tuple, list] = defaultdict(list)  # each run of the engine adds a flow for every input
            for flow in group.edges:
                if flow.upstream is not None and flow.run in runs:
                    by_input[flow.value, flow.position if len(group.events) == 1 else None].append(flow)
            for (value, position), flows in by_input.items():
                gives = [held(rec, flow.gives) for flow in flows]
                whole = gives[0] if len(gives) == 1 else np.asarray(sum(map(wide, gives)))
                kept = not any(is_lost(rec, flow.gives) for flow in flows)
                self.into[value].append(Link(group, value, sources, position, whole, kept))

    def tangents(self) -> None:
        """Collect links from arguments to results."""
        groups = [g for g in self.rec.groups if g.tangents and g.phase == "forward"]
        for group in groups:
            self.number |= {v: self.held(v, t) for v, t in group.tangents.items()}
        for group in groups:
            made = {o for event in group.events for o in event.outputs}
            found = [(i, k) for event in group.events for k, i in enumerate(event.inputs) if isinstance(i, int)]
            moving: list = [(i, k) for i, k in found if i not in made and i in group.tangents]
            if len(group.events) > 1:
                moving = [(i, None) for i in dict.fromkeys(i for i, _ in moving)]
            for out in made & set(group.tangents):
                self.into[out].append(Link(group, out, moving, None, self.number[out], out not in self.lost))

    def held(self, value: int, derivative: int) -> np.ndarray:
        """Return the content of a value's derivative, and note if it is lost."""
        if is_lost(self.rec, derivative):
            self.lost.add(value)
        return held(self.rec, derivative)

    def is_kept(self, link: Link) -> bool:
        """Return True if the numbers at both ends of a link are known."""
        return link.kept and link.value not in self.lost and self.lost.isdisjoint(s for s, _ in link.sources)

    def seed(self, value: int) -> np.ndarray:
        """Return the part of a value's derivative that comes from no link, because it starts there."""
        links = self.into[value]
        number = self.number[value]
        if value in self.lost or not all(link.kept for link in links):
            return np.broadcast_to(0.0, number.shape)
        if not links or len(links) == 1 and links[0].gives is number:
            return number if not links else np.broadcast_to(0.0, number.shape)
        with np.errstate(all="ignore"):
            number, total = wide(number), sum(wide(link.gives) for link in links)
            rest = number - total
            scale = np.abs(number) + sum(np.abs(wide(link.gives)) for link in links)
            begins = np.where(np.isfinite(number) & ~np.isfinite(total), number, 0.0)  # a hook replaced NaN
            return np.where(np.abs(rest) > 1e-4 * scale, rest, begins)

    def slopes(self, link: Link, direction: np.ndarray) -> list[tuple[int, np.ndarray]] | None:
        """Return the change of each source when the link's value changes in a direction; None if no rule can tell.

        For the direction of a single element, these are its local partials.
        """
        try:
            if self.kind == "gradient":
                moved = local_partials.pushed(self.rec, link.group, link.value, link.position, direction)
                found = [(o, moved[o]) for o, _ in link.sources if o in moved]
            else:
                slopes = local_partials.pulled(self.rec, link.group, link.value, direction)
                found = [(i, slopes[i, k]) for i, k in link.sources if (i, k) in slopes]
        except Exception:  # a rule may need unsaved values: then the recorded numbers are shown
            return None
        arrives = sum(dot(slope, self.number[s]) for s, slope in found)
        given = dot(direction, link.gives)
        if given != given:  # 0 * inf is NaN, so all elements matter
            return found if any(np.isnan(product(slope, self.number[s])).any() for s, slope in found) else None
        scale = sum(dot(np.abs(slope), np.abs(self.number[s])) for s, slope in found) + abs(given)
        eps = dtypes.finfo(np.dtype(self.rec.values[link.value].dtype or "f8")).eps
        noise = eps * sum(np.abs(self.number[s]).max(initial=0.0) for s, _ in link.sources)  # in place of an exact 0
        return found if arrives == given or abs(arrives - given) <= 1e-3 * scale + noise else None


def dot(direction: np.ndarray, numbers: np.ndarray) -> float:
    """Return the sum of products over the nonzero elements of the direction."""
    there = direction != 0
    return float(product(wide(direction[there]), wide(numbers[there])).sum())


def product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the elementwise product, including infinities and NaN."""
    with np.errstate(all="ignore"):
        return x * y


def held(rec: Record, value: int) -> np.ndarray:
    """Return the content of a recorded value, NaN if it is lost."""
    found = rec.values[value].content()
    return np.broadcast_to(np.float64(np.nan), rec.values[value].shape) if found is None else found


def is_lost(rec: Record, value: int) -> bool:
    """Return True if only a summary is left of a recorded value."""
    return rec.values[value].content() is None


def wide(a: np.ndarray) -> np.ndarray:
    """Return an array in float64, in which long sums stay accurate."""
    return np.asarray(a, np.float64)
