"""Options of a computation in a page: forgotten saved tensors, the forward pass alone, seeds; and records that are faulty."""

import copy
import random

import numpy as np
import pytest

import minigrad
from minigrad.autograd import Function

from .again import computed, recorded
from .node import LiveError, evaluate, whole
from .sayings import equal

X, W = np.array([0.5, 1.5, 1.0]), np.array([2.0, -1.0, 0.5])


def record(program, *arrays, **options):
    leaves = [minigrad.tensor(a, requires_grad=True) for a in arrays]
    return recorded(minigrad.record(program, *leaves, contents=True, inside=True, **options))


def ids(document):
    return {value["label"]: value["id"] for value in document["values"]}


def test_a_forgotten_tensor_makes_gradients_impossible_also_what_follows():
    live, document, _ = record(lambda x, w: ((x * 2).sin() * w).sum(), X, W)
    value, (sin,) = ids(document), [op for op in document["ops"] if op["name"] == "sin" and op["phase"] == "forward"]
    found = computed(live, forgotten=[f"{sin['id']}:{sin['inputs'][0]}"])
    lost = document["gradients"][str(value["x"])]
    assert lost not in found.numbers and found.lost[f"gradients:{value['x']}"] == "the saved tensor v0 is forgotten"
    assert document["gradients"][str(value["w"])] in found.numbers


def test_forward_alone_gives_the_values_also_after_a_step_of_an_optimizer():
    def step(x, w):
        loss = (x * w).sum()
        loss.backward()
        with minigrad.no_grad():
            w -= 0.1 * w.grad
        return (x * w).sum()

    live, document, arrays = record(step, X, W)
    found = computed(live, {ids(document)["x"]: X * 2}, forwardOnly=True)
    _, _, expected = record(step, X * 2, W)
    (result,) = document["outputs"]
    assert equal(found.numbers[result], expected[result]) and not equal(arrays[result], expected[result])
    assert document["gradients"][str(ids(document)["x"])] not in found.numbers


def test_a_result_that_the_program_also_uses_has_its_own_seed():
    def program(x):
        y = x * 2
        return y, (y * 3).sum()

    live, document, _ = record(program, X)
    value = ids(document)
    y = str(value["y"])
    assert live["seeds"][y] != document["gradients"][y]
    found = computed(live, {live["seeds"][y]: np.array([5.0, 1.0, 1.0])})
    assert equal(found.numbers[document["gradients"][y]], np.array([8.0, 4.0, 4.0]))


def test_a_comparison_that_turns_out_otherwise_is_named_with_its_line():
    def program(x):
        y = (x * 2).sum()
        if y > 3:
            y = y * 3
        return y * y.item()

    live, document, _ = record(program, X)
    assert not computed(live).otherwise
    (line,) = [read["where"]["line"] for read in document["reads"] if read["how"] == "bool"]
    found = computed(live, {ids(document)["x"]: X / 10})
    assert found.otherwise[0] == {
        "line": line,
        "text": f"with these numbers the program would take another way at line {line}",
    }
    found = computed(live, {ids(document)["x"]: X * 2})
    (one,) = found.otherwise
    assert "would read another y_2" in one["text"] and set(document["outputs"]) <= set(found.behind)


class Reading(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x.max().item()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 if x.sum() > 0 else g * 3


def test_what_a_method_of_a_function_reads_is_from_the_recorded_run():
    live, document, arrays = record(lambda x: (Reading.apply(x) * 2).sum(), X)
    number, texts = ids(document), lambda found: [one["text"] for one in found.otherwise]
    assert not computed(live).otherwise
    found = computed(live, {number["x"]: X / 2})  # another largest element, the same way in backward
    (text,) = texts(found)
    assert "would read another number" in text and set(document["outputs"]) <= set(found.behind)
    found = computed(live, {number["x"]: np.minimum(-X, X.max())})
    assert "would take another way" in texts(found)[-1]
    assert document["gradients"][str(number["x"])] in found.behind


def test_a_mask_that_picks_other_elements_is_named_and_their_number_is_not_invented():
    live, document, arrays = record(lambda x: x[x > 0.7].sum(), X)
    found = computed(live, {ids(document)["x"]: np.array([0.9, 0.1, 1.0])})
    assert not found.otherwise and equal(found.numbers[document["outputs"][0]], np.array(1.9))
    found = computed(live, {ids(document)["x"]: X * 2})
    assert [one["text"].endswith("has another shape") for one in found.otherwise] == [True]
    assert "instead of (2)" in " ".join(found.frozen.values())


def test_the_slopes_that_rrelu_draws_are_an_input():
    _, document, _ = record(lambda x: minigrad.nn.functional.rrelu(x, training=True).sum(), -X)
    assert [value["kind"] for value in document["values"]][:2] == ["parameter", "input"]


def test_dropout_keeps_its_noise():
    minigrad.manual_seed(0)
    live, document, _ = record(lambda x: minigrad.nn.functional.dropout(x, 0.5).sum(), X)
    minigrad.manual_seed(0)
    _, _, expected = record(lambda x: minigrad.nn.functional.dropout(x, 0.5).sum(), X * 2)
    found = computed(live, {ids(document)["x"]: X * 2})
    assert {i: equal(found.numbers[i], expected[i]) for i in document["outputs"]} == dict.fromkeys(
        document["outputs"], True
    )
    assert "random draws keep their numbers" in found.frozen.values() and not found.behind


def faulty(live, seed):
    """Return a record with a few entries lost, exchanged or replaced."""
    choice, broken = random.Random(seed), copy.deepcopy(live)
    for _ in range(choice.randint(1, 4)):
        place = broken
        while isinstance(place, (dict, list)) and place:
            key = choice.choice(list(place) if isinstance(place, dict) else range(len(place)))
            if not isinstance(place[key], (dict, list)) or not place[key] or choice.random() < 0.15:
                place[key] = choice.choice([None, -1, 10**9, "x" * 9, [], {}, [[[]]], "__proto__", 1.5, True])
                break
            place = place[key]
    return broken


@pytest.mark.parametrize("start", [0, pytest.param(50, marks=pytest.mark.slow)])
def test_a_faulty_record_gives_reasons_and_no_error(start):
    live, _, _ = record(lambda x, w: ((x @ w).exp() * x).sum(), X, W)
    for seed in range(start, start + (50 if not start else 500)):
        found = whole().ask({"record": faulty(live, seed), "changes": {}, "options": {}})
        assert {"values", "gradients", "tangents", "frozen", "behind", "otherwise"} <= set(found)


@pytest.mark.parametrize("text", ["matrix_power(x, 100000)", "exp_series(x, -100000)"])
def test_a_definition_that_calls_itself_without_end_is_an_error(text):
    with pytest.raises(LiveError, match="more than 250 calls are inside each other"):
        evaluate(text, {"x": np.eye(2)})
