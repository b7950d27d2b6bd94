"""An attribute that is not there costs little to ask for: the message is made when somebody reads it."""

import copy
import pickle
import subprocess
import sys
import traceback
from functools import partial

import pytest

import minigrad as torch
from minigrad import errors
from minigrad.diagnose import missing_names
from minigrad.nn import module


def things():
    p = torch.nn.Parameter(torch.ones(2))
    with torch.as_torch():
        import torch as as_torch
        import torch.nn.functional as functional

        yield from [("as_torch", as_torch), ("as_torch's functional", functional)]
        yield from [("as_torch's optim", as_torch.optim), ("as_torch's distributions", as_torch.distributions)]
    yield from [("tensor", torch.ones(2)), ("parameter", p), ("linear", torch.nn.Linear(2, 2))]
    yield from [("list", torch.nn.ModuleList()), ("compiled", torch.compile(torch.nn.Linear(2, 2)))]
    yield from [("result", torch.ones(2, 2).max(0)), ("minigrad", torch), ("optim", torch.optim)]
    yield from [("init", torch.nn.init), ("utils", torch.utils), ("distributions", torch.distributions)]
    yield from [("schedules", torch.optim.lr_scheduler), ("ops", torch.compat.library.Namespace("mine"))]


THINGS = dict(things())


@pytest.fixture
def made(monkeypatch):
    """The steps of making messages that were called."""
    calls = []
    for where, name in [
        (missing_names, "replacement"),
        (missing_names, "similar"),
        (module, "similar"),
        (errors, "report"),
    ]:
        count = lambda f, *args: (calls.append(f.__name__), f(*args))[1]
        monkeypatch.setattr(where, name, partial(count, getattr(where, name)))
    return calls


@pytest.mark.parametrize("name", ["org", "reshpe", "requires_gard", "_private", "require_grad", "weigth"])
@pytest.mark.parametrize("thing", THINGS)
def test_asking_for_an_attribute_makes_no_message(thing, name, made):
    assert not hasattr(THINGS[thing], name) and getattr(THINGS[thing], name, 3) == 3
    assert made == []


@pytest.mark.parametrize("thing", THINGS)
def test_the_message_is_made_once_it_is_read(thing, made):
    with pytest.raises(AttributeError) as raised:
        THINGS[thing].reshpe  # noqa: B018
    assert made == []
    e = raised.value
    assert "reshpe" in str(e) and made
    del made[:]
    assert e.args == (str(e),) and "pytest.raises" not in str(e) and made in ([], ["report"] * made.count("report"))


READERS = {
    "str": str,
    "repr": lambda e: eval(repr(e).removeprefix("AttributeError")),
    "args": lambda e: e.args[0],
    "format": lambda e: f"{e}",
    "traceback": lambda e: "".join(traceback.format_exception_only(e)).removeprefix("minigrad.errors.AttributeError: ")[
        :-1
    ],
    "pickle": lambda e: str(pickle.loads(pickle.dumps(e))),
    "copy": lambda e: str(copy.copy(e)),
    "parts": lambda e: f"{e.operation}: {e.problem}\n  at {e.place}\n  To fix: {e.remedy}",
    "parts, the last first": lambda e: (e.remedy, f"{e.operation}: {e.problem}\n  at {e.place}\n  To fix: {e.remedy}")[
        1
    ],
}


@pytest.mark.parametrize("reader", READERS)
def test_however_it_is_read_it_says_the_same(reader):
    with pytest.raises(AttributeError) as raised:
        torch.ones(3).reshpe  # noqa: B018
    text = "minigrad.Tensor.reshpe: tensors have no attribute reshpe\n"
    text += (
        f"  at {__file__}:{raised.traceback[0].lineno + 1}: torch.ones(3).reshpe  # noqa: B018\n  To fix: use x.reshape"
    )
    assert READERS[reader](raised.value) == text
    assert isinstance(raised.value, errors.FAMILY[AttributeError])


def test_it_names_the_line_that_asked_also_when_another_line_reads_it():
    def asks():
        return torch.nn.Linear(2, 2).weigth

    try:
        asks()
    except AttributeError as e:
        caught = e
    assert "return torch.nn.Linear(2, 2).weigth" in caught.place.code
    assert caught.name == "weigth" and isinstance(caught.obj, torch.nn.Linear)
    assert "write .weight, or" in str(caught) and caught.name == "weigth"


def test_it_names_the_transforms_in_which_it_was_asked_for():
    with pytest.raises(AttributeError) as raised:
        torch.func.vmap(lambda x: x.reshpe)(torch.ones(2))
    assert "inside vmap" in str(raised.value)


def test_it_goes_by_the_name_under_which_the_file_imports_minigrad(tmp_path):
    file = tmp_path / "net.py"
    file.write_text("import minigrad as mg\n\n\ndef f():\n    mg.reshpe\n\n\nf()\n")
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, check=False)
    assert done.stderr.endswith("  To fix: use mg.reshape\n") and "reshpe" in done.stderr
    assert done.stderr.count("minigrad.errors.AttributeError") == 1 and "Did you mean" not in done.stderr


def test_it_can_be_raised_again_with_another_cause():
    with pytest.raises(ValueError, match="no such") as raised:
        try:
            torch.ones(2).reshpe  # noqa: B018
        except AttributeError as e:
            raise ValueError("no such") from e
    assert "use x.reshape" in str(raised.value.__cause__)


def test_a_property_that_fails_says_why():
    class Mine(torch.Tensor):
        @property
        def size_of_it(self):
            return self.no_such_thing

    with pytest.raises(AttributeError, match="no_such_thing"):
        Mine([1.0, 2.0]).size_of_it  # noqa: B018
