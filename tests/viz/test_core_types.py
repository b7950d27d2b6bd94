"""`minigrad doctor` advises on the core type that OpenBLAS takes a processor for."""

import pytest
from llvmlite import binding

from viz.commands import core_types
from viz.commands.core_types import Speed, advice, compared, tried
from viz.commands.doctor import products

FEATURES = binding.get_host_cpu_features()


def speed(seconds):
    return Speed("a core", seconds / 3, seconds * 2 / 3)


def test_the_quickest_core_type_is_to_be_set():
    said = advice(speed(2.0), {"Haswell": speed(1.0), "SkylakeX": speed(1.1)})
    assert said == "`export OPENBLAS_CORETYPE=Haswell` before Python starts: matrix products then take 0.50 of the time"


def test_a_small_gain_and_none_at_all_are_not_worth_a_variable():
    assert not advice(speed(1.19), {"Haswell": speed(1.0)})
    assert advice(speed(1.21), {"Haswell": speed(1.0)})
    assert not advice(speed(1.0), {})


def test_none_at_all_is_preferred_where_it_is_about_as_quick():
    said = advice(speed(2.0), {None: speed(1.1), "Haswell": speed(1.0)})
    assert said == "unset OPENBLAS_CORETYPE: matrix products then take 0.55 of the time"
    assert "=Haswell" in advice(speed(2.0), {None: speed(1.9), "Haswell": speed(1.0)})


@pytest.mark.parametrize(
    "features, first", [({"avx2": True, "avx512f": True}, "SkylakeX"), ({"neon": True, "sve": False}, "NeoverseN1")]
)
def test_core_types_fit_the_vector_instructions(features, first):
    assert core_types.fitting(features)[:2] == (None, first)
    assert core_types.fitting({}) == (None,)


def test_a_core_type_that_this_processor_cannot_run_is_left_out(monkeypatch):
    monkeypatch.setattr(core_types, "TRIAL", "import os; os.abort()")
    assert tried("SkylakeX") is None


def test_what_was_slow_only_once_is_measured_again(monkeypatch):
    monkeypatch.delenv(core_types.VARIABLE, raising=False)
    times = {None: [2.0, 1.0], "Haswell": [1.0], "Zen": [1.0]}
    monkeypatch.setattr(core_types, "tried", lambda core_type: speed(times[core_type].pop(0)))
    assert compared({"avx2": True}) == (speed(1.0), "")


def test_another_library_than_openblas_has_no_core_types(monkeypatch):
    monkeypatch.setattr(core_types, "tried", lambda core_type: Speed("", 1.0, 2.0))
    assert compared({"avx2": True}) == (Speed("", 1.0, 2.0), "")


@pytest.mark.skipif(
    not FEATURES.get("avx2"), reason="a core type five times as slow is known for these processors alone"
)
def test_doctor_finds_out_that_a_wrong_core_type_is_set(monkeypatch):
    monkeypatch.delenv(core_types.VARIABLE, raising=False)
    if not tried(None).core:
        pytest.skip("NumPy has another library than OpenBLAS")
    seconds = lambda core_type: [0.05 if core_type == "Prescott" else 0.01] * 2  # a busy machine's own say nothing
    monkeypatch.setattr(core_types, "tried", lambda core_type: Speed(tried(core_type).core, *seconds(core_type)))
    monkeypatch.setenv(core_types.VARIABLE, "Prescott")
    (found,) = products()
    assert "OPENBLAS_CORETYPE" in found.advice and "of the time" in found.advice
