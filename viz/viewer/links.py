"""Links: a record in the address of the page play.html, which draws it in the browser without a server.

The address has the data of a viewer's page, deflated, in the letters of base64url: `play.html#r=...`.  Without `source` it
contains none of the program's text.  The page play.html is the viewer with a check of the record before it (checks.js): a link
may come from anyone.
"""

import base64
import json
import zlib
from html import escape
from typing import Any

from ..graph.drawn_graph import Graph
from ..graph.functions import Names
from ..graph.trimmed_record import mentioned
from ..recompute import library
from . import SCRIPTS, assembled, page_of, read, written

CHECKED = ("link_text", "checks")  # scripts before the viewer's
MOST = 2_000  # operations of a record that the page draws; checks.js has the same number
HEAVY = ("live", "grid", "histogram")  # the contents of large tensors


def shared_data(graph: Graph, open: Names = None, source: bool = False, contents: bool = True) -> str:
    """Return the data of a record for a link; with `source` it has the program's text, without `contents` no large tensors.

    >>> value = {"id": 0, "name": "x", "kind": "input", "shape": [], "dtype": "float32", "device": "cpu", "bytes": 4,
    ...          "summary": {"values": 0.1}}
    >>> data = shared_data(Graph({"program": {"passes": ["forward"]}, "values": [value], "ops": [], "outputs": [0]}))
    >>> json.loads(text_of(letters(data)))["values"]
    [{'sort': 0, 'name': 'x', 'all': 0.1}]
    """
    data = json.loads(written(graph, None, open))
    data.pop("site", None)
    if not source:
        data["files"] = [{"name": file["name"], "lines": {}} for file in data["files"]]
        data["program"].pop("title", None)
    return json.dumps(data if contents else without_contents(data), separators=(",", ":"))


def folded(graph: Graph) -> Graph:
    """Return a folded graph as a record of its boxes, without all that is inside them, and without saved tensors."""
    record = graph.record
    inside = {"formula": "", "call": "", "pushes": []}
    ops = [{**op, **(inside if op.get("folded") else {}), "saved": []} for op in record["ops"]]
    gradients = record.get("gradients", {})
    used = mentioned({**record, "ops": ops})
    gradients = {value: gradient for value, gradient in gradients.items() if int(value) in used}
    values = [value for value in record["values"] if value["id"] in used]
    return Graph({**record, "ops": ops, "values": values, "gradients": gradients}, graph.view)


def without_contents(part: Any) -> Any:
    """Return data without heat maps, histograms and the numbers that a page computes with.

    >>> without_contents({"values": [{"sort": 0, "grid": {}, "statistics": [0, 1]}], "live": {}})
    {'values': [{'sort': 0, 'statistics': [0, 1]}]}
    """
    if isinstance(part, list):
        return [without_contents(one) for one in part]
    if not isinstance(part, dict):
        return part
    return {key: without_contents(one) for key, one in part.items() if key not in HEAVY}


def letters(data: str) -> str:
    """Return a text deflated, in the letters of base64url."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS, 9)
    return base64.urlsafe_b64encode(packer.compress(data.encode()) + packer.flush()).decode().rstrip("=")


def text_of(letters: str) -> str:
    """Return the text that the letters of a link stand for."""
    return zlib.decompress(base64.urlsafe_b64decode(letters + "=" * (-len(letters) % 4)), -zlib.MAX_WBITS).decode()


def embedded(link: str, title: str) -> str:
    """Return an iframe that shows a link in another page.

    >>> embedded("https://example.org/play.html#r=AA", "loss")[:60]
    '<iframe title="loss" sandbox="allow-scripts allow-downloads"'
    """
    style = "width: 100%; height: 36rem; border: 0"
    return (
        f'<iframe title="{escape(title)}" sandbox="allow-scripts allow-downloads" allow="clipboard-write" loading="lazy" '
        f'style="{style}" src="{escape(link)}"></iframe>'
    )


def play() -> str:
    """Return the page play.html: it waits for a record in its address."""
    before, after = f"{library.script()}{assembled(CHECKED)}", assembled(("play",))
    script = f'\n(() => {{\n"use strict";\n{before}const viewer = () => {{\n{assembled(SCRIPTS)}}};\n{after}}})();\n'
    return page_of("Play a record · minigrad", "", script, read("play.html"))
