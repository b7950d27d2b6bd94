"""The times of operations in a record, pass by pass, and cards coloured by them."""

import time

import pytest

import minigrad
import viz
from minigrad.autograd import Function
from minigrad.record.validate import NotARecord, validate
from tests.viz.command import minigrad as command
from tests.viz.test_colouring import shades

LONG = 0.2  # seconds


class Slow(Function):
    """x * 2, slow in one of its methods."""

    sleeper = ""

    @staticmethod
    def forward(ctx, x):
        time.sleep(LONG * (Slow.sleeper == "forward"))
        return x * 2

    @staticmethod
    def backward(ctx, g):
        time.sleep(LONG * (Slow.sleeper == "backward"))
        return g * 2

    @staticmethod
    def jvp(ctx, t):
        time.sleep(LONG * (Slow.sleeper == "jvp"))
        return t * 2


def program(x):
    y = Slow.apply(x).tanh() + 1.0
    y.mul_(3.0)
    return y.sum()


program(minigrad.ones(3, requires_grad=True)).backward()  # loads kernels, which takes time


def by_pass(f=program, **settings):
    """Return the seconds of each operation by its name, pass by pass."""
    record = minigrad.record(f, minigrad.ones(3), times=True, **settings).to_dict()
    validate(record)
    found = {}
    for op in record["ops"]:
        found.setdefault(op["phase"], {})[op["name"]] = record["times"][str(op["id"])]
    return found


@pytest.mark.parametrize("sleeper", ["forward", "backward", "jvp"])
@pytest.mark.parametrize("inside", [False, True])
def test_the_time_of_a_function_is_in_the_pass_that_takes_it(monkeypatch, sleeper, inside):
    monkeypatch.setattr(Slow, "sleeper", sleeper)
    found = by_pass(inside=inside)
    assert {name: time["Slow"] >= LONG for name, time in found.items()} == {
        name: name == sleeper for name in ("forward", "backward", "jvp")
    }


def test_every_operation_of_every_pass_has_a_time():
    found = by_pass()
    assert {name: sorted(times) for name, times in found.items()} == dict.fromkeys(
        ("forward", "backward", "jvp"), ["Slow", "add", "mul", "sum", "tanh"]
    )
    assert all(0 < seconds < 10 for times in found.values() for seconds in times.values())


def test_a_backward_that_is_differentiated_again_has_times():
    def second(x):
        (g,) = minigrad.autograd.grad((x**3).sum(), x, create_graph=True)
        return g.sum()

    x = minigrad.ones(3, requires_grad=True)
    record = minigrad.record(second, x, passes=("forward", "backward"), times=True).to_dict()
    assert sorted(record["times"], key=int) == [str(op["id"]) for op in record["ops"]]


def test_usual_recordings_have_no_times_and_the_same_operations():
    x = minigrad.ones(3)
    usual, timed = (minigrad.record(program, x, times=times).to_dict() for times in (False, True))
    assert usual["times"] == {} and {**timed, "times": {}} == usual


def test_cards_have_the_colour_of_their_time_in_the_pass(monkeypatch):
    monkeypatch.setattr(Slow, "sleeper", "backward")
    monkeypatch.setitem(globals(), "LONG", 0.5)
    made = viz.draw(program, minigrad.ones(3), passes="all", color="time")
    pages = {name: shades(viz.Drawing(made.record, (name,), view=made.view).svg()) for name in ("forward", "backward")}
    assert pages["backward"]["op-0"] == "5" and pages["forward"]["op-0"] < "5"
    assert "time in each pass: " in made.svg()


def test_a_record_without_times_cannot_be_coloured_by_them():
    with pytest.raises(ValueError, match="the record has no times. Pass a function"):
        viz.draw(minigrad.record(program, minigrad.ones(3)), color="time")


def test_damaged_times_are_refused():
    record = minigrad.record(program, minigrad.ones(3), times=True).to_dict()
    for times, said in (({"x": 1.0}, "times: 'x' is not an operation"), ({"0": "long"}, "times.0: 'long' is not")):
        with pytest.raises(NotARecord, match=said):
            validate({**record, "times": times})


def test_the_command_colours_by_time_and_boxes_have_the_time_of_their_operations(tmp_path):
    file = tmp_path / "loop.py"
    file.write_text(
        "import minigrad\nx = y = minigrad.ones(3, requires_grad=True)\nfor i in range(6):\n    y = y.tanh() * 2\nz = y.sum()\n"
    )
    ran = command(tmp_path, "render", "loop.py:z", "--color", "time", "--max-nodes", "4", "-o", "z.svg")
    assert ran.returncode == 0 and "time in each pass" in (tmp_path / "z.svg").read_text()
    refused = command(tmp_path, "render", "loop.py:z", "--color", "time", "--ranks", "-n", "2")
    assert refused.returncode == 2 and b"--timeline draws the times" in refused.stderr
