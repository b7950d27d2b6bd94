"""Checkpoints of one process and of many: what they hold, what is refused, and who can load them."""

import io
import json
import os
import pickle

import pytest

import minigrad as torch
from minigrad import nn
from minigrad.distributed import checkpoint as dcp
from minigrad.distributed.sharded_tensor import Shard, ShardedTensor, boxes, inside
from tests.distributed.ranks import REFUSED, needs_mpi, passes


def test_what_was_saved_is_loaded_in_place(tmp_path):
    w, whole = torch.randn(3, 4), torch.arange(12).reshape(3, 4)
    values = {"epoch": 3, "name": "run", "rates": [0.1, 0.2], "none": None}
    saved = {
        "w": w,
        "view": whole[1:, ::2],
        "scalar": torch.tensor(2.5),
        "empty": torch.empty(0, 3),
        "half": w.bfloat16(),
    }
    dcp.save({"a": saved, "list": [torch.ones(2), {"k": 1}], **values}, checkpoint_id=tmp_path)
    into = {
        "a": {k: torch.zeros_like(t) for k, t in saved.items()},
        "list": [torch.zeros(2), {"k": 0}],
        **dict.fromkeys(values),
    }
    places = dict(into["a"])
    dcp.load(into, checkpoint_id=str(tmp_path))
    for name, t in saved.items():
        assert into["a"][name] is places[name] and torch.equal(into["a"][name], t)
    assert torch.equal(into["list"][0], torch.ones(2)) and into["list"][1] == {"k": 1}
    assert {k: into[k] for k in values} == values


def test_a_part_of_it_can_be_loaded_and_parameters_that_require_grad(tmp_path):
    dcp.save({"w": torch.ones(2), "b": torch.zeros(1)}, storage_writer=dcp.FileSystemWriter(tmp_path))
    p = nn.Parameter(torch.zeros(2))
    dcp.load({"w": p}, storage_reader=dcp.FileSystemReader(tmp_path))
    assert p.tolist() == [1, 1] and p.requires_grad
    assert set(dcp.FileSystemReader(tmp_path).read_metadata().tensors) == {"w", "b"}


def test_a_file_has_what_a_view_sees_and_not_all_of_its_memory(tmp_path):
    plan = dcp.save({"w": torch.zeros(1_000_000)[:10]}, checkpoint_id=tmp_path)
    assert sum(plan.files.values()) < 5000


# ---------------------------------------------------------------------- refusals
def test_what_cannot_be_loaded_is_refused_before_anything_is_written_to(tmp_path):
    dcp.save({"w": torch.ones(2, 3), "n": 1}, checkpoint_id=tmp_path)
    ok = torch.zeros(2, 3)
    for wrong, kind, words in (
        ({"w": ok, "v": torch.ones(1), "u": 2}, RuntimeError, r"Missing key\(s\) .* 'v', 'u'"),
        ({"w": torch.zeros(3, 2)}, ValueError, r"Size mismatch between saved \(2, 3\) and current \(3, 2\) for 'w'"),
        ({"w": torch.zeros(2, 3).double()}, ValueError, "'w' is float32 in the checkpoint and float64"),
        ({"w": 1}, ValueError, "'w' is a tensor in the checkpoint and not a tensor"),
        ({"n": torch.ones(1)}, ValueError, "'n' is not a tensor in the checkpoint and a tensor"),
        ([ok], TypeError, "expected state_dict to be a dict, got list"),
        ({2.5: ok}, TypeError, "strings or integers, got 2.5"),
        ({"w": ok, "x": {"y": 1}, "x.y": 2}, ValueError, r"two entries of the state_dict have the name 'x\.y'"),
    ):
        with pytest.raises(kind, match=words) as caught:
            dcp.load(
                {"n": 0, **wrong} if isinstance(wrong, dict) and "n" not in wrong else wrong, checkpoint_id=tmp_path
            )
        assert "To fix: " in str(caught.value)
        assert not ok.any()
    with pytest.raises(ValueError, match="the arguments name no folder"):
        dcp.save({})
    with pytest.raises(NotImplementedError, match="planner"):
        dcp.load({}, checkpoint_id=tmp_path, planner=1)


