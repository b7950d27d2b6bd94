"""A function or module that needs no arguments is drawn and explained without --args."""

import pytest

from viz.errors import Usage
from viz.run_program import Program

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
