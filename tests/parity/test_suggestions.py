"""Suggestions for PyTorch's names that minigrad lacks name only what PyTorch has."""

import importlib

import pytest
import torch

import minigrad
from minigrad.diagnose.missing_names import MODULES, replacement, row_of


@pytest.mark.parametrize("path", ["", "Tensor", *sorted(MODULES - {"version"})])
def test_a_suggestion_for_a_missing_name_exists_in_both(path):
    theirs = torch.Tensor if path == "Tensor" else importlib.import_module(f"torch.{path}".removesuffix("."))
    ours = minigrad
    for part in filter(None, path.split(".")):
        ours = getattr(ours, part, None)
    for name in [n for n in dir(theirs) if not n.startswith("_") and not hasattr(ours, n)]:
        full = f"torch.{path}.{name}".replace("..", ".")
        fix = replacement(full)[1]
        if row_of(full.removeprefix("torch.")) is None and fix.startswith("use "):
            for found in fix.removeprefix("use ").split(" or "):
                for library in (torch, minigrad):
                    value = library.Tensor if found.startswith("x.") else library
                    for part in found.split(".")[1:]:
                        value = getattr(value, part)
