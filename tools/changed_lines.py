"""Count the lines that a branch adds and removes in each folder: `python -m tools.changed_lines origin/main`.

The workflow of the tests writes this table into its summary, so that a reviewer sees where a change adds weight;
tests/test_weight.py has the ceilings.
"""

import subprocess
import sys
from collections import defaultdict
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parent.parent
DEPTH = 2  # minigrad/core, but not minigrad/ops/base


def folder(path: str) -> str:
    """Return the folder under which a file's lines count; "." for files at the top.

    >>> folder("minigrad/ops/base/registry.py"), folder("viz/cli.py"), folder("README.md")
    ('minigrad/ops', 'viz', '.')
    """
    return str(PurePosixPath(*PurePosixPath(path).parent.parts[:DEPTH]))


def counted(numstat: str) -> dict[str, tuple[int, int]]:
    """Return the lines added and removed in each folder, from the output of `git diff --numstat --no-renames -z`.

    >>> counted("3\\t1\\tviz/cli.py\\0" "2\\t0\\tviz/film.py\\0" "-\\t-\\tdocs/pictures/one.png\\0")
    {'viz': (5, 1)}
    """
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for row in filter(None, numstat.split("\0")):
        added, removed, path = row.split("\t", 2)
        if added != "-":  # a binary file
            found[folder(path)][0] += int(added)
            found[folder(path)][1] += int(removed)
    return {name: (added, removed) for name, (added, removed) in sorted(found.items())}


def table(counts: dict[str, tuple[int, int]]) -> str:
    """Return the counts as a table in Markdown, with the sums in its last row.

    >>> print(table({"viz": (5, 1), "tests/viz": (4, 0)}))
    | folder | added | removed | change |
    | --- | --- | --- | --- |
    | viz | 5 | 1 | +4 |
    | tests/viz | 4 | 0 | +4 |
    | **all** | 9 | 1 | +8 |
    """
    sums = [sum(column) for column in zip(*counts.values())] or [0, 0]
    rows = [*counts.items(), ("**all**", sums)]
    head = "| folder | added | removed | change |\n| --- | --- | --- | --- |"
    return "\n".join([head, *[f"| {name} | {plus} | {minus} | {plus - minus:+d} |" for name, (plus, minus) in rows]])


def main(base: str) -> None:
    """Print the table of the changes since this branch left `base`."""
    command = ["git", "diff", "--numstat", "--no-renames", "-z", f"{base}...HEAD"]
    print(table(counted(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "origin/main")
