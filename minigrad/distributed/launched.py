"""The program of each process of `distributed.run`: join the others, call the function, and leave the result in a folder.

Rank r writes its output into the folder (r.out), at the end its result (r.result) or its error (r.failed), and after a signal
the place where it is (r.where).
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import MinigradError, error, print_exception
from ..kernels.threads import get_num_threads, set_num_threads
from ..places import users_part
from ..serialization import save
from .failures import ends
from .function_transport import WHO, first, unpacked
from .groups import destroy_process_group, get_rank, get_world_size, init_process_group, is_initialized


class Failure(NamedTuple):
    """The error of a rank: the exception where it can be sent, its traceback, and the places of the other ranks."""

    when: float
    exception: bytes
    words: str
    traceback: str
    others: list[str]


def main(folder: str) -> None:
    """Run as a rank of `distributed.run`."""
    place = Path(folder)
    init_process_group("mpi")
    rank = get_rank()
    (place / f"{rank}.pid").write_text(str(os.getpid()))
    redirect(place / f"{rank}.out")
    where = (place / f"{rank}.where").open("w")
    if hasattr(faulthandler, "register"):
        faulthandler.register(signal.SIGUSR2, where, all_threads=False)  # SIGUSR1 is MPI's
    try:
        set_num_threads(max(1, get_num_threads() // get_world_size()))  # the ranks share the processors
        function, args = unpacked((place / "function").read_bytes())
        write_result(function(*args), place / f"{rank}.result")
        if is_initialized():
            ends.compare_last_calls()
            destroy_process_group()
    except BaseException as e:
        write_failure(e, place / f"{rank}.failed")
        sys.stdout.flush()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # for MPI's message about the abort
        ends.listener.comm.Abort(1)


def redirect(out: Path) -> None:
    """Send the output of this process to a file, also output from C."""
    file = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(file, 1)
    os.dup2(file, 2)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)  # type: ignore[union-attr]


def write_result(result: Any, place: Path) -> None:
    """Write the result of the function.  Raises TypeError where it cannot be sent back."""
    try:
        save(result, place)
    except (pickle.PicklingError, TypeError, AttributeError) as e:
        what = f"rank {get_rank()} returns a {type(result).__name__}, which cannot be sent back: {first(e)}"
        raise error(TypeError, WHO, what, "return tensors, numbers, texts, and lists or dicts of these") from e


def write_failure(e: BaseException, place: Path) -> None:
    """Print an exception as Python does, write it, and then where the other ranks are."""
    when = time.time()  # the first rank that fails is the cause
    tb = e.__traceback__
    e.__traceback__ = (
        users_part(tb) if isinstance(e, MinigradError) else tb and tb.tb_next
    )  # this file is not the user's
    print_exception(type(e), e, e.__traceback__)
    shown = "".join(traceback.format_exception(e)).rstrip()
    failure = Failure(when, sendable(e), f"{type(e).__name__}: {first(e)}", shown, [])
    place.write_bytes(pickle.dumps(failure))
    if others := ends.others():
        written = place.with_suffix(".others")
        written.write_bytes(pickle.dumps(failure._replace(others=others)))
        written.replace(place)


def sendable(e: BaseException) -> bytes:
    """Return an exception as bytes; b"" where it cannot be pickled, or not be made anew."""
    try:
        found = pickle.dumps(e)
        pickle.loads(found)
    except Exception:
        return b""
    return found if isinstance(e, Exception) else b""  # SystemExit would end the caller
