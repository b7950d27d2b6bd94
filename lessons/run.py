"""Run a learner's cells in this process and judge their answers: `python -m lessons.run TASK RESULTS`.

TASK is a file of JSON with the fields of `Task`.  Cells run in order, even after one that fails or takes too long.  After each
cell, every new answer is judged by the name of its exercise, even if the notebook no longer calls `check`.  Each event is a
line of JSON in the file RESULTS, so those before a process is killed are not lost: the beginning of a cell, its failure, the
solutions that it shows, the verdicts after it, and the end of the last one.
"""

from __future__ import annotations

import ast
import inspect
import json
import linecache
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import own
from .exercise import Verdict, shown, verdict_on
from .limit import TooLong, within

LINE = 500  # characters of the message of a failed cell
PICTURE = 300_000  # characters of the largest picture


@dataclass(frozen=True)
class Task:
    """A notebook to judge: the texts of its cells, the names of its exercises, and the limits.

    `student` is the one whose numbers the exercises of the bank have, `own` the path of a teacher's exercises, or "".
    """

    cells: list[str]
    exercises: list[str]
    student: str
    own: str
    pictures: bool  # verdicts have them
    seconds: float  # for a cell or a check
    memory: int  # bytes beyond minigrad's own needs; 0 for no limit


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


def main(task: str, results: str) -> None:
    """Run all cells, and write a line for each event."""
    given = Task(**json.loads(Path(task).read_text()))
    if given.own:
        own.pin(Path(given.own))
    python, judged, process = shell(), {}, os.getpid()
    limit_memory(given.memory)
    sys.path.append(os.getcwd())  # engine.py is there; at the end, so that no file hides a package
    with open(results, "w", encoding="utf-8", buffering=1) as lines:

        def write(**event: Any) -> None:
            lines.write(json.dumps(event) + "\n")

        for number, text in enumerate(given.cells, 1):
            write(begins=number)
            try:
                done = within(given.seconds, lambda text=text: python.run_cell(text, store_history=True))
                wrong = done.error_before_exec or done.error_in_exec
            except TooLong as e:
                wrong = e
            if os.getpid() != process:  # a cell forked: only the parent continues
                os._exit(0)
            if wrong is not None:
                write(cell=number, failed=f"{type(wrong).__name__}: {wrong}".partition("\n")[0][:LINE])
            for name in dict.fromkeys(shown):
                write(cell=number, shows=str(name)[:LINE])
            shown.clear()
            for verdict in judge(given, python.user_ns, judged):
                write(**verdict)
        write(ended=len(given.cells))


def judge(task: Task, names: dict[str, Any], judged: dict[str, Any]) -> Iterator[dict]:
    """Yield the verdicts on answers that are new or changed since the last call."""
    for name in task.exercises:
        if name not in names or names[name] is judged.get(name, judged):
            continue
        judged[name] = answer = names[name]
        try:
            yield within(task.seconds, lambda name=name, answer=answer: verdict(task, name, answer))
        except TooLong as e:
            yield {"exercise": name, "status": "wrong", "message": f"the check was {e}", "mistake": "TooLong"}


def verdict(task: Task, name: str, answer: Any) -> dict[str, str]:
    """Return the verdict on an answer as an event, with its picture if the task asks for pictures."""
    found = verdict_on(name, answer, task.student)
    event = {"exercise": name, "status": found.status, "message": found.message}
    event |= {
        "mistake": found.mistake,
        "given": (found.given or source(answer))[:LINE] if found.status == "wrong" else "",
    }
    return event | {"picture": picture(found) if task.pictures else ""}


def source(answer: Any) -> str:
    """Return the program of a function or class in a cell, or "" if there is none to show.

    `inspect` finds no class of a notebook, so its methods lead to it.
    """
    found = [getattr(one, "__func__", one) for one in vars(answer).values()] if isinstance(answer, type) else [answer]
    plain = [getattr(one, "py_func", one) for one in map(inspect.unwrap, found) if callable(one)]
    codes = [one.__code__ for one in plain if inspect.isfunction(one)]
    try:
        tree = ast.parse(text := "".join(linecache.getlines(codes[0].co_filename)))
        for node in ast.walk(tree):
            if not isinstance(node, (ast.ClassDef, ast.FunctionDef)) or node.name != answer.__name__:
                continue
            if node.lineno <= codes[0].co_firstlineno <= (node.end_lineno or 0):
                return ast.get_source_segment(text, node) or ""
    except (AttributeError, IndexError, SyntaxError, ValueError):
        pass
    return ""


def picture(found: Verdict) -> str:
    """Return the SVG of a verdict, or "" if it has no drawing, or one that is too large or cannot be drawn."""
    try:
        text = "" if found.drawing is None else found.drawing.svg()
    except Exception:  # a learner's program may make a drawing that fails
        return ""
    return text if len(text) <= PICTURE else ""


if __name__ == "__main__":
    main(*sys.argv[1:])
