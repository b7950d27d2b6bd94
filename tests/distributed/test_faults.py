"""Each fault of faults.py, once: `python -m tests.distributed.faults --times 20` tries them at random moments."""

import pytest

from tests.distributed.faults import FAULTS, try_fault
from tests.distributed.ranks import needs_mpi


@needs_mpi
@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_after_a_fault_all_ranks_end_and_the_last_checkpoint_is_whole(fault):
    assert try_fault(fault, 2, 0.2) < 60
