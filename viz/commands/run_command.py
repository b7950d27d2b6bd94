"""`minigrad run` runs a PyTorch program on minigrad; `minigrad port` lists what the program needs that minigrad lacks."""

from __future__ import annotations

import json as js
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ..errors import Usage
from ..programs.imported_packages import run_on_import
from ..programs.libraries import file_of, sources, tree_of
from ..programs.run_program import Program
from ..ranks.start import start
from ..text import clean
from .common import Json, Target, given

if TYPE_CHECKING:
    from minigrad.compat.port import Need

RUN_EXAMPLES = """Examples:

  minigrad run train.py                 run a PyTorch program on minigrad
  minigrad run train.py --epochs 3      with the program's own options
  minigrad run -n 4 train.py            on 4 processes
  python -m minigrad train.py           same as minigrad run train.py"""
PORT_EXAMPLES = """Examples:

  minigrad port train.py                list everything that minigrad lacks
  minigrad port train.py --json         for scripts"""

Options = Annotated[str, Parameter(show=False, allow_leading_hyphen=True)]


def run(program: Target, /, *words: Options, n: Annotated[int | None, Parameter(name=["-n"])] = None) -> None:
    """Run a program that imports torch on minigrad instead.

    The exit code is the program's; a traceback shows only the program's own lines.

    Parameters
    ----------
    program
        The file, a Python program or a notebook; - reads it from the standard input. Words after it belong to the program.
    n
        Start this many processes with mpiexec, as the ranks of torch.distributed. Write it before the program.
    """
    if n is not None:
        if program == "-":
            raise Usage(f"-n {n} needs a file: only one process can read the standard input. Name a file.")
        return start(n, given)
    if program.startswith("-") and program != "-":
        raise Usage(f"run has no option {program}. The program's own options come after it: run PROG.py {program}")
    import minigrad

    made = Program.read(program, words)
    with minigrad.as_torch():
        made.execute()


def port(program: Target, /, *, json: Json = False) -> None:
    """Read a PyTorch program without running it, and list everything it uses that minigrad lacks.

    Modules that it imports from its own folder are read as well, and of installed packages that import torch the statements
    that run on import. Exits with 1 if something is missing.

    Parameters
    ----------
    program
        The file, a Python program or a notebook; - reads it from the standard input.
    json
        Write the list as JSON.
    """
    from minigrad.compat.port import PACKAGES, needs

    made = Program.read(program)
    folder = Path(program).parent
    try:
        tree_of(made.text)
    except (SyntaxError, ValueError) as wrong:
        raise Usage(f"{made.file} cannot be read: {wrong}. Correct it first.") from wrong
    trees = sources(made.text, folder)
    packages = run_on_import(trees, folder, PACKAGES)
    own = {made.file if name == "__main__" else file_of(folder, name): tree for name, tree in trees.items()}
    found = []
    for files in (own, *packages.values()):
        found += [(str(path), need) for path, tree in files.items() for need in needs(tree, files.values())]
    if json:
        print(js.dumps([{"file": file, **need._asdict()} for file, need in found], indent=1))
    else:
        for line in by_sentence(found):
            print(clean(line))
        if not found:
            print(f"{made.file}: minigrad has everything that it uses. Run it with: minigrad run {made.file}")
        if packages:
            print(f"Of these packages, only what runs on import was read: {', '.join(sorted(packages))}")
    if found:
        sys.exit(1)


def by_sentence(found: list[tuple[str, Need]]) -> Iterator[str]:
    """Yield the lines of a report that says each sentence once, above the names that it is about and their lines."""
    groups: dict[tuple[str, str], dict[tuple[str, str], list[int]]] = {}
    for file, need in found:
        groups.setdefault((need.what, need.instead), {}).setdefault((file, need.name), []).append(need.line)
    for (what, instead), names in groups.items():
        for (file, name), lines in names.items():
            more = f" (and line{'s' * (len(lines) > 2)} {', '.join(map(str, lines[1:]))})" * (len(lines) > 1)
            yield f"{file}:{lines[0]}: {name}{more}"
        yield f"    {what}"
        yield f"    Instead: {instead}"
