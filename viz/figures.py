"""Figures of a training run, drawn by Matplotlib; lines differ by dash too, so they survive a grey printer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .text import shorten

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINES = (("#1f4e8c", "solid"), ("#b2443c", "dashed"), ("#0d5546", "dashdot"), ("#8a5a00", "dotted"))
CALM = 0.1  # share of a step in the running mean that is drawn over the single steps


def gradient_magnitudes(history: Mapping[str, Sequence[float]]) -> Figure:
    """The magnitude of each layer's gradient over the steps of a training run.

    Args:
        history: for each layer, the norm of its gradient at each step.

    Returns:
        A Matplotlib figure: single steps faintly, their running mean above them.

    >>> figure = gradient_magnitudes({"hidden": [1.0, 0.5, 0.25], "out": [2.0, 1.0, 0.5]})
    >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    ['hidden', 'out']
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    scale = "log" if any(step > 0 for steps in history.values() for step in steps) else "linear"
    axes = figure.add_subplot(yscale=scale, xlabel="step", ylabel="norm of the gradient")
    axes.set_title("How large each layer's gradient is", loc="left", fontweight="bold")
    for (name, steps), (colour, dash) in zip(history.items(), LINES * len(history)):
        axes.plot(steps, color=colour, alpha=0.25, linewidth=0.7)
        axes.plot(running_mean(steps), color=colour, linestyle=dash, linewidth=1.8, label=shorten(name, 32))
    legend = axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, handlelength=3.5)
    for text in legend.get_texts():
        text.set_parse_math(False)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#dfe3e8", linewidth=0.6)
    return figure


def running_mean(steps: Sequence[float]) -> list[float]:
    """The exponential running mean, started at the first step.

    >>> running_mean([1.0, 2.0])
    [1.0, 1.1]
    """
    means = list(steps[:1])
    for step in steps[1:]:
        means.append((1 - CALM) * means[-1] + CALM * step)
    return means
