"""Custom Functions from the inside that write tensors, take a module's parameters, use NumPy, or name their values."""

import re

import numpy as np
import pytest

import minigrad as torch
import viz
from minigrad.autograd import Function
from viz.cards.frames import OpenCard

from .test_open_functions import drawn, inside, labels


# ---------------------------------------------------------------------- tensors that are written, and parameters
class AddScaled(Function):
    @staticmethod
    def forward(ctx, n, a, x):
        x.add_(n * a)
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        ctx.n = n
        return x

    @staticmethod
    def backward(ctx, g):
        (result,) = ctx.saved_tensors
        return None, g * ctx.n, g * result / result


class WriteBoth(Function):
    @staticmethod
    def forward(ctx, first, second):
        second.mul_(2)
        first.add_(second)
        ctx.mark_dirty(second, first)
        return second, first

    @staticmethod
    def backward(ctx, into_second, into_first):
        return into_first, 2 * (into_first + into_second)


def test_two_written_tensors_are_paired_with_what_they_were_before():
    def written(x):
        second, first = WriteBoth.apply(x * 1, x * 10)
        return (first - second).sum()

    _, room = inside(drawn(written), "forward")
    ports = {card.node.key: card.node.label for card in room.cards.values() if card.node.kind == "port"}
    assert [ports[room.frame.entries[slot]] for slot in (0, 1)] == ["first", "second"]
    ends = {edge.target.key: edge.source for edge in room.frame.graph.edges if edge.target.kind == "port"}
    assert [ends[room.frame.exits[port]].record["name"] for port in (0, 1)] == ["mul", "add"]


class Affine(Function):
    @staticmethod
    def forward(ctx, input, weight, bias):
        ctx.save_for_backward(input, weight)
        output = input.mm(weight.t())
        output += bias * 2
        return output

    @staticmethod
    def backward(ctx, grad_output):
        input, weight = ctx.saved_tensors
        return grad_output.mm(weight), grad_output.t().mm(input), 2 * grad_output.sum(0)


def affine(**options):
    """Return the drawing of a module whose layer is computed by Affine."""

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 2, dtype=torch.float64)

        def forward(self, x):
            return Affine.apply(x, self.layer.weight, self.layer.bias) ** 2

    return viz.draw(Model(), torch.ones(1, 2, dtype=torch.float64), passes=("forward", "backward"), **options)


def test_a_tensor_that_forward_writes_before_it_returns_it_leaves_from_the_last_write():
    graph = (room := inside(affine(), "forward")[1]).frame.graph
    (edge,) = [edge for edge in graph.edges if edge.target.key == room.frame.exits[0]]
    assert edge.source.record["name"] == "add"
    numbers = [graph.name(value) for node in graph.nodes if node.is_op for value in node.outputs]
    assert edge.target.label not in numbers  # the number of the result outside


def test_the_parameters_of_an_open_function_have_cards_to_which_its_gradients_lead():
    drawing = affine()
    kinds = {drawing.graph.name(v): node.kind for node in drawing.graph.nodes for v in node.outputs if not node.is_op}
    assert [kinds[name] for name in ("layer.weight", "layer.bias")] == ["parameter", "parameter"]
    _, room = inside(drawing, "backward")
    ports = {card.node.key: card.node.label for card in room.cards.values() if card.node.kind == "port"}
    assert [ports.get(room.frame.entries.get(slot)) for slot in (1, 2)] == [
        "grad of layer.weight",
        "grad of layer.bias",
    ]
    assert not any(node.kind == "parameter" for node in inside(drawing, "forward")[1].frame.graph.nodes)
    assert drawing.text().index("layer.bias  parameter") < drawing.text().index("Affine(")


def test_the_parameters_of_a_closed_function_stand_in_its_card():
    (node,) = [node for node in affine(open="none").graph.nodes if node.kind == "function"]
    assert [node.record["inputs"].index(held.value) for held in node.held] == [1, 2]


def test_the_tensor_that_a_function_writes_may_be_any_of_its_arguments():
    def written(x):
        return AddScaled.apply(6, x, x.clone()).sum()

    drawing = drawn(written)
    _, forward = inside(drawing, "forward")
    ports = {card.node.key: card.node.label for card in forward.cards.values() if card.node.kind == "port"}
    assert [ports[forward.frame.entries[slot]] for slot in (0, 1)] == ["a", "x"]
    _, backward = inside(drawing, "backward")
    assert labels(backward, "saved") == ["saved result = [7, 14]"]  # after the write
    assert {0, 1} == set(backward.frame.entries)


