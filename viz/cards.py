"""The text on each card, for each pass, and the size of the card.

A card has a head (name, arguments, formula), its values, one section per pass (saved tensors; the gradient and its sum; the
tangent and its rule) and the user's line.  A strip above it holds a label for each edge that backward follows.  A card is as
large as its largest pass needs, so the pictures of the passes can be laid over one another.
"""

from __future__ import annotations

from collections.abc import Sequence

from . import mathematics, text
from .card_parts import GAP, NARROW, ROOM, SIDE, Bar, Block, Card, Line, label_size
from .drawn_graph import Edge, Graph, Node, View
from .functions import summary
from .orientation import WAYS
from .ranks import travelling
from .style import TEXTS, measure

WIDE = 72  # characters that a value and its type may have on one line of text
KINDS = {"computed": "value"}  # a leaf made before the recording began

READABLE = 0.7  # a formula that needs a smaller scale than this to fit is not typeset


def card(graph: Graph, node: Node, passes: Sequence[str], together: bool = False) -> Card:
    """Make the card of a node, with room for these passes one at a time, or `together` in one picture."""
    way = WAYS[graph.view.rankdir]
    if node.kind == "copy":
        head = [Block("head", [Line([(text.shorten(graph.name(node.outputs[0]), 24), "call")])])]
        return Card(node, head, way=way)
    if node.kind == "transfer":
        return _transfer(graph, node, passes, together)
    sections = {"forward": _saved, "backward": _gradients, "jvp": _tangents}
    extra = {name: section for name in passes if (section := sections[name](graph, node))}
    if together:
        extra = {"together": [block for section in extra.values() for block in section]}
    body = [_value(graph, value, with_name=node.is_op) for value in node.outputs]
    body = [block for block in body if block.lines]
    if not node.is_op:
        return Card(node, [_leaf_head(graph, node)], body, extra, way=way)
    labels = [flow_label(graph, edge) if "backward" in passes else [] for edge in node.inputs]
    room = 0 if way.sideways else sum((label_size(label)[0] or 12.0) + GAP for label in labels) - 2 * SIDE
    columns = max(graph.view.columns + 6, int(room / measure("x", "code")))
    head = _fold_head(graph, node) if node.kind == "fold" else _op_head(graph, node)
    return Card(
        node, [head], body, extra, _source(graph, node, columns), labels, way, NARROW if graph.view.slide else ROOM
    )


def _transfer(graph: Graph, node: Node, passes: Sequence[str], together: bool) -> Card:
    """Make the card of a collective or message; it is a Bar if it joins several lanes."""
    sections = {"forward": _saved, "backward": _gradients, "jvp": _tangents}
    extra = {name: [*travelling.waits(graph, node, name), *sections[name](graph, node)] for name in passes}
    if together:
        extra = {"together": [block for section in extra.values() for block in section]}
    extra = {
        name: sorted(section, key=lambda block: block.role != "waited") for name, section in extra.items() if section
    }
    body = [block for value in node.outputs if (block := _value(graph, value, with_name=True)).lines]
    for block in (*body, *(one for section in extra.values() for one in section)):
        block.lane = graph.lane(block.value) if block.value is not None else block.lane
    labels = [flow_label(graph, edge) if "backward" in passes else [] for edge in node.inputs]
    head, foot, way = travelling.head(graph, node), _source(graph, node, graph.view.columns), WAYS[graph.view.rankdir]
    if len(node.lanes) < 2:
        return Card(node, [head], body, extra, foot, labels, way)
    ins, outs = [[graph.lane(v) or 0 for v in some] for some in ([e.value for e in node.inputs], node.outputs)]
    names = {lane: graph.lane_name(lane) for lane in node.lanes}
    return Bar(node, [head], body, extra, foot, labels, way, ins=ins, outs=outs, names=names)


def _source(graph: Graph, node: Node, columns: int) -> list[Block]:
    where = text.source(node.record.get("where")) if "lines" in graph.view.show else ""
    if where and node.kind == "fold":
        first, last = node.record["folded"]["lines"] or (0, 0)
        file = text.file_name(node.record["where"]["file"])
        where = where if first == last else f"{file}, lines {first} to {last}"
    if not where:
        return []
    return [Block("source", [Line([(line, "code")]) for line in text.wrap(where, columns, 3)])]


