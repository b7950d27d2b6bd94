"""The command `minigrad`, assembled from the modules of viz/commands.

A command imports minigrad, Graphviz and Matplotlib only when it needs them, so help appears at once.  If the user's program
fails, the exit code is 1 and the traceback shows the user's lines only; a wrong command exits with 2.  Neither writes a file.
"""

from __future__ import annotations

import io
import json
import os
import sys
from contextlib import suppress

from cyclopts import App, CycloptsError

from .commands import (
    check_command,
    diff_command,
    explain_command,
    maintenance,
    render_command,
    run_command,
    source_command,
    step_command,
)
from .commands.common import closed, given
from .run_program import Failure, Usage
from .text import clean


def _version() -> str:
    from minigrad import __version__

    return __version__


EXAMPLES = """Examples:

  minigrad render net.py:loss              all passes, into loss.svg
  minigrad render net.py:loss -f txt -o -  as text, in the terminal
  minigrad step net.py:loss                step through the operations
  minigrad explain net.py:loss --of w      explain the gradient of w
  minigrad diff before.json net.py:loss    list the changes since before.json
  minigrad check functions.py:MyCube       test a custom Function
  minigrad run train.py                    run a PyTorch program on minigrad
  minigrad lessons                         learn how autograd works

Run minigrad COMMAND --help for details."""

app = App(
    name="minigrad",
    help="Draw the forward, backward and jvp passes of a program, and manage compiled kernels.",
    help_format="plaintext",
    help_epilogue=EXAMPLES,
    version=_version,
)
app.command(render_command.render, help_epilogue=render_command.EXAMPLES)
app.command(step_command.step, help_epilogue=step_command.EXAMPLES)
app.command(explain_command.explain, help_epilogue=explain_command.EXAMPLES)
app.command(diff_command.diff, help_epilogue=diff_command.EXAMPLES)
app.command(check_command.check, help_epilogue=check_command.EXAMPLES)
app.command(run_command.run, help_epilogue=run_command.RUN_EXAMPLES)
app.command(run_command.port, help_epilogue=run_command.PORT_EXAMPLES)
app.command(source_command.source, help_epilogue=source_command.EXAMPLES)
app.command(
    "lessons.command:app", name="lessons"
)  # by name: the lessons import viz, and viz does not import the lessons
app.command(maintenance.doctor, help_epilogue="")
app.command(maintenance.warmup, help_epilogue="")
app.command(maintenance.completion, help_epilogue="")


def main(tokens: list[str] | None = None) -> None:
    """Run the command; the exit code is 0, 1 (the user's program failed) or 2 (the command is wrong)."""
    open_standard_files()
    for stream in (sys.stdout, sys.stderr):  # a character that the terminal cannot encode must not end the command
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    words = sys.argv[1:] if tokens is None else tokens
    given[:] = words
    if words[:1] == ["run"]:
        words = with_programs_own(words)
    try:
        app(words, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
    except CycloptsError as wrong:
        sys.exit(_say(f"minigrad: {wrong} See minigrad --help.", 2, words))
    except Usage as wrong:
        sys.exit(_say(clean(f"minigrad: {wrong}"), 2, words))
    except Failure as failed:
        code = _say(str(failed), 1, words)
        _end_other_ranks()
        sys.exit(code)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # the reader of -o - closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as refused:  # such as a full disk below the standard output
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        what = f"cannot use {refused.filename}" if refused.filename else "cannot write to the standard output"
        sys.exit(_say(f"minigrad: {what}: {refused.strerror}. Name another file with -o.", 1, []))


def open_standard_files() -> None:
    """Open /dev/null as each standard file that is closed, or the next opened file would be one; note which are."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            closed.add(os.open(os.devnull, os.O_RDWR))  # the lowest free number
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w" if number else "r", encoding="utf-8", closefd=False))


def with_programs_own(words: list[str]) -> list[str]:
    """Insert -- after the program of `run`: the words that follow belong to the program, --help included.

    >>> with_programs_own(["run", "-n", "2", "train.py", "--help"])
    ['run', '-n', '2', 'train.py', '--', '--help']
    """
    at = 1  # index of the program
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        at += 2 if words[at] == "-n" else 1
    return [*words[: at + 1], "--", *words[at + 1 :]]


def _end_other_ranks() -> None:
    """End the other ranks after a failure on one of them: they would wait for it forever."""
    groups = sys.modules.get("minigrad.distributed.groups")
    if groups is not None:
        sys.stdout.flush()
        groups.end_all()


def _say(what: str, code: int, words: list[str]) -> int:
    """Print the error to stderr for people and, with --json, to stdout for programs.  Return the exit code."""
    with suppress(OSError):
        print(what, file=sys.stderr)
    if "--json" in words[: words.index("--") if "--" in words else None]:
        print(json.dumps({"error": what, "code": code}))
    return code


if __name__ == "__main__":
    main()
