"""The command runs unchanged programs of PyTorch: `import torch` in the file is enough."""

import json

import numpy as np
import pytest
import torch

from tests.forked import python
from tests.viz import test_long_programs as long
from tests.viz.test_cli import (  # noqa: F401  collected here, with the program below
    MODULES,
    test_a_module_gets_an_example_that_its_layers_take_and_that_is_said,
    test_a_module_that_takes_two_tensors_asks_for_them,
)

TRAINING = """
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
x, target = torch.rand(4, 2), torch.rand(4, 1)

def main(steps):
    global loss
    for step in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), target)
        loss.backward()
        optimizer.step()
        print("loss", loss.item())

if __name__ == "__main__":
    import argparse
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=3)
    main(parser.parse_args().steps)
"""
PROGRAM = """
import torch
from torch.func import grad, jvp, vmap

w = torch.tensor(0.5, requires_grad=True)
x = torch.tensor(2.0)
rate = 0.1
plain = torch.tensor(1.0)
h = (w * x).tanh()
loss = h * w

def f(a, b):
    return (a * b).tanh()

def cube(a):
    return (a**3).sum()

class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2

twice = Double.apply(w) + 1
slope = grad(cube)(torch.tensor([1.0, 2.0]))
per_row = vmap(grad(cube))(torch.ones(2, 3))
value, tangent = jvp(cube, (torch.ones(2),), (torch.ones(2),))
Layer = torch.nn.Linear
layer = Layer(3, 2)
example_inputs = {"f": (w, x), "cube": (torch.ones(2),)}
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "train.py").write_text(TRAINING)
    (tmp_path / "net.py").write_text(PROGRAM)
    return tmp_path


def minigrad(folder, *words, **options):
    done = python("-m", "viz.cli", *words, cwd=folder, needs="torch", **options)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def record(folder, target, *words):
    code, _, said = minigrad(folder, "render", target, "-o", "out.json", *words)
    assert code == 0, said
    return json.loads((folder / "out.json").read_text()), said


def calls(made):
    return [op["call"] for op in made["ops"] if op["phase"] == "forward"]


def value(made, name):
    (found,) = [v for v in made["values"] if v["name"] == name]
    return found["summary"]["values"]


def gradient(made, name):
    (found,) = [v for v in made["values"] if v["name"] == name]
    return made["values"][made["gradients"][str(found["id"])]]["summary"]["values"]


def test_a_tensor_of_a_script_is_drawn_with_all_passes_labels_and_lines(folder):
    made, said = record(folder, "net.py:loss")
    assert calls(made) == ["w * x", "v0.tanh()", "h * w"] and made["program"]["passes"] == [
        "forward",
        "backward",
        "jvp",
    ]
    assert [op["where"]["line"] for op in made["ops"] if op["phase"] == "forward"] == [9, 9, 10] and not said
    assert np.isclose(gradient(made, "w"), np.tanh(1) + 0.5 * 2 * (1 - np.tanh(1) ** 2))
    edges = {made["values"][e["input"]]["label"]: e["formula"] for op in made["ops"][:2] for e in op["edges"]}
    assert edges == {"w": "g * x", "v0": "g * (1 - h ** 2)"}
    assert [push["formula"] for op in made["ops"] for push in op["pushes"]] == [
        "w_t * x",
        "v0_t * (1 - h ** 2)",
        "h_t * w + w_t * h",
    ]
    assert sum(s["bytes"] for op in made["ops"] for s in op["saved"]) == 16


@pytest.mark.parametrize(
    "suffix, start", [("svg", "<svg"), ("txt", "loss"), ("html", "<!DOCTYPE html>"), ("dot", "digraph")]
)
def test_every_format_takes_it(folder, suffix, start):
    assert minigrad(folder, "render", "net.py:loss", "-o", f"out.{suffix}")[0] == 0
    assert (folder / f"out.{suffix}").read_text().startswith(start)


def test_a_training_script_shows_its_last_step_with_its_own_backward_and_names(folder):
    made, _ = record(folder, "train.py:loss", "--", "--steps", "2")
    assert [op["name"] for op in made["ops"] if op["phase"] == "forward" and op["edges"]] == [
        "linear",
        "tanh",
        "linear",
        "mse_loss",
    ]
    names = {v["name"] for v in made["values"]}
    assert {"x", "target", "loss", "net.0.weight", "net.2.bias"} <= names
    code, _, said = minigrad(folder, "render", "train.py:loss", "-p", "backward", "-f", "txt", "-o", "-")
    assert code == 0 and said.count("loss ") == 3  # what the script prints, of its three steps


def test_the_programs_own_backward_is_kept(folder):
    (folder / "net.py").write_text(PROGRAM + "loss.backward(torch.tensor(10.0))\n")
    assert gradient(record(folder, "net.py:loss")[0], "loss") == 10.0


def test_a_function_is_drawn_with_arguments_or_with_example_inputs(folder):
    assert calls(record(folder, "net.py:f")[0]) == ["a * b", "v0.tanh()"]
    made, _ = record(folder, "net.py:cube", "--args", "tensor([2.0])")
    assert value(made, "a") == [2.0] and gradient(made, "a") == [12.0]


def test_transforms_are_drawn_as_they_see_their_operations(folder):
    made, _ = record(folder, "net.py:slope")
    assert value(made, "slope") == [3.0, 12.0] and [op["layer"] for op in made["ops"][:1]] == [["grad"]]
    assert made["ops"][0]["edges"][0]["formula"] == "3 * g * a ** 2" or "** 2" in made["ops"][0]["edges"][0]["formula"]
    made, _ = record(folder, "net.py:per_row")
    assert {tuple(op["layer"]) for op in made["ops"] if op["phase"] == "forward"} == {("vmap", "grad")}
    assert all(edge["formula"] for op in made["ops"] for edge in op["edges"])
    made, _ = record(folder, "net.py:tangent")
    assert made["program"]["passes"] == ["forward", "jvp"] and value(made, "tangent") == 6.0


def test_what_is_compiled_is_drawn_as_it_was_written(folder):
    (folder / "net.py").write_text(
        PROGRAM + "compiled = torch.compile(f)\nfast = compiled(w, x)\nexample_inputs = (w, x)\n"
    )
    for target in ("net.py:fast", "net.py:compiled"):
        assert [op["name"] for op in record(folder, target)[0]["ops"] if op["phase"] == "forward"] == ["mul", "tanh"]


def test_a_function_of_autograd_is_one_operation(folder):
    made, said = record(folder, "net.py:twice")
    assert calls(made)[0] == "Double.apply(w)" and made["ops"][0]["edges"][0]["formula"] == "g * 2"
    assert "the jvp pass is left out: Double has no jvp" in said


@pytest.fixture
def modules():
    return MODULES.replace("minigrad as torch", "torch").replace("from minigrad", "from torch")


def test_a_module_is_called_with_what_is_given(folder):
    made, said = record(folder, "net.py:layer", "--args", "torch.ones(5, 3)")
    assert [5, 3] in [v["shape"] for v in made["values"]] and not said
    assert {op["where"]["file"] for op in made["ops"]} == {""}  # no line of the program calls it


def test_step_diff_and_explain_take_it_as_well(folder):
    code, steps, _ = minigrad(folder, "step", "net.py:loss", "-p", "backward")
    assert code == 0 and "back to w:  g * h" in steps
    code, difference, _ = minigrad(folder, "diff", "net.py:loss", "net.py:h")
    assert code == 0 and "1 removed" in difference
    code, text, _ = minigrad(folder, "explain", "net.py:loss", "--of", "w")
    assert code == 0 and "2 paths" in text and "∂h/∂v0 = 1 - h ** 2" in text and "1.182   in all" in text
    assert "∂cube/∂a = [3, 3]" in minigrad(folder, "explain", "net.py:cube")[1]
    assert "Double.backward, net.py:23" in minigrad(folder, "explain", "net.py:twice")[1]
    explained = minigrad(folder, "explain", "train.py:loss", "--of", "net.0.weight", "--json")
    assert explained[0] == 0 and json.loads(explained[1])["steps"]


def test_complex_numbers_are_drawn_and_not_explained(folder):
    (folder / "net.py").write_text(PROGRAM + "size = torch.complex(w, x).abs()\n")
    assert calls(record(folder, "net.py:size")[0])[0] == "complex(w, x)"
    code, _, said = minigrad(folder, "explain", "net.py:size")
    assert code == 2 and "does not support the program's complex numbers" in said


BOTH = """
import minigrad
import torch

