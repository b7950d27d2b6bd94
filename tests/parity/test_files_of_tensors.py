"""Files both ways: torch.load reads what minigrad.save writes, and the other way round."""

import io
import pickle
import warnings
from collections import Counter, OrderedDict

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import minigrad
from tests.parity.test_schedules import SCHEDULES, optimizer_of, same, stepped

DTYPES = "float16 bfloat16 float32 float64 int8 int16 int32 int64 uint8 bool".split()
LIBRARIES = ((minigrad, torch), (torch, minigrad))


def file_of(obj, library, **options):
    """Return the object in a file that a library has written."""
    file = io.BytesIO()
    library.save(obj, file, **options)
    file.seek(0)
    return file


def over(obj, writer, reader, **options):
    """Return what one library reads from a file of the other."""
    return reader.load(file_of(obj, writer), **options)


def numbers(t):
    """Return the elements of a tensor of either library."""
    return t.detach().float().tolist() if "bfloat16" in str(t.dtype) else t.tolist()


def assert_same(a, b):
    """Check that two tensors, one of each library, agree in everything."""
    assert tuple(a.shape) == tuple(b.shape) and a.storage_offset() == b.storage_offset()
    for n, *steps in zip(a.shape, a.stride(), b.stride()):
        assert len(set(steps)) == 1 or n == 1 or not a.numel()  # where a stride says nothing
    assert str(a.dtype).rpartition(".")[2] == str(b.dtype).rpartition(".")[2]
    assert a.requires_grad == b.requires_grad and a.is_leaf == b.is_leaf
    assert numbers(a) == numbers(b) and a.untyped_storage().nbytes() == b.untyped_storage().nbytes()


@st.composite
def layouts(draw):
    """Return elements of a storage, and tensors in it: sizes, strides, offset, whether each requires grad."""
    dtype = draw(st.sampled_from(DTYPES))
    views = []
    for _ in range(draw(st.integers(1, 3))):
        shape = tuple(draw(st.lists(st.integers(0, 4), max_size=3)))
        stride = tuple(draw(st.integers(0, 5)) for _ in shape)
        views.append((shape, stride, draw(st.integers(0, 3)), draw(st.booleans())))
    needed = [
        o + sum((n - 1) * s for n, s in zip(shape, stride)) + 1 for shape, stride, o, _ in views if 0 not in shape
    ]
    return dtype, max([3, *needed]) + draw(st.integers(0, 2)), views


@pytest.mark.parametrize("writer, reader", LIBRARIES, ids=["minigrad to torch", "torch to minigrad"])
@settings(deadline=None, max_examples=60)
@given(layout=layouts())
def test_tensors_of_any_layout_on_shared_memory(writer, reader, layout):
    dtype, size, views = layout
    memory = (writer.arange(size) % (2 if dtype == "bool" else 128)).to(getattr(writer, dtype))
    made = []
    for shape, stride, offset, tracked in views:
        t = writer.as_strided(memory, shape, stride, offset).detach()
        made.append(t.requires_grad_() if tracked and t.is_floating_point() else t)
    found = over(made, writer, reader)
    for a, b in zip(made, found):
        assert_same(a, b)
    first, *others = [t.untyped_storage().data_ptr() for t in found]
    assert all(other == first for other in others)


def network(library):
    """Return a small residual network, as a class of a library's modules."""
    nn = library.nn

    class Block(nn.Module):
        def __init__(self, channels, out, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(channels, out, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(out)
            self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(out)
            self.relu = nn.ReLU(inplace=True)
            self.down = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

        def forward(self, x):
            y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
            return self.relu(y + self.down(x))

    return nn.Sequential(
        nn.Conv2d(3, 8, 7, 2, 3), nn.MaxPool2d(3, 2, 1), Block(8, 8, 1), Block(8, 16, 2), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(16, 5),
    )  # fmt: skip


def trained(library, state=None, optimizer_state=None, steps=2):
    """Return the network after some steps of training, its optimizer, its schedule and the last loss."""
    library.manual_seed(0)
    model = network(library)
    if state is not None:
        model.load_state_dict(state)
    optimizer = library.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.1)
    if optimizer_state is not None:
        optimizer.load_state_dict(optimizer_state)
    schedule = library.optim.lr_scheduler.MultiStepLR(optimizer, [1, 1, 3])
    x = library.tensor(np.random.default_rng(0).normal(size=(4, 3, 16, 16)).astype("f4"))
    loss = None
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        schedule.step()
    return model, optimizer, schedule, loss


@pytest.mark.parametrize("writer, reader", LIBRARIES, ids=["minigrad to torch", "torch to minigrad"])
def test_training_goes_on_in_the_other_library(writer, reader):
    model, optimizer, schedule, loss = trained(writer)
    parts = {"model": model, "optimizer": optimizer, "schedule": schedule}
    saved = {"epoch": 2, "loss": loss, **{name: part.state_dict() for name, part in parts.items()}}
    found = over(saved, writer, reader)
    assert found["epoch"] == 2 and found["loss"].requires_grad and found["loss"].item() == loss.item()
    assert list(found["model"]) == list(saved["model"])
    here = trained(writer, saved["model"], saved["optimizer"])
    there = trained(reader, found["model"], found["optimizer"])
    for a, b in zip(here[0].parameters(), there[0].parameters()):
        np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), 1e-3, 1e-4)
    there[2].load_state_dict(found["schedule"])
    assert there[2].milestones == Counter([1, 1, 3]) and there[2].last_epoch == 2


