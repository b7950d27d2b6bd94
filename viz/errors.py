"""Errors that end a command: a wrong command line, and a failure of the user's program."""

from __future__ import annotations

import os
import sys
import sysconfig
import traceback
from collections.abc import Sequence
from pathlib import Path

from .programs.libraries import installed


class Usage(Exception):
    """The command is wrong; the message ends with the fix."""

    @classmethod
    def of(cls, error: Exception) -> Usage:
        """Return the problem and the fix of one of minigrad's errors as sentences, without its operation and its line."""
        lines = [line for line in str(error).splitlines() if not line.startswith("  at ")]
        first, *more = [line.removeprefix("  To fix: ") for line in lines]
        sentences = [first.partition(": ")[2] or first, *[line[:1].upper() + line[1:] for line in more]]
        return cls(". ".join(sentences) + ".")


class Undrawable(ValueError):
    """A picture cannot be drawn as requested; the message ends with the fix."""


class Failure(Exception):
    """The user's program failed; the message is its traceback."""

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """Return a failure with the traceback of an error, without the frames of minigrad and viz."""
        text = "".join(_trimmed(traceback.TracebackException.from_exception(error)).format()).rstrip()
        lacks = isinstance(error, ModuleNotFoundError) and error.name == "torch" and not installed("torch")
        return cls(text + "\n  To fix: add --as-torch to compute with minigrad" * lacks)


def is_users(error: Exception) -> bool:
    """Return True for an error of minigrad, and for one that the user's program raised or passed on."""
    import minigrad

    frames = _inside_the_command(traceback.extract_tb(error.__traceback__))
    own = [frame for frame in frames if not frame.filename.startswith((*_packages(), *INSTALLED, "<frozen "))]
    return isinstance(error, minigrad.MinigradError) or bool(own)


INSTALLED = tuple(f"{path}{os.sep}" for name, path in sysconfig.get_paths().items() if name in ("stdlib", "purelib"))


def _trimmed(error: traceback.TracebackException) -> traceback.TracebackException:
    """Remove the frames of the command, minigrad, viz and PyTorch from a traceback and from its causes."""
    ours = _packages()
    todo: list[traceback.TracebackException | None] = [error]
    while todo:
        if (one := todo.pop()) is not None:
            kept = [frame for frame in _inside_the_command(one.stack) if not frame.filename.startswith(ours)]
            one.stack = traceback.StackSummary.from_list(kept)
            todo += [one.__cause__, one.__context__]
    return error


def _inside_the_command(frames: Sequence[traceback.FrameSummary]) -> Sequence[traceback.FrameSummary]:
    """Return the frames of a traceback from the function of a command on, or all if no command runs."""
    commands = f"{Path(__file__).parent / 'commands'}{os.sep}"
    return frames[next((i for i, frame in enumerate(frames) if frame.filename.startswith(commands)), 0) :]


def _packages() -> tuple[str, ...]:
    """Return the folders of minigrad, viz and PyTorch."""
    import minigrad

    torch = getattr(sys.modules.get("torch"), "__file__", None)
    return tuple(f"{Path(file).parent}{os.sep}" for file in (minigrad.__file__, __file__, torch) if file)
