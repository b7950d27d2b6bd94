"""The table of operations beside PyTorch: samples grow to the size that is asked for, and what is slow is marked."""

import json
import sys
from pathlib import Path

import pytest

import minigrad
from benchmarks import measure, operations, page, slow
from minigrad.ops.base.registry import TABLE

QUICK = measure.Settings(rounds=1, seconds=1e-5)


@pytest.mark.parametrize("name", ["softmax", "matmul", "exp", "sum", "cat", "cross_entropy", "conv2d", "where"])
def test_a_sample_grows_to_about_the_size(name):
    entry = TABLE[name]
    sizes = []
    for sample, factor in operations.grown(entry, 4000):
        maker = operations.Large(minigrad, entry, sample, factor)
        names = {n: getattr(maker, n) for n in "TPISB"}
        eval(f"(lambda *args, **kwargs: None)({sample})", {"torch": minigrad, **names})
        sizes.append(max(t.numel() for t in maker.leaves))
        assert all(t.dtype == minigrad.float32 for t in maker.leaves)
    assert sizes and all(1000 < n < 20_000 for n in sizes)


@pytest.mark.parity
def test_times_are_saved_and_shown_beside_those_of_before(monkeypatch, capsys, tmp_path):
    pytest.importorskip("torch")
    monkeypatch.setattr(operations, "SETTINGS", QUICK)
    monkeypatch.setattr(operations, "LONGEST", 600)  # on a busy machine a first call takes seconds
    monkeypatch.setattr(operations, "restrict_to_one_core", lambda torch: None)
    file = tmp_path / "times.json"
    monkeypatch.setattr(sys, "argv", ["operations", "exp", "reshape", "--sizes", "300", "--save", str(file)])
    operations.main()
    times = json.loads(file.read_text(encoding="utf-8"))
    assert times.keys() >= {"exp forward 300", "exp backward 300"}
    assert all(ours > 0 and theirs > 0 for ours, theirs in times.values())
    capsys.readouterr()
    file.write_text(json.dumps({"exp forward 300": [1e-9, 1.0]}), encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["operations", "exp", "--sizes", "300", "--before", str(file)])
    operations.main()
    assert "slower" in capsys.readouterr().out.splitlines()[0]


def test_what_takes_longer_than_pytorch_is_marked(capsys):
    operations.show("a", (1.3, 1.0), None)
    operations.show("b", (1.1, 1.0), None)
    operations.show("c", (1.1, 1.0), (0.9, 1.0))
    a, b, c = capsys.readouterr().out.splitlines()
    assert a.endswith("slow") and b.endswith("1.10") and c.endswith("slower")


def test_slow_rows_are_listed_with_their_reasons(monkeypatch):
    monkeypatch.setattr(slow, "REASONS", {"SciPy computes it": "i1e nextafter"})
    times = {
        "exp forward 1000": (1.0, 2.0),
        "i1e backward 1000": (3.0, 2.0),
        "put forward 1000": (5.0, 2.0),
        "exp forward 9": (1, 2),
    }
    found = slow.summary(times)
    assert found["1000"] == {"rows": 3, "median": 1.5, "slow": {"i1e backward": 1.5, "put forward": 2.5}}
    small, large = slow.markdown(found).split("\n\n???")
    assert small == '??? note "9 elements: 0 of 1 rows are above 1.2; the median is 0.50"'
    assert "| SciPy computes it | i1e backward 1.5 |" in large and "| open | put forward 2.5 |" in large


def test_every_reason_is_for_operations_that_there_are():
    names = [name for names in slow.REASONS.values() for name in names.split()]
    assert len(names) == len(set(names)) and set(names) <= set(TABLE)


def test_the_page_keeps_the_sizes_that_were_not_measured(monkeypatch, tmp_path):
    monkeypatch.setattr(slow, "FILE", tmp_path / "performance_operations.json")
    monkeypatch.setattr(page, "DOCS", tmp_path)
    figures = Path(page.__file__).parent.parent / "docs" / "performance.json"
    (tmp_path / "performance.json").write_text(figures.read_text(encoding="utf-8"), encoding="utf-8")
    operations.document({"put forward 1000": (5.0, 2.0)})
    operations.document({"put forward 100": (6.0, 2.0)})
    text = (tmp_path / "performance.md").read_text(encoding="utf-8")
    assert text.index('"100 elements') < text.index("put forward 3.0") < text.index('"1,000 elements')


def test_the_page_takes_all_operations(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["operations", "exp", "--docs"])
    with pytest.raises(SystemExit):
        operations.main()
    assert "without names" in capsys.readouterr().err
