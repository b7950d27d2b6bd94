"""Draw the pictures of the page: the time of an all_reduce over its bytes, and the model's forecast for more machines."""

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, NullLocator, PercentFormatter

from ..plots import LINES, SOFT, STYLE, tidy
from . import forecast

DASHES = ("solid", "dashed", "dotted")


def reductions(results, model):
    """Draw the time over the bytes, both logarithmic, in a panel for each number of ranks above one."""
    runs, here = [run for run in results["runs"] if run["ranks"] > 1], model["networks"]["this machine's memory"]
    with rc_context(STYLE):
        figure = Figure(figsize=(8, 3.6), layout="constrained")
        panels = figure.subplots(1, len(runs), sharey=True, squeeze=False)[0]
        for axes, run in zip(panels, runs):
            sizes = [at["bytes"] for at in run["reductions"]]
            for name in ("minigrad", "torch"):
                colour, dash, marker, width = LINES[name]
                low, middle, high = [
                    [at["seconds"][name][which] for at in run["reductions"]] for which in ("lower", "median", "upper")
                ]
                axes.fill_between(sizes, low, high, color=colour, alpha=0.15, linewidth=0)
                axes.plot(sizes, middle, color=colour, linestyle=dash, marker=marker, markersize=4.5, linewidth=width,
                          label={"minigrad": "minigrad on MPI", "torch": "PyTorch on gloo"}[name])  # fmt: skip
            if run["ranks"] <= results["machine"]["cores"]:
                predicted = [forecast.all_reduce(run["ranks"], m, forecast.Network(**here)) for m in sizes]
                axes.plot(sizes, predicted, color=SOFT, linestyle="dotted", label="the model")
            axes.set(xscale="log", yscale="log", xlabel="bytes", title=f"{run['ranks']} ranks")
            axes.xaxis.set_major_formatter(EngFormatter("B", places=0))
            axes.xaxis.set_minor_locator(NullLocator())
            tidy(axes, "both")
        panels[0].yaxis.set_major_formatter(EngFormatter("s", places=0))
        panels[0].set_ylabel("time of an all_reduce")
        panels[0].legend(loc="upper left", frameon=False)
        fix_layout(figure)
    return figure


def efficiency(model):
    """Draw the efficiency over the number of machines, in a panel for each case; the band is the gain from overlapping."""
    names = list(next(iter(model["efficiency"].values())))
    with rc_context(STYLE):
        figure = Figure(figsize=(8, 3.0), layout="constrained")
        panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
        for axes, name in zip(panels, names):
            for k, (network, by_case) in enumerate(model["efficiency"].items()):
                best, worst = zip(*[by_case[name][p] for p in forecast.MACHINES])
                colour = ("#1f4e8c", "#b2443c", "#0d5546")[k]
                axes.fill_between(forecast.MACHINES, worst, best, color=colour, alpha=0.15, linewidth=0)
                axes.plot(forecast.MACHINES, best, color=colour, linestyle=DASHES[k], label=network)
            axes.set_xscale("log", base=2)
            axes.set_xticks(forecast.MACHINES[::2], [str(p) for p in forecast.MACHINES[::2]])
            axes.xaxis.set_minor_locator(NullLocator())
            axes.set(xlabel="machines, by the model", title=name, ylim=(0, 1.05))
            tidy(axes, "both")
        panels[0].yaxis.set_major_formatter(PercentFormatter(1))
        panels[0].set_ylabel("efficiency")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
        fix_layout(figure)
    return figure


def fix_layout(figure):
    """Compute the layout once and fix it: each drawing would move the panels a little further."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
