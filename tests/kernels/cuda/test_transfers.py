"""Tensors move between devices with their memory order and derivatives: in files, copies, models and optimizers."""

import copy
import io
import pickle

import numpy as np
import pytest

import minigrad as torch
from minigrad.autograd import forward_ad


def saved(obj, **options):
    """Return an object after `save` and `load`."""
    file = io.BytesIO()
    torch.save(obj, file)
    file.seek(0)
    return torch.load(file, **options)


# ---------------------------------------------------------------------- to, cpu, cuda
def test_a_tensor_that_is_there_is_returned_itself():
    x = torch.ones(2, device="cuda")
    assert x.to("cuda") is x and x.cuda() is x and x.to(x) is x and x.to(device=0, non_blocking=True) is x
    assert x.cpu().cpu().is_cpu and x.to("cuda", copy=True).data_ptr() != x.data_ptr()
    assert x.to("cpu", torch.float64).dtype is torch.float64


@pytest.mark.parametrize("there", ["cuda", "cpu"])
def test_the_order_of_memory_is_kept(there):
    x = torch.arange(24.0, device="cpu" if there == "cuda" else "cuda").view(2, 3, 4)
    for view in (x.permute(2, 0, 1), x.mT, x[:, 1:], x[..., ::2], x[0, 0].expand(3, 4), x[:0], x[0, 0, 0]):
        moved = view.to(there)
        assert moved.device.type == there and moved.tolist() == view.tolist()
    assert x.permute(2, 0, 1).to(there).stride() == (1, 12, 4)


def test_transfers_have_derivatives_of_any_order():
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    y = (x.cuda() ** 3).cpu()
    (g,) = torch.autograd.grad(y, x, torch.ones(2, dtype=torch.float64), create_graph=True)
    (h,) = torch.autograd.grad(g, x, torch.ones(2, dtype=torch.float64))
    assert g.tolist() == [3.0, 12.0] and h.tolist() == [6.0, 12.0] and g.is_cpu and h.is_cpu
    assert torch.autograd.gradcheck(lambda x: x.cuda().exp().cpu(), x)
    assert torch.autograd.gradgradcheck(lambda x: x.cuda().exp().cpu(), x)


def test_transfers_carry_tangents_and_run_under_vmap():
    x, t = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    with forward_ad.dual_level():
        out = forward_ad.unpack_dual((forward_ad.make_dual(x, t).cuda() * 2).cpu())
    assert out.tangent.tolist() == [6.0, 8.0]
    found = torch.func.vmap(lambda row: row.cuda() * 2)(torch.ones(3, 2))
    assert found.is_cuda and found.tolist() == [[2.0, 2.0]] * 3
    jac = torch.func.jacrev(lambda x: (x.cuda() * x.cuda()).cpu())(x)
    assert jac.tolist() == [[2.0, 0.0], [0.0, 4.0]]


def test_a_gradient_comes_to_the_device_of_its_leaf():
    x, w = torch.ones(2, requires_grad=True), torch.ones(2, device="cuda", requires_grad=True)
    (x.cuda() * w).cpu().backward(torch.ones(2))
    assert x.grad.is_cpu and w.grad.is_cuda
    with pytest.raises(RuntimeError, match="cuda:0"):
        w.grad = torch.ones(2)


def test_copy_writes_across_devices():
    x, y = torch.zeros(2, 3), torch.zeros(2, 3, device="cuda")
    y.copy_(torch.arange(6.0).view(2, 3))
    x.copy_(y)
    y[0] = 9.0
    y[1] = torch.tensor([1.0, 2.0, 3.0], device="cuda")
    assert x.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]] and y.tolist() == [[9.0] * 3, [1.0, 2.0, 3.0]]


# ---------------------------------------------------------------------- text, numbers, memory
def test_tensors_print_their_numbers_and_their_device():
    assert str(torch.tensor([1.0, 2.5], device="cuda")) == "tensor([1.0000, 2.5000], device='cuda:0')"
    x = torch.arange(1200.0)
    for shape in ((1200,), (2, 600), (30, 40), (12, 1, 100)):
        here, there = str(x.view(shape)), str(x.view(shape).cuda())
        assert there.replace(", device='cuda:0'", "").replace("\n       device='cuda:0'", "") == here
    assert f"{torch.tensor(1.5, device='cuda'):.2f}" == "1.50"


