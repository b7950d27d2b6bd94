"""Programs written for PyTorch run unchanged, and their losses are those of PyTorch in curves.json."""

import ast
import warnings

import pytest

from minigrad.compat.port import needs
from minigrad.errors import MinigradWarning
from tests.floats import some

from . import SCRIPTS, assert_same, curve, kept, output, page

every_program = pytest.mark.parametrize("name", SCRIPTS)


@pytest.mark.parametrize("name", some(SCRIPTS, 11))  # each trains for seconds
def test_losses_are_pytorchs_and_nothing_is_warned_of(name):
    with warnings.catch_warnings(action="error", category=MinigradWarning):
        found = curve(output(name, "minigrad"))
    assert_same(found, kept()[name]["torch"], name)


@every_program
def test_nothing_that_a_program_names_is_missing(name):
    assert not needs(ast.parse(SCRIPTS[name].read_text()))


def test_a_curve_that_differs_is_reported_with_its_step():
    found = {"steps": [1, 2], "losses": [1.0, 0.5]}
    assert_same(found, {"steps": [1, 2], "losses": [1.000005, 0.5003]}, "")
    with pytest.raises(AssertionError, match="step 1: the loss is 1.0, not 1.0001"):
        assert_same(found, {"steps": [1, 2], "losses": [1.0001, 0.5]}, "")
    with pytest.raises(AssertionError, match="step 2"):
        assert_same(found, {"steps": [1, 2], "losses": [1.0, 0.6]}, "")
    with pytest.raises(AssertionError, match="other steps"):
        assert_same(found, {"steps": [1], "losses": [1.0]}, "")


def test_the_page_and_the_curves_are_those_of_the_programs():
    assert sorted(kept()) == sorted(SCRIPTS), "run python -m tests.programs"
    assert page.PAGE.read_text() == page.text(), "run python -m tests.programs"


def test_programs_are_as_long_as_a_reader_reads():
    lengths = {name: len(path.read_text().splitlines()) for name, path in SCRIPTS.items()}
    assert {name: n for name, n in lengths.items() if not 30 <= n <= 130} == {}
