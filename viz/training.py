"""The film of a training run: each layer's gradient norm as a bar, step by step, as a GIF or a self-contained page."""

import base64
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from .figures import running_mean
from .formats.files import write
from .text import shorten

__all__ = ["TrainingFilm"]

FRAMES = 120  # the largest number of frames; a longer run skips steps
PACE = 12  # frames per second

PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Gradients of a training run</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<style>body{{margin:1rem;font:15px sans-serif;background:#fff;color:#18202b}}img{{max-width:100%}}</style>
{image}
</html>
"""
IMAGE = '<img alt="Gradient norm of each layer, step by step" src="data:image/gif;base64,{data}">'


class TrainingFilm:
    """The film of a training run; it displays itself in a notebook.

    Args:
        history: for each layer, the norm of its gradient at each step.

    Each bar is the running mean of a layer's norms; the mark on it is the norm at that step.  Raises ValueError for a
    history without steps.

    >>> TrainingFilm({"hidden": [1.0, 0.5], "out": [2.0, 1.0]}).gif()[:3]
    b'GIF'
    """

    def __init__(self, history: Mapping[str, Sequence[float]]):
        if not any(len(steps) for steps in history.values()):
            raise ValueError("TrainingFilm: the history is empty. Pass the norms of at least one step.")
        self.history = history

    def gif(self) -> bytes:
        """Return the film as a GIF."""
        history = self.history
        names, steps = list(history), max(map(len, history.values()))
        means = {name: running_mean(history[name]) for name in names}
        figure = Figure(figsize=(7, 0.45 * len(names) + 1.3), dpi=100, layout="constrained")
        canvas = FigureCanvasAgg(figure)
        frames = []
        for step in range(0, steps, -(-steps // FRAMES)):
            figure.clear()
            _frame(figure, names, history, means, step, steps)
            canvas.draw()
            shot = Image.fromarray(np.asarray(canvas.buffer_rgba()))
            frames.append(shot.convert("P", palette=Image.Palette.ADAPTIVE, colors=32))
        out = io.BytesIO()
        frames[0].save(out, "GIF", save_all=True, append_images=frames[1:], duration=1000 // PACE, loop=0)
        return out.getvalue()

    def html(self) -> str:
        """Return the film as a self-contained page."""
        return PAGE.format(image=self._repr_html_())

    def save(self, path: str | Path) -> Path:
        """Write the film to a file with the suffix .gif or .html; ValueError for another suffix."""
        path = Path(path)
        suffix = path.suffix.lower()
        if suffix not in (".gif", ".html"):
            raise ValueError(f"TrainingFilm.save: unknown suffix {path.suffix!r}. Use .gif or .html.")
        return write(path, self.gif() if suffix == ".gif" else self.html().encode())

    def _repr_html_(self) -> str:
        return IMAGE.format(data=base64.b64encode(self.gif()).decode())


def _frame(figure, names: list[str], history: Mapping, means: Mapping, step: int, steps: int) -> None:
    """Draw one frame, on the scale that all frames share."""
    positive = [x for norms in history.values() for x in norms if x > 0]
    axes = figure.add_subplot(xlabel="gradient norm", xscale="log" if positive else "linear")
    least, most = (min(positive) / 2, max(positive) * 2) if positive else (0.0, 1.0)
    now = [history[name][min(step, len(history[name]) - 1)] if len(history[name]) else 0.0 for name in names]
    mean = [means[name][min(step, len(means[name]) - 1)] if means[name] else 0.0 for name in names]
    rows = range(len(names))
    axes.barh(rows, [x - least for x in mean], left=least, color="#1f4e8c", height=0.6, label="running mean")
    axes.plot(now, rows, linestyle="none", marker="d", color="#b2443c", label="this step")
    axes.set_xlim(least, most)
    axes.set_yticks(rows, [shorten(name, 32) for name in names], parse_math=False)
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(f"step {step + 1} of {steps}", loc="left", fontweight="bold")
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False)
