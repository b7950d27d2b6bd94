"""Run a command with limits for it and all processes that it starts: `python supervise.py SECONDS BYTES CAGE COMMAND ...`.

The command is killed after SECONDS, when its processes together exceed a limit of memory, processes or threads, when this
process ends, or when the parent of this process is gone (standard input ends).  Afterwards all processes that it started are
killed, too.  On Linux these include processes that left its session: when their parents end, they become children of this
one.  The kernel refuses more than TASKS of them at a time, so a program that forks without end leaves others room.  It counts
them in a user namespace, apart from other processes of the user.  For root, which has no such limit, they are in a CAGE: a
control group, or else another user.

The output is a line of JSON: {"code": the command's exit code, negative for a signal, "ended": the reason if this process
killed it, else "", "refused": True if the kernel refused a process, "starved": True if the system killed any process of the
machine meanwhile, since memory ran out}.

The grader runs this file by its path, once for each notebook, so it imports only the standard library.
"""

import ctypes
import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

LINUX = sys.platform.startswith("linux")
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
PROCESSES, THREADS = 200, 2000  # a zombie process counts as a thread
# processes and threads together that the kernel permits: several processes with a thread for each core, and some more
TASKS = 100 + 8 * (os.cpu_count() or 1)
REFUSED = 1000  # refusals after which the command is killed: it does not stop trying
CLONE_NEWUSER, COUNTS_APART = 0x10000000, (5, 14)  # the first version of Linux that counts for each user namespace
CGROUPS = "/sys/fs/cgroup/pids", "/sys/fs/cgroup"  # version 1 and 2
UNUSED, SPREAD = 61184, 4000  # users that no account has
# rights to files, which a process keeps as an unused user: CAP_CHOWN, DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER, FSETID
FILES = range(5)
PR_SET_KEEPCAPS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAPABILITIES_3 = 8, 47, 2, 0x20080522
USUAL = 1 << 30  # additional bytes for Python and minigrad
FILE = 1 << 30  # bytes of the largest file
NICE = 10  # added to the command's priority number, if this process cannot go first
LOOK = 0.1  # seconds between two checks, or more if a check takes long


def supervise(command: list[str], seconds: float, extra: int, cage: str = "") -> dict[str, object]:
    """Run the command; return its exit code, and the reason if it was killed."""
    if LINUX:
        prctl(PR_SET_CHILD_SUBREAPER, 1)
    quiet, before, starved, first = subprocess.DEVNULL, shared(), out_of_memory(), goes_first()
    apart = LINUX and not cage and os.getuid() != 0 and can_count_apart(command)
    limited = (lambda: limit(cage, first, apart)) if os.name == "posix" else None
    process = subprocess.Popen(command, start_new_session=True, stdin=quiet, stdout=quiet, preexec_fn=limited)
    end, ended, look = time.monotonic() + seconds, "", LOOK
    try:
        while process.poll() is None and not ended:
            ended = over(end, seconds, cage)
            if not ended and abandoned(look):
                ended = "since its parent process is gone"
            elif not ended:
                begun = time.monotonic()
                ended = excess(extra, before, lambda: over(end, seconds, cage))
                look = max(LOOK, 5 * (time.monotonic() - begun))  # to look at many large processes takes long
    finally:
        refused = end_cage(cage)
        end_all(process)
    return {"code": process.returncode, "ended": ended, "refused": refused, "starved": out_of_memory() > starved}


def over(end: float, seconds: float, cage: str) -> str:
    """Return the reason if the time is over, or if the kernel has refused many processes; else ""."""
    if time.monotonic() > end:
        return f"after {seconds:g} s"
    if refusals(cage) > REFUSED:
        return f"since it tried to have more than {TASKS} processes and threads"
    return ""


def prctl(option: int, *values: int) -> None:
    """Set an attribute of this process on Linux."""
    ctypes.CDLL(None).prctl(option, *values, *[0] * (4 - len(values)))


