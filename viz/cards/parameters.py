"""Parameters inside the card of the operation that uses them, and the bars for those inside a box."""

import math

from .. import text
from ..graph.backward_passes import after
from ..graph.drawn_graph import Graph, Node
from ..view import View
from .heat import BLOCKS, heat_of
from .lines import amount_of, assigned, formula_lines, with_grad
from .parts import Block, Line


def parameters(graph: Graph, node: Node) -> list[Block]:
    """Return the parameters inside the card: their names and contents, or in a brief picture their shapes."""
    show = graph.view.show
    if graph.view.brief:
        shape = lambda value: f" {text.shape(graph.values[value]['shape'])}" * ("shapes" in show)
        parts = [own_name(graph, node, held.value) + shape(held.value) for held in node.held]
        return _joined("parameter", "type", parts, graph.view)
    blocks = []
    for held in node.held:
        entry = graph.values[held.value]
        made = heat_of(graph, entry, "values")
        amount = amount_of(graph, entry, made) if "values" in show else ""
        lines = assigned(graph.name(held.value), amount, "value", graph.view)
        lines += [Line([(text.kind_of(entry), "type")])] if "shapes" in show else []
        blocks.append(Block("parameter", lines, held.value, heat=made))
    return blocks


def _joined(role: str, style: str, parts: list[str], view: View) -> list[Block]:
    """Return a block of short texts one after the other, none of them broken; no block if there are none."""
    whole = ", ".join(part.replace(" ", "\u00a0") for part in parts)
    return [Block(role, [Line([(line, style)]) for line in text.wrap(whole, view.columns + 14, 2)])] if parts else []


def own_name(graph: Graph, node: Node, value: int) -> str:
    """Return a parameter's name inside the module that uses it."""
    name = graph.values[value].get("name") or graph.name(value)
    return text.shorten(name.rpartition(".")[2] if node.record.get("module") else name, 28)


def gradients_of_parameters(graph: Graph, node: Node) -> list[Block]:
    """Return the gradients of the parameters inside the card, with their formulas; in a brief picture only their norms."""
    each = [(held, one) for held in node.held for one in graph.passes_apart(held.value)]
    grads = [(held, one, entry) for held, one in each if (entry := graph.gradient(held.value, one))]
    if graph.view.brief:
        parts = [f"{own_name(graph, node, held.value)}.grad {text.norm(entry)}" for held, _, entry in grads]
        return _joined("gradient", "sum", parts, graph.view)
    blocks, columns = [], graph.view.columns
    for held, origin, entry in grads:
        name = f"{own_name(graph, node, held.value)}.grad" + after(origin)
        now, style = graph.grad_words(held.value, origin), graph.styled("gradient", origin)
        made = heat_of(graph, entry, "grads")
        lines = assigned(name, amount_of(graph, entry, made), style, graph.view, "+=" if now else "=")
        lines = with_grad(lines, now, graph.styled("sum", origin), columns)
        flow = held.flow or {}
        if formula := flow.get("formula") or flow.get("partial"):
            lines += formula_lines(graph, formula, "flow", flow.get("latex"), columns, "= ", flow)
        blocks.append(Block("gradient", lines, entry["id"], heat=made))
    return blocks


def bars(graph: Graph, node: Node) -> list[Block]:
    """Return the norms of the gradients of the parameters in a box, as bars on a scale up to the largest."""
    inside = node.record["folded"].get("gradients", ()) if node.kind == "fold" and "grads" in graph.view.show else ()
    norms = [norm for one in inside if (norm := text.norm_of(graph.values[one])) is not None and math.isfinite(norm)]
    if not norms or not (most := max(norms)):
        return []
    bars = "".join(BLOCKS[math.ceil(norm / most * (len(BLOCKS) - 1))] for norm in norms[: graph.view.columns])
    runs = (f"{bars} 0 … {text.number(most, 3)}", "gives"), ("norms of its parameters' gradients", "sum")
    return [Block("gradient", [Line([run]) for run in runs])]


def tangents_of_parameters(graph: Graph, node: Node) -> list[Block]:
    """Return the tangents of the parameters inside the card; none in a brief picture."""
    given = {held.value: entry for held in node.held if (entry := graph.tangent(held.value))}
    name = lambda value: f"tangent of {own_name(graph, node, value)}"
    lines = lambda value, entry: assigned(name(value), amount_of(graph, entry), "tangent", graph.view)
    return [] if graph.view.brief else [Block("tangent", lines(v, entry), entry["id"]) for v, entry in given.items()]
