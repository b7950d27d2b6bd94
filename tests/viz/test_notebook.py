"""Notebooks: what shows itself, and the magic that records a cell."""

import base64
import gzip
import json
import re

import pytest

import minigrad
import viz
from viz import notebook
from viz.viewer import shared

pytest.importorskip("IPython")
from IPython.core.interactiveshell import InteractiveShell  # noqa: E402


@pytest.fixture
def shell():
    shell = InteractiveShell()
    shell.run_line_magic("load_ext", "minigrad")
    shell.user_ns.update(torch=minigrad, w=minigrad.tensor(0.5, requires_grad=True))
    yield shell
    InteractiveShell.clear_instance()


def traced(shell, cell, name=""):
    return viz.notebook.trace(shell, name, cell)


def test_the_magic_draws_the_three_passes_of_the_last_line(shell):
    done = shell.run_cell("%%trace\nh = (w * 2).tanh()\nh * w")
    assert done.success and done.result.passes == ("forward", "backward", "jvp")
    assert "h=" in done.result.text().replace(" ", "") and "w  leaf" in done.result.text()


def test_lines_of_a_cell_are_shown_as_those_of_the_cell(shell):
    text = traced(shell, "h = w * 2\nh * h").text()
    assert "h = w * 2" in text and "In[1]:1" in text and "ipython" not in text


def test_without_a_last_expression_the_last_assignment_is_drawn(shell):
    assert "output" in traced(shell, "a = w * 2\nloss = a * a\nprint").text()
    assert traced(shell, "a = w * 2\nloss = a * a").graph.operations == 2


def test_a_name_says_what_is_drawn(shell):
    assert traced(shell, "a = w * 2\nb = a * a", "a").graph.operations == 1


def test_what_the_cell_defines_stays(shell):
    traced(shell, "kept = w * 2")
    assert shell.user_ns["kept"].item() == 1.0


def test_the_cells_own_backward_is_kept(shell):
    text = traced(shell, "loss = w * 3\nloss.backward(torch.tensor(10.0))").text()
    assert "grad = 30" in text and shell.user_ns["w"].grad.item() == 30.0


def test_the_line_of_the_magic_says_what_is_shown(shell, capsys):
    step = "loss = w * 3\nloss.backward()\nwith torch.no_grad():\n    w -= 0.1 * w.grad"
    assert "w = 0.2   before: 0.5" in " ".join(traced(shell, step, "loss --show all,update").text().splitlines())
    assert "before" not in traced(shell, step, "loss").text()
    text = traced(shell, "w * 3", "--show=lines").text()
    assert "In[1]:1" in text and "float32" not in text
    assert traced(shell, "w * 3", "--show lins") is None and traced(shell, "w * 3", "loss w") is None
    said = capsys.readouterr().out.splitlines()
    assert "Did you mean lines?" in said[-2] and said[-1].endswith("%%trace loss --show all,update")


def test_a_cell_without_tensors_says_what_to_do(shell, capsys):
    assert traced(shell, "1 + 1") is None
    assert "%%trace NAME" in capsys.readouterr().out


def test_an_error_in_the_cell_is_the_cells(shell):
    assert isinstance(shell.run_cell("%%trace\n1 / 0").error_in_exec, ZeroDivisionError)


def test_a_node_and_a_record_show_themselves():
    w = minigrad.tensor(2.0, requires_grad=True)
    bundle = (w * w).grad_fn._repr_mimebundle_()
    assert bundle["image/svg+xml"].startswith("<svg") and "MulBackward" in bundle["text/plain"]
    bundle = minigrad.record(lambda x: x * x, w)._repr_mimebundle_()
    assert bundle["text/plain"].count("■") and "backward" in bundle["text/plain"]


def test_a_notebook_gives_cells_minigrad_where_they_import_torch(shell, capsys):
    shell.run_line_magic("minigrad", "as_torch")
    try:
        assert shell.run_cell("import torch.nn as theirs\nversion = __import__('torch').__version__").success
        assert shell.user_ns["theirs"].Linear is minigrad.nn.Linear and shell.user_ns["version"] == "2.13.0+minigrad"
        assert "linear" in traced(shell, "import torch as t\nt.nn.Linear(2, 1)(t.ones(1, 2)).sum()").text()
    finally:
        shell.run_line_magic("minigrad", "as_torch off")
    assert repr(minigrad.float32) == "minigrad.float32"
    shell.run_line_magic("minigrad", "as_jax")
    assert "as_jax: unknown. Write %minigrad as_torch" in capsys.readouterr().out