ours = minigrad.tensor([1.0, 2.0], requires_grad=True)
theirs = torch.tensor([1.0, 2.0], requires_grad=True)
ours_loss, theirs_loss = (ours * ours).sum(), (theirs * theirs).sum()

def with_ours(a):
    return minigrad.tanh(a)

def with_theirs(a):
    return torch.tanh(a)
"""


def test_a_program_of_both_libraries_is_drawn_by_either(folder):
    (folder / "both.py").write_text(BOTH)
    for name in ("ours", "theirs"):
        assert calls(record(folder, f"both.py:{name}_loss")[0]) == [f"{name} * {name}", "v0.sum()"]
        made, _ = record(folder, f"both.py:with_{name}", "--args", "tensor([1.0])")
        assert calls(made) == ["tanh(a)"] and made["program"]["passes"] == ["forward", "backward", "jvp"]


def test_a_module_beside_the_program_may_import_torch(folder):
    (folder / "model.py").write_text("import torch\nw = torch.ones(2, requires_grad=True)\n")
    (folder / "main.py").write_text("from model import w\nloss = (w * w).sum()\n")
    assert calls(record(folder, "main.py:loss")[0]) == ["w * w", "v0.sum()"]


def test_a_tensor_of_a_library_that_is_not_imported_is_told(folder):
    (folder / "hidden.py").write_text("import importlib\nt = importlib.import_module('torch')\nloss = t.ones(1) * 2\n")
    code, _, said = minigrad(folder, "render", "hidden.py:loss")
    assert (
        code == 2
        and "loss in hidden.py is a torch tensor, but hidden.py does not import torch. Add: import torch" in said
    )


@pytest.mark.parametrize(
    "words, said",
    [
        (["net.py:Layer"], "Layer in net.py is a module class. Name an instance of it: net = Layer(...)."),
        (
            ["net.py:rate"],
            "rate in net.py is of type float, neither a tensor nor a function. Choose from: h, loss, twice, layer",
        ),
        (
            ["train.py:optimizer"],
            "optimizer in train.py is of type Adam, neither a tensor nor a function. Choose from: loss, net, main.",
        ),
        (
            ["net.py:plain"],
            "plain in net.py has no graph: no operation of the main thread made it, or detach cut it off.",
        ),
        (["net.py:los"], "net.py has no los. Did you mean loss?"),
        (["net.py:loss", "--args", "3"], "--args is for functions, and loss is a tensor."),
        (["net.py:cube", "--args", "tensor("], "cannot be evaluated"),
    ],
)
def test_errors_say_what_is_there_and_what_to_write(folder, words, said):
    (folder / "net.py").write_text(PROGRAM.replace('example_inputs = {"f"', 'unused = {"f"'))
    code, out, complained = minigrad(folder, "render", *words)
    assert code == 2 and said in complained and "wrote" not in out


def test_an_error_of_the_program_shows_its_own_lines_alone(folder):
    (folder / "net.py").write_text(PROGRAM + "layer(torch.ones(1, 4))\n")
    code, _, said = minigrad(folder, "render", "net.py:loss")
    assert code == 1 and "shapes cannot be multiplied" in said and said.count('File "') == 1


def test_without_pytorch_a_program_that_tries_to_import_it_is_drawn_all_the_same(folder):
    (folder / "tries.py").write_text(
        "import sys\nimport minigrad\nw = minigrad.ones(2, requires_grad=True)\nloss = (w * w).sum()\n"
        "try:\n    import torch\nexcept ImportError:\n    torch = None\n"
    )
    (folder / "sitecustomize.py").write_text(
        "import importlib.util as u\nfind = u.find_spec\n"
        "u.find_spec = lambda name, package=None: None if name == 'torch' else find(name, package)\n"
    )
    done = python("-m", "viz.cli", "render", "tries.py:loss", "-f", "txt", "-o", "-", cwd=folder, new=True)
    assert done.returncode == 0 and b"w * w" in done.stdout, done.stderr


def test_a_cell_of_pytorch_is_traced_in_a_notebook():
    pytest.importorskip("IPython")
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    shell.run_line_magic("load_ext", "minigrad")
    try:
        done = shell.run_cell(
            "%%trace\nimport torch\nw = torch.tensor(0.5, requires_grad=True)\nh = (w * 2).tanh()\nh * w"
        )
        assert done.success and done.result.passes == ("forward", "backward", "jvp")
        text = done.result.text()
        assert "w  leaf" in text and "h = (w * 2).tanh()" in text and "back to h: g * w = 0.5" in text
        named = shell.run_cell("%%trace h\nh = w.exp()\nother = w * 3")
        assert named.result.graph.operations == 1
        ours = shell.run_cell("%%trace\nimport minigrad\na = minigrad.ones(2, requires_grad=True)\na * a")
        assert ours.result.graph.operations == 1
        failed = shell.run_cell("%%trace\n(w * 2).missing")
        assert not failed.success and torch.overrides._get_current_function_mode() is None
    finally:
        InteractiveShell.clear_instance()


def test_a_training_run_of_pytorch_is_recorded_around_its_last_step(tmp_path, monkeypatch):
    text = long.TRAINING.replace("import minigrad as torch", "import torch").format(steps=26)
    part, notes = long.recorded(tmp_path, monkeypatch, text, "loss")
    whole, _ = long.recorded(tmp_path, monkeypatch, text, "loss", many=1000)
    assert long.computed(part) == long.computed(whole) and notes == [f"train.py {long.BACK}"]
    assert [v["shown"] for v in part["values"] if v["id"] in part["outputs"]] == ["loss"]


def test_a_paused_recording_keeps_nothing_of_the_steps_that_run():
    from viz.pytorch.torch_recording import TorchRecording

    w = torch.ones(2, requires_grad=True)
    recorder = TorchRecording(("forward", "backward"), "loss")

    def step():
        w.grad = None
        (w * 2).sum().backward()
        with torch.no_grad():
            w.sub_(w.grad)
        return len(recorder.tensors), len(recorder.whole), len(recorder.groups)

    with recorder:
        step()
        recorder.pause()
        kept = step()
        assert step() == kept
        recorder.go_on()
        assert all(now > before for now, before in zip(step(), kept, strict=True))


def test_check_takes_the_arguments_to_which_a_program_applies_its_function(tmp_path):
    (tmp_path / "scaled.py").write_text(
        "import torch\n\nclass Scaled(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x, options):\n"
        "        ctx.factor = options['factor']\n        return x * ctx.factor\n\n    @staticmethod\n"
        "    def backward(ctx, g):\n        return g * ctx.factor, None\n\n"
        "Scaled.apply(torch.tensor([0.25, 3.0], requires_grad=True), {'factor': 2.0})\n"
    )
    done = python("-m", "viz.cli", "check", "scaled.py", "--json", cwd=tmp_path)
    (result,) = json.loads(done.stdout)
    assert result["ok"] and result["library"] == "torch" and not result["guessed"] and "[0.25, 3.0]" in result["input"]
