"""Record of solved exercises in a user's file: MINIGRAD_LESSONS_PROGRESS, or lessons.json in the folder for user data.

`show` prints it: a bar for each lesson at a terminal, plain text elsewhere.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from .catalogue import Lesson

WIDTH = 16  # of a bar, in characters


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


def show(lessons: tuple[Lesson, ...], days: dict[str, str], console: Console) -> None:
    """Print each lesson with its number of solved exercises, and the next one to open.

    >>> import sys
    >>> from rich.console import Console
    >>> from lessons import lessons
    >>> show(lessons()[:1], {"three_uses": "2026-01-01"}, Console(file=sys.stdout))
     1  Numbers that remember  20 min  1 of 5
    <BLANKLINE>
    1 of 5 exercises solved. Next: minigrad lessons open 1
    """
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    counts = {one: sum(name in days for name in one.exercises) for one in lessons}
    table = Table.grid(padding=(0, 2, 0, 0))
    for one, done in counts.items():
        total = len(one.exercises)
        bar = [ProgressBar(total, done, width=WIDTH)] if console.is_terminal else []
        table.add_row(
            f"{one.called:>2}", one.title, f"{one.minutes} min", *bar, f"{done} of {total}",
            style="green" if done == total else "",
        )  # fmt: skip
    console.print(table)
    unsolved = [one for one, done in counts.items() if done < len(one.exercises)]
    solved_of_all = f"{sum(counts.values())} of {sum(len(one.exercises) for one in lessons)} exercises solved."
    console.print(f"\n{solved_of_all}" + (f" Next: minigrad lessons open {unsolved[0].called}" if unsolved else ""))