def flow_label(graph: Graph, edge: Edge) -> list[Line]:
    """Return the label of an edge in backward: the formula of the contribution, and its value."""
    if edge.flow is None:
        return []
    formula, latex = formula_of(graph, edge), edge.flow.get("latex")
    lines = formula_lines(graph, formula, "flow", latex, graph.view.label_columns) if formula else []
    return lines + given_lines(graph, edge)


def flow_formula(graph: Graph, edge: Edge) -> str:
    """Return the formula of a contribution as plain text; a record without formulas gives the local derivative's name."""
    return text.clean(graph.words(formula_of(graph, edge)))


def formula_of(graph: Graph, edge: Edge) -> str:
    """Return the formula of a contribution; for a collective, the collective that its gradient passes through."""
    flow = edge.flow or {}
    back = graph.transfers[edge.target.record["id"]].get("backward") if edge.target.kind == "transfer" else None
    if back and flow.get("formula", "").endswith(".backward(g)"):
        return f"{travelling.plain(back[0]['name'])}(g)"
    return flow.get("formula") or flow.get("partial") or ""


def formula_lines(
    graph: Graph, formula: str, style: str, latex: str | None, columns: int, begin: str = ""
) -> list[Line]:
    """Break a formula into lines, a long one into named parts; or return it in LaTeX if requested and not too wide."""
    from minigrad.formulas.named_parts import in_parts  # the record was made by minigrad, so this costs no import time

    line_of = lambda formula: begin + text.clean(graph.words(formula))
    if graph.view.tex and latex and mathematics.is_formula(latex):
        wide, rows = mathematics.extent(latex)
        size, most = TEXTS[style].size, measure("x" * columns, style)
        if wide * size * READABLE <= most:
            return [
                Line([(line_of(formula), style)], None, latex, (min(wide * size, most), rows * TEXTS[style].height))
            ]
    whole, parts = (formula, {}) if graph.view.slide else in_parts(formula)
    formulas = [line_of(whole), *(f"{name} = {text.clean(graph.words(part))}" for name, part in parts.items())]
    most = graph.view.lines if graph.view.slide else 2 * graph.view.lines  # enough lines to show the whole formula
    return [Line([(line, style)]) for one in formulas for line in text.wrap(one, columns, most)]


def given_lines(graph: Graph, edge: Edge) -> list[Line]:
    """Return the value of an edge's contribution as lines."""
    alone = graph.view.slide and len(graph.back[edge.value]) == 1  # then it equals the gradient, which the card shows
    if edge.flow is None or "grads" not in graph.view.show or alone:
        return []
    if equations := edge.flow.get("equations"):  # of an explanation: the equations of single elements
        return [Line([(line, "gives")]) for one in equations for line in text.wrap(one, graph.view.columns, 6)]
    given = [graph.values.get(one["gives"]) for one in edge.flow.get("parts", [edge.flow])]
    gives = " + ".join(text.gist(one) for one in given if not graph.view.slide or text.whole(one))
    return [Line([(line, "gives")]) for line in text.wrap(f"= {gives}", graph.view.label_columns, 2) if gives]


def flow_text(cards: dict[str, Card], edge: Edge) -> list[str]:
    """Return the lines of an edge's label as plain text; none if no gradient flows back along it."""
    labels = cards[edge.target.key].labels
    return [line.text for line in labels[edge.slot]] if labels and edge.flow else []


def words(card: Card, *passes: str) -> list[str]:
    """Return the text on a card in these passes, line by line."""
    lines = [line.text for block in card.head for line in block.lines]
    blocks = [*(block for name in passes for block in card.passes.get(name, ())), *card.foot]
    return [
        *lines,
        *body_words(card),
        *(lane_prefix(card, block) + line.text for block in blocks for line in block.lines),
    ]


def lane_prefix(card: Card, block: Block) -> str:
    """Return the prefix that names the lane of a bar's block, or ""."""
    return f"{card.names[block.lane]}: " if isinstance(card, Bar) and block.lane is not None else ""


def body_words(card: Card) -> list[str]:
    """Return a card's values as plain text; a value and its type share a line if they fit."""
    lines = []
    for block in card.body:
        texts = [line.text for line in block.lines]
        rows = ["   ".join(texts)] if sum(map(len, texts)) <= WIDE else texts
        lines += [lane_prefix(card, block) + row for row in rows]
    return lines


