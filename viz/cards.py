"""What stands on each card, for each pass, and how large the card must be.

A card has a head (name, arguments, formula), its values, one section that differs between the passes (what is saved;
the gradient and its sum; the tangent and its rule) and the user's line.  Above it lies a strip with one label for each
edge that backward sends up.  Sizes fit the widest pass, so the pictures of the passes can be laid over one another.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

from . import text, user_formula
from .drawn_graph import Edge, Graph, Node
from .orientation import WAYS, Way
from .style import TEXTS, measure

SIDE, ABOVE, BETWEEN = 11, 6, 16  # padding left and right, above and below a section, between texts
GAP, ROOM = 14.0, 24.0  # between labels of edges, and along an edge before and after its label
WIDE = 72  # characters that a value and its type may have on one line of text
COLUMNS = 50  # characters after which a text is wrapped
KINDS = {"computed": "value"}  # a leaf made before the recording began

Run = tuple[str, str]  # a text and the name of its style


@dataclass
class Line:
    """A line of text: runs from the left, and one at the right."""

    left: list[Run]
    right: Run | None = None

    @property
    def width(self) -> float:
        """What the line needs."""
        return sum(measure(*run) for run in self.left) + (BETWEEN + measure(*self.right) if self.right else 0)

    @property
    def text(self) -> str:
        """The line as plain text."""
        whole = "".join(run for run, _ in self.left) + (f"  {self.right[0]}" if self.right else "")
        return whole.replace("\u00a0", " ")

    @property
    def height(self) -> float:
        """The height of its largest text."""
        return max(TEXTS[style].height for _, style in (*self.left, *([self.right] if self.right else ())))


@dataclass
class Block:
    """Lines that belong together, and the id of the value they tell of."""

    role: str  # head | value | saved | gradient | tangent | source
    lines: list[Line]
    value: int | None = None

    @property
    def height(self) -> float:
        """The height of the lines, without padding."""
        return sum(line.height for line in self.lines)


@dataclass
class Card:
    """The contents of a node and its measures; the strip of labels is part of the box that the layout places."""

    node: Node
    head: list[Block]
    body: list[Block] = field(default_factory=list)
    passes: dict[str, list[Block]] = field(default_factory=dict)
    foot: list[Block] = field(default_factory=list)
    labels: list[list[Line]] = field(default_factory=list)  # backward: one for each edge in
    way: Way = WAYS["TB"]

    def __post_init__(self):
        blocks = [*self.head, *self.body, *self.foot, *(b for section in self.passes.values() for b in section)]
        widest = max(line.width for block in blocks for line in block.lines) + 2 * SIDE
        self.parts = [
            padded(self.head),
            padded(self.body),
            max(map(padded, self.passes.values()), default=0),
            padded(self.foot),
        ]
        self.width, self.height = float(math.ceil(max(widest, 60))), float(round(sum(self.parts)))
        sizes = [label_size(label) for label in self.labels]
        self.slots = [self.way.size((wide or 12.0) + GAP, (tall or 12.0) + GAP)[0] for wide, tall in sizes]
        need = sum(self.slots)
        if self.way.sideways:
            self.height = max(self.height, need)
        else:
            self.width = float(math.ceil(max(self.width, need)))
        self.strip = max((self.way.size(wide + ROOM, tall + ROOM)[1] for wide, tall in sizes if wide), default=0.0)
        self.across, paper = self.way.size(self.width, self.height)
        self.along, self.inset = self.strip + paper, (self.across - need) / 2

    def entry(self, slot: int) -> float:
        """How far across an edge comes in."""
        return self.inset + sum(self.slots[:slot]) + self.slots[slot] / 2

    def exit(self, port: int) -> float:
        """How far across an edge goes out."""
        return self.across * (2 * port + 1) / (2 * len(self.node.outputs))


def sections(blocks: list[Block]) -> list[list[Block]]:
    """Blocks with those of the same role together: each lies on a tint of its own."""
    return [list(same) for _, same in groupby(blocks, lambda block: block.role)]


def padded(blocks: list[Block]) -> float:
    """The height of blocks with the padding of their sections."""
    return sum(block.height for block in blocks) + 2 * ABOVE * len(sections(blocks))


def label_size(label: list[Line]) -> tuple[float, float]:
    """Width and height of the paper under a label; nothing for none."""
    if not label:
        return 0.0, 0.0
    return max(line.width for line in label) + 12, sum(line.height for line in label) + 8


def card(graph: Graph, node: Node, together: Sequence[str] = ()) -> Card:
    """The card of a node; `together` are passes that one picture shows at once."""
    way = WAYS[graph.view.rankdir]
    if node.kind == "copy":
        head = [Block("head", [Line([(text.shorten(graph.name(node.outputs[0]), 24), "call")])])]
        return Card(node, head, way=way)
    passes = {
        name: section
        for name, section in (
            ("forward", _saved(graph, node)),
            ("backward", _gradients(graph, node)),
            ("jvp", _tangents(graph, node)),
        )
        if section and name in graph.passes
    }
    if together:
        passes = {"together": [block for name, section in passes.items() if name in together for block in section]}
    body = [_value(graph, value, with_name=node.is_op) for value in node.outputs]
    body = [block for block in body if block.lines]
    if not node.is_op:
        return Card(node, [_leaf_head(graph, node)], body, passes, way=way)
    labels = [flow_label(graph, edge) if "backward" in graph.passes else [] for edge in node.inputs]
    room = 0 if way.sideways else sum((label_size(label)[0] or 12.0) + GAP for label in labels) - 2 * SIDE
    columns = max(56, int(room / measure("x", "code")))
    head = _fold_head(graph, node) if node.kind == "fold" else _op_head(graph, node)
    return Card(node, [head], body, passes, _source(graph, node, columns), labels, way)


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
    """What backward does along an edge: upstream times local partial, and the contribution that this gives."""
    if edge.flow is None:
        return []
    formula = text.clean(edge.flow.get("formula") or "")
    if formula and edge.target.kind == "op" and "parts" not in edge.flow:
        return [*[Line([(line, "flow")]) for line in text.wrap(formula, 38, 3)], *given_lines(graph, edge)]
    partial, amount = partial_of(graph, edge), amount_of(graph, graph.values.get(edge.flow["upstream"]))
    terms = terms_of(graph, edge.target)
    if edge.target.kind == "fold" or "parts" in edge.flow:
        rule = partial
    elif partial.endswith(".backward"):  # of a custom Function
        several = [graph.gradient(value) for value in edge.target.outputs] if len(edge.target.outputs) > 1 else []
        rule = f"{partial}({', '.join(amount_of(graph, one) for one in several if one) or amount})"
    elif partial.startswith("∂"):  # of an operation made of others: a Jacobian without a formula
        rule = f"{amount} · {partial}"
    elif user_formula.uses_upstream(partial):
        rule = terms.words(partial, g=f"({amount})" if amount.startswith("-") else amount)
    else:
        rule = f"{amount} × {user_formula.factor(terms.words(partial))}"
        if graph.elements(edge.flow["upstream"]) > graph.elements(edge.flow["gives"]):  # it was broadcast
            rule = f"sum({rule})"
        elif 0 < graph.elements(edge.flow["upstream"]) < graph.elements(edge.flow["gives"]):  # it was summed up
            rule = f"expand({rule})"
    lines = [Line([(line, "flow")]) for line in text.wrap(rule, 38, 2)] if rule else []
    return lines + given_lines(graph, edge)


def given_lines(graph: Graph, edge: Edge) -> list[Line]:
    """What an edge contributes, in numbers."""
    if edge.flow is None or "grads" not in graph.view.show:
        return []
    if told := edge.flow.get("told"):  # of an explanation: the equations of single elements
        return [Line([(line, "gives")]) for one in told for line in text.wrap(one, 56, 6)]
    gives = " + ".join(text.gist(graph.values.get(one["gives"])) for one in edge.flow.get("parts", [edge.flow]))
    return [Line([(line, "gives")]) for line in text.wrap(f"= {gives}", 38, 2) if gives]


def amount_of(graph: Graph, gradient: dict | None) -> str:
    """An upstream gradient in a formula: its numbers if they are short and to be shown, else g."""
    amount = text.whole(gradient)
    return amount if 0 < len(amount) <= 28 and "grads" in graph.view.show else "g"


def flow_text(cards: dict[str, Card], edge: Edge) -> list[str]:
    """The lines of an edge's label as plain text; none where nothing goes back."""
    labels = cards[edge.target.key].labels
    return [line.text for line in labels[edge.slot]] if labels and edge.flow else []


