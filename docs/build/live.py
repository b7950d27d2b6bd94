"""Live pictures: the viewer in a frame, whose numbers a reader of the site can change.

The record is in the frame's address, as in a link that `minigrad share` prints; all frames use the page play.html, which a
browser loads once. Without JavaScript, readers see the picture. A record that does not fit into an address, or whose numbers
cannot be changed, stays a picture.
"""

import gzip
import json
import re
import tempfile
from base64 import b64decode
from html import escape
from pathlib import Path

from viz.viewer.links import letters

from .markup import raw
from .programs import draw

PAGE = "play.html"
PAGES = ("start.md", "function.md", "nan.md")  # whose pictures are live; those of paper.md are for print
DATA = re.compile(r'<script type="application/json" id="record">(.*?)</script>', re.DOTALL)
RECORD = re.compile(r'class="minigrad-viewer"[^>]* data-record="([^"]+)"')
LONGEST = 32_000  # characters of an address, as for `minigrad share`


def live(output: str, fallback: str, title: str, up: str = "") -> str:
    """Return the frame of a viewer in the output of a notebook's cell, on a page in a folder; or else its picture."""
    found = RECORD.search(output)
    if found is None:
        return fallback
    return framed(without_program(json.loads(gzip.decompress(b64decode(found[1])))), fallback, title, up)


def viewers(page: Path) -> dict[str, dict]:
    """Return the data of viewers for the pictures of a page, by the pictures' names: its commands make them."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for made in draw(page, Path(folder).resolve(), ".html"):
            data = json.loads(DATA.search(made.read_text(encoding="utf-8"))[1])
            found[made.stem] = without_program(data)
    return found


def without_program(data: dict) -> dict:
    """Return the data of a viewer without the program's text, which the page around it has."""
    files = [{"name": file["name"], "lines": {}} for file in data["files"]]
    return {name: part for name, part in data.items() if name != "site"} | {"files": files}


def framed(data: dict, fallback: str, title: str, up: str = "", lazy: bool = True) -> str:
    """Return the frame of a viewer with this data, or the picture if the numbers cannot be changed there."""
    address = f"{up}{PAGE}#r={letters(json.dumps(data, separators=(',', ':')))}"
    if not isinstance(data.get("live"), dict) or len(address) > LONGEST:
        return fallback
    words = f'title="{escape(title)}" sandbox="allow-scripts allow-downloads" allow="clipboard-write"{" loading=lazy" * lazy}'
    frame = f'<iframe {words} style="width: 100%; height: 30rem" src="{escape(address)}"></iframe>'
    return raw('class="live"', f"{frame}\n<noscript>\n{fallback}\n</noscript>")
