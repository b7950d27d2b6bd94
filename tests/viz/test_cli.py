"""The command `minigrad`, run as a user runs it: in an empty folder, in a process of its own."""

import json
import subprocess
import sys
import time
import xml.etree.ElementTree as ET

import pytest

PROGRAM = """
from minigrad import tensor

w = tensor(0.5, requires_grad=True)
x = tensor(2.0)
rate = 0.1
plain = tensor(1.0)
h = (w * x).tanh()
loss = h * w

def f(a, b):
    return (a * b).tanh()

def g(a):
    return a * a

example_inputs = (tensor(0.5, requires_grad=True), tensor(2.0, requires_grad=True))
if __name__ == "__main__":
    main_value = loss * 2.0
"""


@pytest.fixture
def net(tmp_path):
    (tmp_path / "net.py").write_text(PROGRAM)
    return tmp_path


def minigrad(folder, *words):
    return subprocess.run([sys.executable, "-m", "viz.cli", *words], cwd=folder, capture_output=True, timeout=120)


def written(folder):
    return {path.name for path in folder.iterdir()} - {"net.py", "__pycache__"}


def refused(folder, *words):
    """The message of a command that must end with 2 and write nothing."""
    done = minigrad(folder, *words)
    assert done.returncode == 2, done.stderr.decode()
    assert not written(folder) and not done.stdout
    return done.stderr.decode()


def test_help_comes_at_once(tmp_path):
    start = time.perf_counter()
    done = minigrad(tmp_path, "--help")
    assert done.returncode == 0 and b"render" in done.stdout
    assert time.perf_counter() - start < 1.5  # 0.15 s on an idle machine


