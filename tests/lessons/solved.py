"""Make lessons with answers instead of their gaps: the solutions, or those of the folder answers."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from lessons import Lesson
from lessons.catalogue import cells
from lessons.instructor import solutions, solved

__all__ = ["answers", "solutions", "solved"]

ANSWERS = Path(__file__).parent / "answers"


def answers(one: Lesson) -> list[tuple[str, str, str, str]]:
    """Return the answers in a file: right or wrong, the exercise, a word of the verdict, and the text.

    A cell is one answer, or under the title "values" one in each line, with the word as its comment.
    """
    found: list[tuple[str, str, str, str]] = []
    for title, text in cells(ANSWERS / one.folder / one.path.name):
        match = re.fullmatch(r"(?:values|right|(wrong)) (\w+)(?:: (.+))?", title)
        assert match and bool(match[1]) == bool(match[3]), f"{one.path.name}: a cell is titled '# %% {title}'"
        name = match[2]
        if title.startswith("values"):
            found += [("wrong" if word else "right", name, word, f"{name} = {value}\n") for value, word in values(text)]
        else:
            known = [solutions(one)[name], *(text for _, which, _, text in found if which == name)]
            found.append((match[1] or "right", name, match[3] or "", changed(known, text)))
    return found


def values(text: str) -> Iterator[tuple[str, str]]:
    """Yield the values of a table, and the word that explains each wrong one.

    >>> list(values("4  # right\\n[1,\\n 2]  # the order\\n"))
    [('4', ''), ('[1,\\n 2]', 'the order')]
    """
    lines = text.splitlines()
    for statement in ast.parse(text).body:
        value, comment = ast.get_source_segment(text, statement), lines[statement.end_lineno - 1]
        word = comment.encode()[statement.end_col_offset :].decode().removeprefix("  # ")
        assert isinstance(statement, ast.Expr) and word, f"a value without '# right' or a word: {value}"
        yield value, "" if word == "right" else word


def changed(known: list[str], text: str) -> str:
    """Return the first known answer that has the lines after `# -`, with those after `# +` instead; other text as it is.

    Lines after `#` alone stay, and say where a line is new.

    >>> changed(["x = 1\\ny = 2\\n"], "# - y = 2\\n# + y = 3\\n# + z = 4\\n")
    'x = 1\\ny = 3\\nz = 4\\n'
    >>> changed(["x = 1\\n", "y = 2\\n"], "#   y = 2\\n# + z = 3\\n")
    'y = 2\\nz = 3\\n'
    """
    if re.search(r"^(?!# ?[-+ ]|$)", text.strip(), re.MULTILINE):
        return text
    parts = []
    for same, old, new in re.findall(r"((?:^#  .*\n)*)((?:^# -.*\n)*)((?:^# \+.*\n)*)", text, re.MULTILINE):
        same, old, new = (re.sub(r"^# [-+ ] ?", "", lines, flags=re.MULTILINE) for lines in (same, old, new))
        parts += [(f"\n{same}{old}", f"\n{same}{new}")] * bool(same or old)
    for answer in known:
        answer = f"\n{answer}"
        if all(answer.count(old) == 1 for old, _ in parts):
            for old, new in parts:
                answer = answer.replace(old, new)
            return answer[1:]
    raise AssertionError(f"these lines are in no answer above, or more than once:\n{text}")
