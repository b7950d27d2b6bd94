"""The names of a program's tensors."""

from __future__ import annotations

from typing import Any

from .libraries import library_of_tensor


def names_of_tensors(names: dict[str, Any]) -> dict[int, str]:
    """Return the program's names for its tensors of both libraries, by id (minigrad/record/tensor_names.py)."""
    from minigrad.record import tensor_names

    # people write _ for a result without a name
    return tensor_names.names_of_tensors({key: value for key, value in names.items() if key != "_"}, library_of_tensor)
