"""The values and operations of a recorded PyTorch program, and the document built from them.

Values (Noted) and operations (Call) refer to each other, and torch_recorder.py and torch_graph.py fill them in.  The document
numbers each value at its first mention.
"""

# pyright: reportMissingImports=false, reportAttributeAccessIssue=false, reportPrivateImportUsage=false

from __future__ import annotations

import copy
import functools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch._C import _functorch as functorch
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack

from minigrad.arrays.kinds import distinct
from minigrad.errors import error
from minigrad.files import written
from minigrad.record import schema
from minigrad.record.assignments import name_variables
from minigrad.record.build import backward, choose_labels
from minigrad.record.kept_bytes import KEPT, LARGE
from minigrad.record.labels import Frame
from minigrad.record.method_formulas import compose
from minigrad.record.show import mimebundle
from minigrad.record.summary import summary

from ..graph.trimmed_record import mentioned
from ..text import counted

if TYPE_CHECKING:
    from .torch_graph import Backward
    from .torch_inside import Inside


class Contents(threading.local):
    """The limit of the contents that the recordings of a thread keep, as minigrad's (record/kept_bytes.py)."""

    def __init__(self) -> None:
        self.kept = self.given_up = 0  # bytes, values

    def weigh(self, value: Noted) -> None:
        """Give up the contents of a new value beyond the limit."""
        a = value.array
        if a is None or a.size <= schema.WHOLE or value.kind in schema.LEAVES:
            return
        size = distinct(a).nbytes
        if self.kept + size <= KEPT:
            self.kept += size
        elif a.nbytes >= LARGE and value.summary:  # which is computed now
            value.array, value.lost = None, True
            self.given_up += 1


CONTENTS = Contents()


class Noted:
    """A value of the program: the contents of one tensor at one moment."""

    def __init__(self, t: torch.Tensor, kind: str, array: np.ndarray | None = None):
        self.dims = batches(t)
        t = bottom(t)
        if t.is_nested:
            raise error(
                TypeError, "from_torch", "a nested tensor cannot be recorded", "pad it: t.to_padded_tensor(0.0)"
            )
        self.kind, self.name = kind, ""
        self.shape, self.dtype, self.device = list(t.shape), str(t.dtype).removeprefix("torch."), str(t.device)
        self.bytes = size_of(t)
        self.array = numbers(t) if array is None else array
        self.lost = False  # True if only its summary is kept
        CONTENTS.weigh(self)

    @functools.cached_property
    def summary(self) -> dict:
        """The summary of its elements, in the schema's form; the statistics of complex numbers use their magnitudes."""
        a = self.array
        if a is None:
            return {}
        a = np.abs(a) if a.dtype.kind == "c" and a.size > schema.WHOLE else a
        return summary(a, self.kind in schema.LEAVES)


class Call:
    """One operation as the user wrote it, or the entry of backward for one (`of`)."""

    def __init__(self, phase: str, name: str, where: schema.Where, of: Call | None = None):
        self.phase, self.name, self.where, self.of = phase, name, where, of
        self.formula, self.inplace = "", False
        self.function: str | None = None
        self.cls: Any = None  # the user's Function
        self.layers: list[str] = []
        self.modules: list[str] = []
        self.word = name  # PyTorch's own name, "" for lines of NumPy; in args and kwargs values replace tensors
        self.args: tuple[Any, ...] = ()
        self.kwargs: dict[str, Any] = {}
        self.dims: dict[Noted, list[int]] = {}  # the `batches` of each argument and result
        self.inputs: list[Any] = []  # Noted, or {"const": ...}
        self.labels: list[str] = []  # the parameter name of each input
        self.outputs: list[Noted] = []
        self.primitive: Any = None  # minigrad's class for the same operation
        self.boundary: dict[tuple, Noted] = {}  # (node, number of its output) of each input and output tensor
        self.nodes: list[Any] = []  # nodes of PyTorch's graph
        self.upstream: dict[int, Noted] = {}  # incoming gradient by run of backward
        self.flows: list[tuple] = []  # (run, input, upstream, gives), in the order in which they happened
        self.kept: list[tuple] = []  # (value, bytes, node)
        self.internal: dict[Any, Noted] = {}  # saved tensors that are neither arguments nor results
        self.tangents: dict[Noted, Noted] = {}
        self.insides: list[Inside] = []  # calls of the methods of a custom Function
        self.cut = ""  # why no gradient passes
        self.tracks = torch.is_grad_enabled()

    def edges(self) -> list[tuple]:
        """Return (run, input, partial, upstream, gives) for each use of an input.

        An operation of several nodes may contribute to an input more than once.
        """
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
        """Return the partial derivative with respect to input i as text: minigrad's formula if it has the same operation."""
        if self.function:
            return f"{self.function}.backward"
        if self.primitive is not None and len(self.nodes) == 1:
            star = self.primitive.variadic
            count = len(self.primitive.names) if star is None else star + len(self.inputs)
            texts = [self.primitive.partial_text(k) for k in range(count)]
            if getattr(self.primitive, "kernel", None) is None:  # minigrad's arguments have another order
                i, texts = sum(isinstance(one, Noted) for one in self.inputs[:i]), [text for text in texts if text]
            if texts and (text := texts[min(i, len(texts) - 1)]):
                return text
        return f"∂{self.name}/∂{self.labels[i] if i < len(self.labels) else 'base'}"


