"""Record of solved exercises in a user's file: MINIGRAD_LESSONS_PROGRESS, or lessons.json in the folder for user data.

`show` prints it, track by track: a bar for each lesson at a terminal, plain text elsewhere.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from .catalogue import Lesson
    from .tracks import Track

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
        days = json.loads(file().read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        days = None
    return {name: day for name, day in days.items() if isinstance(day, str)} if isinstance(days, dict) else {}


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


def show(tracks: Sequence[Track], days: dict[str, str], console: Console) -> None:
    """Print each track with its lessons and their numbers of solved exercises, and the next lesson to open.

    >>> import sys
    >>> from rich.console import Console
    >>> from lessons import lesson
    >>> from lessons.tracks import Track
    >>> show([Track("Start", "begin", (lesson(1),))], {"three_uses": "2026-01-01"}, Console(file=sys.stdout))
    Start (... minutes, and 6 minutes at home; 1 of 5 solved). Afterwards you can begin.
      1  Numbers that remember  ... + 6 min  1 of 5...
    1 of 5 exercises solved. Next: minigrad lessons open 1
    """
    counts = {one: sum(name in days for name in one.exercises) for track in tracks for one in track.lessons}
    for track in tracks:
        done = sum(counts[one] for one in track.lessons)
        total = sum(len(one.exercises) for one in track.lessons)
        head = f"{track.name} ({track.lasting}; {done} of {total} solved)"
        console.print(f"[bold]{head}[/bold]. Afterwards you can {track.able.replace('`', '')}.")
        console.print(_table(track, counts, console.is_terminal))
    unsolved = [one for one, done in counts.items() if done < len(one.exercises)]
    unsolved.sort(key=lambda one: counts[one] == 0)  # those that are begun come first
    solved_of_all = f"{sum(counts.values())} of {sum(len(one.exercises) for one in counts)} exercises solved."
    console.print(solved_of_all + (f" Next: minigrad lessons open {unsolved[0].called}" if unsolved else ""))


def _table(track: Track, counts: Mapping[Lesson, int], bars: bool) -> Table:
    """Return the lessons of a track as a table, with a bar for each if `bars`."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    table = Table.grid(padding=(0, 2, 0, 0))
    for one in track.lessons:
        done, total = counts[one], len(one.exercises)
        before = f"needs {', '.join(map(str, track.before(one)))}" if track.before(one) else ""
        table.add_row(
            f" {one.called:>2}", one.title, f"{one.minutes:2}{f' + {one.home}' * bool(one.home)} min",
            *[ProgressBar(total, done, width=WIDTH)] * bars, f"{done} of {total}", before,
            style="green" if done == total else "",
        )  # fmt: skip
    table.add_row()
    return table
