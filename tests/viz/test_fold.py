"""Folding: what becomes a box, what is in it, and that every format draws it."""

import json
import sys
import time
import xml.etree.ElementTree as ET

import pytest

import minigrad
import viz
from minigrad import nn
from viz.formats.files import SUFFIXES
from viz.graph.drawn_graph import Graph
from viz.graph.fold import fold

from . import records


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        return self.linear(x).tanh() + x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Layer() for _ in range(4)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x.sum()


@pytest.fixture(scope="module")
def net():
    return minigrad.record(Net(), minigrad.ones(2, 3)).to_dict()


def boxes(graph):
    return [node.record for node in graph.nodes if node.kind == "fold"]


def test_a_small_graph_is_left_as_it_is():
    graph = Graph(records.two_uses())
    assert fold(graph) is graph


@pytest.mark.parametrize("depth, names", [(1, ["Net"]), (2, [f"layers[{i}] · Layer" for i in range(4)]), (9, [])])
def test_depth_says_how_many_levels_of_modules_are_open(net, depth, names):
    assert [box["name"] for box in boxes(viz.draw(net, depth=depth).graph)] == names


def test_a_box_counts_its_operations_and_the_parameters_in_it(net):
    (first, *_) = boxes(viz.draw(net, depth=2).graph)
    inner = first["folded"]
    assert inner["names"] == {"linear": 1, "tanh": 1, "add": 1}
    assert (inner["kind"], inner["parameters"], inner["elements"]) == ("module", 2, 12)


def test_boxes_in_json_have_the_module_as_the_record_has_it_by_class(net):
    values = [{**v, "name": f"model.{v['name']}"} if v["kind"] == "parameter" else v for v in net["values"]]
    drawing = viz.draw({**net, "values": values}, depth=2)
    assert drawing.whole.ops[0]["module"][0] == "model"
    assert [op["module"] for op in json.loads(drawing.json())["ops"]] == [["Net"]] * 5


def test_without_modules_functions_are_the_levels():
    def inner(x):
        return (x * x).sin()

    def program(x):
        return inner(x) + 1

    record = minigrad.record(program, minigrad.tensor(1.0)).to_dict()
    (box,) = boxes(viz.draw(record, depth=1).graph)
    assert box["name"].endswith("inner") and len(box["folded"]["ops"]) == 2


@pytest.mark.parametrize("most", [3, 10, 40, 200])
def test_folding_leaves_at_most_so_many_nodes(most):
    graph = viz.draw(records.recurrent(steps=300), max_nodes=most).graph
    assert len(graph.nodes) <= max(most, 10)  # of a single box the parameters that are inputs stay
    assert graph.operations == 300


def test_of_a_loop_one_round_is_open_and_the_others_are_one_box():
    graph = viz.draw(records.recurrent(steps=300), max_nodes=100).graph
    (box,) = boxes(graph)
    assert (box["name"], box["folded"]["times"], box["folded"]["each"]) == ("h = h @ W", 299, ["matmul"])
    assert [node.kind for node in graph.nodes if node.is_op] == ["op", "fold"]


LOOP = """import minigrad as torch

def program(x, w):
    h = x.sin()
    for step in range(30):
        h = (h * w).tanh()
    return h.sum()
"""


def test_a_box_holds_whole_rounds_under_the_head_of_their_loop(tmp_path):
    path = tmp_path / "loop.py"
    path.write_text(LOOP)
    space = {}
    exec(compile(LOOP, str(path), "exec"), space)
    graph = viz.draw(space["program"], minigrad.ones(2), minigrad.tensor(0.5)).graph
    (box,) = boxes(graph)
    assert box["name"] == "for step in range(30)" and box["folded"]["each"] == ["mul", "tanh"]
    assert [node.record["name"] for node in graph.nodes if node.is_op and node.kind != "fold"] == [
        *["sin", "mul", "tanh"],
        "sum",
    ]


def deep(layers):
    return nn.Sequential(
        *[nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3), nn.Sigmoid()) for _ in range(layers)]
    )


def test_of_equal_layers_the_first_is_open_and_the_others_are_one_box():
    graph = viz.draw(minigrad.record(deep(12), minigrad.ones(2, 3))).graph
    (box,) = boxes(graph)
    assert (
        box["name"] == "Sequential[1] to Sequential[11]"
        and box["folded"]["times"] == 11
        and box["folded"]["parameters"] == 44
    )
    assert [node.record["name"] for node in graph.nodes if node.kind == "op"] == ["linear", "tanh", "linear", "sigmoid"]


