"""Where cards lie: nothing overlaps, one layout for the passes, and large graphs in seconds."""

import itertools
import time

import pytest

import viz
from viz import layout as layouts

from . import records

RECORDS = {"two uses": records.two_uses, "network": records.mlp, "odd": records.odd, "recurrent": records.recurrent}


def boxes(drawing):
    for key, (x, y) in drawing.layout.corners.items():
        card = drawing.cards[key]
        yield key, x, y, x + card.width, y + card.along


@pytest.mark.parametrize("make", RECORDS.values(), ids=RECORDS)
@pytest.mark.parametrize("small", [0, 600], ids=["own", "graphviz"])
def test_cards_do_not_overlap_and_lie_on_the_page(make, small, monkeypatch):
    monkeypatch.setattr(layouts, "SMALL", small)
    drawing = viz.draw(make())
    for (one, left, top, right, low), (other, left2, top2, right2, low2) in itertools.combinations(boxes(drawing), 2):
        assert right <= left2 or right2 <= left or low <= top2 or low2 <= top, f"{one} overlaps {other}"
    for _, left, top, right, low in boxes(drawing):
        assert left >= -1 and top >= -1 and right <= drawing.layout.width + 1 and low <= drawing.layout.height + 1


@pytest.mark.parametrize("small", [0, 600], ids=["own", "graphviz"])
def test_edges_run_from_the_foot_of_a_card_to_their_own_place_above_the_next(small, monkeypatch):
    monkeypatch.setattr(layouts, "SMALL", small)
    drawing = viz.draw(records.mlp())
    for edge in drawing.graph.edges:
        source, target = drawing.cards[edge.source.key], drawing.cards[edge.target.key]
        (x0, y0), (x1, y1) = drawing.layout.corners[edge.source.key], drawing.layout.corners[edge.target.key]
        start, end = drawing.layout.routes[edge.key][0], drawing.layout.routes[edge.key][-1]
        assert start == pytest.approx((x0 + source.exit(edge.port), y0 + source.along), abs=2)
        assert end == pytest.approx((x1 + target.entry(edge.slot), y1), abs=2)


def test_labels_of_edges_fit_side_by_side_above_their_card():
    drawing = viz.draw(records.mlp())
    for card in drawing.cards.values():
        for slot, label in zip(card.slots, card.labels):
            assert max((line.width for line in label), default=0) < slot
        assert sum(card.slots) <= card.width


def test_all_passes_share_one_layout():
    record = records.two_uses()
    layout = [viz.draw(record, passes=name).layout for name in ("forward", "backward", "jvp")]
    assert layout[0] == layout[1] == layout[2]


def test_ten_thousand_nodes_are_drawn_in_seconds():
    record = records.recurrent(steps=8_000)
    start = time.process_time()
    drawing = viz.draw(record, max_nodes=None)
    drawing.svg()
    assert len(drawing.cards) > 10_000
    assert time.process_time() - start < 20  # of the processor, so that a busy machine does not matter


def test_rows_are_in_the_order_of_the_program():
    drawing = viz.draw(records.recurrent(steps=700), max_nodes=None)
    tops = [drawing.layout.corners[f"op-{i}"][1] for i in range(700)]
    assert tops == sorted(tops)


def test_graphviz_messages_are_kept_from_the_terminal(capfd):
    viz.draw(records.two_uses()).svg()
    assert capfd.readouterr().err == ""
