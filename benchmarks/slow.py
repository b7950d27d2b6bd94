"""The operations that take longer than PyTorch's, by size, with the reason for each: a section of docs/performance.md.

`python -m benchmarks.operations --docs` measures them.  `REASONS` has each operation once; one without a reason is listed as
open, which means work to do.
"""

import json
import statistics
from pathlib import Path

FILE = Path(__file__).parent.parent / "docs" / "performance_operations.json"
SLOW = 1.2  # times PyTorch's time
OPEN = "open"
REASONS: dict[str, str] = {}


def saved():
    """Return the saved figures for each size, as `summary` makes them."""
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}


def summary(times):
    """Return for each size the number of rows, the median ratio, and the rows above SLOW; keys are "exp forward 1000"."""
    ratios: dict = {}
    for key, (ours, theirs) in times.items():
        row, _, n = key.rpartition(" ")
        ratios.setdefault(n, {})[row] = ours / theirs
    return {
        n: {
            "rows": len(rows),
            "median": statistics.median(rows.values()),
            "slow": {row: r for row, r in sorted(rows.items()) if r > SLOW},
        }
        for n, rows in ratios.items()
    }


def markdown(sizes):
    """Return a folded table for each size, with a line for each reason."""
    return "\n\n".join([table(int(n), sizes[n]) for n in sorted(sizes, key=int)])


def table(n, found):
    """Return the table of one size."""
    slow, lines = found["slow"], []
    reason_of = {name: reason for reason, names in REASONS.items() for name in names.split()}
    for reason in (*REASONS, OPEN):
        mine = [f"{row} {r:.1f}" for row, r in slow.items() if reason_of.get(row.split()[0], OPEN) == reason]
        lines += [f"    | {reason} | {', '.join(mine)} |"] if mine else []
    title = f"{n:,} elements: {len(slow)} of {found['rows']} rows are above {SLOW}; the median is {found['median']:.2f}"
    head = ["", "    | reason | times PyTorch's time |", "    | --- | --- |"] if lines else []
    return "\n".join([f'??? note "{title}"', *head, *lines])