def test_numbers_come_out_of_the_device():
    x = torch.tensor([[1, 2], [3, 4]], device="cuda")
    assert x.tolist() == [[1, 2], [3, 4]] and int(x[0, 0]) == x[0, 0].item() == 1 and [10, 20][x[0, 0]] == 20
    assert torch.tensor([x[0, 0], 5]).tolist() == [1, 5]
    assert x.storage().tolist() == [1, 2, 3, 4] and x.untyped_storage().nbytes() == 32
    assert x.storage().device == x.device and x.storage().data_ptr() == x.data_ptr() and "1 2 3 4" in repr(x.storage())
    assert x[1].storage_offset() == 2 and x.storage().cpu().device.type == "cpu"


def test_debug_mode_notices_a_write_to_what_was_saved():
    with torch.debug():
        x = torch.ones(2, device="cuda", requires_grad=True)
        y = x.exp()
        y.data.zero_()
        with pytest.raises(RuntimeError):
            y.backward(torch.ones(2, device="cuda"))


# ---------------------------------------------------------------------- copies and files
@pytest.mark.parametrize("again", [copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o)), saved])
def test_copies_stay_on_the_device_and_share_what_was_shared(again):
    x = torch.arange(6.0, device="cuda").view(2, 3)
    obj = {
        "x": x,
        "t": x.t(),
        "part": x[1:],
        "leaf": torch.ones(2, device="cuda", requires_grad=True),
        "y": torch.ones(1),
    }
    found = again(obj)
    assert all(found[k].is_cuda for k in ("x", "t", "part", "leaf")) and found["y"].is_cpu
    assert found["leaf"].requires_grad and found["t"].stride() == (1, 3)
    found["x"][1, 0] = 9.0
    assert found["part"][0, 0].item() == found["t"][0, 1].item() == 9.0 and x[1, 0].item() == 3.0


@pytest.mark.parametrize(
    "where",
    [
        "cpu",
        torch.device("cpu"),
        {"cuda:0": "cpu"},
        {"cuda": "cpu"},
        lambda memory, place: memory,
        lambda memory, place: memory.cpu(),
    ],
)
def test_files_are_read_where_they_are_wanted(where):
    x = torch.arange(4.0, device="cuda")
    found = saved({"x": x, "part": x[2:], "y": torch.ones(2)}, map_location=where)
    assert found["x"].is_cpu and found["part"].is_cpu and found["y"].is_cpu
    found["x"][2] = 9.0
    assert found["part"].tolist() == [9.0, 3.0] and found["y"].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("where", ["cuda", 0, {"cpu": "cuda"}, lambda memory, place: memory.cuda()])
def test_files_of_the_processor_are_read_to_the_device(where):
    x = torch.arange(4.0)
    found = saved({"x": x, "part": x[2:], "plain": np.ones(2)}, map_location=where)
    assert found["x"].is_cuda and found["part"].is_cuda and isinstance(found["plain"], np.ndarray)
    found["x"][2] = 9.0
    assert found["part"].tolist() == [9.0, 3.0]


def test_a_function_that_names_no_place_leaves_memory_where_it_was():
    seen = []
    found = saved([torch.ones(1), torch.ones(1, device="cuda")], map_location=lambda memory, place: seen.append(place))
    assert seen == ["cpu", "cuda:0"] and found[0].is_cpu and found[1].is_cuda


# ---------------------------------------------------------------------- models and optimizers
def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Tanh(), torch.nn.Linear(4, 1))


def test_a_model_moves_with_its_gradients_and_its_parameters_stay_themselves():
    net = model()
    for p in net.parameters():
        p.grad = torch.ones_like(p)
    before, tied = list(net.parameters()), net[0].weight
    assert net.cuda() is net and net.to("cuda", non_blocking=True) is net and net.to(0, torch.float32, True) is net
    assert list(map(id, net.parameters())) == list(map(id, before)) and net[0].weight is tied
    assert all(p.is_cuda and p.grad.is_cuda and p.is_leaf for p in net.parameters())
    assert all(b.is_cuda for b in net.buffers()) and net[1].num_batches_tracked.dtype is torch.int64
    assert all(p.is_cpu and p.grad.is_cpu for p in net.cpu().parameters())
    assert all(p.is_cuda for p in torch.nn.Linear(2, 2, device="cuda").parameters())