def test_a_folder_without_a_whole_checkpoint_is_none(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        dcp.load({}, checkpoint_id=tmp_path / "not there")
    with pytest.raises(FileNotFoundError, match=r"the folder has no metadata\.json\n"):
        dcp.load({}, checkpoint_id=tmp_path)
    plan = dcp.save({"w": torch.ones(2), "n": 1}, checkpoint_id=tmp_path)
    metadata = (tmp_path / "metadata.json").read_bytes()
    (tmp_path / "metadata.json").unlink()
    with pytest.raises(FileNotFoundError, match="only files of a save that did not finish"):
        dcp.load({"w": torch.ones(2)}, checkpoint_id=tmp_path)
    (tmp_path / "metadata.json").write_bytes(metadata[:-9])
    with pytest.raises(RuntimeError, match="cannot be read"):
        dcp.load({"w": torch.ones(2)}, checkpoint_id=tmp_path)
    (tmp_path / "metadata.json").write_text(json.dumps({"version": 9, "other": "fields"}))
    with pytest.raises(RuntimeError, match="has version 9"):
        dcp.load({"w": torch.ones(2)}, checkpoint_id=tmp_path)
    (tmp_path / "metadata.json").write_bytes(metadata)
    name = next(n for n in plan.files if n.endswith("tensors"))
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(content[:-1])
    with pytest.raises(
        RuntimeError, match=f"incomplete: {name} has {len(content) - 1} bytes instead of {len(content)}"
    ):
        dcp.load({"w": torch.ones(2)}, checkpoint_id=tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(RuntimeError, match=f"incomplete: {name} is missing"):
        dcp.load({"w": torch.ones(2)}, checkpoint_id=tmp_path)


def test_a_save_that_fails_leaves_the_one_before_and_none_of_its_files(tmp_path):
    dcp.save({"w": torch.ones(2)}, checkpoint_id=tmp_path)
    before = sorted(os.listdir(tmp_path))
    with pytest.raises((AttributeError, pickle.PicklingError)):
        dcp.save({"w": torch.zeros(2), "f": lambda: 0}, checkpoint_id=tmp_path)
    assert sorted(os.listdir(tmp_path)) == before
    dcp.save({"w": torch.zeros(2)}, checkpoint_id=tmp_path)
    assert len(os.listdir(tmp_path)) == 2 and not set(os.listdir(tmp_path)) & set(before) - {"metadata.json"}
    w = torch.ones(2)
    dcp.load({"w": w}, checkpoint_id=tmp_path)
    assert not w.any()


def test_other_files_in_the_folder_are_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "0123456789abcdef-0.tensors.12-34").write_text("of a save that was killed")
    dcp.save({"w": torch.zeros(2)}, checkpoint_id=tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine" and len(os.listdir(tmp_path)) == 3


# ---------------------------------------------------------------------- boxes
@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (2, 3, 4), (2, 1, 3, 2)])
def test_any_run_of_elements_is_a_few_boxes_in_their_order(shape):
    t = torch.arange(max(1, torch.Size(shape).numel())).reshape(shape)
    for start in range(t.numel() + 1):
        for stop in range(start, t.numel() + 1):
            found = list(boxes(shape, start, stop))
            there = [inside(t, (0,) * t.ndim, box).reshape(-1).tolist() for box in found]
            assert [n for part in there for n in part] == list(range(start, stop))
            assert len(found) <= max(2 * len(shape) - 1, 1)


def test_a_part_is_not_taken_for_the_whole():
    part = ShardedTensor((4, 3), torch.float32, [Shard(torch.ones(2, 3), (2, 0))])
    with pytest.raises(TypeError, match="cannot be pickled: this rank does not hold all of it"):
        torch.save({"w": part}, io.BytesIO())
    with pytest.raises(TypeError, match=r"\(2, 3\) at \(2, 0\)\) cannot become an array"):
        nn.Linear(3, 4, bias=False).load_state_dict({"weight": part})


