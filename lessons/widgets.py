"""Sliders: a picture that is drawn again for another value, or a row of pictures where there are no widgets.

A live slider needs a notebook and ipywidgets.  The site sets MINIGRAD_LESSONS_STATIC, and gets the row.
"""

from __future__ import annotations

import base64
import html
import inspect
import io
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from viz.text import number

FEW = 4  # pictures in a row
ROW = "<div style='display:flex;flex-wrap:wrap;gap:1em'>{}</div>"
CAPTION = "<figcaption style='margin:0 0 1em'><code>{}</code></figcaption>"
FIGURE = f"<figure style='flex:1 1 16em;max-width:22em;margin:0'>{{}}{CAPTION}</figure>"
IMAGE = "<img style='max-width:100%' alt='{}' src='data:image/{};base64,{}'>"


class Slider:
    """A function that draws a picture, with the values to choose for each of its arguments.

    >>> slider(lambda rate: f"a step of {rate}", rate=[0.1, 1.0])
    slider(rate: 0.1, 1)
    """

    def __init__(self, f: Callable[..., Any], values: Mapping[str, Sequence[Any]], alt: str = ""):
        self.f, self.values, self.alt = f, values, alt

    def __repr__(self) -> str:
        listed = "; ".join(f"{name}: {', '.join(map(number, values))}" for name, values in self.values.items())
        return f"slider({listed})"

    def start(self) -> dict[str, Any]:
        """Return the middle value of each argument."""
        return {name: values[len(values) // 2] for name, values in self.values.items()}

    def picture(self, chosen: Mapping[str, Any]) -> str:
        """Return the picture for these arguments as HTML."""
        words = ", ".join(f"{name} = {number(value)}" for name, value in chosen.items())
        return shown(self.f(**chosen), f"{self.alt}, {words}" if self.alt else words)

    def row(self) -> str:
        """Return pictures for a few values, a row for each argument; the others have their middle value."""
        rows = []
        for name, values in self.values.items():
            pictures = [(self.picture({**self.start(), name: one}), f"{name} = {number(one)}") for one in few(values)]
            rows.append(ROW.format("".join(FIGURE.format(made, html.escape(words)) for made, words in pictures)))
        return "".join(rows)

    def widget(self) -> Any:
        """Return sliders above a picture, as a widget of ipywidgets; it draws again when you release a slider."""
        import ipywidgets

        start, picture = self.start(), ipywidgets.HTML()
        sliders = {
            name: ipywidgets.SelectionSlider(
                options=[(number(one), one) for one in values],
                index=len(values) // 2,
                description=name,
                continuous_update=False,
            )
            for name, values in self.values.items()
        }

        def draw(_: Any = None) -> None:
            chosen = {name: self.values[name][one.index] for name, one in sliders.items()}
            try:
                picture.value = self.picture(chosen)
            except Exception as e:  # a notebook does not show errors of a callback
                picture.value = f"<pre>{html.escape(f'{type(e).__name__}: {e}')}</pre>"

        for one in sliders.values():
            one.observe(draw, "index")
        picture.value = self.picture(start)
        return ipywidgets.VBox([*sliders.values(), picture])

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return self.widget()._repr_mimebundle_() if live() else {"text/html": self.row(), "text/plain": repr(self)}


def slider(f: Callable[..., Any], /, alt: str = "", **ranges: Iterable[Any]) -> Slider:
    """Draw a picture for a value that the reader chooses with a slider.

    In a notebook with ipywidgets, `f` is called again for each value that a slider is moved to.  On the site, and in a notebook
    without ipywidgets, there is a row of pictures for at most four of the values.  Raises ValueError if an argument has fewer
    than two values, or if `f` returns nothing.

    >>> slider(lambda rate: f"a step of {rate}", rate=[0.01, 0.1, 1.0]).picture({"rate": 1.0})
    '<pre>a step of 1.0</pre>'

    Parameters
    ----------
    f
        A function that returns a picture: a figure of Matplotlib, a drawing of viz, or text.
    alt
        A description of the picture for readers who do not see it; the values are added to it.
    ranges
        For each argument of `f`, the values to choose from.  The slider starts in the middle.
    """
    values = {name: list(several) for name, several in ranges.items()}
    if short := [name for name, several in values.items() if len(several) < 2]:
        raise ValueError(f"slider: {short[0]} has fewer than two values. Give a list of them.")
    if not values:
        raise ValueError("slider: there is nothing to choose. Give the values of an argument: rate=[0.01, 0.1, 1.0].")
    inspect.signature(f).bind(**values)  # raises TypeError for other names
    made = Slider(f, values, alt)
    made.picture(made.start())  # raises what f raises here, and not when a slider is moved
    return made


def live() -> bool:
    """Return True in a notebook with ipywidgets, unless the variable MINIGRAD_LESSONS_STATIC is set."""
    if os.environ.get("MINIGRAD_LESSONS_STATIC") or "IPython" not in sys.modules or find_spec("ipywidgets") is None:
        return False
    return getattr(sys.modules["IPython"].get_ipython(), "kernel", None) is not None


def few(values: Sequence[Any]) -> list[Any]:
    """Return at most four of these values, spread evenly, with the first and the last.

    >>> few([1, 2]), few(range(10))
    ([1, 2], [0, 3, 6, 9])
    """
    most = min(FEW, len(values))
    return [values[round(i * (len(values) - 1) / (most - 1))] for i in range(most)]


def shown(picture: Any, words: str) -> str:
    """Return a picture as HTML with a description; raise ValueError for None.

    >>> shown("x < 1", "")
    '<pre>x &lt; 1</pre>'
    """
    if picture is None:
        raise ValueError("slider: the function returns None. Return the picture, such as a figure.")
    if hasattr(picture, "savefig"):
        file = io.BytesIO()
        picture.savefig(file, format="png", dpi=100)
        if pyplot := sys.modules.get("matplotlib.pyplot"):
            pyplot.close(picture)  # or the notebook shows it a second time
        return image(file.getvalue(), "png", words)
    if hasattr(picture, "svg"):
        return image(picture.svg().encode(), "svg+xml", words)  # an image, since ids in two drawings would clash
    if hasattr(picture, "_repr_html_"):
        return picture._repr_html_()
    return f"<pre>{html.escape(str(picture))}</pre>"


def image(content: bytes, kind: str, words: str) -> str:
    """Return an image that is embedded in HTML."""
    return IMAGE.format(html.escape(words), kind, base64.b64encode(content).decode())
