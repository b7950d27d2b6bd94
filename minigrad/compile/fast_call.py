"""The short road of a call: for one specialisation, the checks of its arguments and the call written out as Python.

What a call has to check and to box is known when the program is: so many tensors of these dtypes, sizes and layouts, in these
lists.  Written out, that takes a third of the time of the general way (api.py, specialization.py), which says what is right
and is gone wherever a check here fails: another kind of argument, a guard that does not hold, memory that overlaps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.dtypes import default
from ..core.frames import OFF, ON, current
from ..core.graph import INFERENCE, memory
from ..core.tensor import Tensor, history, wrap
from .differentiation import track
from .guards import PLAIN

if TYPE_CHECKING:
    from .specialization import Specialisation

MISS = object()


class Unusual(Exception):
    """A kind of call that is not written out."""


def road(program: Specialisation, args: tuple, tensors: list) -> Callable | None:
    """A function of (owner, args) that runs the program, or gives MISS; None where that is not written out."""
    try:
        text, scope = Writer(program, tensors).write(args)
    except Unusual:
        return None
    exec(compile(text, f"<road of {program.owner.name}>", "exec"), scope)
    return scope["road"]


class Writer:
    """The text for one specialisation."""

    def __init__(self, program: Specialisation, tensors: list):
        self.program, self.tensors = program, tensors
        self.lines: list[str] = []
        self.leaves: list[str] = []  # the variables that hold the arguments' leaves
        self.arrays: list[str] = []
        frame = ON if program.grad else OFF
        self.scope: dict[str, Any] = {"current": current, "frame": frame, "default": default, "kind": default(), "MISS": MISS,
                      "Tensor": Tensor, "history": history, "finite": math.isfinite, "INFERENCE": INFERENCE,
                      "memory": memory, "wrap": wrap, "array": np.ndarray, "asarray": np.asarray, "track": track,
                      "program": program, "entry": program.entry.entry, "holds": program.environment.holds}  # fmt: skip

    def constant(self, a: Any) -> str:
        """A variable of the text for an object."""
        name = f"c{len(self.scope)}"
        self.scope[name] = a
        return name

    def need(self, *conditions: str) -> None:
        """Leave the road unless these hold."""
        self.lines += [f"if not ({c}): return MISS" for c in conditions]

    def write(self, args: tuple) -> tuple[str, dict]:
        """The text, and what it names."""
        self.need("current() is frame", "default() is kind")
        self.structure("args", args)
        if len(self.leaves) != len(self.program.example_leaves):
            raise Unusual
        if self.program.environment.guards:
            self.need("holds()")
        self.hidden()
        self.distinct()
        self.call()
        body = "\n".join(["    " + line for line in self.lines])
        return f"def road(owner, args):\n{body}\n", self.scope

    # ------------------------------------------------------------------ checks
    def structure(self, name: str, a: Any) -> None:
        """Check a nested tuple or list, and what is in it."""
        if type(a) not in (tuple, list):
            self.leaf(name, a)
            return
        kind = "" if name == "args" else f"type({name}) is {type(a).__name__} and "
        self.need(f"{kind}len({name}) == {len(a)}")
        parts = [f"{name}_{i}" for i in range(len(a))]
        if parts:
            self.lines.append(f"{', '.join(parts)}, = {name}")
        for part, x in zip(parts, a):
            self.structure(part, x)

    def leaf(self, name: str, a: Any) -> None:
        """Check one argument that is no structure."""
        i = len(self.leaves)
        self.leaves.append(name)
        if isinstance(a, Tensor):
            self.tensor(name, a)
        elif type(a) is float and i in self.program.floats:
            self.need(f"type({name}) is float and {name} and finite({name})")
        elif isinstance(a, PLAIN):
            same = (
                f"repr({name}) == {repr(a)!r}" if isinstance(a, (float, complex)) else f"{name} == {self.constant(a)}"
            )
            self.need(f"type({name}) is {self.constant(type(a))} and {same}")
        elif isinstance(a, dict) or type(a).__module__ == "collections" or isinstance(a, tuple):
            raise Unusual
        else:
            self.need(f"{name} is {self.constant(a)}")

    def tensor(self, name: str, t: Tensor) -> None:
        """Check a tensor as `kind` sees it (specialization.py)."""
        x, tracked = t._a, self.program.grad and history(t) is not None
        kind = "Tensor" if type(t) is Tensor else self.constant(type(t))
        self.need(f"type({name}) is {kind}")
        a = f"a{len(self.arrays)}"
        self.arrays.append(a)
        self.lines.append(f"{a} = {name}._a")
        layout = (
            f"{a}.flags.c_contiguous"
            if x.flags.c_contiguous
            else f"{a}.strides == {x.strides} and not {a}.flags.c_contiguous"
        )
        self.need(f"type({a}) is {self.constant(type(x))} and {a}.dtype is {self.constant(x.dtype)}")
        self.need(f"{a}.shape == {x.shape} and {layout}")
        if self.program.grad:
            edge = f"({name}._edge if {name}._view is None else history({name}))"
            self.need(f"{edge} is {'not ' if tracked else ''}None")

    def hidden(self) -> None:
        """Look up and check what the function reads besides its arguments."""
        program, first = self.program, len(self.lines)
        for k, get in enumerate(program.getters):
            self.lines.append(f"h{k} = {self.constant(get)}()")
            self.tensor(f"h{k}", self.tensors[program.n_args + k])
        for get, k in program.getters_of_same:
            self.need(f"{self.constant(get)}() is h{k}")
        if lines := self.lines[first:]:
            self.lines[first:] = [
                "try:",
                *["    " + line for line in lines],
                "except (KeyError, IndexError): return MISS",
            ]

    def distinct(self) -> None:
        """Where the program writes, or differentiates by several, no memory may be there twice."""
        program = self.program
        places = [self.leaves[i] for i in program.arg_places] + [f"h{k}" for k in range(len(program.getters))]
        self.places = places
        for k in program.written:
            self.need(f"{self.arrays[k]}.flags.writeable and {places[k]}._ver is not INFERENCE")
        if program.written and len(places) > 1:
            self.need(" is ".join([f"{a}.base" for a in self.arrays] + ["None"]))
            self.need(f"len({{{', '.join([f'id({a})' for a in self.arrays])}}}) == {len(places)}")
        elif len(tracked := [p for p, n in zip(places, program.needs_grad) if n]) > 1:
            self.need(f"len({{{', '.join([f'id({p})' for p in tracked])}}}) == {len(tracked)}")

    # ------------------------------------------------------------------ the call
    def call(self) -> None:
        """Run the entry, box its results, count the writes."""
        program, generators = self.program, self.program.generators and self.program.grad
        states = f"[g.get_state() for g in {self.constant(program.generators)}]" if generators else "()"
        tracked = program.grad and any(program.out_tracked)
        self.lines += [f"states = {states}"] if tracked else []
        given = [self.given(k, x) for k, x in program.entry.plan]
        tensors, leaves = f"[{', '.join(self.places)}]", f"[{', '.join(self.leaves)}]"
        raw = [f"r{k}" for k in range(len(program.out_dtypes) + len(program.zero_writes))]
        self.lines += [
            f"try: {', '.join(raw)}{',' if raw else '_'} = entry({', '.join(given)})".replace(",,", ","),
            "except Exception as e:",
            "    return program.failed(owner, e, args, {})",
        ]
        made = [f"r{k}" for k in range(len(program.out_dtypes))]
        for r, dtype in zip(made, program.out_dtypes):
            array = r if program.on_device else f"{r} if type({r}) is array else asarray({r}, {self.constant(dtype)})"
            self.lines.append(f"{r} = wrap({array})")
        for j, k in enumerate(program.zero_writes):
            self.lines.append(f"{self.arrays[k]}[...] = r{len(made) + j}")
        for k, place in zip(program.written, program.write_places):
            self.lines.append(f"memory({self.places[k]}).bump(owner.name, {self.constant(place)})")
        if tracked:
            outs, rest = f"[{', '.join(made[: program.n_outs])}]", f"[{', '.join(made[program.n_outs :])}]"
            self.lines.append(f"track(program, {tensors}, {outs}, {rest}, {leaves}).states = states")
        self.lines.append(f"return {self.result()}")

    def given(self, kind: str, x: Any) -> str:
        """One argument of the entry."""
        if kind == "input":
            return self.arrays[x] if self.tensors[x]._a.ndim or self.program.on_device else f"{self.arrays[x]}[()]"
        return self.leaves[x] if kind == "number" else self.constant(x)

    def result(self) -> str:
        """What the function returns: a tensor, a flat tuple or list, or another structure by its general name."""
        named = {"out": lambda x: f"r{x}", "input": lambda x: self.places[x], "leaf": lambda x: self.leaves[x],
                 "value": self.constant}  # fmt: skip
        parts = [named[k](x) for k, x in self.program.results]
        tree = self.program.result_tree
        if tree is None:
            return parts[0]
        joined = ", ".join(parts)
        if tree.type in (tuple, list) and tree.num_nodes == len(parts) + 1:
            return f"[{joined}]" if tree.type is list else f"({joined}{',' if len(parts) == 1 else ''})"
        return f"{self.constant(tree)}.unflatten([{joined}])"
