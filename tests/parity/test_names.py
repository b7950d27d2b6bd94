"""The tables of names that `as_torch` reads speak of names that PyTorch has."""

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from minigrad.compat.torch_modules import ELSEWHERE
from minigrad.diagnose.missing_names import ROWS

FOLDER = Path(torch.__file__).parent


def is_module(path):
    """Return whether PyTorch has a module of this name; importing it may need other packages."""
    place = FOLDER.joinpath(*path.split("."))
    return place.is_dir() or place.with_suffix(".py").is_file()


def is_attribute(path):
    """Return whether a dotted path leads from torch to something; torch.optim drops the names of its modules."""
    found, name = torch, "torch"
    for part in filter(None, path.split(".")):
        name += f".{part}"
        if (found := getattr(found, part, sys.modules.get(name))) is None and find_spec(name) is not None:
            found = import_module(name)
    return found is not None


@pytest.mark.parametrize("name", ROWS)
def test_what_is_told_to_be_missing_is_there_in_pytorch(name):
    assert is_module(name) or is_attribute(name)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_modules_that_stand_for_pytorchs_are_there(name):
    assert is_module(name) or is_attribute(name)


def test_classes_name_the_modules_of_pytorchs_classes():
    """The module of each public class, while programs import minigrad as torch, defines the class of that name."""
    import minigrad
    from minigrad.compat.class_names import HOMES

    theirs = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "torch"}
    with minigrad.as_torch() as ours:
        for part in ("distributions", "utils.data", "nn.parallel"):
            import_module(f"torch.{part}")
        assert ours.distributions
        named = [(cls.__module__, cls.__name__) for cls in HOMES]
    wrong = [pair for pair in named if getattr(getattr(theirs[pair[0]], pair[1], None), "__module__", None) != pair[0]]
    assert len(named) > 200
    assert not wrong
