"""A record tells where the program reads elements of tensors outside of its operations."""

import numpy as np
import pytest

import minigrad
from minigrad.autograd import Function
from minigrad.record.validate import NotARecord, validate

X = (1.0, -2.0, 3.0)


def reads(f, *args, **options):
    """Return what a function reads: how, the label of the value, and the line."""
    record = minigrad.record(f, *args or [minigrad.tensor(X)], **{"passes": (), **options}).to_dict()
    validate(record)
    return [(read["how"], record["values"][read["value"]]["label"], read["where"]["code"]) for read in record["reads"]]


@pytest.mark.parametrize(
    ("how", "read"),
    [
        ("bool", lambda t: bool(t)),
        ("item", lambda t: t.item()),
        ("float", lambda t: float(t)),
        ("int", lambda t: int(t)),
        ("index", lambda t: [1, 2, 3][t.long()]),
        ("tolist", lambda t: t.tolist()),
        ("numpy", lambda t: t.numpy()),
        ("numpy", lambda t: np.asarray(t)),
        ("numpy", lambda t: np.exp(t)),
        ("allclose", lambda t: minigrad.allclose(t, t)),
        ("is_nonzero", lambda t: minigrad.is_nonzero(t)),
    ],
)
def test_python_reads_a_value_by_the_name_of_what_it_calls(how, read):
    def f(x):
        total = x.sum()
        read(total)
        return total

    assert how in [one for one, *_ in reads(f)]


def test_a_read_has_the_value_and_the_users_line():
    def f(x):
        loss = (x * x).sum()
        if loss > 10:
            loss = loss / loss.item()
        return loss

    first, second = reads(f)
    assert (first[0], first[2]) == ("bool", "if loss > 10:")
    assert second == ("item", "loss", "loss = loss / loss.item()")


@pytest.mark.parametrize(
    ("how", "compute", "read"),
    [
        ("getitem", lambda x, mask: x[mask], "mask"),
        ("getitem", lambda x, mask: x[x > 0] + mask.sum(), "v0"),
        ("nonzero", lambda x, mask: x.nonzero() + mask.sum(), "x"),
        ("masked_select", lambda x, mask: x.masked_select(mask), "mask"),
        ("unique", lambda x, mask: x.unique() + mask.sum(), "x"),
        ("repeat_interleave", lambda x, mask: x.repeat_interleave(mask.long()), "v1"),
        ("one_hot", lambda x, mask: minigrad.nn.functional.one_hot(mask.long()) + x[0], "v0"),
    ],
)
def test_elements_that_decide_on_a_shape_are_read(how, compute, read):
    found = reads(compute, minigrad.tensor(X), minigrad.tensor([True, False, True]))
    assert [one[:2] for one in found] == [(how, read)]


def test_a_mask_that_decides_on_no_shape_is_not_read():
    def f(x):
        y = minigrad.where(x > 0, x, 0.0).clone()
        y[x < 0] = 1.0
        return y.masked_fill(x > 2, 0.0)

    assert reads(f) == []


def test_text_that_shows_a_tensor_is_no_read():
    def f(x):
        total = x.sum()
        repr(x), str(x), f"{total:.3f}", f"{x}", x.shape, len(x), list(x)
        return total

    assert reads(f) == []


def test_every_round_of_a_loop_reads_its_own_value_and_a_value_is_read_once_a_line():
    def f(x):
        while (x := x / 2).abs().max() > 0.5:
            [x.sum().item() for _ in range(2)]
        return x

    found = reads(f)
    assert [how for how, *_ in found] == ["bool", "item", "item", "bool", "item", "item", "bool"]
    assert len(set(found)) == len(found)


def test_the_elements_at_that_moment_are_read():
    def f(x):
        y = x * 1
        y.sum().item()
        float(y[0])
        y.add_(1)
        float(y[0])
        return y

    record = minigrad.record(f, minigrad.tensor(X), passes=()).to_dict()
    found = [record["values"][read["value"]]["summary"]["values"] for read in record["reads"] if read["how"] == "float"]
    assert found == [1.0, 2.0]


class Half(Function):
    @staticmethod
    def forward(ctx, x):
        assert x.sum().item() > -100
        return minigrad.tensor(x.numpy() / 2)

    @staticmethod
    def backward(ctx, g):
        return minigrad.tensor(g.numpy() / 2) if g.sum() > -100 else g


@pytest.mark.parametrize("inside", [False, True])
def test_what_a_custom_function_reads_is_its_own_affair(inside):
    def f(x):
        y = Half.apply(x) * 2
        y.sum().backward()
        return y

    assert reads(f, minigrad.tensor(X, requires_grad=True), passes="backward", inside=inside) == []


def test_a_read_changes_nothing_else_in_the_record():
    def f(x, look):
        y = x.detach().requires_grad_()
        if look:
            y.tolist(), x.tolist()
        z = (y * x).exp()
        if look:
            z.tolist()
        return z.sum()

    x = minigrad.tensor(X, requires_grad=True)
    without = lambda look: minigrad.record(f, x, look).to_dict() | {"reads": []}
    assert without(True) == without(False)


def test_a_read_under_a_transform_belongs_to_the_value_below():
    def f(x):
        return minigrad.func.grad(lambda x: x.sum() * (2.0 if x.sum() > 0 else 3.0))(x)

    assert [how for how, *_ in reads(f)] == ["bool"]


def test_damaged_reads_are_refused():
    record = minigrad.record(lambda x: x if x.sum() > 0 else -x, minigrad.tensor(X), passes=()).to_dict()
    record["reads"][0]["value"] = 99
    with pytest.raises(NotARecord, match=r"reads\[0\].value: 99 is not a value"):
        validate(record)