class Constant(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.slope = torch.full_like(x, 2.0)
        return x * 2 + 1

    @staticmethod
    def backward(ctx, g):
        return ctx.slope


@pytest.mark.parametrize("format", ["svg", "text", "tex", "dot", "mermaid", "film"])
def test_a_function_with_an_empty_method_is_closed(format):
    drawing = drawn(lambda x: Constant.apply(x).sum(), open="all")
    assert "Constant" in getattr(drawing, format)()
    assert not any(isinstance(card, OpenCard) for card in drawing.cards.values())


class SortInNumPy(Function):
    @staticmethod
    def forward(ctx, x):
        array = x.numpy()
        order = np.argsort(array)
        # both leave as tensors
        ctx.order = order
        return (
            torch.tensor(array[order]),
            torch.from_numpy(order),
        )

    @staticmethod
    def backward(ctx, g, _):
        into = np.zeros(len(ctx.order), dtype="float32")
        into[ctx.order] = g.detach().numpy()
        return torch.tensor(into)


def sort_in_numpy(x):
    return (SortInNumPy.apply(x)[0] * 2).sum()


@pytest.mark.parametrize("format", ["svg", "text", "tex", "dot", "mermaid", "film", "html"])
def test_numpy_is_a_box_with_its_lines_in_every_format(format):
    drawing = drawn(sort_in_numpy)
    words = getattr(drawing, format)().replace("\u00a0", " ").replace("&nbsp;", " ")
    assert "NumPy" in words and "np.argsort" in words.replace("\\allowbreak", "")


def test_the_box_of_numpy_stands_between_what_it_reads_and_what_it_makes():
    _, room = inside(drawn(sort_in_numpy), "forward")
    assert [(edge.source.kind, edge.target.kind) for edge in room.frame.graph.edges] == [
        ("port", "cut"),
        ("cut", "port"),
    ]
    (box,) = [card.node.record for card in room.cards.values() if card.node.is_op]
    lines = box["where"]["code"].splitlines()
    assert lines[0] == "array = x.numpy()" and lines[-1] == ")" and "# both" not in box["where"]["code"]
    _, room = inside(drawn(sort_in_numpy), "backward")
    (box,) = [card.node.record for card in room.cards.values() if card.node.is_op]
    assert box["where"]["code"].splitlines() == ["into[ctx.order] = g.detach().numpy()", "return torch.tensor(into)"]
    assert "backward: NumPy" in drawn(sort_in_numpy, open="none").text()


# ---------------------------------------------------------------------- names
class Scaled(Function):
    """Its variables are called as the labels of other values in the program are."""

    @staticmethod
    def forward(ctx, x):
        return x * 0.12345678912345

    @staticmethod
    def backward(ctx, h_1):
        return h_1 * 0.12345678912345

    @staticmethod
    def jvp(ctx, h_2):
        return h_2 * 0.12345678912345


def looped(x):
    h = x
    for _ in range(3):
        h = h.tanh() * 2
    return Scaled.apply(h).sum()


@pytest.mark.parametrize("open", ["none", "all"])
def test_formulas_in_the_authors_words_stay_as_they_are(open):
    drawing = drawn(looped, "all", open=open)
    assert {"h[1]", "h[2]"} <= set(drawing.graph.names.values())
    assert ("= h_2 * 0.1235" in drawing.text()) == (open == "none")
    assert "back to h[3]: h_1 * 0.1235" in drawing.text()


def test_a_page_has_the_authors_words_too():
    rules = re.findall(r'"rule":\s*"([^"]*0.1235)"', drawn(looped, "all").html())
    assert sorted(rules) == ["= h_2 * 0.1235", "h_1 * 0.1235"]


class PowerAndSlope(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3, 3 * x**2

    @staticmethod
    def backward(ctx, grad_output, grad_dx):
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x**2 + grad_dx * 6 * x


@pytest.mark.parametrize("open", ["none", "all"])
def test_a_function_with_two_outputs_says_which_gradient_belongs_to_which(open):
    def both(x):
        result, dx = PowerAndSlope.apply(x)
        return (result + 2 * dx).sum()

    drawing = drawn(both, open=open)
    for shown in (drawing.text(), drawing.svg(), drawing.tex(), drawing.dot(), drawing.mermaid()):
        assert "grad of result" in shown and "grad of dx" in shown
