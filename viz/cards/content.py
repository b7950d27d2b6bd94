"""The text on each card, for each pass, and the size of the card.

A card has a head (name, arguments, formula), its values, one section per pass (saved tensors; the gradient and its sum; the
tangent and its rule) and the user's line.  A strip above it holds a label for each edge that backward follows.  A card is as
large as the largest pass that is drawn needs, so the pictures of the passes can be laid over one another.
"""

import cmath
import math
from collections.abc import Sequence

from .. import text
from ..graph.backward_passes import Origin, after, beginning
from ..graph.drawn_graph import Edge, Graph, Node, is_detached
from ..graph.modules import ids_of
from ..layout.orientation import WAYS
from ..layout.style import measure
from ..ranks import travelling
from .error import error_blocks
from .heads import called, fold_head, leaf_head, op_head
from .heat import Heat, heat_of
from .lines import amount_of, assigned, formula_lines, in_brackets, with_grad
from .parameters import bars, gradients_of_parameters, parameters, tangents_of_parameters
from .parts import ABOVE, CLOSE, GAP, NARROW, ROOM, SIDE, TIGHT, Bar, Block, Card, Line, label_size

WIDE = 72  # characters that a value and its type may have on one line of text


def card(graph: Graph, node: Node, passes: Sequence[str], together: bool = False) -> Card:
    """Make the card of a node, with room for these passes one at a time, or `together` in one picture."""
    way = WAYS[graph.view.rankdir]
    if node.kind == "copy":
        head = [Block("head", [Line([(text.shorten(graph.name(node.outputs[0]), 24), "call")])])]
        return Card(node, head, way=way)
    sections = {"forward": _saved, "backward": _gradients, "jvp": _tangents}
    waits = (lambda name: travelling.waits(graph, node, name)) if node.kind == "transfer" else lambda name: []
    extra = {name: section for name in passes if (section := [*waits(name), *sections[name](graph, node)])}
    if together:
        extra = {"together": [block for section in extra.values() for block in section]}
    labels = [flow_label(graph, edge) if node.is_op and "backward" in passes else [] for edge in node.inputs]
    if node.kind == "transfer":
        return _transfer(graph, node, extra, labels)
    if node.kind == "error":
        said = error_blocks(graph, node.record)
        extra = {name: [*said, *extra.get(name, ())] for name in (["together"] if together else passes)}
    own = node.is_op and not (is_detached(node.record) and called(graph, node)[2] == graph.name(node.outputs[0]))
    body = [_value(graph, value, with_name=own) for value in node.outputs]
    body += [*special(graph, node, "forward", "value"), *parameters(graph, node)]
    body = [block for block in body if block.lines]
    if not node.is_op:
        return Card(node, [leaf_head(graph, node)], body, extra, way=way)
    room = 0 if way.sideways else sum((label_size(label)[0] or 12.0) + GAP for label in labels) - 2 * SIDE
    columns = max(graph.view.columns + 6, int(room / measure("x", "code")))
    head = fold_head(graph, node) if node.kind == "fold" else op_head(graph, node)
    room = NARROW if graph.view.slide else TIGHT if graph.view.brief else ROOM
    above = CLOSE if graph.view.brief else ABOVE
    return Card(node, [head], body, extra, _source(graph, node, columns), labels, way, room, above)


def _transfer(graph: Graph, node: Node, extra: dict[str, list[Block]], labels: list[list[Line]]) -> Card:
    """Make the card of a collective or message; it is a Bar if it joins several lanes."""
    extra = {name: sorted(some, key=lambda block: block.role != "waited") for name, some in extra.items()}
    body = [block for value in node.outputs if (block := _value(graph, value, with_name=True)).lines]
    body += special(graph, node, "forward", "value")
    for block in (*body, *(one for section in extra.values() for one in section)):
        block.lane = graph.lane(block.value) if block.value is not None else block.lane
    head, foot, way = travelling.head(graph, node), _source(graph, node, graph.view.columns), WAYS[graph.view.rankdir]
    if len(node.lanes) < 2:
        return Card(node, [head], body, extra, foot, labels, way)
    ins, outs = [[graph.lane(v) or 0 for v in some] for some in ([e.value for e in node.inputs], node.outputs)]
    names = {lane: graph.lane_name(lane) for lane in node.lanes}
    return Bar(node, [head], body, extra, foot, labels, way, ins=ins, outs=outs, names=names)


