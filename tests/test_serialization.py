"""save and load: what comes back."""

import io
import os
import pickle
import subprocess
import sys
import tracemalloc
import zipfile
from collections import Counter, OrderedDict
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import minigrad
from minigrad import nn
from minigrad.ops.storage import Storage

from .archives import packed, pickled


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
           "ordered": OrderedDict(a=1), "array": np.arange(3), "number": np.float64(2), "layout": minigrad.strided,
           "count": Counter("aab"), "complex": 2j, "bytes": b"\xff", "sets": [{1}, frozenset("a")]}  # fmt: skip
    found = again(obj)
    assert found["x"] is found["same"] and found["x"].stride() == (1, 3)
    found["x"][1, 0] = 9.0
    assert found["part"][0, 0].item() == 9.0 and x[1, 0].item() == 1.0
    assert found["dtype"] is minigrad.int8 and found["size"] == (3, 2) and found["device"] == x.device
    assert found["leaf"].requires_grad and type(found["parameter"]) is nn.Parameter
    for name in ("layout", "count", "complex", "bytes", "sets"):
        assert found[name] == obj[name]
    assert found["n"] == obj["n"] and found["ordered"] == obj["ordered"] and found["array"].tolist() == [0, 1, 2]


def test_code_is_read_only_from_trusted_files():
    model = nn.Linear(2, 1)
    with pytest.raises(pickle.UnpicklingError, match="weights_only"):
        again(model)
    assert (again(model, weights_only=False).weight == model.weight).all()
    with pytest.raises(pickle.UnpicklingError, match="builtins.eval"):
        again(eval)


def test_attributes_of_tensors_and_of_state_dicts_come_back():
    p = nn.Parameter(minigrad.ones(1))
    p.note, state = {"a": 1}, OrderedDict(w=p)
    state._metadata = OrderedDict(version=2)
    x = minigrad.ones(2)
    x.note = "mine"
    found = again({"x": x, "state": state})
    assert found["x"].note == "mine" and found["state"]["w"].note == {"a": 1}
    assert found["state"]._metadata == {"version": 2}


def test_what_was_computed_comes_back_as_a_leaf():
    loss = (minigrad.ones(2, requires_grad=True) * 2).sum()
    found = again({"loss": loss})["loss"]
    assert found.item() == 4.0 and found.is_leaf and found.requires_grad


class Note(minigrad.Tensor):
    """A user's class of tensors."""


@pytest.mark.parametrize("weights_only", [True, False])
def test_a_users_class_comes_back(weights_only):
    x = Note([1.0, 1.0])
    with minigrad.serialization.safe_globals([Note]):
        found = again([x], weights_only=weights_only)
    assert type(found[0]) is type(x) and found[0].tolist() == [1.0, 1.0]


def test_elements_that_lie_across_those_of_a_row_are_copied():
    x = minigrad.from_numpy(np.array([(1, 2.5), (2, 3.5)], "i1,f4")["f1"])
    assert again(x).tolist() == [2.5, 3.5] and again(x).stride() == (1,)
    assert again(minigrad.from_numpy(np.ones((3, 4), order="F"))).stride() == (1, 3)


def test_two_dtypes_on_one_memory_are_refused():
    x = minigrad.ones(2)
    with pytest.raises(RuntimeError, match="same memory as float32 and as int32(.|\n)*clone"):
        again([x, x.view(minigrad.int32)])


def test_the_memory_of_a_tensor_comes_back_as_storage():
    x = minigrad.arange(3)
    found = again([x.storage(), x])
    assert isinstance(found[0], Storage) and found[0].tolist() == [0, 1, 2]
    found[1][0] = 9
    assert found[0][0] == 9


def test_a_deep_list_comes_back():
    obj: list = []
    for _ in range(150):
        obj = [obj]
    assert again(obj) == obj


# ---------------------------------------------------------------------- the ways to read
def test_memory_that_is_mapped_is_written_to_and_the_file_stays(tmp_path):
    minigrad.save(minigrad.ones(3), tmp_path / "x.pt")
    found = minigrad.load(tmp_path / "x.pt", mmap=True)
    found += 1
    assert found.tolist() == [2.0] * 3 and minigrad.load(str(tmp_path / "x.pt")).tolist() == [1.0] * 3
    with pytest.raises(ValueError, match="mmap argument"):
        minigrad.load(io.BytesIO(), mmap=True)


def test_numbers_of_the_other_order_of_bytes_are_turned_round():
    file = packed(pickled(minigrad.ones(2)), [np.array([1, 2], ">f4").tobytes()], byteorder=b"big")
    assert minigrad.load(file).tolist() == [1.0, 2.0]


def test_a_file_can_be_written_and_read_in_any_protocol():
    obj = {
        "x": minigrad.ones(2),
        "a": np.arange(3, dtype="f4"),
        "n": np.int8(2),
        "s": {1},
        "b": b"b",
        "d": minigrad.int8,
    }
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        file = io.BytesIO()
        minigrad.save(obj, file, pickle_protocol=protocol)
        file.seek(0)
        found = minigrad.load(file)
        assert found["x"].tolist() == [1.0, 1.0] and found["a"].dtype == "f4" and found["a"].tolist() == [0, 1, 2]
        assert {k: found[k] for k in "nsbd"} == {k: obj[k] for k in "nsbd"}


def test_a_pickler_in_c_is_refused():
    class OnlyC:
        Pickler = pickle.Pickler

    with pytest.raises(TypeError, match="written in Python"):
        minigrad.save(1, io.BytesIO(), pickle_module=OnlyC)
    with pytest.raises(NotImplementedError, match="zip format"):
        minigrad.save(1, io.BytesIO(), _use_new_zipfile_serialization=False)


