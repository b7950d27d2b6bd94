"""All ranks end with an error when ranks differ, wait, end early, fail or are killed."""

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from minigrad.places import raised_at
from tests.distributed.ranks import BEGIN, MPIEXEC, ROOT, needs_mpi, passes, run

SOON = "import minigrad.distributed.waiting as waiting\nwaiting.PATIENCE = 0.3\nx = torch.ones(4)\n"
DIFFER = {
    "name": (
        "dist.all_reduce(x) if rank == 0 else dist.broadcast(x, 0)",
        "call 1 of the group is not the same on all ranks",
        "rank 0 calls all_reduce(float32 (4,), ReduceOp.SUM) at ",
        "rank 1 calls broadcast(float32 (4,), src=0) at ",
    ),
    "shape": (
        "dist.all_reduce(torch.ones(3 + rank))",
        "call 1 of the group",
        "all_reduce(float32 (3,)",
        "all_reduce(float32 (4,)",
    ),
    "dtype of as many bytes": (
        "dist.barrier(); dist.all_reduce(x.int() if rank else x)",
        "call 2 of the group",
        "all_reduce(float32 (4,)",
        "all_reduce(int32 (4,)",
    ),
    "root": ("dist.broadcast(x, rank)", "call 1 of the group", "src=0", "src=1"),
    "between comparisons": (
        "dist.barrier(); dist.barrier(); dist.broadcast(x, 1 - rank)",
        "the ranks of a group make different calls, so none can finish",
        "s in broadcast(float32 (4,), src=0) at ",
        "s in broadcast(float32 (4,), src=1) at ",
    ),
    "between comparisons, which MPI notices": (
        "dist.barrier(); dist.barrier(); dist.broadcast(x.repeat(1 + rank), 1)",
        "broadcast",
        "broadcast(float32 (4,), src=1)",
        "broadcast(float32 (8,), src=1)",
    ),
    "order, found at the 64th": (
        "a, b = (dist.ReduceOp.SUM, dist.ReduceOp.MAX)[:: 1 - 2 * rank]\n"
        "for i in range(70):\n    dist.all_reduce(x, a if i == 50 else b if i == 51 else dist.ReduceOp.MIN)",
        "call 51 of the group",
        "ReduceOp.SUM",
        "ReduceOp.MAX",
    ),
    "at the end": (
        "dist.barrier(); dist.barrier(); dist.all_reduce(x.int() if rank else x)",
        "call 3 of the group",
        "float32 (4,)",
        "int32 (4,)",
    ),
}


@needs_mpi
@pytest.mark.parametrize("how", DIFFER)
def test_calls_that_differ_are_an_error_on_every_rank_that_names_both(how):
    program, *words = DIFFER[how]
    done = run(2, SOON + program)
    assert done.returncode != 0
    for word in words:
        assert done.stderr.count(word) >= (1 if "MPI" in how else 2), (word, done.stderr)
    assert "To fix: let all ranks of the group make the same calls in the same order" in done.stderr


@needs_mpi
def test_in_debug_mode_each_call_is_compared_before_it_is_made():
    program = """
dist.barrier()
dist.barrier()
with torch.debug():
    try:
        dist.all_reduce(x.int() if rank else x)
        raise SystemExit("not noticed")
    except RuntimeError as e:
        assert "call 3 of the group is not the same on all ranks" in str(e), e
        assert x.tolist() == [1.0] * 4
"""
    passes(2, SOON + program, resident=False)


@needs_mpi
def test_a_rank_that_has_ended_is_not_waited_for():
    for program in (
        "if rank:\n    dist.all_reduce(x)",
        "if rank:\n    dist.recv(x, 0)",
        "if rank == 1:\n    dist.recv(x)",
    ):
        done = run(2, SOON + program)
        assert done.returncode != 0
        assert "rank 0 has finished its program, so " in done.stderr, done.stderr


