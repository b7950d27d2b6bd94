"""viz draws what minigrad records: the forward, backward and jvp pass of a program, as SVG, PNG, PDF and DOT.

`draw` is the one entry; `Drawing` is what it gives.  A record goes through graph (what to draw), cards (what stands on
each), layout (where it lies) and picture (shapes of one pass) to svg, export or dot.  The command line is in cli.
"""

from . import notebook
from .drawing import Drawing, draw

__all__ = ["Drawing", "draw", "notebook"]
