"""A function or module that needs no arguments is drawn and explained without --args."""

import pytest

from viz.errors import Usage
from viz.programs.run_program import Program

PROGRAM = """
from functools import partial

import minigrad
from minigrad import nn

w = minigrad.tensor([1.0, 2.0], requires_grad=True)

def plain():
    return w * 2

def with_defaults(a=3.0, *, b=2.0):
    return w * a * b

def of_any_number(*xs, **options):
    return w * 2

class Scaled:
    def method(self):
        return w * 5

    def __call__(self):
        return w * 6

class Fixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(minigrad.ones(2))

    def forward(self):
        return self.w * 2

class Optional(Fixed):
    def forward(self, x=None):
        return super().forward()

class Starred(Fixed):
    def forward(self, *xs):
        return super().forward()

short = lambda: w * 7
part = partial(with_defaults, 4.0)
method, instance = Scaled().method, Scaled()
fixed, optional, starred = Fixed(), Optional(), Starred()

def with_one(x):
    return x * 2

def without_operations():
    return 3
"""
EXAMPLE = "example_inputs = (minigrad.ones(2),)"
NAMES = "plain with_defaults of_any_number short part method instance fixed optional starred".split()


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Run in an empty folder: a program's imports are looked up beside it."""
    monkeypatch.chdir(tmp_path)


def recorded(name, more=""):
    return Program("net.py", (PROGRAM + more).encode()).record(name, ("forward", "backward"))[0]


@pytest.mark.parametrize("name", NAMES)
def test_a_function_that_needs_no_arguments_is_called_without_any(name):
    record = recorded(name)
    (gradient,) = [g for value, g in record["gradients"].items() if record["values"][int(value)]["kind"] == "parameter"]
    assert record["values"][gradient]["shape"] == [2]


def test_example_inputs_are_for_functions_that_have_parameters():
    assert [op["call"] for op in recorded("plain", EXAMPLE)["ops"] if op["phase"] == "forward"] == ["w * 2"]
    first, *_ = recorded("with_defaults", EXAMPLE)["ops"]
    assert len(first["inputs"]) == 2  # the example is its argument


def test_a_function_that_needs_arguments_asks_for_them():
    with pytest.raises(Usage, match="with_one is a function and needs arguments. Pass --args"):
        recorded("with_one")


def test_a_function_without_operations_is_not_blamed_on_its_arguments():
    with pytest.raises(Usage, match="no graph: it runs no operation. Name one that computes with tensors"):
        recorded("without_operations")


ODD = """
import threading

import minigrad

w = minigrad.tensor([1.0, 2.0], requires_grad=True)
plain, n, loss = minigrad.ones(2), 3, (w * 2).sum()
empty = minigrad.nn.ModuleList([])
cut = minigrad.autograd.Function

class Double(cut):
    @staticmethod
    def forward(ctx, x):
        return x * 2

applied = Double.apply

async def later():
    return w * 2

def stream():
    yield w * 2

def named(*, k):
    return w * k

def small():
    return w * 3
"""


@pytest.mark.parametrize(
    "name, words",
    [
        ("later", "is a coroutine function: a call computes nothing yet. Name a function that awaits it"),
        ("stream", "is a generator function: a call computes nothing yet. Name a function that runs it"),
        ("named", "takes k by keyword only. --args passes arguments by position"),
        ("applied", "is a function and needs arguments. Pass --args"),
        ("w", "it is a leaf, at which graphs begin. Name the result of an operation"),
        ("n", "is of type int, neither a tensor nor a function. Choose from: loss, small."),
        ("plain", "Choose from: loss, small."),
    ],
)
def test_a_name_that_cannot_be_drawn_is_told_why_and_the_choices_can_be(name, words, tmp_path):
    file = tmp_path / "odd.py"
    file.write_text(ODD)
    with pytest.raises(Usage) as told:
        Program.read(str(file)).record(name, ("forward",))
    assert words in str(told.value)


@pytest.mark.parametrize("name", ["loss", "small"])
def test_each_choice_is_accepted(name, tmp_path):
    file = tmp_path / "odd.py"
    file.write_text(ODD)
    assert Program.read(str(file)).record(name, ("forward",))[0]["ops"]
