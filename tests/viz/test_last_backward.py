"""Pictures without a name: `render PROG.py` and MINIGRAD_VIZ draw the last backward; --list names what can be drawn."""

import json
import os
from pathlib import Path

import pytest

from tests.forked import python
from tests.viz.command import minigrad

TRAINING = """
import minigrad as torch

torch.manual_seed(0)
net = torch.nn.Linear(2, 1)
x = torch.randn(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    loss = net(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1e-3)
    optimizer.step()
later = loss.detach() * 2
"""
INSIDE = """
import minigrad

def train():
    w = minigrad.tensor([1.0, 2.0], requires_grad=True)
    cost = (w * 3).sum()
    cost.backward()

train()
"""
SHARED = """
import minigrad as torch

w, v = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
made = (w * 5).tanh()
first = (made.detach() * v).square()
first.backward()
second = -(made * v)
second.backward()
"""


def program(folder, text, name="train.py"):
    (folder / name).write_text(text)
    return folder


def ended(folder, *words, status=0, **variables):
    """Run a program, and return its standard error without the end of the line."""
    done = python(*words, cwd=folder, **variables)
    assert done.returncode == status, done.stderr.decode()
    return done.stderr.decode().rstrip()


def record(path: Path):
    return json.loads(path.read_text())


# ---------------------------------------------------------------------- minigrad render PROG.py
def test_render_without_a_name_draws_the_loss_of_the_last_backward(tmp_path):
    done = minigrad(program(tmp_path, TRAINING), "render", "train.py", "-o", "made.json")
    named = minigrad(tmp_path, "render", "train.py:loss", "-o", "named.json")
    assert (done.returncode, named.returncode) == (0, 0), done.stderr.decode()
    made, expected = record(tmp_path / "made.json"), record(tmp_path / "named.json")
    assert made["ops"] == expected["ops"] and made["outputs"] == expected["outputs"]
    assert made["program"] == expected["program"]


def test_render_without_a_name_writes_a_file_named_after_the_program(tmp_path):
    done = minigrad(program(tmp_path, INSIDE), "render", "train.py")
    assert done.stdout.decode() == "wrote train.svg\n"
    assert "backward starts here" in (tmp_path / "train.svg").read_text()


def test_render_without_a_name_draws_the_last_backward_of_pytorch(tmp_path):
    pytest.importorskip("torch")
    program(tmp_path, TRAINING.replace("minigrad as torch", "torch"))
    done = minigrad(tmp_path, "render", "train.py", "-o", "made.json")
    assert done.returncode == 0, done.stderr.decode()
    made = record(tmp_path / "made.json")
    assert made["program"]["name"] == "loss" and made["program"]["passes"] == ["forward", "backward", "jvp"]


def test_a_gradient_inside_a_transform_is_no_backward_of_the_program(tmp_path):
    text = "import minigrad\nslope = minigrad.func.grad(lambda x: x * x)(minigrad.tensor(2.0))\n"
    done = minigrad(program(tmp_path, text), "render", "train.py")
    assert done.returncode == 2 and b"train.py runs no backward" in done.stderr


def test_the_list_names_tensors_modules_and_functions_with_their_lines(tmp_path):
    text = TRAINING + "\ndef f(a, b=2):\n    return a * b\n"
    done = minigrad(program(tmp_path, text), "render", "train.py", "--list")
    assert done.stdout.decode().splitlines() == [
        "tensors:",
        "  train.py:loss  float32 ()  line 9  the last backward began here",
        "modules:",
        "  train.py:net   Linear, 3 parameters  line 5",
        "functions:",
        "  train.py:f     (a, b=2)  line 16",
    ]
    assert not list(tmp_path.glob("*.svg"))


def test_the_list_as_json_has_the_same_names(tmp_path):
    done = minigrad(program(tmp_path, INSIDE), "render", "train.py", "--list", "--json")
    train = {"name": "train", "description": "()", "line": 4, "starts_backward": False}
    assert json.loads(done.stdout) == {"file": "train.py", "tensors": [], "modules": [], "functions": [train]}


# ---------------------------------------------------------------------- MINIGRAD_VIZ
def test_a_program_under_minigrad_viz_leaves_the_page_of_its_last_backward(tmp_path):
    place = tmp_path / "train.html"
    said = ended(program(tmp_path, TRAINING), "train.py", MINIGRAD_VIZ="1")
    assert said == f"minigrad: wrote {place}, the picture of the last backward"
    assert "<title>loss · minigrad</title>" in place.read_text()


