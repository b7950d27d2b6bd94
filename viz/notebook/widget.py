"""The widget of `live`: traits that hold the numbers of a page, which widget.js links with the page."""

from __future__ import annotations

import sys
import uuid
from pathlib import Path
from typing import Any

import anywidget
import numpy as np
from traitlets import Dict, Int, TraitError, Unicode, observe, validate

from minigrad.record.schema import jsonable

from .. import text
from ..drawing import Drawing
from ..graph.drawn_graph import Graph
from ..recompute.scopes import elements
from ..viewer import page
from ..viewer.shared import output, packed, running_cell

LEAVES = ("parameter", "input")  # kinds of values that can be set


class Numbers(dict):
    """Numbers by the labels of their values; an item that is set changes them on the page."""

    def __init__(self, numbers: dict, live: Live):
        super().__init__(numbers)
        self.live = live

    def __missing__(self, name: str) -> Any:
        label = self.live.label(name)
        if label in self:
            return self[label]
        raise KeyError(
            f"{name} has no such number, or the page has not computed it yet. Show the page, and read in the next cell."
        )

    def __setitem__(self, name: str, numbers: Any) -> None:
        if self is not self.live.values:
            raise ValueError("live: only values can be set; gradients and tangents follow from them.")
        self.live.values = {**self, self.live.label(name): numbers}


def received(numbers: dict, live: Live) -> Numbers:
    """Return the numbers that the page reports, in whose JSON NaN and infinities are texts."""
    return Numbers({label: text.each(number, lists) for label, lists in numbers.items()}, live)


def number(one: Any) -> Any:
    """Return a number; NaN and infinities may be texts."""
    return float(one) if isinstance(one, str) else one


SYNCED = {"sync": True, "to_json": lambda numbers, _: jsonable(dict(numbers)), "from_json": received}


class Live(anywidget.AnyWidget):
    """A page of the viewer whose numbers are traits; `viz.live` makes it."""

    _esm = Path(__file__).parent / "widget.js"
    _frame, _page = Unicode().tag(sync=True), Unicode().tag(sync=True)
    values, grads, tangents = Dict().tag(**SYNCED), Dict().tag(**SYNCED), Dict().tag(**SYNCED)
    step = Int(None, allow_none=True).tag(sync=True)
    note = Unicode().tag(sync=True)

    def __init__(self, drawing: Drawing):
        self.drawing = drawing
        every = drawing.whole.record["values"]
        self.known = {value["label"]: value for value in every if value["kind"] not in ("gradient", "tangent")}
        self.names = {value["shown"]: label for label, value in self.known.items()}
        made = {part: Numbers(numbers, self) for part, numbers in recorded_numbers(drawing.whole, self.known).items()}
        whole = page(drawing.whole, drawing.depth, drawing.open)
        super().__init__(_frame=f"minigrad-{uuid.uuid4().hex[:12]}", _page=packed(whole), **made)

    def label(self, name: str) -> str:
        """Return the label of a value, for its label or its name in the picture; raise ValueError for an unknown name."""
        if name in self.known or name in self.names:
            return name if name in self.known else self.names[name]
        raise ValueError(f"live: no value has the name {name!r}. The names are {', '.join(self.names)}.")

    @validate("values", "grads", "tangents")
    def _set(self, proposal: Any) -> Numbers:
        """Take the numbers that the page reports as they are; send those that the program sets to the page."""
        now, new = getattr(self, proposal.trait.name), proposal.value
        if isinstance(new, Numbers) and new.live is self:
            return new
        if proposal.trait.name != "values":
            raise TraitError("live: only values can be set; gradients and tangents follow from them.")
        asked = {self.label(name): listed(numbers) for name, numbers in new.items()}
        asked = {label: numbers for label, numbers in asked.items() if label not in now or now[label] != numbers}
        for label, numbers in asked.items():
            self._check(label, numbers)
        if not asked:
            return now
        self.send({"numbers": jsonable(asked)})
        self.grads, self.tangents = Numbers({}, self), Numbers({}, self)  # the page computes what follows
        leaves = {label: numbers for label, numbers in now.items() if self.known[label]["kind"] in LEAVES}
        return Numbers(leaves | asked, self)

    def _check(self, label: str, numbers: Any) -> None:
        """Raise ValueError for numbers that cannot be those of a value."""
        value = self.known[label]
        if value["kind"] not in LEAVES:
            can = ", ".join(one["shown"] for one in self.known.values() if one["kind"] in LEAVES)
            raise ValueError(f"live: {value['shown']} is the result of an operation. Set one of {can}.")
        try:
            shape = np.asarray(numbers, dtype=float).shape
        except (TypeError, ValueError) as e:
            raise ValueError(f"live: the numbers for {value['shown']} are no numbers in even lists: {e}.") from None
        if list(shape) != value["shape"]:
            wanted = text.shape(value["shape"])
            raise ValueError(
                f"live: {value['shown']} has shape {wanted}. Give numbers in this shape, not {text.shape(shape)}."
            )

    @validate("step")
    def _go(self, proposal: Any) -> int | None:
        """Send the page to a step, unless it has reported this step."""
        if proposal.value is not None and self._property_lock.get("step") != proposal.value:
            self.send({"step": proposal.value})
        return proposal.value

    @observe("note")
    def _say(self, change: Any) -> None:
        self.send({"note": change.new})

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Return the page and its picture; the view of a widget, too, where a page in an output cannot reach the model.

        JupyterLab reaches it, and shows no other representation beside a view, not even when the kernel is gone.
        """
        drawing = self.drawing
        made: dict[str, Any] = {
            **drawing.shown(("image/svg+xml", "text/plain")),
            "text/html": output(drawing.whole, drawing.depth, drawing.open, self._frame),
        }
        if running_cell() is None or "__vsc_ipynb_file__" in vars(sys.modules.get("__main__", object)):
            made |= (super()._repr_mimebundle_(**kwargs) or ({},))[0]
        return made


def listed(numbers: Any) -> Any:
    """Return a tensor or an array as nested lists."""
    return numbers.tolist() if hasattr(numbers, "tolist") else numbers


def recorded_numbers(graph: Graph, known: dict[str, dict]) -> dict[str, dict]:
    """Return the recorded numbers of values, gradients and tangents by label, as far as the record has all elements."""

    def numbers(value: dict | None) -> Any:
        if value is None:
            return None
        if (exact := elements(graph.record, value["id"])) is not None:
            return exact.tolist()
        return text.each(number, (value.get("summary") or {}).get("values"))

    parts = {"values": lambda value: value, "grads": lambda value: graph.gradient(value["id"])}
    parts["tangents"] = lambda value: graph.tangent(value["id"])
    found = {part: {label: numbers(of(value)) for label, value in known.items()} for part, of in parts.items()}
    return {part: {label: one for label, one in all.items() if one is not None} for part, all in found.items()}
