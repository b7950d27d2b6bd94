"""Where cards lie: nothing overlaps, one layout for the passes, and large graphs in seconds."""

import itertools
import sys
import time

import pytest

import minigrad as torch
import viz
from viz.commands import doctor
from viz.layout import positions as layouts
from viz.layout.orientation import WAYS

from . import records

RECORDS = {"two uses": records.two_uses, "network": records.mlp, "odd": records.odd, "recurrent": records.recurrent}


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("make", RECORDS.values(), ids=RECORDS)
@pytest.mark.parametrize("small", [0, 600], ids=["own", "graphviz"])
def test_cards_and_labels_overlap_in_no_direction_and_lie_on_the_page(small, make, name, monkeypatch):
    monkeypatch.setattr(layouts, "SMALL", small)
    passes = "backward" if "backward" in make()["program"]["passes"] else "forward"
    drawing = viz.draw(make(), rankdir=name, passes=passes)
    areas = [
        (*corner, *WAYS[name].size(drawing.cards[key].across, drawing.cards[key].along))
        for key, corner in drawing.layout.corners.items()
    ]
    for (x, y, wide, tall), (x2, y2, wide2, tall2) in itertools.combinations(areas, 2):
        assert x + wide <= x2 + 1e-6 or x2 + wide2 <= x + 1e-6 or y + tall <= y2 + 1e-6 or y2 + tall2 <= y + 1e-6
    for x, y, wide, tall in areas:
        assert min(x, y) >= -1 and x + wide <= drawing.layout.width + 1 and y + tall <= drawing.layout.height + 1


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


def test_edges_arrive_in_another_order_than_the_arguments_only_where_fewer_cross_then():
    twice = viz.draw(records.two_uses())
    assert layouts.crossings(twice.layout) == 0
    assert [card.order for card in twice.cards.values() if len(card.order) == 2] == [[1, 0], [0, 1], [0, 1]]
    once = viz.draw(lambda w, x: (w - x).tanh(), torch.tensor(0.5), torch.tensor(2.0))
    assert all(card.order == sorted(card.order) for card in once.cards.values())


def test_labels_of_edges_fit_side_by_side_above_their_card():
    drawing = viz.draw(records.mlp())
    for card in drawing.cards.values():
        for slot, label in zip(card.slots, card.labels):
            assert max((line.width for line in label), default=0) < slot
        assert sum(card.slots) <= card.width


def test_all_passes_share_one_layout():
    record = records.two_uses()
    pages = viz.draw(record, passes="all").pictures().values()
    nodes = [next(group for group in page.items if group.classes == "nodes") for page in pages]
    papers = [[(node.id, node.items[0]) for node in each.items] for each in nodes]
    assert nodes[0].shift == nodes[1].shift == nodes[2].shift and papers[0] == papers[1] == papers[2]


def test_the_picture_of_one_pass_has_no_room_for_others():
    record = records.two_uses()
    heights = [viz.draw(record, passes=passes).layout.height for passes in ("forward", "backward", "all")]
    assert heights[0] < 0.8 * heights[2] and heights[1] < heights[2]


@pytest.mark.slow
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


@pytest.mark.parametrize("name, axis, sign", [("TB", 1, 1), ("BT", 1, -1), ("LR", 0, 1), ("RL", 0, -1)])
def test_the_program_runs_the_way_that_is_asked_for(name, axis, sign):
    corners = viz.draw(records.two_uses(), rankdir=name).layout.corners
    places = [sign * corners[f"op-{i}"][axis] for i in range(4)]
    assert places == sorted(places)


def test_edges_end_at_their_cards_in_every_direction():
    for name, way in WAYS.items():
        drawing = viz.draw(records.mlp(), rankdir=name)
        for edge in drawing.graph.edges:
            for key, end in ((edge.source.key, 0), (edge.target.key, -1)):
                card, (x, y) = drawing.cards[key], drawing.layout.corners[key]
                wide, tall = way.size(card.across, card.along)
                at = drawing.layout.routes[edge.key][end]
                assert x - 2 <= at[0] <= x + wide + 2 and y - 2 <= at[1] <= y + tall + 2


def test_a_graph_on_which_graphviz_takes_too_long_is_laid_out_all_the_same(monkeypatch):
    monkeypatch.setattr(layouts, "LIMIT", 0.01)
    drawing = viz.draw(records.recurrent(steps=100), max_nodes=None)
    assert len(drawing.layout.corners) == len(drawing.cards) > layouts.HERE


def test_without_graphviz_pictures_are_drawn_all_the_same_and_say_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setattr(layouts.importlib.util, "find_spec", lambda name: None)
    drawing = viz.draw(records.two_uses())
    with pytest.warns(UserWarning, match="Graphviz is missing, .*: pip install pygraphviz"):
        drawing.save(tmp_path / "two.svg")
    assert (tmp_path / "two.svg").read_text().startswith("<svg")
    assert not drawing.warnings("txt") and not drawing.warnings("dot")


@pytest.mark.parametrize("here", [0, 60])
def test_without_a_library_of_the_system_pictures_are_drawn_all_the_same_and_say_what_to_install(
    here, monkeypatch, tmp_path
):
    missing = "libgobject-2.0.so.0: cannot open shared object file: No such file or directory"
    (tmp_path / "pygraphviz.py").write_text(f"raise ImportError({missing!r})")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "pygraphviz", raising=False)
    monkeypatch.setattr(layouts, "HERE", here)
    with pytest.warns(
        UserWarning, match=r"\(libgobject-2.0.so.0: .*\), so the layout is plainer: apt install libglib2.0-0"
    ):
        viz.draw(records.two_uses()).save(tmp_path / "two.svg")
    assert (tmp_path / "two.svg").read_text().startswith("<svg")
    assert "libglib2.0-0" in next(doctor.layout_engine()).advice


def test_graphviz_in_a_process_of_its_own_says_the_same(monkeypatch):
    here = viz.draw(records.mlp()).layout
    monkeypatch.setattr(layouts, "HERE", 0)
    assert viz.draw(records.mlp()).layout == here
