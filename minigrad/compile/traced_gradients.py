"""What a capture knows of gradients: the `.grad` that tensors had before the call, what they track, and its own backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import engine
from ..core.engine import running
from ..core.graph import Leaf, history, key
from ..core.tensor import Box, Tensor, wrap
from ..layers.grad import Grad
from .captured_steps import CapturedValue, Refused
from .guards import UNTOUCHED, Guards


class TracedGradients(Grad):
    """A Grad layer whose backward becomes part of a program, too."""

    accumulates = True
    guards: Guards
    refuse: Callable[..., Refused]
    value: Callable[[Any], CapturedValue]
    own: Callable
    is_input: Callable[[Tensor], bool]
    _sources: dict[int, str]
    _outside: dict[int, tuple[str, str]]
    _known: dict[int, CapturedValue]

    def __init__(self):
        self.phase = "forward"
        # tensors that may have a gradient, with the gradient from before the call
        self.grads: dict[int, tuple[Tensor, Any]] = {}
        self._seen: set[int] = set()
        self.edges: dict[int, tuple[Tensor, Any]] = {}  # tensors with a changed requires_grad, and their old edge
        # True if inputs are results of operations, if a hook needs their gradients, if the function itself differentiates
        self.nonleaf = self.hooked = self.differentiates = False

    def look_at_grad(self, t: Tensor) -> None:
        """Record a read of `.grad`: a gradient from before the call becomes an input, and None has to stay None."""
        if t._grad is not UNTOUCHED:
            return
        self._seen.add(id(t))
        t._grad = self.grads[id(t)][1]
        source = f"{self._sources[id(t)]}._grad"
        if t._grad is None:
            self.guards.guard(source, None, f"{source} is None")
        else:
            self._outside.setdefault(id(t._grad), (f"{self.value(self.own(t)).name}_grad", source))
            t._grad = self.own(t._grad)
            self.grads[id(t)] = t, t._grad

    def look_at_history(self, t: Tensor) -> None:
        """Refuse to tell which node created an input: the next call may receive a different one."""
        if history(t) is not None and (type(t) is not Box or self.is_input(t)):
            raise self.refuse("it asks how one of its input tensors was computed (grad_fn, is_leaf)")

    def asked_for_grad(self, t: Tensor) -> bool:
        """Return True if the function has read the `.grad` that a tensor had before the call."""
        return id(t) in self._seen

    def track(self, t: Tensor, before: Leaf | None) -> None:
        """Record that a tensor starts or stops requiring gradients; `before` is its previous edge."""
        self.edges.setdefault(id(t), (t, before))
        self.own(t)._edge = t._edge

    def tracks_others(self) -> bool:
        """Return True if an outside tensor ends with a different requires_grad than it had before."""
        outside = [(t, edge) for t, edge in self.edges.values() if id(t) in self._outside or self.is_input(t)]
        return any((t._edge is None) != (edge is None) for t, edge in outside)

    def runs_backward(self) -> bool:
        """Return True while the function itself differentiates."""
        return self.phase == "forward" and running.get() is not None

    def look_at_backward(self) -> None:
        """Refuse that the function itself differentiates if its inputs' histories or hooks take part in it."""
        if self.nonleaf and self.runs_backward():
            raise self.refuse("it differentiates while an argument is itself the result of tracked operations")
        if self.hooked and self.runs_backward():
            raise self.refuse("one of its tensors has a hook that needs the gradient")

    def differentiate(self, outs: list, by: list) -> tuple[list, list]:
        """Run backward from the boxes `outs` to the boxes `by`; return the values of the seeds and the gradients (or None)."""
        self.phase = "backward"
        seeds = []
        for o in outs:
            g = self.box(wrap(np.ones_like(o._value._a, order="C")))
            self._known[id(g._value._a)] = CapturedValue(
                "input", g._value._a, 0, "grad_" + (self.value(o).name or "output")
            )
            seeds.append(g)
        edges = [history(b) for b in by]
        found = engine.run([history(o) for o in outs], seeds, {key(e) for e in edges}, keep=True)
        grads = [found.get(key(e)) for e in edges]
        return [self.value(g) for g in seeds], [None if g is None else self.value(self.own(g)) for g in grads]
