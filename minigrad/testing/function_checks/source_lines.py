"""Places in the user's file: the line of a method, and the line that raised an exception."""

import ast
import inspect
import io
import os
import re
import textwrap
import tokenize
import traceback
from typing import Any

from ...places import PACKAGE, Place

METHODS = ("forward", "setup_context", "backward", "vjp", "jvp", "vmap")
LIBRARIES = (PACKAGE, f"{os.sep}site-packages{os.sep}", f"{os.sep}lib{os.sep}python")


def place_of(function: Any, method: str, pattern: str = "") -> Place | None:
    """Return the line of a method that matches the pattern, or its last return, or its `def`.

    Returns None if the source is not available.
    """
    try:
        code = inspect.unwrap(getattr(function, method))
        lines, start = inspect.getsourcelines(code)
        file = inspect.getsourcefile(code) or ""
    except (OSError, TypeError, AttributeError):
        return None
    matching = [k for k, line in enumerate(lines) if pattern and re.search(pattern, line)]
    return Place(file, start + (matching[0] if matching else last_return("".join(lines))))


def comments(cls: type) -> list[str]:
    """Return the comments in a class and above it; none if its source is not available."""
    try:
        source = io.StringIO(textwrap.dedent(inspect.getsource(cls)))
        inside = [token.string for token in tokenize.generate_tokens(source.readline) if token.type == tokenize.COMMENT]
        return [inspect.getcomments(cls) or "", *inside]
    except (OSError, TypeError, SyntaxError, tokenize.TokenError):
        return []


def last_return(source: str) -> int:
    """Return the distance in lines from the first line to the last return, or else to the `def`."""
    try:
        tree = ast.parse(textwrap.dedent(source))
    except SyntaxError:  # a lambda inside an expression
        return 0
    returns = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Return)]
    found = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return max(returns or found[:1] or [1]) - 1


def first_line(error: BaseException) -> str:
    """Return the first line of an exception's message, or the name of its class if it has no message.

    >>> first_line(ValueError("one\\ntwo")), first_line(AssertionError())
    ('one', 'AssertionError')
    """
    return str(error).strip().partition("\n")[0] or type(error).__name__


def with_kind(error: BaseException) -> str:
    """Return the name of an exception's class and the first line of its message.

    >>> with_kind(ValueError("one\\ntwo")), with_kind(AssertionError())
    ('ValueError: one', 'AssertionError')
    """
    kind = type(error).__name__
    return f"{kind}: {first_line(error)}".removesuffix(f": {kind}")


def is_own(error: Exception) -> bool:
    """Return True if a check raised an exception itself: no method of the Function and no library did."""
    frames = traceback.extract_tb(error.__traceback__)
    while frames and f"{os.sep}numpy{os.sep}" in frames[-1].filename:
        frames.pop()  # an operation of NumPy belongs to its caller
    inside = bool(frames) and frames[-1].filename.startswith(os.path.dirname(__file__))
    return inside and not isinstance(error, RuntimeError)  # which C code of PyTorch raises, without a frame


def place_of_error(error: BaseException) -> Place | None:
    """Return the innermost user's line, below this package, that an exception passed through."""
    frames = traceback.extract_tb(error.__traceback__)
    last = max(
        (k for k, frame in enumerate(frames) if frame.filename.startswith(os.path.dirname(__file__))), default=-1
    )
    own = [f for f in frames[last + 1 :] if not any(part in f.filename for part in LIBRARIES)]
    return Place(own[-1].filename, own[-1].lineno or 0) if own else None


def method_of(error: BaseException, otherwise: str) -> str:
    """Return the innermost method of a Function that an exception passed through."""
    names = [f.name for f in traceback.extract_tb(error.__traceback__) if PACKAGE not in f.filename]
    return next((name for name in reversed(names) if name in METHODS), otherwise)
