"""The record of a program: what it computed forward and backward, as plain data (docs/record.md).

passes.py runs the program under a recorder (recorder.py), which writes a log (callbacks.py); from_graph.py reads a tensor's
graph instead. event_log.py evaluates the log (gradient_flow.py), and build.py creates the document of schema.py.
"""

from ..autograd.profiler import Profiler
from ..core.graph import Node
from ..core.tensor import Tensor
from ..events import events
from .callers import OURS, called
from .from_graph import record_of
from .live_recordings import RecordsOfTensors
from .passes import record
from .recorder import Record
from .schema import SCHEMA, mimebundle

for _shown in (Tensor, Node):
    _shown._repr_mimebundle_ = mimebundle  # type: ignore[attr-defined]


def install() -> None:
    """Let recordings see a tensor before it gets another array, and let debug mode keep the record of its last backward."""
    events.add(RecordsOfTensors())
    Profiler.called, Profiler.ours = staticmethod(called), OURS


__all__ = ["SCHEMA", "Record", "record", "record_of"]