def test_a_state_dict_moves_between_devices():
    here, there = model(), model().cuda()
    state = there.state_dict()
    assert all(t.is_cuda for t in state.values())
    here.load_state_dict(saved(state, map_location="cpu"))
    there.load_state_dict(here.state_dict())
    assert all(p.is_cuda for p in there.parameters()) and all(p.is_cpu for p in here.parameters())
    assert here[0].weight.tolist() == there[0].weight.tolist()


OPTIMIZERS = {
    "SGD": {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
    "Adam": {"lr": 0.1, "amsgrad": True},
    "AdamW": {"lr": 0.1},
    "RMSprop": {"lr": 0.1, "centered": True, "momentum": 0.5},
    "Adagrad": {"lr": 0.1},
}


@pytest.mark.parametrize("name", [n for n in OPTIMIZERS if hasattr(torch.optim, n)])
def test_optimizers_step_on_the_device_as_on_the_processor(name):
    def trained(place):
        w = torch.tensor([[1.0, -2.0], [0.5, 3.0]], device=place, requires_grad=True)
        optimizer = getattr(torch.optim, name)([w], **OPTIMIZERS[name])
        for _ in range(3):
            optimizer.zero_grad()
            (w * w * w).backward(torch.ones(2, 2, device=place))
            optimizer.step()
        for state in optimizer.state.values():
            assert all(s.device == w.device for s in state.values() if isinstance(s, torch.Tensor) and s.ndim)
        return w

    here, there = trained("cpu"), trained("cuda")
    assert there.is_cuda
    np.testing.assert_allclose(there.detach().cpu().numpy(), here.detach().numpy(), rtol=1e-5)


def test_an_optimizers_state_is_loaded_to_the_device_of_its_parameters():
    w, v = torch.ones(2, requires_grad=True), torch.ones(2, device="cuda", requires_grad=True)
    first, second = torch.optim.Adam([w]), torch.optim.Adam([v])
    w.grad, v.grad = torch.ones(2), torch.ones(2, device="cuda")
    first.step()
    second.load_state_dict(first.state_dict())
    assert second.state[v]["exp_avg"].is_cuda
    second.step()


# ---------------------------------------------------------------------- where tensors are made
def test_the_default_device_and_what_wins_over_it():
    make = [lambda **k: torch.zeros(2, **k), lambda **k: torch.ones(2, **k), lambda **k: torch.full((2,), 1.0, **k),
            lambda **k: torch.empty(2, **k), lambda **k: torch.arange(3, **k), lambda **k: torch.linspace(0, 1, 3, **k),
            lambda **k: torch.eye(2, **k), lambda **k: torch.tensor([1.0], **k), lambda **k: torch.rand(2, **k),
            lambda **k: torch.randn(2, **k), lambda **k: torch.randperm(3, **k), lambda **k: torch.randint(3, (2,), **k),
            lambda **k: torch.as_tensor([1.0], **k), lambda **k: torch.scalar_tensor(1.0, **k),
            lambda **k: torch.tril_indices(2, 2, **k), lambda **k: torch.empty_strided((2,), (1,), **k)]  # fmt: skip
    torch.set_default_device("cuda")
    try:
        assert torch.get_default_device() == torch.device("cuda:0")
        assert all(f().is_cuda and f(device="cpu").is_cpu for f in make)
        assert torch.nn.Linear(2, 2).weight.is_cuda
        with torch.device("cpu"):
            assert all(f().is_cpu and f(device="cuda").is_cuda for f in make)
        host = torch.zeros(2, device="cpu")
        assert torch.zeros_like(host).is_cpu and host.new_ones(2).is_cpu and torch.from_numpy(np.ones(2)).is_cpu
        assert torch.tensor(host.detach().clone().numpy()).is_cuda
    finally:
        torch.set_default_device(None)
    assert all(f().is_cpu for f in make)


@pytest.mark.parametrize("shape", [(2, 3), (), (0,), (5,)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64, torch.bool])
def test_tensors_of_one_value_are_made_on_the_device(shape, dtype):
    like = torch.empty(shape, dtype=dtype, device="cuda")
    for there, value in ((torch.zeros(shape, dtype=dtype, device="cuda"), 0), (torch.ones_like(like), 1),
                         (torch.full(shape, True, dtype=dtype, device="cuda"), 1), (like.new_zeros(shape), 0),
                         (like.new_full(shape, 1), 1), (like.fill_(1), 1)):  # fmt: skip
        assert there.is_cuda and there.dtype is dtype
        np.testing.assert_array_equal(there.cpu().numpy(), np.full(shape, value))
