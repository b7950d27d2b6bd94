"""Random programs of transforms under PyTorch and under minigrad; a failure prints a short script.

Any number of them by hand: python -m tests.parity.fuzz transforms --programs 20000
"""

import pytest
import torch

import minigrad

from .random_transforms import found, report, write

PROGRAMS, AT_ONCE = 2000, 50


@pytest.mark.parametrize("start", range(0, PROGRAMS, AT_ONCE))
def test_random_programs_of_transforms_agree_with_torch(start):
    torch.set_num_threads(1)
    failures = []
    for seed in range(start, start + AT_ONCE):
        program = write(seed, torch)
        if found(program, torch, minigrad):
            failures.append(report(seed, program, torch, minigrad))
    if failures:
        pytest.fail("\n".join(failures), pytrace=False)
