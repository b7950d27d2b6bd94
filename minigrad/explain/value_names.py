"""Names for values of a recording, from the variables and modules of the calling program."""

from __future__ import annotations

from types import FrameType
from typing import Any

from ..core.graph import history
from ..core.tensor import Tensor
from ..places import variables
from ..record.passes import named_tensors
from ..record.recorder import Record
from ..tensors.nested import is_tensor, named_in


def name_after(rec: Record, frame: FrameType | None) -> None:
    """Name the unnamed values of a recording after the variables and modules that a frame sees."""
    known: dict[int, str] = {}
    for name, value in public_variables(frame).items():
        if isinstance(value, Tensor):
            known[id(value)] = name
            made = rec.value_of(history(value))
            if made is not None and rec.values[made].tensor is None and not rec.values[made].name:
                rec.values[made].name = name
        elif hasattr(value, "named_parameters") and not isinstance(value, type):
            known = {id(t): f"{name}.{path}" for path, t in named_tensors(value)} | known
        else:
            known = {id(t): path for path, t in named_in(name, value, is_tensor)} | known
    rec.name_values(known)


def public_variables(frame: FrameType | None) -> dict[str, Any]:
    """Return the public variables that a frame sees."""
    return {name: value for name, value in variables(frame).items() if not name.startswith("_")}
