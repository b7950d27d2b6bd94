"""viz draws what minigrad records: the forward, backward and jvp pass of a program, in the formats of `FORMATS`.

`draw` is the one entry; `Drawing` is what it gives.  A record goes through graph (what to draw), fold (less of it) and
cards (what stands on each) to text: sketch, mermaid, dot.  Pictures go on through layout (where cards lie) and picture
(shapes of one pass) or film (of all passes, one after the other) to svg and export.  `draw_threads` draws the threads of a
kernel that `minigrad.cuda.watch` has seen.  The command line is in cli.
`from_torch` makes the record of a PyTorch program.
"""

from . import notebook
from .drawing import Drawing, draw
from .files import FORMATS
from .pytorch import from_torch
from .thread_drawing import draw_threads

__all__ = ["FORMATS", "Drawing", "draw", "draw_threads", "from_torch", "notebook"]
