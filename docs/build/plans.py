"""Read the course plans from the teachers' page: the tables with links to lessons are the order of the slides.

A plan is a section "One week (...)" with a table.  Each row becomes a deck; a plan in minutes is one deck with a block per row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from lessons import Lesson, lesson
from lessons.catalogue import cells, minutes

PLAN = re.compile(r"^## (One (\w+) \([^\n]+\))\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
STEP = re.compile(
    r"\]\(lessons/(?P<lesson>\w+)\.md\)(?P<homework> as homework)?"
    r"|`minigrad lessons check (?P<exercises>\d+)`|\*(?P<picture>[\w-]+)\*|\((?P<projects>projects)\.md\)"
)
MATERIAL = ("lessons", "material")
TOPIC = "topic"


@dataclass(frozen=True)
class Block:
    """A row of a plan: its place in the plan, such as "Week 5", and its cells by column."""

    place: str
    cells: dict[str, str]

    @property
    def goal(self) -> tuple[str, str]:
        """The last column and its cell, such as the task of a week; ("", "") if this is the material."""
        column, cell = list(self.cells.items())[-1]
        return ("", "") if column in MATERIAL else (column, cell)

    @cached_property
    def steps(self) -> list[tuple[str, str]]:
        """Return the steps to show, in order: pairs of a kind and a name.

        The kinds are "lesson", "opening" (a lesson without its exercises), "exercises", "homework", "picture" and "projects".
        """
        found = []
        for step in STEP.finditer(" ".join(self.cells.values())):
            kind, name = next((kind, name) for kind, name in step.groupdict().items() if name and kind != "homework")
            if kind == "lesson" and step["homework"]:
                kind = "homework"
            elif kind == "lesson" and "up to the exercises" in self.cells.get(TOPIC, ""):
                kind = "opening"
            found.append((kind, lesson(name).name if kind == "exercises" else name))
        return found

    @property
    def minutes(self) -> int:
        """The minutes that the steps in class take: lessons without homework, and lessons up to their exercises."""
        took = {"lesson": lambda one: one.minutes, "opening": opening_minutes}
        return sum(took[kind](lesson(name)) for kind, name in self.steps if kind in took)


def opening_minutes(one: Lesson) -> int:
    """Return the minutes of a lesson up to its exercises.

    >>> opening_minutes(lesson(1)) < lesson(1).minutes - 10
    True
    """
    parts = []
    for title, text in cells(one.path):
        before, heading, _ = text.partition("# ## Exercises")
        parts.append((title, before))
        if heading:
            break
    return minutes(parts)[0]


@dataclass(frozen=True)
class Deck:
    """A file of slides: its name, its plan's title and introduction, and its blocks."""

    name: str
    place: str
    plan: str
    about: str
    blocks: tuple[Block, ...]


def decks(page: str) -> dict[str, list[Deck]]:
    """Return the decks of each plan on the teachers' page, by the plan's short name.

    >>> page = "## One day (6 hours)\\n\\nFor all.\\n\\n| hour | lessons |\\n| --- | --- |\\n| 1 | [2](lessons/02_b.md) |\\n"
    >>> [(deck.name, deck.place, deck.blocks[0].steps) for deck in decks(page)["day"]]
    [('day-hour-1', 'Hour 1', [('lesson', '02_b')])]
    """
    found = {}
    for title, name, text in PLAN.findall(page):
        about = text.strip().partition("\n\n")[0].replace("\n", " ")
        blocks = list(rows(text))
        if blocks[0].place.endswith("minutes"):
            found[name] = [Deck(name, "", title, about, tuple(blocks))]
            continue
        width = len(str(len(blocks)))  # week-01: files stand in their order
        slugs = [re.sub(r"\d+$", lambda n: n[0].zfill(width), one.place.lower()).replace(" ", "-") for one in blocks]
        found[name] = [Deck(f"{name}-{slug}", one.place, title, "", (one,)) for slug, one in zip(slugs, blocks)]
    return found


def rows(text: str) -> Iterator[Block]:
    """Yield the rows of the table in a plan."""
    table = [line.strip("| ") for line in text.splitlines() if line.startswith("|")]
    head, _, *others = [[cell.strip() for cell in line.split("|")] for line in table]
    for first, *rest in others:
        unit = f"{first} minutes" if head[0] == "minutes" else f"{head[0].capitalize()} {first}"
        yield Block(unit if first.isdigit() else first, dict(zip(head[1:], rest)))


def links(page: str, name: str) -> str:
    """Return the links to the decks of a plan as a line of Markdown, each with the minutes of its lessons in class."""
    times = [(deck, sum(block.minutes for block in deck.blocks) if deck.place else 0) for deck in decks(page)[name]]
    return " · ".join(
        f"[{deck.place or deck.plan}](slides/{deck.name}.html){f' ({minutes} min)' * bool(minutes)}"
        for deck, minutes in times
    )


def listed(page: str) -> str:
    """Return the links to all decks as a list in Markdown."""
    return "\n".join(f"- {name}: {links(page, name)}" for name in decks(page))