def words(card: Card, *passes: str) -> list[str]:
    """What stands on a card in these passes, as plain text line by line."""
    lines = [line.text for block in card.head for line in block.lines]
    blocks = [*(block for name in passes for block in card.passes.get(name, ())), *card.foot]
    return [*lines, *body_words(card), *(line.text for block in blocks for line in block.lines)]


def body_words(card: Card) -> list[str]:
    """The values of a card as plain text; a value and its type share a line if they fit."""
    lines = []
    for block in card.body:
        texts = [line.text for line in block.lines]
        lines += ["   ".join(texts)] if sum(map(len, texts)) <= WIDE else texts
    return lines


def partial_of(graph: Graph, edge: Edge) -> str:
    """The local partial of an edge; one that is but a sign, ∂f/∂x, in our names for both."""
    partial = text.clean(edge.flow["partial"]) if edge.flow else ""
    return (
        f"∂{text.shorten(edge.target.record['name'], 16)}/∂{graph.name(edge.value)}" if partial[:1] == "∂" else partial
    )


def _op_head(graph: Graph, node: Node) -> Block:
    op = node.record
    name, call, shown = called(graph, node)
    name += " backward" * (op["phase"] == "backward")
    lines = [Line([(name, "name"), (text.shorten(call, COLUMNS), "call")])]
    if shown and shown != name:
        if len(name) + len(call) + len(shown) <= COLUMNS:
            lines[0].right = (shown, "formula")
        else:
            lines += [Line([(line, "formula")]) for line in text.wrap(shown, COLUMNS, 3)]
    tags = ["custom Function"] * (node.kind == "function") + ["in place"] * bool(op.get("inplace"))
    tags += [text.shorten(" › ".join(op["layer"]), COLUMNS)] if op.get("layer") else []
    tags += ["output"] * any(value in graph.outputs for value in node.outputs)
    lines += [Line([(" · ".join(tags), "tag")])] if tags else []
    lines += [Line([(line, "sum")]) for line in text.wrap(op.get("note", ""), 50, 3) if line]
    return Block("head", lines)


