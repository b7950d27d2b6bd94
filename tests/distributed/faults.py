"""Faults at random moments of training on several ranks: `python -m tests.distributed.faults --times 20`.

A rank is killed, the data of one rank is broken, Ctrl-C is typed: all ranks end, no process is left, and the checkpoint of the
last step that was saved is whole.  Prints how often each was tried, and how long the end took.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from tests.distributed.ranks import BEGIN, MPIEXEC, ROOT

TRAINING = """
import os, sys
from pathlib import Path
import minigrad.distributed.waiting as waiting

waiting.PATIENCE = 0.3
folder, broken = Path(sys.argv[1]), sys.argv[2]
(folder / f"pid{rank}").write_text(str(os.getpid()))

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, i):
        if broken == "data" and rank == 1 and (folder / "now").exists():
            raise ValueError("this sample is broken")
        return torch.ones(1000)

step, weight = 0, torch.zeros(1000)
for batch in torch.utils.data.DataLoader(Data(), batch_size=2, num_workers=1 if broken == "data" else 0):
    gradient = batch.mean(0)
    dist.all_reduce(gradient)
    weight += gradient
    step += 1
    if rank == 0:
        torch.save({"step": step, "weight": weight}, folder / "checkpoint")
        if step == 3:
            (folder / "trains").write_text("")
"""
FAULTS = ("killed", "data", "interrupted")


def gone(pids: list[int], seconds: float) -> bool:
    """Return True if all processes end within `seconds`."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if not any(Path(f"/proc/{pid}").exists() for pid in pids):
            return True
        time.sleep(0.02)
    return False


def try_fault(fault: str, ranks: int, moment: float) -> float:
    """Train, let something happen after some seconds, and check what is left; return how long the end took."""
    import minigrad

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        begun = subprocess.Popen(
            [MPIEXEC, "-n", str(ranks), sys.executable, "-c", BEGIN + TRAINING, name, fault],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        while not (folder / "trains").exists():
            assert begun.poll() is None, begun.communicate()[0]
            time.sleep(0.01)
        time.sleep(moment)
        pids = [int((folder / f"pid{rank}").read_text()) for rank in range(ranks)]
        since = time.monotonic()
        if fault == "killed":
            os.kill(random.choice(pids), signal.SIGKILL)
        elif fault == "data":
            (folder / "now").write_text("")
        else:
            os.killpg(begun.pid, signal.SIGINT)
        said = begun.communicate(timeout=60)[0]
        took = time.monotonic() - since
        assert begun.returncode != 0 and gone(pids, 20), said
        assert (
            fault != "data"
            or "this sample is broken" in said
            and f"rank 1 of {ranks} has failed, so all ranks stop" in said
        ), said
        assert fault != "interrupted" or "was interrupted at" in said, said
        state = minigrad.load(folder / "checkpoint")
        assert state["step"] >= 3 and (state["weight"] == state["step"] * ranks).all(), state
        return took


def main() -> None:
    """Try each fault `--times` times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--ranks", type=int, default=3)
    given = parser.parse_args()
    for fault in FAULTS:
        took = [try_fault(fault, given.ranks, random.uniform(0, 1)) for _ in range(given.times)]
        times = f"the end took {median(took):.2f} s, at most {max(took):.2f} s"
        print(f"{fault}: {given.times} times on {given.ranks} ranks; {times}", flush=True)


if __name__ == "__main__":
    main()
