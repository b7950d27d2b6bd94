"""How minigrad says that something went wrong: what happened with its numbers, where in the user's file, what to do.

Every error of the library is built by `error`, in the type that PyTorch raises for the same mistake, so that ported
`except` clauses keep working.
"""

import linecache
import os
import sys
import warnings
from types import FrameType
from typing import NamedTuple

PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class MinigradWarning(UserWarning):
    """The category of every warning that minigrad gives."""


class Place(NamedTuple):
    """A line of the user's program; its text is read only when it is shown."""

    file: str
    line: int

    @property
    def code(self) -> str:
        """The text of the line, without its indentation; empty where the source is not at hand."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        code = self.code
        return f"{self.file}:{self.line}" + (f": {code}" if code else "")


def user_frame(depth: int = 1) -> FrameType | None:
    """The innermost running frame that is not minigrad's own."""
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return frame


def user_place() -> Place | None:
    """The line of the user's program that is being run."""
    frame = user_frame(2)
    return None if frame is None else Place(frame.f_code.co_filename, frame.f_lineno)


def error(kind: type[Exception], who: str, what: str, fix: str = "", where: Place | None = None) -> Exception:
    """An exception to raise: `who` names the operation or Function, `what` the fault with its numbers, `fix` the remedy.

    >>> print(error(ValueError, "add", "3 is not 4", "pass 4"))  # doctest: +ELLIPSIS
    add: 3 is not 4
      at ...
      To fix: pass 4
    """
    where = where or user_place()
    lines = [f"{who}: {what}"]
    if where is not None:
        lines.append(f"  at {where}")
    if fix:
        lines.append(f"  To fix: {fix}")
    e = kind("\n".join(lines))
    e.place = where  # type: ignore[attr-defined]  # marks it as complete: nobody has to explain it again
    return e


def warn(who: str, what: str, fix: str = "") -> None:
    """Give a MinigradWarning at the user's line."""
    frame = user_frame(2)
    text = f"{who}: {what}" + (f"\n  To fix: {fix}" if fix else "")
    if frame is None:
        warnings.warn(text, MinigradWarning, stacklevel=2)
        return
    names = frame.f_globals
    warnings.warn_explicit(
        text,
        MinigradWarning,
        frame.f_code.co_filename,
        frame.f_lineno,
        names.get("__name__"),
        names.setdefault("__warningregistry__", {}),
    )
