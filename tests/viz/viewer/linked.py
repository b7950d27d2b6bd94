"""Links to the page play.html on the disk, and records for them, whole and damaged."""

import base64
import json
import zlib
from functools import cache

import minigrad
from viz.graph.drawn_graph import Graph
from viz.viewer.links import letters, play, shared_data

from . import programs


def cube(x):
    y, dx = programs.MyCube.apply(x)
    return (y * dx).sum()


def softmax_cross_entropy(logits, target):
    p = minigrad.softmax(logits, 1)
    return -p[minigrad.arange(3), target].log().mean()


@cache
def text(name="cube"):
    """Return the data of a record as text; a test may change its own copy."""
    minigrad.manual_seed(0)
    fn, *args = {
        "cube": (cube, minigrad.tensor([1.0, -2.0, 0.5])),
        "branches": (programs.branches, minigrad.tensor(0.7), minigrad.tensor(-1.3)),
        "loop": (programs.loop, minigrad.randn(2, 2), minigrad.randn(2, 2)),
        "entropy": (softmax_cross_entropy, minigrad.randn(3, 4), minigrad.tensor([0, 3, 1])),
    }[name]
    return shared_data(Graph(programs.recorded(fn, *args)))


def data(name="cube"):
    return json.loads(text(name))


def deflated(content):
    """Return bytes as the letters of a link, whatever they are."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return base64.urlsafe_b64encode(packer.compress(content) + packer.flush()).decode().rstrip("=")


def linked(record):
    """Return the fragment of a link to a record, or to a text."""
    return "#r=" + letters(record if isinstance(record, str) else json.dumps(record))


def written(folder):
    """Write the page play.html into a folder and return it."""
    page = folder / "play.html"
    page.write_text(play(), encoding="utf-8")
    return page
