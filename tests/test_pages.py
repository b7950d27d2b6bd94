"""The pages are true: their programs and commands run, print the texts on the page, and draw its pictures."""

import doctest
import re
from pathlib import Path

import pytest

from docs.build import programs

ROOT = Path(__file__).parent.parent
RUN = [p for p in programs.PAGES if programs.BLOCK.search(p.read_text())]
LONG = "port nan paper function cuda-matmul cuda-threads vmap files distributed".split()  # they run several commands
EACH = [pytest.param(p, marks=[pytest.mark.slow] * (p.stem in LONG), id=p.stem) for p in RUN]
SAME = doctest.OutputChecker().check_output
SAID = re.compile(r'id="[^"]+"|>[^<]+<')  # what a picture shows; where it lies depends on the fonts


def session(page):
    """Return the program of a page, with the files on the page that it imports."""
    blocks = programs.BLOCK.findall(page.read_text())
    program = "".join(text for _, title, text in blocks if not title)
    imported = [
        text for _, title, text in blocks if title and re.search(rf"^import {Path(title).stem}\b", program, re.M)
    ]
    return program + "".join(imported)


@pytest.mark.parametrize("page", EACH)
def test_a_page_runs_and_writes_what_it_says(page, tmp_path):
    if missing := programs.missing(session(page)):
        pytest.skip(f"it needs {missing}")
    for written in programs.run(page, tmp_path):
        assert SAME(written.promised, written.text, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE), (
            f"{written.by}\nwrites\n{written.text}"
        )
    for name in programs.pictures(page):
        if (made := tmp_path / name).exists():
            committed = (ROOT / "docs" / "pictures" / name).read_text()
            assert SAID.findall(made.read_text()) == SAID.findall(committed), f"{name}: run `make pictures`"


def test_every_picture_on_a_page_is_there():
    missing = [n for p in programs.PAGES for n in programs.pictures(p) if not (ROOT / "docs" / "pictures" / n).exists()]
    assert not missing
