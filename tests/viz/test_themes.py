"""Themes: dark pictures can be read, printed ones need no colour, and every format takes them."""

import io
import re
import xml.etree.ElementTree as ET

import pytest

import viz
from viz.layout.themes import THEMES

from . import records
from .test_pictures import SVG

GROUNDS = {
    "name call formula tag": [
        f"band-{kind}" for kind in ("op", "function", "fold", "input", "parameter", "constant", "computed")
    ],
    "value type code": [f"paper-{kind}" for kind in ("op", "input", "parameter", "constant", "computed")],
    "saved": ["saved", "gradient"],
    "gradient sum": ["gradient"],
    "tangent rule": ["tangent"],
    "flow gives": ["label"],
    "plus": ["plus"],
}


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return sum(weight * x for weight, x in zip((0.2126, 0.7152, 0.0722), linear))


def contrast(one, other):
    """Return the contrast of two colours as WCAG counts it, from 1 to 21."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("name", THEMES)
def test_every_text_stands_out_from_its_ground(name):
    theme = THEMES[name]
    pairs = [
        (text, theme.looks[ground].fill)
        for texts, grounds in GROUNDS.items()
        for text in texts.split()
        for ground in grounds
    ]
    pairs += [(text, theme.page) for text in ("title", "note") if theme.page]
    found = {(text, ground): contrast(theme.texts[text].colour, ground) for text, ground in pairs}
    assert not {pair: ratio for pair, ratio in found.items() if ratio < 4.5}


def test_a_printed_picture_is_black_and_white_in_every_format():
    drawing = viz.draw(records.mlp(), passes="backward", theme="print")
    for made in (drawing.svg(), drawing.dot(), drawing.mermaid()):
        colours = set(re.findall(r"(?<![&\w])#[0-9a-f]{3,8}\b(?!;)", made))
        assert colours and colours <= {"#000", "#fff", "#000000", "#ffffff"}
    from matplotlib.image import imread

    pixels = imread(io.BytesIO(drawing.png(scale=1)))
    assert (pixels[..., 0] == pixels[..., 1]).all() and (pixels[..., 1] == pixels[..., 2]).all()
    assert pixels.min() == 0 and pixels[..., :3].max() == 1


def test_in_print_kinds_passes_and_sections_differ_by_lines_alone():
    looks = THEMES["print"].looks
    assert len({(looks[f"band-{kind}"].hatch) for kind in ("op", "parameter", "function")}) == 3
    for names in (("saved", "gradient", "tangent"), ("edge", "edge-backward", "edge-jvp", "edge-quiet")):
        assert len({(looks[name].width, looks[name].dash) for name in names}) == len(names)


def test_a_theme_with_a_page_paints_it_and_light_leaves_it_to_what_lies_below():
    pages = {name: ET.fromstring(viz.draw(records.two_uses(), theme=name).svg()).find(f"{SVG}rect") for name in THEMES}
    assert pages["light"] is None and {pages[name].get("fill") for name in ("dark", "print")} == {"#12161c", "#ffffff"}


def test_pictures_of_several_themes_on_one_page_keep_their_own_rules():
    made = {name: viz.draw(records.two_uses(), theme=name).svg() for name in THEMES}
    classes = {name: re.search(r'class="(.*?)"', svg)[1] for name, svg in made.items()}
    assert len(set(classes.values())) == len(THEMES)
    for name, svg in made.items():
        assert re.findall(r"(\.\S+) \.t-title", svg) == ["." + classes[name].replace(" ", ".")]


def test_a_dark_png_is_dark_and_so_are_pdf_and_film():
    from matplotlib.image import imread

    drawing = viz.draw(records.two_uses(), theme="dark")
    assert imread(io.BytesIO(drawing.png(scale=1)))[0, 0, :3].max() < 0.15
    assert drawing.pdf().startswith(b"%PDF") and 'fill="#12161c"' in drawing.film()