def test_equal_modules_fold_in_a_graph_that_would_fit():
    plain = nn.Sequential(*[layer for _ in range(8) for layer in (nn.Linear(3, 3), nn.Tanh())])
    graph = viz.draw(minigrad.record(plain, minigrad.ones(2, 3))).graph
    assert [node.record["name"] for node in graph.nodes if node.is_op] == ["linear", "tanh", "plain[2] to plain[15]"]
    assert viz.draw(minigrad.record(plain, minigrad.ones(2, 3)), max_nodes=None).graph.nodes[-1].kind == "op"


def test_modules_of_a_level_are_all_open_or_all_folded():
    stages = nn.Sequential(*[nn.Sequential(Layer(), Layer(), nn.Tanh()) for _ in range(3)])
    record = minigrad.record(stages, minigrad.ones(2, 3)).to_dict()
    for most in (25, 20, 12, 9):
        graph = viz.draw(record, max_nodes=most).graph
        kinds = {
            node.kind
            for node in graph.nodes
            if node.record["name"] in ("linear", "add") or "Layer" in str(node.record["name"])
        }
        assert len(kinds) <= 1 and len(graph.nodes) <= most


def test_each_layer_of_a_recurrent_module_is_a_box_with_its_time_steps():
    lstm = nn.LSTM(2, 3, num_layers=2)
    graph = viz.draw(lambda x: lstm(x)[0].sum(), minigrad.ones(5, 1, 2)).graph
    found = [box["name"] for box in boxes(graph)]
    assert [name.rpartition("layer ")[2] for name in found] == ["0 · 5 time steps", "1 · 5 time steps"]


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mask", minigrad.ones(2, 2).tril().view(1, 2, 2))

    def forward(self, x):
        return (x * self.mask).sum()


def test_the_initialisation_of_a_buffer_is_no_part_of_the_picture():
    with minigrad.record(passes=("forward", "backward")) as rec:
        model = Masked()
        x = minigrad.ones(1, 2, 2, requires_grad=True)
        loss = model(x)
        loss.backward()
    names = [node.record["name"] for node in viz.draw(rec, passes="backward").graph.nodes if node.is_op]
    assert names == ["mul", "sum"]
    names = [node.record["name"] for node in viz.draw(rec, show="setup").graph.nodes if node.is_op]
    assert names == ["tril", "view", "mul", "sum"]


def test_a_box_shows_the_norms_of_its_parameters_gradients():
    drawing = viz.draw(minigrad.record(deep(12), minigrad.ones(2, 3)), passes="backward")
    (box,) = boxes(drawing.graph)
    assert len(box["folded"]["gradients"]) == 44
    assert "norms of its parameters' gradients" in drawing.text()


def test_views_are_on_the_card_of_the_operation_that_they_look_at():
    def program(x, w):
        h = (x.T @ w).reshape(-1)
        for _ in range(8):
            h = h.sin()
        return h.exp().log().tanh().reshape(2, 2).sum()

    x, w = minigrad.ones(2, 2), minigrad.ones(2, 2).requires_grad_()
    record = minigrad.record(program, x, w).to_dict()
    few, every = viz.draw(record), viz.draw(record, show=("values", "views"))
    names = [node.record["name"] for node in few.graph.nodes if node.is_op]
    assert names[0] == "matmul" and "reshape" not in names and "transpose" not in names
    assert few.graph.operations == every.graph.operations == len(every.graph.ops) == 16
    assert fold(fold(few.graph, 5), 2).operations == 16  # a box in a box counts them once
    assert few.graph.nodes[-1].record["name"] == "sum" and "then .reshape(" in few.text() and "x.T @ w" in few.text()
    assert all(edge.flow for edge in few.graph.edges if few.graph.name(edge.value) not in ("x",))


def test_json_is_the_whole_record_unless_folding_is_requested():
    record = minigrad.record(deep(12), minigrad.ones(2, 3)).to_dict()
    assert json.loads(viz.draw(record).json())["ops"] == record["ops"]
    assert len(json.loads(viz.draw(record, max_nodes=20).json())["ops"]) < 20


def test_every_operation_is_in_one_place_in_its_order(net):
    whole = Graph(net)
    for most in (5, 8, 12):
        found = [
            op
            for node in fold(whole, most).nodes
            if node.is_op
            for op in (node.record["folded"]["ops"] if node.kind == "fold" else [node.record["id"]])
        ]
        assert found == [op["id"] for op in whole.ops]


def test_gradients_and_tangents_of_what_leaves_a_box_are_those_of_the_record(net):
    whole, graph = Graph(net), viz.draw(net, depth=2).graph
    for box in boxes(graph):
        for value in box["outputs"]:
            assert graph.gradient(value) == whole.gradient(value) is not None
            assert graph.tangent(value) == whole.tangent(value) is not None


