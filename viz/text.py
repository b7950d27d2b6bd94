"""The texts in a picture: numbers, shapes, bytes and names from a record, in short form.

Small values are shown whole with four significant digits, larger ones by shape, minimum, mean and maximum.
viewer/model.js formats numbers by the same rule.
All text that comes from a user passes through `clean`, so no name can break an SVG, a PDF or a terminal.
"""

import math
import re
import textwrap
import unicodedata
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

WHOLE = 6  # values with more elements are summarized
EXPONENT = re.compile(r"e\+?(-?)0*(\d+)")  # e+09, e-07
WORDED = re.compile(r"\b(min|mean|max|all|nan|inf) (?=[-\d]|inf|nan)")  # a number with a word before it
BREAKS = re.compile(r"(?<=.)[(,]|\w(?=\.[A-Za-z])")
ROW = re.compile(r"\[[^\[\]]*\]")  # of a matrix, and an index
BLANKS = re.compile("[\t\r\n\u2028\u2029]")
WORDS = ("nan", "inf", "-inf")  # of a record, for the numbers that JSON lacks
PAIRS = {"(": ")", "[": "]", "{": "}"}
OPERATORS = ",+-*/@%<>=&|^"
ROUND = 1e7  # numbers from here on have an exponent


def number(x, digits: int = 4) -> str:
    """Format a number with `digits` significant digits; all digits before the point are kept, and zero has no sign.

    >>> number(0.123456), number(3.0), number(True), number(float("nan"))
    ('0.1235', '3', 'True', 'nan')
    >>> number(-0.0), number(1e-7), number(12345.0), number(12345.6), number(1.5e9)
    ('0', '1e-7', '12345', '12346', '1.5e9')
    """
    if not isinstance(x, (float, complex)):
        return clean(str(x))
    if isinstance(x, float) and abs(x) < ROUND and (x.is_integer() or abs(x) >= 10**digits - 0.5):
        return f"{x + 0:.0f}"  # -0.0 + 0 is 0.0
    return EXPONENT.sub(r"e\1\2", f"{x + 0:.{digits}g}")


def nested(values) -> str:
    """Format nested lists of numbers.

    >>> nested([[1.0, 2.5], [3.0, 4.0]])
    '[[1, 2.5], [3, 4]]'
    """
    if isinstance(values, (list, tuple)):
        return "[" + ", ".join(nested(v) for v in values) + "]"
    return number(values)


def each(convert: Callable[[Any], Any], values: Any) -> Any:
    """Return nested lists with their elements converted.

    >>> each(float, [1, ["nan", "-Infinity"]])
    [1.0, [nan, -inf]]
    """
    return [each(convert, v) for v in values] if isinstance(values, (list, tuple)) else convert(values)


def flat(values) -> list:
    """Flatten nested lists into one list.

    >>> flat([[1, 2], [3]])
    [1, 2, 3]
    """
    if not isinstance(values, (list, tuple)):
        return [values]
    return [x for v in values for x in flat(v)]


def rounding(dtype: str) -> float:
    """Return what rounding may leave of a sum that is 0, relative to its largest term; float32 leaves 1e-8."""
    return {"float16": 1e-2, "bfloat16": 1e-1}.get(dtype, 1e-6)


def largest(dtype: str) -> float:
    """Return the largest finite number of a dtype."""
    known = {"float16": 65504.0, "bfloat16": 3.3895e38, "float32": 3.4028e38, "complex64": 3.4028e38}
    return known.get(dtype, 1.797e308)


def whole(value: dict | None, most: int = WHOLE) -> str:
    """Return all elements of a value as text; "" if there are more than `most` or the record lacks them.

    >>> whole({"shape": [2], "summary": {"values": [1.0, 2.0]}})
    '[1, 2]'
    """
    values = ((value or {}).get("summary") or {}).get("values")
    if values is None or len(elements := flat(values)) > most:
        return ""
    return nested(values) if elements else "no elements"


