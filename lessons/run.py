"""Run a learner's cells in this process and judge their answers: `python -m lessons.run EXERCISES CELLS RESULTS SECONDS BYTES`.

EXERCISES is JSON: the names of the exercises, and the student whose numbers those of the bank have.
Cells run in order, even after one that fails or takes too long.  After each cell, every new answer is judged by the name of
its exercise, even if the notebook no longer calls `check`.  Each verdict is a line of JSON in the file RESULTS, so the verdicts
found before a process is killed are not lost.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .exercise import check

LINE = 500  # characters of the message of a failed cell


class TooLong(BaseException):
    """The time of a cell or check is over.  A BaseException, so that a learner's `except Exception` does not catch it."""


def shell() -> Any:
    """Return an IPython shell without history, in which magics work as in a notebook."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    class Shell(InteractiveShell):
        def enable_gui(self, gui: str | None = None) -> None:
            """Do nothing: `%matplotlib inline` calls this, but no one sees the figures."""

    config = Config()
    config.HistoryManager.enabled = False
    return Shell.instance(config=config)


def limit_memory(extra: int) -> None:
    """Limit this process to `extra` more bytes of memory than it has now, on Linux; 0 means no limit."""
    if not extra or not sys.platform.startswith("linux"):
        return
    import resource

    import minigrad  # noqa: F401  so that its memory does not count as the learner's

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + extra
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def within(seconds: float, f: Callable[[], Any]) -> Any:
    """Return f's result; raise TooLong after `seconds`, if the system has timers."""

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


def main(exercises: str, cells: str, results: str, seconds: str, extra: str) -> None:
    """Run all cells, and write a line for each verdict and each failed cell, and a last one."""
    (names, student), texts = json.loads(exercises), json.loads(Path(cells).read_text())
    python, judged, process = shell(), {}, os.getpid()
    limit_memory(int(extra))
    sys.path.append(os.getcwd())  # engine.py is there; at the end, so that no file hides a package
    with open(results, "w", encoding="utf-8", buffering=1) as lines:
        for number, text in enumerate(texts, 1):
            try:
                done = within(float(seconds), lambda text=text: python.run_cell(text, store_history=True))
                wrong = done.error_before_exec or done.error_in_exec
            except TooLong as e:
                wrong = e
            if os.getpid() != process:  # a cell forked: only the parent continues
                os._exit(0)
            if wrong is not None:
                failed = f"{type(wrong).__name__}: {wrong}".partition("\n")[0][:LINE]
                lines.write(json.dumps({"cell": number, "failed": failed}) + "\n")
            for verdict in judge(names, student, python.user_ns, judged, float(seconds)):
                lines.write(json.dumps(verdict) + "\n")
        lines.write(json.dumps({"ended": len(texts)}) + "\n")


def judge(
    exercises: list[str], student: str, names: dict[str, Any], judged: dict[str, Any], seconds: float
) -> list[dict]:
    """Return the verdicts on answers that are new or changed since the last call."""
    verdicts = []
    for name in exercises:
        if name not in names or names[name] is judged.get(name, judged):
            continue
        judged[name] = answer = names[name]
        try:
            verdict = within(seconds, lambda name=name, answer=answer: check(name, answer, student))
            verdicts.append({"exercise": name, "status": verdict.status, "message": verdict.message})
        except TooLong as e:
            verdicts.append({"exercise": name, "status": "wrong", "message": f"the check was {e}"})
    return verdicts


if __name__ == "__main__":
    main(*sys.argv[1:])
