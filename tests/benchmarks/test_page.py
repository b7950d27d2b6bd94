"""The page of the documentation is made from its figures, and nowhere else."""

import copy
import json
import xml.etree.ElementTree
from functools import partial

import pytest

from benchmarks import page, plots
from benchmarks.cases import CASES
from tests.floats import some

FIGURES = json.loads((page.DOCS / "performance.json").read_text(encoding="utf-8"))
MADE_BY = "make it anew: python -m benchmarks.page"


def test_the_page_is_what_its_figures_give():
    assert (page.DOCS / "performance.md").read_text(encoding="utf-8") == page.text(FIGURES), MADE_BY


def test_the_page_shows_the_pictures_that_there_are():
    shown = page.text(FIGURES)
    there = [path.name for path in (page.DOCS / "pictures").glob("performance-*.svg")]
    assert there and all(f"(pictures/{name})" in shown for name in there), MADE_BY
    assert shown.count("(pictures/performance-") == len(there), MADE_BY


def test_every_theme_has_a_title():
    assert {c.theme for c in CASES} == set(page.THEMES)


def test_a_missed_target_is_said_to_be_missed():
    figures = copy.deepcopy(FIGURES)
    case = figures["cases"][0]
    case["targets"] = [{"ours": "minigrad", "theirs": ["torch"], "target": 0.5, "ratio": 0.51}]
    assert f"| {page.spoken(case)} | minigrad | torch | 0.51 | 0.5 | **no** |" in page.text(figures)


def test_a_contestant_that_failed_is_shown_as_failed():
    figures = copy.deepcopy(FIGURES)
    case = figures["cases"][0]
    del case["seconds"]["torch"]
    case["failures"] = {"torch": "ValueError: other numbers"}
    shown = page.text(figures)
    assert "| failed |" in shown
    assert f"- {page.spoken(case)}, torch: ValueError: other numbers." in shown


@pytest.mark.parametrize(
    "draw",
    some([lambda: plots.ratios(FIGURES["cases"]), *(partial(plots.growth, case) for case in FIGURES["growth"])], 5),
    ids=["ratios", *[c["case"] for c in FIGURES["growth"]]],
)
def test_a_picture_is_well_formed_and_the_same_every_time(draw, tmp_path):
    first, second, figure = tmp_path / "1.svg", tmp_path / "2.svg", draw()
    plots.save(figure, first)
    plots.save(figure, second)
    assert first.read_bytes() == second.read_bytes()
    xml.etree.ElementTree.parse(first)


def test_a_run_of_some_contestants_has_a_page_too():
    figures = copy.deepcopy(FIGURES)
    figures.update(cases=figures["cases"][:1], growth=[], memory={}, startup={})
    assert "## Targets" in page.text(figures)
    plots.ratios(figures["cases"])


def test_models_have_a_row_each_and_the_median_below():
    case = {"name": "lenet", "title": "LeNet-5", "theme": "models", "failures": {}, "targets": []}
    best = [(1e-3, 2e-3), (3e-3, 2e-3), (5e-4, 1e-3)]
    cases = [case | {"seconds": {"minigrad": {"best": a}, "torch": {"best": b}}} for a, b in best]
    shown = page.cases(cases)
    assert "| lenet: LeNet-5 | 1.0 ms | 2.0 ms | **0.50** |" in shown
    assert "The median of the ratios is 0.50" in shown


def test_the_page_begins_with_ratios_in_words():
    case = {"name": "lenet", "title": "LeNet-5", "theme": "models", "failures": {}, "targets": []}
    cases = [case | {"seconds": {"minigrad": {"best": a}, "torch": {"best": 1.0}}} for a in (0.5, 0.8, 3.0)]
    cases.append(case | {"name": "pointwise", "theme": "pointwise", "seconds": {
        "minigrad.compile": {"best": 2.0}, "torch.compile": {"best": 4.0}, "jax.jit": {"best": 1.0}}})  # fmt: skip
    *_, models, pointwise = page.short(cases).splitlines()
    assert models == "| A training step of a common model, the median of 3 | 1.2 times as quick | - |"
    assert pointwise.endswith("| - | takes 2.0 times as long |")


def test_the_first_table_is_about_cases_that_there_are():
    assert set(page.SHORT.values()) <= {c.name for c in CASES} | set(page.THEMES)
