"""A process that is killed at any moment of a save leaves the folder with a whole checkpoint."""

import os
import signal
import subprocess
import sys
import time

import pytest

import minigrad as torch
from minigrad.distributed import checkpoint as dcp
from tests.distributed.ranks import BEGIN, MPIEXEC, ROOT, needs_mpi

KILLED_AT_EVERY_STEP = """
import os, signal, sys
import minigrad as torch
import minigrad.distributed.checkpoint as dcp

folder = sys.argv[1]


def state(n):
    return {"w": torch.full((5,), float(n)), "v": torch.full((2, 2), float(n)), "n": n}


def loaded():
    found = state(-1)
    dcp.load(found, checkpoint_id=folder)
    numbers = {found["n"], *found["w"].tolist(), *found["v"].reshape(-1).tolist()}
    assert len(numbers) == 1, found
    return found["n"]


dcp.save(state(0), checkpoint_id=folder)
n, last, new = 0, 0, 0
while True:
    n += 1
    child = os.fork()
    if child == 0:
        left = [n]

        def count(event, args):  # counts the events that change the folder
            if event in ("open", "os.rename", "os.remove", "os.mkdir") and folder in str(args[0]):
                left[0] -= 1
                if not left[0]:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        dcp.save(state(n), checkpoint_id=folder)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    found = loaded()
    assert found in (last, n), (found, last, n)
    new += found == n
    last = found
    if status == 0:
        break
    assert os.WIFSIGNALED(status)
assert found == n and n > 8 and new > 1, (found, n, new)
assert len(os.listdir(folder)) == 3, os.listdir(folder)
print(n)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork, to kill a process in the middle of a save")
def test_a_process_killed_at_any_step_of_a_save_leaves_a_whole_checkpoint(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", KILLED_AT_EVERY_STEP, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-3000:]


SAVES_FOR_EVER = """
import os, sys
import minigrad.distributed.checkpoint as dcp

with open(f"{FOLDER}.{rank}", "w") as file:
    file.write(str(os.getpid()))
n = 0
while True:
    n += 1
    state = {f"t{i}": torch.full((20000,), float(n)) for i in range(8)}
    dcp.save({**state, "n": n}, checkpoint_id=FOLDER)
    if rank == 0:
        print("saved", n, flush=True)
"""


@needs_mpi
@pytest.mark.parametrize("delay", [0.013, 0.047, 0.098])
def test_a_rank_killed_at_any_time_leaves_the_last_checkpoint_whole(tmp_path, delay):
    program = BEGIN + SAVES_FOR_EVER.replace("FOLDER", repr(str(tmp_path / "saved")))
    ranks = subprocess.Popen(
        [MPIEXEC, "-n", "2", sys.executable, "-c", program],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    lines = []
    while not any(line.startswith("saved 3") for line in lines):
        lines.append(ranks.stdout.readline())
        assert lines[-1], ranks.stderr.read()[-3000:]
    time.sleep(delay)
    os.kill(int((tmp_path / "saved.1").read_text()), signal.SIGKILL)
    rest, _ = ranks.communicate(timeout=60)
    assert ranks.returncode != 0
    saved = [
        int(line.split()[1]) for line in [*lines, *rest.splitlines()] if line.startswith("saved ") and line.split()[1:]
    ]
    state = {f"t{i}": torch.zeros(20000) for i in range(8)}
    into = {**state, "n": 0}
    dcp.load(into, checkpoint_id=tmp_path / "saved")
    assert max(saved) <= into["n"] <= max(saved) + 1
    assert all((t == into["n"]).all() for t in state.values())