def contents(value: dict | None) -> str:
    """Return a value's elements as text, or its minimum, mean and maximum, or "" if the record lacks them.

    >>> contents({"shape": [8, 8], "summary": {"min": -1.0, "mean": 0.25, "max": 2.0}})
    'min -1  mean 0.25  max 2'
    >>> contents({"shape": [8, 8], "summary": {"min": 1.0, "mean": 1.0, "max": 1.0}})
    'all 1'
    >>> contents({"shape": [9], "summary": {"values": [1.0, "inf"] + 7 * ["-inf"]}})
    'min 1  mean 1  max 1  inf 1×  -inf 7×'
    """
    if all_of_it := whole(value):
        return all_of_it
    summary = summed(value)
    odd = special(summary)
    if not odd and summary.get("min") is not None and summary["min"] == summary["max"]:
        return f"all {number(summary['min'])}"
    parts = [f"{key} {number(summary[key], 3)}" for key in ("min", "mean", "max") if summary.get(key) is not None]
    return "  ".join([*parts, *odd])


def gist(value: dict | None) -> str:
    """Return a value's elements, or its shape and `contents`: for places that do not show its type.

    >>> gist({"shape": [8, 8], "summary": {"min": -3.0, "mean": 0.25, "max": 2.0}})
    '(8, 8)  min -3  mean 0.25  max 2'
    """
    if value is None or whole(value):
        return whole(value)
    return "  ".join(filter(None, (shape(value["shape"]) * bool(contents(value)), contents(value))))


def extent(value: dict | None) -> str:
    """Return the smallest and the largest element, for places with little room.

    >>> extent({"summary": {"min": -2.351, "mean": 0.1, "max": 1.98, "std": 1.0}})
    '-2.35 … 1.98'
    """
    summary = summed(value)
    odd = special(summary)
    if summary.get("min") is None:
        return " ".join(odd)
    if summary["min"] == summary["max"]:
        return " ".join(["all " * (not odd) + number(summary["min"], 3), *odd])
    return " ".join([f"{number(summary['min'], 3)} … {number(summary['max'], 3)}", *odd])


def special(summary: dict) -> list[str]:
    """Return how often NaN and each infinity occur in a value.

    >>> special({"min": 0.5, "nan": 1, "inf": 3, "-inf": 2}), special({"min": None, "nan": 0, "inf": 9, "-inf": 9})
    (['nan 1×', 'inf 1×', '-inf 2×'], ['all -inf'])
    """
    nan, infinite, negative = (summary.get(word) or 0 for word in WORDS)
    found = [(word, many) for word, many in zip(WORDS, (nan, infinite - negative, negative)) if many]
    if summary.get("min") is None and len(found) == 1:
        return [f"all {found[0][0]}"]
    return [f"{word} {many}×" for word, many in found]


def norm(value: dict | None) -> str:
    """Return the Euclidean norm of a value in words, from its elements or from their mean and spread; "" if unknown.

    >>> norm({"shape": [2], "summary": {"values": [3.0, 4.0]}})
    'norm 5'
    >>> norm({"shape": [100], "summary": {"min": -1.0, "mean": 0.0, "max": 1.0, "std": 0.5, "nan": 0, "inf": 0}})
    'norm 5'
    """
    size = norm_of(value)
    return "" if size is None else f"norm {number(size, 3)}"


def norm_of(value: dict | None) -> float | None:
    """Return the Euclidean norm of a value, NaN or infinity if it has one; None if the record lacks its numbers."""
    summary = (value or {}).get("summary") or {}
    if "values" in summary:
        numbers = [abs(complex(x)) for x in flat(summary["values"]) if isinstance(x, (int, float, str))]
        return math.nan if any(map(math.isnan, numbers)) else math.hypot(*numbers)
    if summary.get("nan") or summary.get("inf"):
        return math.nan if summary.get("nan") else math.inf
    if value is None or summary.get("std") is None:
        return None
    return math.sqrt(math.prod(value["shape"])) * math.hypot(summary["mean"], summary["std"])


def summed(value: dict | None) -> dict:
    """Return a value's summary with minimum, mean and maximum; they are computed if the record holds all elements."""
    summary = (value or {}).get("summary") or {}
    return spread(flat(summary["values"])) if "values" in summary else summary


