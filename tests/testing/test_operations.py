"""The table of operations that the documentation shows."""

import functools

import pytest

import minigrad
from minigrad.ops.base.registry import TABLE
from minigrad.testing.operations import operations_table, path, row


@pytest.mark.parametrize("name", TABLE)
def test_an_operation_is_here_and_in_pytorch_under_the_name_that_the_table_says(name):
    functools.reduce(getattr, path(TABLE[name]).split("."), minigrad)
    torch = pytest.importorskip("torch")
    functools.reduce(getattr, path(TABLE[name]).split("."), torch)


def test_a_row_has_forms_formula_derivative_and_an_example():
    assert row(TABLE["sin"]) == (
        "| `sin` | `.sin()`, `.sin_()`, `out=` | `sin(x)` | `x: cos(x)` | `sin(T(3, 4))` → `(3, 4)` |"
    )


def test_a_row_says_in_what_an_operation_differs():
    assert "*Not as in PyTorch:* the numbers that a seed gives" in row(TABLE["rand"])
    assert "Not as in PyTorch" not in row(TABLE["sum"])


def test_the_example_of_a_method_is_a_call_of_the_method():
    assert row(TABLE["view"]).endswith("`T(2, 6).view((3, 4))` → `(3, 4)` |")


def test_what_is_made_of_other_operations_says_so():
    assert "| by its parts |" in row(TABLE["hstack"])


def test_every_row_has_five_cells():
    for entry in TABLE.values():
        assert row(entry).replace("\\|", "").count("|") == 6, row(entry)


def test_second_names_share_a_row():
    assert row(TABLE["mul"]).startswith("| `mul`, `multiply` |")
    assert operations_table().count("`multiply`") == 1
