"""Repeats: stretches of a program that follow one another and do the same, such as the rounds of a loop or equal layers."""

import ast
import linecache
import re
from collections.abc import Hashable, Iterator, Sequence
from functools import lru_cache

from .. import text

TRIED = 8  # places of the same operation where a second round may begin


def repeats(marks: Sequence[Hashable]) -> Iterator[tuple[int, int, int]]:
    """Yield the start, the period and the number of rounds of each repeat; a round is whole, and there are at least two.

    Where several repeats begin, the one that covers the most is taken.

    >>> list(repeats("xababab")), list(repeats("aabaab")), list(repeats("abc"))
    ([(1, 2, 3)], [(0, 3, 2)], [])
    """
    following: dict[Hashable, int] = {}
    again = [0] * len(marks)  # the place where each mark occurs next
    for i in range(len(marks) - 1, -1, -1):
        again[i] = following.get(marks[i], len(marks))
        following[marks[i]] = i
    i = 0
    while i < len(marks):
        begins, period, rounds = again[i], 1, 1
        for _ in range(TRIED):  # a round may contain its own first operation again
            if begins == len(marks):
                break
            length = 0
            while begins + length < len(marks) and marks[i + length] == marks[begins + length]:
                length += 1
            found = length // (begins - i) + 1
            if found > 1 and found * (begins - i) > rounds * period:
                period, rounds = begins - i, found
            begins = again[begins]
        if rounds > 1:
            yield i, period, rounds
        i += period * rounds


def mark(ops: list[dict]) -> tuple:
    """Return what stretches of operations have in common if they do the same: names and lines, and modules without numbers.

    No stretch is equal to one with a collective.
    """
    modules = lambda op: re.sub(r"\d+", "", "/".join(op.get("module", ())))
    lanes = lambda op: (*op.get("lanes", ()), op["id"] if op.get("transfers") else None)
    return tuple((op["name"], *place(op), modules(op), *lanes(op)) for op in ops)


def place(op: dict) -> tuple:
    """Return the file, line and columns of an operation's call."""
    where = op.get("where") or {}
    return where.get("file"), where.get("line"), *where.get("columns", ())


def rounds_of(ops: list[dict]) -> dict[int, int]:
    """Return the loop iteration that each operation belongs to: a new one begins when an expression repeats.

    >>> line = {"file": "f.py", "line": 1, "columns": [1, 5]}
    >>> rounds_of([{"id": i, "name": name, "where": line} for i, name in enumerate(["mul", "sin", "mul", "sin"])])
    {0: 1, 1: 1, 2: 2, 3: 2}
    """
    rounds, seen, now = {}, set(), 1
    for op in ops:
        call = (*place(op), op["name"], *op.get("module", ()))
        if call in seen:
            now, seen = now + 1, set()
        seen.add(call)
        rounds[op["id"]] = now
    return rounds


def loop_of(ops: list[dict]) -> str:
    """Return the head of the innermost loop around operations, as text; else the text of their first line."""
    where = ops[0].get("where") or {}
    lines = {line for file, line, *_ in map(place, ops) if file == where.get("file")}
    found = loops(where.get("file") or "")
    heads = [(end - start, head) for start, end, head in found if lines <= {*range(start, end + 1)}]
    return text.clean(min(heads)[1] if heads else (where.get("code") or "").strip())


@lru_cache(maxsize=64)
def loops(file: str) -> list[tuple[int, int, str]]:
    """Return the first line, the last line and the head of each loop in a file; none if it cannot be read."""
    source = linecache.getlines(file)
    try:
        found = [node for node in ast.walk(ast.parse("".join(source))) if isinstance(node, (ast.For, ast.While))]
    except (SyntaxError, ValueError):
        return []
    return [(one.lineno, one.end_lineno or one.lineno, source[one.lineno - 1].strip().rstrip(":")) for one in found]
