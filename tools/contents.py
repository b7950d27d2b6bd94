"""Writes the operations into the table of contents, minigrad/__init__.py: `make contents`.

The file imports every operation that PyTorch calls `torch.<name>` from its definition, so that editors find it. These imports
follow from the table of operations; tests/test_project.py checks that they match this file's output. The same target then runs
tools/stubs.py, which writes what editors know of the operations.
"""

import sys
from collections import defaultdict
from importlib import import_module
from pathlib import Path
from textwrap import fill
from types import ModuleType

ROOT = Path(__file__).parent.parent
CONTENTS = ROOT / "minigrad" / "__init__.py"
BEGIN = """\
# ---------------------------------------------------------------------- operations: docs/operations.md has the table
# `make contents` writes these imports from the declarations in ops/.
# isort: off
# fmt: off
"""
END = """\
# fmt: on
# isort: on
"""


def section() -> str:
    """Return the imports of the operations, sorted by file, between their marks."""
    for path in sorted((ROOT / "minigrad" / "ops").rglob("[!_]*.py")):
        import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    names, statements = defaultdict(list), []
    for name, entry in sorted(sys.modules["minigrad.ops.base.registry"].TABLE.items()):
        if "." in (entry.torch or name):  # a method, or in a module: Tensor.view, nn.functional.gelu, linalg.solve
            continue
        module, made = entry.module.removeprefix("minigrad"), vars(sys.modules[entry.module])
        if made.get(name) is entry.function:
            names[module].append(name)
        else:  # an alias, which only the table has
            first = next(n for n in made if made[n] is entry.function)
            statements.append(f"from {module} import {first} as {name}\n")
    statements += [statement(module, names[module]) for module in names]
    return BEGIN + "".join(sorted(statements)) + END


def statement(module: str, names: list[str]) -> str:
    """Return the import of these names from a file, in parentheses if it needs several lines."""
    line = f"from {module} import {', '.join(names)}\n"
    if len(line) <= 120:
        return line
    lines = fill(", ".join(names), 119, initial_indent="    ", subsequent_indent="    ")
    return f"from {module} import (\n{lines},\n)\n"


def main() -> None:
    """Rewrite the section."""
    package = ModuleType("minigrad")  # an empty package: a missing name in __init__.py would break its import
    package.__path__ = [str(CONTENTS.parent)]
    sys.modules["minigrad"] = package
    text = CONTENTS.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    CONTENTS.write_text(before + section() + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
