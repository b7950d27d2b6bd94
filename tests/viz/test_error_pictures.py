"""Pictures of programs that raise: the call that raised in red, the way that its operands came, both lines of a backward."""

import json
import threading

import pytest

import minigrad
import viz
from minigrad.record.validate import validate
from tests.functions import custom
from viz.programs.failures import record_of_failure, recording_in

from .command import minigrad as command


@pytest.fixture
def lib():
    """Return the library of the programs; tests/parity/test_error_pictures.py runs these tests with PyTorch."""
    return minigrad


def failed(program, lib=minigrad):
    """Return the record of a program that raises, and the operation that raised."""
    with pytest.raises(Exception) as raised:
        if lib is minigrad:
            with minigrad.record(contents=True) as rec:
                program()
        else:
            from viz.pytorch.torch_recording import recording_of

            recording_of(program, (), ("forward",))
    if lib is minigrad:
        rec.name_values({})
    record = record_of_failure(rec if lib is minigrad else recording_in(raised.value), "", "net.py")
    validate(json.loads(json.dumps(record)))
    error = record["error"]
    assert error["kind"] == type(raised.value).__name__
    return record, next(op for op in record["ops"] if op["id"] == error["op"])


def text(record):
    return viz.Drawing(record, tuple(record["program"]["passes"])).text()


def marked(record):
    """Return the sizes of the operands, those that do not fit in brackets."""
    return [
        " ".join(f"[{n}]" if i in one["marked"] else n for i, n in enumerate(one["sizes"]) if n)
        for one in record["error"]["shapes"]
    ]


