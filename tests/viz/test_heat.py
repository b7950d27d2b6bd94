"""Pictures of large values: the grid of a record, and its cells in every format."""

from __future__ import annotations

import json
import re
import zlib

import numpy as np
import pytest

import minigrad
import viz
from minigrad.record.grid import grid, numbers_of
from minigrad.record.summary import summary
from minigrad.record.validate import NotARecord, validate
from viz.cards.frames import heats_in
from viz.cards.heat import Heat, heat, level
from viz.layout.shapes import Text
from viz.notebook import mimebundle


def numbers(made: dict) -> np.ndarray:
    return np.array(numbers_of(made)).reshape(-1, len(numbers_of(made)[0][0])) * made["unit"]


def record(f, *args, passes=("forward", "backward")) -> dict:
    return minigrad.record(f, *args, passes=passes).to_dict()


def parameter(a) -> minigrad.Tensor:
    return minigrad.tensor(np.asarray(a, np.float32), requires_grad=True)


def test_small_tensors_have_no_grid():
    assert summary(np.ones(16)).keys() == {"values"} and "grid" in summary(np.ones(17))


@pytest.mark.parametrize("shape", [(17,), (48,), (5, 7), (32, 32), (2, 3, 4), (2, 2, 5, 5), (3, 9, 9)])
def test_cells_of_a_small_tensor_are_its_elements(shape):
    a = np.random.default_rng(0).normal(size=shape)
    made = grid(a)
    rows = a.reshape(1, -1) if a.ndim == 1 else a.reshape(-1, a.shape[-1])
    assert made["cell"] == "element"
    found = numbers(made)
    assert np.abs(found - rows[: len(found)]).max() <= made["unit"] * 0.501
    assert made["panels"] == int(np.prod(shape[:-2]))


def test_whole_numbers_are_exact():
    a = np.arange(-20, 20).reshape(5, 8)
    assert (numbers(grid(a)) == a).all() and grid(a)["unit"] == 1


@pytest.mark.parametrize("place", [np.nan, np.inf, -np.inf])
def test_one_odd_element_of_a_million_is_seen(place):
    a = np.random.default_rng(0).normal(size=(1000, 1000))
    a[517, 3] = place
    (panel,) = numbers_of(grid(a))
    assert [(i, j) for i, row in enumerate(panel) for j, cell in enumerate(row) if str(cell) == str(place)] == [(8, 0)]


@pytest.mark.filterwarnings("error")
def test_memory_that_was_not_filled_has_a_grid_without_a_warning():
    empty = np.full((8, 8), 0x7F800001, np.uint32).view(np.float32)  # signalling NaNs
    assert np.isnan(numbers_of(grid(empty))).all()


def test_a_cell_is_the_largest_of_its_elements_with_its_sign():
    a = np.full((100, 100), 0.25)
    a[50, 50], a[99, 0] = -4.0, 2.0
    made = grid(a)
    found = numbers(made)
    assert made["cell"] == "largest"
    assert found.min() == pytest.approx(-4, abs=0.05) and found[-1, 0] == pytest.approx(2, abs=0.05)


def test_the_grid_of_a_tensor_keeps_its_first_matrices():
    a = np.arange(12 * 4 * 4.0).reshape(3, 4, 4, 4)
    made = grid(a)
    assert (made["panels"], made["rows"], len(made["cells"])) == (12, 4, 4)
    assert (numbers(made) == a.reshape(-1, 4)[:16]).all()


@pytest.mark.parametrize("shape", [(3, 64, 64), (64, 64, 3), (2, 3, 64, 64), (1, 40, 40)])
def test_leaves_from_0_to_1_are_images_whose_cells_are_means(shape):
    a = np.random.default_rng(0).random(shape)
    made = grid(a, leaf=True)
    first = np.moveaxis(a, -1, 0) if shape[-1] == 3 else a.reshape(-1, *shape[-2:])[: 1 if shape[0] == 1 else 3]
    assert made["image"] and made["cell"] == "mean"
    assert numbers(made).mean() == pytest.approx(first.mean(), abs=0.02)
    assert not grid(a)["image"] and not grid(a - 0.5, leaf=True)["image"]


def test_an_expanded_tensor_has_a_grid_at_once():
    a = np.broadcast_to(np.arange(3.0), (10**7, 3))
    (panel,) = numbers_of(grid(a))
    assert all(row == [0, 1, 2] for row in panel)
    assert numbers_of(grid(np.broadcast_to(2.0, (10**5, 10**5)))) == [[[2.0]]]