def goes_first() -> bool:
    """Let this process run before all others when it has anything to do; return False if the system does not permit it."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    except (AttributeError, OSError):
        return False
    return True


def limit(cage: str, first: bool, apart: bool) -> None:
    """Make the command end with this process, limit its processes and the size of its files, and let others go before it.

    If this process does not go `first` already, the command gets a lower priority.  `apart` counts its processes alone, and
    not with all others of the user, which another command may use up.
    """
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE, FILE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not first:
        os.nice(NICE)
    if not LINUX:
        return
    if cage.startswith("/"):
        Path(cage, "cgroup.procs").write_text("0")  # this process
    elif cage or os.getuid():
        if cage:
            become(int(cage))
        if apart:
            count_apart()
        most = TASKS if apart else tasks_of(os.getuid()) + TASKS
        resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # last, since a change of the user clears it


def count_apart() -> None:
    """Put this process into a new user namespace, as the same user; raise OSError if the system does not permit it."""
    user, group = os.getuid(), os.getgid()
    if ctypes.CDLL(None).unshare(CLONE_NEWUSER):
        raise OSError("no user namespace is permitted")
    for name, text in (("uid_map", f"{user} {user} 1"), ("setgroups", "deny"), ("gid_map", f"{group} {group} 1")):
        Path("/proc/self", name).write_text(text)


def can_count_apart(command: list[str]) -> bool:
    """Return True if Python starts in a user namespace, and inside bubblewrap there if the command is bubblewrap."""
    version = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2]))
    bubblewrap = ["bwrap", "--unshare-all", "--ro-bind", "/", "/"] if command[0] == "bwrap" else []
    trial = [*bubblewrap, sys.executable, "-ISc", ""]
    quiet = subprocess.DEVNULL
    with suppress(OSError, subprocess.SubprocessError):
        ran = subprocess.run(trial, stdin=quiet, stdout=quiet, stderr=quiet, preexec_fn=count_apart, check=False)
        return ran.returncode == 0 and version >= COUNTS_APART
    return False


def new_cage(users: bool = True) -> str:
    """Return a place for root's command in which the kernel counts processes: the path of a control group, or else a user.

    Return "" if the system permits no control group and no user, or without `users` if it permits no control group.
    """
    if not LINUX or os.getuid():
        return ""
    for base in CGROUPS:
        with suppress(OSError):
            place = Path(tempfile.mkdtemp(prefix="minigrad-", dir=base))
            if (place / "pids.max").exists() and (place / "cgroup.procs").exists():  # else an ordinary folder
                (place / "pids.max").write_text(str(TASKS))
                return str(place)
            place.rmdir()
    with suppress(OSError):
        return str(unused_user()) if users else ""
    return ""


def end_cage(cage: str) -> bool:
    """Kill all processes in a cage, none of which can start another; return True if the kernel refused one before."""
    refused = refusals(cage) > 0
    if cage.startswith("/"):
        with suppress(OSError):
            Path(cage, "pids.max").write_text("0")
            for pid in Path(cage, "cgroup.procs").read_text().split():
                with suppress(OSError):
                    os.kill(int(pid), signal.SIGKILL)
    elif cage:
        child = os.fork()
        if child == 0:
            goes_first()
            with suppress(OSError):
                os.setresuid(int(cage), int(cage), int(cage))
                os.kill(-1, signal.SIGKILL)  # all of this user, but not this process
            os._exit(0)
        os.waitpid(child, 0)
    return refused


def refusals(cage: str) -> int:
    """Return the number of processes and threads that the kernel has refused to a control group; 0 for another cage."""
    if cage.startswith("/"):
        with suppress(OSError, IndexError):
            return int(Path(cage, "pids.events").read_text().split()[1])
    return 0


def remove_cage(cage: str) -> None:
    """End all processes in a cage, also if the supervisor is gone, and remove a control group."""
    end = time.monotonic() + 10.0
    end_cage(cage)
    while cage.startswith("/") and os.path.exists(cage) and time.monotonic() < end:
        with suppress(OSError):
            os.rmdir(cage)
            return
        time.sleep(LOOK)
        end_cage(cage)


def unused_user() -> int:
    """Return the number of a user that has no account and no process, so that the kernel counts for it only this command."""
    import pwd

    for i in range(SPREAD):
        number = UNUSED + (os.getpid() + i) % SPREAD
        try:
            pwd.getpwuid(number)
        except KeyError:
            if not tasks_of(number):
                return number
    raise OSError("each user has an account")


def become(user: int) -> None:
    """Make this process, which is root's, one of another user with root's rights to files and no other rights."""
    found = int(Path("/proc/self/status").read_text().partition("CapPrm:")[2].split()[0], 16)
    kept = found & sum(1 << one for one in FILES)
    prctl(PR_SET_KEEPCAPS, 1)
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    header, rights = (ctypes.c_uint32 * 2)(CAPABILITIES_3, 0), (ctypes.c_uint32 * 6)(kept, kept, kept, 0, 0, 0)
    if ctypes.CDLL(None).capset(header, rights):
        raise OSError("the rights to files are lost")
    for one in FILES:
        if kept >> one & 1:
            prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, one)  # they outlast exec


def tasks_of(user: int) -> int:
    """Return the number of threads of all processes of a user."""
    found = 0
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with suppress(OSError):
                status = Path(f"/proc/{entry}/status").read_text(errors="replace")
                if int(status.partition("\nUid:")[2].split()[0]) == user:
                    found += int(status.partition("\nThreads:")[2].split()[0])
    return found


def out_of_memory() -> int:
    """Return the number of processes that the system has killed since its start because memory ran out."""
    with suppress(OSError, IndexError):
        return int(Path("/proc/vmstat").read_text().partition("\noom_kill ")[2].split()[0])
    return 0


def abandoned(seconds: float) -> bool:
    """Wait up to some seconds; return True if the standard input has ended."""
    if os.name != "posix":  # select takes only sockets there
        time.sleep(seconds)
        return False
    ready, _, _ = select.select([sys.stdin], [], [], seconds)
    return bool(ready) and not os.read(sys.stdin.fileno(), 1)


def excess(extra: int, before: int, stop: Callable[[], str] = str) -> str:
    """Return the limit that the processes exceed, or ""; `before` is the size of files in memory at the start.

    While many processes fork, the kernel gives their sizes slowly, so `stop` is asked for a reason to end before each.
    """
    found = dict(descendants()) if LINUX else {}
    alive = [pid for pid, threads in found.items() if threads]
    if len(alive) > PROCESSES:
        return f"with more than {PROCESSES} processes"
    if sum(max(threads, 1) for threads in found.values()) > THREADS:
        return f"with more than {THREADS} threads"
    used = 0
    for pid in alive if extra else ():
        if reason := stop():
            return reason
        used += memory(pid)
        if used > extra + USUAL:
            return f"with more than {extra / 2**30:g} GiB in {len(alive)} processes"
    if extra and shared() - before > extra + USUAL:
        return f"with more than {extra / 2**30:g} GiB in files in memory"
    return ""


def descendants() -> Iterator[tuple[int, int]]:
    """Yield each process that descends from this one, and the number of its threads: 0 if it has ended."""
    children: dict[int, list[tuple[int, int]]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with suppress(OSError):  # the process is gone by now
                state = Path(f"/proc/{entry}/stat").read_text(errors="replace").rpartition(")")[2].split()
                threads = int(state[17])  # a zombie reports 1; with more, only its first thread has ended
                found = int(entry), 0 if state[0] == "Z" and threads <= 1 else threads
                children.setdefault(int(state[1]), []).append(found)
    waiting = [os.getpid()]
    while waiting:
        found_here = children.get(waiting.pop(), [])
        waiting += [pid for pid, _ in found_here]
        yield from found_here


def memory(pid: int) -> int:
    """Return the bytes of memory of a process, with its share of pages that it shares with others.

    If its first thread has ended, read the number from another thread.
    """
    with suppress(OSError):
        for thread in sorted(os.listdir(f"/proc/{pid}/task"), key=int):
            with suppress(OSError, IndexError):
                text = Path(f"/proc/{thread}/smaps_rollup").read_text()
                return 1024 * int(text.partition("\nPss:")[2].split()[0])
    with suppress(OSError):
        return os.sysconf("SC_PAGE_SIZE") * int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return 0


def shared() -> int:
    """Return the bytes of files in memory on the whole machine, since a file need not be mapped by any process."""
    if not LINUX:
        return 0
    return 1024 * int(Path("/proc/meminfo").read_text().partition("\nShmem:")[2].split()[0])


def end_all(process: subprocess.Popen) -> None:
    """Kill the command and all its descendants, repeatedly, since one may start another before it dies."""
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()
    process.wait()
    end = time.monotonic() + 10.0
    while LINUX and time.monotonic() < end and (pids := dict(descendants())):
        for pid in pids:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print(json.dumps(supervise(sys.argv[4:], float(sys.argv[1]), int(sys.argv[2]), sys.argv[3])))
