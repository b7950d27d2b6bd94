"""The drawing of a page as a file: the whole graph, with the numbers that are shown now."""

import io
import re
from xml.etree import ElementTree

import pytest
from PIL import Image

import minigrad
from minigrad import tensor

from . import programs

pytestmark = pytest.mark.browser


def loss(w, x):
    for _ in range(12):
        x = minigrad.tanh(w * x)
    return x


def saved(page, tmp_path, name):
    """Return the bytes of the file that a button saves."""
    with page.page.expect_download() as download:
        page.page.click(f"[data-export={name}]")
    download.value.save_as(tmp_path / name)
    return download.value.suggested_filename, (tmp_path / name).read_bytes()


def opened(viewer, **options):
    """Return a page with another number, and its window for links open."""
    page = viewer(programs.recorded(loss, tensor(0.7), tensor(-1.3), passes=("forward", "backward")), **options).press(
        "b"
    )
    page.page.evaluate("document.getElementById('short').click()")  # cards with all rows
    page.page.evaluate("minigrad.set('w', 0.123)")
    page.page.wait_for_timeout(300)
    return page.press("l")


PRESENT = "[document.getElementById('world').outerHTML, document.querySelectorAll('#cards .card').length]"


def test_an_svg_stands_alone_and_has_the_whole_graph_with_the_present_numbers(viewer, tmp_path):
    page = opened(viewer)
    as_it_was = page.page.evaluate(PRESENT)
    name, text = saved(page, tmp_path, "SVG")
    assert re.fullmatch(r"loss-backward-0\.svg", name)
    svg = ElementTree.fromstring(text)
    words = ["".join(one.itertext()) for one in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert sum("w * x" in one or "tanh" in one for one in words) >= 12  # also those outside of the window
    assert any("0.123" in one for one in words) and not any("0.7" in one.split() for one in words)
    assert not re.search(rb" class=| style=|var\(|url\(|href|<script|color-mix", text)
    assert set(re.findall(rb'font-family="([^"]*)"', text)) == {b"monospace", b"sans-serif"}
    other = page.page.context.new_page()
    problems = []
    other.on("console", lambda message: problems.append(message.text))
    (tmp_path / "alone.svg").write_bytes(text)
    other.goto((tmp_path / "alone.svg").as_uri())
    assert other.evaluate("document.documentElement.localName") == "svg" and not problems
    assert other.evaluate("document.querySelectorAll('text').length") == len(words)
    assert page.page.evaluate(PRESENT) == as_it_was


def test_a_png_has_twice_the_size_of_the_svg_and_a_slide_is_16_to_9(viewer, tmp_path):
    page = opened(viewer, color_scheme="dark")
    svg = ElementTree.fromstring(saved(page, tmp_path, "SVG")[1])
    name, made = saved(page, tmp_path, "PNG")
    picture = Image.open(io.BytesIO(made)).convert("RGB")
    assert name.endswith(".png") and picture.size == (2 * int(svg.get("width")), 2 * int(svg.get("height")))
    assert max(picture.getpixel((3, 3))) < 60 and len(picture.getcolors(1 << 24) or ()) > 20  # dark, and drawn
    name, made = saved(page, tmp_path, "Slide")
    assert name.endswith(".slide.png") and Image.open(io.BytesIO(made)).size == (2560, 1440)
    assert "as the page shows it now" in page.text("#export")
