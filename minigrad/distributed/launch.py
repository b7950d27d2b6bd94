"""`run`: call a function in several processes, from a program or from a notebook's cell.

The function goes to the ranks in a folder, as function_transport.py writes it, and there they leave their results
(launched.py).  This module starts mpiexec, watches its processes, and ends all of them when one fails.
"""

from __future__ import annotations

import ctypes
import html
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

from .. import config
from ..errors import error
from ..places import PACKAGE, Place
from ..serialization import load
from .function_transport import WHO, packed
from .groups import INSTALL, is_available, seconds
from .launched import Failure
from .waiting import ended

GRACE, FAILED = 10.0, 0.5  # seconds for the other ranks to report, after one dies, or fails with an exception
LOOK, STACKS = 0.02, 1.0  # seconds between two checks, and for the ranks to write where they are
SHOWN = 30  # lines of each rank's output, below an error
# environment variables by which MPI recognises its ranks
LAUNCHERS = ("PMI_", "PMIX_", "OMPI_", "PRTE_", "HYDRA_", "MPI_LOCAL", "SLURM_")
# Open MPI refuses root, and more ranks than processors
OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
# mpiexec ends all ranks as soon as it sees one killed.  With this text before a rank's program it sees the rank's parent
# instead, which waits until the other ranks have found out.
SHIELD = f"""
def shield():
    import os, signal, sys, time
    if hasattr(os, 'fork') and (rank := os.fork()):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the rank gets it as well, and ends
        _, status = os.waitpid(rank, 0)
        if os.WIFSIGNALED(status):
            how = signal.strsignal(os.WTERMSIG(status))
            print(f'process {{rank}} has died ({{how}}), the others end within {2 * GRACE:g} s', file=sys.stderr, flush=True)
            time.sleep({2 * GRACE})
        os._exit(os.waitstatus_to_exitcode(status) & 255)
shield(); del shield
"""


@dataclass(frozen=True, repr=False)
class Ranks(Sequence):
    """The results of the ranks of `run`, `ranks[0]` and so on, with their output; a notebook shows both, line by line.

    `viz.draw_ranks` sets `drawing`, the picture of the computation of all ranks.

    >>> from minigrad.distributed import Ranks
    >>> Ranks([6.0, None], ["a line\\n", "another\\n"])
    [0] a line
    [0] returns 6.0
    [1] another
    """

    results: list[Any]
    outputs: list[str]
    drawing: Any = None

    @overload
    def __getitem__(self, rank: int) -> Any: ...
    @overload
    def __getitem__(self, rank: slice) -> Sequence[Any]: ...
    def __getitem__(self, rank: int | slice) -> Any:
        return self.results[rank]

    def __len__(self) -> int:
        return len(self.results)

    def lines(self) -> list[tuple[int, str]]:
        """Return the lines that each rank prints and returns, each with the rank's number."""
        found = []
        for rank, (result, text) in enumerate(zip(self.results, self.outputs)):
            returned = [] if result is None else f"returns {result!r}".splitlines()
            found += [(rank, line) for line in [*text.splitlines(), *returned]]
        return found

    def __repr__(self) -> str:
        return "\n".join(f"[{rank}] {line}" for rank, line in self.lines())

    def _repr_html_(self) -> str:
        hues = [f"color:hsl({(210 + 137 * rank) % 360} 55% 45%)" for rank in range(len(self))]
        lines = [f"<b style='{hues[rank]}'>[{rank}]</b> {html.escape(line)}" for rank, line in self.lines()]
        picture = "" if self.drawing is None else f"<div style='overflow-x:auto'>{self.drawing.svg()}</div>"
        return f"<pre>{'<br>'.join(lines)}</pre>{picture}"


