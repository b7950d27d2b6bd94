"""The graph of an engine that is not minigrad's, drawn from the attributes of its nodes."""

from types import SimpleNamespace

import numpy as np
import pytest

import minigrad
from minigrad.record.validate import validate
from viz import draw
from viz.drawing import MissingPass
from viz.graph.foreign_graph import is_node, record_of_graph


class Node(SimpleNamespace):
    """A node with the attributes that a test gives it."""

    def __init__(self, value, grad=None, parents=(), **more):
        super().__init__(value=value, grad=grad, parents=parents, **more)


def product(with_local=True):
    """Return loss = a * b + a after backward, and a."""
    a, b = Node(3.0, 5.0), Node(4.0, 3.0)
    local = (lambda *d: {"local_grads": d}) if with_local else (lambda *d: {})
    p = Node(12.0, 1.0, (a, b), op="*", **local(4.0, 3.0))
    return Node(15.0, 1.0, (p, a), op="+", **local(1.0, 1.0)), a, b


def contributions(record):
    """Return the contribution of each edge: (label of the input, value, None if unknown)."""
    values = record["values"]
    return [(values[e["input"]]["label"], values[e["gives"]]["summary"].get("values"))
            for op in record["ops"] if op["phase"] == "forward" for e in op["edges"]]  # fmt: skip


def test_names_calls_gradients_and_contributions():
    loss, a, b = product()
    made = draw(loss, passes=("forward", "backward")).record
    validate(made)
    assert [op["call"] for op in made["ops"] if op["phase"] == "forward"] == ["a * b", "v0 + a"]
    assert contributions(made) == [("a", 4.0), ("b", 3.0), ("v0", 1.0), ("a", 1.0)]
    labels = {made["values"][int(v)]["label"]: made["values"][g]["summary"]["values"]
              for v, g in made["gradients"].items()}  # fmt: skip
    assert labels == {"a": 5.0, "b": 3.0, "v0": 1.0, "loss": 1.0}


def test_contributions_without_local_derivatives_are_known_only_for_a_single_use():
    loss, a, b = product(with_local=False)
    assert contributions(draw(loss).record) == [("a", None), ("b", 3.0), ("v0", 1.0), ("a", None)]


def test_a_gradient_that_was_assigned_differs_from_the_sum_of_its_contributions():
    loss, a, b = product()
    a.grad = 1.0  # the last contribution replaced the first
    text = draw(loss, passes="backward").text()
    assert "grad = 1\n" in text and "4 + 1" in text


@pytest.mark.parametrize("suffix", [".svg", ".html", ".txt", ".json", ".png", ".dot", ".mmd"])
def test_every_format(suffix):
    loss, *_ = product()
    assert draw(loss, passes=("forward", "backward")).rendered(suffix)


def test_before_backward_there_is_no_backward_pass():
    for zero in (None, 0.0):
        loss, a, b = product()
        for node in (loss, loss.parents[0], a, b):
            node.grad = zero
        assert draw(loss).passes == ["forward"] or draw(loss).passes == ("forward",)
        with pytest.raises(MissingPass, match="no node has a gradient: call your backward first"):
            draw(loss, passes="backward")


def test_arrays_tensors_constants_and_pairs():
    x = Node(np.array([1.0, 2.0]), np.array([3.0, 3.0]))
    doubled = Node(np.array([3.0, 6.0]), np.array([1.0, 1.0]), [(x, 3.0), 3.0], op="*")
    made = draw(doubled).record
    assert made["ops"][0]["call"] == "x * 3.0" and contributions(made) == [("x", [3.0, 3.0])]
    w = SimpleNamespace(data=minigrad.tensor([1.0, 2.0]), grad=minigrad.ones(2), parents=[])
    total = SimpleNamespace(data=minigrad.tensor(3.0), grad=minigrad.tensor(1.0), parents=[w], op=minigrad.sum)
    made = draw(total).record
    assert made["ops"][0]["call"] == "sum(w)" and contributions(made) == [("w", [1.0, 1.0])]
    assert made["values"][0]["dtype"] == "float32"


def test_a_contribution_of_another_shape_than_its_parent_is_unknown():
    x = Node(np.ones(3), np.ones(3))
    other = Node(1.0, 1.0, (x,), op="first", local_grads=(1.0,))
    made = draw(Node(4.0, 1.0, (other, x), op="+", local_grads=(1.0, np.ones(3)))).record
    assert contributions(made)[0] == ("x", None)