@needs_mpi
def test_what_takes_longer_than_the_timeout_says_where_the_other_ranks_are():
    program = """
import time
from datetime import timedelta

half = dist.new_group([0, 1], timeout=timedelta(seconds=1))
if rank == 0:
    try:
        dist.recv(x, 1, group=half)
    except RuntimeError as e:
        assert "rank 0 has waited 1 s for recv(float32 (4,), src=1)" in str(e), e
        assert "rank 1 has waited" in str(e) and "s in recv(float32 (4,), src=2) at " in str(e), e
        assert "pass a larger timeout=" in str(e)
if rank == 1:
    dist.recv(x, 2)
if rank == 2:
    time.sleep(2.5)
    dist.send(x, 1)
work = dist.all_reduce(x, async_op=True)
if rank:
    time.sleep(1.5)
try:
    work.wait(timedelta(seconds=0.3) if rank == 0 else None)
    assert rank
except RuntimeError as e:
    assert rank == 0 and "rank 1 does not answer" in str(e), e
assert work.wait() and work.is_completed()
"""
    passes(3, SOON + program, resident=False)
    with pytest.raises(AssertionError, match="expected timeout to be a time, got 'soon'"):
        passes(1, "dist.new_group([0], timeout='soon')")


@needs_mpi
def test_an_exception_is_printed_first_and_then_where_the_others_wait():
    program = """
import time
if rank == 1:
    {}['no such key']
if rank == 0:
    dist.all_reduce(x)
time.sleep(30)
"""
    done = run(3, SOON + program, forked=False)
    assert done.returncode != 0
    said = done.stderr
    places = [
        said.index(words)
        for words in (
            "KeyError: 'no such key'",
            "rank 1 of 3 has failed, so all ranks stop",
            "rank 0 has waited",
            "rank 2 does not answer: it is computing, or waiting for something else",
        )
    ]
    assert places == sorted(places)
    assert re.search(r"rank 0 has waited \d+\.\d s in all_reduce\(float32 \(4,\), ReduceOp.SUM\) at <string>", said)


@needs_mpi
def test_an_exception_in_a_worker_of_a_data_loader_ends_all():
    program = """
class Broken(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        if rank == 1 and i == 5:
            raise ValueError("sample 5 is broken")
        return torch.ones(2)

for batch in torch.utils.data.DataLoader(Broken(), batch_size=2, num_workers=1):
    dist.all_reduce(batch)
"""
    done = run(2, SOON + program)
    assert done.returncode != 0 and "sample 5 is broken" in done.stderr
    assert "rank 1 of 2 has failed, so all ranks stop" in done.stderr and "in all_reduce(float32 (2, 2)" in done.stderr


@needs_mpi
def test_ctrl_c_ends_all_ranks_with_a_line_for_each():
    program = (
        BEGIN
        + "import time\nprint(rank, end='', flush=True)\nif rank:\n    dist.barrier()\nwhile True:\n    time.sleep(0.1)"
    )
    ranks = subprocess.Popen(
        [MPIEXEC, "-n", "2", sys.executable, "-c", program],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert ranks.stdout is not None
    assert sorted(ranks.stdout.read(2)) == ["0", "1"]
    time.sleep(0.2)
    ranks.send_signal(signal.SIGINT)
    _, said = ranks.communicate(timeout=30)
    assert "rank 0 was interrupted at <string>" in said and "rank 1 was interrupted at <string>" in said, said
    assert ranks.returncode != 0


@needs_mpi
@pytest.mark.parametrize(
    "option",
    [
        pytest.param([], id="as it is"),
        pytest.param(["-disable-auto-cleanup"], id="left to the ranks", marks=pytest.mark.slow),
    ],
)
def test_a_rank_that_is_killed_ends_all(tmp_path, option):
    program = f"""
import os, signal
open({str(tmp_path)!r} + f"/{{os.getpid()}}", "w").close()
dist.barrier()
if rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
dist.all_reduce(x)
"""
    begun = [MPIEXEC, *option, "-n", "3", sys.executable, "-c", BEGIN + SOON + program]
    assert subprocess.run(begun, cwd=ROOT, capture_output=True, timeout=60).returncode != 0
    left, until = [int(file.name) for file in tmp_path.iterdir()], time.monotonic() + 20
    assert len(left) == 3
    while left and time.monotonic() < until:
        time.sleep(0.05)
        left = [pid for pid in left if Path(f"/proc/{pid}").exists()]
    assert not left


def test_an_interrupt_during_an_import_is_placed_at_the_users_line():
    importing = compile("raise KeyboardInterrupt", "<frozen importlib._bootstrap>", "exec")
    try:
        exec(importing)
    except KeyboardInterrupt as e:
        place = raised_at(e)
    assert place.file == __file__ and place.code == "exec(importing)"