@pytest.mark.parametrize("writer, reader", LIBRARIES, ids=["minigrad to torch", "torch to minigrad"])
@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.filterwarnings("ignore")
def test_a_schedule_goes_on_in_the_other_library(name, writer, reader):
    here, there = (optimizer_of(library) for library in (writer, reader))
    schedule, other = (SCHEDULES[name](lib.optim.lr_scheduler, o) for lib, o in ((writer, here), (reader, there)))
    stepped(here, schedule, 4)
    found = over([here.state_dict(), schedule.state_dict()], writer, reader)
    for part, state in zip((there, other), found):
        part.load_state_dict(state)
    assert other.state_dict().keys() == schedule.state_dict().keys()
    same(stepped(there, other, 8), stepped(here, schedule, 8))


@pytest.mark.parametrize("writer, reader", LIBRARIES, ids=["minigrad to torch", "torch to minigrad"])
def test_everything_else_comes_over(writer, reader):
    p, x = writer.nn.Parameter(writer.ones(2)), writer.ones(3)
    p.tag, x.note = "a", [1]
    state = OrderedDict(w=p)
    state._metadata = OrderedDict([("", {"version": 1})])
    obj = {"p": p, "x": x, "state": state, "frozen": writer.nn.Parameter(writer.ones(1), requires_grad=False),
           "dtype": writer.bfloat16, "size": writer.ones(2, 3).shape, "device": writer.device("cuda", 1), "cpu": x.device,
           "layout": writer.strided, "loss": (p * 2).sum(), 1: [True, None, 2.5, 2**70, "é", b"\xff", -3, (1, (2,))],
           "set": {1, 2}, "count": Counter("aab"), "complex": 2j, "array": bytearray(b"ab"), 2.5: {}, (1, "a"): []}  # fmt: skip
    found = over(obj, writer, reader)
    assert type(found["p"]) is reader.nn.Parameter and found["p"].requires_grad and found["p"].tag == "a"
    assert found["state"]["w"] is found["p"] and found["state"]._metadata == state._metadata and found["x"].note == [1]
    assert type(found["frozen"]) is reader.nn.Parameter and not found["frozen"].requires_grad
    assert found["dtype"] is reader.bfloat16 and found["layout"] is reader.strided and found["loss"].is_leaf
    assert type(found["size"]) is reader.Size and found["size"] == (2, 3)
    assert found["device"] == reader.device("cuda", 1) and found["cpu"] == reader.device("cpu")
    for name in (1, "set", "count", "complex", "array", 2.5, (1, "a")):
        assert found[name] == obj[name]


def test_arrays_of_numpy_come_from_torch():
    found = over([np.float32(2), np.arange(3), np.ones((2, 2), ">f8", order="F"), np.bool_(True)], torch, minigrad)
    assert found[0] == 2 and found[1].tolist() == [0, 1, 2] and found[2].dtype == ">f8" and found[3]


def test_files_are_mapped_both_ways(tmp_path):
    for writer, reader in LIBRARIES:
        writer.save({"a": writer.arange(5), "b": writer.ones(2, dtype=writer.bool)}, tmp_path / "x.pt")
        found = reader.load(tmp_path / "x.pt", mmap=True)
        assert found["a"].tolist() == [0, 1, 2, 3, 4] and found["b"].tolist() == [True, True]


def test_a_file_without_checksums_is_read_where_nothing_is_checked(tmp_path):
    torch.serialization.set_crc32_options(False)
    try:
        torch.save(torch.arange(3), tmp_path / "x.pt")
    finally:
        torch.serialization.set_crc32_options(True)
    with pytest.raises(pickle.UnpicklingError, match="checksum"):
        minigrad.load(tmp_path / "x.pt")
    assert minigrad.load(tmp_path / "x.pt", mmap=True).tolist() == [0, 1, 2]


