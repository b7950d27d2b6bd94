"""`minigrad doctor`, `minigrad warmup` and `minigrad completion`: looking after the installation."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

from .common import Json


def doctor(*, fix: Annotated[bool, Parameter(negative="", show_default=False)] = False, json: Json = False) -> None:
    """Say what is there for minigrad to run with, and what to do about what is missing.

    Parameters
    ----------
    fix
        First remove compiled kernels that are damaged, and see whether new ones can be compiled.
    json
        Write the findings as JSON: a list of {name, found, advice}, advice being empty where nothing is wrong.
    """
    from ..doctor import as_json, attempt, examine, mend, show

    findings = [*(attempt(mend) if fix else []), *examine()]
    print(as_json(findings)) if json else show(findings)


def warmup(
    *,
    everything: Annotated[bool, Parameter(name=["--all"], negative="", show_default=False)] = False,
    json: Json = False,
) -> None:
    """Compile the common kernels now, for float32 and float64, so that no program has to wait for them.

    Parameters
    ----------
    everything
        Compile the kernels of all operations.
    json
        Say what was done as JSON.
    """
    import json as js
    import time

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    import minigrad  # noqa: F401  its operations are what is compiled
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
    shown = place or "no folder: there is no home, so nothing was kept"
    print(f"{made} kernels compiled, {kept} found, in {seconds:.1f} s; cache: {shown}")


def completion(shell: Literal["bash", "zsh", "fish"], /) -> None:
    """Write the shell's script that completes commands and options.

    Parameters
    ----------
    shell
        As in: minigrad completion bash > ~/.local/share/bash-completion/completions/minigrad
    """
    from ..cli import app

    print(app.generate_completion(shell=shell))
