"""Programs run by several processes, which mpiexec starts."""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.distributed import forked as forked_ranks
from tests.distributed import resident as residents

ROOT = Path(__file__).parent.parent.parent
MPIEXEC = shutil.which("mpiexec", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
needs_mpi = pytest.mark.skipif(
    find_spec("mpi4py") is None or MPIEXEC is None, reason="needs mpi4py and mpiexec: pip install '.[mpi]'"
)
TWO_OR_MORE = [2, pytest.param(3, marks=pytest.mark.slow), pytest.param(4, marks=pytest.mark.slow)]
BEGIN = """
import minigrad as torch
import minigrad.distributed as dist

dist.init_process_group("mpi")
rank, size = dist.get_rank(), dist.get_world_size()
"""


def run(n, program, timeout=300, forked=True):
    """Run a program on n processes; return how it ended, and what it wrote.  `forked` spares them the imports."""
    words = forked_ranks.command(BEGIN + program) if forked else [sys.executable, "-c", BEGIN + program]
    return subprocess.run([MPIEXEC, "-n", str(n), *words], cwd=ROOT, capture_output=True, text=True, timeout=timeout)


def passes(n, program, resident=True):
    """Check that a program of assertions ends well on n ranks, which stay for the next program if `resident`."""
    if resident:
        failures = residents.run(MPIEXEC, n, BEGIN + program)
    else:
        done = run(n, program)
        failures = [done.stderr[-3000:]] if done.returncode else []
    assert not failures, "\n".join(failures)
