"""The head of a card: the name of an operation, module or value, its call and formula, and what is special about it."""

import math
import re
from itertools import pairwise

from .. import text
from ..graph import cuts
from ..graph.drawn_graph import Graph, Node, is_detached
from ..graph.functions import summary
from .error import named_by_error
from .lines import formula_lines, in_brackets
from .parts import Block, Line, Run

METHOD = re.compile(r"([\w.]+(?:\[\w+\])?)\.(\w+)\((.*)\)")  # the call of a method of a value
CODE = 10  # lines of an operation that consists of several
KINDS = {"computed": "value"}  # a leaf made before the recording began


def op_head(graph: Graph, node: Node) -> Block:
    """Return the head of an operation: its name or its module's, the call, the formula, and tags."""
    op, columns = node.record, graph.view.columns
    name, call, shown = called(graph, node)
    if is_detached(op):
        name, shown = shown, ""
    name = f"{cuts.SCISSORS} " * (node.kind == "cut") + name + " backward" * (op["phase"] == "backward")
    of = ""
    if own := graph.alone.get(node.key):  # the module's name is the title, the operation follows
        name, of = own, f" · {name}"
    lines = [Line([(name, "name"), (of + call, "call")])]
    if graph.view.brief:
        if method := METHOD.fullmatch(shown):  # x.relu() is relu(x), where the name is not written twice
            call, shown = f"({', '.join(filter(None, method.group(1, 3)))})", shown * (method[2] != name)
        rest = of or (call if not shown or shown == name else f"  {shown}")
        whole = text.cut(name + rest, columns + 2)
        lines, shown = [Line([(whole[: len(name)], "name"), (whole[len(name) :], "call")])], ""
    elif len(name + of + call) > columns:
        lines = [Line([(name, "name"), (of, "call")])]
        lines += [Line([(line, "call")]) for line in text.wrap(call, columns, graph.view.lines)]
    if shown and shown != name:
        if len(name + of + call + shown) <= columns and not graph.view.tex:
            lines[0].right = (shown, "formula")
        else:
            lines += formula_lines(graph, shown, "formula", None, columns)
    for statement in op.get("lines", ()):  # of a training step
        words = text.wrap(text.clean(graph.words(statement)), columns + 10, 3)
        lines += [Line([(line, "formula")]) for line in words]
    tags = tags_of(graph, node, columns)
    tags += ["output"] * any(value in graph.outputs for value in node.outputs)
    tags += [text.shorten(f"then {', '.join(op['then'])}", columns)] if op.get("then") else []
    lines += [Line([(" · ".join(tags), "tag")])] if tags else []
    lines += _cuts(graph, node)
    lines += [Line([(line, "sum")]) for line in named_by_error(graph, op)]
    lines += [Line([(line, "code")]) for line in text.several(op.get("where"), columns + 8, CODE)]
    inside = summary(op) if node.kind == "function" and not node.frames else ""
    lines += [Line([(text.shorten(inside, columns), "tag")])] if inside else []
    lines += [Line([(line, "sum")]) for line in text.wrap(op.get("note", ""), columns, 3) if line]
    return Block("head", lines)


def tags_of(graph: Graph, node: Node, columns: int) -> list[str]:
    """Return what is known of an operation besides its call: its kind, and the transforms in which it runs."""
    op = node.record
    tags = ["custom Function"] * (node.kind == "function") + ["in place"] * bool(op.get("inplace"))
    tags += ["update"] * (op["phase"] == "update")
    tags += [text.shorten(" › ".join(op["layer"]), columns)] if op.get("layer") else []
    return tags + list(filter(None, [at_once(graph, op)]))


def _cuts(graph: Graph, node: Node) -> list[Line]:
    """Return the lines that say where no gradient passes; of several the first two."""
    held = [one for held in node.held for one in cuts.of_reads(graph, held.value)]
    return cut_lines(graph, cuts.sentences(graph, node.record) + held, node.kind)


def cut_lines(graph: Graph, words: list[str], kind: str = "") -> list[Line]:
    words = [*words[:2], *[f"and {len(words) - 2} more such operations"] * (len(words) > 2)]
    scissors = f"{cuts.SCISSORS} " * (kind != "cut")
    return [Line([(line, "sum")]) for one in words for line in text.wrap(scissors + one, graph.view.columns + 12, 2)]


