"""The reading tour and the page on architecture are about the files as they are."""

import inspect
import re
import textwrap
from pathlib import Path

import pytest

from docs.build import package
from minigrad.ops.elementary import Hypot

ROOT = Path(__file__).parent.parent.parent
TOUR, ARCHITECTURE, CONTRIBUTING = (
    (ROOT / name).read_text() for name in ("docs/tour.md", "docs/architecture.md", "CONTRIBUTING.md")
)
STOP = re.compile(r"^### (\d+)\. (\S+)\n\n(\d+) lines, (\d+) minutes\.", re.MULTILINE)
STOPS = STOP.findall(TOUR)
NAMED = re.compile(r"`((?:minigrad|viz|tests|docs)/[\w./]+)`")


@pytest.mark.parametrize("file, lines", [(file, int(lines)) for _, file, lines, _ in STOPS])
def test_a_file_of_the_tour_is_about_as_long_as_it_says(file, lines):
    assert abs(len((ROOT / file).read_text().splitlines()) - lines) <= 0.15 * lines


def test_no_file_of_the_tour_imports_from_a_later_one():
    files = [file for _, file, _, _ in STOPS]
    modules = {file.removesuffix(".py").replace("/", "."): i for i, file in enumerate(files)}
    for i, file in enumerate(files):
        later = [name for name in package.modules(ROOT / file) if modules.get(name, 0) > i]
        assert not later, f"{file} imports {later}"


def test_the_engine_is_read_in_an_hour():
    (minutes, part) = re.findall(r"^## [^\n]*\((\d+) minutes\)\n(.*?)(?=^## )", TOUR, re.MULTILINE | re.DOTALL)[0]
    files = [file for _, file, _, _ in STOP.findall(part)]
    assert int(minutes) <= 60 and len(files) == 10
    assert all(file.startswith(("minigrad/core/", "minigrad/layers/")) for file in files)


def test_the_tour_takes_an_afternoon():
    parts = re.findall(r"^## [^\n]*\((\d+) minutes\)\n(.*?)(?=^## )", TOUR, re.MULTILINE | re.DOTALL)
    for told, part in parts:
        assert abs(int(told) - sum(int(minutes) for *_, minutes in STOP.findall(part))) <= 5
    assert 210 <= sum(int(minutes) for *_, minutes in STOPS) <= 270
    assert f"{len(STOPS)} files" in TOUR


def test_each_stop_has_a_question_and_an_answer():
    told, answers = TOUR.split("## Answers")
    assert told.count("**Question.**") == len(STOPS)
    assert re.findall(r"^(\d+)\. \*\*(\S+)\*\*", answers, re.MULTILINE) == [(n, Path(f).name) for n, f, *_ in STOPS]


@pytest.mark.parametrize("page", [TOUR, ARCHITECTURE], ids=["tour", "architecture"])
def test_every_file_that_is_named_exists(page):
    assert not [name for name in NAMED.findall(page) if not (ROOT / name).exists()]


@pytest.mark.parametrize("page", [ARCHITECTURE, CONTRIBUTING], ids=["architecture", "contributing"])
def test_the_declaration_on_the_page_is_the_one_in_the_source(page):
    assert textwrap.dedent(inspect.getsource(Hypot)) in page


def test_the_drawing_shows_the_imports_as_they_are():
    picture = (ROOT / "docs" / "pictures" / "package.svg").read_text()
    edges = {(edge[1], edge[2]) for edge in re.finditer(r'id="edge-(\d+)-(\d+)-\d+"', picture)}
    made = package.record()
    assert edges == {(str(i), str(op["id"])) for op in made["ops"] for i in op["inputs"]}
