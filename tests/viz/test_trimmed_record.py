"""A picture begins at the parameters, and shows the operations that lead to the named tensor or back from it."""

import json
import re

import pytest

import minigrad
import viz
from minigrad import func, nn
from viz.errors import Usage
from viz.graph.trimmed_record import leading_to_outputs
from viz.programs.run_program import Program
from viz.view import parts, view_from

STEP = """
import minigrad as torch

w = torch.tensor([1.0, 2.0]) * 0.5
w.requires_grad_()
for _ in range(3):
    loss = (w * w).sum()
    w.grad = None
    loss.backward()
    with torch.no_grad():
        w -= 0.25 * w.grad
with torch.no_grad():
    error = w.abs().max()
"""


def shown(program, name, show="all"):
    """Return the calls of a program's picture, and the kinds of its leaves; a value without a name is v."""
    record, notes = Program("net.py", program.encode()).record(name, ("forward", "backward"))
    graph = viz.Drawing(record, ("forward",), notes, view_from(show)).graph
    leaves = {plain(graph.name(value)): graph.kind(value) for value in leaves_of(graph)}
    return [plain(graph.words(op["call"])) for op in graph.ops], leaves


def leaves_of(graph):
    """Return the leaves with a card, and the parameters inside the cards of operations."""
    return [
        value for node in graph.nodes for value in (*node.outputs * (not node.is_op), *(p.value for p in node.held))
    ]


def plain(text):
    return re.sub(r"\bv\d+", "v", text)


def test_a_leaf_that_requires_grad_begins_the_picture():
    program = STEP.partition("for")[0] + "y = w * 3\n"
    assert shown(program, "y") == (["w * 3"], {"w": "parameter"})
    assert shown(program, "y", "all,setup")[0] == ["v * 0.5", "w * 3"]


def test_the_first_numbers_of_a_modules_parameters_are_setup():
    program = "import minigrad as torch\nnet = torch.nn.Linear(2, 1)\ny = net(torch.ones(1, 2))"
    calls, leaves = shown(program, "y")
    assert calls == ["linear(v, net.weight, bias=net.bias)"]
    assert leaves == {"v": "input", "net.weight": "parameter", "net.bias": "parameter"}
    assert len(shown(program, "y", "setup")[0]) > 2


def test_attention_on_one_input_computes_nothing_that_changes_nothing():
    layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
    graph = viz.draw(minigrad.record(layer, minigrad.ones(3, 2, 4))).graph
    assert "movedim" not in {op["name"] for op in graph.ops}
    leaves = {graph.name(value): graph.kind(value) for value in leaves_of(graph)}
    assert leaves["self_attn.in_proj_weight"] == leaves["self_attn.in_proj_bias"] == "parameter"


def test_the_update_of_a_step_is_added_where_it_is_asked_for():
    assert shown(STEP, "loss") == (["w * w", "sum(v)"], {"w": "parameter"})
    calls, leaves = shown(STEP, "loss", "all,update")
    assert calls[2:] == ["w.grad * 0.25", "w.sub_(v)"] and leaves == {"w": "parameter", "grad of w": "computed"}


def test_an_update_shows_the_value_before_and_after_and_whose_gradient_it_reads():
    record, _ = Program("net.py", STEP.encode()).record("loss", ("forward", "backward"))
    drawing = viz.draw(record, show=["all", "update"])
    values = {value["id"]: value["summary"].get("values") for value in record["values"]}
    (write,) = [op for op in drawing.graph.ops if op["inplace"]]
    assert write["phase"] == "update"
    before, after = values[write["inputs"][0]], values[write["outputs"][0]]
    assert (before, after) == ([0.125, 0.25], [0.0625, 0.125])
    text = drawing.text()
    assert "gradient of w" in text and "in place · update" in text


def test_what_is_computed_after_an_update_shows_that_update():
    calls, _ = shown(STEP, "error", "all,update")
    assert calls == ["w₃.grad * 0.25", "w₃.sub_(v)", "abs(w)", "max(v)"]  # the lines are in no file
    assert shown(STEP, "error")[0] == ["abs(w)", "max(v)"]


def test_an_optimizers_earlier_steps_do_not_belong_to_the_last_one():
    program = """
import minigrad as torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
optimizer = torch.optim.Adam([w])
for _ in range(3):
    loss = (w * w).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
    calls, _ = shown(program, "loss", "all,update")
    assert len(calls) == 9 and calls[2].startswith("w.exp_avg.lerp_(w.grad, ")


def test_what_gradients_are_not_asked_of_is_left_out():
    def loss(w, x):
        return ((w * x).sum() - 1) ** 2

    xs, w = minigrad.arange(6.0).reshape(3, 2), minigrad.tensor([1.0, 2.0])

    def program():
        minigrad.vmap(func.grad(loss), in_dims=(None, 0))(w, xs)
        return func.grad(lambda w: minigrad.vmap(loss, in_dims=(None, 0))(w, xs).sum())(w)

    ops = leading_to_outputs(minigrad.record(program).to_dict())["ops"]
    assert {tuple(op["layer"]) for op in ops} == {("grad",), ("grad", "vmap")}


def test_a_shown_part_stands_in_the_viewer_too():
    record, notes = Program("net.py", STEP.encode()).record("loss", ("forward", "backward"))
    pages = {show: viz.Drawing(record, ("forward",), notes, view_from(show)).html() for show in ("all", "all,update")}
    assert ["w.sub_(v" in page for page in pages.values()] == [False, True]


def test_json_has_the_operations_that_are_shown():
    record, notes = Program("net.py", STEP.encode()).record("loss", ("forward", "backward"))
    phases = [
        {op["phase"] for op in json.loads(viz.Drawing(record, ("forward",), notes, view_from(show)).json())["ops"]}
        for show in ("all", "all,update")
    ]
    assert phases == [{"forward", "backward"}, {"forward", "backward", "update"}]


def test_all_is_what_stands_on_cards():
    assert parts(["all", "update"]) - parts(["all"]) == {"update"}
    assert view_from(None) == view_from("all") and view_from("").show == frozenset()
    with pytest.raises(Usage, match="--show 'updates' is unknown. Did you mean update"):
        view_from("all,updates")


SEVERAL_NAMES = b"""
import minigrad
w, b = minigrad.ones(2, requires_grad=True), minigrad.zeros(2, requires_grad=True)
for p in (w, b):
    norm = p.sum()
y = w * b
z = y.mul_(2)
_, loss = y, z.sum()
loss.backward()
"""


def test_a_tensor_of_several_variables_has_the_name_of_the_first_or_of_its_line(tmp_path):
    path = tmp_path / "net.py"
    path.write_bytes(SEVERAL_NAMES)
    record, _ = Program(str(path), SEVERAL_NAMES).record("loss", ("forward",))
    shown = {v["id"]: v["shown"] for v in record["values"]}
    made = [shown[o] for op in record["ops"] if op["phase"] == "forward" for o in op["outputs"]]
    assert made == ["y", "z", "loss"] and {"w", "b"} <= set(shown.values())


def test_the_first_content_of_a_variable_that_a_loop_updates_has_its_plain_name(tmp_path):
    path = tmp_path / "newton.py"
    path.write_text("import minigrad\nx = minigrad.tensor(2.0)\nfor _ in range(2):\n    x = x - x.sin()\n")
    record, _ = Program(str(path), path.read_bytes()).record("x", ("forward",))
    assert [v["shown"] for v in record["values"] if v["name"] == "x"] == ["x", "x[1]", "x[2]"]
