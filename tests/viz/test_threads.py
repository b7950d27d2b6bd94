"""The picture of a launch: who touches which element, how a warp's accesses fall together, and what is red.

Launches are recorded in the simulator:  NUMBA_ENABLE_CUDASIM=1 python -m pytest tests/viz/test_threads.py
"""

import contextlib
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from minigrad.kernels.cuda.simulator import SIMULATED, run
from minigrad.kernels.cuda.watch import Launch, watch
from tests.kernels.cuda.kernels import HISTOGRAM, SCALE, TRANSPOSE, TREE, module
from viz import draw_threads

simulated = pytest.mark.skipif(not SIMULATED, reason="the simulator is off: set NUMBA_ENABLE_CUDASIM=1")
SVG = "{http://www.w3.org/2000/svg}"
X = np.arange(21, dtype=np.float32)


def launched(text, name, grid, block, *args):
    with watch() as trace, contextlib.suppress(IndexError):
        run(getattr(module(text), name), grid, block, args)
    return trace.launches[0]


def scaled():
    return launched(SCALE, "scale", 3, 8, X, X.copy())


def card(drawing, key):
    """Return the group of a card in the SVG."""
    return next(group for group in ET.fromstring(drawing.svg()).iter(SVG + "g") if group.get("id") == key)


def cells(group, kind="cell"):
    """Return the texts of a card's cells of a kind."""
    found = [g for g in group.iter(SVG + "g") if kind in g.get("class", "").split()]
    return [" ".join(text.text for text in g.iter(SVG + "text")) for g in found]


def words(drawing):
    return [text.text for text in ET.fromstring(drawing.svg()).iter(SVG + "text")]


@simulated
def test_every_element_names_its_thread():
    drawing = draw_threads(scaled())
    expected = [f"{i // 8}.{i % 8}" for i in range(21)]
    assert cells(card(drawing, "array-x_")) == expected and cells(card(drawing, "array-out_")) == expected
    assert "read by" in words(drawing) and "written by" in words(drawing)


@simulated
def test_threads_beyond_the_bound_are_dashed():
    drawing = draw_threads(scaled())
    assert len(cells(card(drawing, "threads"))) == 24 and cells(card(drawing, "threads"), "idle") == ["5", "6", "7"]
    assert "3 threads access no element" in words(drawing)


@simulated
def test_blocks_have_tints():
    group = card(draw_threads(scaled()), "array-out_")
    looks = [g.find(SVG + "path").get("class") for g in group.iter(SVG + "g") if g.get("class") == "cell"]
    assert looks == ["l-band-input"] * 8 + ["l-band-parameter"] * 8 + ["l-band-fold"] * 5


@simulated
def test_a_tile_stands_in_rows_and_its_barrier_between_two_boards():
    x = np.zeros((5, 7), np.float32)
    drawing = draw_threads(launched(TRANSPOSE, "transpose", (2, 2), (4, 4), x, x.T.copy()), "tile")
    assert [
        group.get("id") for group in ET.fromstring(drawing.svg()).iter(SVG + "g") if group.get("class") == "card"
    ] == ["threads", "array-tile"]
    there = [f"0,0 {x},{y}" for y in range(4) for x in range(4)]
    back = [f"0,0 {x},{y}" for x in range(4) for y in range(4)]
    assert cells(card(drawing, "array-tile")) == there + back
    assert "at first: written by" in words(drawing) and "after barrier 1: read by" in words(drawing)


@simulated
def test_a_tree_halves_from_barrier_to_barrier():
    group = card(draw_threads(launched(TREE, "tree", 3, 8, X, np.zeros(3, np.float32))), "array-part")
    written = ["0.0", "0.1", "0.2", "0.3", "", "", "", ""]
    assert cells(group)[:24] == [f"0.{i}" for i in range(8)] + [f"0.{i % 4}" for i in range(8)] + written


@simulated
def test_a_race_is_red_and_in_words():
    bins = np.array([0, 2, 2, 1, 2, 0])
    drawing = draw_threads(launched(HISTOGRAM, "count", 2, 4, bins, np.zeros(3)))
    assert cells(card(drawing, "array-out_"), "red") == ["0.0 +1", "0.1 +2"] * 2
    red = [text.text for text in ET.fromstring(drawing.svg()).iter(SVG + "text") if text.get("class") == "t-sum"]
    assert red[0].startswith("race for out_[0]: thread 0 of block 0 reads it in kernels_")
    assert drawing.alt().endswith("races for out_[0], out_[2].")
    assert not cells(
        card(draw_threads(launched(HISTOGRAM, "count_atomically", 2, 4, bins, np.zeros(3))), "array-out_"), "red"
    )


