"""`load` reads untrusted files right, or refuses them with one kind of error."""

import ast
import io
import os
import pickle
import pickletools
import random
import struct
import zipfile
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

import minigrad
from minigrad import nn
from minigrad.ops.storage import Storage
from minigrad.serialization.pickle_writer import REBUILD_NOTED, REBUILD_PARAMETER, REBUILD_TENSOR, SIZE
from minigrad.serialization.rebuild import PARAMETER, TENSOR, Name

from .archives import Says, packed, pickled
from .garbage import limited

FLOATS = [np.arange(6, dtype="f4").tobytes()]


def memory(dtype="f4", size=6):
    """Return the storage that a file names "0"."""
    return Storage(np.zeros(size, dtype))


def tensor(offset=0, shape=(6,), stride=(1,), tracked=False, dtype="f4", state=None, **rest):
    """Return a tensor as a file may write it."""
    args = (memory(dtype, **rest), offset, shape, stride, tracked, OrderedDict())
    return Says(REBUILD_TENSOR, *args, state=state)


def noted(state, make=REBUILD_TENSOR, cls=TENSOR):
    """Return a tensor with attributes as a file may write it."""
    return Says(REBUILD_NOTED, make, cls, (memory(), 0, (2,), (1,), False, OrderedDict()), state)


def nested(n):
    """Return the arguments that let the function which makes tensors with attributes call itself n times."""
    args = (REBUILD_TENSOR, TENSOR, (memory(), 0, (2,), (1,), False, OrderedDict()), {})
    for _ in range(n):
        args = (REBUILD_NOTED, TENSOR, args, {})
    return args


def doubled(n):
    """Return a tuple of the last one twice, n times: 2**n parts in 6*n bytes."""
    return b")\x94" + b"".join(b"h" + bytes([i]) + b"\x86\x94" for i in range(n))


ATTACKS = {
    "a call of a function": lambda: Says(os.system, "true"),
    "a builtin": lambda: eval,
    "a class of Python": lambda: Says(dict, ()),
    "an array of objects": lambda: np.array([1, "a", None], object),
    "pointers": lambda: Says(np.ndarray, (2,), np.dtype("O"), b"A" * 16),
    "an array of texts": lambda: np.array(["a", "b"]),
    "a structure": lambda: np.zeros(2, "i4,f8"),
    "a number that is an object": lambda: Says(np._core.multiarray.scalar, np.dtype("O"), b"12345678"),
    "a method of a tensor": lambda: noted({"backward": 1}),
    "a method of a state_dict": lambda: Says(OrderedDict, state={"items": 1}),
    "a state of a tensor": lambda: tensor(state={"a": 1}),
    "attributes that are none": lambda: noted([1]),
    "a tensor of an array that is none": lambda: Says(REBUILD_TENSOR, "abc", 0, (1,), (1,), False, OrderedDict()),
    "a tensor of another class": lambda: noted({}, cls=np.ndarray),
    "a tensor of the user's class": lambda: noted({}, cls=Name("users", "Tensor")),
    "what makes no tensor": lambda: noted({}, make=SIZE),
    "a maker of makers": lambda: Says(REBUILD_NOTED, *nested(100)),
    "integers that require grad": lambda: tensor(tracked=True, dtype="i4"),
    "a parameter of integers": lambda: Says(REBUILD_PARAMETER, tensor(dtype="i4"), True, OrderedDict()),
    "a parameter of a list": lambda: Says(REBUILD_PARAMETER, [1.0], True, OrderedDict()),
    "requires_grad that is a number": lambda: tensor(tracked=1),
    "a tensor past the end": lambda: tensor(shape=(7,)),
    "a tensor past the end by its offset": lambda: tensor(offset=1),
    "an offset behind the end": lambda: tensor(offset=7, shape=(0,)),
    "a tensor past the end by its stride": lambda: tensor(shape=(2, 3), stride=(4, 1)),
    "a stride that overflows": lambda: tensor(shape=(5,), stride=(1 << 62,)),
    "a size that overflows": lambda: tensor(shape=(1 << 62, 4), stride=(0, 0)),
    "a stride below 0": lambda: tensor(offset=5, stride=(-1,)),
    "a size below 0": lambda: tensor(shape=(-1,)),
    "a size that is a bool": lambda: tensor(shape=(True,)),
    "a size that is a float": lambda: tensor(shape=(1.0,)),
    "fewer strides than sizes": lambda: tensor(shape=(2, 3)),
    "very many dimensions": lambda: tensor(shape=(1,) * 1000, stride=(1,) * 1000),
    "a storage that is too short": lambda: tensor(size=7),
    "a storage of another dtype": lambda: [tensor(), tensor(dtype="i4")],
    "a bool that is neither": lambda: tensor(dtype="?"),
    "a storage that is not there": lambda: [tensor(), tensor()],
    "a class": lambda: TENSOR,
    "a function": lambda: {"f": (1, [REBUILD_TENSOR])},
    "a key that is a class": lambda: {TENSOR: 1},
    "a class in a note": lambda: noted({"note": PARAMETER}),
    "a class in an attribute": lambda: Says(OrderedDict, state={"_metadata": TENSOR}),
    "a state of a shape": lambda: Says(SIZE, (1,), state={"numel": 1}),
    "a shape below 0": lambda: Says(SIZE, (-1,)),
    "a device that is none": lambda: Says(Name("torch", "device"), "x" * 10),
    "a dtype that minigrad has not": lambda: Name("torch", "complex64"),
    "a sparse tensor": lambda: Says(Name("torch._utils", "_rebuild_sparse_tensor"), 1),
    "another layout": lambda: Says(Name("torch.serialization", "_get_layout"), "torch.sparse_coo"),
}


