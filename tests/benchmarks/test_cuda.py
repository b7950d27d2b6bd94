"""The figures of benchmarks/cuda, which are measured on a GPU only: what is made of them, and how suites are run."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from benchmarks.cuda import cases, page, suites, times

TIMES = {
    cases.copy.__doc__: {"minigrad": 0.2, "torch": 0.25},
    cases.pointwise.__doc__: {"minigrad": 1.2, "minigrad.compile": 0.375, "torch": 1.5},
    cases.softmax.__doc__: {"error": "RuntimeError: no"},
}


def test_the_share_of_the_copys_bandwidth_is_by_bytes_and_not_by_times():
    found = times.shares(TIMES)
    assert list(found) == [cases.pointwise.__doc__]
    assert found[cases.pointwise.__doc__] == pytest.approx({"minigrad": 0.25, "minigrad.compile": 0.8, "torch": 0.2})
    assert times.shares({**TIMES, cases.copy.__doc__: {"error": "RuntimeError: no"}}) == {} == times.shares({})


def test_the_page_has_a_table_of_each_kind():
    figures = {
        "device": "a GPU",
        "versions": {"numpy": "2", "torch": None},
        "times": {
            "milliseconds": TIMES,
            "shares": times.shares(TIMES),
            "launches": {"one addition": {"minigrad": 10.0, "torch": 6.25}, "a product": {"error": "no"}},
            "memory": {"a step": {"minigrad": 3 << 20, "torch": 4 << 20}},
            "products": {128: {"own": 0.01}, 256: {"own": 0.04, "cuBLAS": 0.02}},
        },
    }
    lines = page.markdown(figures).splitlines()
    assert lines[0] == "a GPU; numpy 2"
    assert f"| {cases.pointwise.__doc__} | 1.2 | 0.375 | 1.5 | - | 0.25 |" in lines
    assert f"| {cases.pointwise.__doc__} | 25% | 80% | 20% | - |" in lines
    assert f"| {cases.softmax.__doc__} | failed | failed | failed | failed | - |" in lines
    assert "| one addition | 10 | 6.25 |" in lines and "| a product | failed | failed |" in lines
    assert "| a step | 3 | 4 |" in lines
    assert lines[-2:] == ["| 128 x 128 | 0.01 | - | - |", "| 256 x 256 | 0.04 | 0.02 | 50% |"]


def test_the_page_keeps_its_text(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "PAGE", tmp_path / "page.md")
    page.PAGE.write_text(f"words\n\n{page.MARK}\n\nold figures\n")
    monkeypatch.setattr(page, "markdown", lambda figures: "new\n")
    page.write({})
    assert page.PAGE.read_text() == f"words\n\n{page.MARK}\n\nnew\n"


def test_a_failure_hides_nothing_of_the_rest(tmp_path, capsys):
    for name, text in (
        ("one", "def test_right(): pass\ndef test_wrong(): assert 1 == 2\n"),
        ("two", "def test_b(): pass\n"),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "test_it.py").write_text(text)
    saved = []
    found = suites.run(
        [str(tmp_path / "one"), str(tmp_path / "two")], 300, lambda f: saved.append(json.dumps(f)), "cpu"
    )
    one, two = found.values()
    assert (one["status"], one["failed"], one["passed"]) == (1, 1, 1) and (two["status"], two["passed"]) == (0, 1)
    (failure,) = one["failures"]
    assert failure["test"].endswith("test_it.py::test_wrong") and "assert 1 == 2" in failure["error"]
    assert len(saved) == 2 and two["failures"] == []


def test_suites_end_when_their_time_is_over(tmp_path):
    (tmp_path / "test_long.py").write_text("import time\ndef test_long(): time.sleep(600)\n")
    found = suites.run([str(tmp_path), "tests/none"], 6, lambda f: None, "cpu")
    assert [f.get("status") or f["error"] for f in found.values()] == ["the time was over", "no time was left"]


def test_a_profile_names_the_functions_that_take_longest():
    def slow():
        return sum(i * i for i in range(3000))

    def quick():
        return slow() + len("x")

    found = times.own_times(quick, 20)
    assert list(found.values()) == sorted(found.values(), reverse=True)
    first, *others = [name for name in found if name.startswith("benchmarks/test_cuda.py:")]
    assert first.endswith("<genexpr>") and any(name.endswith(" quick") for name in others)


def test_without_a_gpu_nothing_is_measured():
    root = pathlib.Path(__file__).parents[2]
    command = [sys.executable, "-m", "benchmarks.cuda"]
    alone = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "NUMBA_ENABLE_CUDASIM": "0"}
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, env=alone)
    assert done.returncode == 2 and "found no GPU" in done.stderr
