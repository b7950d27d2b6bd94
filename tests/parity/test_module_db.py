"""PyTorch's own samples of modules, `module_db`, with the same parameters in both libraries."""

import pytest

pytest.importorskip("expecttest")

from tests.parity.checks_of_modules import CHECKS
from tests.parity.count import DATABASES
from tests.parity.databases import cases, judge


@pytest.mark.parametrize("entry, check", cases("modules", DATABASES["modules"][0], CHECKS))
def test_torchs_samples_of_modules_agree(entry, check):
    judge("modules", entry, check, CHECKS[check])