def _op_head(graph: Graph, node: Node) -> Block:
    op, columns = node.record, graph.view.columns
    name, call, shown = called(graph, node)
    name += " backward" * (op["phase"] == "backward")
    lines = [Line([(name, "name"), (call, "call")])]
    if len(name) + len(call) > columns:
        lines = [
            Line([(name, "name")]),
            *(Line([(line, "call")]) for line in text.wrap(call, columns, graph.view.lines)),
        ]
    if shown and shown != name:
        if len(name) + len(call) + len(shown) <= columns and not graph.view.tex:
            lines[0].right = (shown, "formula")
        else:
            lines += formula_lines(graph, shown, "formula", mathematics.of(graph, shown), columns)
    tags = ["custom Function"] * (node.kind == "function") + ["in place"] * bool(op.get("inplace"))
    tags += ["update"] * (op["phase"] == "update")
    tags += [text.shorten(" › ".join(op["layer"]), columns)] if op.get("layer") else []
    tags += ["output"] * any(value in graph.outputs for value in node.outputs)
    lines += [Line([(" · ".join(tags), "tag")])] if tags else []
    inside = summary(op) if node.kind == "function" and not node.frames else ""
    lines += [Line([(text.shorten(inside, columns), "tag")])] if inside else []
    lines += [Line([(line, "sum")]) for line in text.wrap(op.get("note", ""), columns, 3) if line]
    return Block("head", lines)


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
    if call := text.clean(graph.words(op.get("call") or "")):
        same = call.startswith(name + "(") or call.startswith(name + ".apply(")
        return (name, call[len(name) :].removeprefix(".apply"), "") if same else (name, "", call)
    operands = [_constant(i) if isinstance(i, dict) else text.shorten(graph.name(i), 16) for i in op["inputs"]]
    if len(operands) > 5:
        operands = [*operands[:3], f"… {len(operands) - 3} more"]
    return name, f"({', '.join(operands)})", ""


def _fold_head(graph: Graph, node: Node) -> Block:
    """Return the head of a box of several operations: its name, and the operations in it."""
    inner = node.record["folded"]
    counted = [f"{many} {name}" if many > 1 else name for name, many in inner["names"].items()]
    more = [f"{len(counted) - 5} other kinds"] if len(counted) > 6 else []
    words = f"{len(inner['ops'])} operations: {', '.join([*counted[: 6 - len(more)], *more])}"
    lines = [Line([(text.shorten(node.record["name"], 40), "name")], (inner["kind"], "tag"))]
    lines += [Line([(line, "tag")]) for line in text.wrap(words, 60, 3)]
    if inner["parameters"]:
        lines.append(Line([(f"{inner['parameters']} parameters with {inner['elements']:,} elements", "tag")]))
    return Block("head", lines)


def _leaf_head(graph: Graph, node: Node) -> Block:
    value = node.outputs[0]
    of = graph.gradient_of.get(value)
    kind = KINDS.get(node.kind, node.kind) if of is None else f"gradient of {text.shorten(graph.name(of), 24)}"
    kind += " · output" * (value in graph.outputs)
    name = graph.name(value)
    path = graph.values[value].get("name") or ""  # a module's parameter; formulas use a short label for a long path
    words = [(text.shorten(path, 40), "name"), (f"  {name}", "call")] if "." in path and "." not in name else []
    return Block("head", [Line(words or [(text.shorten(name, 32), "name")], (kind, "tag"))], value)


def _constant(entry: dict) -> str:
    constant = entry.get("const")
    return text.shorten(text.number(constant) if isinstance(constant, (int, float)) else str(constant), 20)


def _value(graph: Graph, value: int, with_name: bool) -> Block:
    entry, show = graph.values[value], graph.view.show
    name = text.shorten(graph.name(value), 24) if with_name else ""
    lines = _assigned(name, _amount(graph, entry) if "values" in show else "", "value", graph.view)
    return Block("value", [*lines, *([Line([(text.kind_of(entry), "type")])] if "shapes" in show else [])], value)


def _assigned(name: str, amount: str, style: str, view: View) -> list[Line]:
    """Return `name = amount` in lines; an unknown part is left out."""
    joint = " " if amount.startswith(("min ", "all ", "(")) else " = "
    whole = f"{name}{joint}{amount}" if name and amount else name or amount
    return [Line([(line, style)]) for line in text.wrap(whole, view.columns, view.lines)] if whole else []


def _amount(graph: Graph, entry: dict | None) -> str:
    """Return a value's contents; on a slide a large one shows only its shape, unless there are lines for shapes."""
    amount = text.contents(entry)
    if entry is None or not amount or text.whole(entry) or not graph.view.slide or "shapes" in graph.view.show:
        return amount
    return text.shape(entry["shape"])


