"""The benchmark of many processes runs, its model is what its formulas say, and its page is made from its figures."""

import copy
import json
import subprocess
import sys
import xml.etree.ElementTree

import numpy as np
import pytest

import minigrad
from benchmarks import page, plots
from benchmarks.ranks import curves, forecast, reductions, report, steps, turns
from tests.distributed.ranks import ROOT, needs_mpi

FIGURES = json.loads((page.DOCS / "performance_ranks.json").read_text(encoding="utf-8"))
MADE_BY = "make it anew: python -m benchmarks.ranks.report"
NETWORK = forecast.Network(call=5e-6, alpha=3e-6, beta=2e-10, gamma=5e-11)


@pytest.fixture
def alone():
    """Yield the communicator of a world of one, which minigrad has joined."""
    pytest.importorskip("mpi4py")
    from mpi4py import MPI

    minigrad.distributed.init_process_group("mpi")
    yield MPI.COMM_SELF
    minigrad.distributed.destroy_process_group()


def test_the_smallest_case_runs_in_one_process(alone):
    pytest.importorskip("sklearn")
    case = steps.CASES[0]
    assert steps.check(case, minigrad, alone)["worst"] == 0
    found = steps.measured(case, 2, [minigrad], alone, turns.QUICK)
    assert set(found["seconds"]) == {"minigrad", "minigrad alone", "forward", "backward"}
    parameters = 64 * 32 + 32 + 32 * 10 + 10
    said = found["communication"]
    assert said["buckets"] == [4 * parameters] and said["bytes"] == 4 * parameters and said["calls"] == 1
    (first, *_) = reductions.measured([minigrad], alone, turns.QUICK)
    assert first["bytes"] == 1000 and first["seconds"]["minigrad"]["calls"] == 1


@pytest.mark.slow
@needs_mpi
def test_the_smallest_runs_measure_all_that_the_page_shows(tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    command = [sys.executable, "-m", "benchmarks.ranks", "--quick", "--ranks", "1", "2", "--json", tmp_path / "figures"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    figures = json.loads((tmp_path / "figures").read_text(encoding="utf-8"))
    assert [r["ranks"] for r in figures["runs"]] == [1, 2]
    for r in figures["runs"]:
        assert all(set(at["seconds"]) == {"minigrad", "torch"} for at in r["reductions"])
        assert all(check["repeats"] for case in r["checks"].values() for check in case.values())
        assert [batch["each"] for batch in r["steps"]["digits"]] == [32, 128 // r["ranks"]]
    assert "A quick run" in report.text(figures)


class Alone:
    """The communicator of one rank."""

    def __init__(self):
        self.barriers = 0

    def Barrier(self):
        self.barriers += 1

    def allgather(self, x):
        return [x]


def test_every_contestant_runs_once_in_each_round_after_warming_up():
    ran, comm = [], Alone()
    runs = {name: lambda name=name: ran.append(name) for name in "abc"}
    figures = turns.interleaved(runs, comm, turns.QUICK)
    warm = 6  # each twice
    assert "".join(ran[warm:]) == "abc" + "bca" + "cab" and comm.barriers == 9
    assert all(f["calls"] == 1 and f["lower"] <= f["median"] <= f["upper"] for f in figures.values())


def test_the_fit_finds_the_network_that_the_figures_come_from():
    points = [(p, m, forecast.all_reduce(p, m, NETWORK)) for p in (1, 2, 4, 8) for m in (1e3, 1e5, 1e7)]
    found = forecast.fitted(points, NETWORK.gamma)
    assert np.allclose(found, NETWORK, rtol=1e-3) and np.allclose(forecast.errors(points, found), 1, rtol=1e-3)


def test_trees_are_quick_for_few_bytes_and_parts_for_many():
    times = {m: {name: way(64, m, NETWORK) for name, way in forecast.WAYS.items()} for m in (8, 1e9)}
    assert min(times[8], key=times[8].get) == "recursive doubling" and max(times[8], key=times[8].get) == "ring"
    assert max(times[1e9], key=times[1e9].get) == "recursive doubling"
    assert times[1e9]["ring"] == pytest.approx(times[1e9]["Rabenseifner"], rel=1e-2)
    assert forecast.tree(2, 1000, NETWORK) == pytest.approx(3e-6 + 1000 * 2.5e-10)


def test_buckets_travel_while_backward_goes_on():
    step = forecast.Step(forward=1.0, backward=2.0, rest=0.5, packing=0.0, buckets=[100, 100])
    slow = forecast.Network(0.0, 0.3, 0.0, 0.0)  # each bucket takes 0.3 s between two
    assert forecast.seconds(step, 2, slow, overlapping=True) == pytest.approx(3 + 0.3 + 0.5)
    assert forecast.seconds(step, 2, slow, overlapping=False) == pytest.approx(3 + 0.6 + 0.5)
    late = forecast.Network(0.0, 1.5, 0.0, 0.0)  # the second waits for the first
    assert forecast.seconds(step, 2, late, overlapping=True) == pytest.approx(2 + 3.0 + 0.5)


def test_the_ranks_parts_make_the_whole_batch():
    pytest.importorskip("sklearn")

    class Rank:
        size = 4

    for case in steps.CASES:
        whole, parts = case.data(32), []
        for Rank.rank in range(4):
            parts.append(steps.part_of(case, 8, Rank))
        for one, pieces in zip(whole, zip(*parts)):
            assert np.array_equal(np.concatenate(pieces), one)


def test_the_page_is_what_its_figures_give():
    assert (page.DOCS / "performance_ranks.md").read_text(encoding="utf-8") == report.text(FIGURES), MADE_BY


def test_the_page_says_what_is_not_reached_and_that_ranks_share_cores():
    figures = copy.deepcopy(FIGURES)
    run = figures["runs"][1]
    run["reductions"][0]["seconds"]["minigrad"]["median"] = 2.0
    run["reductions"][0]["seconds"]["torch"]["median"] = 1.0
    run["checks"]["digits"]["minigrad"]["repeats"] = False
    figures["machine"]["cores"] = 1
    shown = report.text(figures)
    assert "| **2.00** | **no** |" in shown and "share the 1 cores" in shown
    (row,) = [line for line in report.checks(figures["runs"]).splitlines() if line.startswith("| `digits` | 2 ")]
    assert row.endswith("| **no** |")


@pytest.mark.parametrize("name", ["reductions", "efficiency"])
def test_a_picture_is_well_formed_and_the_same_every_time(name, tmp_path):
    model = report.expected(FIGURES)
    figure = curves.reductions(FIGURES, model) if name == "reductions" else curves.efficiency(model)
    first, second = tmp_path / "1.svg", tmp_path / "2.svg"
    plots.save(figure, first)
    plots.save(figure, second)
    assert first.read_bytes() == second.read_bytes()
    xml.etree.ElementTree.parse(first)
