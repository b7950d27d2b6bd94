"""The graph that is drawn: which cards, which edges, which copies."""

import pytest

import minigrad
import viz
from viz.cards.content import card, flow_label
from viz.graph.drawn_graph import Graph

from . import records


def keys(graph, kind):
    return [node.key for node in graph.nodes if node.kind == kind]


def test_every_forward_operation_is_one_card_and_every_use_one_edge():
    record = records.two_uses()
    graph = Graph(record)
    assert keys(graph, "op") == ["op-0", "op-1", "op-2", "op-3"]
    assert len(graph.edges) == sum(len(op["inputs"]) for op in record["ops"])


def test_a_leaf_used_twice_is_one_card():
    graph = Graph(records.two_uses())
    assert keys(graph, "parameter") == ["value-0", "value-2"]
    assert keys(graph, "copy") == []


def test_a_leaf_used_often_is_one_card_and_a_copy_for_each_other_use():
    record = records.recurrent(steps=40, weights=1)
    graph = Graph(record)
    uses = sum(op["inputs"].count(0) for op in record["ops"])
    assert keys(graph, "parameter") == ["value-0"]
    assert len([node for node in graph.nodes if node.kind == "copy" and node.outputs == [0]]) == uses - 1 > 3


def test_copies_have_ids_of_their_own():
    graph = Graph(records.recurrent(steps=60))
    names = [node.key for node in graph.nodes]
    assert len(names) == len(set(names))


def test_a_use_far_from_the_first_is_a_copy():
    r = records.Builder()
    w = r.value(1.0, "parameter", "w")
    h = r.value(1.0, "input", "h")
    for step in range(20):
        h, before = r.value(1.0), h
        r.op("mul", [before, w] if step in (0, 19) else [before], [h], "h = h * w")
    assert keys(Graph(r.record), "copy") == ["value-0-copy-1"]


def test_operations_of_other_passes_are_no_cards():
    record = records.two_uses()
    record["ops"].append({**record["ops"][0], "id": 4, "phase": "backward", "of": 3, "edges": []})
    assert keys(Graph(record), "op") == ["op-0", "op-1", "op-2", "op-3"]


def test_a_backward_that_was_differentiated_is_a_card_with_edges_of_its_own():
    record = records.two_uses()
    moved, record["ops"][3]["edges"] = record["ops"][3]["edges"], []
    record["ops"].append({**record["ops"][3], "id": 4, "phase": "backward", "of": 3, "edges": moved})
    graph = Graph(record)
    assert keys(graph, "op") == ["op-0", "op-1", "op-2", "op-3", "op-4"]
    flows = {edge.key: edge.flow for edge in graph.edges}
    assert flows["edge-5-4-0"] == moved[0] and flows["edge-5-3-0"] is None
    head = card(graph, graph.nodes[-1], graph.passes).head[0].lines[0].text
    assert head.startswith(f"{record['ops'][3]['name']} backward  h * w")


def test_an_operand_used_twice_gets_its_two_flows_in_order():
    r = records.Builder()
    x, y = r.value(3.0, "parameter", "x"), r.value(9.0)
    one, three, also = r.value(1.0, "gradient"), r.value(3.0, "gradient"), r.value(3.0, "gradient")
    op = r.op("mul", [x, x], [y], "y = x * x")
    r.flow(op, x, "y", one, three)
    r.flow(op, x, "x", one, also)
    assert [edge.flow["gives"] for edge in Graph(r.record).edges] == [three, also]


def test_what_several_outputs_send_back_along_one_edge_is_told_as_one():
    x = minigrad.tensor([2.0, 3.0], requires_grad=True)

    def f(x):
        p, q = x  # one operation with two outputs, each of which sends something back
        return p * q + 5 * q

    drawing = viz.draw(f, x, passes="backward")
    (into_x,) = [edge for edge in drawing.graph.edges if edge.source.kind == "parameter"]
    label = " ".join(line.text for line in flow_label(drawing.graph, into_x))
    assert "g[0]" in label and "g[1]" in label and label.endswith("= [3, 7]")
    assert [one["summary"]["values"] for one in drawing.graph.contributions(into_x.value)] == [[3.0, 7.0]]
    assert "[3, 7]" in drawing.text() and drawing.html()


def test_contributions_sum_to_the_gradient():
    graph = Graph(records.two_uses())
    for value in graph.gradients:
        if terms := graph.contributions(value):
            total = sum(term["summary"]["values"] for term in terms)
            assert total == pytest.approx(graph.gradient(value)["summary"]["values"], rel=1e-6)


def test_a_gradient_that_the_record_does_not_list_is_taken_from_the_edges():
    record = records.two_uses()
    upstream = record["ops"][1]["edges"][0]["upstream"]
    del record["gradients"]["4"]
    assert Graph(record).gradients[4] == upstream


def test_an_output_that_is_an_input_is_a_card():
    r = records.Builder()
    r.record["outputs"] = [r.value(1.0, "input", "x")]
    assert keys(Graph(r.record), "input") == ["value-0"]


def test_saved_bytes_count_a_value_once_however_many_keep_it():
    assert Graph(records.two_uses()).saved_bytes() == 3 * 4