def test_a_leaf_without_a_gradient_is_an_input():
    scores, classes = Node(2.0, 1.0), Node(3.0)
    made = draw(Node(1.0, 1.0, (scores, classes), op="loss")).record
    assert [v["kind"] for v in made["values"]][:2] == ["parameter", "input"]
    assert contributions(made) == [("scores", 1.0)]


def test_values_gradients_and_tangents_may_be_nodes_of_an_engine():
    x = Node(Node(3.0), Node(2.0), tangent=Node(1.0))
    made = draw(Node(Node(6.0), Node(1.0), (x,), op="double", tangent=Node(2.0)), passes="jvp").record
    assert [v["summary"]["values"] for v in made["values"]] == [3.0, 6.0, 2.0, 1.0, 1.0, 2.0]


def test_names_come_from_nodes_lists_and_dictionaries():
    weights, config = [Node(1.0), Node(2.0)], {"b": Node(3.0)}
    result = Node(6.0, None, (*weights, config["b"], Node(0.0, name="named")), op="sum")
    assert draw(result).record["ops"][0]["call"] == "sum(weights_0, weights_1, config_b, named)"


def test_the_name_of_an_operation():
    class Exp:
        pass

    def log(x):
        return x

    x = Node(1.0)
    for op, name in ((Exp, "Exp"), (Exp(), "Exp"), (log, "log"), ("tanh", "tanh"), (None, "Node")):
        assert draw(Node(1.0, None, (x,), op=op)).record["ops"][0]["call"] == f"{name}(x)"


def test_tangents_give_a_jvp_pass():
    x = Node(2.0, tangent=1.0)
    y = Node(4.0, None, (x, x), op="*", tangent=4.0)
    assert "tangent = 4" in draw(y, passes="jvp").text()


def test_thousands_of_nodes_are_folded():
    value = leaf = Node(1.0, 1.0)
    for _ in range(5000):
        value = Node(1.0, 1.0, (value,), op="same", local_grads=(1.0,))
    drawing = draw(value)
    assert drawing.whole.operations == 5000 and len(drawing.graph.nodes) <= 40
    assert drawing.svg() and is_node(leaf)


def test_a_cycle_is_refused():
    a = Node(1.0)
    b = Node(1.0, None, (a,))
    a.parents = (b,)
    with pytest.raises(ValueError, match="b \\(a Node\\) is computed from itself: the graph has a cycle"):
        draw(b)


@pytest.mark.parametrize(
    ("node", "words"),
    [
        (SimpleNamespace(value=1.0, grad=None), "node (a SimpleNamespace) has no parents"),
        (SimpleNamespace(value=1.0, parents=()), "node (a SimpleNamespace) has no grad"),
        (SimpleNamespace(grad=1.0, parents=()), "node (a SimpleNamespace) has no value or data"),
        (Node(1.0, None, 3), "the parents of node (a Node) are a int, not a tuple"),
        (Node(1.0, None, "ab"), "the parents of node (a Node) are a str, not a tuple"),
        (Node(1.0, None, (Node(1.0), "b")), "a parent of node (a Node) is a str, neither a node nor a number"),
        (Node("1.0"), "the value of node (a Node) is a str, not a number"),
        (Node(1.0, "0"), "the grad of node (a Node) is a str, not a number"),
        (Node([[1.0], [1.0, 2.0]]), "the value of node (a Node) is a list, not a number"),
    ],
)
def test_what_draw_needs_is_said(node, words):
    with pytest.raises(TypeError) as caught:
        draw(node)
    assert words in str(caught.value) and "To fix: give each node the attributes value (or data)" in str(caught.value)
    assert f"{__file__}:" in str(caught.value)


def test_local_derivatives_are_counted():
    a = Node(1.0)
    with pytest.raises(ValueError, match="y \\(a Node\\) has 2 parents and 1 local derivative"):
        y = Node(1.0, None, (a, a), local_grads=(1.0,))
        draw(y)


def test_seeds_are_refused():
    loss, *_ = product()
    with pytest.raises(ValueError, match="the nodes have their gradients and tangents. Leave out grad"):
        draw(loss, grad=2.0)


def test_the_record_is_valid_and_classes_are_no_nodes():
    loss, *_ = product()
    validate(record_of_graph(loss, {}).to_dict())
    assert not is_node(Node) and not is_node(3.0) and not is_node(np.ones(2))
