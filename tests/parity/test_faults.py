"""That random programs find what is wrong: two of the faults in faults.py, of which each program run by hand tries all."""

import pytest

from . import faults
from .faults import FAULTS, MOST, ROOT, check_agreement, found_after


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_fault_is_one_line_of_the_library(fault):
    assert (ROOT / "minigrad" / fault.file).read_text(encoding="utf-8").count(fault.right) == 1


@pytest.mark.parametrize("part", ["families: minus one", "layers: under jvp a write"])
def test_a_fault_is_found(part):
    (fault,) = [fault for name, fault in FAULTS.items() if name.startswith(part)]
    assert found_after(fault) <= MOST


def test_a_program_that_differs_without_the_fault_finds_none(monkeypatch):
    monkeypatch.setattr(faults, "difference", lambda mode, program: ["it differs"])
    with pytest.raises(ValueError, match="programs-3 differs without the fault, too: it differs"):
        check_agreement(ROOT / "programs-3.json")
