"""Tensors on two devices, and the ways between them."""

import numpy as np
import pytest

import minigrad as torch

X = torch.ones(2, 3, device="cuda")
Y = torch.ones(2, 3)


@pytest.mark.parametrize(
    "mixed",
    [
        lambda: X + Y,
        lambda: torch.where(X > 0, X, Y),
        lambda: torch.nn.functional.silu(X) * Y.T.T,
        lambda: torch.hypot(X, Y),
    ],
)
def test_tensors_on_two_devices_are_both_named(mixed):
    with pytest.raises(RuntimeError) as e:
        mixed()
    assert "of shape (2, 3) on cuda:0" in str(e.value) and "of shape (2, 3) on cpu" in str(e.value)
    assert ".cuda()" in str(e.value) and __file__ in str(e.value)


def test_a_single_number_may_stay_on_the_processor():
    assert ((X * torch.tensor(2.0)).cpu() == 2).all()


def test_there_is_one_gpu():
    with pytest.raises(RuntimeError, match="tensors are on the first GPU, cuda:0; cuda:1 was asked for"):
        torch.ones(2, device="cuda:1")


def test_transfers_are_differentiable():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x.cuda() * 3).to("cpu").sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    assert g.device.type == "cpu" and g.tolist() == [3.0, 3.0]


def test_numpy_has_no_memory_on_the_device():
    with pytest.raises(TypeError, match=r"x\.cpu\(\)\.numpy\(\)"):
        X.numpy()
    assert (X.numpy(force=True) == np.ones((2, 3))).all()


def test_tensors_are_made_where_the_program_says():
    with torch.device("cuda"):
        assert torch.zeros(2).is_cuda and torch.tensor([1]).is_cuda and not torch.ones(1, device="cpu").is_cuda
    assert not torch.zeros(2).is_cuda
    assert torch.zeros_like(X).is_cuda and X.new_ones(3).is_cuda and torch.rand_like(X).is_cuda
