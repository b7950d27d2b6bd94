"""The text on the card of a collective or a message: its name, its tensors and ranks, and the waiting time of each lane."""

import re

from .. import text
from ..cards.parts import Block, Line
from ..graph.drawn_graph import Graph, Node

TENSORS = re.compile(r"_into_tensor$|_tensor$|_single$")
CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")


def called(op: dict) -> str:
    """Return the name of a collective or a message in torch.distributed.

    >>> called({"function": "AllReduce", "name": "AllReduce"}), called({"function": None, "name": "send"})
    ('all_reduce', 'send')
    """
    return CAPITAL.sub("_", op["function"]).lower() if op.get("function") else plain(op["name"])


def plain(name: str) -> str:
    """Return the name of a collective without its suffix for tensors.

    >>> plain("all_gather_into_tensor"), plain("reduce_scatter_tensor"), plain("all_to_all_single")
    ('all_gather', 'reduce_scatter', 'all_to_all')
    """
    return TENSORS.sub("", name)


def head(graph: Graph, node: Node) -> Block:
    """Return the head of the card: the call, its ranks, the tensors with their bytes, the labels."""
    op, columns = node.record, graph.view.columns
    first = op["transfers"][0]
    ranks = text.ranks(first["ranks"])
    if first["number"] is None:
        ranks = "any rank" if first["peer"] is None else text.ranks([first["peer"]])
        ranks = ("to " if first["name"] == "send" else "from ") + ranks
    lines = [Line([(called(op), "name")], (ranks, "tag"))]
    what = first["words"].partition("(")[2].removesuffix(")").replace("ReduceOp.", "")
    sizes = sorted({t["bytes"] for t in op["transfers"]})
    size = text.size(sizes[0]) if len(sizes) < 2 else f"{text.size(sizes[0])} to {text.size(sizes[-1])}"
    lines += [Line([(line, "call")]) for line in text.wrap(f"{what} · {size}" if what else size, columns, 2)]
    labels = dict.fromkeys(t["label"] for t in op["transfers"] if t["label"])
    lines += [Line([(line, "formula")]) for label in labels for line in text.wrap(label, columns, 4)]
    if (divisor := first.get("divisor", 1)) > 1:  # as DistributedDataParallel does
        lines.append(Line([(f"each rank's gradients / {divisor}, then their sum", "formula")]))
    tags = ["output"] * any(value in graph.outputs for value in node.outputs)
    tags += [text.shorten(" › ".join(op["layer"]), columns)] if op.get("layer") else []
    lines += [Line([(" · ".join(tags), "tag")])] if tags else []
    return Block("head", lines)


def waits(graph: Graph, node: Node, name: str) -> list[Block]:
    """Return the waiting time of each lane in a pass."""
    op = node.record
    # a call that writes into a tensor runs in one pass only
    there = graph.transfers[op["id"]].get(name if op.get("function") else op["phase"], [])
    blocks = []
    for lane, ranks in enumerate(lane["ranks"] for lane in graph.lanes or [{"ranks": [t["rank"] for t in there]}]):
        own = [t["done"] - t["waited"] for t in there if t["rank"] in ranks and t["waited"] is not None]
        if own:
            times = list(dict.fromkeys([text.seconds(min(own)), text.seconds(max(own))]))
            backward = f"{plain(there[0]['name'])}: " if name == "backward" and op.get("function") else ""
            blocks.append(Block("waited", [Line([(f"{backward}waited {' to '.join(times)}", "waited")])], lane=lane))
    return blocks