def test_grids_are_compact():
    a = np.random.default_rng(0).normal(size=(512, 512))
    assert len(zlib.compress(json.dumps(grid(a)).encode())) < 500


@pytest.mark.parametrize(
    "change, said",
    [
        ({"rows": 0}, "cells[0]: 50 letters do not make 0 rows"),
        ({"rows": 3}, "cells[0]: 50 letters do not make 3 rows"),
        ({"cells": []}, "cells: there is no panel"),
        ({"cells": ["f+" * 25, "f+"]}, "cells[1]: the panel has 2 letters, but the first has 50"),
        ({"cells": ["f-" * 25]}, "cells[0]: '-' is not a letter of a cell"),
        ({"unit": "inf"}, "unit: 'inf' is not a finite number"),
        ({"cell": "median"}, "cell: 'median' is not one of"),
    ],
)
def test_a_damaged_grid_is_refused(change, said):
    made = record(minigrad.tanh, parameter(np.eye(5)))
    validate(made)
    made["values"][0]["summary"]["grid"].update(change)
    with pytest.raises(NotARecord, match=re.escape(said)):
        validate(made)


def drawing(show=None, **more) -> viz.Drawing:
    a = np.eye(6) - 0.5
    return viz.draw(lambda w: (w * w.tanh()).sum(), parameter(a), passes="all", show=show, **more)


@pytest.mark.parametrize("theme", ["light", "dark", "print"])
def test_every_picture_format_draws_heat_maps(theme):
    made = drawing(theme=theme)
    svg = made.svg()
    assert svg.count('class="heat"') == 9 and "l-heat-n7" in svg and "l-heat-p7" in svg
    assert "values ±0.5, gradients ±" in svg
    assert "l-heat-p7" in made.tex() and made.png() and made.pdf()


def test_maps_are_a_part_of_cards():
    without = drawing(show=["values", "grads", "shapes", "saved", "lines"])
    assert ".l-heat" not in without.svg() and "l-heat-0" not in without.tex()
    summaries = [value["summary"] for value in json.loads(without.json())["values"]]
    assert all("grid" not in one for one in summaries) and any("mean" in one for one in summaries)
    assert any("grid" in value["summary"] for value in json.loads(drawing().json())["values"])


def test_a_picture_of_values_that_text_shows_whole_has_nothing_of_heat_maps():
    made = viz.draw(lambda w: w.tanh().sum(), parameter([[1, 2, 3], [4, 5, 6]]), passes="all").svg()
    assert 'class="heat"' not in made and ".l-heat" not in made


@pytest.mark.parametrize("shape, rows", [((3, 4), 3), ((4, 2), 4), ((2, 2, 4), 2), ((12,), 2)])
def test_7_to_16_elements_are_numbers_in_cells(shape, rows):
    a = np.arange(-5.0, np.prod(shape) - 5).reshape(shape)
    (made,) = heats(viz.draw(lambda w: w.sum(), parameter(a)), "forward").values()
    assert [float(word) for panel in made.words for row in panel for word in row] == list(a.ravel())
    assert len(made.words[0]) == rows and len(made.words) == (2 if len(shape) > 2 else 1)
    texts = [item.text for item in made.drawn(0, 0).items if isinstance(item, Text)]
    assert {str(int(x)) for x in a.ravel()} <= set(texts)
    assert ("[0]" in texts and "[1]" in texts) == (len(shape) > 2)


def test_the_numbers_of_a_small_matrix_are_in_every_format():
    made = viz.draw(lambda w: w.tanh(), parameter([[0.5, -7.25, 3], [4, np.nan, -np.inf], [1, 2, 9]]))
    assert all("-7.25" in written for written in (made.svg(), made.tex(), made.dot(), made.mermaid(), made.text()))
    assert made.png() and made.pdf()
    assert "[[0.5, -7.25, 3], [4, nan, -inf], [1, 2, 9]]" in made.text()


def test_numbers_too_wide_for_a_card_are_a_map():
    made = heats(viz.draw(lambda w: w.sum(), parameter(np.arange(16.0).reshape(1, 16) - 0.123)), "forward")
    assert [one.words for one in made.values()] == [[]]


def test_attention_weights_are_maps_large_enough_to_read_on_a_scale_to_1():
    scores = parameter(np.random.default_rng(0).normal(size=(2, 8, 8)) * 9)
    made = heats(viz.draw(lambda s: (s @ s).softmax(-1), scores), "forward")
    *_, weights = made.values()
    assert (weights.scale.words, weights.scale.end) == ("probabilities", 1.0)
    assert all(wide >= 96 for _, wide in weights.frames)
    texts = [item.text for item in weights.drawn(0, 0).items if isinstance(item, Text)]
    assert texts.count("7") == texts.count("3") == 3  # of the rows, and of the columns of each matrix
    assert "probabilities 0 to 1" in viz.draw(lambda s: s.softmax(-1), scores).svg()


