"""The reasons for a missing pass or graph, and operations that ran where no recording sees them: each sentence is true."""

import pytest

from viz.errors import Usage
from viz.programs.run_program import Program
from viz.view import passes_of

START = """
import threading
from concurrent.futures import ThreadPoolExecutor
import LIBRARY as torch

class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2

x = torch.tensor([1.0, 2.0], requires_grad=True)
made = []

def threaded(work):
    thread = threading.Thread(target=lambda: made.append(work()))
    thread.start()
    thread.join()
    return made[-1]

"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Run in an empty folder: a program's imports are looked up beside it."""
    monkeypatch.chdir(tmp_path)


def recorded(lines, library="minigrad"):
    pytest.importorskip(library)
    return Program("net.py", (START.replace("LIBRARY", library) + lines).encode()).record(
        "y", ("forward", "backward", "jvp")
    )


def missing(lines, library="minigrad"):
    return passes_of(*recorded(lines, library))[1]


REASONS = {
    "y = torch.ones(2) * 2": {"backward": "nothing in it requires grad", "jvp": "nothing in it requires grad"},
    "y = Double.apply(x)": {"jvp": "Double has no jvp"},
    "y = Double.apply(x).sum() + x.sum()": {"jvp": "Double has no jvp"},
    "z = Double.apply(x)\ny = x * 2": {},
    "with torch.no_grad():\n    y = x * 2": {"backward": "no gradient passes from x to it"},
}


@pytest.mark.parametrize("library", ["minigrad", "torch"])
@pytest.mark.parametrize("lines", REASONS)
def test_the_reason_for_a_missing_pass_is_the_true_one(lines, library):
    assert missing(lines, library) == REASONS[lines]


def test_a_freed_graph_is_the_reason_for_a_missing_backward():
    assert "has freed the saved tensors" in missing("h = x * x\nh.sum().backward()\ny = h * 2")["backward"]


def test_an_operation_of_pytorch_without_a_forward_mode_is_the_reason_for_a_missing_jvp_pass():
    lines = "y = torch.nn.LSTM(2, 3)(torch.ones(4, 1, 2))[0].sum()"
    assert missing(lines, "torch") == {"jvp": "lstm has no forward mode in PyTorch"}
    assert missing(lines) == {}


# ---------------------------------------------------------------------- not seen
THREADS = {
    "y = threaded(lambda: x * 2)": ["mul"],
    "y = threaded(lambda: x * 2).exp()": ["mul", "exp"],
    "h = x * 3\ny = threaded(lambda: h * x).sum()": ["mul", "mul", "sum"],
    "y = threaded(lambda: torch.tensor([1.0, 2.0], requires_grad=True) * 2)": ["mul"],
    "with ThreadPoolExecutor() as pool:\n    y = pool.submit(lambda: x * 2).result().sum()\ny.backward()": [
        "mul",
        "sum",
    ],
}


@pytest.mark.parametrize("lines", THREADS)
def test_operations_of_other_threads_are_drawn_from_the_graph(lines):
    record, notes = recorded(lines)
    assert [op["name"] for op in record["ops"] if op["phase"] == "forward"] == THREADS[lines]
    have, reasons = passes_of(record, notes)
    assert have == ("forward", "backward") and reasons == {"jvp": "mul ran in another thread or before the recording"}
    leaves = [value["id"] for value in record["values"] if value["kind"] == "parameter"]
    assert any(str(leaf) in record["gradients"] for leaf in leaves)


def test_other_values_that_are_not_recorded_are_blamed_on_nothing_else():
    for lines in ("y = torch.ones(2)", "with torch.no_grad():\n    y = threaded(lambda: torch.ones(2) * 2)"):
        with pytest.raises(Usage, match="y in net.py has no graph: no operation of the main thread made it"):
            recorded(lines)
    with pytest.raises(Usage, match="y in net.py has no graph: another thread made it"):
        recorded("y = threaded(lambda: x * 2)", "torch")
    assert missing("y = threaded(lambda: x * 2) * 3", "torch") == {"jvp": "no tangent passes from made[0] to it"}
