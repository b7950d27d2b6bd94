"""Make the page from the figures: docs/performance_ranks.json, docs/performance_ranks.md and its pictures.

    python -m benchmarks.ranks.report        remake them from docs/performance_ranks.json

The prose is in template.md; this module replaces its markers, such as <!-- reductions -->.
"""

import json
from pathlib import Path

from .. import page
from ..page import DOCS, header, time
from . import forecast, steps

TEMPLATE = Path(__file__).parent / "template.md"
NAME = "performance_ranks"
LIBRARIES = ("minigrad", "torch")


def write(results, docs=DOCS):
    """Write the figures, the page and its pictures to docs/."""
    from .. import plots
    from . import curves

    page.save(results, docs / f"{NAME}.json")
    (docs / f"{NAME}.md").write_text(text(results), encoding="utf-8")
    pictures = docs / "pictures"
    pictures.mkdir(exist_ok=True)
    results = page.rounded(results)
    plots.save(curves.reductions(results, expected(results)), pictures / "ranks-all-reduce.svg")
    plots.save(curves.efficiency(expected(results)), pictures / "ranks-forecast.svg")
    print(f"\nWritten: {docs / NAME}.json, the page and its pictures beside it")


def expected(results):
    """Return the forecast from the figures."""
    return forecast.forecast(results["runs"], results["machine"]["cores"])


