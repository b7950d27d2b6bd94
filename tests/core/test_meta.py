"""The device meta: tensors with a shape, a dtype and an order in memory, and no memory."""

import copy
import io
import tracemalloc

import numpy as np
import pytest

import minigrad as torch
from minigrad import func, nn
from minigrad.nn import functional as F

pytestmark = pytest.mark.cpu("moves between the processor and meta")
LARGE = 10**6


def meta(*shape, **options):
    return torch.empty(*shape, device="meta", **options)


# ---------------------------------------------------------------------- shapes without memory
def loss_and_gradient(size):
    x = meta(size, size, requires_grad=True)
    y = (x.mT @ x + x.exp()).softmax(-1)
    loss = y.sort(-1).values[:, ::2].cumsum(0).mean()
    loss.backward()
    return loss, x.grad


def test_tensors_of_a_trillion_elements_take_no_memory():
    loss_and_gradient(2)  # imports what is needed, which takes seconds while memory is traced
    tracemalloc.start()
    loss, gradient = loss_and_gradient(LARGE)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert loss.shape == () and gradient.shape == (LARGE, LARGE) and gradient.is_meta and most < 50_000_000


def test_views_have_the_strides_that_they_have_elsewhere():
    for view in (lambda x: x.mT, lambda x: x[1:, ::2], lambda x: x.permute(2, 0, 1)[0], lambda x: x.expand(7, 2, 3, 4),
                 lambda x: x.reshape(6, 4).t(), lambda x: x.diagonal(0, 1, 2), lambda x: x.unfold(2, 2, 1)):  # fmt: skip
        here, there = view(torch.zeros(2, 3, 4)), view(meta(2, 3, 4))
        assert there.is_meta and (here.shape, here.stride()) == (there.shape, there.stride())
        assert here.storage_offset() == there.storage_offset() and here.is_contiguous() == there.is_contiguous()


def test_factories_make_meta_tensors():
    made = [torch.zeros(2, device="meta"), torch.ones_like(meta(2)), torch.full((2,), 3, device="meta"), meta(2).new_zeros(2),
            torch.arange(2.0, device="meta"), torch.linspace(0, 1, 2, device="meta"), torch.rand(2, device="meta"),
            torch.randn(2, device="meta"), torch.tensor([1.0, 2.0], device="meta"), torch.ones(2).to("meta"),
            torch.normal(0.0, 1.0, (2,), device="meta"), torch.eye(2, device="meta")[0]]  # fmt: skip
    assert all(t.is_meta and t.shape == (2,) and str(t.device) == "meta" for t in made)
    assert torch.randperm(3, device="meta").dtype == torch.randint(5, (3,), device="meta").dtype == torch.int64
    with torch.device("meta"):
        assert torch.zeros(2).is_meta and not torch.zeros(2, device="cpu").is_meta
    assert not torch.zeros(2).is_meta and torch.empty_like(meta(2, 3), device="cpu").is_cpu


def test_drawing_on_meta_does_not_advance_the_generator():
    torch.manual_seed(0)
    first = torch.rand(2)
    torch.manual_seed(0)
    nn.init.normal_(meta(2)), torch.rand(5, device="meta"), F.dropout(meta(3))
    assert torch.equal(torch.rand(2), first)


def test_in_place_writes_on_meta_have_shapes():
    x = meta(3, 4)
    x[1:] = 2.0
    x[meta(3, 4) > 0] = 1.0
    x[:, torch.zeros(2, dtype=torch.int64, device="meta")] = 0.0
    x += meta(4)
    assert x.copy_(torch.ones(3, 4)).zero_().uniform_().normal_().clamp_(0) is x and x._version > 5
    with pytest.raises(RuntimeError):
        x += meta(5)


def test_transforms_run_on_meta_tensors():
    x = meta(3, 4)
    assert func.grad(lambda a: (a @ a.mT).sum())(x).shape == (3, 4)
    assert func.vmap(lambda a, b: a @ b)(meta(5, 3, 4), meta(5, 4, 2)).shape == (5, 3, 2)
    assert func.jacrev(lambda a: a.exp().sum(0))(x).shape == func.jacfwd(lambda a: a.exp().sum(0))(x).shape == (4, 3, 4)
    assert func.hessian(lambda a: (a**3).sum())(meta(3)).shape == (3, 3)
    compiled = torch.compile(lambda a: (a.sin() + 1).sum(-1))
    assert [compiled(x).shape for _ in range(3)] == [(3,)] * 3 and compiled(torch.zeros(3, 4)).tolist() == [4.0] * 3


# ---------------------------------------------------------------------- modules
def test_a_network_is_trained_on_meta_and_gets_memory_afterwards():
    with torch.device("meta"):
        net = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(8 * 16, 10), nn.Dropout(0.1),
        )  # fmt: skip
        x, y = torch.randn(4, 3, 8, 8), torch.randint(0, 10, (4,))
    optimizer = torch.optim.AdamW(net.parameters())
    F.cross_entropy(net(x), y).backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    assert net[0].weight.grad.is_meta and optimizer.state[net[0].weight]["exp_avg"].is_meta
    weight = net[0].weight
    assert (
        net.to_empty(device="cpu") is net and net[0].weight is weight and weight.is_cpu and net[1].running_mean.is_cpu
    )
    net.load_state_dict(nn.Sequential(*[type(m)(*args) for m, args in made_like(net)]).state_dict())
    assert net(torch.randn(4, 3, 8, 8)).isfinite().all()


