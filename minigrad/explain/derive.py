"""The derivation of one derivative: the steps that lead to it, the paths they form, and the contribution of each path."""

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from ..arrays.kinds import distinct
from ..errors import error
from ..places import Place
from ..record.build import flows_of, numbered
from ..record.first_special import first_special
from ..record.gradient_flow import Run
from ..record.labels import ShownNames
from ..record.recorder import Record
from ..record.summary import summary
from .explanation import Explanation
from .links import Link, Links, dot
from .steps import Part, Path, Step, Sum, Term

WHOLE = 4  # up to this many elements are explained at once
TERMS = 5  # maximum number of terms listed in a sum, and of elements followed in each value
PATHS = 64  # maximum number of paths that are distinguished


@dataclass
class Asked:
    """A derivative in a recording."""

    rec: Record
    kind: str  # gradient | tangent
    value: int
    label: str = ""
    owned: bool = False  # True for the .grad of the value's tensor
    notes: list[str] = field(default_factory=list)
    runs: list[Run] | None = None  # the backward passes that the gradient comes from; None: those of the results


class Derivation:
    """The steps and paths to the derivative of one value."""

    def __init__(self, asked: Asked):
        self.rec, self.kind, self.value = asked.rec, asked.kind, asked.value
        self.label, self.notes = asked.label, list(asked.notes)
        self.rec.take_back()
        self.notes += filter(None, [self.rec.words_of_limit()])
        self.runs = self.rec.shown_runs() if asked.runs is None else asked.runs
        self.links = Links(self.rec, self.kind, self.runs)
        self.order = self.values_on_paths()
        self.seeds = {v: s for v in self.order if np.any((s := self.links.seed(v)) != 0)}
        self.counts: dict[int, int] = {}
        for v in reversed(self.order):
            through = sum(self.count(link) for link in self.links.into[v])
            self.counts[v] = (v in self.seeds) + through

    def values_on_paths(self) -> list[int]:
        """Return the values between the requested one and the start of its derivative, beginning with the requested one."""
        made = {o: k for k, g in enumerate(self.rec.groups) for event in g.events for o in event.outputs}
        seen, stack = {self.value}, [self.value]
        while stack:
            for link in self.links.into[stack.pop()]:
                new = {s for s, _ in link.sources if s in self.links.number} - seen
                seen |= new
                stack += new
        return sorted(seen, key=lambda v: made.get(v, -1), reverse=self.kind == "tangent")

    def count(self, link: Link) -> int:
        """Return the number of paths through a link."""
        return sum(self.counts.get(s, 0) for s, _ in link.sources)

    def explanation(self, index: Any) -> Explanation:
        """Explain all elements, or one."""
        document, number = numbered(self.rec, shown=self.runs)
        record = document.to_dict()
        asked = self.links.number[self.value]
        elements = self.chosen(index)
        steps = self.steps(elements)
        ends = list(self.seeds) if self.kind == "gradient" else [self.value]
        renumbering = Renumbering(number, record, self.kind, [run.number for run in self.runs])
        part = renumbering.part_of_record(self.order, ends)
        return Explanation(
            self.kind,
            number(self.value),
            self.label,
            asked.shape,
            elements,
            [element(asked, i) for i in elements],
            len(elements) == asked.size,
            {number(v): summary(s) for v, s in self.seeds.items()},
            [renumbering.step(s) for s in steps],
            [renumbering.path(p) for p in self.paths(elements)],
            self.notes,
            ShownNames(record["values"]).names,
            part,
            list(special_notes(record, part, self.kind)),
        )

    def chosen(self, index: Any) -> list[tuple]:
        """Return the elements to explain: the requested one, all of a few, or the largest."""
        asked = self.links.number[self.value]
        if index is not None:
            return [position(index, asked.shape)]
        if asked.size <= WHOLE:
            return list(np.ndindex(asked.shape))
        at = largest(asked)
        self.notes.append(f"the largest in magnitude of {asked.size} elements, index={at}; pass index= for another")
        return [at]

    # ------------------------------------------------------------------ steps
    def steps(self, elements: list[tuple]) -> list:
        """Return links with their parts, and sums, in the order of the derivation."""
        followed: dict[int, list[tuple]] = defaultdict(list, {self.value: elements})
        by_value = []
        for v in self.order:
            if not followed[v]:
                continue
            followed[v].sort()
            links, mine = self.links.into[v], []
            for link in links if self.kind == "tangent" else reversed(links):
                parts = [self.part(link, i) for i in followed[v]] if self.links.is_kept(link) else []
                mine.append((link, parts))
                for s, i in self.next_elements(link, parts, followed[v]):
                    if i not in followed[s] and len(followed[s]) < TERMS:
                        followed[s].append(i)
            sums, seed, number = [], self.links.seed(v), self.links.number[v]
            if len(links) + (v in self.seeds) > 1 and v not in self.links.lost and all(parts for _, parts in mine):
                for k, i in enumerate(followed[v]):
                    terms = [parts[k].gives for _, parts in mine]
                    sums.append(Sum(v, i, terms, element(seed, i), element(number, i)))
            by_value.append(mine + sums)
        return [step for mine in reversed(by_value) for step in mine]

    def part(self, link: Link, index: tuple) -> Part:
        """Return the contribution of a link to one element."""
        gives = element(link.gives, index)
        slopes = self.links.slopes(link, unit(link.gives.shape, index))
        if slopes is None:
            return Part(index, gives, self.partial_as_quotient(link, gives), known=False)
        terms = [term for s, slope in slopes for term in self.terms(s, slope, index)]
        terms.sort(key=lambda term: magnitude(term.product), reverse=True)
        nonzero = [term for term in terms if term.product != 0] or terms[:1]
        shown, rest = nonzero[:TERMS], nonzero[TERMS:]
        shown.sort(key=lambda term: (term.value, term.index))
        return Part(index, gives, shown, len(rest), math.fsum(t.product for t in rest))

    def terms(self, source: int, slope: np.ndarray, index: tuple) -> list[Term]:
        """Return the products of a source's derivative with its nonzero local partials; with a zero one if all are zero."""
        arrived = self.links.number[source]
        places = [tuple(at) for at in np.argwhere(slope != 0).tolist()]
        if not places and slope.shape == arrived.shape and len(index) == slope.ndim:
            places = [index] if all(i < n for i, n in zip(index, slope.shape)) else []
        numbers = [(i, element(arrived, i), element(slope, i)) for i in places]
        return [Term(source, i, a, partial, a * partial) for i, a, partial in numbers]

    def partial_as_quotient(self, link: Link, gives: float) -> list[Term]:
        """Return the partial as a quotient, for a rule with unknown partials whose input is a single nonzero number."""
        if sum(np.count_nonzero(self.links.number[s]) for s, _ in link.sources) != 1:
            return []
        ((s, i),) = [(s, tuple(i)) for s, _ in link.sources for i in np.argwhere(self.links.number[s] != 0).tolist()]
        arrived = element(self.links.number[s], i)
        return [Term(s, i, arrived, gives / arrived, gives)]

    def next_elements(self, link: Link, parts: list[Part], followed: list[tuple]) -> list[tuple[int, tuple]]:
        """Return the elements that the numbers of a step come from, largest first; `followed` are those of the link."""
        terms = sorted([t for part in parts for t in part.terms], key=lambda t: magnitude(t.product), reverse=True)
        found = [(t.value, t.index) for t in terms]
        for index in [part.index for part in parts if not part.terms] if parts else followed:
            for s, _ in link.sources:
                if (arrived := self.links.number[s]).size:
                    found.append((s, index if arrived.shape == link.gives.shape else largest(arrived)))
        return found

    # ------------------------------------------------------------------ paths
    def paths(self, elements: list[tuple]) -> list[tuple]:
        """Return the paths, largest first: links from the requested value on, end, number of paths, contributions.

        The bundle of paths that contributes most is split repeatedly, until all paths are separate or there are too many.
        """
        if not elements:
            return []
        number = self.links.number[self.value]
        if self.links.lost.intersection(self.order) or not all(
            map(self.links.is_kept, chain(*self.links.into.values()))
        ):
            return [([], None, self.counts[self.value], [element(number, i) for i in elements])]
        directions = [unit(number.shape, i) for i in elements]
        done: list[tuple] = []
        open_ = [([], self.value, directions, [dot(d, number) for d in directions])]
        while open_:
            if len(done) + len(open_) >= PATHS:
                done += [(links, None, self.counts[v], gives) for links, v, _, gives in open_]
                break
            open_.sort(key=lambda bundle: sum(map(magnitude, bundle[3])))
            links, v, directions, gives = open_.pop()
            if self.counts[v] <= 1:
                way, end = self.only_path(v)
                done.append((links + way, end, self.counts[v], gives))
                continue
            if v in self.seeds:
                done.append((links, v, 1, [dot(d, self.seeds[v]) for d in directions]))
            for link in self.links.into[v]:
                self.take_apart(link, links, directions, open_, done)
        return sorted(done, key=lambda path: sum(map(magnitude, path[3])), reverse=True)

    def take_apart(self, link: Link, links: list, directions: list, open_: list, done: list) -> None:
        """Add the bundles behind a link: one for each source, or a single one if the link's partials are unknown."""
        many = self.count(link)
        slopes = [self.links.slopes(link, d) for d in directions] if many > 1 else [None]
        if any(s is None for s in slopes):
            way, end = self.only_path(link.sources[0][0]) if many == 1 and len(link.sources) == 1 else ([], None)
            done.append(([*links, link, *way], end, many, [dot(d, link.gives) for d in directions]))
            return
        for k, (source, _) in enumerate(slopes[0]):
            ahead = [found[k][1] for found in slopes]
            if self.counts.get(source):
                gives = [dot(d, self.links.number[source]) for d in ahead]
                open_.append(([*links, link], source, ahead, gives))

    def only_path(self, v: int) -> tuple[list[Link], int]:
        """Return the links of the only path from a value on, and its end."""
        links = []
        while v not in self.seeds:
            onward = [(link, s) for link in self.links.into[v] for s, _ in link.sources if self.counts.get(s)]
            if not onward:
                break
            link, v = onward[0]
            links.append(link)
        return links, v