def run(function: Callable[..., Any], n: int = 2, *args: Any, timeout: Any = None) -> Ranks:
    """Call a function in n processes, which mpiexec starts on this computer, and return what each returns and prints.

    Each process is a rank of an initialised process group.  The function may be defined in a notebook's cell: a copy of
    it goes to the ranks, with copies of the functions, classes, modules and values that it refers to.  Results come
    back as copies, too, without a graph.  `viz.draw_ranks` draws the computation of all ranks as well.

    Raises what a rank raises, with its traceback and where the other ranks were; TimeoutError, with where each rank was,
    when all takes longer than `timeout`, a timedelta or seconds; TypeError for a function, an argument or a result that
    cannot be sent, such as a lock; RuntimeError without mpi4py and mpiexec, or if a process ends without a result or an
    error.  No process is left behind, whatever happens, including Ctrl-C.

    >>> import minigrad.distributed as dist
    >>> def summed(x):
    ...     dist.all_reduce(x)
    ...     return x.item()
    >>> dist.run(summed, 2, minigrad.tensor(3.0))  # doctest: +SKIP
    [0] returns 6.0
    [1] returns 6.0
    """
    if not isinstance(n, int) or isinstance(n, bool) or n < 1:
        raise error(ValueError, WHO, f"expected n to be a number of processes, got {n!r}", "write n=2")
    limit = seconds(timeout, WHO, float("inf"))
    command = [mpiexec(), "-n", str(n), sys.executable, "-c"]
    content = packed(function, args)
    with tempfile.TemporaryDirectory(prefix="minigrad-ranks-") as name:
        folder = Path(name)
        (folder / "function").write_bytes(content)
        dead = watch([*command, program(name)], folder, n, limit)
        return collect_results(folder, n, dead, limit)


def program(folder: str) -> str:
    """Return the text that each process runs, which leaves no names in `__main__`."""
    before = "__import__('minigrad').as_torch(); " if config.library_name == "torch" else ""
    return f"{SHIELD}{before}__import__('minigrad.distributed.launched', fromlist=['main']).main({folder!r})"


# ---------------------------------------------------------------------- the processes
def mpiexec() -> str:
    """Return the mpiexec in this Python's folder, or the first on the path.  Raises RuntimeError if there is no MPI."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    found = shutil.which("mpiexec", path=path)
    if not is_available() or found is None:
        what = "mpi4py is not installed" if found else "there is no mpiexec"
        raise error(RuntimeError, WHO, what, INSTALL.partition(", and")[0])
    return found


def watch(command: list[str], folder: Path, n: int, limit: float) -> list[int] | None:
    """Run mpiexec until all ranks are done or one fails; return the ranks that have died, or None if it takes too long.

    No process is left behind.  Before the ranks are ended, they write their stacks.
    """
    environment = {k: v for k, v in os.environ.items() if not k.startswith(LAUNCHERS)} | OPEN_MPI
    end, last = time.monotonic() + limit, float("inf")
    with (folder / "mpiexec.out").open("wb") as out:
        process = start_mpiexec(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that Ctrl-C interrupts this process alone, which ends the others
        )
        try:
            while process.poll() is None and time.monotonic() < min(end, last):
                time.sleep(LOOK)
                last = min(last, time.monotonic() + seconds_left(folder, n))
            if process.poll() is None:
                write_stacks(folder, n)
            return None if process.poll() is None and end < last else ended_without_report(folder, n)
        finally:
            end_all(process, pids(folder, n).values())


def start_mpiexec(command: list[str], **how: Any) -> subprocess.Popen:
    """Start mpiexec; on Linux it ends with this process, however that ends."""
    return subprocess.Popen(command, preexec_fn=end_with_parent() if sys.platform == "linux" else None, **how)


def end_with_parent() -> Callable[[], None]:
    """Return a function after which, on Linux, the process that calls it ends with its parent."""
    prctl, kill, set_signal = ctypes.CDLL(None).prctl, signal.SIGTERM, 1
    return lambda: prctl(set_signal, kill, 0, 0, 0)


def pids(folder: Path, n: int) -> dict[int, int]:
    """Return the processes of the ranks that have begun."""
    found = {}
    for rank in range(n):
        with suppress(OSError, ValueError):
            found[rank] = int((folder / f"{rank}.pid").read_text())
    return found


def seconds_left(folder: Path, n: int) -> float:
    """Return the seconds that the ranks have left: no limit, unless one has died or failed."""
    if any(ended(pid) and (folder / f"{rank}.failed").exists() for rank, pid in pids(folder, n).items()):
        return FAILED
    return GRACE if ended_without_report(folder, n) else float("inf")


def ended_without_report(folder: Path, n: int) -> list[int]:
    """Return the ranks that have ended without a result or an error."""
    words = ("result", "failed")
    return [
        rank
        for rank, pid in pids(folder, n).items()
        if ended(pid) and not any((folder / f"{rank}.{word}").exists() for word in words)
    ]


def write_stacks(folder: Path, n: int) -> None:
    """Let each rank write its stack to a file, and wait for the files."""
    alive = {rank: pid for rank, pid in pids(folder, n).items() if not ended(pid)}
    for pid in alive.values():
        with suppress(OSError):
            os.kill(pid, signal.SIGUSR2)
    until = time.monotonic() + STACKS
    while time.monotonic() < until and not all(text(folder / f"{rank}.where") for rank in alive):
        time.sleep(LOOK)


def end_all(process: subprocess.Popen, ranks: Sequence[int] | Any) -> None:
    """End mpiexec, which ends its processes, and then those that are left, with their children."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(2.0)
    process.kill()
    process.wait()
    for pid in ranks:
        with suppress(OSError):
            os.killpg(pid, signal.SIGKILL)
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)


