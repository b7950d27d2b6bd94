"""torch.onnx: importable, so that programs with an export option run; the export itself raises an error."""

from __future__ import annotations

from typing import Any, NoReturn

from ..errors import error

__all__ = ["export", "is_in_onnx_export"]


def export(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise NotImplementedError: minigrad does not write ONNX files."""
    raise error(
        NotImplementedError,
        "onnx.export",
        "minigrad does not write ONNX files",
        "save the numbers with minigrad.save(model.state_dict(), path), load them in PyTorch and export there",
    )


def is_in_onnx_export() -> bool:
    """Return False: nothing is exported.

    >>> is_in_onnx_export()
    False
    """
    return False
