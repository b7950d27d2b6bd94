"""A recording of a PyTorch program, the counterpart of `minigrad.record()`: run the program, then name its results."""

# pyright: reportMissingImports=false

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.utils._pytree import tree_map_only

from minigrad.errors import error
from minigrad.files import written
from minigrad.places import user_frame
from minigrad.record import schema
from minigrad.record.build import drafted, write_texts
from minigrad.record.contents import contents_of
from minigrad.record.passes import parameter_names, surroundings, variable_of
from minigrad.record.recorder import Record
from minigrad.record.seeds import Seeds
from minigrad.record.tensor_names import names_of_tensors
from minigrad.tensors.nested import named_in

from ..graph.trimmed_record import mentioned
from ..text import counted
from .torch_calls import watching
from .torch_inside import look_into
from .torch_recorder import Recorder
from .torch_values import Call
from .torch_words import tensors_in, where


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

    _repr_mimebundle_ = schema.mimebundle


class TorchRecording(Recorder):
    """A recording of this thread's PyTorch operations while `with recording:` is open.

    Afterwards, `end` sets the results, `name_values` names the tensors, and `document` returns the record.  `notes` name the
    gaps in the recording, with the reasons.
    """

    def __init__(self, passes: Sequence[str], name: str, file: str = "", seeds: Seeds | None = None):
        super().__init__("jvp" in passes, seeds)
        self.passes, self.program_name, self.file = passes, name, file
        self.ran_jvp = "jvp" in passes

    def __enter__(self) -> TorchRecording:
        self._watching = watching(self)
        self._watching.__enter__()
        return self

    def __exit__(self, kind: Any, *error: Any) -> None:
        if kind is not None and issubclass(kind, Exception):
            self.note_failure(error[0])
        self._watching.__exit__(kind, *error)
        if kind is not None:
            self.close()

    def end(self, outs: list[torch.Tensor], keep: bool = False, apart: bool = False) -> None:
        """Set the program's results.  Run backward from them, seeded with ones, unless the program ran it itself.

        `keep` their graph if the program may go on with it, as a notebook does.  If they stay `apart`, each gets a pass.
        """
        try:
            with watching(self), self.aside():
                for call in self.groups:
                    if isinstance(call, Call) and call.cls is not None:
                        look_into(call.cls)
                self.returned(outs)
                if self.seeds is not None:
                    self.seeds.check()
                if "backward" in self.passes:
                    names = self.names_of_results
                    for k in range(len(outs)) if apart else ():
                        self.run_backward([outs[k]], keep, lambda k=k: [names()[k]])
                    if not apart:
                        self.run_backward(outs, keep, names)
        finally:
            self.close()

    def name_arguments(self, given: dict[str, Any]) -> None:
        """Register the arguments of a function under the names of its parameters."""
        with self.aside():
            for name, a in given.items():
                for path, t in named_in(name, a, is_torch):
                    self.values[self.ref(t)].name = path

    def document(self, part: Callable[[dict], dict] = lambda record: record) -> TorchRecord:
        """Build the record; calls and formulas, which take most of the time, are computed only for a part of it."""
        draft = drafted(self)
        draft.named.finish()
        document, self._numbers = draft.document, draft.number.new
        ran = {"forward", *[op.phase for op in document.ops]}
        document.program["passes"] = [one for one in ("forward", "backward", "jvp") if one in ran]
        record = part(document.to_dict())
        self.drawn = {op["id"] for op in record["ops"]}
        write_texts(draft)
        ops = [op.to_dict({}) for op in document.ops if op.id in self.drawn]
        seen = mentioned({**record, "ops": ops})
        contents = contents_of(self, document, draft.number)
        document.contents = {value: text for value, text in contents.items() if value in seen}
        return TorchRecord(**vars(document), notes=self.notes)

    def names_of_results(self) -> list[list[str]]:
        """Return the names of each result: those of its value, and that of the program if there is no other result."""
        document = self.document()
        alone = self.program_name if len(document.outputs) == 1 else ""
        found = [document.values[i] for i in document.outputs]
        return [[*filter(None, (v.name, alone, v.shown))] for v in found]

    def number_of_leaf(self, value: int) -> int | None:
        """Return the number of a leaf, by the id of its value in the document, among those that the jvp pass has met."""
        tensors = [t for noted, t in self.held() if self._numbers.get(noted) == value]
        return next((i for i, one in enumerate(self.tangents.met.values()) if any(one is t for t in tensors)), None)

    def as_minigrad(self) -> Record:
        """Return the operations behind the results as a minigrad recording, which `minigrad.explain` accepts."""
        from .torch_chain import Chain

        made = Chain(self).rec
        made.file, made.program_name = self.file, self.program_name
        made.notes += self.notes
        if len(made.outputs) == 1 and self.program_name.isidentifier():
            made.values[made.outputs[0]].name = made.values[made.outputs[0]].name or self.program_name
        return made


def recording_of(
    fn: Callable, args: tuple, passes: Sequence[str], name: str | None = None, tangent: Any = None, grad: Any = None
) -> TorchRecording:
    """Run a function or a module under a recording."""
    fn = getattr(fn, "_orig_mod", fn)  # the module that torch.compile wraps
    around = surroundings(fn)
    caller = user_frame(2)
    known = names_of_tensors(around, is_torch, name or variable_of(fn, caller))
    seeds = None if tangent is None and grad is None else Seeds(tangent, grad, known)
    if not tracks(around, args):
        args = tree_map_only(torch.Tensor, lambda t: t.detach().requires_grad_() if t.is_floating_point() else t, args)
    code = getattr(inspect.unwrap(fn), "__code__", None)
    recording = TorchRecording(passes, name or title(fn), code.co_filename if code else "", seeds)
    here = where(caller)
    with recording:
        given = dict(zip(parameter_names(getattr(fn, "forward", fn), len(args)), args))
        recording.name_arguments(given)
        outs = tensors_in(fn(*args))
        if not outs:
            fix = "return a tensor, or a structure of tensors"
            raise error(TypeError, "from_torch", f"the result of {title(fn)} contains no tensor", fix)
    recording.end(outs)
    for call in recording.groups:
        if call.where == here:  # fn is PyTorch's own: only the line that records it calls it
            call.where = schema.Where()
    around |= {name: a for name, a in given.items() if hasattr(a, "named_parameters")}
    recording.name_values(names_of_tensors(around, is_torch, name or variable_of(fn, caller)))
    return recording


def tracks(around: dict[str, Any], args: tuple) -> bool:
    """Return True if a tensor that a function can access requires grad."""
    modules = [one for one in (*around.values(), *args) if hasattr(one, "named_parameters")]
    parameters = [p for module in modules for p in module.parameters()]
    return any(t.requires_grad for t in (*tensors_in((args, around)), *parameters))


def title(fn: Any) -> str:
    """Return the name of a function, or of a module's class."""
    return getattr(fn, "__name__", type(fn).__name__)


def is_torch(one: Any) -> bool:
    """Return True for a tensor of PyTorch."""
    return isinstance(one, torch.Tensor)
