"""The calls that programs make most are measured, and give PyTorch's numbers."""

import pytest

from benchmarks import calls, measure, peers

FREQUENT = 6  # programs


def test_frequent_calls_are_measured():
    frequent = [name for name, n in calls.counted().items() if n >= FREQUENT]
    assert len(frequent) > 50
    assert not set(frequent) - set(calls.CALLS)


@pytest.mark.parametrize("name", calls.CALLS)
def test_a_call_runs_in_each_mode(name):
    for mode in calls.modes(name):
        result = calls.named(f"{name} 4 {mode}").prepare(peers.BY_NAME["minigrad"])()
        assert peers.arrays(result)


@pytest.mark.parametrize("name", calls.CALLS)
def test_a_call_gives_pytorchs_numbers(name):
    pytest.importorskip("torch")
    for mode in calls.modes(name):
        case = calls.named(f"{name} 4 {mode}")
        results = {who: case.prepare(peers.BY_NAME[who])() for who in ("minigrad", "torch")}
        measure.agree(results, case.tolerance)


def test_an_unknown_call_is_refused(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["calls", "HEAD", "relu", "teleport"])
    with pytest.raises(SystemExit):
        calls.main()
    assert "unknown call teleport; choose from *, +," in capsys.readouterr().err
