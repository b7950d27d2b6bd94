"""Make lessons with answers instead of their gaps: the solutions, or those of the folder answers."""

import re
from pathlib import Path

from lessons import Lesson
from lessons.catalogue import cells
from lessons.instructor import solutions, solved

__all__ = ["answers", "solutions", "solved"]

ANSWERS = Path(__file__).parent / "answers"


def answers(one: Lesson) -> list[tuple[str, str, str, str]]:
    """Return the cells of a file of answers: right or wrong, the exercise, a word of the verdict, and the text.

    A cell of comments alone is the exercise's solution with a few lines changed: `# - line` becomes `# + line`.
    """
    found, known = [], solutions(one)
    for title, text in cells(ANSWERS / one.path.name):
        match = re.fullmatch(r"(right|wrong) (\w+)(?:: (.+))?", title)
        assert match, f"{one.path.name}: a cell is titled '# %% {title}'"
        found.append((match[1], match[2], match[3] or "", changed(known[match[2]], text)))
    return found


def changed(solution: str, text: str) -> str:
    """Return a solution in which the lines after `# -` are replaced by those after `# +`; any other text as it is.

    >>> changed("x = 1\\ny = 2\\n", "# - y = 2\\n# + y = 3\\n# + z = 4\\n")
    'x = 1\\ny = 3\\nz = 4\\n'
    """
    if re.search(r"^(?!# ?[-+]|$)", text.strip(), re.MULTILINE):
        return text
    for old, new in re.findall(r"((?:^# -.*\n)+)((?:^# \+.*\n)*)", text, re.MULTILINE):
        old, new = (re.sub(r"^# [-+] ?", "", lines, flags=re.MULTILINE) for lines in (old, new))
        assert ("\n" + solution).count("\n" + old) == 1, (
            f"these lines are not in the solution, or more than once:\n{old}"
        )
        solution = ("\n" + solution).replace("\n" + old, "\n" + new)[1:]
    return solution