def test_a_shard_lies_inside_of_the_whole():
    with pytest.raises(ValueError, match=r"shape \(2, 3\) at \(3, 0\) does not fit into a .* of shape \(4, 3\)"):
        ShardedTensor((4, 3), torch.float32, [Shard(torch.ones(2, 3), (3, 0))])


# ---------------------------------------------------------------------- many ranks
MANY = (
    REFUSED
    + """
import os
import minigrad.distributed.checkpoint as dcp
from minigrad.distributed.sharded_tensor import Shard, ShardedTensor

folder = FOLDER
whole = torch.arange(24.0).reshape(4, 6)


def columns():
    begin, end = 6 * rank // size, 6 * (rank + 1) // size
    return torch.zeros(4, end - begin), begin


def not_saved(kind, words, state):
    refused(kind, words, lambda: dcp.save(state, checkpoint_id=folder))
"""
)


@needs_mpi
def test_tensors_that_are_alike_are_written_once_and_by_all_in_parts(tmp_path):
    program = """
state = {f"t{i}": torch.full((1000,), float(i)) for i in range(6)}
plan = dcp.save({**state, "mine": {str(rank): torch.full((3,), float(rank))}, "n": 7}, checkpoint_id=folder)
sizes = [sum(n for f, n in plan.files.items() if f.endswith(f"-{r}.tensors")) for r in range(size)]
assert max(sizes) < 4000 * 6 / size + 3000, sizes
assert plan.ranks == size and all(len(t.parts) == 1 for t in plan.tensors.values())
into = {k: torch.zeros(1000) for k in state}
other = torch.zeros(3)
dcp.load({**into, "mine": {str(size - 1 - rank): other}}, checkpoint_id=folder)
assert all(torch.equal(into[k], state[k]) for k in state) and other.tolist() == [size - 1 - rank] * 3
"""
    for n in (2, 3):
        passes(n, MANY.replace("FOLDER", repr(str(tmp_path))) + program)


@needs_mpi
def test_another_number_of_ranks_can_load_it(tmp_path):
    begin = MANY.replace("FOLDER", repr(str(tmp_path)))
    save = """
mine, at = columns()
mine.copy_(whole[:, at : at + mine.shape[1]])
dcp.save({"w": ShardedTensor((4, 6), whole.dtype, [Shard(mine, (0, at))]), "n": 3}, checkpoint_id=folder)
"""
    load = """
rows = torch.zeros(4, 6)[rank * 4 // size : (rank + 1) * 4 // size]
state = {"w": ShardedTensor((4, 6), rows.dtype, [Shard(rows, (rank * 4 // size, 0))]), "n": 0}
dcp.load(state, checkpoint_id=folder)
assert state["n"] == 3 and torch.equal(rows, whole[rank * 4 // size : (rank + 1) * 4 // size])
assert torch.equal(state["w"].full_tensor(), whole)
for t in (torch.tensor([-0.0]), torch.tensor([True]), torch.tensor([-3], dtype=torch.int8)):
    all_of_them = ShardedTensor((size,), t.dtype, [Shard(t, (rank,))]).full_tensor()
    assert str(all_of_them) == str(t.expand(size)), all_of_them  # also the sign of zero
mine, at = columns()
dcp.load({"w": ShardedTensor((4, 6), rows.dtype, [Shard(mine, (0, at))])}, checkpoint_id=folder)
assert torch.equal(mine, whole[:, at : at + mine.shape[1]])
"""
    passes(2, begin + save)
    for n in (1, 3):
        passes(n, begin + load)
    w = torch.zeros(4, 6)
    dcp.load({"w": w}, checkpoint_id=tmp_path)  # without MPI
    assert torch.equal(w, torch.arange(24.0).reshape(4, 6))


