"""Pictures of values of a training run: only the steps around the value are recorded, in a second, silent run."""

import base64
import random
import signal
import subprocess
import sys

import numpy as np
import pytest

import minigrad
from tests.viz import command
from viz.errors import Usage
from viz.programs import long_programs
from viz.programs.run_program import Program

TRAINING = """
import minigrad as torch
import random
import signal
import subprocess
import sys

torch.manual_seed(3)
net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
x = torch.randn(4, 2)
y = x.sum(1, keepdim=True)
before = x.mean() * 2
for step in range({steps}):
    noise = random.random() * torch.randn(4, 2)
    loss = torch.nn.functional.mse_loss(net(x + noise), y)
    if step == 5:
        early = loss * 2
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print("step", step)
after = net(x).mean()
"""
BACK = "ran again, silently, to record its last steps: it runs more than 20 backwards"


def recorded(folder, monkeypatch, text, name, many=long_programs.MANY):
    """Return the record of a value of a program and its notes."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(long_programs, "MANY", many)
    (folder / "train.py").write_text(text)
    random.seed(1)
    program = Program.read("train.py")
    record, _ = program.record(name, ("forward", "backward", "jvp"))
    return record, program.notes


def computed(record):
    """Return what a picture says about each operation: its text, line, numbers and derivatives."""
    values = {v["id"]: v["summary"] for v in record["values"]}
    numbers = lambda ids: [values.get(i) for i in ids if isinstance(i, int)]
    return [
        (op["phase"], op["name"], op["where"]["line"], numbers(op["inputs"]), numbers(op["outputs"]),
         [(values[edge["input"]], values[edge["gives"]]) for edge in op["edges"]],
         [values[t] for t in op["tangents"].values()])
        for op in record["ops"]
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["loss", "early", "before", "after", ""])
def test_a_part_of_a_training_run_is_recorded_as_in_the_whole(name, tmp_path, monkeypatch):
    part, notes = recorded(tmp_path, monkeypatch, TRAINING.format(steps=26), name)
    whole, none = recorded(tmp_path, monkeypatch, TRAINING.format(steps=26), name, many=1000)
    forward = lambda record: [op for op in computed(record) if op[0] in ("forward", "backward")]
    assert forward(part) == forward(whole)
    assert notes == [f"train.py {BACK}"] and not none


def test_the_picture_of_the_last_step_has_plain_names(tmp_path, monkeypatch):
    record, _ = recorded(tmp_path, monkeypatch, TRAINING.format(steps=25), "loss")
    shown = {v["id"]: v["shown"] for v in record["values"]}
    assert [shown[o] for o in record["outputs"]] == ["loss"]
    assert {"net[0].weight", "y", "x"} <= {shown[i] for op in record["ops"] for i in op["inputs"] if isinstance(i, int)}


def test_a_record_does_not_grow_with_the_number_of_steps(tmp_path, monkeypatch):
    sizes = [len(recorded(tmp_path, monkeypatch, TRAINING.format(steps=n), "loss")[0]["values"]) for n in (24, 40)]
    assert sizes[0] == sizes[1]


def test_the_command_says_it_and_prints_once(tmp_path):
    (tmp_path / "train.py").write_text(TRAINING.format(steps=25))
    done = command.minigrad(tmp_path, "render", "train.py:loss", "-o", "loss.json")
    assert done.stdout.decode().splitlines() == ["step 0", "step 10", "step 20", "wrote loss.json"]
    assert done.stderr.decode() == f"minigrad: train.py {BACK}\n"
    explained = command.minigrad(tmp_path, "explain", "train.py:loss").stdout.decode()
    assert explained.startswith("∂loss/∂net[0].weight")


def test_explain_derives_the_last_of_few_steps(tmp_path):
    (tmp_path / "train.py").write_text(TRAINING.format(steps=3))
    explained = command.minigrad(tmp_path, "explain", "train.py:loss").stdout.decode()
    assert explained.startswith("∂loss/∂net[0].weight")


def test_memory_that_changes_unseen_has_its_numbers_in_both_places(tmp_path, monkeypatch):
    text = """
import minigrad as torch

