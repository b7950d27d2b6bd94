"""Programs as plain data: what a person wants to see of one (`record`), and what runs it without Python (`compile`).

A record: passes.py runs the program under a recording (recording.py), which keeps a log (noters.py, and of backward
listener.py), or from_graph.py reads a tensor's graph; ledger.py works the log off (flows.py), and build.py makes the document
of schema.py (docs/record.md).

A compiled function, from compile.py on: environment.py and capture.py note what it reads and does, rules.py lowers that
(products.py, rowrules.py), fuse.py puts it into loops and passes over rows, codegen.py writes the text (loops.py,
rowloops.py, statements.py), specialise.py runs it, and road.py writes out the call.  For a GPU apart.py parts what threads
cannot do together, and device.py writes the text (kernels.py, rowkernels.py, launches.py).
"""

from ..core.node import Node
from ..core.tensor import Tensor
from .compile import compile
from .from_graph import record_of
from .passes import record
from .recording import Record
from .schema import SCHEMA
from .show import load_ipython_extension, mimebundle

for _shown in (Tensor, Node):
    _shown._repr_mimebundle_ = mimebundle  # type: ignore[attr-defined]

__all__ = ["SCHEMA", "Record", "compile", "load_ipython_extension", "record", "record_of"]
