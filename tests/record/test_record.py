"""The record: one entry for each operation as it was written, and numbers that add up across the three passes."""

import json
from pathlib import Path

import numpy as np
import pytest

import minigrad
from minigrad.autograd import Function
from minigrad.autograd.function import once_differentiable
from minigrad.record.summary import BINS, extent, summary
from minigrad.record.validate import validate
from tests.functions import custom

from .recorded import Square, assert_adds_up, assert_sound, forward, inputs, layer, number


def test_one_entry_for_each_operation_as_written():
    document = minigrad.record(layer, *inputs()).to_dict()
    assert [op["name"] for op in forward(document)] == ["matmul", "add", "tanh", "mul", "sum"]
    assert document["schema"] == "minigrad.record/1"
    assert document["program"]["passes"] == ["forward", "backward", "jvp"]
    assert document["program"]["name"] == "layer"


def test_the_gives_of_edges_sum_to_the_gradient_of_each_value():
    x, w, b = inputs()
    document = minigrad.record(layer, x, w, b).to_dict()
    assert_adds_up(document)
    gradients = minigrad.autograd.grad(layer(x, w, b), (x, w, b))
    names = {v["name"]: v["id"] for v in document["values"]}
    for name, g in zip("xwb", gradients):
        assert np.allclose(number(document, document["gradients"][str(names[name])]), g.numpy())


def test_composed_operations_are_one_entry_and_add_up():
    def program(x, w, b):
        y = minigrad.nn.functional.mse_loss(minigrad.nn.functional.linear(x, w, b), x)
        return y

    document = minigrad.record(program, *inputs()).to_dict()
    assert [op["name"] for op in forward(document)] == ["linear", "mse_loss"]
    assert_adds_up(document)


def test_ids_are_in_program_order_and_all_references_exist():
    document = minigrad.record(layer, *inputs()).to_dict()
    assert_sound(document)
    validate(document)


def test_backward_and_jvp_entries_name_their_forward_operation():
    document = minigrad.record(layer, *inputs()).to_dict()
    for phase in ("backward", "jvp"):
        assert {op["of"] for op in document["ops"] if op["phase"] == phase} == {op["id"] for op in forward(document)}


def test_recorded_tangents_equal_forward_mode():
    x, w, b = inputs()
    document = minigrad.record(layer, x, w, b).to_dict()
    gradients = minigrad.autograd.grad(layer(x, w, b), (x, w, b))
    expected = sum(float(g.sum()) for g in gradients)  # all tangents are ones
    last = forward(document)[-1]
    assert np.allclose(number(document, last["tangents"][str(last["outputs"][0])]), expected)


def test_a_leaf_is_one_value_however_often_it_is_used():
    x = minigrad.tensor(3.0, requires_grad=True)
    document = minigrad.record(lambda x: x * x + x, x).to_dict()
    assert sum(v["kind"] == "parameter" for v in document["values"]) == 1
    assert_adds_up(document)


def test_saved_lists_the_saved_tensors_and_when_they_are_freed():
    x = minigrad.ones(5, requires_grad=True)
    document = minigrad.record(lambda x: minigrad.exp(x * 2.0).sum(), x).to_dict()
    mul, exp, total = forward(document)
    assert mul["saved"] == [] and total["saved"] == []
    assert [s["bytes"] for s in exp["saved"]] == [20]
    assert exp["saved"][0]["value"] == exp["outputs"][0]
    freed = document["ops"][exp["saved"][0]["freed_by"]]
    assert (freed["phase"], freed["of"]) == ("backward", exp["id"])


def test_custom_function_is_one_entry_with_its_class_name():
    document = minigrad.record(lambda x: Square.apply(x) * 2, minigrad.tensor([1.0, 2.0])).to_dict()
    square, mul = forward(document)
    assert (square["name"], square["function"], mul["function"]) == ("Square", "Square", None)
    assert square["saved"][0]["value"] == square["inputs"][0]
    assert number(document, square["tangents"][str(square["outputs"][0])]).tolist() == [2.0, 4.0]
    assert_adds_up(document)


