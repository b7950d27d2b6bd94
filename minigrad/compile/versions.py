"""Differences between the versions of a compiled function, for the warning about many versions and for `explain()`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.tensor import Tensor

if TYPE_CHECKING:
    from .specialization import Specialisation

SHOWN = 3  # values shown of those that change
LISTED = 6  # guards listed for a version

REMEDIES = {
    "argument": "{} decides what is computed, like a size or a loop count: keep it to a few values",
    "outside": "make {} an argument or an attribute: numbers there are parameters of the program",
    "size": "pad {} to a few sizes, or call the function without compile for the odd ones",
    "other": "keep {} unchanged between calls, or make it a tensor",
}


class VersionChange(NamedTuple):
    """A value that differs between versions: its name, the values so far, and the fix."""

    name: str
    values: list[str]
    remedy: str

    def __str__(self) -> str:
        last = ", ".join(self.values[-SHOWN:])
        return f"{self.name} took {len(self.values)} values, most recently {last}"


def change(versions: Sequence[Specialisation]) -> VersionChange | None:
    """Return the value that differs most often between versions, an argument or one from outside; None if none differs."""
    most = max(changes(versions), key=lambda one: len(one.values), default=None)
    return most if most is not None and len(most.values) > 1 else None


def changes(versions: Sequence[Specialisation]) -> list[VersionChange]:
    """Return the values of each argument, of each global, attribute and the like, and of each decision by a number."""
    by_name: dict[str, dict[str, Any]] = {}
    outside = set()
    for version in versions:
        seen = [*version.arguments, *[(name, repr(value), value) for name, value in version.decisions.items()]]
        guards = [(path, repr(value), value) for path, value, _ in version.guards.guards]
        outside |= {path for path, _, _ in guards}
        for name, text, value in [*seen, *guards]:
            by_name.setdefault(name, {})[text] = value
        outside -= {name for name, _, _ in seen}  # a number that has changed once is a parameter
    found = []
    for name, values in by_name.items():
        shown = [f"{value:.6g}" if type(value) is float else text for text, value in values.items()]
        where = "outside" if name in outside else "argument"
        found.append(VersionChange(name, shown, remedy(where, name, list(values.values()))))
    return found


def remedy(what: str, name: str, values: list) -> str:
    """Return the fix for a value that changes."""
    if all(type(value) in (int, float, bool) for value in values):
        return REMEDIES[what].format(name)
    return REMEDIES["size" if all(value is Tensor for value in values) else "other"].format(name)


def describe(version: Specialisation, versions: Sequence[Specialisation]) -> str:
    """Return a description of one version: its arguments, and its guards, those that differ between versions first."""
    differ = {one.name for one in changes(versions) if len(one.values) > 1}
    arguments = ", ".join([f"{name} {text}" for name, text, _ in version.arguments])
    wanted = {path: value for path, value, shown in version.guards.guards if shown} | version.decisions
    usual = lambda path: path not in version.decisions and path.startswith(("len(", "frozenset("))
    order = sorted(wanted, key=lambda path: (path not in differ, path not in version.decisions, usual(path)))
    shown = [f"{path} is {wanted[path]!r}" for path in order[:LISTED]]
    others = len(version.guards.guards) + len(version.decisions) - len(shown)
    if shown and others:
        shown.append(f"{others} more")
    return (arguments or "no arguments") + (f"; where {', '.join(shown)}" if shown else "")
