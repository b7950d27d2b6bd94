"""The backward passes that a picture shows: those that began at its outputs, each with its own gradients.

A program may run several: for two losses, twice for one, with autograd.grad besides. A record has the gradients of all of
them, each with the number of its pass; `of_passes` keeps those of some. What `.grad` holds is another thing than what a pass
adds to it.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import text

MOST = 3  # earlier contributions to a `.grad` that a card lists, and passes that a title names


@dataclass(frozen=True, eq=False)
class Origin:
    """One of the passes that a picture shows."""

    runs: frozenset[int]  # its number in the record, and those of passes within it
    roots: tuple[int, ...]  # the values where it began
    name: str  # of these
    place: str  # its line
    own: bool  # True if it began at an output, or gave it
    gradients: Mapping[int, int]  # of values
    turn: tuple[int, int] = (1, 1)  # the number of this pass among those from the same values, and their number

    @property
    def words(self) -> str:
        """The words that identify the pass if the record has others or it began elsewhere: 2 of 2, train.py:14."""
        which = "" if self.turn[1] == 1 else f"{self.turn[0]} of {self.turn[1]}"
        which = which if self.own else f"from {self.name}"
        return ", ".join(filter(None, (which, self.place))) if which else ""


def origins(record: dict) -> list[Origin]:
    """Return the backward passes that a record shows, without those that run within others."""
    names = {value["id"]: value.get("shown") or value.get("name") or "" for value in record["values"]}
    known = [one for one in record.get("backwards", ()) if not (one.get("within") or one.get("differentiated"))]
    same, inner, found = Counter(tuple(one["roots"]) for one in known), defaultdict(list), []
    for one in record.get("backwards", ()):
        inner[one.get("within")].append(one["run"])
    turns: Counter[tuple[int, ...]] = Counter()
    outputs = set(record.get("outputs", ()))
    for one in known:
        roots = tuple(one["roots"])
        turns[roots] += 1
        if not one["shown"]:
            continue
        name = ", ".join(names[root] for root in roots)
        gradients = {int(value): gradient for value, gradient in one["gradients"].items()}
        own = not outputs or not outputs.isdisjoint({*roots, *gradients.values()})  # func.grad returns a gradient
        runs = frozenset([one["run"], *inner[one["run"]]])
        found.append(Origin(runs, roots, name, line(one.get("where")), own, gradients, (turns[roots], same[roots])))
    order = {value: place for place, value in enumerate(record.get("outputs", ()))}
    return sorted(found, key=lambda one: min((order[root] for root in one.roots if root in order), default=0))


def after(origin: Origin | None) -> str:
    """Return what distinguishes the gradients of a pass in a picture of several."""
    return f" from {text.shorten(origin.name, 24)}" if origin else ""


def which(shown: Sequence[Origin]) -> str:
    """Tell which backward passes a picture shows, unless it is the only one of the only output."""
    if len(shown) > 1:
        named = shown if len(shown) <= MOST else shown[: MOST - 1]
        each = [f"from {one.name}" + f", {one.place}" * bool(one.place) for one in named]
        return "backward " + " and ".join([*each, *[f"{len(shown) - len(named)} others"] * (len(named) < len(shown))])
    return "".join(f"backward {one.words}" for one in shown if one.words)


def passed(name: str, shown: Sequence[Origin]) -> str:
    """Return the name of a pass; of backward, which one it is if the record has several."""
    return which(shown) or name if name == "backward" else name


def beginning(shown: Sequence[Origin], value: int) -> str:
    """Tell how the gradient of an output begins: there, or with the pass of another value, which the picture leaves out."""
    if not shown or any(value in one.roots for one in shown):
        return "backward starts here"
    return f"arrives from {', '.join(one.name for one in shown)}"


def line(where: dict | None) -> str:
    """Return a line of the program without its code: train.py:14."""
    return text.source({**where, "code": ""}).strip() if where else ""


class Accumulated:
    """The contents of the `.grad` of leaves after passes that found it not empty.

    >>> numbers = {i: {"shape": [1], "summary": {"values": [n]}} for i, n in enumerate([36.0, 3.0, 39.0])}
    >>> where = {"file": "train.py", "line": 9, "code": "b.backward()"}
    >>> grads = [{"value": 7, "run": 1, "gives": 0, "before": None, "after": 0},
    ...          {"value": 7, "run": 2, "gives": 1, "before": 0, "after": 2}]
    >>> Accumulated({"grads": grads, "backwards": [{"run": 1, "where": where}]}, numbers).words(7, {2})
    'now [39]: 36 from train.py:9'
    """

    def __init__(self, record: dict, values: dict[int, dict]):
        self.values, self.grads = values, list(record.get("grads", ()))
        self.lines = {one["run"]: line(one.get("where")) for one in record.get("backwards", ())}
        self.last = {(one["value"], one["run"]): place for place, one in enumerate(self.grads)}
        self.previous: list[int | None] = []  # of each addition, the one that made what it found
        self.earlier: list[int] = []  # the number of amounts that it found
        made: dict[int, int] = {}
        for place, one in enumerate(self.grads):
            found = made.get(one.get("before"))
            self.previous.append(found)
            self.earlier.append(int(one.get("before") is not None) if found is None else 1 + self.earlier[found])
            made[one["after"]] = place

    def words(self, value: int, runs: Collection[int]) -> str:
        """Tell what the `.grad` of a leaf holds after some passes if it was not empty before; "" if it was."""
        last = max((self.last[value, run] for run in runs if (value, run) in self.last), default=None)
        if last is None or not self.earlier[last]:
            return ""
        many, listed = self.earlier[last], []
        shown = many if many <= MOST + 1 else MOST
        place: int | None = last
        while len(listed) < shown and place is not None:
            one, place = self.grads[place], self.previous[place]
            if place is None:
                listed.append(f"{bare(self.values[one['before']])} already there")
            else:
                gives, run = self.grads[place]["gives"], self.grads[place]["run"]
                listed.append(f"{bare(self.values[gives])} from {self.lines[run] or 'an earlier backward'}")
        rest = [f"{many - shown} others"] if many > shown else []
        return f"now {text.gist(self.values[self.grads[last]['after']])}: {', '.join([*listed, *rest])}"


def bare(value: dict) -> str:
    """Return a value's elements; a single one without brackets."""
    amount = text.gist(value)
    return amount.strip("[]") if text.whole(value, 1) else amount


