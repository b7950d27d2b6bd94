"""Draw the pictures of the page: bars of ratios, and growth curves.

Contestants differ by dash and marker as well as by colour, so the pictures work in grey.  Text in the SVG stays text, and
nothing in it depends on the date.
"""

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator, NullLocator

from .case import ratio
from .growth import KINDS
from .peers import RATIOS

STYLE = {"svg.fonttype": "none", "svg.hashsalt": "minigrad", "font.size": 9}
GRID, SOFT, TICK = "#dfe3e8", "#566171", "#b2443c"
LINES = {
    "minigrad": ("#1f4e8c", "solid", "o", 2.2),
    "minigrad.compile": ("#1f4e8c", "dashed", "s", 2.2),
    "torch": ("#b2443c", "solid", "^", 1.2),
    "torch.compile": ("#b2443c", "dashed", "v", 1.2),
    "jax.jit": ("#0d5546", "dashdot", "D", 1.2),
    "mygrad": ("#8a5a00", "dotted", "P", 1.2),
    "autograd": ("#55209c", "dotted", "X", 1.2),
    "copying": ("#79828f", "solid", ".", 1.0),
}
COLOURS = "#1f4e8c", "#9db8dc"
LABELS = ("minigrad / torch", "minigrad.compile / the quicker of torch.compile and jax.jit")


def save(figure, path):
    """Write a figure as SVG, with the same bytes for the same figures, or in the format of the file name."""
    with rc_context(STYLE):
        figure.savefig(path, metadata={"Date": None} if str(path).endswith(".svg") else None, dpi=110)


def ratios(cases):
    """Draw our time over the others' for each case: bars left of 1 are faster, a tick is the target."""
    with rc_context(STYLE):
        figure = Figure(figsize=(8, 0.9 + 0.36 * len(cases)), layout="constrained")
        axes = figure.add_subplot(xscale="log", xlabel="time over the other's time: left of 1 is quicker")
        for k, (label, colour) in enumerate(zip(LABELS, COLOURS)):
            bars(axes, cases, RATIOS[k], (k - 0.5) * 0.38, {"color": colour, "label": label})
        axes.plot([], [], color=TICK, marker="|", linestyle="none", markersize=9, label="target")
        axes.axvline(1, color="#18202b", linewidth=1)
        axes.set_yticks(range(len(cases)), [case["name"].replace("_", " ") for case in cases])
        axes.tick_params("y", length=0)
        axes.set_ylim(len(cases) - 0.4, -0.6)
        low, high = axes.get_xlim()
        axes.set_xlim(low / 1.3, high * 1.3)  # room for the numbers
        axes.xaxis.set_major_locator(LogLocator(2))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.legend(loc="lower center", bbox_to_anchor=(0.35, 1), ncols=3, frameon=False)
        tidy(axes, "x")
    return figure


def bars(axes, cases, compared, shift, look):
    """Draw the bars of one comparison, each with its number and target."""
    ours, theirs = compared
    found = [ratio({name: f["best"] for name, f in case["seconds"].items()}, ours, theirs) for case in cases]
    places = [(row + shift, r) for row, r in enumerate(found) if r is not None]
    axes.barh([y for y, _ in places], [r - 1 for _, r in places], 0.34, left=1, **look)
    for y, r in places:  # for bars below 1 the number goes right of 1, where no target is in the way
        axes.annotate(
            f"{r:.2f}", (max(r, 1), y), (4, 0), textcoords="offset points", va="center", fontsize=7, color=SOFT
        )
    for row, case in enumerate(cases):
        for t in case["targets"]:
            if t["ours"] == ours and list(t["theirs"]) == list(theirs):
                axes.plot([t["target"]], [row + shift], color=TICK, marker="|", markersize=9, zorder=3)


def growth(curve):
    """Draw time or memory over size, both logarithmic."""
    kind = KINDS[curve["what"]]
    with rc_context(STYLE):
        figure = Figure(figsize=(8, 3.8), layout="constrained")
        axes = figure.add_subplot(xscale="log", yscale="log", xlabel="n", ylabel=kind.axis)
        for name, figures in curve["figures"].items():
            colour, dash, marker, width = LINES[name]
            points = [(n, f) for n, f in zip(curve["sizes"], figures) if f is not None]
            axes.plot(*zip(*points), color=colour, linestyle=dash, marker=marker, markersize=4.5, linewidth=width,
                      label=name, zorder=3 if width > 2 else 2)  # fmt: skip
        axes.set_title(curve["title"], loc="left", fontsize=9, fontweight="bold", parse_math=False)
        if curve["sizes"][-1] < 100 * curve["sizes"][0]:  # too few decades for logarithmic ticks
            axes.set_xticks(curve["sizes"], [f"{n:,}" for n in curve["sizes"]])
            axes.xaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(EngFormatter(kind.unit, places=0))
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, handlelength=3.5)
        tidy(axes, "both")
    return figure


def tidy(axes, grid):
    """Remove the unused sides of the frame and add a thin grid."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis=grid, color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
