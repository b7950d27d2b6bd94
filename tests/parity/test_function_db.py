"""PyTorch's own custom Functions, `autograd_function_db`: their source runs with `torch` being minigrad."""

import pytest

pytest.importorskip("expecttest")

from tests.parity.count import DATABASES
from tests.parity.databases import cases, judge

FUNCTIONS, CHECKS, _ = DATABASES["functions"]


@pytest.mark.parametrize("entry, check", cases("functions", FUNCTIONS, CHECKS))
def test_torchs_custom_functions_agree(entry, check):
    judge("functions", entry, check, CHECKS[check])