@needs_mpi
def test_what_one_rank_cannot_save_is_an_error_on_all(tmp_path):
    program = """
dcp.save({"w": whole}, checkpoint_id=folder)
here = sorted(os.listdir(folder))
not_saved(ValueError, "'w' is float32 (1,) on rank 0 and float32 (2,) on rank 1", {"w": torch.ones(1 + rank)})
not_saved(ValueError, "'w' is float32 (1,) on rank 0 and not a tensor on rank 1", {"w": 1 if rank else torch.ones(1)})
mine, at = columns()
half = ShardedTensor((4, 6), mine.dtype, [Shard(mine, (0, at))] if rank else [])
not_saved(ValueError, "leave a gap in its shape, (4, 6)", {"w": half})
odd = {str(rank): lambda: 0} if rank else 1
twice = ShardedTensor((4, 6), whole.dtype, [Shard(torch.full((2, 6), float(rank)), (rank, 0))])
not_saved(ValueError, "overlap: (2, 6) at (0, 0) and (2, 6) at (1, 0)", {"w": twice})
not_saved(Exception, "rank 1 fails" if rank == 0 else "", {"w": torch.zeros(4, 6), "f": odd})
not_saved(TypeError if rank else RuntimeError, "rank 1 fails: " if rank == 0 else "", [1] if rank else {})
torch.distributed.barrier()
assert sorted(os.listdir(folder)) == here
w = torch.zeros(4, 6)
dcp.load({"w": w}, checkpoint_id=folder)
assert torch.equal(w, whole)
wanted = {"v": w} if rank else {"w": w}
refused(RuntimeError, "Missing" if rank else "rank 1 fails", lambda: dcp.load(wanted, checkpoint_id=folder))
"""
    passes(2, MANY.replace("FOLDER", repr(str(tmp_path))) + program)


@needs_mpi
def test_what_ranks_share_among_them_is_gone_on_with_by_another_number(tmp_path):
    program = f"""
folder = {str(tmp_path)!r}
import minigrad.distributed.checkpoint as dcp
from minigrad import nn
from minigrad.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from minigrad.distributed.optim import ZeroRedundancyOptimizer

torch.set_default_dtype(torch.float64)
x = torch.arange(24.0).reshape(6, 4).sin()


def model(seed):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3), nn.Linear(3, 3))


def shared(seed):
    net = nn.parallel.DistributedDataParallel(model(seed))
    return net, ZeroRedundancyOptimizer(net.parameters(), torch.optim.Adam, lr=0.1)


def alone(seed):
    net = model(seed)
    return net, torch.optim.Adam(net.parameters(), 0.1)


def step(net, optimizer):
    optimizer.zero_grad()
    (net(x) ** 2).mean().backward()
    optimizer.step()


whole = alone(0)
for _ in range(3):
    step(*whole)
if size == 2:
    net, optimizer = shared(0)
    step(net, optimizer), step(net, optimizer)
    states = get_state_dict(net, optimizer)
    assert "0.weight" in states[0] and 0 < len(states[1]["state"]) < 6
    dcp.save(dict(zip(("model", "optimizer"), states)), checkpoint_id=folder)
for make in (shared, alone):
    net, optimizer = make(1)
    states = get_state_dict(net, optimizer)
    dcp.load(dict(zip(("model", "optimizer"), states)), checkpoint_id=folder)
    set_state_dict(net, optimizer, model_state_dict=states[0], optim_state_dict=states[1])
    step(net, optimizer)
    for p, q in zip(net.parameters(), whole[0].parameters()):
        assert torch.allclose(p, q)
one = nn.Linear(2, 1, bias=False)  # rank 0 has all of the state, and the others none
optimizer = ZeroRedundancyOptimizer(one.parameters(), torch.optim.Adam)
for _ in range(2):
    optimizer.zero_grad()
    one(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    assert len(get_state_dict(one, optimizer)[1]["state"]) == (rank == 0)
"""
    for n in (2, 3):
        passes(n, program)
