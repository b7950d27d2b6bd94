"""The viewer: one HTML file that steps through forward, backward and jvp of a record, offline and without a framework.

`page` assembles the record's data (content.py), the text of the user's program (sources.py), the style sheet and the
scripts, which are in this folder and joined in the order of SCRIPTS.  The page is self-contained: its content security
policy allows its own script and style by their hashes, and no network request.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from html import escape
from itertools import islice
from pathlib import Path
from string import Template
from typing import Any

from .. import text
from ..graph.drawn_graph import Graph
from ..graph.functions import Names
from ..programs.libraries import document_of
from ..recompute import library
from ..recompute.record import live_record, texts_of
from .content import content, packed, summary_of
from .site import page_at, site

NO_ROOM = "the display of a tensor has no room for them; viz.draw has"
RAISED = "the program raises an error"
HERE = Path(__file__).parent
SCRIPTS = """
    dom model summary live beats steps modules fold layered lanes cards frames rooms room_layout motion camera draw edges mount
    far state caption numbers heat values inside paths source memory colour search look link_text export links stepping gestures
    keys follow differences mistakes about experiments tangent downhill whatif bridge main interface
""".split()

IN_MISTAKES = ("-x", "ones(1)", "x.sum_to_size(1)")  # what common mistakes add to formulas (mistakes.js)


def page(record: Any, depth: int | None = None, open: Names = None) -> str:
    """Return the page of a record (of `minigrad.record`, its dict, or its graph) as the text of an HTML file.

    With a `depth` the page opens folded: modules, or functions if there are none, are open to this level.  `open` names custom
    Functions, as for pictures.

    >>> value = {"id": 0, "name": "</script>", "kind": "input", "shape": [], "dtype": "float32", "device": "cpu",
    ...          "bytes": 4, "summary": {"values": 1.0}}
    >>> made = page({"program": {"name": "<f>", "passes": ["forward"]}, "values": [value], "ops": [], "outputs": [0]})
    >>> "<title>&lt;f&gt; · minigrad</title>" in made, made.count("</script>")
    (True, 2)
    """
    graph = record if isinstance(record, Graph) else Graph(document_of(record))
    name = text.shorten(graph.record["program"].get("name") or "", 60) or "program"
    live = live_of(graph)
    texts = None if isinstance(live, str) else frozenset([*texts_of(live), *IN_MISTAKES])
    first = "const live = null;\n" if texts is None else library.script(texts)  # what its expressions need
    return page_of(f"{name} · minigrad", written(graph, depth, open, live), wrapped(first))


def written(graph: Graph, depth: int | None, open: Names = None, live: dict | str | None = None) -> str:
    """Return the data of a page as the text of its script element; `live` is what it computes from, if that is known."""
    live = live_of(graph) if live is None else live
    data, address = packed(content(graph, open)), page_at(site())
    if isinstance(live, dict):
        data["values"] = list(data["values"])
        live = _without_repeats(live, data["values"])
    more = {"depth": depth, "opened": bool(open), "live": live}
    return _embedded({**data, **more, **({"site": address} if address else {})})


def _without_repeats(live: dict, values: list[dict]) -> dict:
    """Remove the summaries of computed values that the page shows as they are; live.js puts them back."""
    shown = {value.get("id", i): summary_of(value) for i, value in enumerate(values)}
    repeated = lambda value: "summary" in value and value["summary"] == shown.get(value["id"])
    kept = lambda value: {name: part for name, part in value.items() if name != "summary" or not repeated(value)}
    return {**live, "values": [kept(value) for value in live["values"]]}


def live_of(graph: Graph) -> dict | str:
    """Return what the page computes from, or the reason for which it cannot; `contents` are None where there is no room."""
    if graph.error is not None:
        return RAISED
    return NO_ROOM if graph.record.get("contents", {}) is None else live_record(graph.record)


def page_of(title: str, data: str, script: str, intro: str = "") -> str:
    """Return the page with a title, the text of its data, its script, and a further section if one is given."""
    style = read("viewer.css") + read("links.css")
    return Template(read("page.html")).substitute(
        policy=f"default-src 'none'; img-src data:; script-src {_hash(script)}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'",
        title=escape(title),
        style=style,
        data=data,
        script=script,
        intro=intro,
    )


def frame(made: str, height: str = "36rem", name: str = "") -> str:
    """Wrap a page of the viewer in a sandboxed frame, for a notebook or another page.

    >>> frame("<p>").endswith(' srcdoc="&lt;p&gt;"></iframe>')
    True
    """
    source = escape(made).replace("\n", "&#10;")  # in Markdown an empty line would end the frame
    style = f"width: 100%; height: {height}; border: 0"
    named = f' name="{name}"' if name else ""
    may = 'sandbox="allow-scripts allow-downloads"'  # the page saves its drawing as a file
    return f'<iframe title="The viewer"{named} {may} style="{style}" srcdoc="{source}"></iframe>'


@cache
def read(name: str) -> str:
    """Return the text of a file of this folder."""
    return (HERE / name).read_text(encoding="utf-8")


def assembled(names: Sequence[str]) -> str:
    """Return several scripts, one after the other."""
    return "\n".join(read(f"{name}.js") for name in names)


def wrapped(first: str) -> str:
    """Return all scripts in one function, so that none of their names is global."""
    return f'\n(() => {{\n"use strict";\n{first}\n{assembled(SCRIPTS)}}})();\n'


def _hash(inline: str) -> str:
    """Return the name of an inline script or style in a content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()}'"


def _embedded(data: dict) -> str:
    """Write JSON for a script element: its text cannot end the element, or a line of the page.

    >>> print(_embedded({"a": "</script><!-- & \\u2028", "b": iter([1, 2])}))
    {"a":"\\u003c/script>\\u003c!-- & \\u2028","b":[1,2]}
    """
    write = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode  # ASCII: also lone surrogates are safe
    parts = []
    for key, part in data.items():  # in order: the last parts may be complete only when the others are written
        written = f"[{','.join(_stretches(part, write))}]" if isinstance(part, Iterator) else write(part)
        parts.append(f"{write(key)}:{written}".replace("<", "\\u003c"))
    return "{" + ",".join(parts) + "}"


def _stretches(entries: Iterator, write: Callable[[list], str]) -> Iterator[str]:
    """Yield the entries of a list as JSON, a thousand at a time, so a large program is never in memory twice."""
    while stretch := list(islice(entries, 1000)):
        yield write(stretch)[1:-1]