def test_help_imports_neither_minigrad_nor_graphviz_nor_matplotlib():
    code = (
        "import sys, viz.cli; print([m for m in ('minigrad', 'pygraphviz', 'matplotlib', 'numpy') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).stdout.strip() == b"[]"


def test_a_tensor_is_drawn_into_a_file_of_its_name(net):
    done = minigrad(net, "render", "net.py:loss")
    assert (done.returncode, done.stdout) == (0, b"wrote loss.svg\n"), done.stderr.decode()
    assert b"net.py:9" in (net / "loss.svg").read_bytes()


STARTS = {".svg": b"<svg", ".png": b"\x89PNG", ".pdf": b"%PDF", ".dot": b"digraph", ".gv": b"digraph", ".json": b"{"}


@pytest.mark.parametrize("suffix, start", STARTS.items())
def test_the_format_comes_from_the_suffix(net, suffix, start):
    assert minigrad(net, "render", "net.py:loss", "-o", f"out{suffix}").returncode == 0
    assert (net / f"out{suffix}").read_bytes().startswith(start)


def test_json_is_the_record(net):
    assert minigrad(net, "render", "net.py:loss", "-o", "out.json").returncode == 0
    assert json.loads((net / "out.json").read_text())["schema"] == "minigrad.record/1"


def test_minus_writes_svg_to_the_standard_output_and_nothing_else(net):
    (net / "net.py").write_text(PROGRAM + "print('hello')\n")
    done = minigrad(net, "render", "net.py:loss", "-o", "-")
    ET.fromstring(done.stdout)
    assert b"hello" in done.stderr and not written(net)


@pytest.mark.parametrize("name", ["forward", "backward", "jvp", "all"])
def test_a_function_is_drawn_with_the_programs_example_inputs(net, name):
    done = minigrad(net, "render", "net.py:f", "--pass", name, "-o", "f.svg")
    assert done.returncode == 0, done.stderr.decode()
    assert "tanh" in (net / "f.svg").read_text()


def test_arguments_come_from_the_command_line(net):
    done = minigrad(net, "render", "net.py:g", "--args", "tensor(-3.0, requires_grad=True)", "-o", "g.svg")
    assert done.returncode == 0, done.stderr.decode()
    assert "= 9" in (net / "g.svg").read_text()


@pytest.mark.parametrize("name", ["forward", "backward", "jvp", "all"])
def test_a_tensors_passes_show_values(net, name):
    done = minigrad(net, "render", "net.py:loss", "--pass", name, "-o", "x.svg")
    assert done.returncode == 0, done.stderr.decode()
    assert "0.3808" in (net / "x.svg").read_text()  # tanh(0.5 * 2) * 0.5


def test_the_program_runs_as_a_script(net):
    assert minigrad(net, "render", "net.py:main_value").returncode == 0


def test_modules_beside_the_program_can_be_imported(net):
    (net / "other.py").write_text("SCALE = 3.0\n")
    (net / "net.py").write_text("from other import SCALE\n" + PROGRAM)
    folder = net / "elsewhere"
    folder.mkdir()
    assert minigrad(folder, "render", "../net.py:loss").returncode == 0


def test_an_error_of_the_program_ends_with_1_and_only_its_own_lines(net):
    (net / "net.py").write_text(PROGRAM + "def broken(a, b):\n    return a / 0 / undefined\n")
    done = minigrad(net, "render", "net.py:broken")
    message = done.stderr.decode()
    assert done.returncode == 1 and not written(net)
    assert "NameError" in message and "return a / 0 / undefined" in message
    assert message.count('File "') == 1


def test_an_error_while_the_program_runs_shows_its_line(net):
    (net / "net.py").write_text(PROGRAM + "1 / 0\n")
    done = minigrad(net, "render", "net.py:loss")
    assert done.returncode == 1 and b"ZeroDivisionError" in done.stderr and b"1 / 0" in done.stderr
    assert done.stderr.count(b'File "') == 1 and not written(net)


def test_a_syntax_error_is_the_programs(net):
    (net / "net.py").write_text("def f(:\n")
    done = minigrad(net, "render", "net.py:f")
    assert done.returncode == 1 and b"SyntaxError" in done.stderr and b"def f(:" in done.stderr


def test_a_program_that_exits_with_an_error_is_not_drawn(net):
    (net / "net.py").write_text(PROGRAM + "raise SystemExit(3)\n")
    done = minigrad(net, "render", "net.py:loss")
    assert done.returncode == 1 and b"3" in done.stderr and not written(net)


def test_a_program_that_exits_well_is_drawn(net):
    (net / "net.py").write_text(PROGRAM + "raise SystemExit\n")
    assert minigrad(net, "render", "net.py:loss").returncode == 0


def test_a_missing_file_is_named(tmp_path):
    assert "there is no file nowhere.py" in refused(tmp_path, "render", "nowhere.py:x")


def test_a_target_without_a_name_says_how_to_write_it(net):
    assert "PROG.py:NAME" in refused(net, "render", "net.py")


def test_a_name_that_is_not_there_suggests_the_nearest(net):
    assert "Did you mean loss?" in refused(net, "render", "net.py:los")


def test_a_name_far_from_all_lists_what_there_is(net):
    message = refused(net, "render", "net.py:zebra")
    assert "w, x, plain, h, loss, f, g" in message


def test_what_is_no_tensor_is_refused(net):
    assert "rate in net.py is a float" in refused(net, "render", "net.py:rate")


def test_a_tensor_that_no_operation_made_is_refused(net):
    assert "plain in net.py has no graph" in refused(net, "render", "net.py:plain")


def test_a_pass_without_anything_that_requires_grad_is_refused(net):
    (net / "net.py").write_text(PROGRAM + "still = plain * x\n")
    assert "still in net.py" in refused(net, "render", "net.py:still", "--pass", "backward")


def test_only_what_led_to_the_tensor_is_drawn(net):
    (net / "net.py").write_text(PROGRAM + "aside = (plain * x).exp()\n")
    assert minigrad(net, "render", "net.py:loss").returncode == 0
    assert "exp" not in (net / "loss.svg").read_text()


def test_values_have_the_programs_names(net):
    assert minigrad(net, "render", "net.py:loss", "-o", "x.json").returncode == 0
    assert {"w", "x", "h", "loss"} <= {value["name"] for value in json.loads((net / "x.json").read_text())["values"]}


def test_an_unknown_suffix_is_refused_before_the_program_runs(net):
    (net / "net.py").write_text("1 / 0\n")
    message = refused(net, "render", "net.py:loss", "-o", "x.bmp")
    assert "'.bmp'" in message and ".svg .png" in message


def test_a_missing_folder_is_refused_before_the_program_runs(net):
    (net / "net.py").write_text("1 / 0\n")
    assert "there is no folder" in refused(net, "render", "net.py:loss", "-o", "none/x.svg")


def test_a_function_without_arguments_says_where_to_give_them(net):
    (net / "net.py").write_text(PROGRAM.replace("example_inputs", "others"))
    message = refused(net, "render", "net.py:f")
    assert "--args" in message and "example_inputs" in message


def test_arguments_that_are_no_python_are_refused(net):
    assert "--args" in refused(net, "render", "net.py:f", "--args", "tensor(")


def test_arguments_for_a_tensor_are_refused(net):
    assert "--args is for functions" in refused(net, "render", "net.py:loss", "--args", "1")


def test_an_unknown_pass_is_refused(net):
    assert "sideways" in refused(net, "render", "net.py:loss", "--pass", "sideways")


def test_a_place_that_cannot_be_written_is_refused(net):
    (net / "x.svg").mkdir()
    done = minigrad(net, "render", "net.py:loss", "-o", "x.svg")
    assert done.returncode == 2 and b"x.svg cannot be written" in done.stderr


def test_a_tensor_of_a_training_loop_is_drawn_with_its_parameters(net):
    loop = """
import minigrad
for step in range(3):
    error = (w * x - 1.0) ** 2
    error.backward()
    with minigrad.no_grad():
        w -= 0.1 * w.grad
    w.grad = None
last = w * x
"""
    (net / "net.py").write_text(PROGRAM + loop)
    for name in ("error", "last"):
        assert minigrad(net, "render", f"net.py:{name}").returncode == 0
        assert 'class="node parameter"' in (net / f"{name}.svg").read_text()


def test_a_file_of_the_same_name_is_kept_when_drawing_fails(net):
    (net / "x.svg").write_text("precious")
    (net / "net.py").write_text("1 / 0\n")
    minigrad(net, "render", "net.py:loss", "-o", "x.svg")
    assert (net / "x.svg").read_text() == "precious"
