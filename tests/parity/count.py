"""Write anew what PyTorch's own tests compare: `python -m tests.parity.count` fills database_counts.json and the documentation.

It runs all checks, and prints those that fail without standing in left_out.py, and those that stand there and pass.
"""

import json
import re
import sys
import time
import warnings
from pathlib import Path

from torch.testing._internal.autograd_function_db import autograd_function_db
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db

from tests.parity import checks_of_modules, checks_of_operations
from tests.parity.databases import COUNTS, left_out, name_of

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
SLOW = 2  # seconds, for a check
OF_FUNCTIONS = ("float64", "gradients", "second_gradients", "jvp", "vmap")
DATABASES = {  # name -> entries that minigrad has, checks, how many entries there are
    "operations": ([e for e in op_db if checks_of_operations.peer(e)], checks_of_operations.CHECKS, len(op_db)),
    "modules": ([e for e in module_db if checks_of_modules.peer(e)], checks_of_modules.CHECKS, len(module_db)),
    "functions": (
        autograd_function_db,
        {check: checks_of_operations.CHECKS[check] for check in OF_FUNCTIONS},
        len(autograd_function_db),
    ),
}


def run(database, said):
    """Return entry -> check -> the number of samples compared."""
    entries, checks, _ = DATABASES[database]
    table = {}
    for entry in entries:
        name = name_of(entry)
        for check, function in checks.items():
            wrong, begun = None, time.perf_counter()
            try:
                n = function(entry)
            except Exception as e:
                n, wrong = 0, e
            if time.perf_counter() - begun > SLOW:
                print(name, check, f"takes {time.perf_counter() - begun:.1f} s", flush=True)
            if (wrong is not None) != ((name, check) in left_out()):
                said(name, check, wrong)
            if n and (name, check) not in left_out():
                table.setdefault(name, {})[check] = n
    return table


def document(counts):
    """Return the table of the documentation."""
    lines = [
        "| database | entries, of PyTorch's | check | compared | samples | left out |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for database, (entries, checks, total) in DATABASES.items():
        known, here = counts[database], {name_of(e) for e in entries}
        for i, check in enumerate(checks):
            numbers = [known[name][check] for name in known if check in known[name]]
            left = len([name for name, c in left_out() if c == check and name in here])
            head = f"{database} | {len(entries)} of {total}" if not i else " | "
            lines.append(f"| {head} | {check.replace('_', ' ')} | {len(numbers)} | {sum(numbers):,} | {left or ''} |")
    return "\n".join([*lines, ""])


def in_page(text, table):
    """Return the page with the new table."""
    return re.sub(r"(?s)(<!-- databases -->\n).*?(<!-- end -->)", lambda m: m[1] + table + m[2], text)


def main():
    warnings.simplefilter("ignore")
    said = lambda *what: print(
        *what[:2], "passes, and is left out" if what[2] is None else repr(what[2])[:300], flush=True
    )
    counts = {database: run(database, said) for database in DATABASES}
    rows = ",\n".join(
        f'"{d}": {{\n' + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in counts[d].items()) + "\n}"
        for d in counts
    )
    COUNTS.write_text("{" + rows + "}\n", encoding="utf-8")
    PAGE.write_text(in_page(PAGE.read_text(encoding="utf-8"), document(counts)), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