def called(graph: Graph, node: Node) -> tuple[str, str, str]:
    """Name, arguments and formula of an operation; no formula where it is but the call.

    >>> values = [{"id": i, "name": n, "kind": "input"} for i, n in enumerate("wxy")]
    >>> op = {"id": 0, "phase": "forward", "name": "mul", "call": "w * x", "inputs": [0, 1], "outputs": [2]}
    >>> graph = Graph({"program": {}, "values": values, "ops": [op]})
    >>> called(graph, graph.nodes[-1])
    ('mul', '', 'w * x')
    """
    op, terms = node.record, terms_of(graph, node)
    name, given, operands = text.shorten(op.get("function") or op["name"], 32), terms.formula, terms.operands
    if call := text.clean(op.get("call") or ""):
        same = call.startswith(name + "(") or call.startswith(name + ".apply(")
        return (name, call[len(name) :].removeprefix(".apply"), "") if same else (name, "", call)
    shown = terms.words(given)
    if len(operands) > 5:
        operands = [*operands[:3], f"… {len(operands) - 3} more"]
    arguments = f"({', '.join(operands)})"
    if given.startswith(name + "("):
        return name, shown[len(name) :] if shown != given else arguments, ""
    return name, arguments, shown


def _fold_head(graph: Graph, node: Node) -> Block:
    """What a box of several operations is called, and what is in it."""
    inner = node.record["folded"]
    counted = [f"{many} {name}" if many > 1 else name for name, many in inner["names"].items()]
    more = [f"{len(counted) - 5} other kinds"] if len(counted) > 6 else []
    words = f"{len(inner['ops'])} operations: {', '.join([*counted[: 6 - len(more)], *more])}"
    lines = [Line([(text.shorten(node.record["name"], 40), "name")], (inner["kind"], "tag"))]
    lines += [Line([(line, "tag")]) for line in text.wrap(words, 60, 3)]
    if inner["parameters"]:
        lines.append(Line([(f"holds {inner['parameters']} parameters, {inner['elements']:,} numbers", "tag")]))
    return Block("head", lines)


def terms_of(graph: Graph, node: Node) -> user_formula.Terms:
    """What formulas call the operands and the result of an operation."""
    op = {**node.record, "formula": text.clean(node.record.get("formula") or "")}
    operands = [_constant(i) if isinstance(i, dict) else text.shorten(graph.name(i), 16) for i in op["inputs"]]
    return user_formula.Terms.of(op, operands, text.shorten(graph.name(node.outputs[0]), 16) if node.outputs else "")


def _leaf_head(graph: Graph, node: Node) -> Block:
    value = node.outputs[0]
    kind = KINDS.get(node.kind, node.kind) + " · output" * (value in graph.outputs)
    return Block("head", [Line([(text.shorten(graph.name(value), 32), "name")], (kind, "tag"))], value)


def _constant(entry: dict) -> str:
    constant = entry.get("const")
    return text.shorten(text.number(constant) if isinstance(constant, (int, float)) else str(constant), 20)


def _value(graph: Graph, value: int, with_name: bool) -> Block:
    entry, show = graph.values[value], graph.view.show
    name = text.shorten(graph.name(value), 24) if with_name else ""
    lines = _assigned(name, text.contents(entry) if "values" in show else "", "value")
    return Block("value", [*lines, *([Line([(text.kind_of(entry), "type")])] if "shapes" in show else [])], value)