@dataclass
class TorchRecord(schema.Document):
    """The record of a PyTorch program; `notes` name the gaps in the recording, with the reasons."""

    notes: list[str] = field(default_factory=list)

    def save(self, path: str | Path) -> None:
        """Write the record to a JSON file."""
        with written(path) as file:
            file.write(self.to_json().encode())

    def __repr__(self) -> str:
        forward = sum(op.phase == "forward" for op in self.ops)
        return f"<TorchRecord {self.program['name']}: {counted(forward, 'operation')}, {', '.join(self.program['passes'])}>"

    _repr_mimebundle_ = mimebundle


class Builder:
    """Builds the document, and numbers each value at its first mention."""

    def __init__(self, calls: list[Call], outputs: list[Noted], backward: Backward):
        self.calls, self.returned, self.backward = calls, outputs, backward
        self.numbers: dict[Noted, int] = {}
        self.frames: list[tuple] = []  # of methods: the entry and the call of the operation, the method, its builder
        self.ids = {call: i for i, call in enumerate(calls)}
        self.used = {one for call in calls for one in call.inputs if isinstance(one, Noted)} | set(outputs)
        self.edges = {call: call.edges() for call in calls}
        # the entry of the last backward that did not keep the graph
        freeing = [call for call in calls if call.of is not None and not backward.keeps(call)]
        self.freeing = {call.of: self.ids[call] for call in freeing}

    def number(self, one: Any) -> Any:
        """Return a value's number in the document, None for None, or a constant in JSON form."""
        if one is None or isinstance(one, dict):
            return schema.jsonable(one)
        return self.numbers.setdefault(one, len(self.numbers))

    def document(self, program: dict) -> schema.Document:
        """Return the document, without calls and formulas."""
        document = self.draft(program, self.returned)
        self.named.finish()
        self.add_methods()
        return document

    def draft(
        self, program: dict, results: Sequence[Noted], same: Mapping[Noted, Noted] = MappingProxyType({})
    ) -> schema.Document:
        """Return the document without numbered labels and methods; `same` are its values in a record around it."""
        gradients = self.backward.gradients()
        ops = [self.entry(call) for call in self.calls]
        with_tangents = [call for call in self.calls if any(o in call.tangents for o in call.outputs)]
        ops += [self.tangent_entry(call, len(ops) + i) for i, call in enumerate(with_tangents)]
        self.frames = [(op, call, one, one.builder(call)) for op, call in zip(ops, self.calls) for one in call.insides]
        outputs = [self.number(o) for o in self.returned]
        whole = {self.number(v): self.number(gradients[v]) for v in list(self.numbers) if v in gradients}
        passes, shown = self.backward.passes(), self.backward.shown(self.returned)
        for run in passes:
            for v in [v for v in run.gradients if v in self.numbers]:
                self.number(run.gradients[v])
        backwards = [backward(run, run in shown, self.number, self.numbers) for run in passes]
        grads = [
            schema.Accumulation(self.number(one.value), one.run, *map(self.number, one[2:]))
            for one in self.backward.accumulations
            if one.value in self.numbers
        ]
        values = [
            schema.Value(i, v.name, "", "", v.kind, v.shape, v.dtype, v.device, v.bytes, v.summary)
            for v, i in self.numbers.items()
        ]
        name_variables(values, ops)
        own = [op for op, call in zip(ops, self.calls) if call.of is None or call.inputs]
        phases = {"forward", *[op.phase for op in ops]}
        ran = [one for one in ("forward", "backward", "jvp") if one in phases]
        program = {**program, "passes": ran}
        self.made = schema.Document(program, values, ops, outputs, whole, backwards=backwards, grads=grads)
        identities = {i: id(same.get(v, v)) for v, i in self.numbers.items()}
        custom = [(call.cls, i) for call, i in self.ids.items() if call.cls is not None]
        self.named = choose_labels(self.made, own, [self.number(v) for v in results], identities, custom)
        self.named.frames += [Frame(op, one.name, inner.named) for op, _, one, inner in self.frames]
        return self.made

    def add_methods(self) -> None:
        """Add the methods of custom Functions, whose values have their labels now."""
        self.named.number_saved()
        for op, call, one, inner in self.frames:
            op.inside.append(one.document(self, inner, call))

    def entry(self, call: Call) -> schema.Op:
        """Build the entry of an operation, or of its backward."""
        ins, outs = self.ends(call)
        op = self.op(call, call.phase, self.ids[call], ins, outs)
        op.of, op.inplace, op.cut = None if call.of is None else self.ids[call.of], call.inplace, call.cut
        op.run = 0 if call.of is None else next(iter(call.upstream))
        if call.of is not None:
            op.formula = "; ".join(dict.fromkeys(partial for _, _, partial, _, _ in self.through(call)))
        for run, i, partial, up, gives in self.flows(call):
            edge = schema.Edge(self.number(i), partial, self.number(up), self.number(gives), run=run)
            arrived = [self.backward.arrived.get(o, {}).get(run) for o in outs]
            edge.upstreams = [self.number(g) for g in arrived] if any(arrived) else [edge.upstream]
            op.edges.append(edge)
        last = self.freeing.get(call)
        op.saved = [
            schema.SavedValue(self.number(v), size, last if is_freed(node) else None) for v, size, node in call.kept
        ]
        op.tangents = {self.number(v): self.number(t) for v, t in call.tangents.items() if v in ins or v in outs}
        return op

    def tangent_entry(self, call: Call, id: int) -> schema.Op:
        """Build the entry of the jvp pass for an operation."""
        ins, outs = (
            [call.tangents[v] for v in side if isinstance(v, Noted) and v in call.tangents] for side in self.ends(call)
        )
        op = self.op(call, "jvp", id, ins, outs)
        op.of = self.ids[call]
        return op

    def op(self, call: Call, phase: str, id: int, ins: list, outs: list) -> schema.Op:
        """Build the fields that all entries of a call share."""
        read, made = [self.number(one) for one in ins], [self.number(one) for one in outs]
        return schema.Op(id, phase, call.name, call.formula, "", call.layers, read, made, None, False, call.where,
                         call.function, module=call.modules)  # fmt: skip

    def ends(self, call: Call) -> tuple[list, list]:
        """Return the inputs and outputs of an operation; unused outputs are left out."""
        if call.of is not None and not call.inputs:
            ups, gives = zip(*[edge[-2:] for edge in self.through(call)]) if self.through(call) else ((), ())
            return list(dict.fromkeys(ups)), list(dict.fromkeys(gives))
        return call.inputs, [o for o in call.outputs if o in self.used] or call.outputs

    def flows(self, call: Call) -> list[tuple]:
        """Return the edges of an operation, without runs of backward that were differentiated themselves."""
        return [edge for edge in self.edges[call] if not self.backward.runs[edge[0] - 1].differentiated]

    def write_words(self, document: schema.Document, part: Callable[[dict], dict]) -> None:
        """Add calls, derivative formulas and contents to a part of the record."""
        from .torch_contents import contents_of
        from .torch_wording import Words

        known = {value: document.values[i].label for value, i in self.numbers.items()}
        tangents = {value: self.named.tangent(i) for value, i in self.numbers.items()}
        record = part(document.to_dict())
        there = {op["id"] for op in record["ops"]}
        for op, call in zip(document.ops, self.calls):
            if op.id in there and call.of is None:
                flows, used = self.flows(call), self.ends(call)[1]
                arrived = self.backward.arrived
                runs = dict.fromkeys(run for run, *_ in flows)
                grads = {run: {o: arrived[o][run] for o in used if run in arrived.get(o, ())} for run in runs}
                Words(op, call, known, tangents, used).write(flows, grads)
                if op.inside:
                    compose(op, document.values)
        document.contents = contents_of(document, self.numbers, self.ids, mentioned(record))

    def through(self, call: Call) -> list[tuple]:
        """Return the edges of the forward operation along which this entry of backward sent a gradient."""
        return [edge for edge in self.edges[call.of] if edge[0] in call.upstream] if call.of is not None else []


