"""`draw` and the `Drawing` it returns: from a record, a tensor or a function to pictures of its passes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from html import escape
from pathlib import Path
from typing import Any

from . import files, slide
from .card_parts import Card
from .drawn_graph import ADDED, PASSES, RANKDIRS, SHOW, SIZES, Graph, View, view_of
from .fold import MOST, fold
from .frames import card_of
from .functions import check_names, opened
from .layout import Layout, graphviz_fault, layout
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
    open: str | Iterable[str] | None = None,
) -> Drawing:
    """Draw a record, the graph behind a tensor, or a function called with `args`.

    Args:
        what: a record of `minigrad.record` (or its dict), a tensor with a graph, its `grad_fn`, or a function.
        args: the function's arguments.
        passes: any of "forward", "backward", "jvp"; "all" for all three.
        name: a title; the default is the program's or function's name.
        show: parts of the cards besides operations, any of "values", "grads" (and tangents), "shapes", "saved", "lines".
            "all", the default, shows all of these; slides show the first two. "setup" adds the operations that initialize
            parameters, "update" those of a training step.
        rankdir: the direction of the graph, as in Graphviz: "TB" (top to bottom, the default), "BT", "LR" or "RL". A slide
            uses the best fit, in two or three rows if necessary.
        depth: the number of levels of modules (functions, if there are no modules) to open; the default is all.
        max_nodes: larger graphs are folded until they have at most this many nodes; None means never.
        theme: the colours, "light" or "dark", or "print" for black and white, with line styles and hatching.
        size: "slide" for a 16:9 page per pass in large type, with room for up to 12 boxes.
        open: custom Functions that show their inside, by name; "all" or "none". The default opens those of at most 8
            operations in graphs of at most 40 nodes.

    Returns:
        A `Drawing`, which displays itself in a notebook and saves itself in the formats of `viz.FORMATS`.

    Raises ValueError for an unknown word in `passes`, `show`, `rankdir`, `theme`, `size` or `open`, for a dictionary that is
    not a record, for a record without a requested pass, and for a graph too large for a slide; TypeError for an object that
    cannot be drawn.

    >>> from minigrad import tensor
    >>> w = tensor(2.0, requires_grad=True)
    >>> print(draw(w.tanh(), name="tanh").graph.nodes[1].key)
    op-0
    """
    if isinstance(part := getattr(what, "record", None), dict):  # an explanation: draw its part of the record
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
    return Drawing(record, wanted, getattr(what, "notes", ()), seen, depth, max_nodes, THEMES[look], open)


def _validated(record: dict) -> dict:
    """Return the dictionary if it is a valid record, else raise ValueError."""
    from minigrad.record.validate import NotARecord, validate

    try:
        validate(record)
    except NotARecord as wrong:
        raise ValueError(f"draw: the dictionary is not a record: {wrong}. Make one with minigrad.record.") from wrong
    return record


def _known(what: str, words: str | Iterable[str], known: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words as a tuple; raise ValueError if one is unknown."""
    chosen = (words,) if isinstance(words, str) else tuple(words)
    if unknown := [one for one in chosen if one not in known]:
        also = ", and 'all'" if known is PASSES else ""
        raise ValueError(f"draw: unknown {what} {unknown[0]!r}. Choose from {', '.join(known)}{also}.")
    return chosen


def _recorded(what: Any, args: tuple, wanted: tuple[str, ...]):
    """Record a tensor or a function."""
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
        f"draw: {type(what).__name__} cannot be drawn. Pass a record, a tensor, or a function with its arguments."
    )


def _uncollected() -> AbstractContextManager:
    """Switch the garbage collector off while a large graph or page is built, none of which is garbage."""
    from minigrad.record.event_log import uncollected

    return uncollected()


class MissingPass(ValueError):
    """The record lacks a requested pass."""