def test_the_record_at_exit_equals_that_of_the_whole_run(tmp_path):
    """The optimizer and clipping have since changed the parameters and gradients; the last step's ids start anew."""
    minigrad(program(tmp_path, TRAINING), "render", "train.py", "-o", "whole.json")
    ended(tmp_path, "train.py", MINIGRAD_VIZ="last.json")
    whole, last = record(tmp_path / "whole.json"), record(tmp_path / "last.json")
    assert [names_and_numbers(whole, op) for op in ops(whole)] == [names_and_numbers(last, op) for op in ops(last)]
    assert {gradient_by_name(whole)[name] == g for name, g in gradient_by_name(last).items()} == {True}


def ops(made):
    return [op for op in made["ops"] if op["phase"] in ("forward", "backward") and "loss = " in op["where"]["code"]]


def names_and_numbers(made, op):
    values = {value["id"]: value for value in made["values"]}
    return (
        op["name"],
        op["where"]["line"],
        [values[v]["summary"] for v in op["inputs"] + op["outputs"] if isinstance(v, int)],
    )


def gradient_by_name(made):
    values = {value["id"]: value for value in made["values"]}
    return {
        values[int(v)]["name"]: values[g]["summary"] for v, g in made["gradients"].items() if values[int(v)]["name"]
    }


def test_operations_from_before_an_earlier_backward_are_part_of_the_picture(tmp_path):
    ended(program(tmp_path, SHARED), "train.py", MINIGRAD_VIZ="last.json")
    made = record(tmp_path / "last.json")
    forward = [op["name"] for op in made["ops"] if op["phase"] == "forward"]
    assert forward == ["mul", "tanh", "mul", "neg"]
    assert set(gradient_by_name(made)) >= {"w", "v", "second", "made"}


def test_only_the_tensors_of_two_steps_stay_alive(tmp_path):
    text = """
import gc, weakref
import minigrad as torch

w, seen = torch.ones(3, requires_grad=True), []
for step in range(20):
    with torch.enable_grad():
        hidden = w * step
        seen.append(weakref.ref(hidden))
        hidden.sum().backward()
gc.collect()
print(sum(one() is not None for one in seen))
"""
    done = python("train.py", cwd=program(tmp_path, text), MINIGRAD_VIZ="1")
    assert int(done.stdout) <= 2


@pytest.mark.parametrize("ending, status", [("raise SystemExit(7)", 7), ("raise ValueError('no')", 1)])
def test_the_exit_status_stays_the_programs(tmp_path, ending, status):
    program(tmp_path, SHARED + ending)
    assert "wrote" in ended(tmp_path, "train.py", status=status, MINIGRAD_VIZ="made.txt")
    folder = tmp_path / "no" / "made.txt"
    said = ended(tmp_path, "train.py", status=status, MINIGRAD_VIZ=str(folder))
    assert "minigrad: MINIGRAD_VIZ cannot draw the last backward: FileNotFoundError" in said


def test_without_a_backward_or_a_known_suffix_nothing_is_written(tmp_path):
    program(tmp_path, "import minigrad")
    assert ended(tmp_path, "train.py", MINIGRAD_VIZ="1").endswith("this program ran none")
    assert "MINIGRAD_VIZ=a.foo is neither 1 nor a file" in ended(tmp_path, "train.py", MINIGRAD_VIZ="a.foo")
    assert ended(tmp_path, "train.py", MINIGRAD_VIZ="0") == ""
    assert os.listdir(tmp_path) == ["train.py"]


@pytest.mark.parametrize("line", ["from viz import draw", "from viz import from_torch", "from viz import draw_threads"])
def test_a_program_may_import_viz_before_minigrad(tmp_path, line):
    program(tmp_path, f"{line}\n{INSIDE}")
    assert "wrote" in ended(tmp_path, "train.py", MINIGRAD_VIZ="1")


def test_run_draws_a_program_for_pytorch_and_other_commands_draw_only_what_they_are_asked(tmp_path):
    program(tmp_path, TRAINING.replace("minigrad as torch", "torch"))
    done = python("-m", "viz.cli", "run", "train.py", cwd=tmp_path, MINIGRAD_VIZ="1")
    assert done.returncode == 0 and (tmp_path / "train.html").exists(), done.stderr.decode()
    (tmp_path / "train.html").unlink()
    words = "render", "train.py:loss", "--as-torch", "-o", "made.svg"
    assert python("-m", "viz.cli", *words, cwd=tmp_path, MINIGRAD_VIZ="1").returncode == 0
    assert sorted(os.listdir(tmp_path)) == ["made.svg", "train.py"]
