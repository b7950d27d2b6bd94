"""`draw` and the Drawing it gives: from a record, a tensor or a function to pictures of its passes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from . import files
from .cards import Card, card
from .drawn_graph import PASSES, RANKDIRS, SHOW, Graph, View
from .fold import MOST, fold
from .layout import Layout, graphviz_is_here, layout
from .picture import Picture, picture


def draw(
    what: Any,
    *args: Any,
    passes: str | tuple[str, ...] = ("forward",),
    name: str | None = None,
    show: str | Iterable[str] = SHOW,
    rankdir: str = "TB",
    depth: int | None = None,
    max_nodes: int | None = MOST,
) -> Drawing:
    """Draw a record, the graph behind a tensor, or a function called with `args`.

    Args:
        what: what `minigrad.record` gives (or its dict), a tensor that has a graph, its `grad_fn`, or a function.
        args: the function's arguments.
        passes: of "forward", "backward", "jvp"; "all" for the three.
        name: a title; by default the program's or function's name.
        show: what cards show besides operations, of "values", "grads" (and tangents), "shapes", "saved", "lines".
        rankdir: the way it runs, as in Graphviz: "TB" from top to bottom, "BT", "LR" or "RL".
        depth: how many levels of modules (functions, where there are no modules) are open; all, unless it is given.
        max_nodes: larger graphs are folded until they have at most so many nodes; None for never.

    Returns:
        A `Drawing`, which shows itself in a notebook and saves itself in the formats of `viz.FORMATS`.

    Raises ValueError for an unknown word in `passes`, `show` or `rankdir`, for a dictionary that is no record, and for a
    record without a pass that is asked for; TypeError for what cannot be drawn.

    >>> from minigrad import tensor
    >>> w = tensor(2.0, requires_grad=True)
    >>> print(draw(w.tanh(), name="tanh").graph.nodes[1].key)
    op-0
    """
    if isinstance(part := getattr(what, "record", None), dict):  # an explanation: its part of a record, and its pass
        from minigrad.explain.blackboard import labelled

        what, passes = labelled(what), part["program"]["passes"][-1]
    wanted = PASSES if passes == "all" else _known("pass", passes, PASSES)
    shown = _known("part", show, SHOW)
    (way,) = _known("rankdir", rankdir, RANKDIRS)
    if not isinstance(what, dict) and not hasattr(what, "to_dict"):
        what = _recorded(what, args, wanted)
    record = _validated(what) if isinstance(what, dict) else what.to_dict()
    if name:
        record = {**record, "program": {**record["program"], "name": name}}
    return Drawing(record, wanted, getattr(what, "notes", ()), View(frozenset(shown), way), depth, max_nodes)


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
    ):
        self.record, self.passes, self.view, self.depth = record, passes, view, depth
        self.whole = Graph(record, view=view)
        self.graph = fold(self.whole, len(self.whole.nodes) if max_nodes is None else max_nodes, depth)
        if not passes:
            raise MissingPass("draw: no pass is asked for. Name some of forward, backward, jvp.")
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

    def alt(self) -> str:
        """What the picture shows in one sentence; its SVG says it to those who hear it."""
        from .alt import alt

        return alt(self.graph, self.passes)

    def svg(self) -> str:
        """SVG text; several passes lie side by side."""
        from .svg import svg

        return svg(self.pictures(), self.alt())

    def html(self) -> str:
        """The viewer: one HTML file that steps through all passes of the record, and opens folded to `depth`."""
        from .viewer import page

        return page(self.record, self.depth)

    def film(self) -> str:
        """SVG text of all passes in one picture, in which everything appears in its turn."""
        from .film import film
        from .svg import svg

        cards = {node.key: card(self.graph, node, self.passes) for node in self.graph.nodes}
        return svg({"film": film(self.graph, cards, layout(self.graph, cards), self.passes)}, self.alt())

    def dot(self) -> str:
        """DOT text; several passes are clusters."""
        from .dot import dot

        return dot(self.graph, self.cards, list(self.passes))

    def mermaid(self) -> str:
        """Mermaid text; several passes are subgraphs."""
        from .mermaid import mermaid

        return mermaid(self.graph, self.cards, list(self.passes))

    def text(self) -> str:
        """A drawing of letters and lines, with all passes beside one graph."""
        from .sketch import sketch

        return sketch(self.graph, self.cards, list(self.passes))

    def png(self, scale: float = 2.0) -> bytes:
        """PNG with `scale` pixels for each unit; several passes lie side by side."""
        from .export import png

        return png(self.pictures(), scale)

    def pdf(self) -> bytes:
        """PDF; several passes are pages."""
        from .export import pdf

        return pdf(self.pictures())

    def json(self) -> str:
        """The record, without what is not shown; where the graph is folded, boxes stand for their operations."""
        import json

        from .trimmed_record import document

        return json.dumps(document(self.record, self.whole, self.graph), indent=1) + "\n"

    def warnings(self, format: str) -> list[str]:
        """What is lost in a format: the better layout without Graphviz, and in PNG and PDF letters that no font has."""
        said = []
        if format in ("html", "svg", "film", "png", "pdf") and not graphviz_is_here():
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
        """What a notebook shows: the viewer, the picture where pages cannot run scripts, text in a terminal."""
        from .viewer import frame

        return {"text/html": frame(self.html()), "image/svg+xml": self.svg(), "text/plain": self.text()}

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return self.shown()

    def __repr__(self) -> str:
        nodes, name = self.graph.operations, self.record["program"].get("name") or ""
        return f"<Drawing {name}: {nodes} operations, {', '.join(self.passes)}>"
