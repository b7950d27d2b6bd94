"""Ranks that are forked end as those that mpiexec starts, and leave nothing to the next program."""

import os
import signal

import pytest

from tests.distributed.forked import POSSIBLE, command
from tests.distributed.ranks import needs_mpi, passes, run

pytestmark = [needs_mpi, pytest.mark.skipif(not POSSIBLE, reason="needs pidfd_open")]


def test_the_exit_code_and_the_output_are_those_of_the_program():
    done = run(2, "import sys; print('to', rank); print('err', rank, file=sys.stderr); raise SystemExit(3)")
    assert done.returncode == 3 and sorted(done.stdout.splitlines()) == ["to 0", "to 1"]
    assert sorted(done.stderr.splitlines()) == ["err 0", "err 1"]


def test_a_rank_that_is_killed_is_killed_for_mpiexec_too(tmp_path):
    program = f"""
import os, time
open({str(tmp_path)!r} + f"/{{os.getpid()}}", "w").close()
dist.barrier()
if rank == 1:
    os.kill(os.getpid(), {int(signal.SIGKILL)})
time.sleep(60)
"""
    assert run(2, program, timeout=30).returncode == signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == 2
    passes(1, "pass", resident=False)  # the server has collected the processes by then
    assert not [file.name for file in tmp_path.iterdir() if os.path.exists(f"/proc/{file.name}")]


def test_a_program_finds_nothing_of_the_one_before():
    program = """
import os
assert not hasattr(torch, "left") and "LEFT" not in os.environ and dist.group.WORLD.calls == 0
dist.barrier()
torch.left = os.environ["LEFT"] = "here"
torch.set_default_dtype(torch.float64)
assert torch.ones(1).dtype is torch.float64
"""
    for _ in range(2):
        passes(2, "assert torch.ones(1).dtype is torch.float32" + program, resident=False)


def test_variables_that_are_read_at_the_start_have_a_server_of_their_own(monkeypatch):
    before = command("")
    monkeypatch.setenv("NUMBA_ENABLE_CUDASIM", "1")
    assert command("")[4] != before[4] and command("")[4] == command("")[4]
    passes(1, "import numba.cuda; assert torch.ones(1, device='cuda').is_cuda", resident=False)
