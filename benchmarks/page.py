"""Make the documentation page from the figures: docs/performance.json, docs/performance.md and its pictures.

    python -m benchmarks.page        remake the page and the pictures from docs/performance.json

The prose is in template.md; this module replaces its markers, lines such as <!-- growth -->.
"""

import json
import statistics
from pathlib import Path

from . import slow
from .case import ratio
from .growth import KINDS
from .memory import TARGET as BYTES_A_NODE
from .models import MEDIAN, median
from .peers import CONTESTANTS, RATIOS

DOCS = Path(__file__).parent.parent / "docs"
TEMPLATE = Path(__file__).parent / "template.md"
NAMES = [c.name for c in CONTESTANTS]
DIGITS = 4
RATIO_ROWS = "minigrad / torch", "minigrad.compile / the quicker of torch.compile and jax.jit"
PEAK_RATIOS = ("minigrad", "torch"), ("minigrad.compile", "torch.compile")
THEMES = {
    "small": "Small operations",
    "functions": "Custom Functions",
    "networks": "Training steps",
    "training": "Training loops",
    "models": "Common models",
    "recurrent": "A recurrent network",
    "transforms": "Transforms",
    "pointwise": "Pointwise formulas",
    "rows": "Softmax, layer norm and cross-entropy",
    "recording": "Under a recording",
}
# what the first table of the page tells -> the case that it takes the figures from; models are the median of all
SHORT = {
    "A few operations on small tensors, with backward": "small_backward",
    "A custom Function, forward and backward": "custom_backward",
    "A training step of a small network, by Adam": "digits_adam",
    "A training step of a transformer block": "transformer_step",
    "A training step of a common model, the median of {n}": "models",
    "`func.grad` of a function of three numbers": "func_grad",
    "Gradients for each of 32 samples, `vmap` of `grad`": "per_sample_gradients",
    "A formula on ten million numbers, with gradients": "pointwise",
}
MEASURES = {"copying": "copying the same bytes"}  # yardsticks measured beside the libraries, spelled out


def write(results, docs=DOCS):
    """Write the figures, the page and its pictures to docs/."""
    from . import plots

    save(results, docs / "performance.json")
    (docs / "performance.md").write_text(text(results), encoding="utf-8")
    pictures = docs / "pictures"
    pictures.mkdir(exist_ok=True)
    drawn = [case for case in results["cases"] if case["theme"] != "models"]
    plots.save(plots.ratios(drawn), pictures / "performance-ratios.svg")
    for curve in results["growth"]:
        plots.save(plots.growth(curve), pictures / picture(curve))
    print(f"\nWritten: {docs / 'performance.json'}, the page and its pictures beside it")


def save(results, path):
    """Write the results as JSON, with figures rounded to four digits."""
    Path(path).write_text(json.dumps(rounded(results), indent=1) + "\n", encoding="utf-8")


def rounded(x):
    """Return plain data with every float rounded to DIGITS digits."""
    if isinstance(x, dict):
        return {k: rounded(v) for k, v in x.items()}
    if isinstance(x, list):
        return [rounded(v) for v in x]
    return float(f"{x:.{DIGITS}g}") if isinstance(x, float) else x


def text(results):
    """Return the page: the template with its markers replaced."""
    results = rounded(results)
    page = TEMPLATE.read_text(encoding="utf-8")
    parts = {
        "note": note(results),
        "short": short(results["cases"]),
        "machine": machine(results["machine"]),
        "cases": cases(results["cases"]),
        "operations": slow.markdown(slow.saved()),
        "targets": targets(results["cases"]),
        "growth": growth(results["growth"]),
        "memory": nodes(results["memory"]),
        "peaks": peaks(results["peaks"]),
        "startup": startup(results["startup"]),
    }
    for name, part in parts.items():
        marker = f"<!-- {name} -->\n"
        if marker not in page:
            raise ValueError(f"{TEMPLATE} has no line {marker}")
        page = page.replace(marker, f"{part}\n" if part else "")
    return page.replace("\n\n\n", "\n\n")


