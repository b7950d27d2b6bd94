"""The supervisor of a notebook counts the processes and threads that this process starts, and their memory."""

import os
import signal
import subprocess
import sys

import pytest

from lessons import supervise


@pytest.fixture
def of_this_process(monkeypatch):
    """Let the supervisor look at the processes that this one starts from now on."""
    if not supervise.LINUX:
        pytest.skip("processes are found in /proc")
    find, before = supervise.descendants, dict(supervise.descendants())
    monkeypatch.setattr(supervise, "descendants", lambda: (found for found in find() if found[0] not in before))


def test_threads_are_counted(of_this_process, monkeypatch):
    monkeypatch.setattr(supervise, "THREADS", 40)
    assert supervise.excess(0, 0) == ""
    program = "import threading\ne = threading.Event()\n"
    program += "for _ in range(50): threading.Thread(target=e.wait, daemon=True).start()\n"
    process = subprocess.Popen([sys.executable, "-c", program + "print(flush=True); input()"], stdin=-1, stdout=-1)
    with process:
        process.stdout.readline()
        assert supervise.excess(0, 0) == "with more than 40 threads"
        process.stdin.close()


def test_processes_that_have_ended_count_as_threads_alone(of_this_process, monkeypatch):
    monkeypatch.setattr(supervise, "PROCESSES", 5)
    ended = [subprocess.Popen(["true"]) for _ in range(10)]
    for process in ended:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert supervise.excess(0, 0) == ""
    monkeypatch.setattr(supervise, "THREADS", 5)
    assert supervise.excess(0, 0) == "with more than 5 threads"
    assert not any(process.wait() for process in ended)


FIRST_ENDS = """
import ctypes, threading, time
def go_on():
    x = b"1" * (200 << 20)
    print(len(x), flush=True)
    time.sleep(60)
threading.Thread(target=go_on).start()
ctypes.CDLL(None).pthread_exit(None)
"""


