"""The tests that conftest.py marks as slow are there."""

import re

from conftest import SLOW
from tests.forked import ROOT


def test_each_pattern_names_a_test_of_its_file():
    for file, pattern in SLOW.items():
        function = pattern.partition(r"\[")[0]
        names = re.findall(r"^def (test_\w+)", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
        assert any(re.match(function, name) for name in names), f"{file} has no test {function}"
