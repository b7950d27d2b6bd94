"""The results of a check, as plain data: an Outcome for each row of the table, and the Result that holds them."""

import html
import re
import textwrap
from dataclasses import asdict, dataclass, field
from typing import Any

from ...places import Place

COUNTED = {
    "holds": ("rule holds", "rules hold"),
    "fails": ("fails", "fail"),
    "not defined": ("does not apply", "do not apply"),
    "left out": ("is left out", "are left out"),
}  # singular and plural
SIGNS = {"holds": "✓", "fails": "✗", "not defined": "·", "left out": "–"}


@dataclass(eq=False)
class Fault(Exception):
    """A fault found by a row: the message with its numbers, the fix as code, and where to look.

    `method` is the faulty method; `pattern` finds the line in it (default: its last `return`) unless `place` is known.
    `numbers` tells where forward and backward disagree; `kind` is the part of the message that smaller inputs must share.
    """

    message: str
    remedy: str
    method: str = "backward"
    pattern: str = ""
    numbers: dict | None = None
    kind: str = ""
    place: Place | None = None

    def __post_init__(self):
        self.kind = self.kind or re.sub(r"[-+\d.e]+|\(.*?\)|\[.*?\]", "", self.message)


@dataclass(eq=False)
class Absent(Exception):
    """Raised if the Function does not define what a row checks; the remedy is the code to add."""

    message: str
    remedy: str = ""


class Internal(Exception):
    """Raised if the check itself fails: nothing is known about the Function."""


@dataclass
class Outcome:
    """One row: `status` is holds, fails, not defined, or left out; unused fields are empty."""

    group: str
    name: str
    status: str
    message: str = ""
    input: str = ""  # the smallest call that fails, as code to paste
    line: str = ""  # FILE:LINE: code
    remedy: str = ""  # code to type
    about: str = ""  # the rule that the row checks
    disagreement: dict | None = None  # argument, position, index, analytical and numerical derivative, cause


@dataclass
class Result:
    """All rows of one check.  It is true if no row fails, and prints as a table."""

    function: str
    library: str
    input: str  # the arguments, as code
    guessed: bool
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """True if no row fails."""
        return not self.failures

    @property
    def failures(self) -> list[Outcome]:
        """The rows that fail."""
        return [one for one in self.outcomes if one.status == "fails"]

    def __bool__(self) -> bool:
        return self.ok

    def __getitem__(self, name: str) -> Outcome:
        """Return the row with this name."""
        for one in self.outcomes:
            if one.name == name:
                return one
        raise KeyError(f"there is no row {name!r}; the rows are {', '.join(one.name for one in self.outcomes)}")

    @property
    def to_add(self) -> list[tuple[str, str, str]]:
        """The methods that the Function could add: (the rows' names, why they do not apply, the code to add)."""
        found: dict[str, list[Outcome]] = {}
        for one in self.outcomes:
            if one.status == "not defined" and one.remedy:
                found.setdefault(one.remedy, []).append(one)
        return [(", ".join(o.name for o in rows), rows[0].message, remedy) for remedy, rows in found.items()]

    def assert_ok(self) -> None:
        """Raise AssertionError with the failures, each with its input, line and fix; for tests."""
        if self.failures:
            raise AssertionError("\n\n".join([self.heading, *(described(one) for one in self.failures)]))

    @property
    def heading(self) -> str:
        """The number of rules that hold, fail, do not apply, and are left out."""
        counts = {status: sum(one.status == status for one in self.outcomes) for status in COUNTED}
        words = [f"{n} {COUNTED[status][n != 1]}" for status, n in counts.items() if n]
        return f"{self.function} ({self.library}): {', '.join(words)}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON data."""
        return {"ok": self.ok, **asdict(self)}

    def __str__(self) -> str:
        wide = max(len(one.name) for one in self.outcomes)
        lines, group = [f"{self.heading}", *textwrap.indent(self.input, "    ").splitlines()], ""
        for one in self.outcomes:
            lines += ["", one.group] if one.group != group else []
            group = one.group
            lines.append(f"  {SIGNS[one.status]} {one.name:{wide}}  {one.message}".rstrip())
        lines += [f"\n{described(one)}" for one in self.failures]
        for names, message, remedy in self.to_add:
            lines.append(f"\n· {names}: {message}. To support them, add:\n{textwrap.indent(remedy, '      ')}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><td>{SIGNS[one.status]}</td><td>{html.escape(one.name)}</td>"
            f"<td style='text-align:left'>{html.escape(one.message)}</td></tr>"
            for one in self.outcomes
        )
        failures = "".join(f"<pre>{html.escape(described(one))}</pre>" for one in self.failures)
        return f"<p>{html.escape(self.heading)}</p><table>{cells}</table>{failures}"


def described(one: Outcome) -> str:
    """Return the full text of a failure; the row's name comes first, unless the message begins with it."""
    message = one.message.removeprefix(one.name.removeprefix("func.") + ": ")
    lines = [f"✗ {one.name}: {message}"]
    lines += [f"  at {one.line}"] if one.line else []
    lines += ["  Smallest input:", textwrap.indent(one.input, "      ")] if one.input else []
    lines += ["  To fix:", textwrap.indent(one.remedy, "      ")] if one.remedy else []
    return "\n".join(lines)
