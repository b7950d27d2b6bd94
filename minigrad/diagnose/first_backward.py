"""Checks of a backward before it runs: of the whole graph in debug mode, else of the operations closest to the loss.

They find mistakes that no number shows: the gradients are valid, but of another function than the user meant.  Each line of
the program is checked at its first backwards only (a function may differentiate several models), so training does not pay.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ..core.engine import reachable
from ..core.graph import Leaf, producer
from ..errors import warn
from ..places import Place, noted, user_place
from . import debug, function_text, inplace_writes, loss_checks, slips
from .cut_lines import line_of_call
from .loss_checks import values
from .report import built_in, searches
from .saved_tensors import note_retained

FIRST = 16  # backwards of a line that are checked
NEAR = 256  # nodes: the checks look no further from the loss
calls: Counter[Place | None] = Counter()  # line -> how many backwards it has called


def is_due(place: Place | None) -> bool:
    """Count a backward at this line, and return True if it is among the first, which are checked."""
    calls[place] = n = calls[place] + 1
    return n <= FIRST and place is not None


def backward_begins(who: str, roots: Sequence, wanted: set | None, keeps: bool, place: Place | None, due: bool) -> None:
    """Check a backward that is about to start: `wanted` are the requested nodes, and None stands for all leaves."""
    if inplace_writes.pending:
        inplace_writes.check_written(who, roots, wanted)
    if debug.mode.on or due:
        check_graph(roots, float("inf") if debug.mode.on else NEAR, calls[place] == 1)
        slips.check_source()
        slips.check_loop(roots)
    if keeps:
        note_retained(who, roots, wanted, place)


@searches()
def check_graph(roots: Sequence, limit: float, first: bool) -> None:
    """Look for mistakes in the graph of a loss, up to a number of nodes, and in the program around it."""
    loss_checks.check_zeros(roots, limit, first)
    if first:
        loss_checks.check_terms()
        inplace_writes.check_data()
    for node in nearest(roots, min(limit, NEAR)):
        function_text.check_function(node._fn)
        loss_checks.check_node(node)
        if (check := OF_LOSSES.get(built_in(node))) is not None:
            check(node)


def nearest(roots: Sequence, limit: float) -> list:
    """Return the nodes closest to the roots, at most `limit`."""
    found, waiting = {}, [producer(e) for e in roots]
    for node in waiting:  # grows while it is iterated over
        if type(node) is Leaf or node in found:
            continue
        if len(found) >= limit:
            break
        found[node] = None
        waiting += [producer(e) for e in node._edges if e is not None]
    return list(found)


# ---------------------------------------------------------------------- the numbers that losses take
def targets_outside(mean: Any) -> None:
    """Warn about targets of a mean binary cross-entropy that are not probabilities; a mask before the mean may drop some."""
    node = producer(mean._edges[0])
    t = values(node, 1) if built_in(node) == "with_logits" else None
    if t is None or not (wrong := int(((t < 0) | (t > 1)).sum())):
        return
    low, high = float(t.min()), float(t.max())
    name = "binary_cross_entropy_with_logits"
    warn(
        "targets-outside",
        name,
        f"{wrong} of {t.size} targets are below 0 or above 1, from {low:g} to {high:g}: the loss has no minimum",
        "convert -1 and 1 to 0 and 1: (target + 1) / 2" if (low, high) == (-1, 1) else "pass targets between 0 and 1",
        place_of(node, name),
    )


def logarithms_above_zero(node: Any) -> None:
    """Warn about a likelihood loss of scores, whose input has to be logarithms of probabilities."""
    if (x := values(node, 0)) is None or not x.max() > 1e-3:
        return
    warn(
        "scores-as-logarithms",
        "nll_loss",
        f"the input has values up to {x.max():.3g}, but logarithms of probabilities are at most 0: the loss has no minimum",
        "write cross_entropy(logits, target), or nll_loss(logits.log_softmax(1), target)",
        place_of(node, "nll_loss"),
    )


def likelihood(node: Any) -> None:
    """Look at the input of a likelihood loss."""
    logarithms_above_zero(node)
    over_another_dimension(node)


def over_another_dimension(node: Any) -> None:
    """Warn about log-probabilities that a log_softmax has normalised over another dimension than that of the classes."""
    maker, classes = producer(node._edges[0]), node._saved[2] if type(node._saved) is tuple else None
    if built_in(maker) != "log_softmax" or type(classes) is not int or type(maker._saved) is not tuple:
        return
    shape, dims = maker._shape, next((d for d in maker._saved if type(d) is tuple), ())
    if len(dims) != 1 or len(shape) < 2 or shape[dims[0]] == shape[classes]:
        return  # in a square of similarities both dimensions are classes
    which = "examples" if dims[0] % len(shape) == 0 else "positions"
    warn(
        "softmax-dimension",
        "log_softmax",
        f"normalises over dimension {dims[0]} of shape {tuple(shape)}, the {shape[dims[0]]} {which}, but nll_loss reads the "
        f"{shape[classes]} classes from dimension {classes}, whose probabilities then do not add up to 1",
        f"write log_softmax(scores, dim={classes})",
        place_of(maker, "log_softmax"),
        noted("backward was called", user_place()),
    )


def place_of(node: Any, name: str) -> Place | None:
    """Return the user's line that called the operation of a node, if it is found."""
    leaf = next(iter(reachable([e for e in node._edges if e is not None])[1]), None)
    return node._trace or line_of_call(name, leaf)


OF_LOSSES = {"mean": targets_outside, "sum": targets_outside, "mean_nll": likelihood, "nll": over_another_dimension}
