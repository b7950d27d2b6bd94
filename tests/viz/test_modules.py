"""Modules in pictures: frames around the cards of open ones, and their names as titles of cards."""

import xml.etree.ElementTree as ET

import pytest

import minigrad
import viz
from minigrad import nn
from viz.graph.modules import module_name

SVG = "{http://www.w3.org/2000/svg}"


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)
        self.inner = nn.Sequential(nn.Tanh(), nn.Linear(2, 2))

    def forward(self, x):
        return self.inner(self.lin(x).relu()) + x


net = nn.Sequential(Block(), nn.Tanh())
head = nn.Linear(2, 1)


@pytest.fixture(scope="module")
def record():
    def program(x):
        return net(x).sum()

    return minigrad.record(program, minigrad.ones(1, 2)).to_dict()


def tree(regions):
    return {one.title: tree(one.inner) for one in regions}


def test_open_modules_are_frames_in_frames(record):
    graph = viz.draw(record).graph
    assert tree(graph.regions) == {"net · Sequential": {"net[0] · Block": {"net[0].inner · Sequential": {}}}}
    (outer,) = graph.regions
    inside = [node.record["name"] for node in outer.all if node.is_op]
    assert sorted(inside) == ["add", "linear", "linear", "relu", "tanh", "tanh"]


def test_a_module_of_one_operation_is_the_title_of_its_card(record):
    graph = viz.draw(record).graph
    titles = [graph.alone.get(node.key) for node in graph.nodes if node.is_op]
    assert titles == ["net[0].lin", None, "net[0].inner[0]", "net[0].inner[1]", None, "net[1]", None]
    card = viz.draw(record).cards[graph.nodes[1].key]
    assert card.head[0].lines[0].text.startswith("net[0].lin · linear")
    assert "net[0].inner[0] · tanh" in viz.draw(record).text()


def test_a_layer_by_itself_has_the_name_of_its_variable():
    graph = viz.draw(lambda x: head(x).sum(), minigrad.ones(1, 2)).graph
    assert list(graph.alone.values()) == ["head"] and not graph.regions


def test_a_closed_module_is_a_box_in_the_frame_around_it(record):
    graph = viz.draw(record, depth=2).graph
    (box,) = [node for node in graph.nodes if node.kind == "fold"]
    assert box.record["name"] == "net[0] · Block"
    assert tree(graph.regions) == {"net · Sequential": {}} and box in graph.regions[0].nodes


def rectangles(drawing):
    graph, cards, placed = drawing.placed
    for key, (x, y) in placed.corners.items():
        wide, tall = cards[key].way.size(cards[key].across, cards[key].along)
        yield key, (x, y, x + wide, y + tall)


@pytest.mark.parametrize("rankdir, size", [("TB", None), ("BT", None), ("LR", None), ("RL", None), ("LR", "slide")])
def test_a_frame_holds_its_cards_and_no_others(record, rankdir, size):
    drawing = viz.draw(record, rankdir=rankdir, size=size, passes="backward", show="grads")
    placed = drawing.placed[2]
    assert len(placed.frames) >= 3
    for one, (x, y), (wide, tall) in placed.frames:
        assert x >= 0 and y >= 0 and x + wide <= placed.width + 0.5 and y + tall <= placed.height + 0.5
        keys = {node.key for node in one.all}
        for key, (left, top, right, low) in rectangles(drawing):
            inside = x <= left and right <= x + wide and y + 14 <= top and low <= y + tall  # below the title
            outside = right <= x or x + wide <= left or low <= y or y + tall <= top
            assert inside if key in keys else outside, (one.title, key)
    frames = {one.path: (at, size) for one, at, size in placed.frames}
    for path, ((x, y), (wide, tall)) in frames.items():
        if path[:-1] in frames:
            (a, b), (outer, high) = frames[path[:-1]]
            assert a < x and b < y and x + wide < a + outer and y + tall < b + high


def test_a_frame_is_an_element_with_its_title(record):
    root = ET.fromstring(viz.draw(record, passes="backward").svg())
    found = [g for g in root.iter(f"{SVG}g") if g.get("class") == "module"]
    ids = [node.record["id"] for node in viz.draw(record).graph.nodes if node.is_op]
    assert [g.get("id") for g in found] == [
        f"module-{ids[0]}-{ids[5]}",
        f"module-{ids[0]}-{ids[4]}",
        f"module-{ids[2]}-{ids[3]}",
    ]
    assert "net[0].inner · Sequential" in [text.text for text in root.iter(f"{SVG}text")]


def test_every_format_has_the_frames(record):
    drawing = viz.draw(record, passes="all")
    assert 'label="net[0] · Block"' in drawing.dot() and '["net[0] · Block"]' in drawing.mermaid()
    for made in (drawing.svg(), drawing.film(), drawing.tex()):
        assert "Block" in made


def test_names_are_written_as_in_python():
    assert module_name(["GPT", "h.0.attn"]) == "h[0].attn" and module_name(["net", "0.lin"]) == "net[0].lin"


def test_a_module_that_is_called_several_times_in_a_row_has_a_frame_for_each_call():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    both, x = lambda a, b: net(a) - net(b), minigrad.ones(1, 2)
    for region in (regions := viz.draw(both, x, x).graph.regions):
        assert [node.record["name"] for node in region.all if node.is_op] == ["linear", "relu", "linear"]
    folded = viz.draw(both, x, x, size="slide", depth=1).graph
    names = [node.record["name"] for node in folded.nodes if node.is_op]
    assert len(regions) == 2 and names == ["net · Sequential", "net · Sequential", "sub"]