def test_a_module_for_pickle_means_trust():
    file = io.BytesIO()
    minigrad.save(Fraction(1, 2), file, pickle_module=pickle)
    file.seek(0)
    assert minigrad.load(file, pickle_module=pickle) == Fraction(1, 2)
    file.seek(0)
    with pytest.raises(RuntimeError, match="explicit pickle_module"):
        minigrad.load(file, weights_only=True, pickle_module=pickle)


def test_a_file_at_its_end_says_how_to_go_back():
    file = io.BytesIO()
    minigrad.save(1, file)
    with pytest.raises(pickle.UnpicklingError, match=r"ends at its current position(.|\n)*f.seek\(0\)"):
        minigrad.load(file)


def test_a_pipe_is_not_read():
    read, write = os.pipe()
    os.close(write)
    with open(read, "rb") as file, pytest.raises(AttributeError, match="seekable(.|\n)*BytesIO"):
        minigrad.load(file)


# ---------------------------------------------------------------------- names that the user allows
class Place:
    """A class with a state."""

    def __init__(self, n):
        self.n = n

    def __eq__(self, other):
        return type(other) is Place and vars(self) == vars(other)


def test_a_class_that_is_called_safe_is_read():
    file = io.BytesIO()
    minigrad.save({"half": Fraction(1, 2), "place": Place(3)}, file)
    file.seek(0)
    names = minigrad.serialization.get_unsafe_globals_in_checkpoint(file)
    assert names == ["fractions.Fraction", f"{Place.__module__}.Place"]
    with pytest.raises(pickle.UnpicklingError, match="add_safe_globals"):
        minigrad.load(file)
    with minigrad.serialization.safe_globals([Fraction, (Place, names[1])]):
        assert not minigrad.serialization.get_unsafe_globals_in_checkpoint(file)
        assert minigrad.load(file) == {"half": Fraction(1, 2), "place": Place(3)}
    assert minigrad.serialization.get_safe_globals() == []


def test_parts_of_os_are_never_safe():
    with pytest.raises(RuntimeError, match="could run any code"):
        minigrad.serialization.add_safe_globals([os.system])


# ---------------------------------------------------------------------- devices
def test_what_map_location_raises_is_not_blamed_on_the_file():
    with pytest.raises(RuntimeError, match="map_location raised TypeError"):
        again(minigrad.ones(2), map_location=lambda memory: memory)


@pytest.mark.skipif(minigrad.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("place", ["cuda:0", "mps", "xla:1"])
def test_a_file_from_another_device_is_read_without_it_where_that_is_asked(weights_only, place):
    here, there = (b"X" + len(name).to_bytes(4, "little") + name.encode() for name in ("cpu", place))
    file = packed(pickled(minigrad.ones(2)).replace(here, there), [np.ones(2, "f4").tobytes()])
    with pytest.raises(RuntimeError, match=rf"2 elements on {place}(.|\n)*map_location='cpu'"):
        minigrad.load(file, weights_only=weights_only)
    for where in ("cpu", {place: "cpu"}, lambda memory, name: memory if name == place else None):
        file.seek(0)
        assert minigrad.load(file, map_location=where, weights_only=weights_only).tolist() == [1.0, 1.0]


def test_a_gpu_is_not_there():
    assert not minigrad.cuda.is_available() and minigrad.cuda.device_count() == 0
    with pytest.raises(RuntimeError, match="CUDA"):
        again(1, map_location="cuda")


# ---------------------------------------------------------------------- writing
def test_a_save_that_fails_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "model.pt"
    minigrad.save({"a": 1}, path)
    path.chmod(0o640)
    with pytest.raises((AttributeError, pickle.PicklingError)):
        minigrad.save([minigrad.ones(2), lambda: None], path)
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


class Full(io.BytesIO):
    """A disk that is full after 1000 bytes."""

    def write(self, content):
        if self.tell() + len(memoryview(content)) > 1000:
            raise OSError("no space left on device")
        return super().write(content)


def test_what_breaks_off_is_not_completed():
    file = Full()
    with pytest.raises(OSError, match="no space left"):
        minigrad.save(minigrad.ones(1000), file)
    assert not zipfile.is_zipfile(io.BytesIO(file.getvalue()))


def test_tensors_begin_at_multiples_of_64_bytes():
    file = io.BytesIO()
    file.write(b"before")  # an archive may stand behind something else
    minigrad.save([minigrad.full((3,), float(i)) for i in range(1, 20)], file)
    for i in range(1, 20):
        assert file.getvalue().index(np.full(3, i, "f4").tobytes()) % 64 == 0


def test_saving_and_loading_make_no_second_copy_of_the_tensors(tmp_path):
    x = minigrad.ones(4_000_000)
    tracemalloc.start()
    minigrad.save([x, x[1:]], tmp_path / "x.pt")
    saving = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    found = minigrad.load(tmp_path / "x.pt")
    loading = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert saving < 1_000_000 and loading < 17_000_000 and found[1].sum() == 3_999_999


def test_halves_come_back():
    assert again(minigrad.ones(2, dtype=minigrad.bfloat16))._a.dtype == ml_dtypes.bfloat16


@pytest.mark.parametrize("given", [1, minigrad.tensor(True), 2.5, None])
def test_a_number_is_no_file_and_its_descriptor_stays_open(given):
    with pytest.raises(TypeError, match="argument 'f' must be a path or a file to read from"):
        minigrad.load(given)
    assert os.fstat(1)
