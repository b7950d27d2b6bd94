"""Pinned memory without a GPU: requests for it raise, as in PyTorch; tests/kernels/cuda/test_pinned.py has the rest."""

import pytest

import minigrad as torch
from minigrad.ops import transfer


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch):
    monkeypatch.setattr(transfer, "count", lambda: 0)


REQUESTS = {
    "pin_memory": lambda: torch.ones(2, device="cpu").pin_memory(),
    "ones": lambda: torch.ones(2, pin_memory=True, device="cpu"),
    "rand": lambda: torch.rand(2, pin_memory=True, device="cpu"),
    "empty_like": lambda: torch.empty_like(torch.ones(2, device="cpu"), pin_memory=True),
    "tensor": lambda: torch.tensor([1.0], pin_memory=True, device="cpu"),
    "new_zeros": lambda: torch.ones(2, device="cpu").new_zeros(3, pin_memory=True),
    "new_full": lambda: torch.ones(2, device="cpu").new_full((3,), 1.0, pin_memory=True),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_memory_cannot_be_pinned(name):
    with pytest.raises(
        RuntimeError, match=f"{name}: memory is pinned for a GPU or another accelerator, and there is none"
    ):
        REQUESTS[name]()


def test_nothing_is_pinned():
    assert not torch.ones(2, device="cpu").is_pinned() and not torch.ones(2, pin_memory=False, device="cpu").is_pinned()
    assert torch.ones(2, device="meta", pin_memory=True).is_meta and not torch.ones(2, device="meta").is_pinned()


def test_saved_tensors_are_not_pinned():
    x = torch.ones(2, device="cpu", requires_grad=True)
    with torch.autograd.graph.save_on_cpu(pin_memory=True):
        y = (x * x).sum()
    y.backward()
    assert x.grad.tolist() == [2.0, 2.0]
