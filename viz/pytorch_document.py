"""What a recording of a PyTorch program notes, and the document of the schema made of it.

Values (Noted) and operations (Call) point at each other; they get their numbers when the document is made, each value
when it is first mentioned.  pytorch_recorder.py and pytorch_graph.py fill them in.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack

from minigrad.kernels import formula
from minigrad.ops.primitive import Primitive
from minigrad.ops.registry import TABLE
from minigrad.program import schema


class Noted:
    """A value of the program: what one tensor held at one moment.  Gradients keep their numbers, to be added up."""

    def __init__(self, t: torch.Tensor, kind: str, array: np.ndarray | None = None):
        t = bottom(t)
        self.kind, self.name = kind, ""
        self.shape, self.dtype, self.device = list(t.shape), str(t.dtype).removeprefix("torch."), str(t.device)
        self.bytes = size_of(t)
        array = numbers(t) if array is None else array
        self.summary = {} if array is None else summary(array)
        self.array = array if kind == "gradient" else None


class Call:
    """One operation as the user wrote it, or what backward ran for one (`of`)."""

    def __init__(self, phase: str, name: str, where: schema.Where, of: Call | None = None):
        self.phase, self.name, self.where, self.of = phase, name, where, of
        self.formula, self.inplace = "", False
        self.function: str | None = None
        self.layers: list[str] = []
        self.modules: list[str] = []
        self.inputs: list[Any] = []  # Noted, or {"const": ...}
        self.labels: list[str] = []  # for each input the name of its parameter
        self.outputs: list[Noted] = []
        self.primitive: Any = None  # minigrad's class for the same operation
        self.boundary: dict[tuple, Noted] = {}  # (node, which output) of each tensor that went in or came out
        self.nodes: list[Any] = []  # of PyTorch's graph
        self.upstream: dict[int, Noted] = {}  # by run of backward
        self.flows: list[tuple] = []  # (run, input, upstream, gives), as they happened
        self.kept: list[tuple] = []  # (value, bytes, node)
        self.internal: dict[Any, Noted] = {}  # what its nodes keep that is neither argument nor result
        self.tangents: dict[Noted, Noted] = {}

    def edges(self) -> list[tuple]:
        """(run, input, partial, upstream, gives), one for each use of an input: an operation of several nodes may lead
        to an input more than once."""
        by_input: dict[tuple, list] = {}
        for run, value, upstream, gives in self.flows:
            by_input.setdefault((run, value), []).append((upstream, gives))
        made = []
        for (run, value), parts in by_input.items():
            places = [i for i, one in enumerate(self.inputs) if one is value] or [0]
            if len(parts) > len(places):
                parts = [(parts[0][0], total([gives for _, gives in parts]))]
            made += [(run, value, self.partial(i), *part) for i, part in zip(places, parts)]
        return made

    def partial(self, i: int) -> str:
        """The partial derivative by the input at place i, in words: minigrad's formula where it has the same operation."""
        if self.function:
            return f"{self.function}.backward"
        if self.primitive is not None and len(self.nodes) == 1:
            texts = [self.primitive.partial_text(k) for k in range(len(self.primitive.names))]
            if getattr(self.primitive, "kernel", None) is None:  # its arguments stand in another order
                i, texts = sum(isinstance(one, Noted) for one in self.inputs[:i]), [text for text in texts if text]
            if texts and (text := texts[min(i, len(texts) - 1)]):
                return text
        return f"∂{self.name}/∂{self.labels[i] if i < len(self.labels) else 'base'}"


def document(calls: list[Call], outputs: list[Noted], gradients: dict[Noted, Noted], program: dict) -> dict:
    """The fields of the document: values and operations numbered in program order."""
    numbers_of: dict[Noted, int] = {}

    def number(one: Any) -> Any:
        return schema.jsonable(one) if isinstance(one, dict) else numbers_of.setdefault(one, len(numbers_of))

    ids = {call: i for i, call in enumerate(calls)}
    used = {id(one) for call in calls for one in call.inputs} | {id(one) for one in outputs}
    runs = {(call.of, run): ids[call] for call in calls if call.of is not None for run in call.upstream}
    edges = {call: call.edges() for call in calls}
    ops = []
    for call in calls:
        ins, outs = ends(call, edges, used)
        op = schema.Op(ids[call], call.phase, call.name, call.formula, call.layers, [number(i) for i in ins],
                       [number(o) for o in outs], None if call.of is None else ids[call.of], call.inplace, call.where,
                       call.function, module=call.modules)  # fmt: skip
        if call.of is not None:
            op.formula = "; ".join(dict.fromkeys(partial for _, _, partial, _, _ in own_edges(call, edges)))
        op.edges = [schema.Edge(number(i), p, number(up), number(gives)) for _, i, p, up, gives in edges[call]]
        last = max((at for (of, _), at in runs.items() if of is call), default=None)
        op.saved = [schema.SavedValue(number(v), size, last if freed(node) else None) for v, size, node in call.kept]
        op.tangents = {number(v): number(t) for v, t in call.tangents.items() if v in ins or v in outs}
        ops.append(op)
    for call in [c for c in calls if any(o in c.tangents for o in c.outputs)]:
        sides = [[number(call.tangents[v]) for v in side if not isinstance(v, dict) and v in call.tangents]
                 for side in ends(call, edges, used)]  # fmt: skip
        ops.append(schema.Op(len(ops), "jvp", call.name, call.formula, call.layers, *sides, ids[call], False, call.where,
                             call.function, module=call.modules))  # fmt: skip
    known = sorted([v for v in gradients if v in numbers_of], key=number)
    whole = {number(v): number(gradients[v]) for v in known}
    returned = [number(o) for o in outputs]
    values = [schema.Value(i, v.name, v.kind, v.shape, v.dtype, v.device, v.bytes, v.summary)
              for v, i in numbers_of.items()]  # fmt: skip
    ran = {op.phase for op in ops}
    passes = [one for one in ("forward", "backward", "jvp") if one == "forward" or one in ran]
    return {"program": {**program, "passes": passes}, "values": values, "ops": ops, "outputs": returned, "gradients": whole}


