"""The user's source for the source pane: whole files if they have not changed since the run, else the recorded lines."""

import linecache
import os
from collections import defaultdict
from pathlib import Path

from ..text import clean, file_name

LARGEST = 400_000  # bytes: from larger files only the recorded lines are shown


def sources(places: list[dict]) -> tuple[list[dict], list[int]]:
    """Return files by their lines, `{"name", "lines": {number: text}}`, and the index of the file of each place.

    A whole file is used only if it contains all recorded lines, word for word.  Otherwise it has changed, or the record comes
    from another machine, and none of its text may get into the page.

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
    """Return all lines of a file, or {} if it cannot be read or has changed."""
    lines = _read(file).expandtabs(4).splitlines()
    for line, code in ran.items():
        if not (0 < line <= len(lines) and code and lines[line - 1].strip() == code.strip()):
            return {}
    return {i: clean(line) for i, line in enumerate(lines, 1)}


def _read(file: str) -> str:
    """Return the text of a file or of a notebook's cell; "" if there is none or it is too large."""
    try:
        if os.path.isfile(file):
            return Path(file).read_text(encoding="utf-8") if os.path.getsize(file) <= LARGEST else ""
    except (OSError, ValueError):
        return ""
    return "".join(linecache.getlines(file)) if file in linecache.cache else ""


def _shown(ran: dict[int, str]) -> dict[int, str]:
    return {line: clean(ran[line]).rstrip() for line in sorted(ran)}
