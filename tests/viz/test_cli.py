"""The command `minigrad` runs as a user runs it: in an empty folder, in a separate process."""

import json
import re
import subprocess
import sys

import pytest

import minigrad as torch
from tests.floats import some
from viz.programs.examples import example

from .command import PROGRAM, minigrad, written

PASSES = ("forward", "backward", "jvp")
COMMANDS = ["render", "step", "diff", "explain", "source", "completion", "doctor", "warmup"]


def test_help_comes_at_once_for_it_imports_nothing_that_draws():
    code = f"""
import sys
from viz.cli import main
for command in {COMMANDS}:
    main([command, "--help"])
main(["--help"])
print([m for m in ("minigrad", "viz.drawing", "pygraphviz", "matplotlib", "numpy") if m in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.count("Usage: minigrad") == len(COMMANDS) + 1 and done.stdout.endswith("[]\n"), done.stderr


def test_the_version_comes_without_any_import():
    code = """
import sys
before = set(sys.modules)
from viz.cli import main
main(["--version"])
print({name.partition(".")[0] for name in set(sys.modules) - before} - {"viz", *sys.stdlib_module_names})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == f"{torch.__version__}\nset()\n", done.stderr


def test_every_command_has_a_description(tmp_path):
    for words in ((), ("lessons",)):
        text = minigrad(tmp_path, *words, "--help").stdout.decode()
        rows = re.findall(r"^│ ([a-z]+) +(.*?) *│$", text, re.MULTILINE)
        assert len(rows) > 5 and all(about for _, about in rows), rows


def test_help_has_examples(tmp_path):
    for words in ((), ("render",), ("step",), ("diff",), ("explain",), ("source",)):
        assert b"Examples:" in minigrad(tmp_path, *words, "--help").stdout


@pytest.mark.parametrize("words", [("render", "net.py:loss", "-f", "txt", "-o", "-"), ("source", "net.py:f")])
@pytest.mark.slow
def test_a_new_python_says_what_a_forked_one_says(net, words):
    assert minigrad(net, *words).stdout == minigrad(net, *words, new=True).stdout != b""


def test_a_tensor_is_drawn_into_a_file_of_its_name(net):
    done = minigrad(net, "render", "net.py:loss")
    assert (done.returncode, done.stdout) == (0, b"wrote loss.svg\n"), done.stderr.decode()
    assert b"net.py:9" in (net / "loss.svg").read_bytes()


FORMATS = {"svg": b"<svg", "film": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF", "dot": b"digraph", "mmd": b"flowchart",
           "txt": b"loss", "json": b"{"}  # fmt: skip


@pytest.mark.parametrize("name", some(FORMATS))
def test_minus_writes_the_picture_alone_in_every_format(net, name):
    (net / "net.py").write_text(PROGRAM + "import os\nprint('hello')\nos.write(1, b'from below')\n")
    done = minigrad(net, "render", "net.py:loss", "-f", name, "-o", "-")
    assert done.returncode == 0 and done.stdout.startswith(FORMATS[name]), done.stderr
    assert b"hello" in done.stderr and b"hello" not in done.stdout and b"from below" not in done.stdout
    assert not written(net)


def test_a_format_by_name_goes_before_the_suffix_and_names_the_file(net):
    assert minigrad(net, "render", "net.py:loss", "-f", "txt").stdout == b"wrote loss.txt\n"
    assert minigrad(net, "render", "net.py:loss", "-f", "dot", "-o", "loss.any").returncode == 0
    assert (net / "loss.any").read_bytes().startswith(b"digraph")


def test_the_program_may_come_from_the_standard_input(net):
    done = minigrad(net, "render", "-:loss", "-f", "txt", "-o", "-", given=PROGRAM.encode())
    assert done.returncode == 0 and b"<stdin>:9  loss = h * w" in done.stdout, done.stderr


def test_json_for_machines_is_alone_on_the_standard_output_and_has_all_passes(net):
    (net / "net.py").write_text(PROGRAM + "print('hello')\n")
    done = minigrad(net, "render", "net.py:loss", "--json")
    found = json.loads(done.stdout)
    assert found["passes"] == [*PASSES] and found["file"] == "loss.svg" and not found["notes"]
    assert (found["operations"], found["folded"], found["format"]) == (3, 0, "svg")


FUNCTION = """
import minigrad
class Double(minigrad.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return g * 2
twice = Double.apply(w) + 1
aside = w * 3
"""


def test_jvp_is_left_out_with_a_note_where_a_function_has_none(net):
    (net / "net.py").write_text(PROGRAM + FUNCTION)
    done = minigrad(net, "render", "net.py:twice", "--json")
    assert json.loads(done.stdout)["passes"] == ["forward", "backward"]
    assert done.stderr == b"minigrad: the jvp pass is left out: Double has no jvp\n"
    assert json.loads(minigrad(net, "render", "net.py:aside", "--json").stdout)["passes"][-1] == "jvp"


