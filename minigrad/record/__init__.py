"""The record of a program: what it computed forward and backward, as plain data (docs/record.md).

passes.py runs the program under a recorder (recorder.py), which keeps a log (callbacks.py), or from_graph.py reads a tensor's
graph; event_log.py works the log off (gradient_flow.py), and build.py makes the document of schema.py.
"""

from ..core.events import slots
from ..core.graph import Node
from ..core.tensor import Tensor
from .callbacks import settle
from .from_graph import record_of
from .passes import record
from .recent import debugged
from .recorder import Record
from .schema import SCHEMA
from .show import load_ipython_extension, mimebundle

for _shown in (Tensor, Node):
    _shown._repr_mimebundle_ = mimebundle  # type: ignore[attr-defined]


def install() -> None:
    """Plug in: recordings look at a tensor before it gets another array; debug mode keeps the record of its last backward."""
    slots.replacing, slots.debugged = settle, debugged


__all__ = ["SCHEMA", "Record", "load_ipython_extension", "record", "record_of"]