def _flow_lines(
    graph: Graph, name: str, entry: dict | None, role: str, sign: str = "=", heat: Heat | None = None
) -> list[Line]:
    """Return the lines of a gradient or tangent: its contents, or in a picture of many operations its norm."""
    if not graph.view.brief or entry is None or text.whole(entry, 1):
        return assigned(name, amount_of(graph, entry, heat), role, graph.view, sign)
    return [Line([(f"{text.shorten(name, 28)} {text.norm(entry)}", role)])]


def _flow_name(graph: Graph, node: Node, flow: str, value: int) -> str:
    """Return the name of a result's gradient or tangent on its card: of one of several results, it says which."""
    return flow if len(node.outputs) == 1 else f"{flow} of {text.shorten(graph.name(value), 24)}"


def _source(graph: Graph, node: Node, columns: int) -> list[Block]:
    if graph.view.brief or is_detached(node.record):
        return []
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
    formula, latex, room = formula_of(graph, edge), edge.flow.get("latex"), max(20, graph.view.columns * 3 // 4)
    if graph.view.brief and formula:
        room = room if len(edge.target.inputs) < 3 else graph.view.columns * 3 // 5  # beside two others
        return [Line([(text.cut(flow_formula(graph, edge), room), "flow")])]
    # the only label of a card may be nearly as wide as the card
    alone = len(edge.target.inputs) == 1 and not graph.view.slide
    columns = graph.view.columns - 6 if alone else room
    if written := in_brackets(edge.target.record, formula):
        formula, latex = written, None
    lines = formula_lines(graph, formula, "flow", latex, columns, owner=edge.flow) if formula else []
    return lines + given_lines(graph, edge, columns)


def flow_formula(graph: Graph, edge: Edge) -> str:
    """Return the formula of a contribution as plain text; a record without formulas gives the local derivative's name."""
    formula = formula_of(graph, edge)
    return text.clean(graph.said(in_brackets(edge.target.record, formula) or formula, edge.flow or {}))


def formula_of(graph: Graph, edge: Edge) -> str:
    """Return the formula of a contribution; for a collective, the collective that its gradient passes through."""
    flow = edge.flow or {}
    back = graph.transfers[edge.target.record["id"]].get("backward") if edge.target.kind == "transfer" else None
    if back and flow.get("formula", "").endswith(".backward(g)"):
        return f"{travelling.plain(back[0]['name'])}(g)"
    return flow.get("formula") or flow.get("partial") or ""


def given_lines(graph: Graph, edge: Edge, columns: int) -> list[Line]:
    """Return the value of an edge's contribution as lines."""
    if edge.flow is None or "grads" not in graph.view.show:
        return []
    if len(graph.back[edge.value]) == 1:  # then it equals the gradient, which the card shows
        given = graph.values.get(edge.flow["gives"])
        if graph.view.slide or given and not text.whole(given):
            return []
    if equations := edge.flow.get("equations"):  # of an explanation: the equations of single elements
        return [Line([(line, "gives")]) for one in equations for line in text.wrap(one, graph.view.columns, 6)]
    lines = []
    for origin in graph.passes_of(parts_of(edge, None)):
        given = [graph.values.get(one["gives"]) for one in parts_of(edge, origin)]
        gives = " + ".join(text.gist(one) for one in given if not graph.view.slide or text.whole(one))
        style = graph.styled("gives", origin)
        lines += [Line([(line, style)]) for line in text.wrap(f"= {gives}{after(origin)}", columns, 2) if gives]
    return lines


def parts_of(edge: Edge, origin: Origin | None) -> list[dict]:
    """Return the contributions along an edge, or those of one pass."""
    parts = edge.flow.get("parts", [edge.flow]) if edge.flow else []
    return [part for part in parts if origin is None or part.get("run") in origin.runs]


def flow_text(cards: dict[str, Card], edge: Edge) -> list[str]:
    """Return the lines of an edge's label as plain text; none if no gradient flows back along it."""
    labels = cards[edge.target.key].labels
    return [line.text for line in labels[edge.slot]] if labels and edge.flow else []


def words(card: Card, *passes: str, with_blocks: bool = False) -> list[str]:
    """Return the text on a card in these passes, line by line; `with_blocks` adds large values in block characters."""
    lines = [line.text for block in card.head for line in block.lines] + body_words(card, with_blocks)
    sections = {id(block): block for name in passes for block in card.passes.get(name, ())}  # an error is in several
    for block in (*sections.values(), *card.foot):
        lines += [lane_prefix(card, block) + line for line in block.texts(with_blocks)]
    return lines


def lane_prefix(card: Card, block: Block) -> str:
    """Return the prefix that names the lane of a bar's block, or ""."""
    return f"{card.names[block.lane]}: " if isinstance(card, Bar) and block.lane is not None else ""


def body_words(card: Card, with_blocks: bool = False) -> list[str]:
    """Return a card's values as plain text; a value and its type share a line if they fit."""
    lines = []
    for block in card.body:
        texts = block.texts(with_blocks)
        rows = ["   ".join(texts)] if sum(map(len, texts)) <= WIDE else texts
        lines += [lane_prefix(card, block) + row for row in rows]
    return lines


def _value(graph: Graph, value: int, with_name: bool) -> Block:
    entry, show = graph.values[value], graph.view.show
    name = text.shorten(graph.name(value), 24) if with_name else ""
    if graph.view.brief and not text.whole(entry):
        words = f"{name} {text.shape(entry['shape'])}".strip() if "shapes" in show or graph.view.slide else name
        extent = text.extent(entry) if "values" in show else ""
        if made := heat_of(graph, entry, "values"):  # beside both lines
            lines = [Line([(words, "value")]), *([Line([(extent, "type")])] if extent else [])]
            return Block("value", lines, value, heat=made)
        return Block("value", [Line([(words, "value")], (extent, "type") if extent else None)], value)
    made = heat_of(graph, entry, "values")
    lines = assigned(name, amount_of(graph, entry, made) if "values" in show else "", "value", graph.view)
    before = graph.values.get(entry.get("before")) if "values" in show else None  # of a training step
    lines += [Line([(f"before: {amount}", "type")])] if (amount := amount_of(graph, before)) else []
    if graph.view.brief:
        return Block("value", lines, value)
    lines += [Line([(text.kind_of(entry), "type")])] if "shapes" in show else []
    return Block("value", lines, value, heat=made)


def _saved(graph: Graph, node: Node) -> list[Block]:
    if not node.is_op or "saved" not in graph.view.show:
        return []
    kept, again = graph.saved(node.record), not graph.again.isdisjoint(ids_of(node.record))
    blocks = [Block("saved", [Line([("computed again in backward", "saved")])])] if again else []
    if not kept:
        return blocks
    if graph.view.brief or node.kind == "fold":
        many = "" if graph.view.brief else f"{len(kept)} values, "
        words = f"saved for backward: {many}{text.size(sum(kept.values()))}"
        return [Block("saved", [Line([(words, "saved")])]), *blocks]
    items = [f"{text.shorten(graph.name(value), 24)} ({text.size(size)})" for value, size in list(kept.items())[:6]]
    items += [f"{len(kept) - 6} more"] if len(kept) > 6 else []
    items = [item.replace(" ", "\u00a0") for item in items]
    words = text.wrap("saved for backward: " + ", ".join(items), graph.view.columns + 6, 3)
    return [Block("saved", [Line([(line, "saved")]) for line in words]), *blocks]


def _gradients(graph: Graph, node: Node) -> list[Block]:
    blocks, columns = [], graph.view.columns
    each = [(value, origin) for value in node.outputs for origin in graph.passes_apart(value)]
    for value, origin in each if "grads" in graph.view.show else ():
        gradient, terms = graph.gradient(value, origin), graph.contributions(value, origin)
        if gradient is None and not terms:
            continue
        name = _flow_name(graph, node, f"grad{after(origin)}", value)
        now, remark = "" if node.is_op else graph.grad_words(value, origin), graph.styled("sum", origin)
        made = heat_of(graph, gradient, "grads")
        lines = _flow_lines(graph, name, gradient, graph.styled("gradient", origin), "+=" if now else "=", made)
        lines = with_grad(lines, now, remark, columns)
        if len(terms) > 1 and not graph.view.brief:
            lines += [Line([(line, remark)]) for line in text.wrap(_sum(terms), columns, 2)]
        elif not terms and value in graph.outputs:
            lines += [Line([(beginning(graph.origins, value), remark)])]
        if terms and not graph.view.brief and not _is_sum(gradient, terms):
            lines += [Line([("changed by a hook", "sum")])]
        if gradient and "note" in gradient:  # a note of minigrad check
            lines += [Line([(line, "sum")]) for line in text.wrap(gradient["note"], columns, 3)]
        if gradient and gradient["id"] in graph.outputs:  # as the result of func.grad is
            lines += [Line([(f"output: {text.shorten(graph.name(gradient['id']), 24)}", "sum")])]
        blocks.append(Block("gradient", lines, gradient["id"] if gradient else None, heat=made))
    blocks += special(graph, node, "backward", "gradient")
    blocks += bars(graph, node)
    blocks += gradients_of_parameters(graph, node) if "grads" in graph.view.show else []
    freed = "saved" in graph.view.show and not graph.view.brief and sum(graph.saved(node.record, freed=True).values())
    if blocks and freed:
        blocks[-1].lines.append(Line([(f"frees {text.size(freed)}", "saved")]))
    return blocks


def special(graph: Graph, node: Node, name: str, role: str) -> list[Block]:
    """Return the badge of the first NaN of a pass, with the numbers that made it."""
    words = graph.first_special(name, node)
    return [Block(role, [Line([(line, "badge")]) for line in text.wrap(words, graph.view.columns, 3)])] if words else []


def _is_sum(gradient: dict | None, terms: list[dict | None]) -> bool:
    """Return False if a gradient is not the sum of its contributions, all known in full: a hook has replaced it.

    >>> value = lambda *numbers: {"dtype": "float32", "summary": {"values": list(numbers)}}
    >>> _is_sum(value(3.0, 4.0), [value(1.0, 2.0), value(2.0, 2.0)]), _is_sum(value(1.0), [value(3.0)])
    (True, False)
    >>> _is_sum(value("nan", "inf"), [value("inf", "inf"), value("-inf", 1.0)]), _is_sum(value(0.0), [value("nan")])
    (True, False)
    """
    known = [((value or {}).get("summary") or {}).get("values") for value in (gradient, *terms)]
    if gradient is None or None in known:
        return True
    numbers = [[complex(one) for one in text.flat(values)] for values in known]
    sizes = [size for each in numbers for one in each if math.isfinite(size := abs(one))]
    small = text.rounding(gradient["dtype"]) * max(sizes, default=0.0)
    if len({len(each) for each in numbers}) > 1:
        return True
    return all(_adds_up(whole, parts, small, gradient["dtype"]) for whole, *parts in zip(*numbers))


def _adds_up(whole: complex, parts: list[complex], small: float, dtype: str) -> bool:
    """Return True if parts add up to `whole`, up to `small`: NaN is NaN, and a sum beyond the dtype's range is not finite."""
    total = sum(parts)
    if cmath.isfinite(whole):
        return abs(whole - total) <= small
    overflows = sum(map(abs, parts)) > text.largest(dtype)
    return whole == total or cmath.isnan(whole) and cmath.isnan(total) or overflows and not cmath.isnan(total)


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
        made = heat_of(graph, tangent, "grads")
        lines = _flow_lines(graph, _flow_name(graph, node, "tangent", value), tangent, "tangent", heat=made)
        if not graph.view.brief and (push := push_of(node, value)):
            lines += formula_lines(graph, pushed(node, push), "rule", push.get("latex"), columns, "= ", push)
        blocks.append(Block("tangent", lines, tangent["id"], heat=made))
    blocks += special(graph, node, "jvp", "tangent")
    return blocks + (tangents_of_parameters(graph, node) if "grads" in graph.view.show else [])


def pushed(node: Node, push: dict) -> str:
    """Return the formula of a tangent; for a collective, the collective that it passes through."""
    if node.kind != "transfer":
        return push["formula"]
    return travelling.called(node.record) + "(" + push["formula"].partition("(")[2]


def push_of(node: Node, value: int) -> dict | None:
    """Return the record's rule for the tangent of an output, or None."""
    return next((push for push in node.record.get("pushes", ()) if push["output"] == value), None)
