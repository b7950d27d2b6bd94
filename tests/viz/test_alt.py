"""The alt text of a picture describes it to a reader who hears it."""

import re
import xml.etree.ElementTree as ET

import pytest

import minigrad as torch
import viz
from tests.functions import custom

from . import records

Twice = custom("Twice", forward=lambda ctx, x: x + x, backward=lambda ctx, grad: grad + grad)


def label(svg):
    root = ET.fromstring(svg)
    assert root.get("role") == "img"
    return root.get("aria-label")


def test_a_picture_says_program_passes_operations_result_and_gradients():
    def cube(a):
        return a * a * a

    said = label(viz.draw(cube, torch.tensor(2.0), passes=("forward", "backward")).svg())
    assert re.fullmatch(
        r"Graph of cube, forward and backward pass: mul, mul; result: v\d+ 8; gradients: a 12\.", said
    ), said


@pytest.mark.parametrize("made", ["svg", "film"])
def test_all_passes_name_the_tangents_too(made):
    drawing = viz.draw(records.two_uses(), passes="all")
    said = label(getattr(drawing, made)())
    assert said == drawing.alt()
    assert "forward, backward and jvp pass" in said and "; tangents: " in said


def test_a_custom_function_is_called_by_its_name():
    said = label(viz.draw(lambda x: Twice.apply(x).sum(), torch.ones(2)).svg())
    assert ": Twice, sum;" in said and "gradients" not in said


def test_what_the_view_hides_is_not_said():
    said = viz.draw(records.two_uses(), passes="all", show=("shapes",)).alt()
    assert not re.search("result|gradients|tangents", said)


def test_large_arrays_and_long_programs_are_summed_up():
    def deep(x):
        for _ in range(30):
            x = x.sin()
        return x

    said = viz.draw(deep, torch.ones(100), passes="backward").alt()
    assert "and 18 more" in said and "(100,)  all 0.2947" in said and len(said) < 300


def test_names_cannot_break_out_of_the_label():
    record = records.two_uses()
    record["program"]["name"] = 'x" onload="alert(1)'
    assert label(viz.draw(record).svg()).startswith('Graph of x" onload="alert(1), ')


def test_films_on_one_page_keep_their_own_pace():
    def long(x):
        for _ in range(40):
            x = x.sin()
        return x

    films = [viz.draw(f, torch.tensor(1.0), passes="all").film() for f in (long, torch.sin)]
    whole = [re.search("<style>(.*)</style>", film, re.DOTALL)[1].splitlines() for film in films]
    rules = [
        [rule for rule in one if not re.match(r"\.minigrad \.[tl]-", rule)] for one in whole
    ]  # not the looks they use
    pace, end = zip(*(re.search(r"<svg[^>]* style=\"--beat:([\d.]+)s;--end:(\d+)\"", film).groups() for film in films))
    assert rules[0] == rules[1] != [] and pace[0] != pace[1] and end[0] != end[1]
