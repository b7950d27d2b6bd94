"""Pictures of PyTorch programs that raise (see tests/viz/test_error_pictures.py for minigrad's)."""

import pytest
import torch

import viz
from tests.viz.command import minigrad as command
from viz.programs.failures import record_of_failure, recording_in
from viz.pytorch.torch_recording import recording_of


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x**3

    @staticmethod
    def backward(ctx, g):
        return g.sum()


class Twice(Cube):
    @staticmethod
    def backward(ctx, g):
        return g, g


class Product(Cube):
    @staticmethod
    def backward(ctx, g):
        return g @ g


class Square(Cube):
    @staticmethod
    def forward(ctx, x):
        return x @ x


def failed(program, *args):
    """Return the record of a program that raises, and the operation that raised."""
    with pytest.raises(Exception) as raised:
        recording_of(program, args, ("forward",))
    record = record_of_failure(recording_in(raised.value), "", "net.py")
    error = record["error"]
    assert error["message"] == str(raised.value) and error["kind"] == type(raised.value).__name__
    return record, next(op for op in record["ops"] if op["id"] == error["op"])


def text(record):
    return viz.Drawing(record, tuple(record["program"]["passes"])).text()


x, a = torch.ones(2, 3, requires_grad=True), torch.ones(4, 3)
CALLS = {
    "matmul": (lambda x, a: (x * 2) @ a, [[1], [1]]),
    "add": (lambda x, a: x * 2 + a, [[0], [0]]),
    "cat": (lambda x, a: torch.cat([x, a], dim=1), [[0], [0]]),
    "conv2d": (lambda x, a: torch.nn.functional.conv2d(torch.ones(1, 3, 8, 8), torch.ones(4, 2, 3, 3)), [[1], [1]]),
    "cross_entropy": (lambda x, a: torch.nn.functional.cross_entropy(x, torch.tensor([0, 5])), []),
    "getitem": (lambda x, a: x[5], []),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_call_that_raises_has_pytorchs_message_and_the_sizes_that_do_not_fit(name):
    call, marked = CALLS[name]
    record, op = failed(call, x, a)
    assert op["name"] == name and not op["outputs"] and op["inputs"] and op["where"]["file"] == __file__
    assert [one["marked"] for one in record["error"]["shapes"]] == marked
    assert f"✗ {name}" in " ".join(text(record).split())


@pytest.mark.parametrize("transform", ["vmap", "grad"])
def test_under_a_transform_the_operands_are_the_programs(transform):
    call = torch.vmap(lambda r: r @ a) if transform == "vmap" else torch.func.grad(lambda x: (x @ a).sum())
    record, op = failed(call, x.detach())
    shapes = {value["id"]: value["shape"] for value in record["values"]}
    assert op["name"] == "matmul" and [shapes[i] for i in op["inputs"]] == [[2, 3], [4, 3]]


def test_the_modules_around_the_call_are_known():
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(5, 2))
    record, op = failed(net, x)
    assert op["name"] == "linear" and op["module"] == ["Sequential", "1"]


def test_an_error_in_the_forward_of_a_function_names_the_call_and_the_line_inside():
    record, op = failed(lambda x: Square.apply(x * 2), x)
    assert op["function"] == "Square" and record["error"]["where"]["code"] == "return x @ x"


@pytest.mark.parametrize("function", [Cube, Twice, Product])
def test_an_error_in_the_backward_of_a_function_marks_it_and_draws_the_gradients_that_came(function):
    record, op = failed(lambda x: function.apply(x * 2).sum().backward(), x)
    assert op["function"] == function.__name__ and record["error"]["phase"] == "backward"
    assert record["program"]["passes"] == ["forward", "backward"] and "grad = [[1, 1, 1], [1, 1, 1]]" in text(record)


def test_a_write_to_a_saved_tensor_marks_the_node_the_write_and_both_lines():
    def program(x):
        y = x.exp()
        loss = (y * y).sum()
        y += 1
        loss.backward()

    record, op = failed(program, x)
    (line,) = record["error"]["lines"]
    assert (op["name"], op["where"]["code"]) == ("mul", "loss = (y * y).sum()") and line["where"]["code"] == "y += 1"
    assert record["error"]["where"]["code"] == "loss.backward()" and "✗ overwrites what mul saved" in text(record)


def test_a_graph_used_twice_marks_the_node_and_the_line_of_the_first_backward():
    def program(x):
        y = x.exp()
        loss = (y * y).sum()
        loss.backward()
        loss.backward(), "again"

    record, op = failed(program, x)
    (line,) = record["error"]["lines"]
    assert op["name"] == "mul" and line["where"]["code"] == "loss.backward()"
    assert record["error"]["where"]["code"] == 'loss.backward(), "again"'


@pytest.mark.filterwarnings("ignore")  # PyTorch's, that anomaly detection is slow
def test_nan_under_anomaly_detection_marks_the_node():
    def program(x):
        with torch.autograd.detect_anomaly():
            ((x - 1).sqrt() * 0).sum().backward()

    record, op = failed(program, x)
    assert op["name"] == "sqrt" and record["error"]["phase"] == "backward" and not record["error"]["lines"]


def test_an_error_of_python_has_a_card_without_operands():
    record, op = failed(lambda x: (x * 2).nothing, x)
    assert not op["inputs"] and op["name"] == "AttributeError" and [one["name"] for one in record["ops"]][0] == "mul"


def test_render_writes_the_picture_prints_the_traceback_and_ends_with_1(tmp_path):
    lines = "import torch\nx = torch.ones(4, 3)\nw = torch.ones(4, 2, requires_grad=True)\nloss = (x * 2) @ w\n"
    (tmp_path / "net.py").write_text(lines)
    done = command(tmp_path, "render", "net.py:loss", "-o", "loss.txt")
    assert done.returncode == 1 and b"mat1 and mat2" in done.stderr and done.stderr.count(b'File "') == 1
    assert "✗  matmul" in (tmp_path / "loss.txt").read_text()