def test_a_map_of_parts_of_a_matrix_has_the_first_and_the_last_index():
    w = parameter(np.random.default_rng(0).normal(size=(200, 90)))
    (made,) = heats(viz.draw(lambda w: w.sum(), w), "forward").values()
    assert [item.text for item in made.drawn(0, 0).items if isinstance(item, Text)] == ["0", "199", "0", "89"]


def test_a_tensor_of_equal_numbers_has_no_picture():
    value = {"shape": [5, 5], "dtype": "float32", "summary": summary(np.ones((5, 5)))}
    assert heat(value) is None


def heats(made: viz.Drawing, name: str) -> dict[str, Heat]:
    """Return the pictures of values in a pass by their cards."""
    return {key: found for key, card in made.cards.items() for found in heats_in([card], [name])}


def shade(made: Heat, row: int, column: int) -> str:
    return level(made.panels[0][row][column])


def test_values_of_a_picture_share_one_scale_and_gradients_another():
    a = np.zeros((6, 6))
    a[0, 0], a[1, 1] = 8.0, -2.0
    made = viz.draw(lambda w: (w / 4).tanh(), parameter(a), passes="all")
    leaf, quarter, tanh = heats(made, "forward").values()
    assert shade(leaf, 0, 0) == "heat-p7" and shade(leaf, 1, 1) == "heat-n4"  # square root of 2 / 8
    assert shade(quarter, 0, 0) == "heat-p4" and leaf.scale is quarter.scale is tanh.scale
    assert leaf.scale.end == 8.0


def test_each_pass_names_its_scales():
    made = drawing()
    pages = [str(page.items) for page in made.pictures().values()]
    words = [re.search(r"text='([^']*) \(square-root scale\)'", page).group(1) for page in pages]
    assert words == ["values ±0.5", "values ±0.5, gradients ±1", "values ±0.5, tangents ±1"]


def test_numbers_far_beyond_the_others_are_marked_and_do_not_whiten_them():
    a = np.random.default_rng(0).uniform(-1, 1, (6, 6))
    mask = minigrad.tensor(np.eye(6) > 0)
    made = viz.draw(lambda w: (w.tanh() * 2).masked_fill(mask, -1e9).softmax(1), parameter(a))
    leaf, *_ = heats(made, "forward").values()
    assert 1 < leaf.scale.end < 2 and leaf.scale.largest == pytest.approx(1e9, rel=1e-3)
    svg = made.svg()
    assert svg.count('class="l-heat-beyond"') == 2 and "beyond the scale: values to ±1e9" in svg  # map and legend
    assert "l-heat-beyond" in made.tex() and made.png()
    without = viz.draw(lambda w: w.tanh() * 2, parameter(a))
    assert "l-heat-beyond" not in without.svg()


def test_bars_and_integers_have_separate_ranges():
    table = parameter(np.random.default_rng(0).normal(size=(30, 3)))
    rows = minigrad.tensor(np.arange(5, 25).reshape(4, 5))
    made = viz.draw(lambda table: table[rows].sum((1, 2)).outer(minigrad.linspace(0.0, 9e4, 20)).sum(0), table)
    found = heats(made, "forward")
    integers = [one for one in found.values() if one.form == "integers"]
    assert "bars and integers: up to the largest of each value" in made.svg()
    assert level(integers[0].panels[0][-1][-1]) == "heat-p7"