class Drawing:
    """Pictures of the passes of one record, on one layout.

    `notes` of the recording explain a missing pass in the error message.

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
        open: str | Iterable[str] | None = None,
    ):
        self.open = open
        self.record = record = without(record, view.show)
        self.passes, self.view, self.depth, self.max_nodes, self.theme = passes, view, depth, max_nodes, theme
        with _uncollected():
            self.whole = Graph(record, view=view)
        check_names(self.whole, open)
        if view.slide:
            slide.check(self.whole, self.graph)
        if not passes:
            raise MissingPass("draw: passes is empty. Choose from forward, backward, jvp.")
        if missing := [one for one in passes if one not in self.whole.passes]:
            have = ", ".join(self.whole.passes) or "none"
            why = "; ".join(notes) or f"record it: minigrad.record(f, *args, passes={passes!r})"
            raise MissingPass(f"draw: the record has no {missing[0]} pass (it has: {have}): {why}.")

    remark = ""  # a line below the picture in a notebook

    @cached_property
    def graph(self) -> Graph:
        """The graph in pictures, possibly folded; the viewer folds the whole graph itself."""
        with _uncollected():
            most = len(self.whole.nodes) if self.max_nodes is None else self.max_nodes
            graph = fold(self.whole, most, self.depth)
        return opened(graph, self.open)

    @cached_property
    def cards(self) -> dict[str, Card]:
        """The cards by node id."""
        return self._cards(self.graph)

    @cached_property
    def placed(self) -> slide.Placed:
        """The graph as drawn, its cards and their layout, for all passes."""
        return self._placed(self.graph, self._cards)

    @property
    def layout(self) -> Layout:
        """The layout of the cards, for all passes."""
        return self.placed[2]

    def _cards(self, graph: Graph, together: bool = False) -> dict[str, Card]:
        passes = self.passes if together or self.view.slide else tuple(self.graph.passes)
        return {node.key: card_of(graph, node, passes, together) for node in graph.nodes}

    def _placed(self, graph: Graph, cards_of: Callable[[Graph], dict[str, Card]]) -> slide.Placed:
        if self.view.slide:
            found = slide.placed(graph, self.passes, cards_of)
            if self.open is None and not slide.readable(found, self.passes):
                found = slide.placed(opened(graph, "none"), self.passes, cards_of)
            return found
        cards = cards_of(graph)
        return graph, cards, layout(graph, cards)

    def pictures(self) -> dict[str, Picture]:
        """Return the picture of each pass."""
        return {name: picture(*self.placed, name) for name in self.passes}

    def alt(self) -> str:
        """Return a one-sentence description of the picture, which its SVG offers to screen readers."""
        from .alt import alt

        return alt(self.graph, self.passes)

    def svg(self) -> str:
        """Return SVG text; several passes are side by side."""
        from .svg import svg

        return svg(self.pictures(), self.alt(), self.theme, self.remark)

    def html(self) -> str:
        """Return the viewer: one HTML file that steps through all passes of the record, and opens folded to `depth`."""
        from .viewer import page

        with _uncollected():
            return page(self.whole, self.depth)

    def film(self) -> str:
        """Return SVG text of all passes in one animated picture: values, gradients and tangents appear in turn."""
        from .film import film
        from .svg import svg

        placed = self._placed(self.graph, partial(self._cards, together=True))
        return svg({"film": film(*placed, self.passes)}, self.alt(), self.theme)

    def dot(self) -> str:
        """Return DOT text; several passes are clusters."""
        from .dot import dot

        return dot(self.graph, self.cards, list(self.passes), self.theme)

    def mermaid(self) -> str:
        """Return Mermaid text; several passes are subgraphs."""
        from .mermaid import mermaid

        return mermaid(self.graph, self.cards, list(self.passes), self.theme)

    def text(self) -> str:
        """Return a plain-text drawing, with all passes beside one graph."""
        from .sketch import sketch

        return sketch(self.graph, self.cards, list(self.passes))

    def png(self, scale: float = 2.0) -> bytes:
        """Return a PNG with `scale` pixels per unit; several passes are side by side."""
        from .export import png

        return png(self.pictures(), scale, self.theme)

    def pdf(self) -> bytes:
        """Return a PDF; several passes are pages."""
        from .export import pdf

        return pdf(self.pictures(), self.theme)

    def tex(self) -> str:
        """Return LaTeX text with TikZ and typeset formulas; several passes are pages."""
        from .tikz import tikz

        graph = copy(self.graph)
        graph.view = replace(graph.view, tex=True)
        placed = self._placed(graph, self._cards)
        return tikz({name: picture(*placed, name) for name in self.passes}, self.alt(), self.theme)

    def json(self) -> str:
        """Return the record without the hidden parts, as JSON; in a folded graph boxes replace their operations."""
        import json

        return json.dumps(document(self.record, self.whole, self.graph), indent=1) + "\n"

    def warnings(self, format: str) -> list[str]:
        """Return warnings about a format: a plainer layout without Graphviz; in PNG and PDF, characters that no font has."""
        warnings = []
        fault, fix = graphviz_fault() if format in ("html", "svg", "film", "png", "pdf", "tex") else ("", "")
        if fault:
            warnings.append(f"{fault}, so the layout is plainer: {fix}")
        if format in ("png", "pdf"):
            from .export import without_glyph

            letters = without_glyph(self.pictures())
            some = "".join(letters[:8]) + "…" * (len(letters) > 8)
            warnings += [f"no font here has {some}: they appear as boxes; use SVG to show them"] if letters else []
        return warnings

    def rendered(self, suffix: str) -> bytes:
        """Return the bytes of a file with this suffix, one of `viz.FORMATS`."""
        made = files.maker(self, files.format_of(suffix))()
        return made if isinstance(made, bytes) else made.encode()

    def save(self, path: str | Path) -> Path:
        """Write a file in the format of its suffix; if drawing fails, nothing is written."""
        path = Path(path)
        made = self.rendered(path.suffix)
        for warning in self.warnings(files.format_of(path.suffix)):
            warnings.warn(f"draw: {warning}", stacklevel=2)
        return files.write(path, made)

    def shown(self) -> dict[str, str]:
        """Return the representations for a notebook: the viewer, an SVG for pages without scripts, text for a terminal.

        A slide, or a picture in another theme than light, comes without the viewer.
        """
        from .viewer import frame

        below = f"<p>{escape(self.remark)}</p>" if self.remark else ""
        viewer = {} if self.view.slide or self.theme is not LIGHT else {"text/html": frame(self.html()) + below}
        return {**viewer, "image/svg+xml": self.svg(), "text/plain": self.text()}

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return self.shown()

    def __repr__(self) -> str:
        nodes, name = self.whole.operations, self.record["program"].get("name") or ""
        return f"<Drawing {name}: {nodes} operations, {', '.join(self.passes)}>"
