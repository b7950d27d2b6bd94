"""The small cases run beside those of another commit, and who cannot do one is shown as failed."""

import json
import shutil
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from benchmarks import compare_commits, measure


@pytest.mark.slow
def test_it_runs_beside_the_last_commit(tmp_path):
    if shutil.which("git") is None or not (compare_commits.ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    wanted = ["small_backward", "custom_apply"]
    command = [
        sys.executable,
        "-m",
        "benchmarks.compare_commits",
        "HEAD",
        *wanted,
        "--quick",
        "--json",
        tmp_path / "figures",
    ]
    run = subprocess.run(command, cwd=compare_commits.ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split("\n")[2].split()[-3:] == list(compare_commits.HEADS)
    figures = json.loads((tmp_path / "figures").read_text(encoding="utf-8"))
    assert [case["name"] for case in figures["cases"]] == wanted
    others = {"torch"} if find_spec("torch") else set()
    for case in figures["cases"]:
        assert not case["failures"]
        assert set(case["seconds"]) == {"ours", "before", "generic", "generic before", *others}
        assert all(ratio is not None for head, ratio in case["ratios"].items() if others or head != "ours/torch")


class Said:
    """A pipe to a process that answers a case with this, and each round with a second."""

    def __init__(self, answer):
        self.answer, self.sent = answer, []

    def send(self, message):
        self.sent.append(message)

    def recv(self):
        return 1.0 if self.sent[-1] is True else self.answer


def test_a_contestant_that_fails_or_computes_something_else_is_not_timed():
    pipes = {"ours": Said([np.ones(2)]), "before": Said("AttributeError: no"), "generic before": Said([np.zeros(2)])}
    figures, failures = compare_commits.measured("a case", pipes, measure.QUICK)
    assert figures == {"ours": {"best": 1.0, "median": 1.0}}
    assert failures["before"] == "AttributeError: no" and "differ" in failures["generic before"]
    assert pipes["before"].sent == ["a case"] and pipes["generic before"].sent == ["a case", False]
    assert pipes["ours"].sent == ["a case", True, True, False]
