"""Slides: 16 to 9, nothing outside or on top of each other, letters that can be read, and a word on how to fold."""

import re
from itertools import pairwise

import pytest

import viz
from minigrad import nn, ones
from viz.formats import slide
from viz.formats.slide import TooMuch
from viz.layout.picture import Picture
from viz.layout.shapes import Group, Text
from viz.layout.style import TEXTS

from . import records
from .command import minigrad, refused

PROGRAMS = {"two_uses": records.two_uses, "mlp": records.mlp, "odd": records.odd,
            "chain": lambda: records.recurrent(steps=9, weights=1)}  # fmt: skip


def drawings():
    for name, made in PROGRAMS.items():
        record = made()
        for passes in record["program"]["passes"]:
            yield pytest.param(record, passes, id=f"{name}-{passes}")


DRAWINGS = list(drawings())


def texts(items, x=0.0, y=0.0, scale=1.0):
    """Yield all texts with their places and sizes on the page."""
    for item in items:
        if isinstance(item, Group):
            yield from texts(item.items, x + scale * item.shift[0], y + scale * item.shift[1], scale * item.scale)
        elif isinstance(item, Text):
            yield item, x + scale * item.x, y + scale * item.y, scale


def boxes(drawing):
    _, cards, placed = drawing.placed
    for key, (x, y) in placed.corners.items():
        card = cards[key]
        wide, tall = card.way.size(card.across, card.along)
        yield key, (x, y, x + wide, y + tall)


@pytest.mark.parametrize("record, passes", DRAWINGS)
def test_a_slide_is_16_to_9_and_all_its_words_lie_on_it_in_letters_that_can_be_read(record, passes):
    (page,) = viz.draw(record, passes=passes, size="slide").pictures().values()
    assert isinstance(page, Picture) and page.width / page.height == pytest.approx(16 / 9)
    for text, x, y, scale in texts(page.items):
        start = x - scale * text.width * {"start": 0, "middle": 0.5, "end": 1}[text.anchor]
        assert start >= 0 and start + scale * text.width <= page.width and 0 < y <= page.height, text
        assert scale * TEXTS[text.style].size >= page.height / 80, text


@pytest.mark.parametrize("record, passes", DRAWINGS)
def test_on_a_slide_no_box_lies_on_another(record, passes):
    found = list(boxes(viz.draw(record, passes=passes, size="slide")))
    for i, (key, a) in enumerate(found):
        for other, b in found[i + 1 :]:
            apart = a[2] <= b[0] + 0.5 or b[2] <= a[0] + 0.5 or a[3] <= b[1] + 0.5 or b[3] <= a[1] + 0.5
            assert apart, (key, other)


@pytest.mark.parametrize("record, passes", DRAWINGS)
def test_edges_from_row_to_row_begin_and_end_where_they_should_and_cross_no_box(record, passes):
    drawing = viz.draw(record, passes=passes, size="slide")
    graph, cards, placed = drawing.placed
    sides = dict(boxes(drawing))
    for edge in graph.edges:
        points, (source, target) = placed.routes[edge.key], (sides[edge.source.key], sides[edge.target.key])
        if cards[edge.target.key].way.sideways:
            assert points[0][0] == pytest.approx(source[2], abs=2) and points[-1][0] == pytest.approx(target[0], abs=2)
            assert points[-1][1] == pytest.approx(target[1] + cards[edge.target.key].entry(edge.slot), abs=2)
        straight = [x0 == x1 or y0 == y1 for (x0, y0), (x1, y1) in zip(points[3::3], points[4::3])]
        if len(points) > 13 and all(straight):  # to another row
            for (x0, y0), (x1, y1) in pairwise(points[2:-2]):
                for key, (left, top, right, low) in sides.items():
                    x, y = (x0 + x1) / 2, (y0 + y1) / 2
                    assert not (left + 1 < x < right - 1 and top + 1 < y < low - 1), (edge.key, key)


def test_a_long_chain_goes_on_in_the_row_below_and_is_larger_for_it():
    drawing = viz.draw(records.recurrent(steps=9, weights=1), size="slide")
    graph, cards, placed = drawing.placed
    assert graph.view.rankdir == "LR" and len({round(y / 60) for _, y in placed.corners.values()}) >= 2
    alone = viz.layout.positions.layout(graph, cards)
    assert slide.scale(placed, 20) > 1.5 * slide.scale(alone, 20)


def test_a_graph_with_more_boxes_than_a_slide_holds_is_folded():
    drawing = viz.draw(records.recurrent(steps=20, weights=1), size="slide", passes="forward")
    (box,) = [node.record for node in drawing.placed[0].nodes if node.kind == "fold"]
    assert box["folded"]["times"] == 19 and slide.readable(drawing.placed, drawing.drawn) and drawing.svg()


