"""Programs run by several processes, which mpiexec starts."""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
MPIEXEC = shutil.which("mpiexec", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
needs_mpi = pytest.mark.skipif(
    find_spec("mpi4py") is None or MPIEXEC is None, reason="needs mpi4py and mpiexec: pip install '.[mpi]'"
)
BEGIN = """
import minigrad as torch
import minigrad.distributed as dist

dist.init_process_group("mpi")
rank, size = dist.get_rank(), dist.get_world_size()
"""
REFUSED = """
def refused(kind, words, f):
    try:
        f()
    except kind as e:
        assert words in str(e), e
    else:
        raise SystemExit(f"not refused: {words}")


"""
SHARDED = (
    REFUSED
    + """
import copy
from minigrad import func, nn

torch.set_default_dtype(torch.float64)


def gradients(model):  # whole ones, by the names that the model has on one process
    found = {}
    for path, m in model.named_modules():
        prefix = f"{path}.".replace("_fsdp_wrapped_module.", "") if path else ""
        held = m.held_parts() if hasattr(m, "held_parts") else {}
        for name, p in m.named_parameters(recurse=False):
            for part in held.get(name, ()):
                found[prefix + part.name] = part.of(p.grad).full_tensor()
            if name not in held:
                found[prefix + name] = p.grad
    return found


def same_gradients(model, whole):
    found = gradients(model)
    for name, p in whole.named_parameters():
        assert torch.allclose(found[name], p.grad, atol=1e-12), name


"""
)


def run(n, program, timeout=60):
    """Run a program on n processes; return how it ended, and what it wrote."""
    return subprocess.run(
        [MPIEXEC, "-n", str(n), sys.executable, "-c", BEGIN + program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def passes(n, program):
    """Check that a program of assertions ends well on n processes."""
    done = run(n, program)
    assert done.returncode == 0, done.stderr[-3000:]
