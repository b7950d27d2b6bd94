"""Run a learner's cells in this process and judge their answers: `python -m lessons.run LESSON CELLS RESULTS SECONDS BYTES`.

Cells run one after the other, also after one that fails or takes too long.  An answer is judged as soon as it is there, by
the name of its exercise, whether or not the notebook still asks for that; each verdict is a line of JSON in the file RESULTS,
so that those found before a process is ended are not lost.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .catalogue import Lesson, lesson
from .exercise import check

LINE = 500  # characters of what is said of a cell that failed


class TooLong(BaseException):
    """A cell, or the check of an answer, has had its time; no `except Exception` of a learner's stops it."""


def shell() -> Any:
    """An IPython shell without history, in which magics work as in the notebook."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    class Shell(InteractiveShell):
        def enable_gui(self, gui: str | None = None) -> None:
            """`%matplotlib inline` asks for it; here nobody looks."""

    config = Config()
    config.HistoryManager.enabled = False
    return Shell.instance(config=config)


def limit_memory(extra: int) -> None:
    """Let this process have so many bytes more than it has now, where the system can see to that; 0 for no limit."""
    if not extra or not sys.platform.startswith("linux"):
        return
    import resource

    import minigrad  # noqa: F401  what the lessons import is not the learner's

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + extra
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def within(seconds: float, f: Callable[[], Any]) -> Any:
    """What f gives; TooLong if that takes longer, where the system has timers."""

    def ring(*_: Any) -> None:
        raise TooLong(f"stopped after {seconds:g} s")

    if not hasattr(signal, "setitimer"):
        return f()
    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return f()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def main(name: str, cells: str, results: str, seconds: str, extra: str) -> None:
    """Run all cells and write what there is to say: a line for each verdict, and for each cell that fails."""
    one, texts = lesson(name), json.loads(Path(cells).read_text())
    python, judged, process = shell(), {}, os.getpid()
    limit_memory(int(extra))
    with open(results, "w", encoding="utf-8", buffering=1) as lines:
        for number, text in enumerate(texts, 1):
            try:
                done = within(float(seconds), lambda text=text: python.run_cell(text, store_history=True))
                wrong = done.error_before_exec or done.error_in_exec
            except TooLong as e:
                wrong = e
            if os.getpid() != process:  # of a cell that forked, one goes on
                os._exit(0)
            if wrong is not None:
                failed = f"{type(wrong).__name__}: {wrong}".partition("\n")[0][:LINE]
                lines.write(json.dumps({"cell": number, "failed": failed}) + "\n")
            for verdict in judge(one, python.user_ns, judged, float(seconds)):
                lines.write(json.dumps(verdict) + "\n")


def judge(one: Lesson, names: dict[str, Any], judged: dict[str, Any], seconds: float) -> list[dict]:
    """The verdicts on the answers that are new since the last look."""
    verdicts = []
    for name in one.exercises:
        if name not in names or names[name] is judged.get(name, judged):
            continue
        judged[name] = answer = names[name]
        try:
            verdict = within(seconds, lambda name=name, answer=answer: check(name, answer))
            verdicts.append({"exercise": name, "status": verdict.status, "message": verdict.message})
        except TooLong as e:
            verdicts.append({"exercise": name, "status": "wrong", "message": f"its check was {e}"})
    return verdicts


if __name__ == "__main__":
    main(*sys.argv[1:])
