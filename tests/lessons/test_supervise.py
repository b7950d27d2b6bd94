"""The supervisor of a notebook counts the processes and threads that this process starts, and their memory."""

import os
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