def test_frames_share_the_scale_of_their_picture():
    class Scaled(minigrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x / 16
            return y * 2

        @staticmethod
        def backward(ctx, g):
            return g / 8

    made = viz.draw(lambda w: Scaled.apply(w), parameter(np.eye(6) * 8.0))
    assert {one.scale.end for one in heats_in(made.cards.values(), ["forward"])} == {8.0}
    assert len(list(heats_in(made.cards.values(), ["forward"]))) == 3  # w, and the two values inside


def test_nan_and_infinity_have_their_own_colours_and_entries():
    a = np.eye(6)
    a[0, 1], a[2, 2] = np.nan, -np.inf
    svg = viz.draw(lambda w: w * 2, parameter(a)).svg()
    assert all(word in svg for word in ('class="l-heat-nan"', 'class="l-heat-inf"', ">NaN<", ">infinite<"))


def test_the_tooltip_has_the_numbers_of_a_small_matrix():
    svg = drawing().svg()
    assert re.search(r"<title>\(6, 6\): min -0.5 [^<]*\n *0.5 +-0.5 ", svg)


def test_pixels_keep_their_colours_in_every_theme():
    red = np.zeros((3, 8, 8))
    red[0] = 1.0
    for theme in ("light", "print"):
        made = viz.draw(lambda image: image * 2, minigrad.tensor(red.astype("f4")), theme=theme)
        assert 'fill="#ff0000"' in made.svg() and "red,255;green,0;blue,0" in made.tex() and made.png()


def test_bars_are_as_high_as_numbers_are_large():
    value = {"shape": [20], "dtype": "float32", "summary": summary(np.arange(20.0) - 9.5)}
    made = heat(value)
    tops = [path.steps for path in made.drawn(0.0, 0.0).items if path.look.startswith("heat-p")]
    heights = [low[2] - top[2] for (top, _, low, _, _) in zip(*[iter(tops[0])] * 5)]
    assert heights == sorted(heights) and heights[-1] == pytest.approx(15, rel=0.01)


def test_a_slide_has_heat_maps_where_there_is_room():
    assert 'class="heat"' in drawing(size="slide").svg()
    net = minigrad.nn.Sequential(minigrad.nn.Linear(12, 24), minigrad.nn.Tanh(), minigrad.nn.Linear(24, 10))
    slide = viz.draw(lambda x: net(x).pow(2).mean(), minigrad.ones(20, 12), passes="backward", size="slide")
    assert 'class="heat"' not in slide.svg() and "square-root scale" not in slide.svg()


# ---------------------------------------------------------------------- displays and text
@pytest.mark.parametrize(
    "made, picture",
    [
        (minigrad.eye(12), "<svg"),
        (minigrad.arange(100), "<svg"),
        (minigrad.rand(1, 28, 28), "<img"),
        (minigrad.randn(2, 3, 4, 5, 6), "<img"),
        (minigrad.randn(200, 300, dtype=minigrad.float16), "<svg"),
        (minigrad.nn.Parameter(minigrad.randn(5, 5)), "<svg"),
        (minigrad.tensor([float("nan")] * 20), "<svg"),
    ],
)
def test_the_display_of_a_plain_tensor_has_its_numbers_and_its_picture(made, picture):
    shown = mimebundle(made)
    assert "<pre" in shown["text/html"] and picture in shown["text/html"] and "tensor(" in shown["text/html"]
    assert shown["text/plain"] == repr(made) and sum(map(len, shown.values())) <= 30_000


@pytest.mark.parametrize(
    "made", [minigrad.ones(5, 5), minigrad.arange(9), minigrad.zeros(0, 30), minigrad.empty(20, 20, device="meta")]
)
def test_a_tensor_without_a_picture_is_displayed_as_text(made):
    assert mimebundle(made) == {"text/plain": repr(made)}


def test_a_display_has_all_numbers_if_the_program_asks_for_them():
    x = minigrad.arange(700)
    assert "..." in mimebundle(x)["text/html"]
    with minigrad.printoptions(profile="full"):
        assert "..." not in mimebundle(x)["text/html"]


def test_plain_text_has_large_values_in_block_characters():
    x = minigrad.linspace(0.0, 1.0, 24, requires_grad=True)
    made = viz.draw(lambda x: x.outer(x).sum(), x).text()
    assert "▁▁▂▂▂▃▃▃▃▄▄▄▅▅▅▆▆▆▆▇▇▇██" in made and re.search("distribution █[▁-█]{15}", made)
    assert "▁" not in viz.draw(lambda x: x.outer(x).sum(), x, show="values").text()


def test_large_pictures_have_small_maps_beside_the_text():
    def chain(w):
        for _ in range(13):
            w = w.tanh()
        return w

    made = viz.draw(chain, parameter(np.random.default_rng(0).normal(size=(8, 8))), passes="all")
    assert made.view.brief
    blocks = [b for card in made.cards.values() for b in (*card.body, *card.passes["backward"]) if b.heat]
    assert {b.role for b in blocks} == {"value", "gradient"}
    weights = viz.draw(lambda w: chain(w).softmax(-1), parameter(np.eye(8)))
    assert weights.view.brief and max(one.size for one in heats(weights, "forward").values()) > (96, 96)
    for block in blocks:
        left, top = block.heat_at
        beside = block.lines if top == 3 else block.lines[1:]
        assert left >= max(line.width for line in beside)
        assert block.heat.size[1] <= sum(line.height for line in block.lines)
