"""Where no gradient passes: `x.detach()`, `x.data` and the like have x's memory without its history.

Such a tensor is a separate value from its first use on, because x has derivatives and it has none.  Until then nothing is
noted: an optimizer that only writes to `p.data` writes to p.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..arrays.dtypes import FLOATS
from ..core.graph import history
from ..core.saved import INFERENCE
from ..core.tensor import Box, Tensor
from ..ops.random import zero_gradient
from .assignments import assigned
from .numpy_box import NumPy
from .schema import Where
from .values import Event, OpEntry, bottom

if TYPE_CHECKING:
    from .event_log import EventLog
    from .gradient_flow import GradientFlow


class Detach:
    """Stands in a record for the calls that take a tensor out of its history."""

    primitive, differentiable, name, names, n_internal, dimensions = True, False, "detach", ("input",), 0, "broadcast"


@dataclass(eq=False)
class Cut:
    """A tensor without the history of another one, on its memory; `group` is the entry of the call, empty until it is used."""

    out: Any
    source: Any
    edge: Any  # of the source, when it was detached
    at: int  # the value of the source then
    group: OpEntry


def has_history(t: Tensor) -> bool:
    """Return True if results computed from a tensor have derivatives."""
    if type(t) is Box and t._layer.follows(t):
        return True
    return history(t) is not None or t._tan is not None and t._tan[1] is not None


def noted_cut(log: EventLog, how: str, source: Tensor, edge: Any, out: Tensor, code: Any, offset: int) -> None:
    """Note that the program takes a tensor out of its history; that of a detached tensor is the same again."""
    known = log.cuts.get(id(source))
    if known is not None and edge is None:
        log.cuts[id(out)] = known
    elif out is source and how == "requires_grad_" and not is_used(log, at := log.ref(source, "", edge)):
        log.values[at].kind = "input"
        log.reads.append((len(log.groups), at, how, log._places(code, offset), True))
    elif out is not source or edge is not None:
        group = OpEntry(log.phase(False), how, log._places(code, offset), [])
        group.modules = log._modules
        log.groups.append(group)
        log.cuts[id(out)] = Cut(out, source, edge, log.ref(source, "", edge), group)


def is_used(log: GradientFlow, value: int) -> bool:
    """Return True if an operation has read a value, apart from those that initialize it."""
    return any(value in event.inputs for group in log.groups if not group.inplace for event in group.events)


def noted_array(log: EventLog, t: Tensor, how: str, code: Any, offset: int) -> None:
    """Note that the program makes a tensor of an array or a number: on a detached tensor's memory, or computed from one.

    It is computed from the numbers that the same line reads, or that an earlier one has assigned to a variable of this line.
    """
    same = [cut for cut in log.cuts.values() if cut.out is not t and bottom(cut.out) is bottom(t)]
    if same:
        log.cuts[id(t)] = same[-1]
        return
    here = log._places(code, offset)
    read = [one for one in log.reads if one[-1] and leads(one[3], here)]
    if read and id(bottom(t)) not in log._ids:
        group = OpEntry(log.phase(False), "NumPy" if read[-1][2] == "numpy" else read[-1][2], here, [])
        group.modules = log._modules
        group.events = (Event(NumPy, group, list(dict.fromkeys(one[1] for one in read)), [log.ref(t, "computed")]),)
        log.groups.append(group)


def leads(earlier: Where, here: Where) -> bool:
    """Return True if a line uses the variable that an earlier line of its function assigns, or if both are the same."""
    if (earlier.file, earlier.function) != (here.file, here.function) or earlier.line == here.line:
        return earlier.file == here.file and earlier.line == here.line
    name = assigned(earlier.code)
    return bool(name) and re.search(rf"(?<![\w.]){re.escape(name)}\b", here.code) is not None


def behind(log: EventLog, cut: Cut, kind: str) -> int:
    """Return the number of a detached tensor's value, which is noted now if it is new, or if its memory was written.

    A "computed" one is the result of an operation that writes to it.
    """
    key = id(cut.out)
    if (index := log._ids.get(key)) is not None:
        return index
    log._stale.pop(key, None)
    if kind == "computed":
        return log.add_value(cut.out, key)
    source = log.ref(cut.source, "", cut.edge)
    if cut.group.events or source != cut.at:  # another content, behind the operation that has written it
        before = cut.group
        cut.group = OpEntry(before.phase, before.name, before.where, before.layers)
        cut.group.modules = before.modules
        places = [i for i, group in enumerate(log.groups) if any(source in event.outputs for event in group.events)]
        log.groups.insert(places[-1] + 1 if places else log.groups.index(before), cut.group)
    index = log.add_value(cut.out, key)
    cut.group.events = (Event(Detach, cut.group, [source], [index]),)
    return index


# ---------------------------------------------------------------------- operations through which no gradient passes
def with_derivatives(log: EventLog) -> set[int]:
    """Return the values through which results have derivatives."""
    parameters = {v.index for v in log.values if v.kind == "parameter"}
    return parameters | log.gradients.keys() | {o for event in log._made_by.values() for o in event.outputs}


def reason(group: OpEntry, inputs: list, outputs: list, log: EventLog, tracked: Collection[int]) -> str:
    """Return why no gradient passes through an operation that reads values with derivatives, or "" if one does.

    It is the operation's name if that has no derivative, or only zeros.  `tracked` are the values with derivatives.
    """
    if group.events and group.events[0].cls in (Detach, NumPy):
        return group.name
    moving = any(isinstance(i, int) and i in tracked for i in inputs)
    if not group.events or not moving or group.phase != "forward" or group.inplace:
        return ""
    outs = [log.values[o] for o in outputs]
    smooth = [v for v in outs if v.dtype in FLOATS]
    if group.function and group.nodes:
        alone = [v for v in smooth if v.tensor is not None and not has_history(v.tensor)]
        return "mark_non_differentiable" * bool(alone)
    if any(o in tracked for o in outputs):
        return group.name * any(is_flat(event.cls) for event in group.events)
    if group.tracks or not smooth or not all(getattr(e.cls, "differentiable", True) for e in group.events):
        return "mark_non_differentiable" if group.function and group.tracks else group.name
    return "inference_mode" if any(v.tensor is not None and v.tensor._ver is INFERENCE for v in outs) else "no_grad"


def is_flat(cls: Any) -> bool:
    """Return True if the derivative of an operation is 0 everywhere, as that of rounding is."""
    rules = getattr(cls, "formulas", {}).values()
    return bool(rules) and all(f is zero_gradient or f.__code__.co_argcount == 0 and f() == 0 for f in rules)
