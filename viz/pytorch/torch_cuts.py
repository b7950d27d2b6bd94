"""Where no gradient passes in a PyTorch program, as in minigrad's (minigrad/record/cuts.py).

A detached tensor is a separate value from its first use on; until then a write to it is one to its source.
"""

# pyright: reportMissingImports=false, reportPrivateImportUsage=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from minigrad.record.cuts import Cut, Detach, is_flat, is_used
from minigrad.record.values import Event, OpEntry

from .torch_contents import READING
from .torch_tangents import may_write, tangent_of
from .torch_values import Call, bottom

if TYPE_CHECKING:
    from .torch_recorder import Recorder


class Cuts:
    """The detached tensors of a recording."""

    def __init__(self, recorder: Recorder):
        self.recorder = recorder
        self.cuts: dict[int, Cut] = {}
        self.writing: set[int] = set()
        self.tensors: dict[int, torch.Tensor] = {}  # of their values

    def of(self, t: torch.Tensor) -> Cut | None:
        """Return how a tensor was detached; None for others, and for one that is being written without ever being read."""
        cut = self.cuts.get(id(t))
        return None if cut is None or t.requires_grad or id(t) in self.writing else cut

    def is_apart(self, t: torch.Tensor) -> bool:
        """Return True if a detached tensor is a separate value by now."""
        return (cut := self.of(t)) is not None and bool(cut.group.events)

    def before(self, t: torch.Tensor) -> int | None:
        """Return the value of a tensor; None for a detached one that nothing has read, which has no value yet."""
        cut = self.of(bottom(t))
        return None if cut is not None and not cut.group.events else self.recorder.ref(t)

    def note(self, name: str, source: torch.Tensor, out: torch.Tensor, tracked: bool, at: Any, where: Any) -> bool:
        """Note that a call takes a tensor out of its history, from its value `at`; return False if it has none."""
        known, low = self.of(bottom(source)), bottom(out)
        if (
            self.recorder.crossings is not None
            or known is None
            and not tracked
            or low is bottom(source)
            and out.requires_grad
        ):
            return False
        if low is bottom(source):
            self.recorder.tangents.forget(low)
        frozen = known is None and name == "requires_grad_"
        if frozen and not is_used(self.recorder, at):
            self.recorder.reads.append((len(self.recorder.groups), at, name, where, True))
            return False
        if known is None:
            group = OpEntry("forward", name, where, self.recorder.layers())
            self.recorder.groups.append(group)
            known = Cut(low, bottom(source), None, at, group)
        self.cuts[id(low)] = known
        return True

    def behind(self, cut: Cut) -> int:
        """Return the value of a detached tensor, which is new at its first use, and if its memory was written."""
        rec, t = self.recorder, cut.out
        if cut.group.events and rec.has_current_value(t):
            return rec._known[id(t)][2]
        source = cut.at if t is cut.source else rec.ref(cut.source)
        if cut.group.events or source != cut.at:
            cut.group = OpEntry("forward", cut.group.name, cut.group.where, cut.group.layers)
            rec.groups.append(cut.group)
        value = rec.add(t, "computed")
        self.tensors[value] = t
        cut.group.events = (Event(Detach, cut.group, [source], [value]),)
        return rec.assign(t, value)

    def begin(self, run: Any, name: str, args: tuple, kwargs: dict) -> None:
        """Note that a call writes to a detached tensor that nothing has used yet, or that Python reads it."""
        self.writing.clear()
        first = bottom(args[0]) if args and isinstance(args[0], torch.Tensor) else None
        cut = self.cuts.get(id(first))
        unused = cut is not None and not cut.group.events
        if unused and (name.strip("_") in READING or may_write(run, name, args, kwargs)):
            self.writing.add(id(first))


def has_history(t: torch.Tensor) -> bool:
    """Return True if results computed from a tensor have derivatives."""
    return t.requires_grad or tangent_of(t) is not None


def reason(call: Call, given: list[torch.Tensor], made: list[torch.Tensor]) -> str:
    """Return why no gradient passes through a call, or "" if one does."""
    if call.phase != "forward" or call.inplace or not any(t.requires_grad for t in given):
        return ""
    smooth = [t for t in made if t.is_floating_point() or t.is_complex()]
    if any(t.requires_grad for t in made):
        marked = call.cls is not None and not all(t.requires_grad for t in smooth)
        return "mark_non_differentiable" * marked or call.name * is_flat(call.primitive)
    if torch.is_inference_mode_enabled() and smooth:
        return "inference_mode"
    if not call.tracks and smooth:
        return "no_grad"
    return call.name if call.cls is None else "mark_non_differentiable"
