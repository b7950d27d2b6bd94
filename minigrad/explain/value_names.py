"""Names for values of a recording, from the variables and modules of the calling program."""

from types import FrameType
from typing import Any

from ..core.graph import history
from ..places import local_variables, variables
from ..record.recorder import Record
from ..record.tensor_names import names_of_tensors
from ..tensors.nested import is_tensor


def name_after(rec: Record, frame: FrameType | None) -> None:
    """Name the unnamed values of a recording after the variables and modules that a frame sees."""
    variables = public_variables(frame)
    for name, value in variables.items():
        made = rec.value_of(history(value)) if is_tensor(value) else None
        if made is not None and rec.values[made].tensor is None and not rec.values[made].name:
            rec.values[made].name = name
    rec.name_values(names_of_tensors(variables))


def public_variables(frame: FrameType | None) -> dict[str, Any]:
    """Return the public variables that a frame sees, local ones first."""
    seen = {name: value for name, value in variables(frame).items() if not name.startswith("_")}
    local = seen.keys() & local_variables(frame).keys()
    return {name: seen[name] for name in sorted(seen, key=lambda name: name not in local)}