# ---------------------------------------------------------------------- the parts
def note(results):
    """Return a comment that names the source of the page, and a warning for a quick run."""
    quick = "\n\n!!! warning\n    A quick run, made to see that everything works: its figures mean nothing.\n"
    return "<!-- made by `make bench` from benchmarks/template.md -->" + (quick if results["quick"] else "")


def machine(m):
    """Return a description of the machine and the versions."""
    packages = ", ".join(f"{name} {version}" for name, version in m["packages"].items() if version)
    settings = "".join(f"; {name}={value}" for name, value in m["settings"].items())
    busy = f" One-minute load before the run: {m['load']}." if m["load"] is not None else ""
    return (
        f"Measured on: {m['processor']}, {m['cores']} cores, of which one is used; {m['system']}; Python {m['python']}, "
        f"{packages}{settings}.{busy} The figures as [JSON](performance.json)."
    )


def short(found):
    """Return the table of what takes how long in words, eager and compiled."""
    lines = [header("", "eager, beside PyTorch", "compiled, beside the quicker of `torch.compile` and `jax.jit`")]
    for text, name in SHORT.items():
        mine = [case for case in found if name in (case["name"], case["theme"])]
        measured = [[r for case in mine if (r := ratio(best(case), *pair)) is not None] for pair in RATIOS]
        if any(measured):
            cells = [in_words(statistics.median(column)) if column else "-" for column in measured]
            lines.append(f"| {text.format(n=len(mine))} | {' | '.join(cells)} |")
    return "\n".join(lines)


def in_words(r):
    """Return what a ratio of times means.

    >>> in_words(0.25), in_words(1.02), in_words(1.5)
    ('4.0 times as quick', 'as quick', 'takes 1.5 times as long')
    """
    if abs(r - 1) < 0.05:
        return "as quick"
    return f"{1 / r:.1f} times as quick" if r < 1 else f"takes {r:.1f} times as long"


def best(case):
    """Return the best times of a case by contestant."""
    return {name: f["best"] for name, f in case["seconds"].items()}


def spoken(case):
    """Return the name of a case in words; on the command line it has underscores."""
    return case["name"].replace("_", " ")


def cases(found):
    """Return for each theme a list of the cases and a table with a column per case."""
    parts = []
    for theme, title in THEMES.items():
        if mine := [case for case in found if case["theme"] == theme]:
            items = [f"- {spoken(case)}: {case['title']}" for case in mine]
            shown = models(mine) if theme == "models" else [*items, "", *table(mine)]
            parts.append("\n".join([f"## {title}", "", *shown, *remarks(mine)]))
    return "\n\n".join(parts)


def models(cases):
    """Return a row for each model, and the median of the ratios."""
    lines = ["One training step each, eager: zero_grad, the loss, backward and the optimizer's step.", ""]
    lines.append(header("model", "minigrad", "torch", "ratio"))
    for case in cases:
        times, (found, *_) = [cell(case, name) for name in ("minigrad", "torch")], ratios(case)
        lines.append(f"| {spoken(case)}: {case['title']} | {' | '.join(times)} | **{found}** |")
    middle = median([best(case) for case in cases])
    return (
        lines if middle is None else [*lines, "", f"The median of the ratios is {middle:.2f}; the target is {MEDIAN}."]
    )


def table(cases):
    """Return the table of times and ratios, with a column per case."""
    lines = [header("", *map(spoken, cases))]
    for name in NAMES:
        if any(name in case["seconds"] or name in case["failures"] for case in cases):
            lines.append(f"| {name} | {' | '.join(cell(case, name) for case in cases)} |")
    for title, column in zip(RATIO_ROWS, zip(*map(ratios, cases))):
        if set(column) != {"-"}:
            lines.append(f"| **{title}** | {' | '.join(f'**{r}**' for r in column)} |")
    return lines


def cell(case, name):
    """Return a time, or a dash for a library that cannot run the case."""
    if name not in case["seconds"]:
        return "failed" if name in case["failures"] else "-"
    return time(case["seconds"][name]["best"])


