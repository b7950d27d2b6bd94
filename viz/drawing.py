"""`draw` and the `Drawing` it returns: from a record, a tensor or a function to pictures of its passes."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from graphlib import CycleError
from html import escape
from pathlib import Path
from types import MappingProxyType
from typing import Any

from minigrad.places import user_frame
from minigrad.record.event_log import uncollected

from .cards.alt import alt
from .cards.frames import card_of
from .cards.parts import Card
from .formats import dot, export, files, film, mermaid, sketch, slide, svg, tikz
from .graph import stories, updates
from .graph.backward_passes import of_passes
from .graph.drawn_graph import Graph
from .graph.fold import MOST, fold
from .graph.functions import check_names, opened
from .graph.trimmed_record import document, without
from .layout.directions import below
from .layout.picture import Picture, picture
from .layout.positions import Layout, graphviz_fault, layout
from .layout.themes import LIGHT, THEMES, Theme
from .programs.failures import show_in_notebook
from .programs.libraries import document_of
from .programs.recorded import recorded, validated
from .ranks.merge import with_arithmetic
from .text import counted
from .view import ADDED, BRIEF, COLORS, PASSES, RANKDIRS, SHOW, SIZES, SMALL, TEXT, View, view_of


def draw(
    what: Any,
    *args: Any,
    passes: str | tuple[str, ...] | None = None,
    name: str | None = None,
    show: str | Iterable[str] | None = None,
    rankdir: str | None = None,
    depth: int | None = None,
    max_nodes: int | None = MOST,
    theme: str = "light",
    size: str | None = None,
    open: str | Iterable[str] | None = None,
    color: str | None = None,
    tangent: Mapping[str, Any] | str | None = None,
    grad: Any = None,
) -> Drawing:
    """Draw a record, the graph behind a tensor, or a function called with `args`.

    Args:
        what: a record of `minigrad.record` (or its dict), a tensor with a graph, its `grad_fn`, a tuple of tensors, each of
            which has a backward pass in its own colour, or a function; or a node of another engine's graph, an object with
            `value` (or `data`), `grad` and `parents`.
        args: the function's arguments.
        passes: any of "forward", "backward", "jvp"; "all" for all three. The default is the forward pass, or, if the program
            differentiates a derivative, all passes of the program itself as one picture.
        name: a title; the default is the program's or function's name.
        show: parts of the cards besides operations, any of "values", "grads" (and tangents), "maps" (pictures of values
            with more than 16 elements), "shapes", "saved", "lines". "all", the default, shows all of these; slides show the
            first three. "setup" adds the operations that initialize parameters, "update" those of a training step, "views"
            the reshapes and transposes of a large picture.
        rankdir: the direction of the graph, as in Graphviz: "TB" (top to bottom, the default), "BT", "LR" or "RL". A slide
            uses the best fit, in two or three rows if necessary.
        depth: the number of levels of modules (functions, if there are no modules) to open; the default is all.
        max_nodes: larger graphs are folded until they have at most this many nodes; None means never.
        theme: the colours, "light" or "dark", or "print" for black and white, with line styles and hatching.
        color: colours the cards by size: "grad" by the norm of the gradient, "memory" by the bytes saved for backward, "time"
            by the time of the operation in the pass; a record has times if it was made with `times=True`.
        size: "slide" for a 16:9 page per pass in large type, with room for up to 12 boxes.
        open: custom Functions that show their inside, by name; "all" or "none". The default opens those of at most 8
            operations in graphs of at most 40 nodes.
        tangent: the direction of the jvp pass of a function, by the names of its arguments: `{"x": [1.0, 0.0]}`; "random", or
            "first" for the first basis vector.  The default is ones, or "first" if ones give 0 at the result.
        grad: the gradient with which backward begins: `[0.0, 1.0]`, or by the names of results; "random" or "first".  The
            default is ones, or "first" if ones give 0 at all leaves.

    Returns:
        A `Drawing`, which displays itself in a notebook and saves itself in the formats of `viz.FORMATS`.

    Raises ValueError for an unknown word in `passes`, `show`, `rankdir`, `theme`, `size`, `open` or `color`, for unknown names
    and wrong shapes in `tangent` and `grad`, for a dictionary that is not a record, for a record without a requested pass,
    and for a graph too large for a slide; TypeError for an object that cannot be drawn.  If a function raises, so does this
    call; a notebook shows the picture of the error first.

    >>> from minigrad import tensor
    >>> w = tensor(2.0, requires_grad=True)
    >>> print(draw(w.tanh(), name="tanh").graph.nodes[1].key)
    op-0
    """
    if isinstance(part := getattr(what, "record", None), dict):  # an explanation: draw its part of the record
        from minigrad.explain.blackboard import labelled

        what, passes = labelled(what), part["program"]["passes"][-1]
    chosen = passes not in (None, "all")
    wanted = PASSES if passes == "all" else _known("pass", ("forward",) if passes is None else passes, PASSES)
    seen = view_of(
        None if show is None else _known("part", show, (*SHOW, "all", *ADDED)),
        None if rankdir is None else _known("rankdir", rankdir, RANKDIRS)[0],
        None if size is None else _known("size", size, SIZES)[0],
        None if color is None else _known("color", color, COLORS)[0],
    )
    (look,) = _known("theme", theme, tuple(THEMES))
    directions: dict[str, str] = {}
    if isinstance(what, dict) or hasattr(what, "to_dict"):
        if tangent is not None or grad is not None:
            raise ValueError("draw: the record has its passes. Give tangent and grad to minigrad.record instead.")
    else:
        seeds = {"tangent": tangent, "grad": grad}
        caller = user_frame(2) or sys._getframe(1)
        try:
            what, directions = recorded(what, args, wanted, chosen, seeds, caller, color == "time")
        except Exception as error:
            show_in_notebook(error, name or "")
            raise
    record = validated(what) if isinstance(what, dict) else document_of(what)
    if not chosen and stories.is_nested(record):
        wanted = tuple(record["program"]["passes"])
    if color == "time" and not record.get("times"):
        raise ValueError("draw: the record has no times. Pass a function, or minigrad.record(f, *args, times=True).")
    if name:
        record = {**record, "program": {**record["program"], "name": name}}
    made = Drawing(record, wanted, getattr(what, "notes", ()), seen, depth, max_nodes, THEMES[look], open)
    made.directions = directions
    return made


def _known(what: str, words: str | Iterable[str], known: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words as a tuple; raise ValueError if one is unknown."""
    chosen = tuple(words.split(",")) if isinstance(words, str) else tuple(words)
    if unknown := [one for one in chosen if one not in known]:
        also = ", and 'all'" if known is PASSES else ""
        raise ValueError(f"draw: unknown {what} {unknown[0]!r}. Choose from {', '.join(known)}{also}.")
    return chosen


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
        self.open, self.drawn = open, passes
        self.story: Graph | None = None
        self.record = record = without(of_passes(record), view.show)
        self.passes, self.view, self.depth, self.max_nodes, self.theme = passes, view, depth, max_nodes, theme
        with uncollected():  # nothing in a large graph or page is garbage while it is built
            self.whole = Graph(record, view=view)
        check_names(self.whole, open)
        if self.whole.operations > SMALL and not view.full:
            self.view = self.whole.view = replace(view, brief=True, columns=BRIEF)
        if not passes:
            raise MissingPass("draw: passes is empty. Choose from forward, backward, jvp.")
        if missing := [one for one in passes if one not in self.whole.passes]:
            have = ", ".join(self.whole.passes) or "none"
            why = "; ".join(notes) or f"record it: minigrad.record(f, *args, passes={passes!r})"
            raise MissingPass(f"draw: the record has no {missing[0]} pass (it has: {have}): {why}.")

        self.story = self._story()
        self.drawn = passes if self.story is None else ("forward",)  # the passes of the graph, one picture each
        if view.slide:
            slide.check(self.whole, self.graph)

    def _story(self) -> Graph | None:
        """Return the connected graph of all passes if the program differentiates one of them, and if it is small."""
        asked = {"forward", "backward"} <= set(self.passes) and self.depth is None
        shows_step = "update" in self.view.show and stories.is_step(self.record)
        told = asked and not self.whole.lanes and (shows_step or stories.is_nested(self.record))
        if not told:
            return None
        try:
            graph = Graph(stories.story(self.record), self.whole.view)
        except (updates.Untold, CycleError, KeyError):
            return None  # a picture for each pass is better than none; a record of another program may lack optional fields
        if self.view.slide and self.max_nodes == MOST:
            folded = (fold(graph, most) for most in range(2 * slide.BOXES, 2, -1))
            return next(filter(slide.holds, [graph, *folded]), None)
        fits = self.max_nodes is None or len(graph.nodes) <= self.max_nodes
        return graph if fits and (not self.view.slide or slide.holds(graph)) else None

    remark = ""  # a line below the picture in a notebook
    directions: Mapping[str, str] = MappingProxyType({})  # sentences below the passes that do not begin with ones

    @cached_property
    def graph(self) -> Graph:
        """The graph in pictures, possibly folded; the viewer folds the whole graph itself."""
        if self.story is not None:
            return self.story
        whole = self.whole
        if whole.lanes and "update" in self.view.show:
            with suppress(updates.Untold):
                whole = Graph(with_arithmetic(self.record), whole.view)
        with uncollected():
            graph = fold(whole, self.max_nodes, self.depth)
        if self.view.slide and self.may_fold and slide.boxes(graph) > slide.BOXES:
            return self.smaller(slide.BOXES)
        return opened(graph, self.open)

    @property
    def may_fold(self) -> bool:
        """True if a slide may fold the graph as far as it needs to."""
        return self.max_nodes == MOST and self.depth is None

    def smaller(self, boxes: int) -> Graph:
        """Return the graph for a slide with short cards, folded to a number of boxes."""
        whole = Graph(self.record, replace(self.view, brief=True, columns=BRIEF))
        made = (fold(whole, most) for most in range(2 * boxes, 2, -1))
        return opened(next((one for one in made if slide.boxes(one) <= boxes), fold(whole, boxes)), self.open)

    @cached_property
    def cards(self) -> dict[str, Card]:
        """The cards by node id."""
        return self._cards(self.graph)

    @cached_property
    def placed(self) -> slide.Placed:
        """The graph as drawn, its cards and their layout, for all passes."""
        return self._placed(self.graph, lambda graph: self.cards if graph is self.graph else self._cards(graph))

    @property
    def layout(self) -> Layout:
        """The layout of the cards, for all passes."""
        return self.placed[2]

    def _cards(self, graph: Graph, together: bool = False) -> dict[str, Card]:
        return {node.key: card_of(graph, node, self.drawn, together) for node in graph.nodes}

    def _placed(self, graph: Graph, cards_of: Callable[[Graph], dict[str, Card]]) -> slide.Placed:
        if self.view.slide:
            found = slide.placed(graph, self.drawn, cards_of)
            for smaller in self._smaller(graph):
                if slide.readable(found, self.drawn):
                    break
                found = slide.placed(smaller, self.drawn, cards_of)
            return found
        cards = cards_of(graph)
        return graph, cards, layout(graph, cards)

    def _smaller(self, graph: Graph) -> Iterator[Graph]:
        """Yield graphs that need less room on a slide: with closed Functions, with short cards, and with fewer boxes."""
        if self.open is None:
            yield opened(graph, "none")
        for boxes in (slide.BOXES, 8, 5) if self.may_fold and self.story is None else ():
            yield self.smaller(boxes)

    def pictures(self) -> dict[str, Picture]:
        """Return the picture of each pass."""
        return self._pages(self.placed)

    def _pages(self, placed: slide.Placed) -> dict[str, Picture]:
        """Return the picture of each pass on a layout."""
        made = {name: picture(*placed, name, self.drawn) for name in self.drawn}
        for name in [] if self.view.slide else self.directions:
            if name in made:
                made[name] = below(made[name], self.directions[name])
        return made

    def alt(self) -> str:
        """Return a one-sentence description of the picture, which its SVG offers to screen readers."""
        return alt(self.graph, self.drawn)

    def svg(self) -> str:
        """Return SVG text; several passes are side by side."""
        return svg.svg(self.pictures(), self.alt(), self.theme, self.remark)

    def html(self) -> str:
        """Return the viewer: one HTML file that steps through all passes of the record, and opens folded to `depth`."""
        from .viewer import page

        with uncollected():
            return page(self.whole, self.depth, self.open)

    def film(self) -> str:
        """Return SVG text of all passes in one animated picture: values, gradients and tangents appear in turn."""
        placed = self._placed(self.graph, partial(self._cards, together=True))
        return svg.svg({"film": film.film(*placed, self.drawn)}, self.alt(), self.theme)

    def dot(self) -> str:
        """Return DOT text; several passes are clusters."""
        return dot.dot(self.graph, self.cards, list(self.drawn), self.theme)

    def mermaid(self) -> str:
        """Return Mermaid text; several passes are subgraphs."""
        return mermaid.mermaid(self.graph, self.cards, list(self.drawn), self.theme)

    def text(self) -> str:
        """Return a plain-text drawing, with all passes beside one graph."""
        graph = copy(self.graph)
        graph.view = replace(graph.view, columns=max(graph.view.columns, TEXT))  # text has room for whole calls
        remarks = "".join(f"{self.directions[name]}\n" for name in self.drawn if name in self.directions)
        return sketch.sketch(graph, self._cards(graph), list(self.drawn)) + remarks

    def png(self, scale: float = 2.0) -> bytes:
        """Return a PNG with `scale` pixels per unit; several passes are side by side."""
        return export.png(self.pictures(), scale, self.theme)

    def pdf(self) -> bytes:
        """Return a PDF; several passes are pages."""
        return export.pdf(self.pictures(), self.theme)

    def tex(self) -> str:
        """Return LaTeX text with TikZ and typeset formulas; several passes are pages."""
        graph = copy(self.graph)
        graph.view = replace(graph.view, tex=True)
        placed = self._placed(graph, self._cards)
        return tikz.tikz(self._pages(placed), self.alt(), self.theme)

    def json(self) -> str:
        """Return the record without the hidden parts, as JSON; in a folded graph boxes replace their operations."""
        whole = self.depth is None and self.max_nodes == MOST  # JSON is folded only on request
        graph = self.whole if whole or self.story else fold(self.whole, self.max_nodes, self.depth)
        return json.dumps(document(self.record, self.whole, graph), indent=1) + "\n"

    def warnings(self, format: str) -> list[str]:
        """Return warnings about a format: a plainer layout without Graphviz; in PNG and PDF, characters that no font has."""
        warnings = []
        fault, fix = graphviz_fault() if format in ("html", "svg", "film", "png", "pdf", "tex") else ("", "")
        if fault:
            warnings.append(f"{fault}, so the layout is plainer: {fix}")
        if format in ("png", "pdf"):
            letters = export.without_glyph(self.pictures())
            some = "".join(letters[:8]) + "…" * (len(letters) > 8)
            warnings += [f"no font here has {some}: they appear as boxes; use SVG to show them"] if letters else []
        return warnings

    def rendered(self, suffix: str) -> bytes:
        """Return the bytes of a file with this suffix, one of `viz.FORMATS`."""
        return files.rendered(self, files.format_of(suffix))

    def save(self, path: str | Path) -> Path:
        """Write a file in the format of its suffix; if drawing fails, nothing is written."""
        path = Path(path)
        made = self.rendered(path.suffix)
        for warning in self.warnings(files.format_of(path.suffix)):
            warnings.warn(f"draw: {warning}", stacklevel=2)
        return files.write(path, made)

    def shown(self, kinds: Sequence[str] = ("text/html", "image/svg+xml", "text/plain")) -> dict[str, str]:
        """Return the representations for a notebook: the viewer, an SVG for pages without scripts, text for a terminal.

        A slide, and a picture in another theme than light or with coloured cards, come without the viewer.
        """
        makers = {"text/html": self._viewer, "image/svg+xml": self.svg, "text/plain": self.text}
        if self.view.slide or self.view.color or self.theme is not LIGHT:
            del makers["text/html"]
        return {kind: make() for kind, make in makers.items() if kind in kinds}

    def _viewer(self) -> str:
        """Return the viewer for a notebook's output, at its last step."""
        from .viewer.shared import output

        words = "".join(f"<p>{escape(one)}</p>" for one in (self.remark, *self.directions.values()) if one)
        with uncollected():
            return output(self.whole, self.depth, self.open) + words

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return self.shown()

    def __repr__(self) -> str:
        nodes, name = counted(self.whole.operations, "operation"), self.record["program"].get("name") or ""
        return f"<Drawing {name}: {nodes}, {', '.join(self.passes)}>"
