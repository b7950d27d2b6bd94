"""Compare the small cases with minigrad at another commit and with PyTorch: `make bench-small COMMIT=HEAD~5`.

    python -m benchmarks.compare_commits                compare with HEAD, or with its parent if minigrad/ is unchanged
    python -m benchmarks.compare_commits REV NAME ...   compare with another commit, some cases only
    python -m benchmarks.compare_commits --quick        few rounds, to check that it runs

The cases come from this tree and only the folder minigrad/ from the other commit, so a case here uses only public names.
One process cannot hold two versions of a package.  So each contestant has a separate process, all on one core, and they
take turns through pipes: one measures while the others wait.  "Generic" is minigrad with MINIGRAD_GENERIC=1, which
switches the fast path off.
"""

import argparse
import gc
import importlib.util
import io
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
import zipfile
from contextlib import contextmanager
from pathlib import Path

from . import measure, page, peers
from .case import TOLERANCE, ratio
from .cases import CASES
from .environment import machine, one_thread

ROOT = Path(__file__).parent.parent
BY_NAME = {c.name: c for c in CASES}
named = BY_NAME.__getitem__
SMALL = ("small_forward_untracked", "small_forward", "small_backward", "func_grad", "func_grad_of_grad",
         "custom_combined_apply", "custom_combined_backward", "custom_apply", "custom_backward", "network_step",
         "attention_step")  # fmt: skip
SETTINGS = measure.Settings(
    rounds=150, seconds=0.003
)  # of many short turns, some are undisturbed even on a busy machine
CLOCK = time.process_time  # stops while another process has the core
RATIOS = (("ours", "torch"), ("ours", "before"), ("generic", "generic before"))
HEADS = ("ours/torch", "ours/before", "generic/before")
NAME, COLUMN = 26, 15


# ---------------------------------------------------------------------- the other commit
def git(*args):
    """Run git and return its output."""
    return subprocess.run(["git", *args], cwd=ROOT, check=True, capture_output=True).stdout


def commit_before():
    """Return HEAD if minigrad/ has changed since then, else its parent."""
    return "HEAD" if git("status", "--porcelain", "--", "minigrad") else "HEAD~1"


