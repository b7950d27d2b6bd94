"""`minigrad doctor`, `minigrad warmup` and `minigrad completion`: maintain the installation."""

from __future__ import annotations

import json as js
import time
from dataclasses import asdict
from typing import Annotated, Literal

from cyclopts import Parameter

from .common import Json

# after cyclopts' functions, which complete no file names: a program and an output are files; fish completes them itself
FILES = {
    "bash": "complete -o bashdefault -o default -F _minigrad minigrad\n",
    "zsh": """
_minigrad_or_files() {
  _cyclopts_minigrad "$@"
  (( compstate[nmatches] )) || _files
}
if [[ $funcstack[1] == _minigrad ]]; then _minigrad_or_files "$@"; else compdef _minigrad_or_files minigrad; fi
""",
    "fish": "",
}


def doctor(*, fix: Annotated[bool, Parameter(negative="", show_default=False)] = False, json: Json = False) -> None:
    """Inspect the installation: packages, processor, threads, kernel cache, GPU, fonts; say how to fix each problem.

    Parameters
    ----------
    fix
        First remove damaged kernels, then test that new ones compile.
    json
        Write the findings as a JSON list of {name, found, advice}; advice is empty if nothing is wrong.
    """
    from .doctor import attempt, examine, mend, show

    findings = [*(attempt(mend) if fix else []), *examine()]
    if json:
        print(js.dumps([asdict(one) for one in findings], indent=1, default=str))
    else:
        show(findings)


def warmup(
    *,
    everything: Annotated[bool, Parameter(name=["--all"], negative="", show_default=False)] = False,
    json: Json = False,
) -> None:
    """Compile the common kernels for float32 and float64 now, so that no program waits for them later.

    Parameters
    ----------
    everything
        Compile the kernels of all operations.
    json
        Write the counts and the cache folder as JSON.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    import minigrad  # noqa: F401  defines the operations to compile
    from minigrad.kernels import cache
    from minigrad.warmup import jobs, tally

    start, todo = time.perf_counter(), jobs(everything)
    columns = (TextColumn("{task.description:24}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=json)) as bar:
        task = bar.add_task("", total=len(todo))
        for name, compile_it in todo:
            bar.update(task, description=name)
            compile_it()
            bar.advance(task)
    made, kept = tally()
    seconds, place = time.perf_counter() - start, cache.folder()
    if json:
        print(js.dumps({"compiled": made, "found": kept, "seconds": round(seconds, 3), "cache": place and str(place)}))
        return
    shown = place or "none (no home directory), nothing was saved"
    print(f"{made} kernels compiled, {kept} found, in {seconds:.1f} s; cache: {shown}")


def completion(shell: Literal["bash", "zsh", "fish"], /) -> None:
    """Write the completion script for a shell.

    Parameters
    ----------
    shell
        For bash: minigrad completion bash > ~/.local/share/bash-completion/completions/minigrad
        For zsh, a file _minigrad in a folder of $fpath; for fish, ~/.config/fish/completions/minigrad.fish
    """
    from .app import app

    print(app.generate_completion(shell=shell) + FILES[shell])