def test_the_location_is_the_users_whole_line():
    x = minigrad.tensor(3.0, requires_grad=True)

    def program():
        return minigrad.exp(x) * 2  # this very line

    op = forward(minigrad.record(program).to_dict())[0]
    assert op["where"]["file"] == __file__
    assert op["where"]["code"] == "return minigrad.exp(x) * 2  # this very line"
    assert op["where"]["function"] == "test_the_location_is_the_users_whole_line.<locals>.program"
    first, last = op["where"]["columns"]
    code = Path(__file__).read_text().split("\n")[op["where"]["line"] - 1]
    assert code[first - 1 : last] == "minigrad.exp(x)"


def test_an_operation_names_the_modules_that_were_being_called():
    class Net(minigrad.nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = minigrad.nn.Sequential(minigrad.nn.Linear(2, 2), minigrad.nn.Tanh())

        def forward(self, x):
            return self.parts(x) * 2

    document = minigrad.record(Net(), minigrad.ones(1, 2), passes="forward").to_dict()
    assert [(op["name"], op["module"]) for op in document["ops"]] == [
        ("linear", ["Net", "parts", "parts.0"]),
        ("tanh", ["Net", "parts", "parts.1"]),
        ("mul", ["Net"]),
    ]


def test_in_place_write_makes_a_new_value():
    def program(x):
        y = x * 2
        y.mul_(3)
        return y.sum()

    document = minigrad.record(program, minigrad.tensor([1.0, 2.0])).to_dict()
    mul, written, _ = forward(document)
    assert (mul["inplace"], written["inplace"], written["name"]) == (False, True, "mul")
    assert number(document, mul["outputs"][0]).tolist() == [2.0, 4.0]
    assert number(document, written["outputs"][0]).tolist() == [6.0, 12.0]
    assert_adds_up(document)


def test_write_through_a_view_gives_the_base_a_new_value():
    def program(x):
        base = x * 1
        base[0] = 5.0
        return (base * base).sum()

    document = minigrad.record(program, minigrad.tensor([1.0, 2.0])).to_dict()
    square = forward(document)[-2]
    assert number(document, square["inputs"][0]).tolist() == [5.0, 2.0]
    first = forward(document)[0]
    assert number(document, first["outputs"][0]).tolist() == [1.0, 2.0]


def test_writes_to_parameters_after_backward_are_the_update_phase():
    w = minigrad.tensor(2.0, requires_grad=True)

    def step():
        loss = w * w
        loss.backward()
        with minigrad.no_grad():
            w.sub_(w.grad * 0.1)
        return loss

    document = minigrad.record(step).to_dict()
    phases = [(op["phase"], op["name"]) for op in document["ops"] if op["phase"] != "jvp"]
    assert phases == [("forward", "mul"), ("backward", "mul"), ("update", "mul"), ("update", "sub")]
    assert float(w) == pytest.approx(1.6)


def test_recording_changes_neither_grad_nor_tangents():
    x, w, b = inputs()
    minigrad.record(layer, x, w, b)
    assert x.grad is None and w.grad is None and x._tan is None


def test_as_a_context_manager_it_records_the_block_and_its_backward():
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    with minigrad.record(passes="forward") as rec:
        y = (x * x).sum()
        y.backward()
    document = rec.to_dict()
    assert document["program"]["passes"] == ["forward", "backward"]
    assert x.grad.tolist() == [2.0, 4.0]
    assert_adds_up(document)


def test_second_derivatives_are_recorded_as_operations_of_backward():
    def program(x):
        (g,) = minigrad.autograd.grad(x**3, x, create_graph=True)
        return g

    document = minigrad.record(program, minigrad.tensor(2.0), passes=("forward", "backward")).to_dict()
    assert number(document, document["outputs"][0]) == 12.0


def test_constants_are_listed_among_the_inputs():
    document = minigrad.record(lambda x: x * 2.5, minigrad.tensor(1.0)).to_dict()
    assert forward(document)[0]["inputs"] == [0, {"const": 2.5}]


@pytest.mark.parametrize("dtype", [minigrad.bfloat16, minigrad.float64])
def test_dtypes_are_called_by_their_names(dtype):
    document = minigrad.record(lambda x: x.to(dtype), minigrad.tensor([1.0])).to_dict()
    assert forward(document)[0]["inputs"] == [0, {"const": dtype.name}]


def test_large_values_are_summarised():
    a = np.arange(100.0)
    a[0], a[1] = np.nan, np.inf
    document = minigrad.record(lambda x: x * 1, minigrad.tensor(a)).to_dict()
    found = document["values"][0]["summary"]
    assert (found["nan"], found["inf"], found["min"], found["max"]) == (1, 1, 2.0, 99.0)
    assert sum(found["histogram"]["counts"]) == 98


EXTREMES = ([1e308, -1e308], [1.7e308, 1.7e308], [1e-310, 3e-310], [5e-324, 0.0], [1.0, 1.0 + 2e-16], [0.0, -0.0])


@pytest.mark.parametrize("pair", EXTREMES, ids=str)
def test_large_values_of_extreme_numbers_are_summarised(pair):
    found = summary(np.array(pair * 10))
    assert (found["min"], found["max"]) == (min(pair), max(pair))
    assert np.isclose(found["mean"], pair[0] / 2 + pair[1] / 2, rtol=1e-12)
    assert found["std"] <= max(map(abs, pair)) and sum(found["histogram"]["counts"]) == 20
    json.dumps(found, allow_nan=False)


def test_json_is_valid_with_nan_and_infinity():
    text = minigrad.record(lambda x: minigrad.log(x), minigrad.tensor([0.0, -1.0])).to_json()
    json.loads(text, parse_constant=lambda c: pytest.fail(f"{c} is not JSON"))


@pytest.mark.parametrize("join, said", [("stack", "unbind(g, dim)[1]"), ("cat", "split(g, sizes, dim)[1]")])
def test_the_gradient_of_one_of_several_tensors_is_a_part_of_the_formula(join, said):
    x, y = minigrad.ones(2, requires_grad=True), minigrad.ones(2, requires_grad=True)
    document = minigrad.record_of(getattr(minigrad, join)([x, y]).sum()).to_dict()
    assert [edge["partial"] for op in forward(document) for edge in op["edges"] if op["name"] == join][1] == said


def test_record_of_a_tensor_knows_its_graph_and_runs_backward():
    x, w, b = inputs()
    document = minigrad.record_of(layer(x, w, b)).to_dict()
    assert [op["name"] for op in forward(document)][-2:] == ["mul", "sum"]
    assert_adds_up(document)
    assert x.grad is None


def test_record_of_a_gradient_that_cannot_be_differentiated_again():
    Once = custom(
        "Once",
        forward=lambda ctx, x: ctx.save_for_backward(x) or x * x,
        backward=once_differentiable(lambda ctx, grad: grad * 2 * ctx.saved_tensors[0]),
    )
    x = minigrad.tensor(3.0, requires_grad=True)
    (slope,) = minigrad.autograd.grad(Once.apply(x), x, create_graph=True)
    record = minigrad.record_of(slope)
    document = record.to_dict()
    assert [(op["name"], op["phase"]) for op in document["ops"]] == [("delayed_error", "forward")]
    assert document["program"]["passes"] == ["forward"]
    assert "once_differentiable" in record.notes[0]


def test_the_record_of_a_tensor_separates_saved_intermediates_from_arguments():
    class Inner(Function):
        @staticmethod
        def forward(ctx, x, y, z):
            ctx.save_for_backward(x.exp(), z, y)  # none at its argument's place, and all of one shape
            return x * y * z

        @staticmethod
        def backward(ctx, grad):
            inner, z, y = ctx.saved_tensors
            return grad * inner, grad * z, None

    x, y = (minigrad.tensor(v, requires_grad=True) for v in ([0.0, 1.0], [2.0, 3.0]))
    document = minigrad.record_of(Inner.apply(x, y, minigrad.tensor([4.0, 5.0]))).to_dict()
    (op,) = forward(document)
    holds = [document["values"][i]["summary"].get("values") for i in op["inputs"]]
    assert holds == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    assert [document["values"][s["value"]]["kind"] for s in op["saved"]] == ["computed", "input", "parameter"]


def test_the_record_of_a_tensor_distinguishes_untracked_arguments_of_one_shape():
    Chosen = custom(
        "Chosen",
        forward=lambda ctx, x, weight, mask: ctx.save_for_backward(mask, weight) or x * weight * mask,
        backward=lambda ctx, grad: (grad * ctx.saved_tensors[1] * ctx.saved_tensors[0], None, None),
    )
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    document = minigrad.record_of(Chosen.apply(x, minigrad.tensor([3.0, 4.0]), minigrad.tensor([1.0, 0.0]))).to_dict()
    (op,) = forward(document)
    assert [s["value"] for s in op["saved"]] == [op["inputs"][2], op["inputs"][1]]
    holds = [document["values"][i]["summary"].get("values") for i in op["inputs"]]
    assert holds == [[1.0, 2.0], [3.0, 4.0], [1.0, 0.0]]


def test_the_record_of_a_leaf_notes_the_missing_graph():
    with pytest.raises(ValueError, match="has no graph"):
        minigrad.record_of(minigrad.tensor(1.0))


def test_unknown_pass_is_refused():
    with pytest.raises(ValueError, match="'sideways' is not a pass"):
        minigrad.record(layer, *inputs(), passes="sideways")


def test_backward_is_run_for_a_result_whatever_else_ran_backward():
    def program(x):
        (x * 3).sum().backward()
        return (x * x).sum()

    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    document = minigrad.record(program, x).to_dict()
    assert document["gradients"][str(document["outputs"][0])] is not None
    assert x.grad.tolist() == [3.0, 3.0]


def test_a_freed_graph_is_noted_rather_than_run_again():
    def program(x):
        h = x * x
        h.sum().backward()
        return h * 2

    rec = minigrad.record(program, minigrad.tensor(2.0, requires_grad=True))
    assert "retain_graph=True" in rec.notes[0]


def test_initializing_a_parameter_is_an_update():
    def program():
        layer = minigrad.nn.Linear(2, 1)
        return layer(minigrad.ones(1, 2))

    document = minigrad.record(program).to_dict()
    (linear,) = [op for op in forward(document) if op["name"] == "linear"]
    writers = [op for op in document["ops"] if op["inplace"]]
    assert {op["phase"] for op in writers} == {"update"}
    assert set(linear["inputs"][1:]) <= {value for op in writers for value in op["outputs"]}


def test_a_write_has_the_tangents_before_and_after():
    document = minigrad.record(lambda x: (x * 2).mul_(x), minigrad.tensor(3.0)).to_dict()
    number = {value["id"]: value["summary"]["values"] for value in document["values"]}
    write = forward(document)[1]
    assert write["inplace"]
    tangents = {number[int(value)]: number[tangent] for value, tangent in write["tangents"].items()}
    assert tangents == {6.0: 2.0, 3.0: 1.0, 18.0: 12.0}


def test_a_number_divided_by_a_tensor_is_shown_as_the_two_operations_it_is():
    x = minigrad.tensor([0.5, 4.0], requires_grad=True)
    ops = minigrad.record(lambda x: 2 / x, x).to_dict()["ops"]
    assert [op["name"] for op in ops if op["phase"] == "forward"] == ["reciprocal", "mul"]
    partials = {edge["partial"] for op in ops for edge in op["edges"]}
    assert partials == {"y", "-out * out"}  # of mul and of reciprocal


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64", "bool"])
def test_the_histogram_equals_numpys(dtype):
    rng = np.random.default_rng(0)
    for spread in (0, 1e-9, 0.1, 1, 1000):
        a = np.round(rng.normal(1, spread, 200), 1 + (spread < 1e-6) * 12).astype(dtype)
        wide = a.astype(np.float64)
        counts, edges = np.histogram(wide, BINS, extent(wide.min(), wide.max()))
        made = summary(a)
        assert made["histogram"] == {"edges": edges.tolist(), "counts": counts.tolist()}
        assert (made["mean"], made["std"]) == (wide.mean(), wide.std())


@pytest.mark.parametrize(
    "call",
    [
        "uniform_(-1, 1)",
        "uniform_(-1)",
        "uniform_()",
        "uniform_(0, 2)",
        "random_(0, 5)",
        "random_(7)",
        "normal_(std=2)",
    ],
)
def test_limits_of_random_numbers_are_written_by_position(call):
    """PyTorch calls them `from` and `to`; `from` is no keyword that Python can write."""
    x = minigrad.empty(3)
    document = minigrad.record(lambda: eval(f"x.{call}", {"x": x})).to_dict()
    assert forward(document)[-1]["call"].endswith(f".{call}")
