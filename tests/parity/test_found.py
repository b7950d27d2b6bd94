"""Programs on which PyTorch and minigrad once differed, found by `make fuzz` and shrunk."""

import json
import os
import time

import pytest

from . import fuzz as fuzzing
from .fuzz import CHUNK, FIRST, FOUND, MODES, difference, fuzz, load, read, restore_thresholds


@pytest.mark.parametrize("place", sorted(FOUND.glob("*.json")), ids=lambda place: place.stem)
def test_programs_that_once_differed_agree(place):
    mode, program = read(place)
    try:
        lines = difference(mode, program)
    finally:
        restore_thresholds()
    assert not lines, "\n".join(["", program.source, *lines])


@pytest.mark.parametrize("name", MODES)
def test_a_program_that_is_kept_comes_back(name, tmp_path):
    from dataclasses import asdict

    program = MODES[name].write(3)
    place = tmp_path / "kept.json"
    place.write_text(json.dumps({"mode": name, "program": asdict(program)}))
    assert read(place) == (MODES[name], program)


def test_it_goes_on_where_it_ended(tmp_path):
    place = tmp_path / "build" / "fuzz.json"
    for turn in (1, 2):
        assert fuzz(["programs"], lambda done: done >= CHUNK, 1, place)
        state = load(place)["programs"]
        assert state["next"] == FIRST + turn * CHUNK and sum(state["counts"].values()) == turn * CHUNK


def test_a_crash_and_a_program_without_end_cost_themselves_alone(tmp_path, monkeypatch):
    written = MODES["programs"].write

    def write(seed):
        if seed == FIRST + 2:
            os._exit(1)
        time.sleep(600 * (seed == FIRST + 4))
        return written(seed)

    monkeypatch.setattr(fuzzing, "CHUNK", 6)
    monkeypatch.setattr(fuzzing, "PATIENCE", 5)
    monkeypatch.setitem(MODES, "programs", MODES["programs"]._replace(write=write))
    assert not fuzz(["programs"], lambda done: done >= 6, 1, tmp_path / "fuzz.json", tmp_path)
    state = load(tmp_path / "fuzz.json")["programs"]
    assert state["found"] == [f"programs: no answer from seed {FIRST + n}" for n in (2, 4)]
    assert sum(state["counts"].values()) == 4


def test_a_chunk_ends_at_the_program_that_differs(tmp_path, monkeypatch):
    monkeypatch.setattr(fuzzing, "CHUNK", 20)
    differs = lambda program: ["it differs"] if program.lines == written[2].lines or not program.lines else []
    written = [MODES["programs"].write(FIRST + n) for n in range(3)]
    monkeypatch.setitem(MODES, "programs", MODES["programs"]._replace(differs=differs))
    assert not fuzz(["programs"], lambda done: done >= 20, 1, tmp_path / "fuzz.json", tmp_path, most=1)
    state = load(tmp_path / "fuzz.json")["programs"]
    assert state["found"] == [f"programs-{FIRST + 2}.json"] and sum(state["counts"].values()) == 3
