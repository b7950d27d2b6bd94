"""Programs as plain data: `record`, `record_of`, the schema they write (schema.py, docs/record.md), and `compile`."""

from ..core.tensor import Tensor
from .compile import compile
from .from_graph import record_of
from .passes import record
from .recording import Record
from .schema import SCHEMA
from .show import mimebundle

Tensor._repr_mimebundle_ = mimebundle  # type: ignore[attr-defined]

__all__ = ["SCHEMA", "Record", "compile", "record", "record_of"]