def made_like(net):
    """Return the modules of the network above, and what each was made with."""
    given = {nn.Conv2d: (3, 8, 3), nn.BatchNorm2d: (8,), nn.MaxPool2d: (2,), nn.Linear: (128, 10)}
    return [(m, given.get(type(m), ())) for m in net]


def test_larger_models_have_shapes():
    with torch.device("meta"):
        layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
        models = (
            nn.TransformerEncoder(layer, 2),
            nn.LSTM(64, 16, 2, batch_first=True, bidirectional=True),
            nn.GRU(64, 4),
        )
        words, ids = nn.Embedding(1000, 64), torch.randint(0, 1000, (2, 7))
    encoder, lstm, gru = models
    x = encoder(words(ids))
    x.sum().backward()
    assert x.shape == (2, 7, 64) and words.weight.grad.shape == (1000, 64)
    assert lstm(x)[0].shape == (2, 7, 32) and gru(x)[1].shape == (1, 7, 4)


def test_copies_and_files_keep_meta_tensors():
    x = meta(2, 3, dtype=torch.float64)
    obj = {
        "x": x,
        "p": nn.Parameter(meta(2)),
        "leaf": meta(2, requires_grad=True),
        "state": nn.Linear(2, 1, device="meta").state_dict(),
    }
    file = io.BytesIO()
    torch.save(obj, file)
    file.seek(0)
    for found in (torch.load(file), copy.deepcopy(obj)):
        assert all(t.is_meta for t in (found["x"], found["p"], found["leaf"], found["state"]["weight"]))
        assert found["x"].dtype is torch.float64 and type(found["p"]) is nn.Parameter and found["leaf"].requires_grad
    file = io.BytesIO()
    torch.save(torch.ones(2, 3), file)
    file.seek(0)
    assert torch.load(file, map_location="meta").is_meta


def test_shapes_are_explained_and_recorded():
    w = meta(4, 5, requires_grad=True)
    with torch.record(passes=("forward",)) as recording:
        y = (meta(3, 4) @ w).sum(0)
    assert "dimension 1 of w (5), through matmul" in str(torch.explain_shape(y))
    values = recording.to_dict()["values"]
    assert {v["device"] for v in values} == {"meta"} and all(not v["summary"] for v in values)


# ---------------------------------------------------------------------- what is refused
def test_meta_tensors_print_without_numbers():
    assert repr(meta(2, 3)) == "tensor(..., device='meta', size=(2, 3))"
    assert repr(meta(2, dtype=torch.int64)) == "tensor(..., device='meta', size=(2,), dtype=minigrad.int64)"
    assert repr(meta(2, requires_grad=True) * 2) == "tensor(..., device='meta', size=(2,), grad_fn=<MulBackward0>)"
    assert "Storage of 2 elements of float32: ..." in repr(meta(2).storage()) and meta(2).data_ptr() == 0


NUMBERS = {
    "item": (lambda x: x.sum().item(), RuntimeError, "cannot be called on meta tensors"),
    "if": (lambda x: 1 if x.sum() > 0 else 2, RuntimeError, "cannot be called on meta tensors"),
    "float": (lambda x: float(x[0, 0]), RuntimeError, "cannot be called on meta tensors"),
    "tolist": (lambda x: x.tolist(), NotImplementedError, "Cannot copy out of meta tensor; no data!"),
    "cpu": (lambda x: x.cpu(), NotImplementedError, r"no data! It has the shape \(2, 3\)(.|\n)*to_empty"),
    "copy": (lambda x: torch.ones(2, 3).copy_(x), NotImplementedError, "no data!"),
    "numpy": (lambda x: x.numpy(), TypeError, "can't convert a tensor on meta"),
    "nonzero": (lambda x: x.nonzero(), NotImplementedError, "nonzero: the size of the result depends on numbers"),
    "mask": (lambda x: x[x > 0], NotImplementedError, "depends on numbers"),
    "dlpack": (lambda x: np.from_dlpack(x), BufferError, "has no memory to share"),
    "cpu and meta": (lambda x: x + torch.ones(3), RuntimeError, r"of shape \(2, 3\) on meta and other of shape \(3,\) on cpu"),
    "matmul": (lambda x: x @ torch.ones(3, 2), RuntimeError, "same device, but found"),
    "gradient": (lambda x: (x.requires_grad_() * 2).backward(torch.ones(2, 3)), RuntimeError, "on cpu and the tensor on meta"),
}  # fmt: skip


@pytest.mark.parametrize("name", NUMBERS)
def test_reading_numbers_of_a_meta_tensor_is_refused(name):
    does, kind, told = NUMBERS[name]
    with pytest.raises(kind, match=told) as refused:
        does(meta(2, 3))
    assert isinstance(refused.value, torch.MinigradError) and "To fix" in str(refused.value)


def test_0d_tensors_may_be_on_any_device():
    assert (
        (meta(3) * torch.tensor(2.0)).is_meta and (meta(3) + 1).is_meta and (torch.tensor(2.0) * meta(3)).shape == (3,)
    )


def test_a_gradient_cannot_leave_the_meta_device():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(NotImplementedError, match="no data!"):
        x.to("meta").sum().backward()


def test_the_processor_computes_as_before():
    x = torch.arange(3.0, requires_grad=True)
    (x * meta(3).shape[0]).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0, 3.0] and (x @ x).item() == 5.0
    with torch.autograd.detect_anomaly():
        (meta(3, requires_grad=True) * 2).sum().backward()
