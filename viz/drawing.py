"""`draw` and the Drawing it gives: from a record, a tensor or a function to pictures of its passes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from . import files, slide
from .card_parts import Card
from .cards import card
from .drawn_graph import ADDED, PASSES, RANKDIRS, SHOW, SIZES, Graph, View, view_of
from .fold import MOST, fold
from .layout import Layout, graphviz_is_here, layout
from .picture import Picture, picture
from .themes import LIGHT, THEMES, Theme
from .trimmed_record import document, without


def draw(
    what: Any,
    *args: Any,
    passes: str | tuple[str, ...] = ("forward",),
    name: str | None = None,
    show: str | Iterable[str] | None = None,
    rankdir: str | None = None,
    depth: int | None = None,
    max_nodes: int | None = MOST,
    theme: str = "light",
    size: str | None = None,
) -> Drawing:
    """Draw a record, the graph behind a tensor, or a function called with `args`.

    Args:
        what: what `minigrad.record` gives (or its dict), a tensor that has a graph, its `grad_fn`, or a function.
        args: the function's arguments.
        passes: of "forward", "backward", "jvp"; "all" for the three.
        name: a title; by default the program's or function's name.
        show: what cards show besides operations, of "values", "grads" (and tangents), "shapes", "saved", "lines", or "all"
            of these, as without it; on a slide the first two. Also "setup", the operations that gave parameters their
            first numbers, and "update", those of a training step.
        rankdir: the way it runs, as in Graphviz: "TB" from top to bottom, as by default, "BT", "LR" or "RL". A slide runs
            as it fits best, in two or three rows if need be.
        depth: how many levels of modules (functions, where there are no modules) are open; all, unless it is given.
        max_nodes: larger graphs are folded until they have at most so many nodes; None for never.
        theme: the colours, "light" or "dark", or "print" for black and white, with lines and hatching in their place.
        size: "slide" for a page of 16 to 9 with large letters for each pass, on which up to 12 boxes fit.

    Returns:
        A `Drawing`, which shows itself in a notebook and saves itself in the formats of `viz.FORMATS`.

    Raises ValueError for an unknown word in `passes`, `show`, `rankdir`, `theme` or `size`, for a dictionary that is no
    record, for a record without a pass that is asked for, and for more than a slide can hold; TypeError for what cannot be
    drawn.

    >>> from minigrad import tensor
    >>> w = tensor(2.0, requires_grad=True)
    >>> print(draw(w.tanh(), name="tanh").graph.nodes[1].key)
    op-0
    """
    if isinstance(part := getattr(what, "record", None), dict):  # an explanation: its part of a record, and its pass
        from minigrad.explain.blackboard import labelled

        what, passes = labelled(what), part["program"]["passes"][-1]
    wanted = PASSES if passes == "all" else _known("pass", passes, PASSES)
    seen = view_of(
        None if show is None else _known("part", show, (*SHOW, "all", *ADDED)),
        None if rankdir is None else _known("rankdir", rankdir, RANKDIRS)[0],
        None if size is None else _known("size", size, SIZES)[0],
    )
    (look,) = _known("theme", theme, tuple(THEMES))
    if not isinstance(what, dict) and not hasattr(what, "to_dict"):
        what = _recorded(what, args, wanted)
    record = _validated(what) if isinstance(what, dict) else what.to_dict()
    if name:
        record = {**record, "program": {**record["program"], "name": name}}
    return Drawing(record, wanted, getattr(what, "notes", ()), seen, depth, max_nodes, THEMES[look])


def _validated(record: dict) -> dict:
    """A record that the caller made or read: it may be anything."""
    from minigrad.record.validate import NotARecord, validate

    try:
        validate(record)
    except NotARecord as wrong:
        raise ValueError(f"draw: the dictionary is no record: {wrong}. Write one with minigrad.record.") from wrong
    return record


def _known(what: str, words: str | Iterable[str], known: tuple[str, ...]) -> tuple[str, ...]:
    """The words as a tuple, all of them known."""
    given = (words,) if isinstance(words, str) else tuple(words)
    if unknown := [one for one in given if one not in known]:
        also = ", and 'all'" if known is PASSES else ""
        raise ValueError(f"draw: no {what} is called {unknown[0]!r}. There are {', '.join(known)}{also}.")
    return given


def _recorded(what: Any, args: tuple, wanted: tuple[str, ...]):
    """The recording of a tensor or a function."""
    import minigrad
    from minigrad.places import users_code
    from minigrad.record.passes import applied

    if isinstance(what, minigrad.Tensor) or hasattr(what, "next_functions"):
        return minigrad.record_of(what)
    if isinstance(what, Callable):
        made = minigrad.record(what, *args, passes=wanted, inside=True)
        function = applied(what)
        code = users_code(what if function is None else function.forward)
        made.file = code.co_filename if code else ""
        return made
    raise TypeError(
        f"draw: {type(what).__name__} cannot be drawn. Give a record, a tensor or a function with its arguments."
    )


def _uncollected() -> AbstractContextManager:
    """While a graph or a page of a hundred thousand operations is made, none of which is garbage."""
    from minigrad.record.event_log import uncollected

    return uncollected()


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

    def __init__(
        self,
        record: dict,
        passes: tuple[str, ...] = ("forward",),
        notes: Sequence[str] = (),
        view: View = View(),  # noqa: B008  it is frozen
        depth: int | None = None,
        max_nodes: int | None = MOST,
        theme: Theme = LIGHT,
    ):
        self.record = record = without(record, view.show)
        self.passes, self.view, self.depth, self.max_nodes, self.theme = passes, view, depth, max_nodes, theme
        with _uncollected():
            self.whole = Graph(record, view=view)
        if view.slide:
            slide.check(self.whole, self.graph)
        if not passes:
            raise MissingPass("draw: no pass is asked for. Name some of forward, backward, jvp.")
        if missing := [one for one in passes if one not in self.whole.passes]:
            have = ", ".join(self.whole.passes) or "nothing"
            why = "; ".join(notes) or f"record it: minigrad.record(f, *args, passes={passes!r})"
            raise MissingPass(f"draw: the record holds no {missing[0]} pass, only {have}: {why}.")

    @cached_property
    def graph(self) -> Graph:
        """What pictures show: the whole graph, or one with boxes in it; the viewer folds by itself."""
        with _uncollected():
            return fold(self.whole, len(self.whole.nodes) if self.max_nodes is None else self.max_nodes, self.depth)

    @cached_property
    def cards(self) -> dict[str, Card]:
        """What stands on each card, by its id."""
        return self._cards(self.graph)

    @cached_property
    def placed(self) -> slide.Placed:
        """The graph as it is drawn, its cards, and where they lie, for all passes."""
        return self._placed(self.graph, self._cards)

    @property
    def layout(self) -> Layout:
        """Where the cards lie, for all passes."""
        return self.placed[2]

    def _cards(self, graph: Graph, together: bool = False) -> dict[str, Card]:
        passes = self.passes if together or self.view.slide else tuple(self.graph.passes)
        return {node.key: card(graph, node, passes, together) for node in graph.nodes}

    def _placed(self, graph: Graph, cards_of: Callable[[Graph], dict[str, Card]]) -> slide.Placed:
        if self.view.slide:
            return slide.placed(graph, self.passes, cards_of)
        cards = cards_of(graph)
        return graph, cards, layout(graph, cards)

    def pictures(self) -> dict[str, Picture]:
        """The picture of each pass."""
        return {name: picture(*self.placed, name) for name in self.passes}

    def alt(self) -> str:
        """What the picture shows in one sentence; its SVG says it to those who hear it."""
        from .alt import alt

        return alt(self.graph, self.passes)

    def svg(self) -> str:
        """SVG text; several passes lie side by side."""
        from .svg import svg

        return svg(self.pictures(), self.alt(), self.theme)

    def html(self) -> str:
        """The viewer: one HTML file that steps through all passes of the record, and opens folded to `depth`."""
        from .viewer import page

        with _uncollected():
            return page(self.whole, self.depth)

    def film(self) -> str:
        """SVG text of all passes in one picture, in which everything appears in its turn."""
        from .film import film
        from .svg import svg

        placed = self._placed(self.graph, partial(self._cards, together=True))
        return svg({"film": film(*placed, self.passes)}, self.alt(), self.theme)

    def dot(self) -> str:
        """DOT text; several passes are clusters."""
        from .dot import dot

        return dot(self.graph, self.cards, list(self.passes), self.theme)

    def mermaid(self) -> str:
        """Mermaid text; several passes are subgraphs."""
        from .mermaid import mermaid

        return mermaid(self.graph, self.cards, list(self.passes), self.theme)

    def text(self) -> str:
        """A drawing of letters and lines, with all passes beside one graph."""
        from .sketch import sketch

        return sketch(self.graph, self.cards, list(self.passes))

    def png(self, scale: float = 2.0) -> bytes:
        """PNG with `scale` pixels for each unit; several passes lie side by side."""
        from .export import png

        return png(self.pictures(), scale, self.theme)

    def pdf(self) -> bytes:
        """PDF; several passes are pages."""
        from .export import pdf

        return pdf(self.pictures(), self.theme)

    def tex(self) -> str:
        """LaTeX text, with TikZ; several passes are pages, and formulas are set as mathematics."""
        from .tikz import tikz

        graph = copy(self.graph)
        graph.view = replace(graph.view, tex=True)
        placed = self._placed(graph, self._cards)
        return tikz({name: picture(*placed, name) for name in self.passes}, self.alt(), self.theme)

    def json(self) -> str:
        """The record, without what is not shown; where the graph is folded, boxes stand for their operations."""
        import json

        return json.dumps(document(self.record, self.whole, self.graph), indent=1) + "\n"

    def warnings(self, format: str) -> list[str]:
        """What is lost in a format: the better layout without Graphviz, and in PNG and PDF letters that no font has."""
        said = []
        if format in ("html", "svg", "film", "png", "pdf", "tex") and not graphviz_is_here():
            said.append("Graphviz is missing, so the layout is a plainer one: pip install pygraphviz")
        if format in ("png", "pdf"):
            from .export import without_glyph

            letters = without_glyph(self.pictures())
            some = "".join(letters[:8]) + "…" * (len(letters) > 8)
            said += [f"no font here has {some}: a box stands for each; SVG shows them"] if letters else []
        return said

    def rendered(self, suffix: str) -> bytes:
        """The bytes of a file with this suffix, one of those in `viz.FORMATS`."""
        made = files.maker(self, files.format_of(suffix))()
        return made if isinstance(made, bytes) else made.encode()

    def save(self, path: str | Path) -> Path:
        """Write a file in the format of its suffix; nothing is written when drawing fails."""
        path = Path(path)
        made = self.rendered(path.suffix)
        for warning in self.warnings(files.format_of(path.suffix)):
            warnings.warn(f"draw: {warning}", stacklevel=2)
        return files.write(path, made)

    def shown(self) -> dict[str, str]:
        """What a notebook shows: the viewer, the picture where pages cannot run scripts, text in a terminal.

        A slide, and a picture in a theme of its own, is shown as it is.
        """
        from .viewer import frame

        viewer = {} if self.view.slide or self.theme is not LIGHT else {"text/html": frame(self.html())}
        return {**viewer, "image/svg+xml": self.svg(), "text/plain": self.text()}

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return self.shown()

    def __repr__(self) -> str:
        nodes, name = self.whole.operations, self.record["program"].get("name") or ""
        return f"<Drawing {name}: {nodes} operations, {', '.join(self.passes)}>"