def test_an_edge_out_of_a_box_carries_the_sum_of_what_flows_inside(net):
    graph = viz.draw(net, depth=2).graph
    second = [node for node in graph.nodes if node.kind == "fold"][1]
    (edge,) = second.inputs
    assert edge.flow["formula"] == "2 contributions"  # through the layer and past it
    assert edge.flow["gives"] == graph.gradients[edge.value]


def test_names_are_those_of_the_whole_graph(net):
    whole, graph = Graph(net), viz.draw(net, depth=1).graph
    assert graph.names == whole.names


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_format_draws_boxes(net, suffix):
    drawing = viz.draw(net, depth=2, passes="all")
    made = drawing.rendered(suffix)
    if suffix in (".dot", ".gv", ".mmd", ".mermaid", ".txt", ".json"):
        assert b"layers[2]" in made


def test_a_box_is_an_element_that_names_its_operations(net):
    root = ET.fromstring(viz.draw(net, depth=2).svg())
    found = [g for g in root.iter("{http://www.w3.org/2000/svg}g") if g.get("class") == "node fold"]
    assert found[0].get("id") == "fold-0-2" and found[0].get("data-ops") == "0 1 2"


def test_json_of_a_folded_graph_has_boxes_for_operations(net):
    document = json.loads(viz.draw(net, depth=2).json())
    assert [len(op["folded"]["ops"]) for op in document["ops"] if "folded" in op] == [3] * 4
    assert document["values"] == net["values"]


def lines_run(action):
    """Return the number of lines of Python that an action runs, and its result."""
    count = 0

    def step(frame, event, arg):
        nonlocal count
        count += event == "line"
        return step

    before = sys.gettrace()
    sys.settrace(step)
    try:
        made = action()
    finally:
        sys.settrace(before)
    return count, made


def training(steps):
    """Return the recording of a training run: each step reads what the last one has written."""
    layer = nn.Linear(2, 1)
    optimizer = minigrad.optim.SGD(layer.parameters(), lr=0.1)
    with minigrad.record(passes=("forward", "backward")) as rec:
        for _ in range(steps):
            optimizer.zero_grad()
            layer(minigrad.ones(3, 2)).sum().backward()
            optimizer.step()
    return rec


def test_the_work_on_a_step_of_training_is_the_same_after_many():
    work = []
    for steps in (10, 100, 200):  # the first looks up what is looked up once
        rec = training(steps)
        recorded, record = lines_run(rec.to_dict)
        drawing = viz.Drawing(record, ("forward", "backward"), max_nodes=10)
        folded, graph = lines_run(lambda: fold(drawing.whole, most=10))  # noqa: B023  it runs at once
        written, _ = lines_run(drawing.html)
        assert graph is not drawing.whole
        work.append((recorded, folded, written))
    for half, whole in zip(*work[1:]):
        assert whole < 2.2 * half


def test_the_viewers_page_needs_no_folded_graph(monkeypatch):
    monkeypatch.setattr("viz.drawing.fold", None)
    assert viz.draw(records.recurrent(steps=300)).html().startswith("<!DOCTYPE html>")


def test_the_last_box_has_the_tangent_of_its_result():
    x = minigrad.tensor(1.0, requires_grad=True)
    with minigrad.record(passes=("forward", "jvp")) as rec:  # nothing says what its outputs are
        y = (x * 2).sin()
    (box,) = boxes(viz.draw(rec, depth=1).graph)
    assert list(box["tangents"]) == [str(box["outputs"][0])] and y.item() > 0


@pytest.mark.slow
def test_a_hundred_thousand_operations_fold_in_seconds():
    record = records.recurrent(steps=100_000)
    start = time.process_time()
    drawing = viz.draw(record)
    for made in (drawing.svg(), drawing.dot(), drawing.text(), drawing.mermaid()):
        assert len(made) < 3_000_000
    assert len(drawing.graph.nodes) <= 500
    assert time.process_time() - start < 30  # 5 s on an idle machine


def test_a_value_behind_a_hidden_view_is_called_as_the_program_writes_it():
    def program(x, w):
        k = (x * 2).sin()
        scores = k @ k.T
        for _ in range(10):
            scores = scores.sin()
        return (scores @ w[0].reshape(2, 1)).mean()

    x, w = minigrad.ones(2, 2), minigrad.ones(3, 2).requires_grad_()
    drawing = viz.draw(minigrad.record(program, x, w).to_dict(), passes=("forward", "backward", "jvp"))
    said = drawing.text()
    assert "k @ k.T" in said and "then .T" in said and "permute" not in said
    (last,) = [op for op in drawing.graph.ops if op["name"] == "matmul" and op.get("hides")]
    assert drawing.graph.words(last["call"]) == "scores[10] @ w[0].reshape(2, 1)"
    assert drawing.graph.words("v3_t").startswith("w_t[0].")
