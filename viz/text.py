"""The words of a picture: numbers, shapes, bytes and names from a record, as short text.

Small values are shown whole with four significant digits, larger ones as least, mean and greatest element.
Everything a user may have typed passes through `clean`, so that no name can break an SVG, a PDF or a terminal.
"""

from __future__ import annotations

import math
import textwrap
import unicodedata

WHOLE = 6  # values with more elements are summed up


def number(x, digits: int = 4) -> str:
    """A number with so many significant digits.

    >>> number(0.123456), number(3.0), number(True), number(float("nan"))
    ('0.1235', '3', 'True', 'nan')
    """
    return f"{x:.{digits}g}" if isinstance(x, (float, complex)) else clean(str(x))


def nested(values) -> str:
    """Nested lists of numbers as text.

    >>> nested([[1.0, 2.5], [3.0, 4.0]])
    '[[1, 2.5], [3, 4]]'
    """
    if isinstance(values, (list, tuple)):
        return "[" + ", ".join(nested(v) for v in values) + "]"
    return number(values)


def flat(values) -> list:
    """The elements of nested lists in one list.

    >>> flat([[1, 2], [3]])
    [1, 2, 3]
    """
    if not isinstance(values, (list, tuple)):
        return [values]
    return [x for v in values for x in flat(v)]


def whole(value: dict | None, most: int = WHOLE) -> str:
    """A value of at most `most` elements, all of it; "" where it has more or the record does not know it.

    >>> whole({"shape": [2], "summary": {"values": [1.0, 2.0]}})
    '[1, 2]'
    """
    values = ((value or {}).get("summary") or {}).get("values")
    if values is None or len(elements := flat(values)) > most:
        return ""
    return nested(values) if elements else "no elements"


def contents(value: dict | None) -> str:
    """What a value holds: all of it, or its least, mean and greatest element, or "" where the record does not know.

    >>> contents({"shape": [8, 8], "summary": {"min": -1.0, "mean": 0.25, "max": 2.0}})
    'min -1  mean 0.25  max 2'
    """
    summary = summed(value)
    parts = [f"{key} {number(summary[key], 3)}" for key in ("min", "mean", "max") if summary.get(key) is not None]
    parts += [f"{key} {summary[key]}×" for key in ("nan", "inf") if summary.get(key)]
    return whole(value) or "  ".join(parts)


def gist(value: dict | None) -> str:
    """What a value holds for the narrow label of an edge: all of it, or its shape and greatest magnitude.

    >>> gist({"shape": [8, 8], "summary": {"min": -3.0, "mean": 0.25, "max": 2.0}})
    '(8, 8), |max| 3'
    """
    if value is None or whole(value):
        return whole(value)
    summary = summed(value)
    if summary.get("max") is None:
        return contents(value)
    return f"{shape(value['shape'])}, |max| {number(max(abs(summary['min']), abs(summary['max'])), 3)}"


def summed(value: dict | None) -> dict:
    """The summary of a value, with its least, mean and greatest element also where the record holds all elements."""
    summary = (value or {}).get("summary") or {}
    return spread(flat(summary["values"])) if "values" in summary else summary


def spread(elements: list) -> dict:
    """Least, mean and greatest of the finite elements, and how many are not.

    >>> spread([1.0, 3.0, float("nan")])
    {'min': 1.0, 'mean': 2.0, 'max': 3.0, 'nan': 1, 'inf': 0}
    """
    numbers = [x for x in elements if isinstance(x, (int, float))]
    finite = [x for x in numbers if math.isfinite(x)]
    least = {"min": min(finite), "mean": math.fsum(finite) / len(finite), "max": max(finite)} if finite else {}
    return {**least, "nan": sum(math.isnan(x) for x in numbers), "inf": sum(math.isinf(x) for x in numbers)}


def shape(sizes) -> str:
    """A shape as Python writes it.

    >>> shape([3]), shape([2, 4]), shape([])
    ('(3,)', '(2, 4)', '()')
    """
    return str(tuple(sizes))


def size(count: int) -> str:
    """A number of bytes for people.

    >>> size(12), size(2048), size(5_000_000)
    ('12 B', '2.0 kB', '4.8 MB')
    """
    amount, unit = float(count), "B"
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1024 or unit == "GB":
            break
        amount /= 1024
    return f"{int(amount)} B" if unit == "B" else f"{amount:.1f} {unit}"


def kind_of(value: dict) -> str:
    """One line on a value's type: dtype, shape, bytes, and the device where that is a GPU.

    >>> kind_of({"dtype": "float32", "shape": [3], "bytes": 12})
    'float32 (3,) · 12 B'
    >>> kind_of({"dtype": "float32", "shape": [3], "bytes": 12, "device": "cuda:0"})
    'float32 (3,) · 12 B · cuda:0'
    """
    place = value.get("device") or "cpu"
    said = f"{value['dtype']} {shape(value['shape'])} · {size(value['bytes'])}" + f" · {place}" * (place != "cpu")
    return clean(said)


def source(where: dict | None) -> str:
    """The user's line: file, number, code.

    >>> source({"file": "/home/ada/net.py", "line": 3, "code": "y = w * x"})
    'net.py:3  y = w * x'
    """
    if not where or not where.get("file"):
        return ""
    return f"{file_name(where['file'])}:{where.get('line', '?')}  {clean(where.get('code') or '').strip()}"


def file_name(path: str | None) -> str:
    """The last part of a path, of whichever system; a notebook's cells have no files, whatever they are called.

    >>> file_name("C:\\\\ada\\\\net.py"), file_name(None), file_name("<ipython-input-3-0f1e2d>")
    ('net.py', '', 'In[3]')
    """
    from minigrad.places import cell_name  # whoever has a picture has loaded minigrad

    if path and (cell := cell_name(path)):
        return cell
    return clean(path or "").replace("\\", "/").rsplit("/", 1)[-1]


def clean(text: str) -> str:
    """Text without characters that XML, terminals or fonts cannot take: controls, surrogates and direction marks.

    >>> clean("a\\x00b\\tc")
    'a\\ufffdb c'
    """
    out = str(text).replace("\t", " ").replace("\r", " ").replace("\n", " ")
    if out.isprintable():
        return out
    return "".join("\ufffd" if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Cn") else c for c in out)


def shorten(text: str, width: int) -> str:
    """Text of at most `width` characters, its end replaced by an ellipsis.

    >>> shorten("a rather long name", 10)
    'a rather …'
    """
    text = clean(text)
    return text if len(text) <= width else text[: width - 1] + "…"


def wrap(text: str, width: int, most: int) -> list[str]:
    """Text in at most `most` lines of `width` characters.

    >>> wrap("one two three", 8, 3)
    ['one two', 'three']
    """
    text = clean(text).strip()
    if len(text) <= width:
        return [text]
    lines = textwrap.wrap(text, width, max_lines=most, placeholder=" …", break_on_hyphens=False)
    return lines or [""]
