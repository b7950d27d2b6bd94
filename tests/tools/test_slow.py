"""The tests that conftest.py marks by a list are there."""

import re

from conftest import LISTED
from tests.forked import ROOT


def test_each_line_names_a_test_of_its_file():
    for file, tests in [line for by_file in LISTED.values() for line in by_file.items()]:
        names = re.findall(r"^def (test_\w+)", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
        assert not [test for test in tests if test and test.partition("[")[0] not in names], file