@simulated
def test_what_lies_outside_is_red_and_in_words():
    drawing = draw_threads(launched(SCALE, "careless", 3, 8, X, X.copy()))
    assert cells(card(drawing, "array-x_"), "red") == ["2.5"] and cells(card(drawing, "threads"), "red") == ["5"]
    assert "outside: thread (5, 0, 0) of block (2, 0, 0) reads x_[21], which has 21 elements (0 to 20)" in words(
        drawing
    )


@simulated
@pytest.mark.parametrize(
    "index, shape, told",
    [
        ("i", 32, "32 neighbouring elements of x_: 1 transaction of 128 bytes"),
        ("i, 0", (32, 40), "32 elements of x_, 40 apart: 32 transactions of 128 bytes"),
        ("0, i", (2, 32), "32 neighbouring elements of x_: 1 transaction of 128 bytes"),
        ("i // 8, i % 8", (4, 40), "32 elements of x_ in 4 runs of neighbours: 4 transactions of 128 bytes"),
        ("7", 32, "one element of x_: 1 transaction of 128 bytes"),
        ("i * i % 61", 61, "31 elements of x_, scattered: 2 transactions of 128 bytes"),
    ],
)  # fmt: skip
def test_transactions_are_counted(index, shape, told):
    told = f"32 threads of warp 0 read {told}"
    text = f"@cuda.jit\ndef f(x_, out_):\n    i = cuda.grid(1)\n    out_[i] = x_[{index}]\n"
    drawing = draw_threads(launched(text, "f", 1, 32, np.zeros(shape, np.float32), np.zeros(32, np.float32)))
    assert told in words(drawing) and told in drawing.text()


@simulated
@pytest.mark.parametrize("width, told", [(32, "one bank serves 32 of them in turn"), (33, "no two in one bank")])
def test_banks_are_counted(width, told):
    text = "@cuda.jit\ndef f(x_):\n    tile = cuda.shared.array((32, WIDTH), np.float32)\n    tile[cuda.grid(1), 0] = 1"
    launch = launched(text.replace("WIDTH", str(width)), "f", 1, 32, np.zeros(1))
    assert f"32 threads of warp 0 write 32 elements of tile, {width} apart: {told}" in draw_threads(launch).text()


@simulated
def test_large_launches_are_cut():
    x = np.zeros((100, 100), np.float32)
    text = "@cuda.jit\ndef f(x_):\n    i, j = cuda.grid(2)\n    x_[j, i] = 1\n"
    drawing = draw_threads(launched(text, "f", (10, 10), (10, 10), x))
    assert len(cells(card(drawing, "array-x_"))) == 256 and len(cells(card(drawing, "threads"))) == 200
    assert "written by (and 9744 more elements)" in words(drawing) and "block 1,0 (and 98 more blocks)" in words(
        drawing
    )


@simulated
def test_broadcast_rows_are_one_memory():
    text = "@cuda.jit\ndef f(x_, out_):\n    i, j = cuda.grid(2)\n    out_[i, j] = x_[i, j]\n"
    x = np.broadcast_to(np.zeros(3, np.float32), (2, 3))
    drawing = draw_threads(launched(text, "f", 1, (2, 3), x, np.zeros((2, 3), np.float32)))
    assert cells(card(drawing, "array-x_")) == ["0 0,0 +1", "0 0,1 +1", "0 0,2 +1"]
    assert "float32[2, 3], broadcast from [1, 3]" in words(drawing)


@simulated
def test_it_is_saved_in_four_formats(tmp_path):
    drawing = draw_threads(scaled())
    starts = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF", "txt": b"kernel scale"}
    for suffix, start in starts.items():
        assert drawing.save(tmp_path / f"scale.{suffix}").read_bytes().startswith(start)
    assert sorted(drawing._repr_mimebundle_()) == ["image/svg+xml", "text/plain"]


@simulated
def test_the_picture_says_what_it_shows():
    root = ET.fromstring(draw_threads(scaled()).svg())
    assert root.get("aria-label") == (
        "Threads of the kernel scale, 3 blocks of 8 threads; read: x_; written: out_; 3 threads access no element; no races."
    )


def test_unknown_arrays_and_formats_are_refused(tmp_path):
    idle = Launch("idle", (1, 1, 1), (4, 1, 1), None)
    with pytest.raises(ValueError, match="draw_threads: the kernel idle has no array named 'x'"):
        draw_threads(idle, "x")
    with pytest.raises(ValueError, match="save: cannot draw threads as '.dot'"):
        draw_threads(idle).save(tmp_path / "idle.dot")
