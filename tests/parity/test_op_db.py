"""PyTorch's own samples of operations, `op_db`, in both libraries; what is left out stands in left_out.py."""

import pytest

pytest.importorskip("expecttest")

from tests.parity.checks_of_operations import CHECKS
from tests.parity.count import DATABASES, PAGE, document, in_page
from tests.parity.databases import cases, counts, judge, left_out, name_of

OPERATIONS = DATABASES["operations"][0]


@pytest.mark.parametrize("entry, check", cases("operations", OPERATIONS, CHECKS))
def test_torchs_samples_of_operations_agree(entry, check):
    judge("operations", entry, check, CHECKS[check])


def test_every_entry_that_minigrad_has_is_compared():
    """A new entry, here or in PyTorch, is counted by `python -m tests.parity.count`."""
    for database, (entries, _, _) in DATABASES.items():
        here = {name_of(e) for e in entries}
        known = {*counts()[database], *(name for name, _ in left_out() if name in here)}
        nothing = here - known  # entries without a sample that could be compared
        assert known <= here and len(nothing) <= 4, (sorted(known - here), sorted(nothing))


def test_what_is_left_out_is_there_to_be_left_out():
    offered = {(name_of(e), check) for entries, checks, _ in DATABASES.values() for e in entries for check in checks}
    assert set(left_out()) <= offered


def test_the_documentation_says_what_is_compared():
    page = PAGE.read_text(encoding="utf-8")
    assert page == in_page(page, document(counts())), "run python -m tests.parity.count"
    assert "<!-- databases -->" in page
