"""Kernels of norms, and of softmax and losses along other dimensions than the last, say what the definitions say."""

import numpy as np
import pytest

import minigrad
from minigrad.kernels import row_kernels
from tests.floats import FLOATS, some
from tests.kernels.definitions import agree, numbers

F = minigrad.nn.functional


pytestmark = pytest.mark.filterwarnings(r"ignore:(?s).*\[one-class\]")  # sizes of 1 are tried, too


def batch(x, w, b):
    return F.batch_norm(x, None, None, w, b, True)


NORMS = {
    "batch": batch,
    "batch without a weight": lambda x, w, b: batch(x, None, b) + w.sum(),
    "batch without both": lambda x, w, b: batch(x, None, None) + w.sum() + b.sum(),
    "evaluation": lambda x, w, b: F.batch_norm(x, w.detach(), b.detach() ** 2, w, b, False),
    "group": lambda x, w, b: F.group_norm(x, 3, w, b),
    "instance": lambda x, w, b: F.instance_norm(x, None, None, w, b),
}
SHAPES = [(5, 6, 30), (4, 6, 3, 2), (3, 6, 70, 40), (2, 6, 3, 2, 4)]


@FLOATS
@pytest.mark.parametrize("shape", [*SHAPES, (40, 6), (150, 6)])
@pytest.mark.parametrize("name", some(NORMS, 6))
def test_norms_are_what_the_definitions_say(name, shape, dtype, monkeypatch):
    if name == "instance" and len(shape) == 2:
        return
    x, w, b = numbers(shape, dtype), numbers((6,), dtype, 2), numbers((6,), dtype, 3)
    if len(shape) > 2 or name != "group":
        agree(monkeypatch, NORMS[name], x, w, b, scale=100)


def loss(x, **options):
    target = np.arange(x.numel() // x.shape[1]).reshape(x.shape[0], *x.shape[2:]) * 7 % x.shape[1]
    return F.cross_entropy(x, minigrad.tensor(target), reduction="none", **options)


COLUMNS = {
    "softmax": lambda x: x.softmax(1),
    "log_softmax": lambda x: x.log_softmax(1),
    "cross_entropy": loss,
    "cross_entropy without a class": lambda x: loss(x, ignore_index=1),
}
COLUMN_SHAPES = [(3, 7, 5), (2, 21, 8, 9), (1, 2, 1000), (2, 1, 40), (1, 9000, 3), (4, 3, 2)]


@FLOATS
@pytest.mark.parametrize("shape", COLUMN_SHAPES)
@pytest.mark.parametrize("name", some(COLUMNS, 2))
def test_columns_are_what_the_definitions_say(name, shape, dtype, monkeypatch):
    agree(monkeypatch, COLUMNS[name], numbers(shape, dtype), scale=60)


@pytest.mark.parametrize("name", some(COLUMNS, 2))
@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_infinities_and_nan_stay_in_their_column(name, odd, monkeypatch):
    x = numbers((3, 7, 20))
    x[0, 3, 4] = x[1, 0, 5] = x[1, 6, 5] = odd
    x[2, :, 7] = odd
    agree(monkeypatch, COLUMNS[name], x)


def test_classes_are_checked():
    x = minigrad.tensor(numbers((20, 10, 30)))
    for wrong in (10, -1):
        with pytest.raises(IndexError, match=f"Target {wrong} is out of bounds for 10 classes"):
            F.cross_entropy(x, minigrad.full((20, 30), wrong))


def test_running_statistics_are_moved_alike(monkeypatch):
    def run(x):
        mean, var = x.new_zeros(6), x.new_ones(6)
        return F.batch_norm(x, mean, var, training=True), mean, var

    agree(monkeypatch, run, numbers((5, 6, 30)))
    agree(monkeypatch, run, numbers((50, 6)))


@pytest.mark.slow
def test_a_large_offset_costs_no_digits(monkeypatch):
    for shape in ((8, 6, 500), (400, 6)):
        x = numbers(shape, "float32") + np.float32(1000)
        agree(monkeypatch, lambda x: batch(x, None, None), x, scale=3000)


def test_infinities_and_nan_stay_in_their_channel(monkeypatch):
    x = numbers((5, 6, 30))
    x[0, 1, 3], x[1, 2, 4] = np.nan, np.inf
    agree(monkeypatch, lambda x: batch(x, None, None), x)
    agree(monkeypatch, lambda x: batch(x, None, None), x[:, :, 4])
    agree(monkeypatch, lambda x: F.group_norm(x, 3), x)


LAYOUTS = [  # shape, dimensions of lines, shapes of weights; what a kernel sees
    ((8, 3, 4), (1, 2), ((3, 4), (3, 4)), ((8, 12), "fT", "12")),
    ((8, 6, 5, 4), (0, 2, 3), ((6, 1, 1),) * 2, ((8, 6, 20), "TfT", "6, 1")),
    ((8, 6), (0,), ((6,),) * 2, ((8, 6), "Tf", "6")),
    ((8, 3, 2, 20), (2, 3), ((3, 2, 1),) * 2, ((8, 3, 2, 20), "ffTT", "3, 2, 1")),
    ((8, 6, 1, 20), (2, 3), ((6, 1, 1),) * 2, ((8, 6, 20), "ffT", "6, 1")),
    ((8, 1, 20), (0, 2), ((1, 1),) * 2, ((1, 160), "fT", "1")),
    ((8, 6, 1), (2,), ((1,),) * 2, ((48, 1), "fT", "1")),
    ((1, 30), (1,), ((30,),) * 2, ((1, 30), "fT", "30")),
    ((8, 6, 5), (), ((6, 1),) * 2, ((8, 6, 5), "fff", "6, 1")),
    ((4, 5, 6), (1,), (), ((4, 5, 6), "fTf", "")),
    ((5, 6), (0,), (), ((1, 5, 6), "fTf", "")),
]


@pytest.mark.parametrize("shape, dims, weights, expected", LAYOUTS)
def test_neighbouring_dimensions_that_are_alike_count_as_one(shape, dims, weights, expected):
    found = row_kernels.layout_of(shape, dims, weights)
    own = ", ".join(map(str, found.shape(row_kernels.WEIGHT))) if weights else ""
    assert (found.sizes, "".join(["fT"[r] for r in found.reduced]), own) == expected
    kept = tuple(n for d, n in enumerate(shape) if d not in dims)
    for held, count in (
        (row_kernels.ALL, np.prod(shape)),
        (row_kernels.LINE, np.prod(kept)),
        (row_kernels.EACH, np.prod(kept)),
    ):
        assert np.prod(found.shape(held)) == count == np.prod(row_kernels.shape_of(held, shape, dims))


def test_other_weights_have_no_layout():
    assert row_kernels.layout_of((8, 6, 5), (0, 2), ((5, 1),)) is None
    assert row_kernels.layout_of((6, 5), (1,), ((2, 6, 5),)) is None
    assert row_kernels.layout_of((4, 5, 6, 7), (0, 2), ()) is None
