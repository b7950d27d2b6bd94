"""Sliders: live with ipywidgets in a notebook, else a row of pictures."""

import base64
import re
import sys
from types import SimpleNamespace

import matplotlib.pyplot as plt
import pytest

import minigrad as torch
from lessons import slider, widgets
from viz import draw


def line(slope):
    """Return a figure of a line."""
    figure, axes = plt.subplots(figsize=(1, 1))
    axes.plot([0, slope])
    return figure


def words(rate, size=8):
    return f"<{rate}, {size}>"


@pytest.fixture
def in_a_notebook(monkeypatch):
    """As in a notebook, whose kernel IPython knows."""
    pytest.importorskip("ipywidgets")
    monkeypatch.delenv("MINIGRAD_LESSONS_STATIC", raising=False)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object())))


def test_without_widgets_there_is_a_row_of_few_pictures():
    data = slider(words, rate=[0.1, 0.2, 0.3, 0.4, 0.5, 1e-7, 1])._repr_mimebundle_()
    assert re.findall("<code>(.*?)</code>", data["text/html"]) == [
        "rate = 0.1", "rate = 0.3", "rate = 0.5", "rate = 1"
    ]  # fmt: skip
    assert "<pre>&lt;0.3, 8&gt;</pre>" in data["text/html"]
    assert data["text/plain"] == "slider(rate: 0.1, 0.2, 0.3, 0.4, 0.5, 1e-7, 1)"


def test_of_two_arguments_each_has_a_row():
    html = slider(words, rate=[1, 2, 3], size=[4, 8]).row()
    assert html.count("display:flex") == 2 and html.count("<figure") == 5
    assert all(f"&lt;{a}, {b}&gt;" in html for a, b in [(1, 8), (2, 8), (3, 8), (2, 4)])


def test_a_figure_is_an_image_with_a_description_and_is_not_shown_twice():
    open_ones = plt.get_fignums()
    html = slider(line, alt='A line "up"', slope=[1, 2]).row()
    (alt, content), _ = re.findall(r"alt='(.*?)' src='data:image/png;base64,(.*?)'", html)
    assert alt == "A line &quot;up&quot;, slope = 1" and base64.b64decode(content).startswith(b"\x89PNG")
    assert plt.get_fignums() == open_ones


def test_a_drawing_is_an_image_whose_ids_meet_no_others():
    html = slider(lambda x: draw(torch.exp, torch.tensor(x)), x=[1.0, 2.0]).row()
    assert html.count("data:image/svg+xml;base64,") == 2 and "<svg" not in html
    assert "alt='x = 1'" in html


def test_other_objects_show_themselves():
    assert (
        slider(lambda n: SimpleNamespace(_repr_html_=lambda: f"<b>{n}</b>"), n=[1, 2]).picture({"n": 2}) == "<b>2</b>"
    )


@pytest.mark.parametrize(
    "call, said",
    [
        (lambda: slider(words), "nothing to choose"),
        (lambda: slider(words, rate=[1]), "rate has fewer than two values"),
        (lambda: slider(lambda rate: None, rate=[1, 2]), "returns None. Return the picture"),
    ],
)
def test_what_can_show_nothing_is_refused(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_a_misspelt_argument_is_refused():
    with pytest.raises(TypeError, match="rat"):
        slider(words, rat=[1, 2])


def test_a_slider_draws_again(in_a_notebook):
    made = slider(words, rate=[0.1, 0.5, 1.0], size=[4, 8])
    rate, size, picture = made.widget().children
    assert (rate.description, size.description) == ("rate", "size")
    assert picture.value == "<pre>&lt;0.5, 8&gt;</pre>"
    rate.index = 2
    size.index = 0
    assert picture.value == "<pre>&lt;1.0, 4&gt;</pre>"
    assert [label for label, _ in rate.options] == ["0.1", "0.5", "1"]


def test_a_notebook_gets_a_widget_and_the_site_does_not(in_a_notebook, monkeypatch):
    made = slider(words, rate=[0.1, 0.5, 1.0])
    assert "application/vnd.jupyter.widget-view+json" in made._repr_mimebundle_()
    monkeypatch.setenv("MINIGRAD_LESSONS_STATIC", "1")
    assert "<figure" in made._repr_mimebundle_()["text/html"]
    monkeypatch.delenv("MINIGRAD_LESSONS_STATIC")
    monkeypatch.setattr(widgets, "find_spec", lambda name: None)
    assert "<figure" in made._repr_mimebundle_()["text/html"]


def test_an_error_at_another_value_is_shown_in_the_notebook(in_a_notebook):
    made = slider(lambda rate: f"{1 / rate}", rate=[0.0, 1.0, 2.0])
    rate, picture = made.widget().children
    rate.index = 0
    assert picture.value == "<pre>ZeroDivisionError: float division by zero</pre>"