def ratios(case):
    """Return the ratios of a case as text."""
    found = [ratio(best(case), ours, theirs) for ours, theirs in RATIOS]
    return ["-" if r is None else f"{r:.2f}" for r in found]


def remarks(cases):
    """Return the lines under a table: yardsticks and failures."""
    lines = []
    for case in cases:
        for name, figure in case["seconds"].items():
            if name not in NAMES:
                lines.append(f"{spoken(case)}, {MEASURES.get(name, name)}: {time(figure['best'])}.")
        for name, why in case["failures"].items():
            lines.append(f"{spoken(case)}, {name}: {why}.")
    return ["", *[f"- {line}" for line in lines]] if lines else []


def targets(cases):
    """Return the table of targets and their results."""
    lines = [header("case", "time of", "over", "ratio", "target", "reached")]
    for case in cases:
        for t in case["targets"]:
            found, theirs = t["ratio"], " or ".join(t["theirs"])
            shown = "failed" if found is None else f"{found:.2f}"
            reached = "yes" if found is not None and found <= t["target"] else "**no**"
            lines.append(f"| {spoken(case)} | {t['ours']} | {theirs} | {shown} | {t['target']:g} | {reached} |")
    return "\n".join(lines)


def growth(curves):
    """Return the pictures of the curves."""
    return "\n\n".join(f"![{c['title']}: {KINDS[c['what']].quantity} over size](pictures/{picture(c)})" for c in curves)


def picture(curve):
    """Return the file name of a curve's picture."""
    return f"performance-{KINDS[curve['what']].file}-{curve['case'].replace('_', '-')}.svg"


def nodes(found):
    """Return the table of bytes per node, and the result for the target."""
    if "minigrad" not in found:
        return ""
    reached = "reached" if found["minigrad"] <= BYTES_A_NODE else "**missed**"
    return (
        f"{header('', *found)}\n| bytes per node | {' | '.join(f'{n:,}' for n in found.values())} |\n\n"
        f"The target for minigrad is {BYTES_A_NODE} bytes: {reached}."
    )


def peaks(found):
    """Return the table of peak memory per step, with ratios."""
    names = [n for n in NAMES if any(n in step["bytes"] for step in found)]
    lines = [header("", *names, *[f"{ours} / {theirs}" for ours, theirs in PEAK_RATIOS])]
    for step in found:
        most = step["bytes"]
        cells = [f"{most[n] / 1e6:.0f} MB" if n in most else "-" for n in names]
        ratios = [ratio(most, ours, [theirs]) for ours, theirs in PEAK_RATIOS]
        cells += ["-" if r is None else f"**{r:.2f}**" for r in ratios]
        lines.append(f"| {step['title']} | {' | '.join(cells)} |")
    return "\n".join(lines) if found else ""


def startup(found):
    """Return the table of start-up times."""
    titles = {
        "first_gradient": "Python to the first gradient",
        "cold": "first compiled call, empty caches",
        "from_disk": "first compiled call, from disk",
    }
    names = [n for n in ("python", *NAMES) if any(n in times for times in found.values())]
    lines = [header("", *["Python alone" if n == "python" else n for n in names])]
    for what, times in found.items():
        lines.append(
            f"| {titles[what]} | " + " | ".join(f"{times[n]:.2f} s" if n in times else "-" for n in names) + " |"
        )
    return "\n".join(lines) if found else ""


# ---------------------------------------------------------------------- text
def header(*names):
    """Return the first two lines of a table."""
    return "| " + " | ".join(names) + " |\n|" + " --- |" * len(names)


def time(seconds):
    """Return seconds in a unit that leaves few digits.

    >>> time(1.7e-6), time(0.01234), time(2.5)
    ('1.7 us', '12.3 ms', '2.5 s')
    """
    for unit, size in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size or unit == "us":
            return f"{seconds / size:.{0 if seconds / size >= 99.95 else 1}f} {unit}"
    raise AssertionError


if __name__ == "__main__":
    write(json.loads((DOCS / "performance.json").read_text(encoding="utf-8")))
