"""A recording of what PyTorch does, as `minigrad.record()` is one of what minigrad does: run it, then say what it gives."""

# pyright: reportMissingImports=false

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_map_only

from minigrad.errors import error
from minigrad.record.passes import parameter_names
from minigrad.record.recorder import Record

from .torch_calls import watching
from .torch_document import Builder, TorchRecord
from .torch_inside import look_into
from .torch_recorder import Recorder
from .torch_words import tensors_in


class TorchRecording:
    """What this thread computes with PyTorch while `with recording:` is open.

    `end` says afterwards which results it is about, `name_values` what the program calls its tensors; then `document` gives
    the record.  `notes` say what could not be recorded, and why.
    """

    def __init__(self, passes: Sequence[str], name: str, file: str = ""):
        self.passes, self.name, self.file = passes, name, file
        self.recorder = Recorder("jvp" in passes)
        self.outputs: list = []

    @property
    def notes(self) -> list[str]:
        """What could not be recorded, and why."""
        return self.recorder.notes

    def __enter__(self) -> TorchRecording:
        self._watching = watching(self.recorder)
        self._watching.__enter__()
        return self

    def __exit__(self, kind: Any, *error: Any) -> None:
        self._watching.__exit__(kind, *error)
        if kind is not None:
            self.recorder.backward.close()

    def end(self, outs: list[torch.Tensor]) -> None:
        """Say what the program gives.  Backward is run from there, seeded with ones, unless the program has run it."""
        try:
            with watching(self.recorder), self.recorder.aside():
                for call in self.recorder.calls:
                    if call.cls is not None:
                        look_into(call.cls)
                self.outputs = self.recorder.returned(outs)
                if "backward" in self.passes:
                    self.recorder.run_backward(outs)
        finally:
            self.recorder.backward.close()

    def name_arguments(self, fn: Any, args: tuple) -> None:
        """Note the arguments of a function first, under the names of its parameters."""
        with self.recorder.aside():
            for name, a in zip(parameter_names(getattr(fn, "forward", fn), len(args)), args):
                if isinstance(a, torch.Tensor):
                    self.recorder.ref(a).name = name

    def name_values(self, names: dict[int, str]) -> None:
        """Name the values that have no name yet, by the ids of their tensors."""
        for value, t in self.recorder.held():
            value.name = value.name or names.get(id(t), "")

    def document(self, part: Callable[[dict], dict] = lambda record: record) -> TorchRecord:
        """The record; calls and formulas, which take most of the time, are worked out for a part of it."""
        recorder = self.recorder
        builder = Builder(recorder.calls, self.outputs, recorder.backward)
        document = TorchRecord(**builder.document({"file": self.file, "name": self.name}), notes=self.notes)
        builder.write_words(document, part)
        return document

    def as_minigrad(self) -> Record:
        """What leads to the results as a recording of minigrad's, which can be explained."""
        from .torch_chain import Chain

        made = Chain(self.recorder.calls, self.outputs, self.recorder.backward).rec
        made.file, made.program_name = self.file, self.name
        made.notes += self.notes
        if len(made.outputs) == 1 and self.name.isidentifier():
            made.values[made.outputs[0]].name = made.values[made.outputs[0]].name or self.name
        return made


def recording_of(fn: Callable, args: tuple, passes: Sequence[str], name: str | None = None) -> TorchRecording:
    """Run a function or a module under a recording."""
    fn = getattr(fn, "_orig_mod", fn)  # a module as it was before torch.compile
    around = surroundings(fn)
    if not tracks(around, args):
        args = tree_map_only(torch.Tensor, lambda t: t.detach().requires_grad_() if t.is_floating_point() else t, args)
    code = getattr(inspect.unwrap(fn), "__code__", None)
    recording = TorchRecording(passes, name or title(fn), code.co_filename if code else "")
    with recording:
        recording.name_arguments(fn, args)
        outs = tensors_in(fn(*args))
        if not outs:
            fix = "let the function return a tensor, or a structure with tensors in it"
            raise error(TypeError, "from_torch", f"the result of {title(fn)} holds no tensor", fix)
    recording.end(outs)
    recording.name_values(names_in(around))
    return recording


def tracks(around: dict[str, Any], args: tuple) -> bool:
    """Whether anything that a function can see requires grad."""
    modules = [one for one in (*around.values(), *args) if hasattr(one, "named_parameters")]
    return any(t.requires_grad for t in tensors_in((args, around))) or any(
        p.requires_grad for module in modules for p in module.parameters()
    )


def title(fn: Any) -> str:
    """The name of a function, or of a module's class."""
    return getattr(fn, "__name__", type(fn).__name__)


def surroundings(fn: Any) -> dict[str, Any]:
    """What a function sees besides its arguments, by name: the module it belongs to, or the variables it closes over."""
    owner = getattr(fn, "__self__", fn)
    if hasattr(owner, "named_parameters"):
        return {"": owner}
    if not inspect.isfunction(fn := inspect.unwrap(fn)):
        return {}
    found = inspect.getclosurevars(fn)
    return {**found.globals, **found.nonlocals}


def names_in(names: dict[str, Any]) -> dict[int, str]:
    """What a program calls its tensors, by id: by a variable, or by a module and a parameter's name in it.

    Of several variables for one thing the first counts.
    """
    known: dict[int, str] = {}
    for name, one in names.items():
        known.setdefault(id(one), name)
        for members in ("named_parameters", "named_buffers"):
            for path, t in [] if isinstance(one, type) else getattr(one, members, dict)():
                known.setdefault(id(t), f"{name}.{path}" if name else path)
    return known