def text(results):
    """Return the page: the template with its markers replaced."""
    results = page.rounded(results)
    runs, model = results["runs"], expected(results)
    shown = TEMPLATE.read_text(encoding="utf-8")
    parts = {
        "note": note(results),
        "machine": machine(results["machine"], runs),
        "reductions": reductions(runs),
        "cases": "\n".join(f"- `{c.name}`: {c.title}." for c in cases(runs)),
        "each": str(steps.EACH),
        "whole": str(steps.WHOLE),
        "steps": str(steps.STEPS),
        "weak": scaling(runs, lambda ranks: steps.EACH, efficiency),
        "strong": scaling(runs, lambda ranks: steps.WHOLE // ranks, speed_up),
        "traffic": traffic(runs),
        "checks": checks(runs),
        "networks": networks(model),
        "fit": fit(model),
        "comparison": comparison(model),
        "forecast": forecasts(model),
    }
    for name, part in parts.items():
        mark = f"<!-- {name} -->"
        if mark not in shown:
            raise ValueError(f"{TEMPLATE} has no mark {mark}")
        shown = shown.replace(mark, part)
    return shown


def cases(runs):
    """Return the measured cases."""
    return [case for case in steps.CASES if case.name in runs[0]["steps"]]


# ---------------------------------------------------------------------- what was measured
def note(results):
    """Return a comment that names the source of the page, and a warning for a quick run."""
    quick = "\n\n!!! warning\n    A quick run, made to see that everything works: its figures mean nothing."
    return "<!-- made by `make bench-ranks` from benchmarks/ranks/template.md -->" + (quick if results["quick"] else "")


def machine(m, runs):
    """Return a description of the machine and the versions."""
    packages = ", ".join(f"{name} {version}" for name, version in m["packages"].items() if version)
    busy = f" One-minute load before the run: {m['load']}." if m["load"] is not None else ""
    many = [str(run["ranks"]) for run in runs if run["ranks"] > m["cores"]]
    shared = f" **{' and '.join(many)} ranks share the {m['cores']} cores**, and take turns on them." if many else ""
    return (
        f"Measured on: {m['processor']}, {m['cores']} cores; {m['system']}; Python {m['python']}, {packages}.{busy}{shared} "
        f"The figures as [JSON]({NAME}.json)."
    )


def reductions(runs):
    """Return a table of times and ratios for each number of ranks above one."""
    parts = []
    for run in runs:
        if run["ranks"] > 1:
            lines = [f"{run['ranks']} ranks:", "", header("bytes", "minigrad", "gloo", "ratio", "reached")]
            for at in run["reductions"]:
                ratio = at["seconds"]["minigrad"]["median"] / at["seconds"]["torch"]["median"]
                cells = [spread(at["seconds"][name]) for name in LIBRARIES]
                lines.append(f"| {at['bytes']:,} | {' | '.join(cells)} | **{ratio:.2f}** | {reached(ratio <= 1)} |")
            parts.append("\n".join(lines))
    return "\n\n".join(parts)


def spread(found):
    """Return a median with its quartiles as text."""
    return f"{time(found['median'])} ({time(found['lower'])} to {time(found['upper'])})"


def reached(so):
    """Return "yes" or "no" for a target."""
    return "yes" if so else "**no**"


def batch_of(run, name, each):
    """Return the figures of a case with `each` examples per rank."""
    return next(batch for batch in run["steps"][name] if batch["each"] == each)


def efficiency(alone, seconds):
    """Return the share of the ranks' time that is spent on the work."""
    return f"{alone / seconds:.0%}"


def speed_up(alone, seconds):
    """Return the speed of the ranks relative to one process."""
    return f"{alone / seconds:.2f}"


def scaling(runs, each, compared):
    """Return a row per case and number of ranks: steps, overheads, and a comparison with one process."""
    what = compared.__name__.replace("_", "-")
    columns = [f"{name}{end}" for name in ("minigrad", "gloo") for end in ("", ": overhead", f": {what}")]
    lines = [header("case", "ranks", *columns, "overhead over gloo's", "reached")]
    for case in cases(runs):
        one = batch_of(runs[0], case.name, each(1))["seconds"]
        for run in runs:
            seconds = {n: f["median"] for n, f in batch_of(run, case.name, each(run["ranks"]))["seconds"].items()}
            over = {name: seconds[name] - seconds[f"{name} alone"] for name in LIBRARIES}
            cells = []
            for name in LIBRARIES:
                cells += [time(seconds[name]), signed(over[name])]
                cells.append(compared(one[f"{name} alone"]["median"], seconds[name]))
            ratio = f"**{over['minigrad'] / over['torch']:.2f}**" if min(over.values()) > 0 else "-"
            so = reached(over["minigrad"] <= max(over["torch"], 0))
            lines.append(f"| `{case.name}` | {run['ranks']} | {' | '.join(cells)} | {ratio} | {so} |")
    return "\n".join(lines)


def signed(seconds):
    """Return a time as text; it may be negative because of noise."""
    return time(seconds) if seconds >= 0 else f"-{time(-seconds)}"


def traffic(runs):
    """Return a row per case and number of ranks: bytes, calls, and the share of waiting."""
    lines = [header("case", "ranks", "examples each", "bytes", "calls", "waiting")]
    for case in cases(runs):
        for run in runs:
            for batch in run["steps"][case.name]:
                communication = batch["communication"]
                cells = f"{communication['bytes']:,} | {communication['calls']:g} | {communication['waiting']:.0%}"
                lines.append(f"| `{case.name}` | {run['ranks']} | {batch['each']} | {cells} |")
    return "\n".join(lines)


def checks(runs):
    """Return a row per case and number of ranks: distance from one process, and the comparison with a second run."""
    lines = [header("case", "ranks", "from one process", "gloo's", "the same bits again")]
    for case in runs[0]["checks"]:
        for run in runs:
            ours, theirs = [run["checks"][case][name] for name in LIBRARIES]
            cells = f"{ours['worst']:.1g} | {theirs['worst']:.1g} | {reached(ours['repeats'])}"
            lines.append(f"| `{case}` | {run['ranks']} | {cells} |")
    return "\n".join(lines)


# ---------------------------------------------------------------------- the model
def networks(model):
    """Return the table of the networks' parameters."""
    lines = [header("network", "call", "alpha", "1 / beta", "1 / gamma", "where from")]
    for i, (name, n) in enumerate(model["networks"].items()):
        rates = f"{1e-9 / n['beta']:.2f} GB/s | {1e-9 / n['gamma']:.1f} GB/s"
        origin = "assumed" if i else "fitted"
        lines.append(f"| {name} | {time(n['call'])} | {time(n['alpha'])} | {rates} | {origin} |")
    return "\n".join(lines)


def fit(model):
    """Return a sentence on the quality of the fit."""
    ratios = sorted(at["ratio"] for at in model["points"])
    off = sorted(max(r, 1 / r) for r in ratios)
    return (
        f"For the {len(ratios)} figures of the fit, the model is off by a factor of {off[len(off) // 2]:.2f} in the median, "
        f"and of {off[-1]:.2f} at most: because of caches some sizes are faster than a linear model predicts."
    )


def comparison(model):
    """Return a row for each step measured with a core per rank, with the model's time."""
    lines = [header("case", "ranks", "measured", "the model: overlapping", "the model: not")]
    for found in model["steps"]:
        cells = [time(seconds) for seconds in (found["measured"], *found["expected"])]
        lines.append(f"| `{found['case']}` | {found['ranks']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def forecasts(model):
    """Return a table for each network: machines by cases."""
    parts = []
    for network, by_case in model["efficiency"].items():
        lines = [f"With {network}:", "", header("machines", *[f"`{name}`" for name in by_case])]
        for p in forecast.MACHINES:
            lines.append(f"| {p} | {' | '.join(shares(found[p]) for found in by_case.values())} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def shares(both):
    """Return two shares as text, or one if they look the same."""
    return " or ".join(dict.fromkeys(f"{share:.0%}" for share in both))


if __name__ == "__main__":
    write(json.loads((DOCS / f"{NAME}.json").read_text(encoding="utf-8")))
