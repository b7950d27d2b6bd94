"""The parts of the library that some expressions need: functions, kernels, definitions and what they use in turn.

JavaScript is taken apart at its declarations, and `define({...})` at its entries; as the files are formatted, a declaration
begins at the start of a line and an entry two spaces from it. A part that is not mentioned is left out of the script.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

BEGIN = re.compile(r"(?!//)[^\s})\]]")
DECLARED = re.compile(r"(?:const|let|function|class) (\w+)|Object\.assign\((\w+)|(m\.\w+) =")
ENTRY = re.compile(r'  (?:"([\w.]+)"|(\w+))(?=\(|:|,$)')
MENTIONED = re.compile(r'run\("([\w.]+)"|\bkernels\.(\w+)|\b(m\.\w+)|(\w+)')
OPERATORS = {"+": "add", "-": "sub neg", "*": "mul", "/": "div", "//": "floor_divide", "%": "remainder", "**": "pow",
             "@": "matmul", "&": "bitwise_and", "|": "bitwise_or", "^": "bitwise_xor", "~": "bitwise_not", "==": "eq",
             "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge", "[": "select"}  # fmt: skip


class Part(NamedTuple):
    """A declaration in JavaScript, and the names under which others mention it; without names, it is always needed."""

    text: str
    names: frozenset[str]


def parts(script: str) -> Iterator[Part]:
    """Yield the parts of a file in order."""
    for text in declarations(script):
        if text.startswith("define({"):
            yield from entries(text)
            continue
        found = DECLARED.match(text)
        yield Part(text, frozenset(filter(None, found.groups()) if found else ()))


def declarations(script: str) -> Iterator[str]:
    """Yield the declarations of a file, without comments."""
    lines: list[str] = []
    for line in script.splitlines():
        if line.lstrip().startswith("//") or not line.strip():
            continue
        if BEGIN.match(line) and lines:
            yield "\n".join(lines)
            lines = []
        lines.append(line)
    yield "\n".join(lines)


def entries(text: str) -> Iterator[Part]:
    """Yield the functions that one `define({...})` defines."""
    lines = text.splitlines()[1:-1] if "\n" in text else [f"  {text[8:-3].strip()},"]
    bodies: list[list[str]] = []
    for line in lines:
        if ENTRY.match(line):
            bodies.append([])
        bodies[-1].append(line)
    for body in bodies:
        found = ENTRY.match(body[0])
        assert found
        yield Part("define({\n" + "\n".join(body) + "\n});", frozenset({"call " + (found[1] or found[2])}))


def in_javascript(text: str) -> set[str]:
    """Return what a part in JavaScript mentions: declarations by name, functions and kernels with their kind before it."""
    found = set()
    for called, kernel, scalar, name in MENTIONED.findall(text):
        found |= {f"call {called}"} if called else {f"kernel {kernel}"} if kernel else {scalar or name}
    return found | ({"m"} if "m." in text else set())


def in_python(text: str) -> set[str]:
    """Return the functions, methods, operators and kernels that an expression may mention."""
    words = set(re.findall(r"\w+", text)) | set(re.findall(r"\w+\.\w+", text))
    words |= {word.rstrip("_") for word in words} | {f"Tensor.{word}" for word in words}
    words |= {name for operator, names in OPERATORS.items() if operator in text for name in names.split()}
    return {f"call {word}" for word in words} | {f"kernel {word}" for word in re.findall(r"pointwise\('(\w+)'", text)}


def needed(known: dict[str, list[set[str]]], first: Iterable[str]) -> set[str]:
    """Return the names that are mentioned, directly or through others; `known` has what each name mentions."""
    found: set[str] = set()
    waiting = [name for name in first if name in known]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [other for mentioned in known[name] for other in mentioned if other in known]
    return found
