"""The command `minigrad`: its exit codes, its error messages, and its version.

viz/commands/app.py assembles the commands.  A command imports minigrad, Graphviz and Matplotlib only when it needs them, so
help appears at once; --version imports nothing.  If the user's program fails, the exit code is 1 and the traceback shows
the user's lines only; `render` then draws how far it came.  A wrong command exits with 2, and writes no file.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from .errors import Failure


def version() -> str:
    """Return minigrad's version, from its file: importing minigrad takes a second.

    >>> import minigrad
    >>> version() == minigrad.__version__
    True
    """
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    with open(os.path.join(folder, "minigrad", "__init__.py"), encoding="utf-8") as file:
        line = next(line for line in file if line.startswith("__version__ = "))
    return line.split('"')[1]


def main(tokens: list[str] | None = None) -> None:
    """Run the command; the exit code is 0, 1 (the user's program failed) or 2 (the command is wrong)."""
    words = sys.argv[1:] if tokens is None else tokens
    if words == ["--version"]:
        return print(version())
    open_standard_files()
    for stream in (sys.stdout, sys.stderr):  # a character that the terminal cannot encode must not end the command
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    from cyclopts import CycloptsError, UnusedCliTokensError

    from .commands.app import app
    from .commands.common import given
    from .errors import Failure, Undrawable, Usage, is_users
    from .text import clean

    given[:] = words
    words = with_programs_own(words)
    try:
        app(words, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
    except UnusedCliTokensError as wrong:
        spare = " ".join(wrong.unused_tokens or ())
        sys.exit(_say(f"minigrad: too many words: {spare}. See minigrad --help.", 2, words))
    except CycloptsError as wrong:
        sys.exit(_say(f"minigrad: {wrong} See minigrad --help.", 2, words))
    except Usage as wrong:
        sys.exit(_say(clean(f"minigrad: {wrong}"), 2, words))
    except Undrawable as wrong:
        what = str(wrong).removeprefix("draw: ").replace("open names", "--open names", 1)
        sys.exit(_say(clean(f"minigrad: {what}"), 2, words))
    except Failure as failed:
        _fail(failed, words)
    except KeyboardInterrupt:
        sys.exit(_say("minigrad: interrupted before there was anything to draw.", 130, words))
    except OSError as refused:
        _unwritten(refused)
    except Exception as error:  # in a method or a hook of the user that the command ran
        if not is_users(error):
            raise
        _fail(Failure.of(error), words)


def open_standard_files() -> None:
    """Open /dev/null as each standard file that is closed, or the next opened file would be one; note which are."""
    from .commands.common import closed

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

    Only `run` obeys the variable MINIGRAD_VIZ.

    >>> with_programs_own(["run", "-n", "2", "train.py", "--help"])
    ['run', '-n', '2', 'train.py', '--', '--help']
    """
    if words[:1] != ["run"]:
        os.environ.pop("MINIGRAD_VIZ", None)  # the command itself draws the program, if it runs one
        return words
    at = 1  # index of the program
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        at += 2 if words[at] == "-n" else 1
    return [*words[: at + 1], "--", *words[at + 1 :]]


def _fail(failed: Failure, words: list[str]) -> NoReturn:
    """Exit with the traceback of the user's program."""
    code = _say(str(failed), 1, words)
    _end_other_ranks()
    sys.exit(code)


def _unwritten(refused: OSError) -> NoReturn:
    """Exit after the standard output, or a file, could not be written to: the reader of a pipe is gone, or a disk is full."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(refused, BrokenPipeError):
        sys.exit(1)
    what = f"cannot use {refused.filename}" if refused.filename else "cannot write to the standard output"
    sys.exit(_say(f"minigrad: {what}: {refused.strerror}. Name another file with -o.", 1, []))


def _end_other_ranks() -> None:
    """End the other ranks after a failure on one of them: they would wait for it forever."""
    groups = sys.modules.get("minigrad.distributed.groups")
    if groups is not None and groups.is_initialized():
        sys.stdout.flush()
        groups.ends.failed()


def _say(what: str, code: int, words: list[str]) -> int:
    """Print the error to stderr for people and, with --json, to stdout for programs.  Return the exit code."""
    import json

    with suppress(OSError):
        print(what, file=sys.stderr)
    if "--json" in words[: words.index("--") if "--" in words else None]:
        print(json.dumps({"error": what, "code": code}))
    return code


if __name__ == "__main__":
    main()
