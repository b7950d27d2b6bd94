"""Recording programs as plain data: `record`, `record_of`, and the schema they write (schema.py, docs/record.md)."""

from .from_graph import record_of
from .passes import record
from .recording import Record
from .schema import SCHEMA

__all__ = ["SCHEMA", "Record", "record", "record_of"]
