"""Whose notebook it is: from its file name, from a pattern of the teacher, or from the list of the class."""

import csv
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from .grading import Graded

COPY = re.compile(r"[-_ ]*(?:\(\d+\)|copy ?\d*)$", re.IGNORECASE)
NAME, PARTS = ("student", "name", "full name"), ("first name", "last name")  # heads of columns
ABSENT = "not handed in"


def assign(
    all_of_them: Sequence[Graded], pattern: re.Pattern | None = None, listed: Sequence[str] = ()
) -> list[Graded]:
    """Set the student of each grade, and return the grades with one more for each missing notebook of a class.

    `pattern` has a group `student`; it is matched with file names, or with whole paths if it contains a slash.  A name of the
    class, `listed`, belongs to a file if all its words are in the path; more words win.  A student misses a notebook if
    another one handed in that lesson.  If all are of one lesson, so is a notebook of the class that cannot be read.
    """
    for graded, name in zip(all_of_them, names(all_of_them)):
        graded.student = name
        if pattern is not None:
            path = graded.file if "/" in pattern.pattern else PurePosixPath(graded.file).name
            if matched := pattern.match(path):
                graded.student = (matched["student"] or "").strip() or name
            else:
                graded.remarks.append("its name does not match --student")
        if listed:
            own = in_class(graded.student, listed) or in_class(graded.file, listed)
            graded.student = own or graded.student
            if not own:
                graded.remarks.append("no name of the class belongs to it")
    lessons = {one.lesson: dict.fromkeys(one.statuses, "missing") for one in all_of_them if one.statuses} or {"": {}}
    for graded in all_of_them:
        if len(lessons) == 1 and not graded.lesson and graded.student in listed:
            graded.lesson, graded.statuses = next((name, dict(statuses)) for name, statuses in lessons.items())
            graded.messages = dict.fromkeys(graded.statuses, "The notebook could not be run.")
    handed_in = {(one.student, one.lesson) for one in all_of_them}
    absent = [
        Graded("", lesson, statuses, student=name, notes=[ABSENT])
        for name in listed
        for lesson, statuses in lessons.items()
        if not handed_in & {(name, lesson), (name, "")}  # a notebook that cannot be read may be of any lesson
    ]
    return [*all_of_them, *absent]


def in_class(text: str, listed: Sequence[str]) -> str:
    """Return the name of the class whose words are all in a text, or "" for none or several with equally many words.

    >>> in_class("Lee Ann_12345_file/01_numbers.ipynb", ["Ann", "Ann Lee", "Ben"])
    'Ann Lee'
    """
    there = words(text)
    counts = {name: len(words(name)) for name in listed if words(name) and words(name) <= there}
    best = [name for name, count in counts.items() if count == max(counts.values())]
    return best[0] if len(best) == 1 else ""


def words(text: str) -> set[str]:
    """Return the words of a text in lower case; systems write letters with accents in different ways."""
    return set(re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", text).casefold()))


def read_class(path: Path) -> list[str]:
    """Return the names in a file: one in each line, or of a .csv file the column student or name, or else the first one.

    The columns "first name" and "last name" are joined.  Raise OSError or ValueError for a file that cannot be read.
    """
    text = path.read_text(encoding="utf-8-sig")
    found = text.splitlines()
    if path.suffix.lower() == ".csv" and found:
        heads, *rows = csv.reader(found, delimiter=";" if found[0].count(";") > found[0].count(",") else ",")
        known = [head.strip().lower() for head in heads]
        columns = [known.index(name) for name in NAME if name in known][:1]
        columns = columns or [known.index(name) for name in PARTS if name in known]
        rows = rows if columns else [heads, *rows]
        found = [" ".join(row[i].strip() for i in columns or [0] if i < len(row)) for row in rows]
    return list(dict.fromkeys(name.strip() for name in found if name.strip()))


def names(all_of_them: Sequence[Graded]) -> list[str]:
    """Return a student's name for each notebook: from its file name, or from its folder.

    The lesson's name in a file name counts as no name.  If two notebooks of one lesson would have the same name, their paths
    tell them apart.

    >>> names([Graded("ann/01_numbers.ipynb", "01_numbers"), Graded("01_numbers_ben.ipynb", "01_numbers")])
    ['ann', 'ben']
    """
    by_file, by_folder = [], []
    for graded in all_of_them:
        path = PurePosixPath(graded.file)
        own = COPY.sub("", path.stem.replace(graded.lesson, "") if graded.lesson else path.stem).strip(" _-.")
        own, folder = own if any(map(str.isalpha, own)) else "", path.parent.name
        whole = str(path.with_suffix(""))
        by_file.append(own or folder or whole)
        by_folder.append(folder or own or whole)
    found = min(by_file, by_folder, key=lambda names: len(clashes(names, all_of_them)))
    twice = clashes(found, all_of_them)
    return [
        str(PurePosixPath(graded.file).with_suffix("")) if i in twice else name
        for i, (graded, name) in enumerate(zip(all_of_them, found))
    ]


def clashes(found: Sequence[str], all_of_them: Sequence[Graded]) -> set[int]:
    """Return the positions of notebooks that have both name and lesson in common with another."""
    places: dict[tuple[str, str], list[int]] = {}
    for i, (name, graded) in enumerate(zip(found, all_of_them)):
        places.setdefault((name, graded.lesson), []).append(i)
    return {i for group in places.values() if len(group) > 1 for i in group}
