"""Data-parallel training: gradients, unused parameters and buffers beside PyTorch with gloo."""

import json
import subprocess
import sys

import pytest
import torch

import minigrad
from minigrad.utils.data import DistributedSampler
from tests.distributed.ranks import MPIEXEC, ROOT, needs_mpi

PROGRAM = [sys.executable, "-m", "tests.parity.data_parallel_program"]
LIMIT = 300  # seconds


def close(found, expected):
    """Return whether nested lists and dicts have the same numbers, to what float32 rounds."""
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(close(found[k], v) for k, v in expected.items())
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and all(map(close, found, expected))
    return found == pytest.approx(expected, rel=2e-5, abs=5e-6) if isinstance(expected, float) else found == expected


@needs_mpi
@pytest.mark.parametrize("n", [2, pytest.param(3, marks=pytest.mark.nightly)])
def test_ranks_find_what_they_find_in_pytorch(n, tmp_path):
    starts = [[*PROGRAM, "torch", str(tmp_path), str(rank), str(n)] for rank in range(n)]
    starts.append([MPIEXEC, "-n", str(n), *PROGRAM, "minigrad", str(tmp_path)])
    running = [subprocess.Popen(start, cwd=ROOT, stderr=subprocess.PIPE, text=True) for start in starts]
    for process in running:
        _, errors = process.communicate(timeout=LIMIT)
        assert process.returncode == 0, errors[-3000:]
    for rank in range(n):
        found, expected = (
            json.loads((tmp_path / f"{library}_{rank}.json").read_text()) for library in ("minigrad", "torch")
        )
        assert found.keys() == expected.keys()
        differ = {name: (found[name], expected[name]) for name in expected if not close(found[name], expected[name])}
        assert not differ, (rank, differ)


@pytest.mark.parametrize("n", [0, 1, 2, 7, 10, 12])
@pytest.mark.parametrize("processes", [1, 3, 5])
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("shuffle", [False, True])
def test_a_process_takes_pytorchs_share_of_a_dataset(n, processes, drop_last, shuffle, monkeypatch):
    def turned(n, generator, device=None):  # in place of random numbers, which are others
        by = generator.initial_seed() % max(n, 1)
        return torch.tensor([*range(by, n), *range(by)], dtype=torch.int64)

    monkeypatch.setattr(torch, "randperm", turned)
    monkeypatch.setattr("minigrad.utils.data.distributed.randperm", turned)
    if n == 0 and not drop_last:
        return  # PyTorch divides by the number of samples
    for rank in range(processes):
        samplers = [
            kind(range(n), processes, rank, shuffle, 4, drop_last)
            for kind in (DistributedSampler, torch.utils.data.DistributedSampler)
        ]
        for sampler in samplers:
            sampler.set_epoch(3)
        mine, theirs = samplers
        assert (list(mine), len(mine), mine.total_size) == (list(theirs), len(theirs), theirs.total_size)


def test_a_share_of_no_process_is_refused_as_in_pytorch():
    for samplers in (minigrad.utils.data, torch.utils.data):
        with pytest.raises(ValueError, match="Invalid rank 3, rank should be in the interval"):
            samplers.DistributedSampler(range(4), 3, 3)
        with pytest.raises(ValueError, match="process group has not been initialized"):
            samplers.DistributedSampler(range(4))