def test_what_minigrad_has_not_is_named():
    for obj, told in (
        (torch.ones(2, dtype=torch.complex64), "ComplexFloatStorage"),
        (torch.ones(2, dtype=torch.uint16), "uint16"),
        (torch.uint32, "torch.uint32"),
        (torch.eye(2).to_sparse(), "a sparse tensor"),
    ):
        with pytest.raises(pickle.UnpicklingError, match=f"{told}.*minigrad does not have"):
            over([obj], torch, minigrad)


def test_the_memory_of_a_tensor_comes_over():
    x = torch.arange(3)
    assert bytes(over(x.untyped_storage(), torch, minigrad).tolist()) == x.numpy().tobytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # typed storages are deprecated there
        assert over(minigrad.arange(3).storage(), minigrad, torch).tolist() == [0, 1, 2]


# ---------------------------------------------------------------------- whole modules, in files that are trusted
X, ROWS, IDS = (4, 3, 8, 8), (2, 5, 8), np.array([[1, 2], [3, 4]])
MODULES = [
    (lambda nn: nn.Linear(8, 3), ROWS),
    (lambda nn: nn.Conv2d(3, 4, 3, padding="same", padding_mode="reflect"), X),
    (lambda nn: nn.ConvTranspose2d(3, 2, 2, stride=2), X),
    (lambda nn: nn.BatchNorm2d(3), X),
    (lambda nn: nn.LayerNorm(8), ROWS),
    (lambda nn: nn.GroupNorm(1, 3), X),
    (lambda nn: nn.InstanceNorm2d(3), X),
    (lambda nn: nn.Embedding(10, 4, padding_idx=0), IDS),
    (lambda nn: nn.Sequential(nn.GELU("tanh"), nn.LeakyReLU(0.2), nn.PReLU(), nn.Softmax(-1), nn.MaxPool2d(2)), X),
    (lambda nn: nn.Sequential(nn.AvgPool2d(2), nn.AdaptiveAvgPool2d(2), nn.Upsample(scale_factor=2), nn.Flatten()), X),
    (
        lambda nn: nn.Sequential(nn.ZeroPad2d(1), nn.Hardtanh(-1, 2), nn.CELU(), nn.Softplus(), nn.Dropout(0.3).eval()),
        X,
    ),
    (lambda nn: nn.LSTM(8, 4, batch_first=True, num_layers=2, bidirectional=True), ROWS),
    (lambda nn: nn.GRU(8, 4), ROWS),
    (lambda nn: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True), 2).eval(), ROWS),
]


@pytest.mark.parametrize("make, shape", MODULES, ids=[str(i) for i in range(len(MODULES))])
def test_a_whole_module_of_torch_becomes_minigrads(make, shape):
    torch.manual_seed(0)
    model = make(torch.nn)
    found = over(model, torch, minigrad, weights_only=False)
    assert isinstance(found, minigrad.nn.Module)
    given = shape if isinstance(shape, np.ndarray) else np.random.default_rng(0).normal(size=shape).astype("f4")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        a, b = model(torch.tensor(given)), found(minigrad.tensor(given))
    a, b = (out[0] if isinstance(out, tuple) else out for out in (a, b))
    np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), 1e-4, 1e-5)
    again = over(found, minigrad, minigrad, weights_only=False)
    assert repr(again) == repr(found)


def test_a_class_of_torch_that_is_not_here_is_named():
    with pytest.raises(pickle.UnpicklingError, match=r"an object of torch.nn.modules.\w+.FractionalMaxPool2d, which"):
        over(torch.nn.FractionalMaxPool2d(2, 1), torch, minigrad, weights_only=False)
    model = torch.nn.Linear(1, 1)
    model.register_forward_hook(print)
    with pytest.raises(RuntimeError, match=r"_forward_hooks, which minigrad cannot load(.|\n)*state_dict"):
        over(model, torch, minigrad, weights_only=False)


def test_an_optimizer_of_torch_becomes_minigrads():
    w = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1, momentum=0.9)
    found = over([w, optimizer], torch, minigrad, weights_only=False)
    for (p, each), library in (([w, optimizer], torch), (found, minigrad)):
        for _ in range(2):
            each.zero_grad()
            (p * p).sum().backward()
            each.step()
        assert p is each.param_groups[0]["params"][0] and library.is_tensor(p)
    assert found[0].tolist() == w.tolist()
