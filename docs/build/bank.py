"""List the exercises of the bank for their page: each with the question, the hints and the solution of one student."""

import lessons
from lessons.bank import LEVELS, TOPICS, Entry, entries

from .markup import fence, folded

STUDENT = ""  # whose numbers the page shows


def listed(page: str = "") -> str:
    """Return all exercises as blocks that open on click, by topic and difficulty."""
    parts = []
    for topic, title in TOPICS.items():
        parts.append(f"## {title}\n")
        found = [one for one in entries().values() if one.topic == topic]
        parts += map(block, sorted(found, key=lambda one: one.level))
    return "\n".join(parts)


def block(one: Entry) -> str:
    """Return an exercise as a block that contains others: its hints and its solution."""
    task = one.task(STUDENT)
    hints = [folded("question", f"Hint {i}", hint) for i, hint in enumerate(one.hints, 1)]
    solution = folded("success", "Solution", f"{fence('python', lessons.solution(one.name, STUDENT))}\n{task.why}")
    name = f"`{one.name}` · {LEVELS[one.level]}"
    start = fence("python", task.start) if "\n" in task.start else ""
    return folded("example", f"{one.level} · {one.title}", "\n\n".join([task.text, start, *hints, solution, name]))
