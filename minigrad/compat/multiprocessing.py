"""torch.multiprocessing: Python's multiprocessing, and `spawn`. Tensors are copied between processes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing import *  # noqa: F403  Process, Queue, Pool, get_context, ...
from typing import Any

from ..errors import error


def spawn(
    fn: Callable,
    args: tuple = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> Any:
    """Run fn(i, *args) in `nprocs` processes and wait for them; raise RuntimeError if one fails.

    With `join=False`, return the list of processes instead.
    """
    context: Any = multiprocessing.get_context(start_method)
    processes = [context.Process(target=fn, args=(i, *args), daemon=daemon) for i in range(nprocs)]
    for process in processes:
        process.start()
    if not join:
        return processes
    for process in processes:
        process.join()
    failed = [(i, process.exitcode) for i, process in enumerate(processes) if process.exitcode]
    if failed:
        what = f"process {failed[0][0]} of {nprocs} exited with code {failed[0][1]}"
        raise error(RuntimeError, "multiprocessing.spawn", what, "see its traceback above")
    return None


def get_sharing_strategy() -> str:
    """Return "copy": tensors are copied between processes."""
    return "copy"


def set_sharing_strategy(new_strategy: str) -> None:
    """Do nothing: tensors are copied between processes."""
