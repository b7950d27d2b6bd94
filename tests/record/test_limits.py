"""Recordings keep contents up to a number of bytes, and no copy of what an expanded tensor repeats."""

import tracemalloc

import numpy as np
import pytest

import minigrad
import viz
from minigrad.record import kept_bytes
from minigrad.record.summary import statistics

HUGE = 10**12


def pairs(n, size=100_000):
    """Return the record of n pairs of operations on `size` floats, and its leaf."""
    x = minigrad.ones(size, requires_grad=True)
    with minigrad.record(passes=("forward", "backward")) as rec:
        y = x
        for _ in range(n):
            y = y.sin() + x
        loss = y.sum()
        loss.backward()
    rec.outputs = [rec.ref(loss)]
    return rec, x


def test_contents_beyond_the_limit_become_statistics(monkeypatch):
    monkeypatch.setattr(kept_bytes, "KEPT", 2_000_000)
    rec, _ = pairs(20)
    assert rec.kept <= 2_000_000
    record = rec.to_dict()
    monkeypatch.setattr(kept_bytes, "KEPT", 2**40)
    whole = pairs(20)[0].to_dict()
    assert [v["summary"].get("max") for v in record["values"]] == [v["summary"].get("max") for v in whole["values"]]
    assert [op["call"] for op in record["ops"]] == [op["call"] for op in whole["ops"]]


def test_the_memory_of_a_recording_does_not_grow_beyond_the_limit(monkeypatch):
    monkeypatch.setattr(kept_bytes, "KEPT", 4_000_000)

    def needs(n):
        tracemalloc.start()
        rec, _ = pairs(n)
        used = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        return used, rec

    few, many = needs(20)[0], needs(60)[0]
    assert many - few < 40 * 100_000 * 4 / 10  # a tenth of one array for each pair


def test_what_the_program_still_has_keeps_its_contents(monkeypatch):
    monkeypatch.setattr(kept_bytes, "KEPT", 0)
    rec, x = pairs(3)
    found = minigrad.explain(rec)
    assert found.numbers == [pytest.approx(float(x.grad.max()))]
    assert any("statistics only" in note for note in found.notes)


def test_a_sentence_tells_that_contents_are_not_kept(monkeypatch):
    monkeypatch.setattr(kept_bytes, "KEPT", 0)
    rec, _ = pairs(1)
    rec.to_dict()
    assert rec.words_of_limit().startswith("contents are kept up to 0 MB: ")
    assert not minigrad.record(lambda: minigrad.ones(3) * 2).words_of_limit()


def test_a_value_given_up_is_written_through_its_tensor(monkeypatch):
    monkeypatch.setattr(kept_bytes, "KEPT", 0)
    with minigrad.record() as rec:
        x = minigrad.full((100_000,), 2.0) * 3
        x.mul_(2)
        y = x + 1
    maxima = [v["summary"]["max"] for v in rec.to_dict()["values"] if v["kind"] == "computed"]
    assert maxima == [6.0, 12.0, 13.0] and float(y[0]) == 13.0


def test_explain_keeps_no_second_copy_of_gradients():
    rec, _ = pairs(10)
    rec.to_dict()
    tracemalloc.start()
    minigrad.explain(rec)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * 100_000 * 8  # 32 gradients in float64 would be 26 MB


def test_an_expanded_tensor_is_described_from_its_memory():
    wide = np.broadcast_to(np.array([1.0, np.nan, 4.0], np.float32), (HUGE, 3))
    found = statistics(wide)
    assert (found["min"], found["max"], found["nan"]) == (1.0, 4.0, HUGE)


@pytest.mark.parametrize("form", ["svg", "html", "dot", "mermaid", "text", "tex"])
def test_an_expanded_tensor_is_drawn_in_every_form(form):
    x, w = minigrad.tensor([1.0, 2.0]), minigrad.tensor([3.0, 4.0], requires_grad=True)
    drawing = viz.draw(lambda w: (x.expand(HUGE, 2)[5] * w).sum(), w, passes="all")
    assert getattr(drawing, form)()


def test_a_backward_that_needs_too_much_memory_is_left_out_with_the_reason():
    rec = minigrad.record(lambda x: x.expand(HUGE)[0], minigrad.tensor([1.0], requires_grad=True), passes="backward")
    (note,) = rec.notes
    assert note.startswith("it needs more memory than there is: ")
    assert rec.to_dict()["ops"]


def test_looking_at_lent_memory_takes_time_by_the_memory_looked_at(monkeypatch):
    from minigrad.record.snapshots import Lent

    looks = []
    changed = Lent.is_changed
    monkeypatch.setattr(Lent, "is_changed", lambda self: looks.append(1) or changed(self))
    with minigrad.record():
        for k in range(50):
            (minigrad.ones(3) * k).numpy()
    assert len(looks) < 500  # 50 * 50 / 2 with a look at all of it each time
