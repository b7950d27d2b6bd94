"""viz draws what minigrad records: the forward, backward and jvp pass of a program, in the formats of `FORMATS`.

`draw` is the one entry; `Drawing` is what it gives.  A record goes through graph (what to draw), fold (less of it) and
cards (what stands on each) to text: sketch, mermaid, dot.  Pictures go on through layout (where cards lie) and picture
(shapes of one pass) or film (of all passes, one after the other) to svg, export and tikz, in one of the themes.
`draw_threads` draws the threads of a kernel that `minigrad.cuda.watch` has seen.  The command line is in cli.
`from_torch` makes the record of a PyTorch program.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import notebook
    from .drawing import Drawing, draw
    from .files import FORMATS
    from .pytorch import from_torch
    from .thread_drawing import draw_threads

__all__ = ["FORMATS", "Drawing", "draw", "draw_threads", "from_torch", "notebook"]
PARTS = {
    "FORMATS": "files",
    "Drawing": "drawing",
    "draw": "drawing",
    "draw_threads": "thread_drawing",
    "from_torch": "pytorch",
}


def __getattr__(name: str) -> Any:
    """A part, imported when it is used: the command shows its help without any."""
    if name == "notebook":
        return importlib.import_module(".notebook", __name__)
    if name not in PARTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("." + PARTS[name], __name__), name)


def __dir__() -> list[str]:
    return __all__
