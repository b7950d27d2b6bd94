"""save and load: what comes back, and what is not read."""

import io
import os
import pickle
import pickletools
import random
import subprocess
import sys
from collections import OrderedDict

import ml_dtypes
import numpy as np
import pytest

import minigrad
from minigrad import nn
from minigrad.kernels.cuda import device_array
from minigrad.tensors import conversion


def again(obj, **options):
    file = io.BytesIO()
    minigrad.save(obj, file)
    file.seek(0)
    return minigrad.load(file, **options)


def test_a_state_dict_comes_back_from_a_file(tmp_path):
    model, other = nn.Linear(3, 2), nn.Linear(3, 2)
    minigrad.save(model.state_dict(), tmp_path / "model.pt")
    other.load_state_dict(minigrad.load(tmp_path / "model.pt", map_location="cpu"))
    x = minigrad.ones(1, 3)
    assert (model(x) == other(x)).all()


def test_everything_plain_comes_back():
    x = minigrad.arange(6.0).view(2, 3).t()
    obj = {"x": x, "same": x, "part": x[1:], "dtype": minigrad.int8, "size": x.shape, "device": x.device,
           "leaf": minigrad.ones(2, requires_grad=True), "parameter": nn.Parameter(minigrad.ones(1)),
           "n": [1, 2.5, None, (True, "a")],
           "ordered": OrderedDict(a=1), "array": np.arange(3), "number": np.float64(2)}  # fmt: skip
    found = again(obj)
    assert found["x"] is found["same"] and found["x"].stride() == (1, 3)
    found["x"][1, 0] = 9.0
    assert found["part"][0, 0].item() == 9.0 and x[1, 0].item() == 1.0
    assert found["dtype"] is minigrad.int8 and found["size"] == (3, 2) and found["device"] == x.device
    assert found["leaf"].requires_grad and type(found["parameter"]) is nn.Parameter
    assert found["n"] == obj["n"] and found["ordered"] == obj["ordered"] and found["array"].tolist() == [0, 1, 2]


def test_code_is_read_only_from_trusted_files():
    model = nn.Linear(2, 1)
    with pytest.raises(pickle.UnpicklingError, match="weights_only"):
        again(model)
    assert (again(model, weights_only=False).weight == model.weight).all()
    with pytest.raises(pickle.UnpicklingError, match="builtins"):
        again(eval)


def test_a_gpu_is_not_there():
    assert not minigrad.cuda.is_available() and minigrad.cuda.device_count() == 0
    with pytest.raises(RuntimeError, match="CUDA"):
        again(1, map_location="cuda")


class OnGpu:
    """What the memory of a GPU is in a file."""

    def __reduce__(self):
        return device_array.uploaded, (np.ones(2, np.float32),)


class TensorOnGpu:
    """What a tensor there is."""

    def __reduce__(self):
        return conversion.restore_view, (minigrad.Tensor, OnGpu(), (2,), np.dtype(np.float32), 0, (4,), False)