w, state = torch.tensor([1.0], requires_grad=True), torch.zeros(1)
first = w * 3 + state
for step in range(40):
    (w * 2).sum().backward()
    w.data -= 0.5
    state.numpy()[:] += 1
last = w * 3 + state
both = first + last
"""
    record, _ = recorded(tmp_path, monkeypatch, text, "both")
    found = {v["shown"]: v["summary"]["values"] for v in record["values"] if v["kind"] != "gradient"}
    assert found["first"] == [3.0] and found["last"] == [(1 - 20) * 3 + 40.0]
    products = [op for op in record["ops"] if op["phase"] == "forward" and op["name"] == "mul"]
    products = [op for op in products if op["where"]["line"] != 6]
    values = {v["id"]: v["summary"].get("values") for v in record["values"]}
    assert sorted(values[op["inputs"][0]] for op in products) == [[-19.0], [1.0]]


def test_a_value_that_is_written_unseen_keeps_the_elements_from_which_a_page_computes(tmp_path, monkeypatch):
    text = """
import minigrad as torch

w, state = torch.tensor([1.0], requires_grad=True), torch.zeros(20)
first = w * 3 + state
for step in range(40):
    (w * 2).sum().backward()
    state += 1
both = (first + state).sum()
"""
    record, _ = recorded(tmp_path, monkeypatch, text, "both")
    elements = [np.frombuffer(base64.b64decode(text), "<f4") for text in record["contents"].values()]
    assert (0.0,) * 20 in {tuple(a) for a in elements}


def test_a_program_that_runs_differently_is_recorded_as_a_whole(tmp_path, monkeypatch):
    text = """
import pathlib
import minigrad as torch

w = torch.tensor(1.0, requires_grad=True)
marker = pathlib.Path("marker")
for step in range(8 if marker.exists() else 30):
    loss = w * step
    loss.backward()
marker.touch()
"""
    record, _ = recorded(tmp_path, monkeypatch, text, "loss")
    assert [v["summary"]["values"] for v in record["values"] if v["id"] in record["outputs"]] == [7.0]


@pytest.mark.parametrize("block", ["torch.autograd.set_detect_anomaly(True)", "torch.enable_grad()"])
def test_a_loop_inside_a_mode_is_recorded(block, tmp_path, monkeypatch):
    text = TRAINING.format(steps=25)
    head, loop = text.split("for step")
    inside = f"{head}with {block}:\n" + "".join(f"    {line}\n" for line in f"for step{loop}".splitlines())
    part, _ = recorded(tmp_path, monkeypatch, inside, "loss")
    whole, _ = recorded(tmp_path, monkeypatch, inside, "loss", many=1000)
    assert computed(part) == computed(whole)


def test_the_second_run_begins_where_the_first_one_did(tmp_path, monkeypatch):
    (tmp_path / "own.py").write_text("calls = []\n")
    (tmp_path / "folder").mkdir()
    text = """
import os
import numpy
import own
import minigrad as torch

os.chdir("folder")
own.calls.append(1)
w = torch.tensor(1.0, requires_grad=True)
for step in range(30):
    loss = w * len(own.calls) + float(numpy.random.rand()) + torch.rand(())
    loss.backward()
"""
    monkeypatch.syspath_prepend(tmp_path)
    minigrad.manual_seed(0)
    part, _ = recorded(tmp_path, monkeypatch, text, "loss")
    assert [op["name"] for op in part["ops"] if op["phase"] == "forward"].count("mul") == 1
    number = [v["summary"]["values"] for v in part["values"] if v["name"] == "" and v["kind"] == "computed"]
    assert number and number[0] == 1.0  # w * 1: the module was imported anew


CHAIN = """
import minigrad as torch

x = torch.ones(3, requires_grad=True)
y = x
for i in range({rounds}):
    y = y * 1.0001
