"""The watch records each element that a thread touches, and finds races where no barrier separates two threads."""

import numpy as np
import pytest

from minigrad.kernels.cuda.simulator import SIMULATED, run
from minigrad.kernels.cuda.watch import watch

from .kernels import HISTOGRAM, SCALE, TRANSPOSE, TREE, module

pytestmark = pytest.mark.skipif(not SIMULATED, reason="the simulator is off: set NUMBA_ENABLE_CUDASIM=1")

X = np.arange(21, dtype=np.float32)


def watched(function, grid, block, *args):
    """Return the record of one launch."""
    with watch() as trace:
        run(function, grid, block, args)
    (launch,) = trace.launches
    return launch


def raced(text, block=64, n=64):
    """Return the elements of out_ that the threads of one block race for."""
    launch = watched(module(f"@cuda.jit\ndef f(out_):\n    t = cuda.threadIdx.x\n{text}").f, 1, block, np.zeros(n))
    return sorted(race.first.index[0] for race in launch.races)


# ---------------------------------------------------------------------- what is recorded
def test_every_access_has_its_thread_and_its_element():
    launch = watched(module(SCALE).scale, 3, 8, X, X.copy())
    assert launch.kernel == "scale" and launch.grid == (3, 1, 1) and launch.block == (8, 1, 1)
    assert [(a.name, a.shape, a.dtype) for a in launch.arrays] == [("x_", (21,), "float32"), ("out_", (21,), "float32")]
    assert launch.counts() == {"reads": 21, "writes": 21} and not launch.races
    seen = {(a.does, a.element, a.block, a.thread) for a in launch.accesses}
    where = [(i, (i // 8, 0, 0), (i % 8, 0, 0)) for i in range(21)]
    assert seen == {("reads", f"x_[{i}]", b, t) for i, b, t in where} | {
        ("writes", f"out_[{i}]", b, t) for i, b, t in where
    }
    assert launch.accesses[0].place.code == "out_[i] = doubled(x_[i])"


def test_what_is_computed_is_the_same():
    x, plain, seen = np.arange(35.0).reshape(5, 7), np.zeros((7, 5)), np.zeros((7, 5))
    run(module(TRANSPOSE).transpose, (2, 2), (4, 4), [x, plain])
    watched(module(TRANSPOSE).transpose, (2, 2), (4, 4), x, seen)
    assert (plain == seen).all() and (plain == x.T).all()


def test_shared_arrays_are_called_as_their_variables():
    launch = watched(module(TREE).tree, 3, 8, X, np.zeros(3))
    assert [(a.name, a.shape, a.shared) for a in launch.arrays][2] == ("part", (8,), True)
    assert {a.interval for a in launch.accesses if a.array.name == "out_"} == {4}
    assert not launch.races and not launch.notes


def test_a_shared_array_may_be_used_right_after_it_was_requested():
    text = "@cuda.jit\ndef f(out_):\n    tile = cuda.shared.array(4, np.float64)\n    rows = tile\n    out_[0] = rows.size\n"
    launch = watched(module(text).f, 1, 1, np.zeros(1))
    assert [a.name for a in launch.arrays] == ["out_", "tile"]


def test_parts_of_arrays_know_their_place():
    text = "@cuda.jit\ndef f(a_):\n    row = a_[cuda.threadIdx.x]\n    row[1] = row[2]\n    row[3:] = 7\n"
    launch = watched(module(text).f, 1, 2, np.zeros((2, 5))[:, ::-1])
    expected = [[f"a_[{t}, {i}]" for i in (2, 1, 3, 4)] for t in (0, 1)]
    assert [a.element for a in launch.accesses] == sum(expected, [])


def test_traces_may_be_nested_and_end():
    kernel, out = module(SCALE).scale, X.copy()
    with watch() as outer:
        run(kernel, 3, 8, [X, out])
        with watch() as inner:
            run(kernel, 3, 8, [X, out])
    run(kernel, 3, 8, [X, out])
    assert len(outer.launches) == 2 and inner.launches == outer.launches[1:]


# ---------------------------------------------------------------------- races
def test_a_histogram_needs_atomics():
    bins = np.array([0, 2, 2, 1, 2, 0])
    races = watched(module(HISTOGRAM).count, 2, 4, bins, np.zeros(3)).races
    assert [race.first.element for race in races] == ["out_[0]", "out_[2]"]
    said = str(races[0])
    assert said.startswith("race for out_[0]: thread (0, 0, 0) of block (0, 0, 0) reads it at kernels_")
    assert "; thread (1, 0, 0) of block (1, 0, 0) writes it at kernels_" in said and said.endswith(
        "out_[bins_[i]] += 1"
    )
    assert not watched(module(HISTOGRAM).count_atomically, 2, 4, bins, np.zeros(3)).races


@pytest.mark.parametrize(
    "lines, expected",
    [
        (["out_[t] = 1", "out_[63 - t]"], list(range(64))),
        (["out_[t] = 1", "cuda.syncthreads()", "out_[63 - t]"], []),
        (["out_[t] = 1", "cuda.syncwarp()", "out_[t ^ 1]"], []),
        (["out_[t] = 1", "cuda.syncwarp()", "out_[63 - t]"], list(range(64))),
        (["out_[t] = 1", "cuda.all_sync(0xFFFFFFFF, 1)", "out_[t ^ 1]"], list(range(64))),  # no barrier for memory
        (["out_[t] = 1", "cuda.syncwarp(0xFFFF if t % 32 < 16 else 0xFFFF0000)", "out_[t ^ 15]"], []),
        (["out_[t] = 1", "cuda.syncwarp(0xFFFF if t % 32 < 16 else 0xFFFF0000)", "out_[t ^ 16]"], list(range(64))),
        (["out_[0] = t"], [0]),
        (["out_[t] += 1", "out_[t] += 1"], []),
        (["out_[0]"], []),
        (["cuda.atomic.add(out_, 0, 1)", "cuda.syncthreads()", "out_[0]"], []),
        (["cuda.atomic.add(out_, 0, 1)", "out_[0]"], [0]),
    ],
)
def test_races_are_those_without_a_barrier_between(lines, expected):
    assert raced("\n".join(f"    {line}" for line in lines)) == expected


def test_a_tree_without_its_last_barriers_races():
    text = TREE.replace("        cuda.syncthreads()\n        n", "        n")
    races = watched(module(text).tree, 3, 8, X, np.zeros(3)).races
    assert {race.first.array.name for race in races} == {"part"}


def test_blocks_race_whatever_barriers_they_have():
    text = "@cuda.jit\ndef f(out_):\n    cuda.syncthreads()\n    out_[cuda.threadIdx.x] = 1\n    cuda.syncthreads()\n"
    assert len(watched(module(text).f, 2, 4, np.zeros(4)).races) == 4
    assert not watched(module(text).f, 1, 4, np.zeros(4)).races


def test_one_memory_under_two_names_is_one():
    text = "@cuda.jit\ndef f(x_, out_):\n    t = cuda.threadIdx.x\n    out_[t] = x_[t]\n"
    memory = np.zeros(9)
    assert not watched(module(text).f, 1, 8, memory[:8], memory[:8]).races
    races = watched(module(text).f, 1, 8, memory[:8], memory[1:]).races
    assert [(race.first.element, race.second.element) for race in races][0] == ("out_[0]", "x_[1]")


# ---------------------------------------------------------------------- what else is noted
def test_an_index_outside_is_recorded_and_raised():
    with (
        watch() as trace,
        pytest.raises(IndexError, match="kernel careless: thread .5, 0, 0. of block .2, 0, 0. reads x_"),
    ):
        run(module(SCALE).careless, 3, 8, [X, X.copy()])
    assert [miss.index for miss in trace.launches[0].outside] == [(21,)]
    assert "thread (5, 0, 0) of block (2, 0, 0) reads x_[21], which has 21 elements (0 to 20)" in str(trace)


@pytest.mark.parametrize(
    "line, words",
    [
        ("a_[0, 4] = 1", "writes a_[0, 4], of shape (3, 4)"),
        ("cuda.atomic.add(a_, (9, 0), 1)", "updates a_[9, 0], of shape (3, 4)"),
        ("a_[1][7]", "reads a_[1][7], which has 4 elements (0 to 3)"),
        ("a_[:2, 5]", "reads a_[slice(None, 2, None), 5], of shape (3, 4)"),
    ],
)
def test_what_was_done_outside_is_named(line, words):
    with watch() as trace, pytest.raises(IndexError, match="kernel f: thread"):
        run(module(f"@cuda.jit\ndef f(a_):\n    {line}").f, 1, 1, [np.zeros((3, 4))])
    assert words in str(trace)


def test_reading_what_nobody_has_written_is_noted():
    text = "@cuda.jit\ndef f(out_):\n    part = cuda.shared.array(4, np.float64)\n    out_[0] = part[2]\n"
    (note,) = watched(module(text).f, 1, 1, np.zeros(1)).notes
    assert note.startswith("part[2] is read before any thread writes it, at kernels_")


def test_an_index_from_the_end_is_noted():
    launch = watched(module("@cuda.jit\ndef f(out_):\n    out_[cuda.grid(1) - 1] = 0").f, 1, 3, np.zeros(3))
    assert list(launch.notes) == ["writes out_[-1], counted from the end"]
    assert [a.index for a in launch.accesses] == [(2,), (0,), (1,)]


def test_a_trace_in_words():
    with watch() as trace:
        run(module(SCALE).scale, 3, 8, [X, X.copy()])
        run(module(HISTOGRAM).count, 2, 4, [np.array([0, 2, 2, 1, 2, 0]), np.zeros(3)])
    first, none, second, *races = str(trace).splitlines()
    assert first == (
        "kernel scale, 3 blocks of 8 threads, over x_ float32[21], out_ float32[21]: reads 21 elements, writes 21 elements"
    )
    assert none == "  no races" and second.startswith("kernel count, 2 blocks of 4 threads") and len(races) == 2