def refused(file, match="^load: "):
    """Return the message of `load` for a file that it refuses."""
    with pytest.raises(pickle.UnpicklingError, match=match) as told:
        minigrad.load(file)
    assert isinstance(told.value, minigrad.MinigradError) and "To fix" in str(told.value)
    return str(told.value)


@pytest.mark.parametrize("name", ATTACKS)
def test_what_is_neither_a_tensor_nor_plain_is_refused(name):
    storages = [b"\7" * 24] if name == "a bool that is neither" else FLOATS
    refused(packed(pickled([ATTACKS[name]()]), storages))


def test_what_they_look_like_is_read():
    """Or the attacks above would be refused for another reason."""
    for made in (tensor(), tensor(shape=(2, 2), stride=(0, 1)), noted({"note": 1}), tensor(shape=(0,), offset=6)):
        assert minigrad.load(packed(pickled(made), FLOATS)) is not None


def test_nothing_is_changed_by_a_file():
    before = {cls: dict(vars(cls)) for cls in (minigrad.Tensor, minigrad.Size, minigrad.device)}
    for make in ATTACKS.values():
        refused(packed(pickled(make()), [b"\7" * 24]))
    assert before == {cls: dict(vars(cls)) for cls in before}


def test_a_name_is_not_printed_that_would_command_the_terminal():
    for names in (
        b"cos\x1b[2J\nsystem\n",
        b"".join(b"\x8c" + bytes([len(p)]) + p for p in (b"os\x1b", b"a")) + b"\x93",
    ):
        assert "\x1b" not in refused(packed(b"\x80\x04" + names + b"."), "a name that is not an identifier")


@pytest.mark.parametrize("key", [b")" + b"\x85" * 1_000_000, doubled(30)], ids=["deep", "doubled"])
def test_a_key_of_very_many_tuples_is_refused(key):
    refused(packed(b"\x80\x04}(" + key + b"K\x01u."), "too many tuples")


def test_a_value_is_not_copied_over_and_over():
    values = b"(" + b"K\1" * 100_000 + b"tq\0\x85q\1"  # a million bytes of it in each of 5 bytes
    refused(packed(b"\x80\x02(ctorch\nSize\nq\2" + values + b"h\2h\1R" * 10_000 + b"t."), "over and over")


@pytest.mark.parametrize("attribute", ["backward", "numel", "__defaults__", "__code__", "__class__"])
@pytest.mark.parametrize(
    "name", [TENSOR, PARAMETER, SIZE, REBUILD_TENSOR, Name("numpy", "ndarray"), Name("collections", "OrderedDict")]
)
def test_no_attribute_of_a_class_or_function_is_set(name, attribute):
    state = b"}\x8c" + bytes([len(attribute)]) + attribute.encode() + b"K\x01s"
    for content in (state, b"N" + state + b"\x86"):  # __setstate__'s two forms: a dictionary, and one for slots
        named = f"c{name.module}\n{name.name}\n".encode()
        refused(packed(b"\x80\x04" + named + content + b"b."), "a state for an object that has none")


# ---------------------------------------------------------------------- the container
def test_a_packed_entry_is_refused():
    bomb = packed(pickled(tensor(size=10_000_000)), [bytes(40_000_000)], compression=zipfile.ZIP_DEFLATED)
    refused(bomb, "a compressed entry")


def directory_changed(file, name, **fields):
    """Return the file with other fields in the entry of its directory that has this name."""
    content = bytearray(file.getvalue())
    at = content.index(b"PK\1\2", 0)
    while not content[at + 46 :].startswith(name):
        at = content.index(b"PK\1\2", at + 1)
    for field, value in fields.items():
        place, size = {"crc": (16, "<L"), "packed": (20, "<L"), "size": (24, "<L"), "offset": (42, "<L")}[field]
        struct.pack_into(size, content, at + place, value)
    return io.BytesIO(content)