def total(parts: list[Noted]) -> Noted:
    """Return the sum of gradients; a single one is returned itself."""
    if len(parts) == 1:
        return parts[0]
    made = copy.copy(parts[0])
    made.__dict__.pop("summary", None)  # cached for the first part
    arrays = [part.array for part in parts if part.array is not None]
    made.array = np.asarray(sum(arrays)) if len(arrays) == len(parts) else None
    return made


# ---------------------------------------------------------------------------------------------------------- tensors
def bottom(t: torch.Tensor) -> torch.Tensor:
    """Return the tensor underneath all transforms of torch.func."""
    while functorch.is_functorch_wrapped_tensor(t):
        t = functorch.get_unwrapped(t)
    return t


def batches(t: torch.Tensor) -> list[int]:
    """Return the batch dimension of each vmap around a tensor, innermost first."""
    found = []
    while functorch.is_functorch_wrapped_tensor(t):
        found += [functorch.maybe_get_bdim(t)] if functorch.is_batchedtensor(t) else []
        t = functorch.get_unwrapped(t)
    return found


def is_leaf(t: torch.Tensor) -> bool:
    """Return True for a leaf that requires grad, except a view of a leaf made without grad, which PyTorch also calls a leaf."""
    try:
        return t.requires_grad and t.is_leaf and (t._base is None or not t._base.requires_grad)
    except RuntimeError:  # PyTorch raises for a view whose base was written in another grad mode
        return False


