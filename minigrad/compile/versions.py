"""What the versions of a compiled function differ in: for the warning that there are many, and for `explain()`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.tensor import Tensor
from .guards import equal

if TYPE_CHECKING:
    from .specialization import Specialisation

SHOWN = 3  # values of those that change
LISTED = 6  # guards of a version

REMEDIES = {
    "argument": "{} decides what is computed, as a size or the count of a loop does: keep it to a few values",
    "outside": "make {} an argument: what is computed of a number there is no part of the program",
    "size": "pad {} to a few sizes, or call the function without compile for the odd ones",
    "other": "keep {} as it is between calls, or make it a tensor",
}


class Change(NamedTuple):
    """Hold what differs between versions: its name, the values that it has had, and what to do about it."""

    name: str
    values: list[str]
    remedy: str

    def __str__(self) -> str:
        last = ", ".join(self.values[-SHOWN:])
        return f"{self.name} has had {len(self.values)} values, of which the last are {last}"


def change(versions: Sequence[Specialisation]) -> Change | None:
    """Return what differs most often between versions, an argument or something else that the function reads."""
    found = [*arguments(versions), *surroundings(versions)]
    most = max(found, key=lambda one: len(one.values), default=None)
    return most if most is not None and len(most.values) > 1 else None


def arguments(versions: Sequence[Specialisation]) -> list[Change]:
    """Return the values that each argument has had."""
    return changes("argument", ((name, said, value) for version in versions for name, said, value in version.arguments))


def surroundings(versions: Sequence[Specialisation]) -> list[Change]:
    """Return the values that globals, attributes and the like have had, and what numbers among the arguments decided."""
    guards = [(path, value) for version in versions for path, _, value, _ in version.environment.guards]
    decisions = [decision for version in versions for decision in version.decisions.items()]
    outside = changes("outside", ((path, repr(value), value) for path, value in guards))
    return [*outside, *changes("argument", ((path, repr(value), value) for path, value in decisions))]


def changes(what: str, seen: Iterable[tuple[str, str, Any]]) -> list[Change]:
    """Return the different values of each thing of a kind, of what was seen: name, value in words, value."""
    by_name: dict[str, dict[str, Any]] = {}
    for name, said, value in seen:
        by_name.setdefault(name, {})[said] = value
    return [
        Change(
            name,
            [f"{value:.6g}" if type(value) is float else said for said, value in values.items()],
            remedy(what, name, list(values.values())),
        )
        for name, values in by_name.items()
    ]


def remedy(what: str, name: str, values: list) -> str:
    """Return what to do about a thing that changes."""
    if all(type(value) in (int, float, bool) for value in values):
        return REMEDIES[what].format(name)
    return REMEDIES["size" if all(value is Tensor for value in values) else "other"].format(name)


def told(version: Specialisation, versions: Sequence[Specialisation]) -> str:
    """Return what one of several versions is for: its arguments, and what its guards want, first what others want else."""
    differ = {one.name for one in surroundings(versions) if len(one.values) > 1}
    given = ", ".join([f"{name} {said}" for name, said, _ in version.arguments])
    wanted = {path: value for path, _, value, same in version.environment.guards if same is equal} | version.decisions
    usual = lambda path: path not in version.decisions and path.startswith(("len(", "frozenset("))
    order = sorted(wanted, key=lambda path: (path not in differ, path not in version.decisions, usual(path)))
    shown = [f"{path} is {wanted[path]!r}" for path in order[:LISTED]]
    if others := len(version.environment.guards) + len(version.decisions) - len(shown):
        shown.append(f"{others} more as before")
    return (given or "no arguments") + (f"; where {', '.join(shown)}" if shown else "")
