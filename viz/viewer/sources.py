"""The user's source for the source pane: whole files where they still say what ran, else the lines that the record has."""

from __future__ import annotations

import linecache
import os
from collections import defaultdict
from pathlib import Path

from ..text import clean, file_name

LARGEST = 400_000  # bytes: of larger files only the lines that ran are shown


def sources(places: list[dict]) -> tuple[list[dict], list[int]]:
    """Files by their lines, `{"name", "lines": {number: text}}`, and for each place which of the files it is in.

    A file is read only to show lines that the record shows already: unless all of them are found in it, word for word,
    it is another file by now, and so a record made elsewhere brings nothing of this machine into a page.

    >>> place = {"file": "/nowhere/net.py", "line": 3, "code": "y = w * x"}
    >>> sources([place, place])
    ([{'name': 'net.py', 'lines': {3: 'y = w * x'}}], [0, 0])
    """
    numbers: dict[str, int] = {}
    ran: dict[str, dict[int, str]] = defaultdict(dict)
    for place in places:
        numbers.setdefault(place["file"], len(numbers))
        ran[place["file"]][place["line"]] = place["code"]
    files = [{"name": file_name(file), "lines": _whole(file, ran[file]) or _shown(ran[file])} for file in numbers]
    return files, [numbers[place["file"]] for place in places]


def _whole(file: str, ran: dict[int, str]) -> dict[int, str]:
    """All lines of a file, or nothing where it cannot be read or has changed since."""
    lines = _read(file).expandtabs(4).splitlines()
    for line, code in ran.items():
        if not (0 < line <= len(lines) and code and lines[line - 1].strip() == code.strip()):
            return {}
    return {i: clean(line) for i, line in enumerate(lines, 1)}


def _read(file: str) -> str:
    """The text of a file, or of a notebook's cell; nothing for what is none or too large."""
    try:
        if os.path.isfile(file):
            return Path(file).read_text(encoding="utf-8") if os.path.getsize(file) <= LARGEST else ""
    except (OSError, ValueError):
        return ""
    return "".join(linecache.getlines(file)) if file in linecache.cache else ""


def _shown(ran: dict[int, str]) -> dict[int, str]:
    return {line: clean(ran[line]).rstrip() for line in sorted(ran)}
