"""The table of operations that the documentation shows."""

import functools

import pytest

import minigrad
from minigrad.ops.base.registry import TABLE
from minigrad.testing import operations
from minigrad.testing.operations import operations_table, path
from minigrad.testing.operations import row as row_of


@functools.cache
def row(name):
    """Return the row of an operation, which is made by a recording."""
    return row_of(TABLE[name])


@pytest.mark.parametrize("name", TABLE)
def test_an_operation_is_here_and_in_pytorch_under_the_name_that_the_table_says(name):
    functools.reduce(getattr, path(TABLE[name]).split("."), minigrad)
    torch = pytest.importorskip("torch")
    functools.reduce(getattr, path(TABLE[name]).split("."), torch)


def test_a_row_has_forms_formula_derivative_and_an_example():
    assert row("sin") == (
        "| `sin` | `.sin()`, `.sin_()`, `out=` | Sine of x in radians. | "
        r"`sin(x)`<br>\(\bar{x} = \bar{y} \odot \cos\left(x\right)\) | `sin(T(3, 4))` → `(3, 4)` |"
    )


def test_a_row_says_in_what_an_operation_differs():
    assert "*Not as in PyTorch:* the contents of uninitialized memory" in row("empty")
    assert "Not as in PyTorch" not in row("sum")


def test_the_example_of_a_method_is_a_call_of_the_method():
    assert row("view").endswith("`T(2, 6).view((3, 4))` → `(3, 4)` |")


def test_what_is_made_of_other_operations_has_formulas_like_all():
    assert r"`hstack((x1, x2))`<br>\(\bar{x_{1}} = {\bar{y}}_{[{:}, 0{:}3]}\)" in row("hstack")


# positive gives its input itself, so that nothing is differentiated
@pytest.mark.parametrize("name", [n for n, entry in TABLE.items() if entry.differentiable and n != "positive"])
def test_each_operation_with_a_derivative_has_a_formula(name):
    assert r"\bar{" in row(name)


def test_a_long_formula_has_named_parts():
    assert r"\(\quad p = \sqrt{\operatorname{var}_{1}\left(x\right) + 10^{-5}}\)" in row("layer_norm")


def test_every_row_has_five_cells():
    for name in TABLE:
        assert row(name).replace("\\|", "").count("|") == 6, row(name)


def test_second_names_share_a_row(monkeypatch):
    monkeypatch.setattr(operations, "row", lambda entry: row(entry.name))
    assert row("mul").startswith("| `mul`, `multiply` |")
    assert operations_table().count("`multiply`") == 1
