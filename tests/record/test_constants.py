"""Arguments that are not tensors stay on one short line, in records, explanations and pictures."""

import functools
import json

import numpy as np
import pytest

import minigrad
import viz
from minigrad import nn
from minigrad.record.constants import brief
from tests.functions import custom


class Broken:
    def __repr__(self):
        raise RuntimeError("no text")


class Quiet:
    pass


Pair = custom("Pair", forward=lambda ctx, x, other: x * 2, backward=lambda ctx, g: (g * 2, None))


WORDS = {
    "3": 3,
    "(1, 2)": (1, 2),
    "'a\\nb'": "a\nb",
    "'" + "s" * 20 + "...'": "s" * 99,
    "Sequential(...)": nn.Sequential(nn.Linear(1, 2), nn.ReLU()),
    "ReLU()": nn.ReLU(),
    "Broken(...)": Broken(),
    "Quiet(...)": Quiet(),
    "[...]": [Quiet()],
    "{...}": {"weights": minigrad.ones(3, 3)},
    "(...)": tuple(range(99)),
    "ndarray(...)": np.ones((3, 3)),
    "partial(...)": functools.partial(max, 1),
    "lambda: ...": lambda x: x,
    "Quiet": Quiet,
    "numpy": np,
}


@pytest.mark.parametrize("text", WORDS)
def test_an_argument_of_a_function_is_one_short_line(text):
    x = minigrad.tensor(1.0, requires_grad=True)
    rec = minigrad.record(lambda x: Pair.apply(x, WORDS[text]).sin(), x)
    assert rec.to_dict()["ops"][0]["call"] == f"Pair.apply(x, {text})"
    json.dumps(rec.to_dict())
    line = next(line for line in str(minigrad.explain(rec)).splitlines() if "Pair.apply" in line)
    assert f"Pair.apply(x, {text})" in line and text in " ".join(viz.draw(rec).text().split())


def test_a_call_with_many_arguments_is_cut_in_an_explanation():
    class Many(Pair):
        @staticmethod
        def forward(ctx, x, *others):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2, *[None] * 50

    x = minigrad.tensor(1.0, requires_grad=True)
    text = str(minigrad.explain(lambda x: Many.apply(x, *range(50)), x))
    line = next(line for line in text.splitlines() if "Many.apply" in line)
    assert "Many.apply(x, 0, 1, 2" in line and "…" in line and len(line) < 140


def test_a_complex_number_keeps_all_its_digits():
    number = complex(1 / 3, 1e-300 / 7)
    assert complex(brief(number)) == number
