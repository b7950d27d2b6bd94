"""Reports name the line that made a tensor, if the program's text leaves no doubt about it."""

import pytest

import minigrad as torch

from .marks import run_text

START = "import minigrad as torch\n"


def notes_of(program: str) -> list[str]:
    """Return the lines that a failing program's error says something was made at."""
    with pytest.raises(torch.MinigradError) as raised:
        run_text(START + program, "<program>", {})
    notes = [line for note in raised.value.notes for line in note.split("\n") if "made" in line]
    return [line.partition("<program>:")[2].partition(": ")[2] for line in notes if "<program>" in line]


@pytest.mark.parametrize(
    "program, made",
    [
        ("x = torch.ones(3)\ny = torch.ones(4)\nx + y", ["x = torch.ones(3)", "y = torch.ones(4)"]),
        ("w = torch.ones(3, requires_grad=True)\nh = w * 2\nh + torch.ones(4)", ["h = w * 2"]),
        ("x = torch.ones(3)\ndef f(a):\n    return a + torch.ones(4)\nf(x)", ["x = torch.ones(3)"]),
        ("def f():\n    x = torch.ones(3)\n    return x + torch.ones(4)\nf()", ["x = torch.ones(3)"]),
        ("x = torch.ones(4)\nx = torch.ones(3)\nx + torch.ones(4)", ["x = torch.ones(3)"]),
        ("w = torch.ones(3, requires_grad=True)\nloss = w * 2\nloss.backward()", ["loss = w * 2"]),
        ("rows = torch.zeros(2).expand(3, 2)\nrows += 1", ["rows = torch.zeros(2).expand(3, 2)"]),
        ("x = torch.ones(3)\ntorch.autograd.grad(x.sum(), x)", ["x = torch.ones(3)"]),
    ],
)
def test_a_report_names_the_line_that_made_the_tensor(program, made):
    assert notes_of(program) == made


@pytest.mark.parametrize(
    "program",
    [
        "torch.ones(3) + torch.ones(4)",  # has no name
        "if torch.ones(()) > 0:\n    x = torch.ones(3)\nelse:\n    x = torch.ones(2)\nx + torch.ones(4)",
        "for n in (4, 3):\n    if n == 3:\n        x + torch.ones(4)\n    x = torch.ones(n - 1)\n    x = torch.ones(3)",
        "for x in torch.ones(2, 3):\n    x + torch.ones(4)",
        "x = [torch.ones(3)]\nx[0] + torch.ones(4)",
        "def f(x):\n    return x + torch.ones(4)\nf(torch.ones(3))",
        "globals()['x'] = torch.ones(3)\nx + torch.ones(4)",
        "x = torch.ones(4)\n(x := torch.ones(3)) + torch.ones(4)",
        "x = torch.ones(4)\ndef f():\n    global x\n    x = torch.ones(3)\nf()\nx + torch.ones(4)",
    ],
)
def test_a_report_names_no_line_where_it_is_not_certain(program):
    assert notes_of(program) == []


def test_another_name_for_a_tensor_does_not_make_it():
    assert notes_of("x = torch.ones(3)\ny = x\ny + torch.ones(4)") == ["x = torch.ones(3)"]
    assert notes_of("x = y = torch.ones(3)\ny + torch.ones(4)") == ["x = y = torch.ones(3)"]
