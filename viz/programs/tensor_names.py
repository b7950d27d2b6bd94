"""The names of a program's tensors."""

from __future__ import annotations

from typing import Any

from .libraries import is_module, library_of_tensor


def names_of_tensors(names: dict[str, Any]) -> dict[int, str]:
    """Return the program's names for its tensors, by id: a variable, an element of one, or a parameter or buffer of a module.

    If several variables hold a tensor, the first one counts, and the last one is often that of a loop: `for p in (w, b)`.  If
    several modules contain it, the first one existed before the others were built from it.
    """
    from minigrad.tensors.nested import named_in

    inside: dict[int, str] = {}
    names = {key: value for key, value in names.items() if key != "_"}  # which people write for a result without a name
    for key, value in names.items():
        for path, t in (*value.named_parameters(), *value.named_buffers()) if is_module(value) else ():
            inside.setdefault(id(t), f"{key}.{path}")
    parts = [part for key, value in reversed(names.items()) for part in named_in(key, value, library_of_tensor)]
    elements = {id(t): path for path, t in sorted(parts, key=lambda part: -len(part[0]))}  # the shortest name counts
    variables = {id(value): key for key, value in reversed(names.items()) if library_of_tensor(value) and key != "_"}
    known = elements | inside | variables
    return known | state_names([value for value in names.values() if hasattr(type(value), "add_param_group")], known)


def state_names(optimizers: list[Any], known: dict[int, str]) -> dict[int, str]:
    """Return the names of the tensors in optimizers' states, by id: `w.exp_avg` for the parameter w."""
    return {
        id(tensor): f"{known[id(p)]}.{key}"
        for optimizer in optimizers
        for p, state in optimizer.state.items()
        for key, tensor in (state.items() if isinstance(state, dict) and id(p) in known else ())
        if library_of_tensor(tensor)
    }
