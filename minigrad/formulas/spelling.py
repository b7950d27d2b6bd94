"""Spelling: how built-in operations are written with public names.

Most are calls of their declared names. The tables of this folder contain the others. An operation that is internal to the
library has a definition in public operations, which runs instead.
"""

from __future__ import annotations

from collections.abc import Callable

# class -> (layer, class, output or outputs, *arguments) -> the expression or term of the output, or one for each
WRITTEN: dict[type, Callable] = {}
DEFINED: dict[type, Callable] = {}  # class -> (arguments) -> the result, in public operations


def written(*classes: type) -> Callable:
    """Register the spelling of operations."""

    def enter(f: Callable) -> Callable:
        WRITTEN.update(dict.fromkeys(classes, f))
        return f

    return enter


def defined(*classes: type) -> Callable:
    """Register the definition of operations in terms of public ones."""

    def enter(f: Callable) -> Callable:
        DEFINED.update(dict.fromkeys(classes, f))
        return f

    return enter
