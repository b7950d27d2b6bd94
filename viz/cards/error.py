"""The card of an operation that raised: the message, the operands' sizes, the remedy, and the lines that it names."""

from __future__ import annotations

from collections.abc import Iterator

from .. import text
from ..graph.drawn_graph import Graph, Node
from .parts import Block, Line, Run

MOST = 8  # lines of a message or a remedy


def headline(error: dict) -> str:
    """Return a record's error in a few words: RuntimeError in matmul, net.py:7."""
    at = text.source({**error["where"], "code": ""}).strip()
    inside = "" if error["title"] == error["kind"] else f" in {error['title']}"
    return ", ".join(filter(None, (text.clean(f"{error['kind']}{inside}"), at)))


def error_blocks(graph: Graph, op: dict) -> list[Block]:
    """Return what the card of the operation that raised says about the error."""
    error, columns = graph.error or {}, graph.view.columns + 8
    wrapped = lambda words, style: [Line([(line, style)]) for line in text.wrap(words, columns, MOST) if line]
    inside = "" if error["title"] == op["name"] else f" in {error['title']}"
    about = "" if op["name"] == error["kind"] else f"{error['kind']}{inside}: "
    paragraphs = [part for part in error["message"].split("\n") if part.strip()][:MOST]
    said = [line for i, part in enumerate(paragraphs) for line in wrapped(about * (not i) + part, "failed")]
    rows = [{**one, "name": operand(graph, one)} for one in error["shapes"] if one["marked"]]
    said += [Line(runs) for runs in size_rows(rows)]
    said += [line for note in error["notes"] for line in wrapped(note.replace("\n", "; "), "type")]
    said += [line for words, at in named_lines(error, op) for line in wrapped(f"{words}: {at}", "code")]
    return [Block("error", said + wrapped(f"To fix: {error['remedy']}" if error["remedy"] else "", "remedy"))]


def error_texts(graph: Graph, node: Node) -> list[tuple[str, str]]:
    """Return the lines of text about the error on any card, each with the style with which it begins."""
    if node.kind != "error":
        return [("sum", line) for line in named_by_error(graph, node.record)]
    return [(line.left[0][1], line.text) for block in error_blocks(graph, node.record) for line in block.lines]


def named_lines(error: dict, op: dict) -> Iterator[tuple[str, str]]:
    """Yield the lines that the error names, each with words; that of the operation itself is at the foot of the card."""
    own, at = op.get("where") or {}, error["where"]
    if (at.get("file"), at["line"]) != (own.get("file"), own.get("line")):
        yield ("in the backward pass" if error["phase"] == "backward" else "raised"), text.source(at)
    for line in error["lines"]:
        yield line["words"], text.source(line["where"])


def named_by_error(graph: Graph, op: dict) -> list[str]:
    """Return what the error says about another operation: that it has overwritten what the one that raised had saved."""
    lines = [line["words"] for line in (graph.error or {}).get("lines", ()) if op["id"] in line["ops"]]
    title = (graph.error or {}).get("title", "")
    overwrites = f"overwrites what {title.removesuffix(' backward')} saved"
    said = [overwrites if words.startswith("last written") else f"{words} here" for words in lines]
    return [f"✗ {one}" for one in said]


def operand(graph: Graph, shape: dict) -> str:
    """Return the name of an operand: the message's, and the program's."""
    name = "" if shape.get("value") is None else text.shorten(graph.name(shape["value"]), 24)
    return shape["name"] if name in ("", shape["name"]) else f"{shape['name']} {name}"


def size_rows(shapes: list[dict]) -> Iterator[list[Run]]:
    r"""Yield the operands' names and sizes in columns; those that do not fit have a style apart, and brackets.

    >>> shapes = [{"name": "x", "sizes": ["2", "3", ""], "marked": [1]}, {"name": "w", "sizes": ["", "4", "5"], "marked": [1]}]
    >>> ["".join(words for words, _ in row).replace("\u00a0", " ") for row in size_rows(shapes)]
    ['x   2 [3]', 'w     [4]  5 ']
    """
    columns = list(zip(*[one["sizes"] for one in shapes]))
    widths = [max(map(len, column)) + 2 for column in columns]
    first = max((len(one["name"]) for one in shapes), default=0)
    for one in shapes:
        row: list[Run] = [(f"{text.clean(one['name']):{first}}  ", "call")]
        for i, (size, width) in enumerate(zip(one["sizes"], widths)):
            wrong = i in one.get("marked", ()) and size
            row.append(((f"[{size}]" if wrong else f" {size} ").rjust(width), "wrong" if wrong else "value"))
        while not row[-1][0].strip():
            row.pop()
        yield [(words.replace(" ", "\u00a0"), style) for words, style in row]  # browsers drop other spaces
