"""Which exercises have been solved, in a file of the user's: MINIGRAD_LESSONS_PROGRESS, or one in the folder for user data."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from datetime import date
from pathlib import Path


def file() -> Path:
    """The file; it need not exist."""
    if own := os.environ.get("MINIGRAD_LESSONS_PROGRESS"):
        return Path(own)
    base = os.environ.get("XDG_DATA_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(base) if base else Path.home() / ".local" / "share") / "minigrad" / "lessons.json"


def load() -> dict[str, str]:
    """The day on which each exercise was solved, by its name; what is no such file counts as none."""
    try:
        return json.loads(file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def save(days: dict[str, str]) -> None:
    """Write the file whole; a folder that cannot be written to means that nothing is remembered."""
    from minigrad.files import written  # the list of lessons is shown without

    with suppress(OSError):
        file().parent.mkdir(parents=True, exist_ok=True)
        with written(file()) as f:
            f.write(json.dumps(days, indent=1).encode())


def solved(name: str) -> None:
    """Remember that an exercise was solved today, unless it was before."""
    days = load()
    if name not in days:
        save({**days, name: date.today().isoformat()})


def forget(names: tuple[str, ...]) -> None:
    """Let exercises be unsolved again."""
    save({name: day for name, day in load().items() if name not in names})
