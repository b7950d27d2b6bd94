"""How tensors print (that it is PyTorch's text is in tests/parity/test_printing.py)."""

import numpy as np
import pytest

import minigrad
from minigrad.record.summary import summary

PLAIN = pytest.mark.cpu("the text of a tensor on a GPU names the device: tests/kernels/cuda/test_transfers.py")


@PLAIN
@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: minigrad.tensor([1.0, 2.0]), "tensor([1., 2.])"),
        (lambda: minigrad.tensor([1.0, 2.5]), "tensor([1.0000, 2.5000])"),
        (lambda: minigrad.tensor([1e-5, 1.0]), "tensor([1.0000e-05, 1.0000e+00])"),
        (lambda: minigrad.tensor([[1, 20], [300, 4]]), "tensor([[  1,  20],\n        [300,   4]])"),
        (lambda: minigrad.tensor(2.5), "tensor(2.5000)"),
        (lambda: minigrad.tensor([True, False]), "tensor([ True, False])"),
        (lambda: minigrad.tensor([float("nan"), float("inf"), 1.0]), "tensor([nan, inf, 1.])"),
        (lambda: minigrad.zeros(0, 3), "tensor([], size=(0, 3))"),
        (lambda: minigrad.zeros(0, dtype=minigrad.int64), "tensor([], dtype=minigrad.int64)"),
        (lambda: minigrad.ones(1, dtype=minigrad.float64), "tensor([1.], dtype=minigrad.float64)"),
        (lambda: minigrad.ones(1, requires_grad=True), "tensor([1.], requires_grad=True)"),
        (lambda: minigrad.ones(1, requires_grad=True) * 2, "tensor([2.], grad_fn=<MulBackward0>)"),
        (lambda: minigrad.arange(1001), "tensor([   0,    1,    2,  ...,  998,  999, 1000])"),
    ],
)
def test_repr(make, text):
    assert repr(make()) == str(make()) == text


@PLAIN
def test_options_are_set_for_a_block_and_reset():
    x = minigrad.tensor([1.23456])
    with minigrad.printoptions(precision=2):
        assert repr(x) == "tensor([1.23])"
    assert repr(x) == "tensor([1.2346])"
    minigrad.set_printoptions(sci_mode=True, edgeitems=2)
    try:
        assert repr(x) == "tensor([1.2346e+00])"
        assert minigrad.get_printoptions()["edgeitems"] == 2
    finally:
        minigrad.set_printoptions(profile="default")
    assert minigrad.get_printoptions() == {
        "precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None,
    }  # fmt: skip


def test_unknown_profile_raises():
    with pytest.raises(ValueError, match="profile"):
        minigrad.set_printoptions(profile="long")


@PLAIN
def test_numbers_are_formatted_as_numbers():
    assert f"{minigrad.tensor(2.5):.3f}" == "2.500"
    assert f"{minigrad.tensor(2.5, requires_grad=True)}" == "2.5"
    assert f"{minigrad.ones(2)}" == "tensor([1., 1.])"
    with pytest.raises(TypeError):
        format(minigrad.ones(2), ".3f")


def test_a_tensor_inside_a_transform_prints():
    seen = []
    minigrad.vmap(lambda x: seen.append((repr(x), f"{x.sum()}")) or x)(minigrad.ones(2, 3))
    assert "tensor([[1., 1., 1.]," in seen[0][0]


@PLAIN
@pytest.mark.parametrize(
    "shape", [(10**9, 10**9), (10**18,), (2, 3, 10**15), (7,) * 20, (2,) * 60, (0, 10**18), (1, 10**9, 1)]
)
def test_an_expanded_tensor_of_any_size_prints(shape):
    x = minigrad.zeros(1).expand(*shape)
    assert repr(x) == str(x) == f"{x}" and len(repr(x)) < 5000 and repr(x).startswith("tensor(")


@PLAIN
@pytest.mark.parametrize("edge", [0, 1, 2, 3])
@pytest.mark.parametrize("shape", [(40, 50), (3, 1001), (2000, 1), (6, 20, 30), (1500,)])
def test_the_text_of_an_expanded_tensor_equals_that_of_its_copy(shape, edge):
    x = minigrad.arange(shape[-1]).expand(*shape)
    with minigrad.printoptions(edgeitems=edge):
        assert repr(x) == repr(x.contiguous())


def test_numbers_of_very_large_tensors_are_not_shown():
    x = minigrad.zeros(1, device="cpu").expand(*[6] * 9)
    assert repr(x) == "tensor(..., size=(6, 6, 6, 6, 6, 6, 6, 6, 6))"


def test_the_summary_of_an_expanded_array_equals_that_of_its_copy():
    a = np.linspace(0, 1, 120).reshape(40, 3)
    a[0, 0] = np.nan
    wide = np.broadcast_to(a[:, None], (40, 7, 3))
    found, expected = summary(wide), summary(wide.copy())
    assert found.pop("histogram") == expected.pop("histogram") and found.pop("grid") == expected.pop("grid")
    assert found == pytest.approx(expected)
    assert summary(np.broadcast_to(np.float32(2), (10**9, 10**9)))["max"] == 2


def test_an_array_that_does_not_fit_in_memory_is_an_error():
    x = minigrad.ones(1, requires_grad=True).expand(10**9, 10**9)
    with pytest.raises(MemoryError, match=r"not enough memory: shape \(1000000000, 1000000000\)"):
        minigrad.explain_shape(x)
    (expanded,) = [v for v in minigrad.record_of(x).to_dict()["values"] if v["shape"] == [10**9, 10**9]]
    assert expanded["summary"]["max"] == 1  # from the one number in memory
