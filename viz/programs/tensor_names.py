"""The names of a program's tensors, of both libraries."""

import sys
from typing import Any

from .libraries import library_of_tensor


def names_of_tensors(names: dict[str, Any]) -> dict[int, str]:
    """Return the program's names for its tensors, by id (minigrad/record/tensor_names.py), also in optimizers' states."""
    from minigrad.record import tensor_names

    names = {key: value for key, value in names.items() if key != "_"}  # which people write for a result without a name
    known = tensor_names.names_of_tensors(names, library_of_tensor)
    return known | state_names([value for value in names.values() if hasattr(type(value), "add_param_group")], known)


def notebook_names() -> dict[str, Any]:
    """Return the variables of the notebook that runs, without those whose names begin with _; {} elsewhere."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return {key: value for key, value in getattr(shell, "user_ns", {}).items() if not key.startswith("_")}


def state_names(optimizers: list[Any], known: dict[int, str]) -> dict[int, str]:
    """Return the names of the tensors in optimizers' states, by id: `w.exp_avg` for the parameter w."""
    return {
        id(tensor): f"{known[id(p)]}.{key}"
        for optimizer in optimizers
        for p, state in optimizer.state.items()
        for key, tensor in (state.items() if isinstance(state, dict) and id(p) in known else ())
        if library_of_tensor(tensor)
    }
