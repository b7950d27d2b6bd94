"""The instructor's notebook: below each exercise a solution, the hints, and the mistakes that the check knows.

The mistakes are read from the source of the check: the messages of `Wrong`, and the reasons in its tables of wrong values.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from .catalogue import Lesson, cells, of_exercise

CHECK = re.compile(r"^lessons\.check\(\"(\w+)\".*$", re.MULTILINE)
SHORT = 12  # letters: a message with fewer is a frame around another one


def solutions(one: Lesson) -> dict[str, str]:
    """Return the source of a right answer to each exercise of a lesson; raise LookupError if they are not on this machine."""
    path = one.path.parent / "solutions" / one.path.name
    if not path.exists():
        raise LookupError(f"the solutions of lesson {one.number} are not on this machine: your teacher may have them")
    return dict(cells(path))


def solved(text: str, known: dict[str, str]) -> tuple[str, str]:
    """Return a cell with its gap filled from `known`, and the line that calls `check`, or "" for a cell without one.

    >>> solved('x = 1\\nmine = ...\\nlessons.check("mine", mine)', {"mine": "mine = 2\\n"})
    ('x = 1\\nmine = 2\\n', 'lessons.check("mine", mine)')
    """
    checked = CHECK.search(text)
    if checked is None:
        return text, ""
    gap = re.search(rf"^(?:{checked[1]} = |(?:@.*\n)*(?:def|class) {checked[1]}\b)", text, re.MULTILINE)
    assert gap is not None, f"exercise {checked[1]} has no gap"
    return f"{text[: gap.start()]}{known[checked[1]]}", checked[0]


def help_below(name: str) -> str:
    """Return the hints and the common mistakes of an exercise as Markdown.

    >>> print(help_below("three_uses").splitlines()[-2])
    - `4.0`: that is the contribution of one of the three edges
    """
    from .exercise import hints

    return listed(hints(name), mistakes(name))


def listed(hints: Iterable[str], mistakes: Sequence[str]) -> str:
    """Return hints and common mistakes as two lists in Markdown, the second only if there is one."""
    parts = ["**Hints**\n", *(f"{i}. {words}" for i, words in enumerate(hints, 1))]
    if mistakes:
        parts += ["\n**Common mistakes**\n", *(f"- {words}" for words in mistakes)]
    return "\n".join(parts)


def mistakes(name: str) -> list[str]:
    """Return the mistakes that the check of an exercise names, as Markdown, in the order of its source.

    Dots stand for what varies.  Messages about answers of a wrong type, which begin with "expected", are left out.

    >>> mistakes("walking_order")[0]
    'that is the order of the forward pass; backward begins at the end'
    """
    one = of_exercise(name).path
    path = one.parent / "exercises" / one.name
    return list(
        dict.fromkeys(words for words in named(name, functions(path), set()) if not words.startswith("expected"))
    )


def functions(path: Path) -> dict[str, ast.FunctionDef]:
    """Return the functions of a file by name."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return {node.name: node for node in body if isinstance(node, ast.FunctionDef)}


def named(name: str, known: dict[str, ast.FunctionDef], seen: set[str]) -> Iterator[str]:
    """Yield the mistakes that a function names, and those of the file's functions that it calls."""
    seen.add(name)
    nodes = sorted(
        (node for node in ast.walk(known[name]) if isinstance(node, (ast.Dict, ast.Call))),
        key=lambda node: (node.lineno, node.col_offset),
    )
    for node in nodes:
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values):
                if key is not None and any(" " in words for words in messages(value)):
                    yield from (f"`{ast.unparse(key)}`: {plain(words)}" for words in messages(value))
        elif isinstance(node.func, ast.Name) and node.func.id == "Wrong":
            yield from map(plain, messages(node.args[0]))
        elif isinstance(node.func, ast.Name) and node.func.id in known.keys() - seen:
            yield from named(node.func.id, known, seen)


def messages(node: ast.expr) -> list[str]:
    """Return the texts that an expression may have; short ones are left out.

    >>> messages(ast.parse('f"the result is {x}, not {y}" if z else "the mask is missing"').body[0].value)
    ['the result is …, not …', 'the mask is missing']
    """
    if isinstance(node, ast.IfExp):
        return messages(node.body) + messages(node.orelse)
    if isinstance(node, ast.BinOp):
        return messages(node.left)
    if isinstance(node, ast.JoinedStr):
        words = "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        words = node.value
    else:
        return []
    return [words] if len(re.findall(r"\w", words)) >= SHORT else []


def plain(words: str) -> str:
    """Return text in which Markdown finds no emphasis, links or HTML.

    >>> plain("a*b*c"), plain("`a*b`")
    ('a\\\\*b\\\\*c', '`a*b`')
    """
    return words if "`" in words else re.sub(r"([*_<\[\\])", r"\\\1", words)
