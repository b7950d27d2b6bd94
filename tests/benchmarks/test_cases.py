"""The cases run, compute what they say, and those who compute something else are found out."""

import os

import numpy as np
import pytest

import minigrad
from benchmarks import growth, measure, models, peak, peers
from benchmarks.case import case, ratio
from benchmarks.cases import CASES, growing, large

OURS = [peers.BY_NAME[name] for name in ("minigrad", "minigrad.compile")]
# Found by these tests; the benchmark shows them as failed.
UNCOMPILED: dict[str, str] = {}
LARGE = ("network_step", "large_network_step", "cnn_step", "recording_cnn_step", "attention_step", "per_sample_gradients",
         "hessian", "softmax", "layer_norm", "digits_sgd", "digits_adam", "digits_dropout", "custom_step", "transformer_step",
         "rnn_forward", "rnn_gradient", "hessian_of_network")  # programs that take seconds to compile  # fmt: skip
SLOW = [c for c in CASES if c.name in LARGE or c.theme == "models"]
EACH = [pytest.param(c, marks=pytest.mark.slow if c in SLOW else (), id=c.name) for c in CASES]


@pytest.mark.parametrize("c", EACH)
def test_eager_and_compiled_compute_the_same(c):
    figures, failures = measure.measured(c, OURS, measure.QUICK)
    if c.name in UNCOMPILED:
        failures.pop("minigrad.compile", None)
    assert not failures
    assert figures["minigrad"]["best"] > 0


@pytest.mark.parametrize("c", CASES, ids=lambda c: c.name)
def test_a_case_has_a_title_and_targets_for_those_who_can_do_it(c):
    assert c.title().strip() and "{" not in c.title()
    for t in c.targets:
        assert {t.ours, *t.theirs} <= {*peers.BY_NAME, *c.measures}
        assert c.compiles or t.ours in c.measures or not peers.BY_NAME[t.ours].compiled


def test_names_of_cases_differ():
    assert len({c.name for c in CASES}) == len(CASES)


def double(factor_when_compiled):
    """Return a case whose compiled version may multiply by another number."""

    @case()
    def double(lib, compiled):
        """Return twice x."""
        x = lib.tensor([1.0, 2.0])
        is_compiled = type(compiled(lambda x: x)) is not type(lambda: 0)
        return lambda: (x * (factor_when_compiled if is_compiled else 2.0),)

    return double


def test_who_computes_something_else_is_not_timed():
    figures, failures = measure.measured(double(2.001), OURS, measure.QUICK)
    assert "differ by 0.0005" in failures["minigrad.compile"]
    assert set(figures) == {"minigrad"}


def test_who_computes_the_same_is_timed():
    figures, failures = measure.measured(double(2.0), OURS, measure.QUICK)
    assert not failures and set(figures) == {"minigrad", "minigrad.compile"}


def test_libraries_that_draw_their_own_numbers_may_differ_by_more():
    roughly = double(2.001)
    roughly.tolerance = 0.1
    figures, failures = measure.measured(roughly, OURS, measure.QUICK)
    assert not failures and set(figures) == {"minigrad", "minigrad.compile"}


def test_results_of_other_shapes_do_not_agree():
    with pytest.raises(ValueError, match=r"b gives float64\[1, 2\], a float64\[2\]"):
        measure.agree({"a": (np.zeros(2),), "b": (np.zeros((1, 2)),)})


def test_results_of_other_dtypes_do_not_agree():
    with pytest.raises(ValueError, match=r"b gives float32\[2\], a float64\[2\]"):
        measure.agree({"a": (np.zeros(2),), "b": (np.zeros(2, np.float32),)})


def test_a_nan_does_not_agree():
    with pytest.raises(ValueError, match="differ"):
        measure.agree({"a": (np.zeros(2),), "b": (np.array([0, np.nan]),)})


def test_nothing_to_compare_is_an_error():
    with pytest.raises(TypeError, match="None"):
        peers.arrays((None,))


def test_tensors_become_arrays():
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    (found,) = peers.arrays((x,))
    assert found.tolist() == [1.0, 2.0]


