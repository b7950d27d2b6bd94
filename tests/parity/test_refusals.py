"""minigrad raises errors of PyTorch's types, so that `except` clauses written for PyTorch go on working."""

import pytest
import torch

from tests import refusals
from tests.ops.test_errors import TABLES
from tests.ops.test_errors_memory import NOT_IN_PYTORCH

CASES = [
    (case[0], getattr(table, "lend", None)) for table in TABLES for case in table.CASES if case[0] not in NOT_IN_PYTORCH
]


@pytest.mark.parametrize("text, lend", CASES, ids=[text for text, _ in CASES])
def test_the_error_is_of_pytorchs_type(text, lend):
    refusals.check_type(torch, text, lend)
