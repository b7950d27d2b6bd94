"""`draw` and the Drawing it gives: from a record, a tensor or a function to pictures of its passes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from .cards import Card, card
from .graph import PASSES, Graph
from .layout import Layout, layout
from .picture import Picture, picture

SUFFIXES = (".svg", ".png", ".pdf", ".dot", ".gv", ".json", ".html")


def draw(what: Any, *args: Any, passes: str | tuple[str, ...] = ("forward",), name: str | None = None) -> Drawing:
    """Draw a record, the graph behind a tensor, or a function called with `args`.

    Args:
        what: what `minigrad.record` gives (or its dict), a tensor that has a graph, or a function.
        args: the function's arguments.
        passes: of "forward", "backward", "jvp"; "all" for the three.
        name: a title; by default the program's or function's name.

    Returns:
        A `Drawing`, which shows itself in a notebook and saves itself as SVG, PNG, PDF, DOT or JSON.

    >>> from minigrad import tensor
    >>> w = tensor(2.0, requires_grad=True)
    >>> print(draw(w.tanh(), name="tanh").graph.nodes[1].key)
    op-0
    """
    wanted = PASSES if passes == "all" else (passes,) if isinstance(passes, str) else tuple(passes)
    if unknown := [one for one in wanted if one not in PASSES]:
        raise ValueError(f"draw: no pass is called {unknown[0]!r}. The passes are {', '.join(PASSES)}, and 'all'.")
    if not isinstance(what, dict) and not hasattr(what, "to_dict"):
        what = _recorded(what, args, wanted)
    record = what if isinstance(what, dict) else what.to_dict()
    if name:
        record = {**record, "program": {**record["program"], "name": name}}
    return Drawing(record, wanted, getattr(what, "notes", ()))


def _recorded(what: Any, args: tuple, wanted: tuple[str, ...]):
    """The recording of a tensor or a function."""
    import minigrad

    if isinstance(what, minigrad.Tensor):
        return minigrad.record_of(what)
    if isinstance(what, Callable):
        made = minigrad.record(what, *args, passes=wanted, inside=True)
        code = getattr(inspect.unwrap(what), "__code__", None)
        made.file = code.co_filename if code else ""
        return made
    raise TypeError(
        f"draw: {type(what).__name__} cannot be drawn. Give a record, a tensor or a function with its arguments."
    )


class MissingPass(ValueError):
    """A record does not hold the pass that is to be drawn."""


class Drawing:
    """Pictures of the passes of one record, on one layout.

    `notes` say what the recording could not do, for the message when a pass is missing.

    >>> record = {"schema": "minigrad.record/1", "program": {"name": "empty", "passes": ["forward"]}, "values": [],
    ...           "ops": [], "outputs": [], "gradients": {}}
    >>> Drawing(record, ("forward",)).svg().startswith("<svg")
    True
    """

    def __init__(self, record: dict, passes: tuple[str, ...] = ("forward",), notes: Sequence[str] = ()):
        self.record = record
        self.passes = passes
        self.graph = Graph(record)
        if missing := [one for one in passes if one not in self.graph.passes]:
            have = ", ".join(self.graph.passes) or "nothing"
            why = "; ".join(notes) or f"record it: minigrad.record(f, *args, passes={passes!r})"
            raise MissingPass(f"draw: the record holds no {missing[0]} pass, only {have}: {why}.")

    @cached_property
    def cards(self) -> dict[str, Card]:
        """What stands on each card, by its id."""
        return {node.key: card(self.graph, node) for node in self.graph.nodes}

    @cached_property
    def layout(self) -> Layout:
        """Where the cards lie, for all passes."""
        return layout(self.graph, self.cards)

    def pictures(self) -> dict[str, Picture]:
        """The picture of each pass."""
        return {name: picture(self.graph, self.cards, self.layout, name) for name in self.passes}

    def svg(self) -> str:
        """SVG text; several passes lie side by side."""
        from .svg import svg

        return svg(self.pictures())

    def dot(self) -> str:
        """DOT text; several passes are clusters."""
        from .dot import dot

        return dot(self.graph, self.cards, list(self.passes))

    def png(self, scale: float = 2.0) -> bytes:
        """PNG with `scale` pixels for each unit; several passes lie side by side."""
        from .export import png

        return png(self.pictures(), scale)

    def pdf(self) -> bytes:
        """PDF; several passes are pages."""
        from .export import pdf

        return pdf(self.pictures())

    def json(self) -> str:
        """The record itself."""
        import json

        return json.dumps(self.record, indent=1) + "\n"

    def html(self) -> str:
        """The viewer: one HTML file that steps through all passes of the record."""
        from .viewer import page

        return page(self.record)

    def rendered(self, suffix: str) -> bytes:
        """The bytes of a file with this suffix, one of .svg .png .pdf .dot .gv .json .html."""
        makers: dict[str, Callable[[], str | bytes]] = dict(
            zip(SUFFIXES, (self.svg, self.png, self.pdf, self.dot, self.dot, self.json, self.html))
        )
        if suffix.lower() not in makers:
            raise ValueError(f"draw: no format has the suffix {suffix!r}. Use one of {', '.join(SUFFIXES)}.")
        made = makers[suffix.lower()]()
        return made if isinstance(made, bytes) else made.encode()

    def save(self, path: str | Path) -> Path:
        """Write a file in the format of its suffix; nothing is written when drawing fails."""
        path = Path(path)
        made = self.rendered(path.suffix)
        path.write_bytes(made)
        return path

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return {"image/svg+xml": self.svg(), "text/plain": repr(self)}

    def __repr__(self) -> str:
        nodes, name = len(self.graph.ops), self.record["program"].get("name") or ""
        return f"<Drawing {name}: {nodes} operations, {', '.join(self.passes)}>"
