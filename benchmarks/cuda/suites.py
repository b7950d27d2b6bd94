"""The test suites on the GPU, one after the other, in separate processes: a failure hides nothing of the rest.

Also a plugin of pytest, `-p benchmarks.cuda.suites`, that writes each failure to the file MINIGRAD_CUDA_FAILURES as it
happens: a line of JSON with the test and the last lines of its error.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec

SUITES = ("tests/kernels/cuda", "tests/spec", "tests/core", "tests/autograd", "tests/func", "tests/optim", "tests/record",
          "tests/compile", "tests/nn", "tests/ops")  # fmt: skip
FAILURES = "MINIGRAD_CUDA_FAILURES"


def pytest_runtest_logreport(report):
    """Write a failure, in the process that collects the reports."""
    if report.failed and FAILURES in os.environ and "PYTEST_XDIST_WORKER" not in os.environ:
        found = {"test": report.nodeid, "when": report.when, "error": report.longreprtext[-3000:]}
        with open(os.environ[FAILURES], "a") as file:
            file.write(json.dumps(found) + "\n")


def run(suites, seconds, save, device="cuda"):
    """Run suites until the time is over; return for each the counts of its outcomes, its failures and seconds."""
    found, end = {}, time.monotonic() + seconds
    for suite in suites:
        left = end - time.monotonic()
        found[suite] = one(suite, left, device) if left > 5 else {"error": "no time was left"}
        shown = {k: v for k, v in found[suite].items() if k != "failures"}
        print(suite, shown, [f["test"].removeprefix(suite) for f in found[suite].get("failures", ())][:10], flush=True)
        save(found)
    return found


def one(suite, seconds, device):
    """Run one suite with its tensors on a device, on all cores if pytest-xdist is installed."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider", "--tb", "short"]
    command += ["-p", "benchmarks.cuda.suites", *(["--device", device] if device != "cpu" else []), suite]
    if find_spec("xdist") and (os.cpu_count() or 1) > 2:
        command += ["-n", str(min(os.cpu_count() or 1, 16)), "--dist", "worksteal"]
    with tempfile.TemporaryDirectory() as folder:
        failures, output = pathlib.Path(folder, "failures"), pathlib.Path(folder, "output")
        ours = {k: v for k, v in os.environ.items() if k != "NUMBA_ENABLE_CUDASIM" and not k.startswith("PYTEST_XDIST")}
        real = {**ours, FAILURES: str(failures)}
        begin = time.monotonic()
        with output.open("w") as file:
            running = subprocess.Popen(command, env=real, stdout=file, stderr=subprocess.STDOUT, start_new_session=True)
            try:
                status = running.wait(seconds)
            except subprocess.TimeoutExpired:
                os.killpg(running.pid, 9)
                running.wait()
                status = "the time was over"
        text = output.read_text()
        counts = {
            word: int(n)
            for n, word in re.findall(r"(\d+) (passed|failed|skipped|errors?)", text.rstrip().rpartition("\n")[2])
        }
        lines = failures.read_text().splitlines() if failures.exists() else []
        found = {
            "status": status,
            **counts,
            "seconds": round(time.monotonic() - begin),
            "failures": [*map(json.loads, lines)],
        }
        return found if counts else {**found, "output": text[-2000:]}