def of_passes(record: dict, runs: Collection[int] | None = None) -> dict:
    """Return a record with the gradients of some backward passes alone, by default of those that belong to its outputs.

    >>> one = {"input": 0, "run": 1, "upstream": 2, "gives": 3}
    >>> op = {"id": 0, "phase": "forward", "edges": [one, {**one, "run": 2, "gives": 4}], "inputs": [0], "outputs": [1]}
    >>> passes = [{"run": k, "roots": [1], "shown": k == 2, "gradients": {"0": k + 2}} for k in (1, 2)]
    >>> made = of_passes({"program": {"passes": []}, "ops": [op], "values": [], "gradients": {}, "backwards": passes})
    >>> [edge["gives"] for edge in made["ops"][0]["edges"]], made["gradients"]
    ([4], {'0': 4})
    """
    known = record.get("backwards", ())
    shown = {one["run"] for one in known if (one["shown"] if runs is None else one["run"] in runs)}
    shown |= {one["run"] for one in known if one.get("within") in shown}
    left_out = {one["run"] for one in known if not one.get("differentiated")} - shown
    backwards = [{**one, "shown": one["run"] in shown} for one in known]
    if not left_out:
        return {**record, "backwards": backwards} if known else record
    gone = {op["id"] for op in record["ops"] if op["phase"] == "backward" and op.get("run") in left_out}
    ops = [_of_passes(op, left_out, gone) for op in record["ops"] if op["id"] not in gone]
    parts: dict[str, list[int]] = {}
    for one in backwards:
        for value, gradient in one["gradients"].items() if one["shown"] else ():
            parts.setdefault(value, []).append(gradient)
    part = {**record, "values": list(record["values"]), "ops": ops, "backwards": backwards}
    part["gradients"] = {value: g for value, gives in parts.items() if (g := total(part, gives)) is not None}
    passes = [one for one in record["program"]["passes"] if one != "backward" or shown]
    return {**part, "program": {**record["program"], "passes": passes}}


def _of_passes(op: dict, left_out: Collection[int], gone: Collection[int]) -> dict:
    """Return an operation without the gradients of some passes, and without what their operations free."""
    edges = [edge for edge in op.get("edges", ()) if edge.get("run") not in left_out]
    saved = [{**one, "freed_by": None} if one.get("freed_by") in gone else one for one in op.get("saved", ())]
    inside = [ran for ran in op.get("inside", ()) if ran.get("run") not in left_out]
    changed = edges or saved or inside or op.get("edges")
    return {**op, "edges": edges, "saved": saved, "inside": inside} if changed else op


def passes_from(record: dict) -> list[int]:
    """Return the numbers of the backward passes that began at a record's outputs."""
    outputs = set(record["outputs"])
    own = [one for one in record.get("backwards", ()) if not (one.get("within") or one.get("differentiated"))]
    return [one["run"] for one in own if not outputs.isdisjoint(one["roots"])]


def total(part: dict, gives: list[int]) -> int | None:
    """Return the sum of gradients, a new value of a record if there are several; None if it is not known in full."""
    if len(set(gives)) == 1 == len(gives):
        return gives[0]
    values = {value["id"]: value for value in part["values"]}
    if not all("values" in values[one]["summary"] for one in gives):
        return None
    whole = {"values": _sum([values[one]["summary"]["values"] for one in gives])}
    part["values"].append({**values[gives[0]], "id": len(part["values"]), "summary": whole})
    return len(part["values"]) - 1


def _sum(terms: list) -> Any:
    """Add nested lists of numbers element by element; NaN and infinities may be strings."""
    if isinstance(terms[0], list):
        return [_sum(list(each)) for each in zip(*terms)]
    return sum(map(float, terms))