def _saved(graph: Graph, node: Node) -> list[Block]:
    kept = graph.saved(node.record) if node.is_op and "saved" in graph.view.show else {}
    again = "saved" in graph.view.show and not graph.again.isdisjoint(_ids(node))
    blocks = [Block("saved", [Line([("computed again in backward", "saved")])])] if again else []
    if not kept:
        return blocks
    if node.kind == "fold":
        words = f"saved for backward: {len(kept)} values, {text.size(sum(kept.values()))}"
        return [Block("saved", [Line([(words, "saved")])]), *blocks]
    named = {value: size for value, size in kept.items() if value in graph.shown}
    inner = [size for value, size in kept.items() if value not in graph.shown]
    items = [f"{text.shorten(graph.name(value), 16)} ({text.size(size)})" for value, size in list(named.items())[:6]]
    items += [f"{len(named) - 6} more"] if len(named) > 6 else []
    items += [f"{len(inner)} inner value{'s' * (len(inner) > 1)} ({text.size(sum(inner))})"] if inner else []
    items = [item.replace(" ", "\u00a0") for item in items]
    words = text.wrap("saved for backward: " + ", ".join(items), graph.view.columns + 6, 3)
    return [Block("saved", [Line([(line, "saved")]) for line in words]), *blocks]


def _ids(node: Node) -> list[int]:
    """Return the ids of the operations that a node stands for."""
    if not node.is_op:
        return []
    return node.record["folded"]["ops"] if node.kind == "fold" else [node.record["id"]]


def _gradients(graph: Graph, node: Node) -> list[Block]:
    blocks, columns = [], graph.view.columns
    for value in node.outputs if "grads" in graph.view.show else ():
        gradient, terms = graph.gradient(value), graph.contributions(value)
        if gradient is None and not terms:
            continue
        lines = _assigned("grad", _amount(graph, gradient), "gradient", graph.view)
        if len(terms) > 1:
            lines += [Line([(line, "sum")]) for line in text.wrap(_sum(terms), columns, 2)]
        elif not terms and value in graph.outputs:
            lines += [Line([("backward starts here", "sum")])]
        if gradient and "note" in gradient:  # a note of minigrad check
            lines += [Line([(line, "sum")]) for line in text.wrap(gradient["note"], columns, 3)]
        if gradient and gradient["id"] in graph.outputs:  # as the result of func.grad is
            lines += [Line([(f"output: {text.shorten(graph.name(gradient['id']), 24)}", "sum")])]
        blocks.append(Block("gradient", lines, gradient["id"] if gradient else None))
    freed = "saved" in graph.view.show and sum(graph.saved(node.record, freed=True).values())
    if blocks and freed:
        blocks[-1].lines.append(Line([(f"frees {text.size(freed)}", "saved")]))
    return blocks


def _sum(terms: list[dict | None]) -> str:
    """Describe the sum of contributions, with the numbers if they are few and short.

    >>> _sum([{"shape": [], "summary": {"values": 1.5}}, {"shape": [], "summary": {"values": -0.5}}])
    'sum of 2 contributions: 1.5 + (-0.5)'
    """
    amounts = [text.whole(term, most=1) for term in terms]
    shown = len(terms) <= 4 and all(amounts)
    amounts = [f"({amount})" if amount.startswith("-") else amount for amount in amounts]
    return f"sum of {len(terms)} contributions" + (": " + " + ".join(amounts) if shown else "")


def _tangents(graph: Graph, node: Node) -> list[Block]:
    blocks, columns = [], graph.view.columns
    for value in node.outputs if "grads" in graph.view.show else ():
        tangent = graph.tangent(value)
        if tangent is None:
            continue
        lines = _assigned("tangent", _amount(graph, tangent), "tangent", graph.view)
        if push := push_of(node, value):
            lines += formula_lines(graph, pushed(node, push), "rule", push.get("latex"), columns, begin="= ")
        blocks.append(Block("tangent", lines, tangent["id"]))
    return blocks


def pushed(node: Node, push: dict) -> str:
    """Return the formula of a tangent; for a collective, the collective that it passes through."""
    if node.kind != "transfer":
        return push["formula"]
    return travelling.called(node.record) + "(" + push["formula"].partition("(")[2]


def push_of(node: Node, value: int) -> dict | None:
    """Return the record's rule for the tangent of an output, or None."""
    return next((push for push in node.record.get("pushes", ()) if push["output"] == value), None)
