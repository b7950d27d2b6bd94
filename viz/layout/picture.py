"""One pass of a laid-out graph as shapes and texts, which svg.py and export.py write to files.

A picture is a tree of groups; every operation, value and edge has its own group, whose id and classes name the record's
ids.  Title above, legend below, edges under the cards, labels over the edges.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import text
from ..cards.alt import facts
from ..cards.parts import Card
from ..formats import slide
from ..graph import stories
from ..graph.backward_passes import passed, which
from ..graph.drawn_graph import Graph
from . import legend
from .drawn_pass import Placed
from .positions import Layout
from .shapes import Group, Path, Text, shapes

MARGIN, HEADING = 26.0, 56.0
TITLES = {"forward": "Forward pass", "backward": "Backward pass", "jvp": "JVP pass: values and tangents"}
WIDE = 1.4  # pictures with a larger ratio of width to height are stacked


@dataclass
class Picture:
    """Shapes on a page.  A film also has the seconds of a step (`beat`) and the last step (`end`)."""

    width: float
    height: float
    items: list[Group] = field(default_factory=list)
    beat: float = 0.0
    end: int = 0
    slide: bool = False


def picture(graph: Graph, cards: dict[str, Card], placed: Layout, name: str, drawn: Sequence[str]) -> Picture:
    """Draw the picture of one pass, of all that are drawn on this layout."""
    here = Placed(graph, cards, placed, name)
    made, place = page(graph, cards, placed, [name], [TITLES[each] for each in drawn], drawn)
    later = updates_of(graph) if name != "backward" and "backward" in drawn and not graph.bands else set()
    edges = [edge for edge in graph.edges if edge.target.key not in later]
    below, above = ([edge for edge in edges if (edge.key in placed.over) is over] for over in (False, True))
    layers = {
        "lanes": here.lanes(),
        "frames": here.frames(),
        "edges": [here.edge(edge) for edge in below],
        "titles": here.titles(),
        "nodes": [here.card(card) for key, card in cards.items() if key not in later],
        "edges over": [here.edge(edge) for edge in above],
        "sums": here.sums(),
    }
    always = ("edges", "nodes", "sums")
    given = [Group("", kind, items, **place) for kind, items in layers.items() if items or kind in always]
    made.items = [heading(graph, stories.title(graph.record) if graph.bands else TITLES[name]), *given, *made.items]
    return made


def updates_of(graph: Graph) -> set[str]:
    """Return the nodes after the passes, which the backward picture shows: updates, and what only they read."""
    found = {node.key for node in graph.nodes if node.is_op and node.record["phase"] == "update"}
    readers: dict[str, set[str]] = {}
    for edge in graph.edges:
        readers.setdefault(edge.source.key, set()).add(edge.target.key)
    return found | {node.key for node in graph.nodes if not node.is_op and readers.get(node.key, {""}) <= found}


def page(
    graph: Graph,
    cards: dict[str, Card],
    placed: Layout,
    shown: Sequence[str],
    titles: Sequence[str],
    drawn: Sequence[str],
) -> tuple[Picture, dict[str, Any]]:
    """Make a page with its legend, as large as any pass drawn and title needs, and return it with the graph's position."""
    if graph.view.slide:
        return slide_page(graph, cards, placed, shown)
    words = [line.width for title in titles for line in headings(graph, title)]
    wide = max(placed.width, 400.0 if graph.view.brief else 460.0, *words)
    each = ([], shown, *([name] for name in drawn))
    tall = max(legend.height(graph, cards.values(), names, wide) for names in each)
    made = Picture(round(wide + 2 * MARGIN), round(MARGIN + HEADING + placed.height + 22 + tall + MARGIN / 2))
    made.items = [legend.legend(graph, cards.values(), shown, wide, (MARGIN, MARGIN + HEADING + placed.height + 22))]
    return made, {"shift": (MARGIN + (wide - placed.width) / 2, MARGIN + HEADING)}


def slide_page(
    graph: Graph, cards: dict[str, Card], placed: Layout, shown: Sequence[str]
) -> tuple[Picture, dict[str, Any]]:
    """Make the page of a slide, on which the graph is as large as possible."""
    bottom = slide.legend_height(graph, cards, shown)
    size = slide.fitting(graph, placed, bottom)
    top = slide.HEIGHT - slide.BELOW - bottom
    made = legend.legend(graph, cards.values(), shown, slide.LEGEND_WIDTH, (slide.SIDE, top))
    made.scale = slide.LEGEND
    left = (slide.WIDTH - size * placed.width) / 2
    above = slide.TOP + (top - slide.BELOW - slide.TOP - size * placed.height) / 2
    return Picture(slide.WIDTH, slide.HEIGHT, [made], slide=True), {"shift": (left, above), "scale": size}


def heading(graph: Graph, title: str, at: int | None = None, until: int | None = None) -> Group:
    """Make the heading of a page; on a slide only the title, large. In a film it appears and disappears at given steps."""
    if graph.view.slide:
        shift = slide.SIDE - slide.TITLE * MARGIN, -20.0
        if title == TITLES["backward"]:
            title += passed("backward", graph.origins).removeprefix("backward")
        return Group("", "heading", headings(graph, title)[:1], shift=shift, at=at, until=until, scale=slide.TITLE)
    return Group("", "heading", headings(graph, title), at=at, until=until)


def arranged(pictures: dict[str, Picture]) -> tuple[list[tuple[str, Picture, float, float]], float, float]:
    """Place pictures side by side, or stack them if they are wide; return them with their corners, and the total size."""
    pages = list(pictures.items())
    stacked = all(page.width > WIDE * page.height for page in pictures.values())
    placed, x, y = [], 0.0, 0.0
    for name, each in pages:
        placed.append((name, each, x, y))
        x, y = (x, y + each.height) if stacked else (x + each.width, y)
    most = max(each.width for _, each in pages), max(each.height for _, each in pages)
    return placed, most[0] if stacked else x, y if stacked else most[1]


def looks_of(pictures: Iterable[Picture]) -> set[str]:
    """Return the looks that pictures use."""
    return {one.look for page in pictures for one in shapes(page.items) if isinstance(one, Path)}


def headings(graph: Graph, title: str) -> list[Text]:
    """Return the title of a picture and the line below it; a jvp pass needs no saved tensors and does not count them."""
    what = text.shorten(graph.record["program"].get("name") or "", 60)
    of = which(graph.origins) if title == TITLES["backward"] else ""
    below = " · ".join(facts(graph, of, saves=title != TITLES["jvp"]))
    return [
        Text(MARGIN, MARGIN + 14, title + (f" · {what}" if what else ""), "title"),
        Text(MARGIN, MARGIN + 33, below, "note"),
    ]
