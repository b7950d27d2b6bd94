"""Packages written for PyTorch pass the tests that they bring along, with minigrad in PyTorch's place."""

import os
import re
import subprocess
import sys

import pytest

from tests.forked import ROOT

RUN = """
import sys
import minigrad
minigrad.as_torch()
minigrad.manual_seed(0)  # entmax draws examples
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""
ALONE = ["-q", "--noconftest", "-c", os.devnull, "-p", "no:cacheprovider"]  # none of this project's settings

# package, how many tests pass at least, and those left out
PACKAGES = [
    (
        "einops",
        59,
        # it starts a Python without as_torch(); compiled functions create no objects of users' classes
        ["test_einops_threading", "test_torch_compile_with_dynamic_shape", "test_torch_compile_for_functions"],
    ),
    (
        "entmax",
        126,
        ["test_budget_grad_multiple_k"],
    ),  # draws a norm k below 1, of which it has no derivative in PyTorch either
]


@pytest.mark.parametrize(("package", "passing", "left_out"), PACKAGES, ids=[p[0] for p in PACKAGES])
def test_a_packages_own_tests_pass(package, passing, left_out, tmp_path):
    pytest.importorskip(package)
    words = [
        *ALONE,
        f"--rootdir={tmp_path}",
        "--pyargs",
        package,
        "-k",
        " and ".join(f"not {name}" for name in left_out),
    ]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    environment |= {"EINOPS_TEST_BACKENDS": "numpy,torch", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", RUN, *words], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=900
    )
    counts = {what: int(n) for n, what in re.findall(r"(\d+) (\w+)", done.stdout.rstrip().splitlines()[-1])}
    assert done.returncode == 0 and not {"failed", "error", "errors"} & counts.keys(), done.stdout[-4000:]
    assert counts["passed"] >= passing
