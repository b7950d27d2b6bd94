"""The tests that conftest.py marks are there."""

import re

from conftest import NIGHTLY, SLOW
from tests.forked import ROOT


def test_each_pattern_names_a_test_of_its_file():
    for file, pattern in [*SLOW.items(), *NIGHTLY.items()]:
        names = re.findall(r"^def (test_\w+)", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
        for function in re.split(r"\|(?=test_)", pattern.partition(r"\[")[0]):
            assert any(re.match(function, name) for name in names), f"{file} has no test {function}"
