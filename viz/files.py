"""Formats by name and suffix, and files that are written whole or not at all."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .drawing import Drawing

FORMATS = {
    "html": ((".html",), "the viewer: one page that steps through the passes"),
    "svg": ((".svg",), "the picture, each operation, value and edge an element of its own"),
    "film": ((), "an SVG in which the passes appear step by step"),
    "png": ((".png",), "the picture in pixels"),
    "pdf": ((".pdf",), "the picture on paper, a page for each pass"),
    "tex": ((".tex",), "LaTeX with TikZ, its formulas set as mathematics, a page for each pass"),
    "dot": ((".dot", ".gv"), "text for Graphviz"),
    "mmd": ((".mmd", ".mermaid"), "text for Mermaid"),
    "txt": ((".txt",), "a drawing of letters and lines"),
    "json": ((".json",), "the record itself"),
}
SUFFIXES = {suffix: name for name, (suffixes, _) in FORMATS.items() for suffix in suffixes}


def format_of(suffix: str) -> str:
    """The format that a suffix means.

    Raises ValueError, with the suffixes there are and the nearest of them, for one that means none.

    >>> format_of(".gv")
    'dot'
    """
    if suffix.lower() not in SUFFIXES:
        meant = nearest(suffix.lower(), SUFFIXES)
        raise ValueError(f"draw: no format has the suffix {suffix!r}. {meant} Use one of {', '.join(SUFFIXES)}.")
    return SUFFIXES[suffix.lower()]


def nearest(word: str, known: Iterable[str]) -> str:
    """The question whether a known word is meant, or "" where none is near.

    >>> nearest(".svgg", [".svg", ".png"]), nearest("x", ["loss"])
    ('Did you mean .svg?', '')
    """
    near = difflib.get_close_matches(word, list(known), 1)
    return f"Did you mean {near[0]}?" if near else ""


def maker(drawing: Drawing, name: str) -> Callable[[], str | bytes]:
    """What makes a drawing's file of a format."""
    return {"mmd": drawing.mermaid, "txt": drawing.text}.get(name) or getattr(drawing, name)


def write(path: Path, made: bytes) -> Path:
    """Write a file whole or not at all, or to a device or pipe."""
    from minigrad.files import written  # what is written has been made by minigrad

    with written(path) as file:
        file.write(made)
    return path
