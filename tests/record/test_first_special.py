"""The first NaN and the first infinity of each pass, and the numbers that made them, as a record tells."""

import json

import pytest

import minigrad
from minigrad.errors import suppressed_warnings
from minigrad.record.first_special import first_special

INF = float("inf")


def found(f, *numbers, passes=("forward", "backward", "jvp")):
    """Return the words of a function's record by pass and by the name of the operation, or of the value."""
    x = minigrad.tensor(numbers)
    with suppressed_warnings():
        record = json.loads(minigrad.record(f, x, passes=passes).to_json())
    names = {("op", op["id"]): op["name"] for op in record["ops"]}
    names |= {("value", value["id"]): value["shown"] for value in record["values"]}
    return {(name, names[kind, i]): words for (name, kind, i), words in first_special(record).items()}


@pytest.mark.parametrize(
    "f, numbers, name, words",
    [
        (lambda x: x / x, [0.0, 1.0], "div", "first NaN here: 0 / 0"),
        (lambda x: x * INF, [2.0, 0.0], "mul", "first NaN here: 0 * inf"),
        (lambda x: x.sqrt(), [4.0, -1.0], "sqrt", "first NaN here: sqrt(-1)"),
        (lambda x: x.log(), [0.0, 1.0], "log", "first inf here: log(0)"),
        (lambda x: (x * 1000).exp(), [1.0], "exp", "first inf here: exp(1000)"),
        (lambda x: x.exp() / x, [-0.0], "div", "first inf here: 1 / (-0)"),
        (lambda x: (x * INF).sum(), [1.0, -1.0], "sum", "first NaN here: inf - inf in a sum"),
        (lambda x: x @ minigrad.tensor([INF, 1.0]), [0.0, 1.0], "matmul", "first NaN here: 0 * inf in a product"),
        (lambda x: (x * -INF).softmax(0), [1.0, 2.0], "softmax", "first NaN here: softmax of -inf"),
        (lambda x: x[:0].mean(), [1.0], "mean", "first NaN here: 0 / 0, as there is no element"),
        (lambda x: x.std(), [3.0], "std", "first NaN here: std of 3"),
    ],
)
def test_the_first_special_number_of_forward_has_the_numbers_that_made_it(f, numbers, name, words):
    assert found(f, *numbers, passes=("forward",)) == {("forward", name): words}


def test_an_infinity_and_the_nan_that_follows_from_it_are_both_named():
    assert found(lambda x: x.log() * x, 0.0, passes=("forward",)) == {
        ("forward", "log"): "first inf here: log(0)",
        ("forward", "mul"): "first NaN here: -inf * 0",
    }


def test_only_the_first_of_several_is_named_and_none_that_was_given():
    assert found(lambda x: (x / x) + (x.sin() / x.sin()), 0.0, passes=("forward",)) == {
        ("forward", "div"): "first NaN here: 0 / 0"
    }
    assert found(lambda x: x * 2 + 1, float("nan"), INF) == {}
    assert found(lambda x: x.masked_fill(x > 0, -INF), 1.0, 0.0) == {}


def test_backward_and_jvp_have_their_own_first_nan():
    words = found(lambda x: (x * 0).sqrt() * x, 1.0)
    assert words == {
        ("backward", "sqrt"): "first inf here: 1 / 0",
        ("backward", "mul"): "first NaN here: 0 * inf",
        ("jvp", "sqrt"): "first NaN here: 0 / 0",
    }


def test_a_sum_of_contributions_can_be_the_first_nan():
    words = found(lambda x: (x.sqrt() - x.sqrt()).sum(), 0.0, passes=("forward", "backward"))
    assert (
        words["backward", "x"] == "first NaN here: inf + (-inf)"
        or words["backward", "x"] == "first NaN here: -inf + inf"
    )


def test_large_tensors_have_the_numbers_too_if_the_record_knows_them():
    x = minigrad.arange(40.0)
    with suppressed_warnings():
        whole = minigrad.record(lambda x: x / x, x, passes=("forward",)).to_dict()
        large = minigrad.record(lambda x: x / x, minigrad.arange(5000.0), passes=("forward",)).to_dict()
    assert list(first_special(whole).values()) == ["first NaN here: 0 / 0"]
    assert list(first_special(large).values()) == ["first NaN here"]


@pytest.mark.parametrize(
    "call", ["(" * 500, "x.__class__", "open('x')", "x.reshape(-7, 9)", "x.expand(10 ** 9)", "x +", "\x00"]
)
def test_no_expression_of_a_record_from_elsewhere_breaks_it_or_runs(call):
    with suppressed_warnings():
        record = minigrad.record(lambda x: x / x, minigrad.tensor([0.0]), passes=("forward",)).to_dict()
    record["ops"][0]["call"] = call
    assert list(first_special(record).values()) in (["first NaN here"], ["first NaN here: div of 0"])


def test_a_record_without_special_numbers_has_none():
    assert found(lambda x: x.sin().sum(), 1.0, 2.0) == {}
