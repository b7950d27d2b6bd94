"""viz draws minigrad's records: the forward, backward and jvp passes of a program, in the formats of `FORMATS`.

`draw` is the entry point and returns a `Drawing`.  programs finds and records what is to be drawn, graph makes a graph of the
record and folds it, cards fills its cards with text, layout places them on a page, and formats writes it.  `draw_threads` draws
the threads of a kernel watched by `minigrad.cuda.watch`, `draw_ranks` the processes that run a function.  `live` is
a picture in a notebook whose numbers Python reads and sets.  `from_torch` records
a PyTorch program.  The command line is in cli.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import notebook
    from .drawing import Drawing, draw
    from .formats.files import FORMATS
    from .notebook.live import live
    from .pytorch import from_torch
    from .ranks.called import draw_ranks
    from .threads.drawing import draw_threads

__all__ = ["FORMATS", "Drawing", "draw", "draw_ranks", "draw_threads", "from_torch", "live", "notebook"]
PARTS = {
    "FORMATS": "formats.files",
    "Drawing": "drawing",
    "draw": "drawing",
    "draw_ranks": "ranks.called",
    "draw_threads": "threads.drawing",
    "from_torch": "pytorch",
    "live": "notebook.live",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use: `minigrad --help` needs none of them."""
    if name == "notebook":
        return importlib.import_module(".notebook", __name__)
    if name not in PARTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("." + PARTS[name], __name__), name)


def __dir__() -> list[str]:
    return __all__