CONTAINERS = {
    "a checksum that differs": (dict(crc=1), "checksum"),
    "more bytes than there are": (dict(size=1 << 30, packed=1 << 30), "more bytes"),
    "a size that is not the packed one": (dict(size=1 << 30), "bytes in"),
    "fewer bytes than the tensor needs": (dict(size=20, packed=20), "20 bytes in"),
    "an entry behind the end": (dict(offset=1 << 30), "no entry where"),
    "an entry that is none": (dict(offset=1), "no entry where"),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_directory_that_is_wrong_is_refused(name):
    fields, told = CONTAINERS[name]
    refused(directory_changed(packed(pickled(tensor()), FLOATS), b"archive/data/0", **fields), told)


def test_one_entry_is_not_read_as_many_storages():
    storage, n = bytes(100_000), 50
    many = pickled([tensor(size=25_000) for _ in range(n)])
    file = packed(many, [storage], more=[(f"archive/data/{i}", b"") for i in range(1, n)])
    first = zipfile.ZipFile(file).getinfo("archive/data/0")
    for i in range(1, n):
        fields = dict(size=100_000, packed=100_000, offset=first.header_offset, crc=first.CRC)
        file = directory_changed(file, b"archive/data/%d" % i, **fields)
    refused(file, "more bytes")


def test_entries_of_one_name_and_files_without_a_pickle_are_refused():
    with pytest.warns(UserWarning, match="Duplicate name"):
        twice = packed(pickled(1), more=[("archive/data.pkl", pickled(2))])
    refused(twice, "two entries of one name")
    refused(packed(pickled(1), more=[("other/data.pkl", pickled(2))]), "2 entries called data.pkl")
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.txt", "b")
    file.seek(0)
    refused(file, "0 entries called data.pkl")


def test_other_files_are_refused():
    refused(packed(pickled(1), byteorder=b"middle"), "the byte order")
    refused(packed(pickled(1), more=[("archive/constants.pkl", b"")]), "TorchScript")
    refused(io.BytesIO(pickle.dumps({"a": 1})), "not a zip archive.s")
    refused(io.BytesIO(b""), "ends at its current position")
    whole = packed(pickled(tensor()), FLOATS).getvalue()
    for n in range(1, len(whole), 7):
        refused(io.BytesIO(whole[:n]))


def test_a_key_does_not_lead_out_of_the_archive(tmp_path):
    content = pickled(tensor()).replace(b"X\1\0\0\0000", b"X\x0b\0\0\0../../x.pkl"[:-1] + b"l")
    refused(packed(content, FLOATS, more=[("x.pkl", FLOATS[0])]))


# ---------------------------------------------------------------------- changed at random
def real_files():
    """Yield pickles of every kind of value, each with its storages."""
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    optimizer = minigrad.optim.Adam(model.parameters())
    model(minigrad.ones(4, 3)).sum().backward()
    optimizer.step()
    x = minigrad.arange(6.0).view(2, 3).t()
    x.note = "mine"
    plain = {"x": x, "part": x[1:], 1: [True, None, 2.5, 2**70, "é", b"b"], "set": {1, (2, "a")}, "frozen": frozenset("ab"),
             "size": x.shape, "device": x.device, "dtype": minigrad.bfloat16, "array": np.arange(3, dtype=">i2"),
             "number": np.float32(2), "half": minigrad.ones(2, dtype=minigrad.bfloat16), "layout": minigrad.strided,
             "bool": x > 1, "ordered": OrderedDict(a=1), "generator": minigrad.get_rng_state()}  # fmt: skip
    for obj in (model.state_dict(), optimizer.state_dict(), plain, nn.Parameter(minigrad.ones(2, 2))):
        for protocol in (2, 4):
            file = io.BytesIO()
            minigrad.save(obj, file, pickle_protocol=protocol)
            archive = zipfile.ZipFile(file)
            names = [name for name in archive.namelist() if "/data/" in name]
            yield file.getvalue(), archive.read("archive/data.pkl"), [archive.read(name) for name in names]


def mutated(content, chance):
    """Return the file with some bytes changed, moved, left out or put in."""
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


def shuffled(content, chance):
    """Return the pickle with some of its instructions moved, left out, doubled, or put in from another one."""
    steps = [position for _, _, position in pickletools.genops(content)] + [len(content)]
    parts = [content[a:b] for a, b in zip(steps, steps[1:])]
    for _ in range(chance.choice((1, 1, 2, 4))):
        i, j = chance.randrange(1, len(parts)), chance.randrange(1, len(parts))
        how = chance.randrange(4)
        if how == 0:
            parts[i], parts[j] = parts[j], parts[i]
        elif how == 1:
            del parts[i]
        elif how == 2:
            parts.insert(i, parts[j])
        else:
            parts[i] = chance.choice((b"K\2", b"J\xff\xff\xff\xff", *[bytes([op]) for op in b"RbQ\x81\x85}(teu"]))
    return b"".join(parts)


def tensors(value, seen):
    """Yield the tensors in what was read, each of which can be computed with."""
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


def read_or_refused(content):
    """Return whether `load` reads a file, whose tensors are then whole; else it raises the one kind of error."""
    try:
        found = minigrad.load(io.BytesIO(content))
    except pickle.UnpicklingError as e:
        assert isinstance(e, minigrad.MinigradError)
        return False
    except RuntimeError as e:
        assert isinstance(e, minigrad.MinigradError) and "not available here" in str(e)  # another device
        return False
    for t in tensors(found, set()):
        assert t.dtype in (minigrad.bool, minigrad.bfloat16) or t.numel() > 10_000 or repr(t)
        assert not t.requires_grad or t.is_floating_point()
        if t.numel() < 10_000:  # one may be expanded to any size
            t.float().sum()
    return True


@pytest.mark.parametrize("seed", [0, *[pytest.param(i, marks=pytest.mark.slow) for i in range(1, 50)]])
def test_a_damaged_file_is_read_right_or_refused(seed):
    chance, files, read = random.Random(seed), list(real_files()), 0
    for content, program, storages in files:
        assert read_or_refused(content) and read_or_refused(packed(program, storages).getvalue())
    for _ in range(300):
        content, program, storages = chance.choice(files)
        read += read_or_refused(mutated(content, chance))
        read += read_or_refused(packed(mutated(program, chance), storages).getvalue())
        read += read_or_refused(packed(shuffled(program, chance), storages).getvalue())
    assert read  # an attribute has another name, say


def written_as(value):
    """Return a file of `save`, opened."""
    file = io.BytesIO()
    minigrad.save(value, file)
    file.seek(0)
    return file


def doubly(make, n):
    """Return a value that holds the last one twice, n times."""
    value = None
    for _ in range(n):
        value = make(value)
    return value


@pytest.mark.parametrize(
    "make", [lambda x: [x, x], lambda x: (x, x), lambda x: {"a": x, "b": x}, lambda x: OrderedDict(a=x, b=x)]
)
def test_values_shared_very_often_are_read_at_once(make):
    with limited(5):
        assert len(minigrad.load(written_as(doubly(make, 40)))) == 2


@pytest.mark.parametrize(("opened", "closed"), [(b"]", b"a"), (b"}K\x01", b"s"), (b"", b"\x85")])
def test_values_nested_very_deeply_are_read(opened, closed):
    n = 20_000
    inner = b"]" if opened else b")"
    with limited(5):
        made = minigrad.load(packed(b"\x80\x02" + opened * n + inner + closed * n + b"."))
    while made:  # Python frees it level by level
        made = next(iter(made.values())) if isinstance(made, dict) else made[0]


def test_an_expanded_tensor_of_any_size_is_read():
    big = minigrad.zeros(1).expand(10**9, 10**9)
    with limited(5):
        assert minigrad.load(written_as([big, OrderedDict(big=big)]))[0].shape == (10**9, 10**9)


@pytest.mark.parametrize(
    "place", ["a call", "a class of tensors", "a maker of tensors", "a dtype", "a storage", "a class"]
)
def test_a_refused_value_of_very_many_parts_is_refused_at_once(place):
    many, shared = doubled(40), OrderedDict(a=doubly(lambda x: OrderedDict(a=x, b=x), 40))
    reduced = {
        "a call": many + b")R.",
        "a class of tensors": b"ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._utils\n_rebuild_tensor\n"
        + many
        + b"})tR.",
        "a maker of tensors": b"ctorch._tensor\n_rebuild_from_type_v2\n(" + many + b"ctorch\nTensor\n)}tR.",
        "a dtype": b"cnumpy\ndtype\n(" + many + b"\x88\x89tR.",
        "a storage": many + b"Q.",
    }
    with limited(5):
        if place == "a class":
            refused(packed(pickled([Says(REBUILD_NOTED, REBUILD_TENSOR, shared, (), {})])))
        else:
            refused(packed(b"\x80\x04" + reduced[place]))


def test_the_parts_of_keys_that_are_used_over_and_over_are_counted():
    key = b"(" + b"K\1" * 9_000 + b"t\x94"
    with limited(5):
        refused(packed(b"\x80\x04" + key + b"]\x94(" + b"}h\x00Ns" * 20_000 + b"e\x86."), "over and over")


def test_no_message_is_formatted_before_it_is_needed():
    """`need` formats the values itself; an f-string would be evaluated for every value of a file."""
    for file in Path(minigrad.serialization.__file__).parent.glob("*.py"):
        for call in ast.walk(ast.parse(file.read_text())):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "need":
                assert isinstance(call.args[1], ast.Constant), (file.name, call.lineno)
