"""Real programs, recorded and drawn: what the pictures say is what the library computed."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

import minigrad
import viz
from minigrad import tensor
from tests.functions import custom

SVG = "{http://www.w3.org/2000/svg}"


Cube = custom(
    "Cube",
    forward=lambda ctx, x: ctx.save_for_backward(x) or x**3,
    backward=lambda ctx, g: g * 3 * ctx.saved_tensors[0] ** 2,
    jvp=lambda ctx, dx: dx * 3 * ctx.saved_tensors[0] ** 2,
)


def chain(w, x):
    h = (w * x).tanh()
    return (h * w).sum()


def with_cube(x):
    y = Cube.apply(x)
    return y + x


def inplace(x):
    y = x * 2.0
    y += 1.0
    y.mul_(y.detach())
    return y.sum()


def views(x):
    y = x.reshape(2, 3)
    return (y.t() @ y)[0].sum()


def branches(x):
    total = x * 0.0
    for i in range(6):
        total = total + x.sin() * float(i)
    return total.mean()


VECTOR = np.linspace(-1, 1, 6)
PROGRAMS = {
    "chain": (chain, [VECTOR, VECTOR + 0.5]),
    "custom": (with_cube, [VECTOR]),
    "in place": (inplace, [VECTOR]),
    "views": (views, [VECTOR]),
    "branches": (branches, [VECTOR]),
}


def given(arrays):
    return [tensor(a, dtype=minigrad.float64, requires_grad=True) for a in arrays]


@pytest.fixture(params=PROGRAMS.values(), ids=PROGRAMS)
def program(request):
    function, arrays = request.param
    return function, given(arrays)


@pytest.mark.parametrize("passes", ["forward", "backward", "jvp", "all"])
def test_each_pass_of_each_program_is_drawn(program, passes):
    function, arguments = program
    drawing = viz.draw(function, *arguments, passes=passes)
    ET.fromstring(drawing.svg())
    assert drawing.graph.ops and not set(drawing.cards) - {node.key for node in drawing.graph.nodes}


def test_contributions_along_the_edges_add_up_to_the_gradient_of_each_leaf(program):
    function, arguments = program
    graph = viz.draw(function, *arguments, passes="backward").graph
    wanted = minigrad.autograd.grad(function(*arguments).sum(), arguments)
    for value, gradient in zip((v for v in graph.values.values() if v["kind"] == "parameter"), wanted):
        total = sum(np.array(term["summary"]["values"]) for term in graph.contributions(value["id"]))
        np.testing.assert_allclose(total, gradient.numpy())


def test_every_operation_leads_to_its_line():
    drawing = viz.draw(chain, *given([VECTOR, VECTOR]))
    codes = [op["where"]["code"].strip() for op in drawing.graph.ops]
    assert codes == ["h = (w * x).tanh()"] * 2 + ["return (h * w).sum()"] * 2


def test_a_result_is_called_what_it_is_assigned_to():
    graph = viz.draw(chain, *given([VECTOR, VECTOR])).graph
    assert [graph.name(op["outputs"][0]) for op in graph.ops][1] == "h"


def test_a_custom_function_is_drawn_as_one():
    drawing = viz.draw(with_cube, *given([VECTOR]))
    assert [node.record["function"] for node in drawing.graph.nodes if node.kind == "function"] == ["Cube"]


def test_the_rules_of_a_custom_function_are_what_its_methods_computed():
    drawing = viz.draw(with_cube, tensor(2.0, requires_grad=True), passes="all", open="none")
    shown = {text.text for text in ET.fromstring(drawing.svg()).iter(f"{SVG}text")}
    assert {"g * 3 * x ** 2", "= dx * 3 * x ** 2"} <= shown


def test_apply_is_drawn_under_the_names_of_its_function():
    Shifted = custom(
        "Shifted",
        forward=lambda ctx, left, right, n: left + right + n,
        backward=lambda ctx, grad: (grad, grad, None),
    )
    drawing = viz.draw(Shifted.apply, tensor(2.0, requires_grad=True), tensor(3.0, requires_grad=True), 4)
    program, (op,) = drawing.record["program"], drawing.graph.ops
    assert (program["name"], program["file"]) == ("Shifted", __file__)
    assert [value["name"] for value in drawing.record["values"][:2]] == ["left", "right"]
    assert op["where"]["file"] == ""  # the line of viz that called it is no line of the program
    assert "Shifted(left, right, 4)" in drawing.text() and "made" not in drawing.text()


def test_an_operation_is_drawn_without_a_file_or_line_of_ours():
    drawing = viz.draw(minigrad.tanh, tensor(2.0, requires_grad=True), passes=("forward", "backward"))
    assert drawing.record["program"]["file"] == "" and drawing.graph.ops[0]["where"]["file"] == ""
    assert "minigrad" not in drawing.text()


def test_the_backward_of_a_function_shows_the_gradients_of_all_its_outputs():
    Both = custom(
        "Both",
        forward=lambda ctx, x: (x * 2, x * 3),
        backward=lambda ctx, of_double, of_triple: of_double * 2 + of_triple * 3,
    )

    def program(x):
        double, triple = Both.apply(x)
        return double * 5 + triple * 7

    shown = viz.draw(program, tensor(2.0, requires_grad=True), passes="backward").text()
    assert "of_double * 2 + of_triple * 3 = 31" in shown


@pytest.mark.filterwarnings("ignore::minigrad.MinigradWarning")
@pytest.mark.parametrize("rankdir", ["TB", "LR"])
def test_a_function_that_returns_no_tensor_is_drawn(rankdir):
    Silent = custom("Silent", forward=lambda ctx, x: None)

    def program(x):
        Silent.apply(x)
        return x * 2

    drawing = viz.draw(program, tensor([1.0, 2.0], requires_grad=True), passes=("forward", "backward"), rankdir=rankdir)
    assert "Silent" in drawing.svg()


def test_the_title_names_the_functions_file():
    assert viz.draw(with_cube, tensor(2.0)).record["program"]["file"] == __file__


def test_a_tensor_shows_its_graph_and_a_plain_one_only_its_text():
    w = tensor(2.0, requires_grad=True)
    bundle = viz.notebook.mimebundle(w * w)
    assert bundle["image/svg+xml"].startswith("<svg") and "4" in bundle["text/plain"]
    assert set(viz.notebook.mimebundle(tensor(1.0))) == {"text/plain"}


def test_drawing_a_tensor_leaves_its_graph_and_gradients_alone():
    w = tensor(2.0, requires_grad=True)
    y = w * w
    viz.draw(y, passes=("forward", "backward")).svg()
    assert w.grad is None
    y.backward()
    assert w.grad.item() == 4.0


def test_a_tensor_that_nothing_made_says_so():
    with pytest.raises(ValueError, match="no graph"):
        viz.draw(tensor(1.0))


def test_what_cannot_be_drawn_is_refused_by_its_type():
    with pytest.raises(TypeError, match="int cannot be drawn"):
        viz.draw(3)