class Renumbering:
    """Translates the numbers of a recording into those of its document."""

    def __init__(self, number: Any, record: dict, kind: str, runs: list[int]):
        self.number, self.record, self.kind, self.runs = number, record, kind, runs
        self.ops = {group: record["ops"][id] for group, id in number.ops.items()}

    def step(self, derived: Any) -> Step | Sum:
        """Return the step of a link with its parts, or a sum."""
        if isinstance(derived, Sum):
            derived.value = self.number(derived.value)
            return derived
        link, parts = derived
        op, event = self.ops[link.group], link.group.events[0]
        rule = "backward" if self.kind == "gradient" else "jvp"
        code = None if event.cls.primitive else getattr(getattr(event.cls, rule), "__code__", None)
        for term in [term for part in parts for term in part.terms]:
            term.value = self.number(term.value)
        return Step(
            op["id"],
            op["name"],
            op["function"],
            op["call"],
            op["where"],
            code and (code.co_filename, code.co_firstlineno),
            self.number(link.value),
            [self.number(s) for s, _ in link.sources],
            self.formula(link, op),
            parts,
        )

    def formula(self, link: Link, op: dict) -> str:
        """Return the record's formula for the contribution of a link."""
        if self.kind == "tangent":
            return next((p["formula"] for p in op["pushes"] if p["output"] == self.number(link.value)), "")
        edges = [(f, edge) for f, edge in zip(flows_of(link.group, self.number), op["edges"]) if f.run in self.runs]
        ends = {(f.value, f.position if link.position is not None else None): edge["formula"] for f, edge in edges}
        return ends.get((link.value, link.position), "")

    def path(self, followed: tuple) -> Path:
        """Return a path from its start on."""
        links, end, count, gives = followed
        ops = [self.ops[link.group] for link in reversed(links)]
        begins = None if end is None else self.number(end)
        return Path(begins, [op["id"] for op in ops], [op["name"] for op in ops], count, gives)

    def part_of_record(self, order: list[int], ends: list[int]) -> dict:
        """Return the part of the record that leads to `ends`, with only the derivatives of values on the paths."""
        on_the_way, wanted, ops = {self.number(v) for v in order}, {self.number(v) for v in ends}, []
        runs = self.runs
        for op in reversed(self.record["ops"]):
            if op["phase"] == "forward" and wanted & set(op["outputs"]):
                wanted.update(i for i in op["inputs"] if isinstance(i, int))
                edges = [edge for edge in op["edges"] if edge["input"] in on_the_way and edge["run"] in runs]
                tangents = {v: t for v, t in op["tangents"].items() if int(v) in on_the_way}
                ops.insert(0, {**op, "edges": edges, "tangents": tangents})
        gradients = {v: g for v, g in self.record["gradients"].items() if int(v) in on_the_way}
        passes = ["forward", "backward" if self.kind == "gradient" else "jvp"]
        return {
            **self.record,
            "program": {**self.record["program"], "passes": passes},
            "ops": ops,
            "outputs": [self.number(v) for v in ends],
            "gradients": gradients,
        }


