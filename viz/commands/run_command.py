"""`minigrad run` and `minigrad port`: a program for PyTorch, run with minigrad in its place, or read for what it needs."""

from __future__ import annotations

import json as js
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ..libraries import sources
from ..ranks.start import start
from ..run_program import Program, Usage
from .common import Json, Target, given

RUN_EXAMPLES = """Examples:

  minigrad run train.py                 train.py, which imports torch, computes with minigrad
  minigrad run train.py --epochs 3      with the program's own options
  minigrad run -n 4 train.py            on 4 processes
  python -m minigrad train.py           the same"""
PORT_EXAMPLES = """Examples:

  minigrad port train.py                what it needs that minigrad does not have, by line
  minigrad port train.py --json         for machines"""

Options = Annotated[str, Parameter(show=False, allow_leading_hyphen=True)]


def run(program: Target, /, *words: Options, n: Annotated[int | None, Parameter(name=["-n"])] = None) -> None:
    """Run a program that imports torch with minigrad in PyTorch's place.

    It ends as the program ends; of an error, the program's own lines are shown.

    Parameters
    ----------
    program
        The file; - reads it from the standard input. Words behind it are the program's own.
    n
        Start this many processes, by mpiexec: the ranks of torch.distributed. It stands before the program.
    """
    if n is not None:
        if program == "-":
            raise Usage(f"-n {n}: only one process can read the standard input: name a file.")
        return start(n, given)
    import minigrad

    made = Program.read(program, words)
    with minigrad.as_torch():
        made.execute()


def port(program: Target, /, *, json: Json = False) -> None:
    """Read a program for PyTorch without running it, and list what it needs that minigrad does not have.

    Modules in its folder that it imports are read as well. Ends with 1 if something is missing.

    Parameters
    ----------
    program
        The file; - reads it from the standard input.
    json
        Write the list as JSON.
    """
    from minigrad.compat.port import needs

    made = Program.read(program)
    folder = Path(program).parent
    found = []
    for name, tree in sources(made.text, folder).items():
        file = made.file if name == "__main__" else str(folder.joinpath(*name.split(".")).with_suffix(".py"))
        found += [(file, need) for need in needs(tree)]
    if json:
        print(js.dumps([{"file": file, **need._asdict()} for file, need in found], indent=1))
    else:
        for file, need in found:
            print(f"{file}:{need.line}: {need}")
        if not found:
            print(f"{made.file}: all that it names is there. Run it with: minigrad run {made.file}")
    if found:
        sys.exit(1)
