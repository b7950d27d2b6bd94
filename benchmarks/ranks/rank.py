"""Run the measurements of one rank; mpiexec starts it, and rank 0 writes the figures as JSON.

    mpiexec -n 2 python -m benchmarks.ranks.rank FOLDER                the figures
    mpiexec -n 2 python -m benchmarks.ranks.rank FOLDER --checks       only values that must not change between runs

Both libraries run in the same processes.  MPI numbers them; gloo finds them through a file in FOLDER.
"""

import argparse
import json
import os
import sys
import warnings
from pathlib import Path

from mpi4py import MPI

from . import reductions, steps, turns


def joined(folder, comm):
    """Return minigrad and PyTorch, each with its process group initialised."""
    import torch
    import torch.distributed

    import minigrad

    torch.set_num_threads(1)
    minigrad.set_num_threads(1)
    minigrad.distributed.init_process_group("mpi")
    store = torch.distributed.FileStore(str(Path(folder) / f"gloo-{comm.bcast(os.getpid())}"), comm.size)
    torch.distributed.init_process_group("gloo", store=store, rank=comm.rank, world_size=comm.size)
    return minigrad, torch


def checks(libraries, comm):
    """Return the values that must not change between runs, by case and library."""
    return {case.name: {lib.__name__: steps.check(case, lib, comm) for lib in libraries} for case in steps.CASES}


def figures(libraries, comm, settings):
    """Return all figures for this number of ranks."""
    found = {"ranks": comm.size, "checks": checks(libraries, comm), "add": reductions.seconds_to_add()}
    found["reductions"] = reductions.measured(libraries, comm, settings)
    cases = steps.CASES[:1] if settings.quick else steps.CASES
    found["steps"] = {
        case.name: [steps.measured(case, each, libraries, comm, settings) for each in steps.batches(comm.size)]
        for case in cases
    }
    return found


def main():
    """Measure, and write the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ranks.rank", description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--checks", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    comm = MPI.COMM_WORLD
    libraries = joined(options.folder, comm)
    if options.checks:
        found = {"checks": checks(libraries, comm)}
    else:
        found = figures(libraries, comm, turns.QUICK if options.quick else turns.Settings())
    if comm.rank == 0:
        (Path(options.folder) / "figures.json").write_text(json.dumps(found), encoding="utf-8")
    comm.Barrier()
    for lib in libraries:
        lib.distributed.destroy_process_group()


if __name__ == "__main__":
    sys.exit(main())