def test_a_model_is_the_same_in_each_library_that_builds_it():
    first, second = [models.images.digits_mlp.prepare(OURS[0])() for _ in range(2)]
    measure.agree({"a": first, "b": second}, 0.0)


def test_the_median_is_of_the_models_that_both_can_run():
    times = [
        {"minigrad": 1.0, "torch": 2.0},
        {"minigrad": 3.0, "torch": 1.0},
        {"minigrad": 1.0},
        {"minigrad": 1.0, "torch": 1.0},
    ]
    assert models.median(times) == 1.0
    assert models.median([{"minigrad": 1.0}]) is None


def test_contestants_take_turns():
    said = []
    settings = measure.Settings(rounds=3, seconds=0.0)
    measure.interleaved({"a": lambda: said.append("a"), "b": lambda: said.append("b")}, settings)
    assert "".join(said) == "ab" + "abbaab"  # once each to calibrate, then three rounds


def test_a_ratio_is_to_the_quickest():
    others = "torch.compile", "jax.jit"
    assert ratio({"minigrad": 3.0, "torch.compile": 6.0, "jax.jit": 2.0}, "minigrad", others) == 1.5
    assert ratio({"minigrad": 3.0, "torch.compile": 6.0}, "minigrad", others) == 0.5
    assert ratio({"minigrad": 3.0}, "minigrad", others) is None
    assert ratio({"jax.jit": 3.0}, "minigrad", others) is None


times = growth.times


def small_grad_at(sizes):
    """Return a curve."""
    return growth.Curve(next(c for c in CASES if c.name == "small_grad"), sizes)


def test_a_curve_ends_where_a_run_takes_too_long(monkeypatch):
    monkeypatch.setattr(growth, "ENOUGH", 0.0)
    seconds, failures = growth.times(small_grad_at([10, 100]), OURS[:1], measure.QUICK)
    assert not failures
    assert seconds["minigrad"][0] > 0 and seconds["minigrad"][1] is None


def test_a_curve_ends_where_memory_might_not_be_enough(monkeypatch):
    monkeypatch.setattr(growth, "available", lambda: 1000)
    curve = growth.Curve(growing.elements, [10, 100], 16)
    seconds, _ = growth.times(curve, OURS[:1], measure.QUICK)
    assert seconds["minigrad"][0] > 0 and seconds["minigrad"][1] is None


def test_the_time_to_compile_is_that_of_compilers(monkeypatch):
    where = os.environ.get("MINIGRAD_CACHE")
    folders = []
    monkeypatch.setattr(growth, "times", lambda *given: folders.append(os.environ["MINIGRAD_CACHE"]) or times(*given))
    seconds, failures = growth.compiling(small_grad_at([10]), OURS)
    assert not failures and list(seconds) == ["minigrad.compile"] and seconds["minigrad.compile"][0] > 0
    assert (
        len(folders) == 2 and folders[0] != where == os.environ.get("MINIGRAD_CACHE") and not os.path.exists(folders[0])
    )


def test_a_line_that_rises_by_a_decade_for_each_is_straight():
    assert growth.steepness([1, 10, 100, 1000], [5.0, 1.0, 10.0, None]) == pytest.approx(1)
    assert growth.steepness([1, 10], [1.0, 100.0]) == pytest.approx(2)
    assert growth.steepness([1, 10], [1.0, None]) is None


@pytest.mark.slow
@pytest.mark.parametrize("c", (*growing.CASES, *large.CASES), ids=lambda c: c.name)
def test_what_grows_computes_the_same_eager_and_compiled(c):
    assert not measure.measured(c, OURS, measure.QUICK)[1]


@pytest.mark.skipif(not os.path.exists(peak.STATUS), reason="Linux tells")
def test_the_most_memory_of_a_run_is_found_where_most_of_it_is_freed_again():
    found = peak.measured(growing.elements, OURS[:1], 10**7)
    assert 0.9 < found["minigrad"] / 4e7 < 2.5  # the sine, and the gradient instead of it or beside it