def position(index: Any, shape: tuple) -> tuple:
    """Return an index as a tuple of nonnegative integers, or raise IndexError."""
    at = tuple(index) if isinstance(index, (tuple, list)) else (index,)
    if len(at) != len(shape) or not all(isinstance(i, int) and -n <= i < n for i, n in zip(at, shape)):
        what = f"there is no element {at} in a tensor of shape {shape}"
        raise error(IndexError, "explain", what, "pass one integer for each dimension as index=")
    return tuple([i % n for i, n in zip(at, shape)])


def unit(shape: tuple, index: tuple) -> np.ndarray:
    """Return an array with 1 at an element and 0 elsewhere."""
    a = np.zeros(shape)
    a[index] = 1
    return a


def special_notes(record: dict, part: dict, kind: str) -> Iterator[str]:
    """Yield where a part of a record has the first NaN or infinity of the passes that it explains, with the numbers."""
    places = {
        ("op", op["id"]): f"{op['name']}, {Place(op['where']['file'], op['where']['line']).short}" for op in part["ops"]
    }
    places |= {("value", value["id"]): value["shown"] for value in part["values"]}
    for (name, *at), words in first_special(record).items():
        if name in ("forward", {"gradient": "backward", "tangent": "jvp"}[kind]) and tuple(at) in places:
            yield f"{name}: {words.replace(' here', f' at {places[tuple(at)]}', 1)}"


def element(a: np.ndarray, index: tuple) -> float:
    """Return one element of an array of any float dtype."""
    return float(np.asarray(a[index], np.float64))


def largest(a: np.ndarray) -> tuple:
    """Return the index of the element of largest magnitude; a NaN counts as the largest."""
    a = distinct(a)  # the first of the elements that it repeats
    at = int(np.argmax(np.nan_to_num(np.abs(a), nan=np.inf)))
    return tuple([int(i) for i in np.unravel_index(at, a.shape)])


def magnitude(x: float) -> float:
    """Return the absolute value of a number; NaN becomes infinity."""
    return math.inf if x != x else abs(x)