@contextmanager
def checked_out(revision):
    """Provide a temporary folder that contains minigrad at a revision."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        zipfile.ZipFile(io.BytesIO(git("archive", "--format=zip", revision, "minigrad"))).extractall(folder)
        yield folder


# ---------------------------------------------------------------------- the processes
def work(pipe, library, folder, variables, settings, cases):
    """Run one contestant: receive cases through the pipe, send the results of each, and measure as often as requested.

    `cases` is the module whose function `named` returns the case with a name.
    """
    os.environ.update(variables)
    sys.path.insert(0, folder)
    warnings.simplefilter("ignore")
    while name := pipe.recv():
        try:
            loaded = peers.load(library).__file__
            assert library != "minigrad" or Path(folder) in Path(loaded).parents, f"{loaded} is not in {folder}"
            run = importlib.import_module(cases).named(name).prepare(peers.BY_NAME[library])
            for _ in range(settings.before):
                result = run()
            pipe.send(peers.arrays(result))
        except Exception as e:  # another commit may raise one
            pipe.send(f"{type(e).__name__}: {(str(e).splitlines() or [''])[0]}")
            continue
        calls = measure.repetitions(run, settings.seconds, CLOCK)
        gc.collect()
        gc.freeze()
        while pipe.recv():
            measure.once(run, calls // 4 + 1)  # refills the caches after the turns of the others
            pipe.send(measure.once(run, calls, CLOCK))
        gc.unfreeze()


@contextmanager
def contestants(folder, settings, only=None, cases=__name__):
    """Start the processes, all or `only` some, and provide the pipes to them, by name."""
    generic = {"MINIGRAD_GENERIC": "1"}
    wanted = {
        "ours": ("minigrad", str(ROOT), {}),
        "before": ("minigrad", folder, {}),
        "torch": ("torch", str(ROOT), {}),
        "generic": ("minigrad", str(ROOT), generic),
        "generic before": ("minigrad", folder, generic),
    }
    spawn, pipes, processes = multiprocessing.get_context("spawn"), {}, []
    for name, (library, *rest) in wanted.items():
        if importlib.util.find_spec(library) and (only is None or name in only):
            pipes[name], theirs = spawn.Pipe()
            processes.append(spawn.Process(target=work, args=(theirs, library, *rest, settings, cases), daemon=True))
            processes[-1].start()
            theirs.close()  # so that recv ends when the process does
    yield pipes
    for pipe, process in zip(pipes.values(), processes):
        pipe.send(None)
        process.join()


def measured(name, pipes, settings, tolerance=TOLERANCE):
    """Return the best and median seconds of a case by contestant, and the failures of the others."""
    results, failures, times = {}, {}, {}
    for who, pipe in pipes.items():
        pipe.send(name)
        answer = pipe.recv()
        if isinstance(answer, str):
            failures[who] = answer
            continue
        try:
            measure.agree({**results, who: answer}, tolerance)
            results, times[who] = results or {who: answer}, []
        except ValueError as e:
            failures[who] = str(e)
            pipe.send(False)
    order = list(times)
    for _ in range(settings.rounds if order else 0):
        for who in order:
            pipes[who].send(True)
            times[who].append(pipes[who].recv())
        order.append(order.pop(0))  # no contestant always follows the same one
    for who in order:
        pipes[who].send(False)
    return {who: {"best": min(t), "median": statistics.median(t)} for who, t in times.items()}, failures


@contextmanager
def beside(parser, revision, settings, only=None, cases=__name__):
    """Start the contestants for a command, print the head of the table, and provide the other commit's name and the pipes."""
    try:
        revision = revision or commit_before()
        before = git("log", "-1", "--format=%h %s", revision, "--").decode().strip()
    except subprocess.CalledProcessError as e:
        parser.error(e.stderr.decode().strip())
    print(f"before: {before}\n")
    one_thread()  # for the processes to come
    with checked_out(revision) as folder, contestants(folder, settings, only, cases) as pipes:
        line("", *pipes, *HEADS)
        yield before, pipes


# ---------------------------------------------------------------------- the table
def row(name, pipes, settings, tolerance=TOLERANCE):
    """Measure a case, print its line, and return its figures as plain data."""
    figures, failures = measured(name, pipes, settings, tolerance)
    best = {who: f["best"] for who, f in figures.items()}
    ratios = [ratio(best, ours, (theirs,)) for ours, theirs in RATIOS]
    cells = [page.time(best[who]) if who in best else "-" for who in pipes]
    line(name, *cells, *("-" if r is None else f"{r:.2f}" for r in ratios))
    for who, why in failures.items():
        print(f"{'':{NAME}}  {who} failed: {why}")
    return {"name": name, "seconds": figures, "ratios": dict(zip(HEADS, ratios)), "failures": failures}


def line(name, *cells):
    """Print a line of the table."""
    print(f"{name:{NAME}}" + "".join(f"{cell:>{COLUMN}}" for cell in cells), flush=True)


def main():
    """Measure the requested cases."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.compare_commits",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("revision", nargs="?", metavar="REV", help="the other commit")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"cases, by default {', '.join(SMALL)}")
    parser.add_argument("--quick", action="store_true", help="few rounds: only check that it runs")
    parser.add_argument("--json", metavar="FILE", help="write the figures to FILE")
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in BY_NAME]:
        parser.error(f"unknown case {', '.join(unknown)}; choose from {', '.join(BY_NAME)}")
    settings = measure.QUICK if options.quick else SETTINGS
    with beside(parser, options.revision, settings) as (before, pipes):
        rows = [row(name, pipes, settings) for name in options.names or SMALL]
    if options.json:
        page.save({"machine": machine(), "before": before, "quick": options.quick, "cases": rows}, options.json)
    return any("ours" in row["failures"] for row in rows)


if __name__ == "__main__":
    sys.exit(main())