def test_a_process_whose_first_thread_has_ended_counts_with_its_memory(of_this_process, monkeypatch):
    with subprocess.Popen([sys.executable, "-c", FIRST_ENDS], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        assert supervise.memory(process.pid) > 200 << 20
        assert dict(supervise.descendants())[process.pid] >= 2
        process.kill()


def test_files_in_memory_are_counted_though_no_process_has_them_mapped(of_this_process, monkeypatch):
    monkeypatch.setattr(supervise, "USUAL", 10 << 30)
    before = supervise.shared()
    assert supervise.excess(1, before) == ""
    monkeypatch.setattr(supervise, "USUAL", 0)
    monkeypatch.setattr(supervise, "memory", lambda pid: 0)
    with open(os.memfd_create("x"), "wb") as file:
        for _ in range(200):
            file.write(bytes(1 << 20))
        assert supervise.excess(100 << 20, before) == "with more than 0.0976562 GiB in files in memory"


# ---------------------------------------------------------------------- the kernel's limit
ROOT = pytest.mark.skipif(not supervise.LINUX or os.getuid() != 0, reason="others have RLIMIT_NPROC")
FORKS = """
import os, signal, sys
made = 0
while made < 60:
    try:
        child = os.fork()
    except OSError:
        break
    if not child:
        signal.pause()
    made += 1
open(sys.argv[1], "w").write(f"{made} {os.getuid()}")
"""
BOMB = "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass\n"


@pytest.fixture(params=["control group", "another user", "a user"])
def cage(request, monkeypatch):
    """Count processes in each way: in a cage of root's, or with the limit of an ordinary user."""
    monkeypatch.setattr(supervise, "TASKS", 20)
    monkeypatch.setattr(supervise, "PROCESSES", 10**6)  # the poll ends nothing here
    monkeypatch.setattr(supervise, "goes_first", lambda: False)  # this process does not change its priority
    root = supervise.LINUX and os.getuid() == 0
    if (request.param == "a user") == root or not supervise.LINUX:
        pytest.skip("for root" if not root else "for other users")
    if request.param == "another user":
        monkeypatch.setattr(supervise, "CGROUPS", ())
    found = supervise.new_cage()
    if request.param == "control group" and not found.startswith("/"):
        pytest.skip("the system permits no control group")
    yield found
    supervise.remove_cage(found)
    assert not found.startswith("/") or not os.path.exists(found)


@pytest.fixture
def input_of_a_parent(monkeypatch, of_this_process):
    """Give the supervisor a standard input that does not end, and the processes from now on: it kills all it has."""
    reading, writing = os.pipe()
    with open(reading) as file, open(writing, "w"):
        monkeypatch.setattr(supervise.sys, "stdin", file)
        yield
    if supervise.LINUX:  # so that processes of other tests do not become children of this one
        supervise.prctl(supervise.PR_SET_CHILD_SUBREAPER, 0)


def test_the_kernel_refuses_processes_beyond_the_limit(tmp_path, cage, input_of_a_parent):
    said = tmp_path / "said"
    found = supervise.supervise([sys.executable, "-c", FORKS, str(said)], 20.0, 0, cage)
    made, user = map(int, said.read_text().split())
    assert found["code"] == 0 and 10 <= made <= 20
    assert found["refused"] == cage.startswith("/") and (user == int(cage) if cage.isdigit() else user == os.getuid())


def test_a_program_that_forks_without_end_costs_its_time_limit_and_leaves_no_process(
    cage, input_of_a_parent, monkeypatch
):
    monkeypatch.setattr(supervise, "REFUSED", 10**12)  # which a fast machine reaches before the time is over
    before = set(dict(supervise.descendants()))
    found = supervise.supervise([sys.executable, "-c", BOMB], 1.0, 0, cage)
    assert found["ended"] == "after 1 s" and set(dict(supervise.descendants())) <= before


@pytest.mark.skipif(not supervise.LINUX or os.getuid() == 0, reason="root's processes are in a cage")
def test_the_processes_of_another_command_of_the_user_do_not_count(tmp_path, cage, input_of_a_parent):
    if not supervise.can_count_apart([sys.executable]):
        pytest.skip("the system permits no user namespace that counts processes")
    said = tmp_path / "said"
    other = subprocess.Popen([sys.executable, "-c", FORKS, str(tmp_path / "other")], start_new_session=True)
    try:
        other.wait()  # its 60 children stay, more than the limit of 20
        found = supervise.supervise([sys.executable, "-c", FORKS, str(said)], 20.0, 0, cage)
    finally:
        os.killpg(other.pid, signal.SIGKILL)
    assert found["code"] == 0 and said.read_text().split()[0] == "19"


def test_an_old_kernel_counts_all_processes_of_the_user(monkeypatch):
    monkeypatch.setattr(supervise, "COUNTS_APART", (10**6, 0))
    assert not supervise.can_count_apart([sys.executable])


def test_a_system_may_permit_no_user_namespace(monkeypatch):
    def refused():
        raise OSError("no user namespace is permitted")

    monkeypatch.setattr(supervise, "count_apart", refused)
    assert not supervise.can_count_apart([sys.executable])


@ROOT
def test_an_unused_user_has_roots_rights_to_files_and_no_others(tmp_path, monkeypatch, input_of_a_parent):
    monkeypatch.setattr(supervise, "CGROUPS", ())
    monkeypatch.setattr(supervise, "goes_first", lambda: False)
    secret, said = tmp_path / "secret", tmp_path / "said"
    secret.write_text("readable")
    secret.chmod(0o600)
    program = "import os, sys\ntry:\n    os.setuid(0)\nexcept OSError as e:\n    failed = type(e).__name__\n"
    program += f"open({str(said)!r}, 'w').write(open({str(secret)!r}).read() + ' ' + failed)"
    assert supervise.supervise([sys.executable, "-c", program], 20.0, 0, supervise.new_cage())["code"] == 0
    assert said.read_text() == "readable PermissionError"


def test_the_system_may_permit_no_cage(monkeypatch, tmp_path):
    """Folders that are no control groups are not taken for some, and removed."""
    monkeypatch.setattr(supervise, "CGROUPS", (str(tmp_path), str(tmp_path / "none")))
    assert supervise.new_cage(users=False) == "" and not list(tmp_path.iterdir())