def _assigned(name: str, amount: str, style: str) -> list[Line]:
    """`name = amount`, wrapped, as far as both are known."""
    whole = f"{name}{' ' if amount.startswith('min') else ' = '}{amount}" if name and amount else name or amount
    return [Line([(line, style)]) for line in text.wrap(whole, COLUMNS, 3)] if whole else []


def _saved(graph: Graph, node: Node) -> list[Block]:
    kept = graph.saved(node.record) if node.is_op and "saved" in graph.view.show else {}
    if not kept:
        return []
    if node.kind == "fold":
        words = f"saved for backward: {len(kept)} values, {text.size(sum(kept.values()))}"
        return [Block("saved", [Line([(words, "saved")])])]
    named = {value: size for value, size in kept.items() if value in graph.shown}
    inner = [size for value, size in kept.items() if value not in graph.shown]
    items = [f"{text.shorten(graph.name(value), 16)} ({text.size(size)})" for value, size in list(named.items())[:6]]
    items += [f"{len(named) - 6} more"] if len(named) > 6 else []
    items += [f"{len(inner)} inner value{'s' * (len(inner) > 1)} ({text.size(sum(inner))})"] if inner else []
    items = [item.replace(" ", "\u00a0") for item in items]
    words = text.wrap("saved for backward: " + ", ".join(items), 56, 3)
    return [Block("saved", [Line([(line, "saved")]) for line in words])]


def _gradients(graph: Graph, node: Node) -> list[Block]:
    blocks = []
    for value in node.outputs if "grads" in graph.view.show else ():
        gradient, terms = graph.gradient(value), graph.contributions(value)
        if gradient is None and not terms:
            continue
        lines = _assigned("grad", text.contents(gradient), "gradient")
        if len(terms) > 1:
            lines += [Line([(line, "sum")]) for line in text.wrap(_sum(terms), 50, 2)]
        elif not terms and value in graph.outputs:
            lines += [Line([("here backward starts", "sum")])]
        if gradient and "note" in gradient:  # what a check has to say of it, as it may of an operation
            lines += [Line([(line, "sum")]) for line in text.wrap(gradient["note"], 50, 3)]
        if gradient and gradient["id"] in graph.outputs:  # as the result of func.grad is
            lines += [Line([(f"output: {text.shorten(graph.name(gradient['id']), 24)}", "sum")])]
        blocks.append(Block("gradient", lines, gradient["id"] if gradient else None))
    freed = "saved" in graph.view.show and sum(graph.saved(node.record, freed=True).values())
    if blocks and freed:
        blocks[-1].lines.append(Line([(f"then frees {text.size(freed)}", "saved")]))
    return blocks


def _sum(terms: list[dict | None]) -> str:
    """How contributions meet, with the numbers where they are few and short.

    >>> _sum([{"shape": [], "summary": {"values": 1.5}}, {"shape": [], "summary": {"values": -0.5}}])
    'sum of 2 contributions: 1.5 + -0.5'
    """
    amounts = [text.whole(term, most=1) for term in terms]
    shown = len(terms) <= 4 and all(amounts)
    return f"sum of {len(terms)} contributions" + (": " + " + ".join(amounts) if shown else "")


def _tangents(graph: Graph, node: Node) -> list[Block]:
    blocks = []
    for value in node.outputs if "grads" in graph.view.show else ():
        tangent = graph.tangent(value)
        if tangent is None:
            continue
        lines = _assigned("tangent", text.contents(tangent), "tangent")
        rule = rule_of(graph, node, value) if node.kind in ("op", "function") else ""
        lines += [Line([(line, "rule")]) for line in text.wrap(rule, COLUMNS, 3)] if rule else []
        blocks.append(Block("tangent", lines, tangent["id"]))
    return blocks


def rule_of(graph: Graph, node: Node, value: int) -> str:
    """How the tangent of a result is computed from those of the inputs."""
    for push in node.record.get("pushes", ()):
        if push["output"] == value:
            return f"= {text.clean(push['formula'])}"
    slots = [i for i, value in enumerate(node.record["inputs"]) if not isinstance(value, dict)]
    moving = [i for i, edge in zip(slots, node.inputs) if graph.tangent(edge.value)]
    edges = dict(zip(slots, node.inputs))
    if not moving or any(edges[i].flow is None for i in moving):
        return ""
    partials = {i: partial_of(graph, edge) for i, edge in edges.items()}
    sums = any(graph.elements(edges[i].value) > graph.elements(node.outputs[0]) for i in moving)
    name = text.shorten(node.record.get("function") or node.record["name"], 32)
    rule = user_formula.tangent_rule(name, terms_of(graph, node), partials, moving, sums)
    return "= " + rule if rule else ""