ones = minigrad.ones
CALLS = {
    "matmul": (lambda t: (t.ones(4, 5) * 2) @ t.ones(4, 2), ["4 [5]", "[4] 2"]),
    "add": (lambda t: t.ones(2, 3) + t.ones(4, 3), ["[2] 3", "[4] 3"]),
    "cat": (lambda t: t.cat([t.ones(2, 3), t.ones(4, 3)], dim=1), ["[2] 3", "[4] 3"]),
    "conv2d": (lambda t: t.nn.functional.conv2d(t.ones(1, 3, 8, 8), t.ones(4, 2, 3, 3)), ["1 [3] 8 8", "4 [2] 3 3"]),
    "linear": (lambda t: t.nn.Linear(4, 2)(t.ones(2, 3)), ["2 [3]", "2 [4]"]),
    "cross_entropy": (lambda t: t.nn.functional.cross_entropy(t.ones(2, 3), t.tensor([0, 7])), []),
    "getitem": (lambda t: t.ones(2, 3)[5], []),
    "reshape": (lambda t: t.ones(2, 3).reshape(4, 4), []),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_call_that_raises_is_drawn_with_its_operands_and_the_sizes_that_do_not_fit(lib, name):
    call, sizes = CALLS[name]
    record, op = failed(lambda: call(lib), lib)
    assert op["name"] == name and op["inputs"] and not op["outputs"] and marked(record) == sizes
    assert op["where"]["file"] == __file__ and op["where"]["code"]
    drawn = " ".join(text(record).split())
    assert f"✗ {name}" in drawn and "To fix: " in drawn
    assert drawn.count(record["error"]["kind"]) == 2  # and in the title


def test_different_dtypes_have_no_marks():
    record, op = failed(lambda: ones(2, 3) @ ones(3, 4).double())
    assert marked(record) == ["2 3", "3 4"] and op["name"] == "matmul" and "same dtype" in record["error"]["message"]
    assert "[" not in text(record).partition("✗")[2]


def test_the_way_that_the_operands_came_is_drawn_and_what_the_program_had_computed():
    def program():
        x = ones(2, 3).requires_grad_()
        h = (x * 2).tanh()
        h.mean()
        return h @ x

    record, op = failed(program)
    made = {o: one["name"] for one in record["ops"] for o in one["outputs"]}
    assert [made.get(i, "leaf") for i in op["inputs"]] == ["tanh", "leaf"]
    assert [one["name"] for one in record["ops"] if one["phase"] == "forward"] == ["mul", "tanh", "mean", "matmul"]
    assert op["call"] == "h @ x" and op["where"]["code"] == "return h @ x"


def test_a_large_program_shows_what_leads_to_the_error():
    def program():
        x, y = ones(2, 3), ones(4)
        for _ in range(50):
            y = y * 2
        return (x + 1) @ x

    record, _ = failed(program)
    assert [op["name"] for op in record["ops"]] == ["add", "matmul"]


def test_a_loop_shows_the_round_that_raises():
    w = ones(3, 1).requires_grad_()

    def program():
        for batch in (ones(2, 3), ones(2, 3), ones(2, 4)):
            (batch @ w).sum().backward()

    record, op = failed(program)
    assert [one["name"] for one in record["ops"]] == ["matmul"] and marked(record) == ["2 [4]", "[3] 1"]
    assert record["program"]["passes"] == ["forward"] and "@" in op["call"]


def test_the_modules_around_the_call_are_known(lib):
    class Net(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = lib.nn.Linear(3, 4), lib.nn.Linear(5, 2)

        def forward(self, x):
            return self.second(self.first(x))

    net = Net()
    record, op = failed(lambda: net(lib.ones(2, 3)), lib)
    assert op["module"] == ["Net", "second"] and record["ops"][0]["module"] == ["Net", "first"]


@pytest.mark.parametrize("transform", ["vmap", "grad"])
def test_under_a_transform_the_operands_are_the_programs(lib, transform):
    x, w = lib.ones(7, 3), lib.ones(4, 5)
    call = lib.vmap(lambda x: x @ w) if transform == "vmap" else lib.func.grad(lambda x: (x @ w).sum())
    record, op = failed(lambda: call(x), lib)
    values = {value["id"]: value for value in record["values"]}
    assert [values[i]["shape"] for i in op["inputs"]] == [[7, 3], [4, 5]]
    if lib is minigrad:
        assert transform in record["error"]["notes"][-1] and f"inside {transform}" in text(record)


def itself(ctx, x):
    return x @ x


def test_an_error_in_the_forward_of_a_function_names_the_call_and_the_line_inside(lib):
    square = custom("Square", lib, forward=itself, backward=itself)
    record, op = failed(lambda: square.apply(lib.ones(2, 3) * 2), lib)
    assert op["function"] == "Square" and record["error"]["where"]["code"] == "return x @ x"
    if lib is minigrad:
        assert marked(record) == ["2 [3]", "[2] 3"] and "raised: test_error_pictures.py" in text(record)


BACKWARDS = {
    "Sum": (lambda ctx, g: g.sum(), "invalid gradient"),
    "Twice": (lambda ctx, g: (g, g), "2"),
    "Product": (itself, "cannot be multiplied"),
}


@pytest.mark.parametrize("name", BACKWARDS)
def test_an_error_in_the_backward_of_a_function_marks_it_and_draws_the_gradients_that_came(lib, name):
    backward, words = BACKWARDS[name]
    x, function = lib.ones(2, 3, requires_grad=True), custom(name, lib, forward=lambda ctx, x: x**3, backward=backward)
    record, op = failed(lambda: function.apply(x * 2).sum().backward(), lib)
    error = record["error"]
    assert op["function"] == name and error["phase"] == "backward" and words in error["message"]
    assert record["program"]["passes"] == ["forward", "backward"]
    drawn = text(record)
    assert "grad = [[1, 1, 1], [1, 1, 1]]" in drawn and drawn.index("mul") < drawn.index("✗") < drawn.index("■  sum")


@pytest.mark.parametrize("method", ["forward", "backward", "jvp"])
def test_a_function_whose_method_raises_is_open_with_the_operation_in_red_and_both_lines(method):
    given = {"forward": lambda ctx, x: x * 1, "backward": lambda ctx, g: g, "jvp": lambda ctx, t: t}
    function = custom("Inside", **{**given, method: lambda ctx, x: (x * 2) @ x})
    x = ones(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError), minigrad.record(inside=True, passes=("forward", "backward", method)) as rec:
        function.apply(x).sum().backward(), "the program's line"
    drawn = text(record_of_failure(rec, "", "net.py"))
    inside = drawn.partition(f"┌ Inside.{method}")[2].partition("└")[0]
    assert "✗  matmul" in inside and "inner sizes" in inside and "(x * 2) @ x" in inside
    assert "the program's" in drawn and drawn.count("RuntimeError: ") == 1


def writes(lib):
    y = lib.ones(4, requires_grad=True).exp()
    loss = (y * y).sum()
    y += 1
    loss.backward()


def test_a_write_to_a_saved_tensor_marks_the_node_the_write_and_both_lines(lib):
    record, op = failed(lambda: writes(lib), lib)
    (line,) = record["error"]["lines"]
    assert (op["name"], op["where"]["code"]) == ("mul", "loss = (y * y).sum()") and line["where"]["code"] == "y += 1"
    (write,) = [one for one in record["ops"] if one["id"] in line["ops"]]
    assert (write["name"], write["inplace"]) == ("add", True)
    assert record["error"]["where"]["code"] == "loss.backward()" and "✗ overwrites what mul saved" in text(record)


def test_a_graph_used_twice_marks_the_node_and_the_line_of_the_first_backward(lib):
    def program():
        y = lib.ones(4, requires_grad=True).exp()
        loss = (y * y).sum()
        loss.backward()
        loss.backward(), "again"

    record, op = failed(program, lib)
    (line,) = record["error"]["lines"]
    assert op["name"] == "mul" and line["where"]["code"] == "loss.backward()" and "first backward" in line["words"]
    assert record["error"]["where"]["code"] == 'loss.backward(), "again"'
    assert [one["name"] for one in record["ops"] if one["phase"] == "forward"] == ["exp", "mul", "sum"]


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_nan_under_anomaly_detection_marks_the_node(lib):
    def program():
        x = lib.ones(2, requires_grad=True)
        with lib.autograd.detect_anomaly():
            ((x - 1).sqrt() * 0).sum().backward()

    record, op = failed(program, lib)
    assert op["name"] == "sqrt" and record["error"]["phase"] == "backward" and not record["error"]["lines"]
    assert "nan" in record["error"]["message"].lower() and "RuntimeError in sqrt backward" in text(record)


@pytest.mark.parametrize("error", [ValueError, KeyError, AttributeError])
def test_an_error_of_python_has_a_card_without_operands(lib, error):
    def program():
        h = lib.ones(2) * 3
        if error is AttributeError:
            return h.nothing
        raise error("no such thing")

    record, op = failed(program, lib)
    assert not op["inputs"] and op["name"] == error.__name__ and not record["error"]["shapes"]
    drawn = viz.Drawing(record)
    (card,) = [node for node in drawn.graph.nodes if node.kind == "error"]
    assert not card.inputs and drawn.graph.ends[1] == [card.key]
    assert f"{error.__name__}, test_error_pictures.py" in drawn.text()


def test_an_error_in_another_thread_is_no_error_of_the_recording():
    with minigrad.record() as rec:
        x = ones(2) * 2
        thread = threading.Thread(target=lambda: failed(lambda: ones(2, 3) @ ones(2, 3)))
        thread.start()
        thread.join()
        x.sum()
    assert rec.to_dict()["error"] is None


def test_an_error_that_the_program_handles_is_none():
    def program():
        try:
            ones(2, 3) @ ones(2, 3)
        except RuntimeError:
            return ones(2) * 2

    record = minigrad.record(program).to_dict()
    assert record["error"] is None and [op["name"] for op in record["ops"] if op["phase"] == "forward"] == ["mul"]


def test_a_record_can_go_on_to_be_read_after_an_error_of_its_block():
    with pytest.raises(ZeroDivisionError), minigrad.record() as rec:
        (ones(2) * 2).sum()
        1 / 0  # noqa: B018
    assert [op["name"] for op in rec.to_dict()["ops"]] == ["mul", "sum", "ZeroDivisionError"]


@pytest.fixture(scope="module")
def drawing():
    return viz.Drawing(failed(lambda: writes(minigrad))[0], ("forward", "backward"))


@pytest.mark.parametrize("kind", ["svg", "html", "film", "dot", "mermaid", "tex", "text"])
def test_every_format_has_the_error(drawing, kind):
    made = getattr(drawing, kind)()
    words = "modified" if kind == "tex" else "modified by"
    assert words in made and "overwrites" in made


def test_pixels_and_print_have_it_too(drawing):
    assert drawing.png().startswith(b"\x89PNG") and drawing.pdf().startswith(b"%PDF")


NET = """
import minigrad as torch

print("begins")
x = torch.ones(4, 3)
w = torch.ones(4, 2, requires_grad=True)
loss = (x * 2) @ w
"""


def test_render_writes_the_picture_prints_the_traceback_and_ends_with_1(tmp_path):
    (tmp_path / "net.py").write_text(NET)
    done = command(tmp_path, "render", "net.py:loss")
    said = done.stderr.decode()
    assert done.returncode == 1 and b"wrote loss.svg" in done.stdout
    assert "cannot be" in (tmp_path / "loss.svg").read_text()
    assert "net.py raises RuntimeError before loss exists" in said and said.count('File "') == 1 and "To fix:" in said


def test_render_draws_a_function_and_a_program_that_raises_before_its_function_is_called(tmp_path):
    (tmp_path / "net.py").write_text(
        NET.replace("loss = ", "def f(a, b):\n    return ") + "\nexample_inputs = (x, w)\n"
    )
    assert command(tmp_path, "render", "net.py:f", "-o", "f.txt").returncode == 1
    assert "✗  matmul" in (tmp_path / "f.txt").read_text()
    (tmp_path / "net.py").write_text(NET + "\ndef g(a):\n    return a\n")
    done = command(tmp_path, "render", "net.py:g", "-o", "g.txt")
    assert (
        done.returncode == 1 and done.stdout.count(b"begins") == 1 and "✗  matmul" in (tmp_path / "g.txt").read_text()
    )


def test_step_ends_with_the_operation_that_raised(tmp_path):
    (tmp_path / "net.py").write_text(NET)
    done = command(tmp_path, "step", "net.py:loss")
    assert done.returncode == 1 and "RuntimeError: shapes" in done.stdout.decode().rpartition("step 2 of 2")[2]


def test_json_has_one_object_for_the_error_and_the_file_is_written(tmp_path):
    (tmp_path / "net.py").write_text(NET)
    done = command(tmp_path, "render", "net.py:loss", "-o", "loss.json", "--json")
    assert json.loads(done.stdout)["code"] == 1
    assert json.loads((tmp_path / "loss.json").read_text())["error"]["title"] == "matmul"


def test_a_long_training_shows_its_last_round(tmp_path):
    (tmp_path / "net.py").write_text(
        "import minigrad as torch\nw = torch.ones(3, requires_grad=True)\n"
        "for n in [3] * 30 + [4]:\n    loss = (torch.ones(n) * w).sum()\n    loss.backward()\n"
    )
    done = command(tmp_path, "render", "net.py", "-o", "net.json")
    record = json.loads((tmp_path / "net.json").read_text())
    assert done.returncode == 1 and [op["name"] for op in record["ops"]] == ["mul"]
    assert marked(record) == ["[4]", "[3]"]


def test_minigrad_viz_draws_the_error_at_the_exit(tmp_path):
    from tests.forked import python

    (tmp_path / "net.py").write_text(NET)
    done = python("net.py", cwd=tmp_path, MINIGRAD_VIZ="loss.txt")
    assert done.returncode == 1 and b"the picture of the error" in done.stderr
    assert "✗  matmul" in (tmp_path / "loss.txt").read_text()