def spread(elements: list) -> dict:
    """Return minimum, mean and maximum of the finite elements, and how often NaN, an infinity and minus infinity occur.

    >>> spread([1.0, 3.0, "nan", "-inf"])
    {'min': 1.0, 'mean': 2.0, 'max': 3.0, 'nan': 1, 'inf': 1, '-inf': 1}
    """
    numbers = [float(x) if x in WORDS else x for x in elements if x in WORDS or isinstance(x, (int, float))]
    finite = [x for x in numbers if math.isfinite(x)]
    least = {"min": min(finite), "mean": math.fsum(finite) / len(finite), "max": max(finite)} if finite else {}
    odd = {"nan": sum(map(math.isnan, numbers)), "inf": sum(map(math.isinf, numbers)), "-inf": numbers.count(-math.inf)}
    return least | odd


def shape(sizes) -> str:
    """Format a shape as Python does.

    >>> shape([3]), shape([2, 4]), shape([])
    ('(3,)', '(2, 4)', '()')
    """
    return str(tuple(sizes))


def size(count: int) -> str:
    """Format a number of bytes with a unit.

    >>> size(12), size(2048), size(5_000_000)
    ('12 B', '2.0 kB', '4.8 MB')
    """
    amount, unit = float(count), "B"
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1024 or unit == "GB":
            break
        amount /= 1024
    return f"{int(amount)} B" if unit == "B" else f"{amount:.1f} {unit}"


def seconds(time: float) -> str:
    """Format a time with two digits and a unit.

    >>> seconds(0.00001234), seconds(0.0123), seconds(2.5)
    ('12 µs', '12 ms', '2.5 s')
    """
    for unit, factor in (("µs", 1e6), ("ms", 1e3), ("s", 1.0)):
        amount = time * factor
        if amount < 1000 or unit == "s":
            break
    return f"{amount:.1f} {unit}" if 0 < amount < 9.95 else f"{amount:.0f} {unit}"


def counted(number: int, thing: str) -> str:
    """Return a number of things.

    >>> counted(1, "operation"), counted(12, "operation")
    ('1 operation', '12 operations')
    """
    return f"{number} {thing}{'s' * (number != 1)}"


