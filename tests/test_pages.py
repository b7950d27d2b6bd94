"""The programs on the pages run as they stand, and print what the comment behind each print says."""

import contextlib
import io
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NEEDS_TORCH = re.compile(r"^import torch$", re.MULTILINE)
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PROMISED = re.compile(r"print\(.*\)  # (.*)")


@pytest.mark.parametrize("page", [p for p in PAGES if BLOCK.search(p.read_text())], ids=lambda p: p.name)
def test_programs_of_a_page_print_what_they_promise(page):
    if NEEDS_TORCH.search(page.read_text()):
        pytest.importorskip("torch")
    scope = {"__name__": "page"}
    for program in BLOCK.findall(page.read_text()):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(program, page.name, "exec"), scope)
        promised = PROMISED.findall(program)
        if promised:
            assert [" ".join(line.split()) for line in printed.getvalue().splitlines()] == [
                " ".join(p.split()) for p in promised
            ]
