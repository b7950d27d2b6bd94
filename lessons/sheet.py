"""Sheets: notebooks with exercises of the bank, one for each student, with that student's numbers.

The metadata of a sheet names its title, the student and the exercises, so that `check` and `grade` know the numbers.
"""

import itertools
import json
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from . import instructor
from .bank import LEVELS, TOPICS, Entry, entries

LONGEST = 80  # characters of a title or a student's name
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}


@dataclass(frozen=True)
class Sheet:
    """Exercises of the bank for one student."""

    title: str
    student: str
    exercises: tuple[str, ...]

    @property
    def name(self) -> str:
        """The title as the beginning of a file name.

        >>> Sheet("Week 3: memory", "Ada L.", ()).name
        'week_3_memory'
        """
        return slug(self.title)

    @property
    def file(self) -> str:
        """The file name of the student's notebook.

        >>> Sheet("Week 3: memory", "Ada L.", ()).file
        'week_3_memory-ada_l.ipynb'
        """
        return f"{self.name}-{slug(self.student)}.ipynb"


def slug(words: str) -> str:
    """Return words as a part of a file name: lower case, with underscores."""
    return "_".join(re.findall(r"\w+", words.lower())) or "sheet"


def chosen(title: str, wanted: Sequence[str] = (), levels: Iterable[int] = (), count: int = 6) -> tuple[str, ...]:
    """Return the names of `count` exercises, the easy ones first; equal arguments give equal exercises.

    `wanted` are topics and names of exercises.  Named exercises are always chosen; the topics share the other places.  Without
    `wanted`, all topics do.  Raise ValueError for an unknown topic, or if there are too few exercises.

    >>> len(chosen("Week 1", ["chain_rule", "slope_of_tanh"], count=3))
    3
    """
    bank, draw = entries(), random.Random(f"sheet {title}")
    found = [word for word in wanted if word in bank]
    topics = dict.fromkeys(topic(word) for word in wanted if word not in bank) if wanted else TOPICS
    levels = set(levels) or set(LEVELS)
    queues = [[one.name for one in bank.values() if one.topic == each and one.level in levels] for each in topics]
    for queue in queues:
        draw.shuffle(queue)
    draw.shuffle(queues)
    for round_of_topics in itertools.zip_longest(*queues):
        found += [name for name in round_of_topics if name is not None and name not in found]
    if topics and len(found) < count:
        raise ValueError(f"the bank has {len(found)} such exercises, fewer than {count}")
    found = found[:count] if topics else found
    return tuple(sorted(found, key=lambda name: (bank[name].level, name)))


def topic(word: str) -> str:
    """Return the topic that a word names; raise ValueError if there is none.

    >>> topic("Chain-rule"), topic("chain")
    ('chain_rule', 'chain_rule')
    """
    short = slug(word)
    found = [one for one in TOPICS if one == short] or [one for one in TOPICS if one.startswith(short)]
    if len(found) != 1:
        raise ValueError(f"there is no topic or exercise {word}: topics are {', '.join(TOPICS)}")
    return found[0]


def notebook(sheet: Sheet, solved: bool = False) -> str:
    """Return a sheet as the text of an .ipynb file; with `solved`, with answers, hints and common mistakes."""
    from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, writes

    cells = [
        new_markdown_cell(
            f"# {sheet.title}\n\n{sheet.student}\n\nReplace the dots, and run each cell to check your answer."
        ),
        new_code_cell("import numpy as np\n\nimport lessons\nimport minigrad as torch"),
    ]
    for number, name in enumerate(sheet.exercises, 1):
        one = entries()[name]
        task = one.task(sheet.student)
        if solved and not task.solution:
            raise LookupError(f"the solution of {name} is not on this machine")
        cells.append(new_markdown_cell(f"## {number}. {one.title}\n\n{task.text}"))
        check = f'lessons.check("{name}", {name}, student={json.dumps(sheet.student, ensure_ascii=False)})'
        cell = f"{task.start}\n\n{check}"
        if solved:
            cell = "\n\n".join(part.strip("\n") for part in instructor.solved(cell, {name: task.solution}))
        cells.append(new_code_cell(cell))
        if solved:
            cells.append(new_markdown_cell(help_below(one, sheet.student)))
    for number, cell in enumerate(cells, 1):
        cell.id = f"cell-{number}"
    data = {"kernelspec": KERNEL, "language_info": {"name": "python"}, "minigrad": {"sheet": asdict(sheet)}}
    return writes(new_notebook(cells=cells, metadata=data))


def help_below(one: Entry, student: str) -> str:
    """Return the hints and the common mistakes of an exercise as Markdown, with a student's numbers."""
    task = one.task(student)
    return instructor.listed(one.hints, [f"`{source}`: {words}" for source, words in task.wrong if "\n" not in source])


def write(sheet: Sheet, folder: Path, solved: bool = False) -> tuple[Path, bool]:
    """Write a sheet's notebook; return its path, and False if the file exists, which is left unchanged."""
    path = folder / sheet.file.replace(".ipynb", ".instructor.ipynb" if solved else ".ipynb")
    if path.exists():
        return path, False
    text = notebook(sheet, solved)  # first, since it may fail
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return path, False
    return path, True


def read(found: object) -> Sheet:
    """Return the sheet that a notebook's metadata describe; raise ValueError if they do not describe one."""
    match found:
        case {"title": str(title), "student": str(student), "exercises": [*names]} if all(
            isinstance(n, str) for n in names
        ):
            return checked(Sheet(title, student, tuple(dict.fromkeys(names))))
    raise ValueError("its metadata do not describe a sheet of the exercise bank")


def checked(sheet: Sheet) -> Sheet:
    """Return a sheet; raise ValueError for long names, and for exercises that the bank does not have."""
    for words in (sheet.title, sheet.student):
        if len(words) > LONGEST or not words.isprintable():
            raise ValueError(f"a title or a name has at most {LONGEST} characters in one line, got {words[:LONGEST]!r}")
    if unknown := [name for name in sheet.exercises if name not in entries()]:
        raise ValueError(f"the exercise bank has no {unknown[0][:LONGEST]!r}")
    return sheet
