"""Run a command on several processes, with mpiexec."""

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress

from ..errors import Usage

# variables that mpiexec and srun set for a process
STARTED = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "SLURM_STEP_NUM_TASKS")

INTERRUPTED = 2.0  # seconds in which ranks have to end after Ctrl-C


def start(n: int, words: Sequence[str]) -> None:
    """Run the command `minigrad WORDS` on n processes, without its -n; exit with mpiexec's status unless it is 0."""
    if any(name in os.environ for name in STARTED):
        raise Usage("mpiexec already started this command. Leave out -n.")
    if n < 1:
        raise Usage(f"-n {n} is less than 1. Pass 1 or more.")
    from minigrad.config import install
    from minigrad.distributed.launch import SHIELD, end_all, mpiexec, start_mpiexec

    try:
        program = mpiexec()
    except RuntimeError as missing:
        raise Usage(f"{getattr(missing, 'problem', missing)}. Install it: {install('mpi')}.") from None
    rank = [sys.executable, "-c", f"{SHIELD}from viz.cli import main\nmain()", *without_number(words)]
    process = start_mpiexec([program, "-n", str(n), *rank])
    try:
        code = process.wait()
    except KeyboardInterrupt:
        with suppress(subprocess.TimeoutExpired):  # a terminal interrupts mpiexec as well, which ends the ranks
            process.wait(INTERRUPTED)
        raise
    finally:
        end_all(process, ())
    if code:
        sys.exit(code)


def without_number(words: Sequence[str]) -> list[str]:
    """Return the words of a command without -n and its number; the words after -- belong to the program.

    >>> without_number(["render", "t.py:loss", "-n", "4", "--", "-n", "2"])
    ['render', 't.py:loss', '--', '-n', '2']
    """
    end = words.index("--") if "--" in words else len(words)
    own, rest = list(words[:end]), list(words[end:])
    at = next(i for i, word in enumerate(own) if word.startswith("-n"))
    return own[:at] + own[at + (2 if own[at] == "-n" else 1) :] + rest
