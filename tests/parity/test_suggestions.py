"""Suggestions for PyTorch's names that minigrad lacks name only what PyTorch has."""

import importlib
import re

import pytest
import torch

import minigrad
from minigrad.diagnose.missing_names import MODULES, TABLE, names_in, replacement, row_of


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


@pytest.mark.parametrize("path", ["", "Tensor", *sorted(MODULES - {"version", "return_types"})])  # named tuples
def test_every_name_that_may_be_suggested_is_pytorchs(path):
    for name in MODULES:
        importlib.import_module(f"torch.{name}") if name.startswith(path) and name != "return_types" else None
    theirs = torch.Tensor if path == "Tensor" else importlib.import_module(f"torch.{path}".removesuffix("."))
    assert [name for name in names_in(path, "torch") if not hasattr(theirs, name)] == []


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.names[0])
def test_names_with_torch_in_the_table_are_pytorchs(row):
    for found in re.findall(r"\btorch((?:\.\w+)+)", row.instead):
        value = torch
        for part in found.split(".")[1:]:
            value = getattr(value, part)