def test_without_anything_that_requires_grad_backward_is_left_out_with_a_note(net):
    (net / "net.py").write_text(PROGRAM + "still = plain * x\n")
    done = minigrad(net, "render", "net.py:still")
    assert done.returncode == 0 and b"the backward pass is left out: nothing in it requires grad" in done.stderr


TEXTS = {  # lines of the program, words of the command, words of the text
    "its own backward": ("loss.backward(tensor(10.0))\n", ["net.py:loss", "-p", "backward"], ["grad = 10"]),
    "the backward of another result": (
        "loss.backward(retain_graph=True)\nother = w * 7.0\n",
        ["net.py:other", "-p", "backward"],
        ["grad = 7\n"],
    ),
    "a result of a transform": (
        "import minigrad\nslope = minigrad.func.grad(g)(tensor(3.0))\n",
        ["net.py:slope"],
        ["grad = 6", "output: slope"],
    ),
    "what runs as a script": ("", ["net.py:main_value"], ["main_value"]),
    "a program that exits well": ("raise SystemExit\n", ["net.py:loss"], ["loss"]),
    "words behind two dashes": (
        "import sys\nscaled = w * float(sys.argv[1])\nassert sys.argv[0] == 'net.py'\n",
        ["net.py:scaled", "--", "3"],
        ["scaled = 1.5"],
    ),
    "a module, its arguments and its parameters' names": (
        "import minigrad\nlayer = minigrad.nn.Linear(2, 1)\n",
        ["net.py:layer", "--args", "minigrad.ones(1, 2)"],
        ["◆  weight  parameter"],
    ),
    "arguments": ("", ["net.py:g", "--args", "tensor(-3.0, requires_grad=True)"], ["= 9"]),
    **{f"a function's {name}": ("", ["net.py:f", "--pass", name], ["tanh"]) for name in (*PASSES, "all")},
    **{f"a tensor's {name}": ("", ["net.py:loss", "--pass", name], ["0.3808"]) for name in (*PASSES, "all")},
}


@pytest.mark.parametrize("what", TEXTS)
def test_the_text_shows(net, what):
    lines, (target, *options), found = TEXTS[what]
    (net / "net.py").write_text(PROGRAM + lines)
    done = minigrad(net, "render", target, "-f", "txt", "-o", "-", *options)
    assert done.returncode == 0 and all(words in done.stdout.decode() for words in found), done.stderr


def test_what_is_shown_and_the_way_can_be_chosen(net):
    done = minigrad(net, "render", "net.py:loss", "--show", "shapes,lines", "-f", "txt", "-o", "-")
    assert b"float32" in done.stdout and b"net.py:9" in done.stdout and b"= 0." not in done.stdout
    assert b"rankdir=LR" in minigrad(net, "render", "net.py:loss", "--rankdir", "LR", "-f", "dot", "-o", "-").stdout


def test_depth_and_max_nodes_fold(net):
    (net / "net.py").write_text(PROGRAM + "y = x * w\nfor i in range(40):\n    y = y * 1.5\n")
    whole = json.loads(minigrad(net, "render", "net.py:y", "--max-nodes", "0", "--json").stdout)
    few = json.loads(minigrad(net, "render", "net.py:y", "--json", "--max-nodes", "20").stdout)
    assert (whole["nodes"], whole["folded"]) == (42, 0) and few["nodes"] <= 20 and few["folded"] == 1
    assert json.loads(minigrad(net, "render", "net.py:f", "--depth", "1", "--json").stdout)["folded"] == 1


def test_the_viewer_is_written_and_options_it_does_not_use_are_named(net):
    done = minigrad(net, "render", "net.py:loss", "-o", "loss.html", "--depth", "1", "--rankdir", "LR")
    assert done.returncode == 0 and (net / "loss.html").read_text().startswith("<!DOCTYPE html>")
    assert b"the viewer ignores --depth, --rankdir" in done.stderr
    assert b"viewer ignores" not in minigrad(net, "render", "net.py:loss", "-o", "loss.html").stderr


def test_open_hands_the_file_to_the_systems_program(net):
    (net / "shower.py").write_text("import sys\nopen('opened', 'w').write(sys.argv[1])\n")
    shower = f"{sys.executable} shower.py %s"
    assert minigrad(net, "render", "net.py:loss", "--view", BROWSER=shower).returncode == 0
    assert (net / "opened").read_text().endswith("/loss.svg")


def test_json_is_the_record_with_the_programs_names(net):
    assert minigrad(net, "render", "net.py:loss", "-o", "out.json").returncode == 0
    made = json.loads((net / "out.json").read_text())
    assert made["schema"] == "minigrad.record/1"
    assert {"w", "x", "h", "loss"} <= {value["name"] for value in made["values"]}


