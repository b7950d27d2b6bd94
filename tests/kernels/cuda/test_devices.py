"""Tensors on two devices, and the ways between them."""

import numpy as np
import pytest

import minigrad as torch
from minigrad.kernels.cuda.allocator import ALLOCATOR
from tests.functions import custom

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


def test_the_gradient_of_a_number_on_the_processor_is_there_too():
    w = torch.tensor(0.5, requires_grad=True)
    (X * w).sum().backward()
    (X * (w * 2)).sum().backward()
    assert w.grad.device.type == "cpu" and w.grad.item() == 6.0 + 12.0
    s = w * 2
    for t in (w, s):
        (g,) = torch.autograd.grad((X * s).sum(), t)
        assert g.device.type == "cpu" and g.item() == (12.0 if t is w else 6.0)
    g, _ = torch.autograd.grad((X * w * W[0]).sum(), (w, W), create_graph=True)
    assert g.device.type == "cpu" and g.requires_grad


def test_there_is_one_gpu():
    with pytest.raises(RuntimeError, match="tensors are on the first GPU, cuda:0, not on cuda:1"):
        torch.ones(2, device="cuda:1")


def test_numpy_has_no_memory_on_the_device():
    with pytest.raises(TypeError, match=r"x\.cpu\(\)\.numpy\(\)"):
        X.numpy()
    assert (X.numpy(force=True) == np.ones((2, 3))).all()


def test_tensors_are_made_where_the_program_says():
    with torch.device("cuda"):
        assert torch.zeros(2).is_cuda and torch.tensor([1]).is_cuda and not torch.ones(1, device="cpu").is_cuda
    assert not torch.zeros(2).is_cuda
    assert torch.zeros_like(X).is_cuda and X.new_ones(3).is_cuda and torch.rand_like(X).is_cuda


W = torch.ones(3, 3, device="cuda", requires_grad=True)
INDEX = torch.tensor([0, 1])
MIXED = {
    "matmul": lambda: X @ Y.T,
    "linear": lambda: torch.nn.Linear(3, 2)(X),
    "cat": lambda: torch.cat([X, Y]),
    "stack": lambda: torch.stack([X, X, Y]),
    "layer_norm": lambda: torch.nn.LayerNorm(3)(X),
    "batch_norm": lambda: torch.nn.BatchNorm1d(3)(X),
    "conv1d": lambda: torch.nn.Conv1d(3, 1, 1)(X.T[None]),
    "embedding": lambda: torch.nn.Embedding(4, 3)(INDEX.cuda()),
    "gather": lambda: X.gather(0, torch.tensor([[0, 1, 0]])),
    "scatter": lambda: X.scatter(0, torch.tensor([[0, 1, 0]], device="cuda"), Y),
    "index_put": lambda: torch.index_put(X, (INDEX,), Y),
    "masked_fill": lambda: X.masked_fill(Y > 0, 0.0),
    "cross_entropy": lambda: torch.nn.functional.cross_entropy(X, INDEX),
    "mse_loss": lambda: torch.nn.functional.mse_loss(X, Y),
    "add": lambda: X.add_(Y),
    "add on the processor": lambda: Y.add_(X),
    "index_add": lambda: X.index_add(0, INDEX.cuda(), Y),
}


@pytest.mark.parametrize("name", MIXED)
def test_no_operation_computes_with_tensors_on_two_devices(name):
    with pytest.raises(RuntimeError, match="expected all tensors to be on the same device") as e:
        MIXED[name]()
    assert "on cuda:0" in str(e.value) and "on cpu" in str(e.value) and __file__ in str(e.value)
    assert str(e.value).startswith(name.split()[0])


def test_indices_may_stay_on_the_processor():
    x = torch.arange(6.0, device="cuda").view(2, 3).clone()
    assert x[torch.tensor([1, 0])].tolist() == [[3.0, 4.0, 5.0], [0.0, 1.0, 2.0]]
    assert x[:, torch.tensor([2, 0])].is_cuda
    x[torch.tensor([0])] = torch.zeros(3, device="cuda")
    x[1] = torch.ones(3)  # a copy goes to where it is written
    assert x.tolist() == [[0.0] * 3, [1.0] * 3]


def test_a_first_gradient_is_on_the_device_of_its_tensor():
    y = W * 2
    for work in (lambda: y.backward(torch.ones(3, 3)), lambda: torch.autograd.grad(y, W, torch.ones(3, 3))):
        with pytest.raises(RuntimeError, match=r"gradient of shape \(3, 3\) is on cpu and the tensor on cuda:0"):
            work()


Wrong = custom("Wrong", forward=lambda ctx, x: x * 2, backward=lambda ctx, g: torch.ones(3, 3))


class Both(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, a, b):
        assert a.device == b.device
        return 2 * a + 3 * b


def test_gradients_stay_on_the_device():
    y = Wrong.apply(W)
    with pytest.raises(RuntimeError, match=r"leaf of shape \(3, 3\) on cuda:0 is on cpu(.|\n)*your Function"):
        y.backward(torch.ones(3, 3, device="cuda"))
    w = torch.ones(2, device="cuda", requires_grad=True)
    Both.apply(w)[0].backward(torch.ones(2, device="cuda"))
    assert w.grad.tolist() == [2.0, 2.0] and w.grad.is_cuda
    handle = w.register_hook(lambda g: g.cpu())
    with pytest.raises(RuntimeError, match=r"has moved the gradient of shape \(2,\) from cuda:0 to cpu"):
        (w * 2).backward(torch.ones(2, device="cuda"))
    handle.remove()
    w.register_hook(lambda g: g * 10)
    (w * 2).backward(torch.ones(2, device="cuda"))
    assert w.grad.tolist() == [22.0, 22.0]


def test_the_device_meta_does_not_touch_a_gpu():
    here, there = torch.ones(3, device="cuda"), torch.empty(3, device="meta")
    before = ALLOCATOR.allocations
    assert ((there + 1) @ there).is_meta and here.to("meta").is_meta and ALLOCATOR.allocations == before
    assert (here + 1).tolist() == [2.0] * 3
    for operation in (torch.add, torch.dot):
        with pytest.raises(RuntimeError, match=r"of shape \(3,\) on cuda:0 and .* of shape \(3,\) on meta"):
            operation(here, there)
    with pytest.raises(NotImplementedError, match="no data!"):
        there.cuda()


def test_types_of_tensors_name_the_device():
    with torch.as_torch() as ours:
        x = ours.cuda.DoubleTensor([1.0, 2.0])
        assert x.is_cuda and x.dtype is torch.float64 and x.type() == "torch.cuda.DoubleTensor"
        assert isinstance(x, ours.cuda.DoubleTensor) and not isinstance(x, ours.DoubleTensor)
        for back in (x.type(ours.FloatTensor), x.type("torch.FloatTensor")):
            assert back.is_cpu and back.dtype is torch.float32
        there = back.type(ours.cuda.HalfTensor), back.type("torch.cuda.HalfTensor"), x.type(torch.float16)
        assert all(t.is_cuda and t.dtype is torch.float16 and t.tolist() == [1.0, 2.0] for t in there)