def test_a_traced_cell_leaves_graph_gradients_hooks_and_random_numbers_as_they_are(shell):
    seed = "_ = torch.manual_seed(0)"
    setup = f"calls = []\nhandle = w.register_hook(calls.append)\n{seed}\nexpected = torch.rand(2)\n{seed}"
    cell = """%%trace
class Noisy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, g):
        return 2 * g * ctx.saved_tensors[0] + 0 * torch.rand(1)[0]
h = w * 3
h.retain_grad()
h.register_hook(calls.append)
loss = Noisy.apply(h)"""
    assert shell.run_cell(setup).success and shell.run_cell(cell).success
    names = shell.user_ns
    assert not names["calls"] and names["w"].grad is None and names["h"].grad is None and names["h"]._version == 0
    assert minigrad.equal(minigrad.rand(2), names["expected"])
    assert shell.run_cell("loss.backward()").success
    assert names["w"].grad.item() == 9.0 and names["h"].grad.item() == 3.0 and len(names["calls"]) == 2
    again = shell.run_cell("loss.backward()").error_in_exec
    assert "freed by the first backward at In[" in str(again) and "viz" not in str(again)


def test_a_traced_cell_does_not_free_the_graph_of_an_earlier_cell(shell):
    assert shell.run_cell("h = (w * 2).exp()").success and shell.run_cell("%%trace\nloss = h * h").success
    assert shell.run_cell("loss.backward()\nloss").success and shell.user_ns["w"].grad is not None


def test_a_traced_cell_shows_the_inside_of_a_backward(shell):
    cell = "class F(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x): return x * 2\n    @staticmethod\n"
    record = traced(shell, cell + "    def backward(ctx, g): return g.neg().neg() * 2\nF.apply(w)").record
    (inside,) = [op["inside"] for op in record["ops"] if op["function"] == "F" and op["phase"] == "forward"]
    assert {method["method"] for method in inside} >= {"forward", "backward"}


def test_lines_are_those_of_the_running_cell(shell):
    shell.run_cell("1", store_history=True)
    text = shell.run_cell("%%trace\n%time h = 1\nw * 2", store_history=True).result.text()
    assert "In[2]:2  w * 2" in text


def test_the_reason_for_a_missing_pass_is_below_the_picture():
    w = minigrad.tensor([1.0, 2.0], requires_grad=True)
    loss = (w * w).sum()
    loss.backward()
    line = "The backward pass is left out: the program's own backward has freed the saved tensors; call backward("
    bundle = loss._repr_mimebundle_()
    assert bundle["text/plain"].startswith("tensor(5., grad_fn=<SumBackward0>)\n" + line)
    assert line in bundle["image/svg+xml"] and line.replace("'", "&#x27;") in bundle["text/html"]
    assert "2 operations" in bundle["image/svg+xml"] and 'class="l-edge-backward"' not in bundle["image/svg+xml"]


def test_the_display_says_that_hooks_were_not_called():
    w = minigrad.tensor(2.0, requires_grad=True)
    w.register_hook(lambda g: g * 100)
    bundle = (w * w)._repr_mimebundle_()
    assert bundle["text/plain"].endswith(
        "the program's hooks are not called here, so these are the gradients without them."
    )
    assert "grad = 400" not in bundle["image/svg+xml"]


def test_a_display_whose_drawing_raises_says_so(monkeypatch):
    from viz import notebook

    def failing(what):
        raise OSError("no fonts")

    monkeypatch.setattr(notebook, "drawn_graph", failing)
    w = minigrad.tensor(2.0, requires_grad=True)
    assert "There is no picture, because drawing raises OSError: no fonts" in (w * w)._repr_mimebundle_()["text/plain"]


def live_part(shown):
    """Return the part of a viewer's data from which it computes, or the reason why it does not."""
    text = re.search('data-record="(.*?)"', shown["text/html"])[1]
    return json.loads(gzip.decompress(base64.b64decode(text)))["live"]


@pytest.mark.parametrize(("size", "computes"), [(20, True), (64, False)])
def test_a_display_can_be_changed_if_there_is_room(monkeypatch, size, computes):
    monkeypatch.setattr(shared, "running_cell", lambda: ("cell", 2))
    monkeypatch.setattr(shared, "carried", [("other cell", 1)])
    w = minigrad.rand(size, size, requires_grad=True)
    shown = notebook.mimebundle((w * w).sum())
    assert isinstance(live_part(shown), dict) is computes
    assert sum(map(len, shown.values())) <= notebook.MOST