def ranks(numbers: Sequence[int]) -> str:
    """Name ranks by their numbers.

    >>> ranks([1]), ranks([0, 1, 2, 5])
    ('rank 1', 'ranks 0–2, 5')
    """
    runs: list[list[int]] = []
    for rank in numbers:
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    spans = [f"{run[0]}–{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs]
    return f"rank{'s' * (len(numbers) > 1)} {', '.join(spans)}"


def kind_of(value: dict) -> str:
    """Describe a value's type in one line: dtype, shape, bytes, and the device unless it is the CPU.

    >>> kind_of({"dtype": "float32", "shape": [3], "bytes": 12})
    'float32 (3,) · 12 B'
    >>> kind_of({"dtype": "float32", "shape": [3], "bytes": 12, "device": "cuda:0"})
    'float32 (3,) · 12 B · cuda:0'
    """
    place, dtype = shorten(value.get("device") or "cpu", 24), shorten(value["dtype"], 24)
    return f"{dtype} {shape(value['shape'])} · {size(value['bytes'])}" + f" · {place}" * (place != "cpu")


def source(where: dict | None) -> str:
    """Format the user's line: file, number, code.

    >>> source({"file": "/home/ada/net.py", "line": 3, "code": "y = w * x"})
    'net.py:3  y = w * x'
    """
    if not where or not where.get("file"):
        return ""
    code = (where.get("code") or "").strip()
    place = f"{file_name(where['file'])}:{where.get('line', '?')}"
    return f"{place}  {clean(code)}" if len(code.splitlines()) < 2 else place


def several(where: dict | None, width: int, most: int) -> list[str]:
    """Return the user's lines if they are several, as for an operation in NumPy.

    >>> several({"code": "a = x.numpy()\\nif a.any():\\n    a = a[0]"}, 20, 2), several({"code": "y = x"}, 20, 2)
    (['a = x.numpy()', '…'], [])
    """
    lines = ((where or {}).get("code") or "").splitlines()
    if len(lines) < 2:
        return []
    indented = ["\u00a0" * (len(line) - len(line.lstrip())) + line.strip() for line in lines]
    left = len(lines) > most
    return [shorten(line, width) for line in indented[: most - left]] + ["…"] * left


def file_name(path: str | None) -> str:
    """Return the last part of a path of any operating system; a notebook's cell gets its number instead.

    >>> file_name("C:\\\\ada\\\\net.py"), file_name(None), file_name("<ipython-input-3-0f1e2d>")
    ('net.py', '', 'In[3]')
    """
    from minigrad.places import cell_name  # the record was made by minigrad, so this costs no import time

    if path and (cell := cell_name(path)):
        return cell
    return clean(path or "").replace("\\", "/").rsplit("/", 1)[-1]


def clean(text: str) -> str:
    """Replace characters that XML, terminals or fonts cannot take: controls, surrogates and direction marks.

    >>> clean("a\\x00b\\tc")
    'a\\ufffdb c'
    """
    out = str(text)
    if out.isprintable():  # the usual case
        return out
    out = BLANKS.sub(" ", out)
    return "".join("\ufffd" if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Cn") else c for c in out)


def shorten(text: str, width: int) -> str:
    """Cut text to at most `width` characters, with an ellipsis at the end.

    >>> shorten("a rather long name", 10)
    'a rather …'
    """
    text = clean(text)
    return text if len(text) <= width else text[: width - 1] + "…"


def cut(formula: str, width: int) -> str:
    """Cut a call or a formula to at most `width` characters, after an argument or an operator.

    >>> cut("batch_norm(v3, net.layer1[0].bn1.weight, 0.1)", 20), cut("w * (g - (g * w).sum(1, keepdim=True))", 30)
    ('batch_norm(v3, …)', 'w * (g - (g * w).sum(1, …))')
    """
    formula = clean(formula)
    if len(formula) <= width:
        return formula
    closing, best = "", ""
    for i, (before, char) in enumerate(pairwise(" " + formula)):
        if char in PAIRS:
            closing = PAIRS[char] + closing
        elif closing and char == closing[0]:
            closing = closing[1:]
        if (char == "(" or char == " " and before in OPERATORS) and i + 2 + len(closing) <= width:
            best = f"{formula[: i + 1]}…{closing}"
    return best or shorten(formula, width)


def wrap(text: str, width: int, most: int) -> list[str]:
    """Wrap text into at most `most` lines of `width` characters; matrices break between rows, calls at brackets.

    >>> wrap("one two three", 8, 3), wrap("[[1, 2], [3, 4], [5, 6]]", 20, 3)
    (['one two', 'three'], ['[[1, 2], [3, 4],', '[5, 6]]'])
    >>> wrap("scores.transpose(0, 1).softmax(dim=-1)", 20, 3)
    ['scores.transpose(0,', '1).softmax(dim=-1)']
    """
    text = clean(text[: 4 * (width + 1) * most]).strip()  # more is never shown
    if len(text) <= width:
        return [text]
    whole = ROW.sub(lambda row: row[0].replace(" ", "\u00a0") if len(row[0]) < width - 2 else row[0], text)
    whole = " ".join(_divided(word, width) for word in WORDED.sub("\\1\u00a0", whole).split(" "))
    lines = textwrap.wrap(whole, width, max_lines=most, placeholder=" …", break_on_hyphens=False)
    return [line.replace("\u00a0", " ") for line in lines] or [""]


def _divided(word: str, width: int) -> str:
    """Put blanks into a word longer than a line where it may break: after a bracket or before a method.

    >>> _divided("conv2d(images.transpose(0,", 20)
    'conv2d(images .transpose(0,'
    """
    parts = []
    while len(word) > width:
        ends = [mark.end() for mark in BREAKS.finditer(word[:width])]
        cut = max(ends, default=width)
        parts.append(word[:cut])
        word = word[cut:]
    return " ".join([*parts, word])
