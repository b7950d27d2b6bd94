"""Parts that a picture of many operations leaves out: views, and operations without gradients that lead to no result.

In a picture of many operations, reshapes and transposes join the operation whose result they look at.

A view has one input, so it can move to the operation that made it without an edge that goes back.  A view of a leaf joins the
only operation that reads it.
"""

from collections import Counter

from ..view import SMALL
from .drawn_graph import Graph, is_detached
from .modules import tensors

SHORT = 32  # characters of an expression that stands for a hidden value
VIEWS = frozenset(
    "view reshape view_as reshape_as transpose t permute movedim swapaxes swapdims flatten unflatten squeeze unsqueeze"
    " expand expand_as contiguous chunk split unbind getitem narrow select".split()
)


def without_dead_ends(graph: Graph) -> Graph:
    """Return the graph without operations that carry no gradient and lead to no result, such as the count of batches.

    In a small graph, only those of modules are left out.
    """
    if "backward" not in graph.passes:
        return graph
    needed, dropped = {*graph.outputs, *graph.reads}, set()
    for op in reversed(graph.ops):
        plain = op["phase"] == "forward" and not (op.get("edges") or op.get("transfers") or op.get("function"))
        plain = plain and (graph.operations > SMALL or bool(op.get("module")) or is_detached(op))
        if plain and needed.isdisjoint(op["outputs"]):
            dropped.add(op["id"])
        else:
            needed.update(tensors(op))
    if not dropped or len(dropped) == len(graph.ops):
        return graph
    ops = [op for op in graph.record["ops"] if op["id"] not in dropped]
    return Graph({**graph.record, "ops": ops}, graph.view, graph)


def grouped(graph: Graph) -> list[list[dict]]:
    """Return the operations in an order in which each is followed by the views of its result, as groups.

    >>> op = {"phase": "forward", "where": {}}
    >>> ops = [{**op, "id": i, "name": name, "inputs": [i], "outputs": [i + 1]} for i, name in enumerate(["sin", "t", "exp"])]
    >>> values = [{"id": i, "kind": "computed", "name": "", "shape": []} for i in range(4)]
    >>> [[op["name"] for op in group] for group in grouped(Graph({"program": {}, "values": values, "ops": ops}))]
    [['sin', 't'], ['exp']]
    """
    uses = Counter(v for op in graph.ops for v in tensors(op))
    groups: list[list[dict]] = []
    home: dict[int, list[dict]] = {}  # by value, the group that makes it
    waiting: dict[int, list[dict]] = {}  # by value, views of a leaf
    for op in graph.ops:
        read = tensors(op)
        view = op["name"] in VIEWS and len(read) == 1 and not any(map(op.get, ("function", "inplace", "cut")))
        if view and read[0] in home:
            group = home[read[0]]
        elif view and all(uses[v] == 1 for v in op["outputs"]):
            waiting[op["outputs"][0]] = [*waiting.pop(read[0], ()), op]
            continue
        else:
            group = [*(one for v in read for one in waiting.pop(v, ()))]
            groups.append(group)
        group.append(op)
        home |= dict.fromkeys(op["outputs"], group)
    return groups + list(waiting.values())


def hidden_views(group: list[dict]) -> list[dict]:
    """Return the views of a group, which stand on the card of its operation; a group of views has the card of the first."""
    main = next((op for op in group if op["name"] not in VIEWS), group[0])
    return [op for op in group if op is not main]


def name_hidden(graph: Graph, views: list[dict]) -> None:
    """Call the results of hidden views as the program writes them, so that q @ k.T is drawn so, unless a line names them."""
    # the record was made by minigrad: no import time
    from minigrad.record.labels import GRAD, TANGENT, ShownNames, tangent

    shown = ShownNames([*graph.values.values()])
    for op in views:
        made, said = op["outputs"][0], shown.words(op.get("call") or "")
        label = graph.values[made].get("label")
        if graph.values[made].get("name") or len(op["outputs"]) > 1 or not label or not 0 < len(said) <= SHORT:
            continue
        shown.names[made] = shown.instead[label] = said
        shown.instead |= {tangent(label): shown.words(push["formula"]) for push in op.get("pushes", ())}
        for flow, begin in ((graph.gradients, GRAD), (graph.tangents, TANGENT)):
            shown.names |= {flow[made]: begin + said} if made in flow else {}
    graph.names, graph.words = shown.names, shown.words


def words_after(graph: Graph, views: list[dict]) -> list[str]:
    """Return views as the program writes them after the value that they look at, such as `.T`; else their names."""
    found: list[str] = []
    before: list[int] = []
    for op in views:
        read, call = tensors(op), op.get("call") or ""
        labels = [label for v in read if (label := graph.values[v].get("label"))]
        said = next((call[len(one) :] for one in labels if call.startswith((f"{one}.", f"{one}["))), op["name"])
        if said[0] in ".[" and read == before:
            found[-1] += said
        else:
            found.append(said)
        before = op["outputs"]
    return found
