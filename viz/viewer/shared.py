"""The viewer in a notebook's outputs: the page's scripts are stored once in a notebook, and each output has only its data.

The first output of a kernel carries the page without data, compressed.  A few lines of script in every output look for it in
the document, put the data in, and show the result in a sandboxed frame.  So they work in a notebook that is opened again,
and in HTML that nbconvert writes.  If the cell that carries the page runs again, so does the page: its output is new.
"""

import base64
import gzip
import hashlib
import sys
from functools import cache
from typing import Any

from ..graph.drawn_graph import Graph
from ..graph.functions import Names
from ..recompute import library
from . import frame, page, page_of, wrapped, written

PLACE = "@@record@@"
LOADER = """
(() => {
  const unzip = (text) => {
    const bytes = new Blob([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))]);
    return new Response(bytes.stream().pipeThrough(new DecompressionStream("gzip"))).text();
  };
  const shown = (window.minigradPages ??= {});
  const show = () => {
    for (const one of document.querySelectorAll(".minigrad-page")) shown[one.dataset.version] ??= unzip(one.textContent);
    const waiting = [...document.querySelectorAll(".minigrad-viewer:not([data-shown])")];
    for (const one of waiting.filter((one) => shown[one.dataset.version])) {
      one.dataset.shown = "";
      Promise.all([shown[one.dataset.version], unzip(one.dataset.record)]).then(([page, record]) => {
        const frame = document.createElement("iframe");
        Object.assign(frame, { title: "The viewer", name: one.dataset.frame, srcdoc: page.replace("PLACE", () => record) });
        frame.setAttribute("sandbox", "allow-scripts allow-downloads");
        frame.style = "width: 100%; height: HEIGHT; border: 0";
        one.replaceChildren(frame);
      });
    }
    return waiting.every((one) => "shown" in one.dataset);
  };
  if (show()) return;
  const timer = setInterval(() => show() && clearInterval(timer), 500); // an earlier output may come later
})();
"""
MISSING = "The script of this picture is in the notebook's first picture. If this text stays, run the cell again."
HEIGHT = "36rem"
carried: list[tuple] = []  # the cell whose output carries the page, and the run of that cell


def output(graph: Graph, depth: int | None, open: Names = None, name: str = "") -> str:
    """Return the HTML of a viewer for an output: in a notebook's kernel with its data only, elsewhere a whole page.

    `name` is that of its frame, by which a widget finds the page.
    """
    run = running_cell()
    if run is None:
        return frame(page(graph, depth, open), HEIGHT, name)
    record, version = packed(written(graph, depth, open)), empty()[1]
    parts = [
        f'<div class="minigrad-viewer" data-version="{version}" data-frame="{name}" data-record="{record}">{MISSING}</div>'
    ]
    if not carried or carried[0][0] == run[0] and carried[0] != run:
        carried[:] = [run]
        parts.insert(0, f'<div class="minigrad-page" data-version="{version}" hidden>{empty()[0]}</div>')
    return "".join([*parts, f"<script>{LOADER.replace('PLACE', PLACE).replace('HEIGHT', HEIGHT)}</script>"])


def carried_size(output: str) -> int:
    """Return the number of characters of an output that are the notebook's only copy of the page, or a whole page."""
    if 'class="minigrad-viewer"' not in output:
        return len(output)
    return len(empty()[0]) if 'class="minigrad-page"' in output else 0


def running_cell() -> tuple[Any, int] | None:
    """Return the running cell of a notebook and the number of its run; None where outputs cannot share a script."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    kernel = getattr(shell, "kernel", None)
    if shell is None or kernel is None or "google.colab" in sys.modules:  # Colab has a separate frame for each output
        return None
    message = kernel.get_parent() or {}
    cell = message.get("metadata", {}).get("cellId") or message.get("content", {}).get("code")
    return cell, shell.execution_count


@cache
def empty() -> tuple[str, str]:
    """Return the page without data, compressed, and its version."""
    text = page_of("minigrad", PLACE, wrapped(library.script()))
    return packed(text), hashlib.sha256(text.encode()).hexdigest()[:8]


def packed(text: str) -> str:
    """Return a text compressed, in letters."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