def ends(call: Call, edges: dict, used: set) -> tuple[list, list]:
    """What goes into an operation and what comes out of it; results that nobody uses are left out."""
    if call.of is not None and not call.inputs:
        through = own_edges(call, edges)
        return list(dict.fromkeys(up for *_, up, _ in through)), list(dict.fromkeys(gives for *_, gives in through))
    return call.inputs, [o for o in call.outputs if id(o) in used] or call.outputs


def own_edges(call: Call, edges: dict) -> list:
    """The edges of the forward operation along which this entry of backward sent something."""
    return [edge for edge in edges[call.of] if edge[0] in call.upstream]


def total(parts: list[Noted]) -> Noted:
    """The sum of gradients, which is the gradient itself where there is one."""
    if len(parts) == 1:
        return parts[0]
    made = Noted.__new__(Noted)
    made.__dict__.update(vars(parts[0]), array=None, summary={})
    if all(p.array is not None for p in parts):
        made.array = functools.reduce(np.add, [p.array for p in parts])
        made.summary = summary(made.array)
    return made


# ---------------------------------------------------------------------------------------------------------- tensors
def bottom(t: torch.Tensor) -> torch.Tensor:
    """The tensor underneath all transforms of torch.func."""
    while torch._C._functorch.is_functorch_wrapped_tensor(t):
        t = torch._C._functorch.get_unwrapped(t)
    return t


@contextmanager
def quiet() -> Iterator[None]:
    """What is computed here is our own: outside all transforms and without a graph."""
    with torch._C.DisableTorchFunction(), torch.no_grad(), temporarily_clear_interpreter_stack():
        yield


def numbers(t: torch.Tensor) -> np.ndarray | None:
    """A copy of a tensor's elements; None where it has none, as on the device "meta"."""
    if t.is_meta:
        return None
    with quiet():
        t = t.detach()
        t = t.dequantize() if t.is_quantized else t.to_dense() if t.layout is not torch.strided else t
        t = t.cpu().resolve_conj().resolve_neg()
        try:
            return np.array(t.numpy())
        except TypeError:  # NumPy has no bfloat16
            return np.array(t.float().numpy())


def summary(a: np.ndarray) -> dict:
    """A value's summary; complex numbers, which the schema's statistics do not know, go by their magnitude."""
    return schema.summary(np.abs(a) if a.dtype.kind == "c" and a.size > schema.WHOLE else a)


def size_of(t: torch.Tensor) -> int:
    """The bytes of a tensor's elements."""
    return t.numel() * t.element_size()


def kept_by(node: Any) -> list[torch.Tensor]:
    """The tensors that a node keeps for backward.  Those packed by hooks are left out: to look at them may run code."""
    found = []
    for name in saved_names(type(node)):
        raw = getattr(node, name)
        for one in raw if isinstance(raw, (list, tuple)) else [raw]:
            if one is not None and one.unpack_hook is None and one.data is not None:
                found.append(one.data)
    return found


@functools.cache
def saved_names(kind: type) -> tuple[str, ...]:
    """The attributes of a kind of node that hold what it keeps."""
    return tuple(name for name in dir(kind) if name.startswith("_raw_saved_"))


def freed(node: Any) -> bool:
    """Whether backward has let go what a node kept."""
    try:
        return not kept_by(node)
    except RuntimeError:
        return True


# ------------------------------------------------------------------------------------------------------------ words
@functools.cache
def primitives() -> dict[str, list]:
    """minigrad's primitives by name."""
    found: dict[str, list] = {}
    pending: list[Any] = [Primitive]
    while pending:
        cls = pending.pop()
        pending += cls.__subclasses__()
        found.setdefault(cls.name, []).append(cls)
    return found


def primitive_of(name: str, keywords: dict) -> Any:
    """minigrad's class for an operation, where it is one primitive under the same name and with the same parameters."""
    entry = TABLE.get(name)
    candidates = primitives().get(name, [])
    if entry is not None and entry.cls is not None:
        candidates = [entry.cls, *candidates]
    elif len(candidates) > 1:
        return None
    return next((cls for cls in candidates if set(keywords) <= set(cls.names)), None)


@functools.cache
def parameters_of(name: str) -> tuple[str, ...]:
    """The names of an operation's parameters."""
    if name in ("getitem", "setitem"):
        return "x", "index", "value"
    return tuple(inspect.signature(TABLE[name].function).parameters) if name in TABLE else ()


def formula_of(call: Call) -> str:
    """What an operation computes: its kernel, or the call with the arguments that are no tensors."""
    kernel = getattr(call.primitive, "kernel", None)
    if kernel is not None and (text := formula.shown(kernel)):
        return text
    said = [f"{label}={one['const']!r}" if isinstance(one, dict) else label for label, one in zip(call.labels, call.inputs)]
    return f"{call.name}({', '.join(dict.fromkeys(said))})"