@contextmanager
def quiet() -> Iterator[None]:
    """Leave all transforms and record no graph inside the block."""
    with torch._C.DisableTorchFunction(), torch.no_grad(), temporarily_clear_interpreter_stack():
        yield


def numbers(t: torch.Tensor) -> np.ndarray | None:
    """Return a copy of a tensor's elements; None if they cannot be read, as on the device "meta"."""
    if t.is_meta or functorch.is_legacy_batchedtensor(t):
        return None
    with quiet():
        t = torch.zeros(t.shape, dtype=t.dtype) if t._is_zerotensor() else t.detach()
        t = t.dequantize() if t.is_quantized else t.to_dense() if t.layout is not torch.strided else t
        t = t.cpu().resolve_conj().resolve_neg()
        try:
            a = t.numpy()
        except TypeError:  # NumPy has no bfloat16
            a = (
                t[tuple([slice(1) if step == 0 else slice(None) for step in t.stride()])]
                .float()
                .expand(t.shape)
                .numpy()
            )
        return np.broadcast_to(np.array(distinct(a)), a.shape) if 0 in a.strides else np.array(a)


def has_memory(t: torch.Tensor) -> bool:
    """Return True for a strided tensor with real memory: not sparse, nested, on meta, or a zero without storage."""
    other = t.is_meta or t.is_nested or t._is_zerotensor() or functorch.is_legacy_batchedtensor(t)
    return t.layout is torch.strided and not other


def size_of(t: torch.Tensor) -> int:
    """Return the bytes of a tensor's elements."""
    return t.numel() * t.element_size()


def saved_by_node(node: Any) -> list[torch.Tensor]:
    """Return the tensors that a node saves for backward, except those packed by hooks: unpacking them may run code."""
    found = []
    for name in saved_names(type(node)):
        raw = getattr(node, name)
        for one in raw if isinstance(raw, (list, tuple)) else [raw]:
            if one is not None and one.unpack_hook is None and one.data is not None:
                found.append(one.data)
    return found


@functools.cache
def saved_names(kind: type) -> tuple[str, ...]:
    """Return the names of a node type's attributes for saved tensors."""
    return tuple(name for name in dir(kind) if name.startswith("_raw_saved_"))


def is_freed(node: Any) -> bool:
    """Return True if backward has freed a node's saved tensors."""
    try:
        return not saved_by_node(node)
    except RuntimeError:
        return True
