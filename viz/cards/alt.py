"""A picture in one sentence, for screen readers: the program, its operations in order, result and derivatives."""

from collections.abc import Iterable, Iterator, Sequence

from .. import text
from ..graph.backward_passes import which
from ..graph.drawn_graph import Graph

MOST = 12  # names in a list: a text that is read aloud must be short


def alt(graph: Graph, passes: Sequence[str]) -> str:
    """Describe the picture of these passes, without the parts that the view hides.

    >>> from viz import draw
    >>> from minigrad import tensor
    >>> def square(a):
    ...     return (a * a).sum()
    >>> draw(square, tensor([3.0, 4.0]), passes=("forward", "backward")).alt()
    'Graph of square, forward and backward pass: mul, sum; result: v1 25; gradients: a [6, 8].'
    """
    name, show = text.shorten(graph.record["program"].get("name") or "", 60), graph.view.show
    of = which(graph.origins) if "backward" in passes else ""
    shown = named(passes) + f" ({of})" * bool(of)
    parts = [f"Graph{' of ' * bool(name)}{name}, {shown}: {listed(map(_operation, graph.ops)) or 'no operation'}"]
    leaves = [node.outputs[0] for node in graph.nodes if not node.is_op and node.kind != "copy"]
    leaves += [held.value for node in graph.nodes for held in node.held]
    results = sorted(graph.outputs & graph.shown)
    if "values" in show:
        parts += _values(graph, "result", results, graph.values.get)
    if "grads" in show and "backward" in passes:
        parts += _values(graph, "gradients", leaves, graph.gradient)
    if "grads" in show and "jvp" in passes:
        parts += _values(graph, "tangents", results, graph.tangent)
    for name in passes:
        for node in graph.nodes:
            what = _operation(node.record) if node.is_op else graph.name(node.outputs[0])
            place = f" at {what}" + f" in {name}" * (name != "forward")
            parts += [words.replace(" here", place)] if (words := graph.first_special(name, node)) else []
    return "; ".join(parts) + "."


def facts(graph: Graph, of: str, saves: bool) -> Iterator[str]:
    """Yield what the line below a title says: file, iteration, which backward pass, numbers of ranks and operations, memory."""
    program, saved = graph.record["program"], graph.saved_bytes() if saves else 0
    file, operations = text.file_name(program.get("file")), text.counted(graph.operations, "operation")
    memory = f"{text.size(saved)} saved for backward" if saved else ""
    yield from filter(None, (text.shorten(file, 60), program.get("iteration"), of, graph.ranks, operations, memory))


def named(passes: Sequence[str]) -> str:
    """Name the passes in words.

    >>> named(["forward", "backward", "jvp"]), named(["forward"])
    ('forward, backward and jvp pass', 'forward pass')
    """
    *first, last = passes
    return f"{', '.join(first)} and {last} pass" if first else f"{last} pass"


def listed(words: Iterable[str]) -> str:
    """Join words with commas, and count those after the first MOST.

    >>> listed("abc"), listed("abcdefghijklmno")
    ('a, b, c', 'a, b, c, d, e, f, g, h, i, j, k, l and 3 more')
    """
    first, rest = (every := list(words))[:MOST], every[MOST:]
    return ", ".join(first) + (f" and {len(rest)} more" if rest else "")


def _operation(op: dict) -> str:
    return text.shorten(op.get("function") or op["name"], 32)


def _values(graph: Graph, what: str, values: Iterable[int], of) -> list[str]:
    """List the values that the record knows, with their contents."""
    found = {value: text.gist(of(value)) for value in values if of(value)}
    words = listed(f"{text.shorten(graph.name(value), 32)} {gist}" for value, gist in found.items())
    return [f"{what}: {words}"] if words else []
