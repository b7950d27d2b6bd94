"""Draw the pictures of lessons a second time, for slides: a page in large type for each pass, and figures as SVG.

The kernel that runs a lesson loads this (execute.py) and adds the pages to the output of each picture.
"""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

from IPython.core.formatters import JSONFormatter
from IPython.core.getipython import get_ipython
from traitlets import ObjectName, Unicode

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from viz import Drawing

PAGES = "application/vnd.minigrad.slides+json"
LOADED = "__import__('docs.build.large').build.large.install()"  # defines no name in the notebook
MOST = 12  # nodes of a folded graph


class Pages(JSONFormatter):
    """Formatter of IPython for the pages."""

    format_type = Unicode(PAGES)
    print_method = ObjectName("_repr_slides_")  # no object has it


def install() -> None:
    """Add the pages to the outputs of this kernel."""
    shell = get_ipython()
    assert shell is not None, "only a kernel loads this"
    formatter = shell.display_formatter
    pages = Pages(parent=formatter)
    pages.for_type_by_name("viz.drawing", "Drawing", drawn)
    pages.for_type_by_name(
        "matplotlib.figure", "FigureBase", plotted
    )  # not Figure, which its inline backend unregisters
    formatter.formatters[PAGES] = pages


def drawn(drawing: Drawing) -> dict[str, str] | None:
    """Return an SVG of 1280 by 720 for each pass: with saved tensors, else without, else folded; None if none of these fits."""
    from viz.formats.slide import TooMuch
    from viz.formats.svg import svg
    from viz.view import ON_SLIDES, SHOW, view_of

    if drawing.view.slide or drawing.whole.lanes:  # a record of several processes has no format for slides
        return None
    wanted = drawing.view.show - {"lines", "shapes" if "values" in drawing.view.show else ""}
    details, few = (tuple(wanted & set(names)) for names in (SHOW, ON_SLIDES))
    for show, most in ((details, None), (few, None), (few, MOST)):
        view = view_of(show, size="slide")
        try:
            # one layout for all passes, so that cards stay where they are from slide to slide
            page = type(drawing)(drawing.record, drawing.passes, (), view, drawing.depth, most)
            return {name: svg({name: made}, page.alt()) for name, made in page.pictures().items()}
        except TooMuch:
            pass
    return None


def plotted(figure: Figure) -> dict[str, str]:
    """Return a figure of Matplotlib as SVG, which stays sharp on a projector."""
    file = StringIO()
    figure.savefig(file, format="svg", transparent=True, bbox_inches="tight", metadata={"Date": None})
    return {"figure": file.getvalue()}
