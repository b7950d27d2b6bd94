"""Notebooks: what shows itself, and the magic that records a cell."""

import pytest

import minigrad
import viz

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
    assert "h=" in done.result.text().replace(" ", "") and "w  parameter" in done.result.text()


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
    assert "w.sub_" in traced(shell, step, "loss --show all,update").text()
    assert "w.sub_" not in traced(shell, step, "loss").text()
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
