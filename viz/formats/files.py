"""File formats by name and suffix, and files written completely or not at all."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..drawing import Drawing

FORMATS = {
    "html": ((".html",), "the viewer: one page that steps through the passes"),
    "svg": ((".svg",), "the picture, with an element for each operation, value and edge"),
    "film": ((), "an SVG in which the passes appear step by step"),
    "png": ((".png",), "the picture in pixels"),
    "pdf": ((".pdf",), "the picture for print, one page per pass"),
    "tex": ((".tex",), "LaTeX with TikZ and typeset formulas, one page per pass"),
    "dot": ((".dot", ".gv"), "text for Graphviz"),
    "mmd": ((".mmd", ".mermaid"), "text for Mermaid"),
    "txt": ((".txt",), "a drawing in plain text"),
    "json": ((".json",), "the record itself"),
}
SUFFIXES = {suffix: name for name, (suffixes, _) in FORMATS.items() for suffix in suffixes}


def format_of(suffix: str) -> str:
    """Return the format of a suffix.

    Raises ValueError for an unknown suffix, naming the nearest and all known ones.

    >>> format_of(".gv")
    'dot'
    """
    if suffix.lower() not in SUFFIXES:
        meant = nearest(suffix.lower(), SUFFIXES)
        raise ValueError(f"draw: unknown suffix {suffix!r}. {meant} Use one of {', '.join(SUFFIXES)}.")
    return SUFFIXES[suffix.lower()]


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the question "Did you mean ...?" with the nearest known word, or "" if none is near.

    >>> nearest(".svgg", [".svg", ".png"]), nearest("x", ["loss"])
    ('Did you mean .svg?', '')
    """
    near = difflib.get_close_matches(word, list(known), 1)
    return f"Did you mean {near[0]}?" if near else ""


def rendered(drawing: Drawing, name: str) -> bytes:
    """Return the bytes of a drawing in a format."""
    made = getattr(drawing, {"mmd": "mermaid", "txt": "text"}.get(name, name))()
    return made if isinstance(made, bytes) else made.encode()


def write(path: Path, made: bytes) -> Path:
    """Write a file completely or not at all; devices and pipes work as well."""
    from minigrad.files import written  # imported here: minigrad is loaded by now, since it made the record

    with written(path) as file:
        file.write(made)
    return path
