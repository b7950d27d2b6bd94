"""The commands beside render: step, diff, source, completion; run as a user runs them."""

import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time

import pytest

from viz.graph.record_diff import compare

from . import records
from .command import PROGRAM, minigrad


def test_step_tells_all_passes_where_there_is_no_terminal(net):
    done = minigrad(net, "step", "net.py:loss")
    text = done.stdout.decode()
    assert done.returncode == 0 and text.count("forward · step") == text.count("backward · step") == 3, done.stderr
    assert text.index("gives  h = 0.7616") < text.index("back to h:") < text.index("tangent = 1.182")
    assert "contribution 1 of 2 to the gradient of w" in text
    assert "with all 2 contributions: gradient of w = 1.182" in text
    assert "\033" not in text


def test_step_tells_the_gradient_of_each_parameter_of_a_module(net):
    (net / "layer.py").write_text(
        "import minigrad as torch\nlayer = torch.nn.Linear(2, 1)\ny = layer(torch.ones(1, 2))\n"
    )
    told = minigrad(net, "step", "layer.py:y").stdout.decode()
    assert "back to layer.weight" in told and "back to layer.bias" in told


def test_step_as_json_names_the_operations(net):
    steps = json.loads(minigrad(net, "step", "net.py:loss", "-p", "backward", "--json").stdout)
    assert [(one["phase"], one["op"]) for one in steps] == [("backward", 2), ("backward", 1), ("backward", 0)]


FUNCTION = """
import minigrad as torch
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return Scale.apply(g * x ** 2)
    @staticmethod
    def jvp(ctx, x_t):
        (x,) = ctx.saved_tensors
        return 3 * x_t * x ** 2
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 3
    @staticmethod
    def backward(ctx, g):
        return g * 3
x = torch.tensor(2.0, requires_grad=True)
y = Cube.apply(x)
"""


def test_step_enters_the_methods_of_custom_functions(net):
    (net / "cube.py").write_text(FUNCTION)
    steps = json.loads(minigrad(net, "step", "cube.py:y", "--json").stdout)
    told = [(one["phase"], one["within"], one["title"].split()[0]) for one in steps]
    assert told == [
        ("forward", [], "Cube(x)"),
        ("forward", ["Cube.forward"], "pow"),
        ("backward", [], "Cube(x)"),
        ("backward", ["Cube.backward"], "pow"),
        ("backward", ["Cube.backward"], "mul"),
        ("backward", ["Cube.backward"], "Scale(v1)"),
        ("backward", ["Cube.backward", "Scale.forward"], "mul"),
        ("jvp", [], "Cube(x)"),
        ("jvp", ["Cube.jvp"], "mul"),
        ("jvp", ["Cube.jvp"], "pow"),
        ("jvp", ["Cube.jvp"], "mul"),
    ]
    assert "reads  g = 1" in steps[4]["lines"] and "cube.py:11  return Scale.apply(g * x ** 2)" in steps[4]["lines"]
    text = minigrad(net, "step", "cube.py:y", "-p", "backward").stdout.decode()
    assert "│ │ backward · step 5 of 5 › Cube.backward › Scale.forward" in text


def test_step_says_which_output_a_gradient_belongs_to(net):
    program = "import minigrad\nx = minigrad.tensor([3.0, 1.0], requires_grad=True)\nlow, high = x.aminmax()\ny = low + high\n"
    (net / "two.py").write_text(program)
    text = minigrad(net, "step", "two.py:y", "-p", "backward").stdout.decode()
    assert "arrives  grad of low = 1\n" in text and "arrives  grad of high = 1\n" in text


def test_step_leaves_functions_closed_on_request(net):
    (net / "cube.py").write_text(FUNCTION)
    steps = lambda names: json.loads(
        minigrad(net, "step", "cube.py:y", "-p", "backward", "--open", names, "--json").stdout
    )
    assert [one["within"] for one in steps("none")] == [[]]
    assert len(steps("Cube")) == 4 and len(steps("all")) == 5  # Cube.backward applies Scale


