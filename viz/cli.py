"""The command `minigrad`: its parts are the modules of viz/commands, put together here.

minigrad, Graphviz and Matplotlib are imported when a command needs them, so that help comes at once.  A failure of the
user's program ends with 1 and the user's lines of the traceback, a wrong command with 2; either way nothing is written.
"""

from __future__ import annotations

import io
import json
import os
import sys

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
from .commands.common import given
from .run_program import Failure, Usage


def _version() -> str:
    from minigrad import __version__

    return __version__


EXAMPLES = """Examples:

  minigrad render net.py:loss              all passes, into loss.svg
  minigrad render net.py:loss -f txt -o -  the same as text, in the terminal
  minigrad step net.py:loss                one operation after the other
  minigrad explain net.py:loss --of w      how the derivative of loss by w comes about
  minigrad diff before.json net.py:loss    what changed since before.json
  minigrad check functions.py:MyCube       whether a custom Function is right
  minigrad run train.py                    a program that imports torch, with minigrad in its place
  minigrad lessons                         learn how all of it works

minigrad COMMAND --help says more about each."""

app = App(
    name="minigrad",
    help="Draw the forward, backward and jvp pass of a program, and look after its kernels.",
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
)  # by name: the lessons are made with viz, and not the other way round
app.command(maintenance.doctor, help_epilogue="")
app.command(maintenance.warmup, help_epilogue="")
app.command(maintenance.completion, help_epilogue="")


def main(tokens: list[str] | None = None) -> None:
    """Run the command; the process ends with 0, 1 (the user's program failed) or 2 (the command is wrong)."""
    for stream in (sys.stdout, sys.stderr):  # a name that the terminal cannot write must not end the command
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    words = sys.argv[1:] if tokens is None else tokens
    given[:] = words
    if words[:1] == ["run"]:
        words = with_programs_own(words)
    try:
        app(words, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as wrong:
        sys.exit(_say(f"minigrad: {wrong} See minigrad --help.", 2, words))
    except Usage as wrong:
        sys.exit(_say(f"minigrad: {wrong}", 2, words))
    except Failure as failed:
        code = _say(str(failed), 1, words)
        _end_other_ranks()
        sys.exit(code)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # the reader of -o - has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def with_programs_own(words: list[str]) -> list[str]:
    """Put -- behind the program of `run`: the words that follow are the program's own, --help included.

    >>> with_programs_own(["run", "-n", "2", "train.py", "--help"])
    ['run', '-n', '2', 'train.py', '--', '--help']
    """
    at = 1  # where the program stands
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        at += 2 if words[at] == "-n" else 1
    return [*words[: at + 1], "--", *words[at + 1 :]]


def _end_other_ranks() -> None:
    """End the other processes after a failure on one of several: they would wait for it."""
    groups = sys.modules.get("minigrad.distributed.groups")
    if groups is not None:
        sys.stdout.flush()
        groups.end_all()


def _say(what: str, code: int, words: list[str]) -> int:
    """Print what went wrong, for the person at the terminal, and with --json for the program that reads the output."""
    print(what, file=sys.stderr)
    if "--json" in words[: words.index("--") if "--" in words else None]:
        print(json.dumps({"error": what, "code": code}))
    return code


if __name__ == "__main__":
    main()
