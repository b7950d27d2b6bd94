"""The viewer: one HTML file that steps through forward, backward and jvp of a record, offline and without a framework.

`page` assembles the record's data (content.py), the text of the user's program (sources.py), the style sheet and the
scripts, which are in this folder and joined in the order of SCRIPTS.  The page is self-contained: its content security
policy allows its own script and style by their hashes, and no network request.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterator
from functools import cache
from html import escape
from itertools import islice
from pathlib import Path
from string import Template
from typing import Any

from .. import text
from ..drawn_graph import Graph
from .content import content, packed

HERE = Path(__file__).parent
SCRIPTS = """
    dom model beats steps fold layered lanes cards camera draw edges mount far state caption values inside paths source memory
    search look stepping keys main
""".split()


def page(record: Any, depth: int | None = None) -> str:
    """Return the page of a record (of `minigrad.record`, its dict, or its graph) as the text of an HTML file.

    With a `depth` the page opens folded: modules, or functions if there are none, are open to this level.

    >>> value = {"id": 0, "name": "</script>", "kind": "input", "shape": [], "dtype": "float32", "device": "cpu",
    ...          "bytes": 4, "summary": {"values": 1.0}}
    >>> made = page({"program": {"name": "<f>", "passes": ["forward"]}, "values": [value], "ops": [], "outputs": [0]})
    >>> "<title>&lt;f&gt; · minigrad</title>" in made, made.count("</script>")
    (True, 2)
    """
    graph = record if isinstance(record, Graph) else Graph(record if isinstance(record, dict) else record.to_dict())
    style, script = _read("viewer.css"), _script()
    name = text.shorten(graph.record["program"].get("name") or "", 60) or "program"
    return Template(_read("page.html")).substitute(
        policy=f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'",
        title=escape(f"{name} · minigrad"),
        style=style,
        data=_embedded({**packed(content(graph)), "depth": depth}),
        script=script,
    )


def frame(made: str, height: str = "36rem") -> str:
    """Wrap a page of the viewer in a sandboxed frame, for a notebook or another page.

    >>> frame("<p>").endswith(' srcdoc="&lt;p&gt;"></iframe>')
    True
    """
    source = escape(made).replace("\n", "&#10;")  # in Markdown an empty line would end the frame
    style = f"width: 100%; height: {height}; border: 0"
    return f'<iframe title="The viewer" sandbox="allow-scripts" style="{style}" srcdoc="{source}"></iframe>'


@cache
def _read(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


@cache
def _script() -> str:
    """Return all scripts, wrapped in one function so that none of their names is global."""
    parts = [_read(f"{name}.js") for name in SCRIPTS]
    return '\n(() => {\n"use strict";\n' + "\n".join(parts) + "})();\n"


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
