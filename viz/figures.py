"""Figures of a record and of a training run, drawn by Matplotlib and readable without colour.

`gradient_magnitudes` and `TrainingFilm` (in training.py) show gradient norms over the steps, `saved_memory` the memory of
saved tensors over one step, `histograms` the distributions of activations and gradients, and `timeline_of_ranks` when each
of several processes computes, waits and communicates.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from matplotlib.ticker import FuncFormatter, MaxNLocator

from .graph.drawn_graph import Graph
from .notebook.mpl_figure import Figure
from .programs.libraries import document_of
from .ranks.timeline import timeline_of_ranks
from .text import flat, shorten, size

__all__ = ["gradient_magnitudes", "histograms", "saved_memory", "timeline_of_ranks"]

LINES = (("#1f4e8c", "solid"), ("#b2443c", "dashed"), ("#0d5546", "dashdot"), ("#8a5a00", "dotted"))
CALM = 0.1  # weight of a new step in the running mean


def gradient_magnitudes(history: Mapping[str, Sequence[float]]) -> Figure:
    """Plot the norm of each layer's gradient over the steps of a training run.

    Args:
        history: for each layer, the norm of its gradient at each step.

    Returns:
        A Matplotlib figure: a faint line through the steps, and a bold one for their running mean.

    >>> figure = gradient_magnitudes({"hidden": [1.0, 0.5, 0.25], "out": [2.0, 1.0, 0.5]})
    >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    ['hidden', 'out']
    """
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    scale = "log" if any(step > 0 for steps in history.values() for step in steps) else "linear"
    axes = figure.add_subplot(yscale=scale, xlabel="step", ylabel="gradient norm")
    axes.set_title("Gradient norm of each layer", loc="left", fontweight="bold")
    for (name, steps), (colour, dash) in zip(history.items(), LINES * len(history)):
        axes.plot(steps, color=colour, alpha=0.25, linewidth=0.7)
        axes.plot(running_mean(steps), color=colour, linestyle=dash, linewidth=1.8, label=shorten(name, 32))
    legend = axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, handlelength=3.5)
    for text in legend.get_texts():
        text.set_parse_math(False)
    _plain(axes)
    return figure


def running_mean(steps: Sequence[float]) -> list[float]:
    """Return the exponential running mean, started at the first step.

    >>> running_mean([1.0, 2.0])
    [1.0, 1.1]
    """
    means = list(steps[:1])
    for step in steps[1:]:
        means.append((1 - CALM) * means[-1] + CALM * step)
    return means


def saved_memory(record: Any) -> Figure:
    """Plot the memory of saved tensors while a program runs: it grows in forward, and shrinks in backward.

    Args:
        record: a record of `minigrad.record`, or its dict.

    Returns:
        A Matplotlib figure: bytes after each operation, the phases side by side.

    >>> import minigrad
    >>> record = minigrad.record(lambda x: (x.sin() * x).sum(), minigrad.ones(1000))
    >>> figure = saved_memory(record)
    >>> float(max(figure.axes[0].lines[0].get_ydata()))
    8000.0
    """
    ops = [op for op in document_of(record)["ops"] if op["phase"] in ("forward", "backward")]
    kept = kept_bytes(ops)
    figure = Figure(figsize=(8, 3.5), layout="constrained")
    axes = figure.add_subplot(xlabel="operation, in program order", ylabel="saved for backward")
    axes.set_title(f"Saved memory: at most {size(max(kept, default=0))}", loc="left", fontweight="bold")
    axes.step(range(len(kept)), kept, where="post", color="#0d5546", linewidth=1.8)
    axes.fill_between(range(len(kept)), kept, step="post", color="#dff1ec")
    turn = next((i for i, op in enumerate(ops, 1) if op["phase"] == "backward"), None)
    if turn is not None:
        axes.axvline(turn - 0.5, color="#566171", linewidth=1, linestyle="dashed")
        for at, word, side in ((turn - 0.5, "forward ", "right"), (turn - 0.5, " backward", "left")):
            axes.annotate(word, (at, 1), xycoords=("data", "axes fraction"), ha=side, va="top", color="#566171")
    unit = 1024 ** int(math.log(max(*kept, 1), 1024))  # ticks are round numbers of bytes, kB or MB
    axes.set_yticks(unit * MaxNLocator(5, integer=unit == 1, steps=[1, 2, 5, 10]).tick_values(0, max(*kept, 1) / unit))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda amount, _: size(int(amount)).replace(".0 ", " ")))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylim(0, 1.15 * max(*kept, 1))
    _plain(axes)
    return figure


def kept_bytes(ops: Sequence[dict]) -> list[int]:
    """Return the bytes of saved tensors at the start and after each operation; a tensor saved several times counts once.

    >>> keep = [{"value": 7, "bytes": 4, "freed_by": 2}]
    >>> kept_bytes([{"id": 0, "saved": keep}, {"id": 1, "saved": keep}, {"id": 2, "saved": []}])
    [0, 4, 4, 0]
    """
    holders: dict[int, int] = {}  # value -> number of operations that save it
    size_of = {entry["value"]: entry["bytes"] for op in ops for entry in op["saved"]}
    freed: dict[int, list[int]] = {}
    for op in ops:
        for entry in op["saved"]:
            freed.setdefault(entry["freed_by"], []).append(entry["value"])
    changes = []
    for op in ops:
        change = 0
        for value in (entry["value"] for entry in op["saved"]):
            change += size_of[value] * (not holders.get(value))
            holders[value] = holders.get(value, 0) + 1
        for value in freed.get(op["id"], ()):
            holders[value] -= 1
            change -= size_of[value] * (not holders[value])
        changes.append(change)
    return list(accumulate(changes, initial=0))


def histograms(record: Any, most: int = 12) -> Figure:
    """Plot histograms of the results of a program's operations, each beside the histogram of its gradient.

    Args:
        record: a record of `minigrad.record`, or its dict.
        most: the largest number of results to show; of more, a selection spread evenly over the program.

    Returns:
        A Matplotlib figure with a row for each result.

    >>> import minigrad
    >>> record = minigrad.record(lambda x: (x.sin() * x).sum(), minigrad.linspace(-1.0, 1.0, 100))
    >>> [axes.get_title() for axes in histograms(record).axes[:2]]
    ['value', 'gradient']
    """
    graph = Graph(document_of(record))
    results = [(op["name"], value) for op in graph.ops for value in op["outputs"] if graph.elements(value) > 1]
    if len(results) > most:
        results = [results[round(i * (len(results) - 1) / (most - 1))] for i in range(most)]
    figure = Figure(figsize=(8, 0.9 * max(len(results), 1) + 0.8), layout="constrained")
    rows: Any = figure.subplots(max(len(results), 1), 2, squeeze=False)
    rows[0][0].set_title("value")
    rows[0][1].set_title("gradient")
    for axes in rows.flat:
        axes.set_yticks([])
        axes.spines[["top", "right", "left"]].set_visible(False)
    for (left, right), (name, value) in zip(rows, results):
        label = f"{shorten(name, 18)}\n{shorten(graph.name(value), 18)}"
        left.set_ylabel(label, rotation=0, ha="right", va="center", parse_math=False)
        for axes, entry, colour in ((left, graph.values[value], "#1f4e8c"), (right, graph.gradient(value), "#b2443c")):
            edges, counts = bins(entry)
            if counts:
                axes.stairs(counts, edges, fill=True, color=colour)
                axes.xaxis.set_major_locator(MaxNLocator(4))
                axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:.3g}"))
            else:
                axes.annotate("none", (0.5, 0.5), xycoords="axes fraction", ha="center", va="center", color="#566171")
                axes.set_xticks([])
    return figure


def bins(value: dict | None, most: int = 16) -> tuple[list[float], list[int]]:
    """Return the edges and counts of a value's histogram: the record's, or computed if the record has all elements.

    >>> bins({"summary": {"values": [0.0, 1.0, 1.0]}}, 2)
    ([0.0, 0.5, 1.0], [1, 2])
    """
    summary = (value or {}).get("summary") or {}
    if "values" in summary:
        numbers = [x for x in flat(summary["values"]) if isinstance(x, (int, float)) and abs(x) < float("inf")]
        counts, edges = np.histogram(numbers, most) if numbers else ([], [])
        return [float(edge) for edge in edges], [int(count) for count in counts]
    found = summary.get("histogram") or {}
    return found.get("edges", []), found.get("counts", [])


def _plain(axes: Any) -> None:
    """Reduce the frame to two sides, and add faint horizontal lines."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#dfe3e8", linewidth=0.6)
