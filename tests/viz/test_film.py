"""The film: one SVG in which the passes appear in their turn."""

import re
import shutil
import xml.etree.ElementTree as ET

import pytest

import viz

from . import records

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def film():
    return ET.fromstring(viz.draw(records.two_uses(), passes="all").film())


def step(element):
    found = re.search(r"--at:(\d+)", element.get("style") or "")
    return int(found[1]) if found else None


def appears(root, key, role):
    card = next(g for g in root.iter(f"{SVG}g") if g.get("id") == key)
    return next(step(g) for g in card.iter(f"{SVG}g") if (g.get("class") or "").split()[:1] == [role])


def test_values_appear_in_the_order_of_the_program(film):
    steps = [appears(film, f"op-{i}", "value") for i in range(4)]
    assert steps == sorted(set(steps))


def test_gradients_appear_after_all_values_the_last_operation_first(film):
    steps = [appears(film, f"op-{i}", "gradient") for i in (3, 2, 1, 0)]
    assert steps == sorted(set(steps)) and steps[0] > appears(film, "op-3", "value")


def test_a_leaf_has_its_gradient_when_the_last_contribution_is_there(film):
    labels = [g for g in film.iter(f"{SVG}g") if (g.get("class") or "").startswith("flow")]
    to_w = {g.get("data-gives"): step(g) for g in labels}
    record = records.two_uses()
    gives = [str(edge["gives"]) for op in record["ops"] for edge in op["edges"] if edge["input"] == 0]
    assert appears(film, "value-0", "gradient") == max(to_w[value] for value in gives)


def test_tangents_come_last_and_forward_again(film):
    steps = [appears(film, f"op-{i}", "tangent") for i in range(4)]
    assert steps == sorted(set(steps)) and steps[0] > appears(film, "op-0", "gradient")


def test_it_moves_by_css_alone_and_stands_still_where_that_is_wanted(film):
    style = film.find(f"{SVG}style").text
    assert "@keyframes" in style and "prefers-reduced-motion:reduce" in style and "@media print" in style
    assert not [e for e in film.iter() if e.tag.rpartition("}")[2] in ("script", "animate", "set", "foreignObject")]
    assert not any(name.startswith("on") for e in film.iter() for name in e.attrib)


def test_one_heading_stays(film):
    headings = [g for g in film.iter(f"{SVG}g") if "heading" in (g.get("class") or "")]
    assert [("until" in g.get("class")) for g in headings] == [True, True, True, False]


def test_a_film_of_one_pass_has_nothing_of_the_others():
    text = viz.draw(records.two_uses(), passes="forward").film()
    assert "grad = " not in text and "tangent = " not in text


@pytest.mark.parametrize("passes, title", [("backward", "Backward pass"), (("forward", "jvp"), "Forward and jvp pass")])
def test_the_last_heading_names_what_was_shown(passes, title):
    root = ET.fromstring(viz.draw(records.two_uses(), passes=passes).film())
    headings = [g for g in root.iter(f"{SVG}g") if "heading" in (g.get("class") or "")]
    assert headings[-1].find(f"{SVG}text").text == f"{title} · two_uses"


def test_ids_are_unique(film):
    ids = [e.get("id") for e in film.iter() if e.get("id")]
    assert len(ids) == len(set(ids))


@pytest.mark.browser
def test_in_a_browser_the_end_stands_there_for_those_who_want_no_motion(tmp_path):
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no Chromium")
    (tmp_path / "film.svg").write_text(viz.draw(records.two_uses(), passes="all").film())
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        seen = {}
        for motion in ("reduce", "no-preference"):
            page = browser.new_context(reduced_motion=motion).new_page()
            page.goto((tmp_path / "film.svg").as_uri())
            seen[motion] = page.evaluate(
                "[...document.querySelectorAll('.at')].map(e => Number(getComputedStyle(e).opacity))"
            )
        browser.close()
    shown = [opacity for opacity in seen["reduce"] if opacity]
    assert set(shown) == {1} and min(seen["no-preference"]) == 0