# ---------------------------------------------------------------------- the results
def collect_results(folder: Path, n: int, dead: list[int] | None, limit: float) -> Ranks:
    """Return the results in the folder.  Raises the exception of a rank, or an error for ranks that leave neither."""
    outputs = [text(folder / f"{rank}.out") for rank in range(n)]
    failures = {r: pickle.loads(f.read_bytes()) for r in range(n) if (f := folder / f"{r}.failed").exists()}
    for rank, failure in failures.items():
        outputs[rank] = outputs[rank].replace(failure.traceback, "")  # the first one stands above the outputs
    if failures:
        rank = min(failures, key=lambda rank: failures[rank].when)
        raise raised(rank, n, failures[rank], outputs)
    missing = [rank for rank in range(n) if not (folder / f"{rank}.result").exists()]
    where = [f"rank {r} {place(text(folder / f'{r}.where'))}" for r in missing if r not in (dead or ())]
    if missing and dead is None:
        notes = [*where, *last_lines(outputs)]
        raise error(TimeoutError, WHO, f"took more than {limit:g} s", "pass a larger timeout=", notes=notes)
    if missing:
        what = f"rank {' and '.join(map(str, dead or missing))} of {n} ended without a result or an error, as after kill -9"
        notes = [*where, *last_lines(outputs), *text(folder / "mpiexec.out").splitlines()[-SHOWN:]]
        raise error(RuntimeError, WHO, what, "look at its last lines of output", notes=notes)
    return Ranks([load(folder / f"{rank}.result", weights_only=False) for rank in range(n)], outputs)


def text(file: Path) -> str:
    """Return the text of a file, or "" if it does not exist."""
    return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""


def place(stack: str) -> str:
    """Describe where a rank is, given its calls, one per line, the innermost first."""
    calls = re.findall(r'^  File "(.+)", line (\d+) in (.+)$', stack, re.MULTILINE)
    users = [
        f"is in {f} at {Place(file, int(line))}" for file, line, f in calls if not file.startswith((PACKAGE, "<str"))
    ]
    return users[0] if users else "has not begun" if not calls else "is in minigrad"


def raised(rank: int, n: int, failure: Failure, outputs: list[str]) -> Exception:
    """Return the exception of a rank, with its traceback, the places of the other ranks, and the output of all."""
    try:
        e = pickle.loads(failure.exception)
    except Exception:  # this process does not have its class
        e = error(RuntimeError, WHO, failure.words, "look at the traceback of the rank")
    e.add_note("\n  ".join([f"\non rank {rank} of {n}:", *failure.traceback.splitlines()]))
    e.add_note("\n".join([*failure.others, *last_lines(outputs)]))
    return e


def last_lines(outputs: list[str]) -> list[str]:
    """Return the last lines of each rank's output."""
    return [f"[{rank}] {line}" for rank, out in enumerate(outputs) for line in out.rstrip().splitlines()[-SHOWN:]]
