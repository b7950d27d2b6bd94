"""Spelling: how a built-in operation is written with public names.

Most are called as they are declared.  The tables of this folder say how others are written, and what those are that only
the library knows: a function of tensors in public operations, which is run in their place.
"""

from __future__ import annotations

from collections.abc import Callable

# class -> (layer, class, output or outputs, *arguments) -> the expression or term of the output, or of each
WRITTEN: dict[type, Callable] = {}
DEFINED: dict[type, Callable] = {}  # class -> (arguments) -> the result, in public operations


def written(*classes: type) -> Callable:
    """Enter how operations are written."""

    def enter(f: Callable) -> Callable:
        WRITTEN.update(dict.fromkeys(classes, f))
        return f

    return enter


def defined(*classes: type) -> Callable:
    """Enter what operations are in public ones."""

    def enter(f: Callable) -> Callable:
        DEFINED.update(dict.fromkeys(classes, f))
        return f

    return enter
