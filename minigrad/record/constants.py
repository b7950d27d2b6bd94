"""The text of an argument that is not a tensor: its repr if that is one short line, else its kind, such as Sequential(...)."""

import re
from typing import Any

LONGEST = 40  # characters of a repr that is shown whole
ADDRESS = re.compile(r"^<|\bat 0x")  # the repr of an object without one
BRACKETS = {list: "[...]", tuple: "(...)", dict: "{...}", set: "{...}"}


def brief(value: Any) -> str:
    """Return an argument as it is written in a call, on one short line.

    >>> brief(2.5), brief([1, 2]), brief(list(range(99))), brief(lambda x: x), brief(print), brief("a" * 99)
    ('2.5', '[1, 2]', '[...]', 'lambda: ...', 'print', "'aaaaaaaaaaaaaaaaaaaa...'")
    """
    if type(value) in BRACKETS and len(value) > LONGEST:  # a long list has a long repr, which takes its time
        return BRACKETS[type(value)]
    if type(value) is str and len(value) > LONGEST:
        value = value[: LONGEST // 2] + "..."
    try:
        text = repr(value)
    except Exception:  # the object's class defines it
        text = ""
    if (
        type(value) in (str, complex)
        or text
        and len(text) <= LONGEST
        and text.isprintable()
        and not ADDRESS.search(text)
    ):
        return text
    name = getattr(value, "__name__", "")  # of a function, a class or a module
    if isinstance(name, str) and name:
        return "lambda: ..." if name == "<lambda>" else name
    return BRACKETS.get(type(value)) or f"{type(value).__name__}(...)"