def at_once(graph: Graph, op: dict) -> str:
    """Return the number of examples that vmap computes at once, or of gradients, as jacrev does; "" for one.

    >>> values = [{"id": i, "kind": "input", "name": "", "shape": shape} for i, shape in enumerate([[7, 3], [3]])]
    >>> op = {"id": 0, "phase": "forward", "inputs": [0, 1], "outputs": [], "views": [{"layer": "vmap", "inputs": [[3], [3]]}]}
    >>> at_once(Graph({"program": {}, "values": values, "ops": []}), op)
    'vmap: 7 at once'
    """
    size = lambda value: math.prod(graph.values[value]["shape"]) if value in graph.values else 0
    seen = [[math.prod(shape) for shape in one["inputs"]] for one in op.get("views", ()) if one["layer"] == "vmap"]
    levels = [[size(i) for i in op["inputs"] if not isinstance(i, dict)], *seen]
    many = [max((a // b for a, b in zip(*pair) if b), default=1) for pair in pairwise(levels)]
    flows = [(edge["gives"], edge["input"]) for edge in op.get("edges", ())]
    if max(many, default=1) < 2:
        many = [max((size(g) // size(v) for g, v in flows if size(v)), default=1)]
    many = [n for n in many if n > 1]
    return f"vmap: {' × '.join(map(str, many))} at once" if many else ""


def called(graph: Graph, node: Node) -> tuple[str, str, str]:
    """Return an operation's name, arguments and expression; the expression is "" if it is just the call.

    >>> values = [{"id": i, "name": n, "kind": "input"} for i, n in enumerate("wxy")]
    >>> op = {"id": 0, "phase": "forward", "name": "mul", "call": "w * x", "inputs": [0, 1], "outputs": [2]}
    >>> graph = Graph({"program": {}, "values": values, "ops": [op]})
    >>> called(graph, graph.nodes[-1])
    ('mul', '', 'w * x')
    """
    op = node.record
    name = text.shorten(op.get("function") or op["name"], 32)
    call, of = op.get("call") or "", op.get("forward")  # the operation whose gradient it computes
    of = graph.by_id.get(op.get("of", -1)) if op["phase"] == "backward" else of
    if call := text.clean(graph.words((in_brackets(of, call) if of else "") or call)):
        same = call.startswith(name + "(") or call.startswith(name + ".apply(")
        return (name, call[len(name) :].removeprefix(".apply"), "") if same else (name, "", call)
    if op.get("lines") or not op["inputs"] and op["id"] == graph.failing:
        return name, "", ""
    operands = [constant(i) if isinstance(i, dict) else text.shorten(graph.name(i), 16) for i in op["inputs"]]
    if len(operands) > 5:
        operands = [*operands[:3], f"… {len(operands) - 3} more"]
    return name, f"({', '.join(operands)})", ""


def fold_head(graph: Graph, node: Node) -> Block:
    """Return the head of a box of several operations: its name, and the operations in it."""
    inner, columns = node.record["folded"], graph.view.columns
    times = inner.get("times", 1)
    room = columns - (len(f"  × {times}") if times > 1 else 0)
    title = text.wrap(node.record["name"], room, 2) if graph.view.slide else ["…"]
    first, *more = [text.shorten(node.record["name"], room)] if title[-1].endswith("…") else title
    lines = [Line([(first, "name")], _times(inner)), *[Line([(one, "name")]) for one in more]]
    counted = [f"{many} {name}" if many > 1 else name for name, many in inner["names"].items()]
    more = [f"{len(counted) - 5} other kinds"] if len(counted) > 6 else []
    words = f"{text.counted(len(inner['ops']), 'operation')}: {', '.join([*counted[: 6 - len(more)], *more])}"
    if times > 1:
        words = f"each: {', '.join(inner.get('each', ()))}"
    lines += [Line([(line, "tag")]) for line in text.wrap(words, columns + 10, 2 if graph.view.brief else 3)]
    if inner["parameters"]:
        lines.append(Line([(f"{inner['parameters']} parameters with {inner['elements']:,} elements", "tag")]))
    lines += _cuts(graph, node)
    return Block("head", lines)


def _times(inner: dict) -> Run:
    """Return the number of equal stretches in a box, or the kind of the box."""
    if inner.get("times", 1) > 1:
        return f"× {inner['times']}", "name"
    return ("as above" if inner["kind"] == "repeat" else inner["kind"]), "tag"


def leaf_head(graph: Graph, node: Node) -> Block:
    """Return the head of a value that no operation of the picture computes: its name and kind."""
    value = node.outputs[0]
    of = graph.gradient_of.get(value)
    kind = KINDS.get(node.kind, node.kind) if of is None else f"gradient of {text.shorten(graph.name(of), 24)}"
    in_modules = any(edge.target.record.get("module") for edge in graph.edges if edge.value == value)
    if kind == "parameter" and not in_modules and "." not in graph.name(value):
        kind = "leaf"
    kind += " · output" * (value in graph.outputs)
    kind = graph.values[value].get("tag", kind)  # of a story
    name = graph.name(value)
    path = graph.values[value].get("name") or ""  # a module's parameter; formulas use a short label for a long path
    words = [(text.shorten(path, 40), "name"), (f"  {name}", "call")] if "." in path and "." not in name else []
    lines = [Line(words or [(text.shorten(name, 32), "name")], (kind, "tag"))]
    return Block("head", [*lines, *cut_lines(graph, cuts.of_reads(graph, value))], value)


def constant(entry: dict) -> str:
    """Return an argument that is no tensor as text."""
    given = entry.get("const")
    return text.shorten(text.number(given) if isinstance(given, (int, float)) else str(given), 20)
