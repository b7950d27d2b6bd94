"""The jvp pass of a recording: tangents that run beside the program at a dual level that only the recording knows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.dtypes import FLOATS
from ..autograd.dual import Both, Level, carried, carry, tangent_of
from ..core.frames import EAGER, Frame
from ..core.function import Function
from ..core.graph import Leaf, history
from ..core.tensor import Tensor, wrap
from .event_log import EventLog


class Tangents(EventLog):
    """The tangents of a recording: where they begin, and where they stop."""

    level: Level | None
    seeds: Any
    notes: list[str]
    ran_backward: bool
    ran_jvp: bool
    _seeded: list[Tensor]

    def with_tangents(self, below: Frame, grad: bool) -> Frame:
        """Return the frame below with the recording's dual level open, unless the program has opened one."""
        update, inner, bottom = self.ran_backward and not grad, below.dual, below
        while bottom.layer.records:
            bottom = bottom.parent
        if self.level is None or inner is not None and inner.programs or bottom.layer is not EAGER or update:
            return below
        return below.but(dual=self.level if inner is None else Both(self.level, inner))

    def tangents_at(self, frame: Frame, args: Any) -> list:
        """Return the tangent of each argument at the recording's level, or the program's, if it is open in a frame, or None."""
        dual = frame.dual
        level = dual if dual is None or dual.programs else self.level if self.level in dual.levels else None
        return [None if level is None else tangent_of(a, level) for a in args]

    def stops(self, cls: Any, args: tuple) -> bool:
        """Return True if tangents stop here: at a Function without jvp, or at an operation on its results."""
        if self.level is None:
            return False
        kept = [carried(a._tan, self.level) for a in args if isinstance(a, Tensor) and a._layer is None]
        if any([tan is not None and tan[1] is None for tan in kept]):
            return True
        if cls.primitive or cls.jvp is not Function.jvp or all([tangent_of(a, self.level) is None for a in args]):
            return False
        self.notes.append(f"the jvp pass stops at {cls.__name__}, which has no jvp")
        return True

    def without_tangents(self, results: tuple) -> None:
        """Mark results that depend on the leaves but have no tangent, so that it does not count as 0."""
        for t in results:
            if isinstance(t, Tensor):
                carry(t, self.level, None)

    def meet(self, t: Tensor, name: str = "") -> None:
        """Give a leaf that a jvp pass meets for the first time its tangent: ones, unless the seeds say otherwise."""
        new = self.level is not None and t._layer is None and carried(t._tan, self.level) is None
        if type(history(t)) is Leaf and t._np_dtype in FLOATS and new:
            if self.seeds is None or self.seeds.tangent is None:
                seed = np.ones_like(t._a, order="C")
            elif (seed := self.seeds.direction(t, t._a.shape, t._np_dtype, name)) is None:
                return
            self._seeded.append(t)
            carry(t, self.level, wrap(seed))

    def dual_made(self, t: Tensor, tangent: Tensor) -> None:
        """Log that the program has given a tensor a tangent."""
        self.ran_jvp = True
        self.log.append([EventLog.dual_began, t, tangent])