def by_hand(folder, keys, **variables):
    """Return the text that `step` writes to a terminal at which somebody types."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "viz.cli", "step", "net.py:loss"]
    environment = {**os.environ, "TERM": "xterm", **variables}
    run = subprocess.Popen(command, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    os.write(ours, keys)
    said = b""
    try:
        while part := os.read(ours, 4096):
            said += part
    except OSError:  # the other end is closed
        pass
    assert run.wait(60) == 0
    os.close(ours)
    return said.decode()


def test_step_at_a_terminal_goes_as_the_reader_says(net):
    said = by_hand(net, b"\nb\n5\nq\n")
    assert [f"step {n} of 9" in said for n in (1, 2, 3, 5)] == [True, True, False, True]
    assert "\033[1;36mforward" in said


def test_no_color_is_heeded(net):
    assert "\033[" not in by_hand(net, b"q\n", NO_COLOR="1").replace("\033[?2004h", "").replace("\033[?2004l", "")


def test_diff_of_a_program_with_itself_finds_nothing(net):
    assert minigrad(net, "render", "net.py:loss", "-o", "before.json").returncode == 0
    assert minigrad(net, "diff", "before.json", "net.py:loss").stdout == b"no difference\n"


def test_diff_tells_what_a_change_did(net):
    assert minigrad(net, "render", "net.py:loss", "-o", "before.json").returncode == 0
    (net / "net.py").write_text(
        PROGRAM.replace("x = tensor(2.0)", "x = tensor(3.0)").replace("loss = h * w", "loss = h * w + 1.0")
    )
    done = minigrad(net, "diff", "before.json", "net.py:loss")
    text = done.stdout.decode()
    assert done.returncode == 0 and "x: 2 → 3" in text and "+ op 3  add(" in text and "1 added" in text, done.stderr
    changes = json.loads(minigrad(net, "diff", "before.json", "net.py:loss", "--json").stdout)
    assert {change["kind"] for change in changes} == {"added", "changed"}


@pytest.mark.parametrize("make", [records.two_uses, records.mlp, records.odd])
def test_a_record_does_not_differ_from_itself(make):
    assert compare(make(), make()) == []


def test_numbers_count_as_the_same_within_the_tolerance():
    one, other = records.two_uses(), records.two_uses()
    other["values"][5]["summary"]["values"] *= 1 + 1e-4
    assert [change.lines for change in compare(one, other, 1e-6)] and not compare(one, other, 1e-3)


def test_operations_that_went_are_told():
    one, other = records.recurrent(steps=5), records.recurrent(steps=3)
    assert [change.kind for change in compare(one, other)] == ["removed", "removed"]


def test_source_writes_the_generated_program_and_the_graph(net):
    done = minigrad(net, "source", "net.py:f")
    text = done.stdout.decode()
    assert done.returncode == 0 and "def f(" in text and "def f_backward(" in text and "■  mul  a * b" in text, (
        done.stderr
    )


def test_source_of_a_tensor_is_that_of_the_lines_that_made_it(net):
    (net / "net.py").write_text(
        PROGRAM.replace("loss = h * w", "print('once')\nfor _ in range(2):\n    h = h * w\nloss = h * w")
    )
    done = minigrad(net, "source", "net.py:loss", "--json")
    made = json.loads(done.stdout)
    assert (
        done.stderr.decode() == "once\n" and "def loss(" in made["forward"] and "def loss_backward(" in made["backward"]
    )
    lines = ["8  h = (w * x).tanh()", "11  h = h * w", "12  loss = h * w"]
    assert [line.strip() for line in made["forward"].splitlines() if "net.py:" in line] == [
        f"# net.py:{x}" for x in lines
    ]
    assert [op["name"] for op in made["graph"]["ops"]] == ["mul", "tanh", "mul", "mul", "mul"]


def test_source_lies_beside_the_graph_in_a_wide_terminal(net):
    text = minigrad(net, "source", "net.py:f", COLUMNS="220").stdout.decode()
    assert any("njit" in line and "│" in line for line in text.splitlines())


def test_source_as_json(net):
    made = json.loads(minigrad(net, "source", "net.py:g", "--args", "tensor(2.0)", "--json").stdout)
    assert "def g(" in made["forward"] and made["backward"] is None and made["graph"]["schema"] == "minigrad.record/1"


SHELLS = {
    "bash": (["--norc", "--noprofile"], "source {}"),
    "zsh": (["-f"], "autoload -U compinit; compinit -D; source {}"),
    "fish": (["--no-config"], "source {}"),
}
TYPED = {
    "minigrad ren": "render",
    "minigrad render --rankdir B": "BT",
    "minigrad render netw": "network.py",
    "minigrad check -o fold": "folder/",
    "minigrad run network.py note": "notes.txt",
}


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_knows_commands_options_and_files(tmp_path, shell):
    script = tmp_path / "script"
    script.write_bytes(minigrad(tmp_path, "completion", shell).stdout)
    assert all(word in script.read_text() for word in ("render", "max-nodes", "backward"))
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    for name in ("network.py", "notes.txt", "folder/other"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    options, load = SHELLS[shell]
    for typed, completed in TYPED.items():
        shown = typed_at_a_terminal(
            [shell, *options], [load.format(script), "echo rea''dy"], typed, completed, tmp_path
        )
        assert completed in shown, shown


def typed_at_a_terminal(shell, lines, typed, wanted, folder):
    """Return the text that a shell shows after these lines, a command that is not finished, and the tabulator key."""
    child, terminal = pty.fork()
    if not child:
        os.chdir(folder)
        os.execvpe(shell[0], shell, {**os.environ, "TERM": "dumb", "HOME": str(folder)})
    try:
        for line in lines:
            os.write(terminal, f"{line}\n".encode())
        until(terminal, "\nready")
        os.write(terminal, f"{typed}\t".encode())
        return until(terminal, wanted)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(terminal)


def until(terminal, wanted, seconds=60):
    """Read a terminal until it shows this text, or until the time is over."""
    text, end = "", time.monotonic() + seconds
    while wanted not in text and time.monotonic() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            text += os.read(terminal, 1 << 16).decode(errors="replace")
    return text


def test_what_takes_long_is_told_at_a_terminal(net):
    (net / "net.py").write_text("import time\ntime.sleep(1.3)\n" + PROGRAM)
    assert "running net.py …" in by_hand(net, b"q\n")
    assert b"running" not in minigrad(net, "step", "net.py:loss").stderr