MODULES = """
import minigrad as torch
from minigrad import nn

layer = nn.Linear(3, 2)
picture = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(72, 4))
words = nn.Sequential(nn.Embedding(5, 2), nn.Linear(2, 1))
steps = nn.LSTM(3, 2, batch_first=True)
pair = nn.Bilinear(2, 3, 4)
drawn = torch.rand(1).item()
"""


@pytest.fixture
def modules():
    """Return the program; tests/parity/test_torch_commands.py runs the tests with PyTorch's."""
    return MODULES


@pytest.mark.parametrize(
    "name, words, count",
    [
        ("layer", "randn(1, 3)", 1),
        ("picture", "randn(1, 1, 8, 8)", 4),
        ("words", "randint(0, 5, (1, 4))", 2),
        ("steps", "randn(1, 4, 3)", None),
    ],
)
def test_a_module_gets_an_example_that_its_layers_take_and_that_is_said(modules, tmp_path, name, words, count):
    (tmp_path / "net.py").write_text(modules)
    done = minigrad(tmp_path, "render", f"net.py:{name}", "-o", "net.json")
    words = words if modules is MODULES else f"torch.{words}"
    assert f"{name} is called with the example {words}. Choose your own with --args." in done.stderr.decode()
    made = json.loads((tmp_path / "net.json").read_text())["ops"]
    assert count is None or len([op for op in made if op["phase"] == "forward"]) == count
    assert minigrad(tmp_path, "render", f"net.py:{name}", "--args", words, "-o", "net.svg").returncode == 0


def test_a_module_that_takes_two_tensors_asks_for_them(modules, tmp_path):
    (tmp_path / "net.py").write_text(modules)
    done = minigrad(tmp_path, "render", "net.py:pair")
    assert done.returncode == 2 and b"pair is a module and needs arguments. Pass --args" in done.stderr


def test_an_example_leaves_the_random_numbers_as_they_were():
    layer, before = torch.nn.Linear(3, 2), torch.get_rng_state()
    assert example(layer, torch)
    assert torch.get_rng_state().tolist() == before.tolist()


def test_modules_beside_the_program_can_be_imported(net):
    (net / "other.py").write_text("SCALE = 3.0\n")
    (net / "net.py").write_text("from other import SCALE\n" + PROGRAM)
    folder = net / "elsewhere"
    folder.mkdir()
    assert minigrad(folder, "render", "../net.py:loss").returncode == 0


def test_only_what_led_to_the_tensor_is_drawn(net):
    (net / "net.py").write_text(PROGRAM + "aside = (plain * x).exp()\n")
    assert minigrad(net, "render", "net.py:loss").returncode == 0
    assert "exp" not in (net / "loss.svg").read_text()


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


def test_the_file_lies_where_the_command_was_given_wherever_the_program_goes(net):
    (net / "net.py").write_text(PROGRAM + "import os, tempfile\nos.chdir(tempfile.gettempdir())\n")
    assert minigrad(net, "render", "net.py:loss", "-o", "here.svg").returncode == 0
    assert (net / "here.svg").exists()


def test_what_a_terminal_cannot_write_does_not_end_the_command(net):
    done = minigrad(net, "step", "net.py:loss", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0 and b"step 1 of 9" in done.stdout, done.stderr


def test_what_the_program_made_is_closed_at_the_end_as_python_does_it(tmp_path):
    logs = """
class Log:
    def __init__(self):
        self.itself, self.file = self, open("log.txt", "w")
        self.file.write("written")

    def __del__(self):
        print("closed")

log = Log()
"""
    (tmp_path / "net.py").write_text(PROGRAM + logs)
    done = minigrad(tmp_path, "render", "net.py:loss", new=True)
    assert done.stdout == b"wrote loss.svg\nclosed\n" and (tmp_path / "log.txt").read_text() == "written"


@pytest.mark.parametrize(
    "last",
    [
        "sys.stdout.close()",
        "sys.stderr.close()",
        "sys.stdout = sys.stderr = 5",
        "os.close(1)",
        "os.close(2)",
        "sys.stdout = io.StringIO()",
        "sys.path = []",
        "sys.meta_path.clear()",
        "builtins.print = builtins.len = None",
    ],
)
@pytest.mark.parametrize("words", [["render", "-f", "txt", "-o", "-"], ["explain"]], ids=lambda words: words[0])
def test_what_a_program_closes_or_replaces_is_there_again(net, last, words):
    (net / "net.py").write_text(PROGRAM + f"import builtins, io, os, sys\n{last}\n")
    done = minigrad(net, words[0], "net.py:loss", *words[1:])
    assert done.returncode == 0 and "loss" in done.stdout.decode() and not done.stderr, done.stderr.decode()


def test_what_a_program_has_printed_comes_before_what_is_written(net):
    (net / "net.py").write_text(PROGRAM + "import sys\nprint('before', end='')\nsys.stdout = None\n")
    done = minigrad(net, "render", "net.py:loss", "-o", "x.svg")
    assert done.stdout.decode() == "beforewrote x.svg\n"