@pytest.mark.skipif(minigrad.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("weights_only", [True, False])
def test_a_file_from_a_gpu_is_read_without_one_where_that_is_asked(weights_only):
    with pytest.raises(RuntimeError, match=r"2 elements on cuda:0(.|\n)*map_location='cpu'"):
        again(TensorOnGpu(), weights_only=weights_only)
    for where in ("cpu", {"cuda:0": "cpu"}, lambda memory, place: memory):
        found = again([TensorOnGpu()], map_location=where, weights_only=weights_only)
        assert found[0].tolist() == [1.0, 1.0]


# ---------------------------------------------------------------------- files that nobody has to trust
class Says:
    """Stands in a file for a call of f(*args), and what is set on what comes out."""

    def __init__(self, f, *args, state=None):
        self.said = (f, args) if state is None else (f, args, state)

    def __reduce__(self):
        return self.said


def pointers():
    return Says(np.ndarray, (2,), np.dtype("O"), b"A" * 16)


def methods_replaced():
    return Says(conversion.restore, minigrad.Tensor, np.ones(2), False, None, state={"backward": 1})


def doubled(n):
    """A tuple of the last one twice, n times: 2**n parts in 6*n bytes."""
    return b")\x94" + b"".join(b"h" + bytes([i]) + b"\x86\x94" for i in range(n))


def bools():
    a = np.array([True, False])
    a.view("u1")[0] = 7
    return Says(conversion.restore, minigrad.Tensor, a, False, None)


ATTACKS = {
    "a call of a function": lambda: Says(os.system, "true"),
    "a builtin": lambda: eval,
    "an array of objects": lambda: np.array([1, "a", None], object),
    "pointers": pointers,
    "an array of texts": lambda: np.array(["a", "b"]),
    "a structure": lambda: np.zeros(2, "i4,f8"),
    "a number that is an object": lambda: Says(np._core.multiarray.scalar, np.dtype("O"), b"12345678"),
    "a method of a tensor": methods_replaced,
    "a tensor of texts": lambda: Says(conversion.restore, minigrad.Tensor, np.array(["a"]), False, None),
    "a tensor of an array that is none": lambda: Says(conversion.restore, minigrad.Tensor, "abc", False, None),
    "a tensor of another class": lambda: Says(conversion.restore, np.ndarray, np.ones(2), False, None),
    "integers that require grad": lambda: Says(conversion.restore, minigrad.Tensor, np.arange(3), True, None),
    "a grad": lambda: Says(conversion.restore, minigrad.Tensor, np.ones(2), True, minigrad.ones(2)),
    "a view past the end": lambda: Says(
        conversion.restore_view, minigrad.Tensor, np.ones(2), (3,), np.dtype("f8"), 0, (8,), False
    ),
    "a view before the beginning": lambda: Says(
        conversion.restore_view, minigrad.Tensor, np.ones(2), (2,), np.dtype("f8"), 8, (-16,), False
    ),
    "a view of objects": lambda: Says(
        conversion.restore_view, minigrad.Tensor, np.ones(2), (2,), np.dtype("O"), 0, (8,), False
    ),
    "numbers that lie across each other": lambda: Says(
        conversion.restore_view, minigrad.Tensor, np.ones(2), (3,), np.dtype("f8"), 0, (4,), False
    ),
    "a class": lambda: minigrad.Tensor,
    "a function": lambda: {"f": (1, [conversion.restore])},
    "a key that is a class": lambda: {minigrad.Tensor: 1},
    "a class in a note": lambda: Says(
        conversion.restore, minigrad.Tensor, np.ones(2), False, None, state={"note": minigrad.Tensor}
    ),
    "other bools": bools,
    "numbers of the other order of bytes": lambda: Says(
        conversion.restore, minigrad.Tensor, np.ones(2, ">f4"), False, None
    ),
    "a state of a shape": lambda: Says(minigrad.Size, (1,), state={"numel": 1}),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_what_is_neither_a_tensor_nor_plain_is_refused(name):
    file = io.BytesIO(pickle.dumps([ATTACKS[name]()], 4))
    with pytest.raises(pickle.UnpicklingError, match="^load: ") as told:
        minigrad.load(file)
    assert isinstance(told.value, minigrad.MinigradError) and "To fix" in str(told.value)


def test_a_name_is_not_printed_that_would_command_the_terminal():
    names = b"".join(b"\x8c" + bytes([len(part)]) + part for part in (b"os\x1b[2J", b"system"))
    with pytest.raises(pickle.UnpicklingError, match="a name that is no identifier") as told:
        minigrad.load(io.BytesIO(b"\x80\x04" + names + b"\x93."))
    assert "\x1b" not in str(told.value)


@pytest.mark.parametrize("key", [b")" + b"\x85" * 1_000_000, doubled(30)], ids=["deep", "doubled"])
def test_a_key_of_very_many_tuples_is_refused(key):
    with pytest.raises(pickle.UnpicklingError, match="very many tuples"):
        minigrad.load(io.BytesIO(b"\x80\x04}(" + key + b"K\x01u."))


def named(module, name):
    """The instructions that push a function or class of which a file may name."""
    return b"".join(b"\x8c" + bytes([len(part)]) + part.encode() for part in (module, name)) + b"\x93"


@pytest.mark.parametrize("attribute", ["backward", "numel", "__defaults__", "__code__", "__class__"])
@pytest.mark.parametrize(
    "name",
    [
        ("minigrad.core.tensor", "Tensor"),
        ("minigrad.nn.parameter", "Parameter"),
        ("minigrad.arrays.devices", "Size"),
        ("minigrad.arrays.devices", "device"),
        ("minigrad.tensors.conversion", "restore"),
        ("numpy._core.multiarray", "_reconstruct"),
        ("numpy", "ndarray"),
        ("collections", "OrderedDict"),
    ],
)
def test_no_attribute_of_a_class_or_function_is_set(name, attribute):
    state = b"}\x8c" + bytes([len(attribute)]) + attribute.encode() + b"K\x01s"
    for content in (state, b"N" + state + b"\x86"):  # __setstate__'s two forms: a dictionary, and one for slots
        with pytest.raises(pickle.UnpicklingError, match="a state of something that has none"):
            minigrad.load(io.BytesIO(b"\x80\x04" + named(*name) + content + b"b."))


def test_nothing_is_changed_by_a_file():
    before = {cls: dict(vars(cls)) for cls in (minigrad.Tensor, minigrad.Size, minigrad.device)}
    for make in ATTACKS.values():
        with pytest.raises(pickle.UnpicklingError):
            minigrad.load(io.BytesIO(pickle.dumps(make(), 4)))
    assert before == {cls: dict(vars(cls)) for cls in before}


def real_files():
    """Files of every kind of value."""
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    optimizer = minigrad.optim.Adam(model.parameters())
    model(minigrad.ones(4, 3)).sum().backward()
    optimizer.step()
    x = minigrad.arange(6.0).view(2, 3).t()
    x.note = "mine"
    plain = {"x": x, "part": x[1:], 1: [True, None, 2.5, 2**70, "é", b"b"], "set": {1, (2, "a")}, "frozen": frozenset("ab"),
             "size": x.shape, "device": x.device, "dtype": minigrad.bfloat16, "array": np.arange(3, dtype=">i2"),
             "number": np.float32(2), "half": minigrad.ones(2, dtype=minigrad.bfloat16),
             "bool": x > 1, "ordered": OrderedDict(a=1), "generator": minigrad.get_rng_state()}  # fmt: skip
    for obj in (model.state_dict(), optimizer.state_dict(), plain, nn.Parameter(minigrad.ones(2, 2))):
        file = io.BytesIO()
        minigrad.save(obj, file)
        yield file.getvalue()


def mutated(content, chance):
    """The file with some bytes changed, moved, left out or put in."""
    content = bytearray(content)
    for _ in range(chance.choice((1, 1, 1, 2, 4, 16))):
        i, j = chance.randrange(len(content)), chance.randrange(len(content))
        how = chance.randrange(6)
        if how == 0:
            content[i] ^= 1 << chance.randrange(8)
        elif how == 1:
            content[i] = chance.randrange(256)
        elif how == 2:
            content[i], content[j] = content[j], content[i]
        elif how == 3:
            del content[i : i + chance.randrange(1, 9)]
        elif how == 4:
            content[i:i] = content[j : j + chance.randrange(1, 33)]
        else:
            content[i] = chance.choice(OPCODES)
        if not content:
            return b""
    return bytes(content)


OPCODES = [ord(op.code) for op in pickletools.opcodes]


def tensors(value, seen):
    """The tensors in what was read, each of which can be computed with."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, minigrad.Tensor):
        yield value
    elif isinstance(value, dict):
        for part in [*value.keys(), *value.values()]:
            yield from tensors(part, seen)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for part in value:
            yield from tensors(part, seen)


@pytest.mark.parametrize("seed", [0, *[pytest.param(i, marks=pytest.mark.slow) for i in range(1, 50)]])
def test_a_damaged_file_is_read_right_or_refused(seed):
    chance, files, read = random.Random(seed), list(real_files()), 0
    for content in files:
        assert minigrad.load(io.BytesIO(content)) is not None
    for _ in range(2000):
        content = mutated(chance.choice(files), chance)
        try:
            found = minigrad.load(io.BytesIO(content))
        except pickle.UnpicklingError as e:
            assert isinstance(e, minigrad.MinigradError)
            continue
        read += 1
        for t in tensors(found, set()):
            assert t.dtype in (minigrad.bool, minigrad.bfloat16) or repr(t)
            assert not t.requires_grad or t.is_floating_point()
            t.float().sum()
    assert read  # a bit of a number was changed, say


def test_what_map_location_raises_is_not_blamed_on_the_file():
    with pytest.raises(RuntimeError, match="map_location has raised TypeError"):
        again(minigrad.ones(2), map_location=lambda memory: memory)


# ---------------------------------------------------------------------- writing
def test_a_save_that_fails_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "model.pt"
    minigrad.save({"a": 1}, path)
    path.chmod(0o640)
    with pytest.raises(RuntimeError, match="only leaf tensors"):
        minigrad.save([minigrad.ones(2), minigrad.ones(2, requires_grad=True) * 2], path)
    assert minigrad.load(path) == {"a": 1} and os.listdir(tmp_path) == ["model.pt"]
    minigrad.save({"a": 2}, path)
    assert minigrad.load(path) == {"a": 2} and path.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pipes and links in folders")
def test_a_link_and_a_pipe_stay_what_they_are(tmp_path):
    target, link, pipe = tmp_path / "model.pt", tmp_path / "link.pt", tmp_path / "pipe"
    link.symlink_to(target)
    minigrad.save([1], link)
    assert link.is_symlink() and minigrad.load(target) == [1]
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE)
    minigrad.save([2], pipe)
    assert minigrad.load(io.BytesIO(reader.communicate(timeout=60)[0])) == [2] and pipe.is_fifo()


def test_halves_come_back():
    assert again(minigrad.ones(2, dtype=minigrad.bfloat16))._a.dtype == ml_dtypes.bfloat16
