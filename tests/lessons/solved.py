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

    A cell is one answer. Under the title "values" each line is one, and under "changes" what differs from an answer above,
    with the word as its comment.
    """
    found: list[tuple[str, str, str, str]] = []
    for title, text in cells(ANSWERS / one.folder / one.path.name):
        match = re.fullmatch(r"(?:values|changes|right|(wrong)) (\w+)(?:: (.+))?", title)
        assert match and bool(match[1]) == bool(match[3]), f"{one.path.name}: a cell is titled '# %% {title}'"
        name = match[2]
        known = [solutions(one)[name], *(text for _, which, _, text in found if which == name)]
        if title.startswith("values"):
            rows = [(f"{name} = {value}\n", word) for value, word in values(text)]
        elif title.startswith("changes"):
            rows = [(replaced(known, parts), word) for parts, word in changes(text)]
        else:
            rows = [(changed(known, text), match[3] or "")]
        found += [("wrong" if word else "right", name, word, text) for text, word in rows]
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


Parts = list[tuple[str, str]]


def changes(text: str) -> Iterator[tuple[Parts, str]]:
    """Yield the changes of a table, parts of a text with what replaces them, and the word that explains each wrong one.

    Further changes of the same answer are indented below the first, as is what replaces a long line.

    >>> list(changes("# x + y -> x - y  # the sign\\n# a = 1\\n#   -> a = 2\\n#   drop b = 3  # right\\n"))
    [([('x + y', 'x - y')], 'the sign'), ([('a = 1', 'a = 2'), ('b = 3\\n', '')], '')]
    """
    parts: Parts = []
    for line in text.strip().replace("\n#   -> ", " -> ").splitlines():
        assert line.startswith("#   " if parts else "# "), f"a change without '# right' or a word above: {line}"
        change, _, word = line[1:].strip().partition("  # ")
        old, arrow, new = change.partition(" -> ")
        parts.append((old, new) if arrow else (f"{old.removeprefix('drop ')}\n", ""))
        if word:
            yield parts, "" if word == "right" else word
            parts = []
    assert not parts, f"a change without '# right' or a word: {text}"


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
    parts: Parts = []
    for same, old, new in re.findall(r"((?:^#  .*\n)*)((?:^# -.*\n)*)((?:^# \+.*\n)*)", text, re.MULTILINE):
        same, old, new = (re.sub(r"^# [-+ ] ?", "", lines, flags=re.MULTILINE) for lines in (same, old, new))
        parts += [(f"\n{same}{old}", f"\n{same}{new}")] * bool(same or old)
    return replaced(known, parts)


def replaced(known: list[str], parts: Parts) -> str:
    """Return the first known answer that has each of the parts once, with what replaces them, or without these lines.

    >>> replaced(["x = 1\\ny = 1\\n", "y = 2\\n"], [("2", "3")])
    'y = 3\\n'
    """
    for answer in known:
        answer = f"\n{answer}"
        if all(answer.count(old) == 1 for old, _ in parts):
            for old, new in parts:
                answer = answer.replace(old, new) if new else re.sub(f" *{re.escape(old)}", "", answer)
            return answer[1:]
    raise AssertionError(f"no answer above has each of these once: {', '.join([old for old, _ in parts])}")