def test_a_slide_of_a_large_model_has_short_cards_with_parameters_inside():
    layers = [nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4)) for _ in range(6)]
    drawing = viz.draw(nn.Sequential(*layers), ones(2, 4), size="slide", passes="backward")
    graph = drawing.placed[0]
    assert slide.boxes(graph) <= 12 and not [node for node in graph.nodes if node.kind == "parameter"]
    assert slide.readable(drawing.placed, drawing.drawn) and graph.operations == 18


def test_a_slide_of_equal_blocks_has_a_box_for_each_and_one_for_the_operations_before_and_after():
    block = lambda: nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Tanh(), block(), block(), block(), nn.ReLU(), nn.Linear(4, 1))
    graph = viz.draw(net, ones(2, 4), size="slide", max_nodes=8).graph
    names = [node.record["name"] for node in graph.nodes if node.is_op]
    assert names == ["net[0] to net[2]", *[f"net[{i}] · Sequential" for i in (3, 4, 5)], "net[6] to net[7]"]


def test_a_leaf_of_several_boxes_is_drawn_again_beside_each():
    def rnn(w, h):
        for _ in range(3):
            h = (w @ h).tanh().sin().exp().log()
        return h

    graph = viz.draw(rnn, ones(2, 2), ones(2), size="slide").graph
    copies = [node.outputs for node in graph.nodes if node.kind == "copy"]
    assert len(copies) == 2 and copies[0] == copies[1] == graph.nodes[0].outputs


def test_more_boxes_than_a_slide_holds_are_refused_on_request_with_foldings_that_fit():
    record = records.recurrent(steps=20, weights=1)
    with pytest.raises(TooMuch, match=r"22 boxes are too many for a slide, which holds 12") as refused:
        viz.draw(record, size="slide", max_nodes=None)
    ways = re.findall(r"--max-nodes (\d+) leaves (\d+)", str(refused.value))
    assert ways
    for most, left in ways:
        drawing = viz.draw(record, size="slide", max_nodes=int(most))
        assert slide.boxes(drawing.graph) == int(left) <= 12 and drawing.svg()


def test_letters_that_would_be_too_small_are_refused_with_what_to_leave_out():
    drawing = viz.draw(records.mlp(), passes="backward", size="slide", show=viz.view.SHOW, max_nodes=None)
    with pytest.raises(TooMuch, match=r"only \d\d% of the readable height.* show less"):
        drawing.svg()


def test_a_slide_says_a_number_once():
    edges = {edge.key: edge for edge in viz.draw(records.two_uses(), passes="backward", size="slide").graph.edges}
    drawing = viz.draw(records.two_uses(), passes="backward", size="slide")
    said = {key: [line.text for line in drawing.cards[e.target.key].labels[e.slot]] for key, e in edges.items()}
    assert said["edge-4-2-0"] == ["g * (1 - h ** 2)"]  # the only contribution stands on the card
    assert said["edge-0-0-0"][-1] == "= 0.6347"  # one of two


def test_large_values_on_a_slide_are_their_shapes():
    cards = viz.draw(records.mlp(), passes="backward", size="slide").cards
    assert "hidden (32, 32)" in [line.text for block in cards["op-1"].body for line in block.lines]


def test_slides_have_one_size_in_every_format():
    drawing = viz.draw(records.two_uses(), passes="backward", size="slide")
    assert re.search(r'width="1280" height="720"', drawing.svg()) and 'fill="#ffffff"' in drawing.svg()
    assert [int.from_bytes(drawing.png()[i : i + 4], "big") for i in (16, 20)] == [2560, 1440]
    assert b"/MediaBox [ 0 0 960 540 ]" in drawing.pdf()
    assert re.search(r'width="1280" height="720"', viz.draw(records.two_uses(), passes="all", size="slide").film())


def test_the_command_makes_slides_and_says_what_does_not_fit(net):
    assert minigrad(net, "render", "net.py:loss", "--size", "slide", "-p", "backward", "-o", "loss.svg").returncode == 0
    assert 'width="1280" height="720"' in (net / "loss.svg").read_text()
    done = minigrad(net, "render", "net.py:loss", "--size", "slide", "--theme", "dark", "-f", "txt", "-o", "-")
    assert b"the format txt ignores --size" in done.stderr and b"the format txt ignores --theme" in done.stderr
    (net / "loss.svg").unlink()
    (net / "net.py").write_text("from minigrad import tensor\nx = tensor(0.5)\nfor i in range(20):\n    x = x.sin()\n")
    assert "21 boxes are too many for a slide" in refused(
        net, "render", "net.py:x", "--size", "slide", "--max-nodes", "0"
    )