loss = y.sum()
loss.backward()
"""


def small(monkeypatch):
    """Let recordings pause after few operations."""
    monkeypatch.setattr(long_programs, "OURS", long_programs.Size(600, 100))
    for module in ("recorder", "callbacks"):
        monkeypatch.setattr(sys.modules[f"minigrad.record.{module}"], "FULL", 64)


def test_a_long_chain_is_recorded_at_its_end_with_one_operation_for_the_rest(tmp_path, monkeypatch):
    small(monkeypatch)
    record, notes = recorded(tmp_path, monkeypatch, CHAIN.format(rounds=5000), "loss")
    first, *rest = [op for op in record["ops"] if op["phase"] == "forward"]
    assert first["name"].endswith(" operations") and 50 < len(rest) < 600
    kept = int(first["name"].split()[0].replace(",", "")) + len(rest)
    assert kept == 5001
    values = {v["id"]: v for v in record["values"]}
    (x,) = [v for v in record["values"] if v["kind"] == "parameter"]
    grad = values[record["gradients"][str(x["id"])]]["summary"]["values"]
    assert grad == pytest.approx([1.0001**5000] * 3, rel=1e-3)
    assert [edge["gives"] for edge in first["edges"]] == [record["gradients"][str(x["id"])]]
    assert "last 100 operations of 5,0" in notes[0] and notes[0].endswith("what ran before is one operation")


def test_explain_of_a_long_chain_goes_on_to_the_leaf(tmp_path, monkeypatch):
    small(monkeypatch)
    (tmp_path / "train.py").write_text(CHAIN.format(rounds=3000))
    monkeypatch.chdir(tmp_path)
    rec = Program.read("train.py").recording("loss", ("forward", "backward"))
    text = str(minigrad.explain(rec))
    assert "operations that are not kept" in text and "∂loss/∂x = " in text


def test_the_recording_of_a_long_program_stays_small(tmp_path, monkeypatch):
    small(monkeypatch)
    sizes = [len(recorded(tmp_path, monkeypatch, CHAIN.format(rounds=n), "loss")[0]["ops"]) for n in (2000, 6000)]
    assert abs(sizes[0] - sizes[1]) < 200


ENDLESS = """
import minigrad as torch

x = torch.ones(3, requires_grad=True)
y = x
first = (x * x).sum()
for k in range(10**9):
    y = y * 1.0001
    if k == {stop}:
        raise KeyboardInterrupt
"""
TRAINS = """
import minigrad as torch

w = torch.ones(3, requires_grad=True)
for step in range(10**9):
    loss = (w * w).sum()
    loss.backward()
    if step == {stop}:
        raise KeyboardInterrupt
"""


@pytest.mark.parametrize(
    "text, name, stop, said, part",
    [
        (ENDLESS, "first", 50, "interrupted at line 10: the picture shows what had run until then", "interrupted"),
        (ENDLESS, "y", 5000, "the first 6", "operations, interrupted"),
        (TRAINS, "loss", 4, "the picture shows what had run until then", "interrupted"),
        (TRAINS, "loss", 99, "backward 20 of 100; what ran later is not kept", "backward 20 of 100, interrupted"),
        (TRAINS, "", 99, "backward 20 of 100; what ran later is not kept", "backward 20 of 100, interrupted"),
    ],
)
def test_the_picture_of_an_interrupted_program(text, name, stop, said, part, tmp_path, monkeypatch):
    small(monkeypatch)
    record, notes = recorded(tmp_path, monkeypatch, text.format(stop=stop), name)
    assert record["ops"] and said in notes[-1]
    assert part in record["program"]["iteration"]


def test_a_program_interrupted_before_the_value_exists_is_refused(tmp_path, monkeypatch):
    with pytest.raises(Usage, match="interrupt|has no later"):
        recorded(tmp_path, monkeypatch, ENDLESS.format(stop=9), "later")


def test_the_command_ends_at_ctrl_c_with_a_picture(tmp_path):
    program = TRAINS.format(stop=-1).replace("    loss = ", "    print(step, flush=True)\n    loss = ")
    (tmp_path / "train.py").write_text(program)
    words = [sys.executable, "-m", "viz.cli", "render", "train.py:loss", "-o", "o.svg"]
    ran = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in ran.stdout:
        if line.strip() == "30":
            ran.send_signal(signal.SIGINT)
            break
    _, said = ran.communicate()
    assert ran.returncode == 0 and "was interrupted at line" in said and (tmp_path / "o.svg").exists()
