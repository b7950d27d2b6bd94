"""Record of solved exercises in a user's file: MINIGRAD_LESSONS_PROGRESS, or lessons.json in the folder for user data."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from datetime import date
from pathlib import Path


def file() -> Path:
    """Return the file's path; the file need not exist."""
    if own := os.environ.get("MINIGRAD_LESSONS_PROGRESS"):
        return Path(own)
    base = os.environ.get("XDG_DATA_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(base) if base else Path.home() / ".local" / "share") / "minigrad" / "lessons.json"


def load() -> dict[str, str]:
    """Return the day on which each exercise was solved; a missing or damaged file counts as empty."""
    try:
        return json.loads(file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def save(days: dict[str, str]) -> None:
    """Replace the file, or leave it unchanged if it cannot be written."""
    from minigrad.files import written  # here, since the list of lessons needs no minigrad

    with suppress(OSError):
        file().parent.mkdir(parents=True, exist_ok=True)
        with written(file()) as f:
            f.write(json.dumps(days, indent=1).encode())


def solved(name: str) -> None:
    """Record that an exercise was solved today, unless it was solved before."""
    days = load()
    if name not in days:
        save({**days, name: date.today().isoformat()})


def forget(names: tuple[str, ...]) -> None:
    """Mark exercises as unsolved."""
    save({name: day for name, day in load().items() if name not in names})
